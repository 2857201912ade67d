"""Programs that share native code, against the interpreter and against native code of their own."""

import random

import numpy as np
import pytest

import kane
from kane.codegen.emit.llvm_alike import emit_alike
from kane.codegen.jit import compiler
from kane.codegen.programs import alike
from kane.codegen.programs.alike import Unscheduled, find_alike
from kane.codegen.programs.named import ProgramFamily
from kane.codegen.programs.program import Program
from kane.dynamics.contacts.contact_functions import _own_programs
from kane.expression.arena import Arena
from kane.expression.functions import (
    absolute,
    asin,
    atan2,
    cos,
    exp,
    maximum,
    minimum,
    select,
    sin,
    sqrt,
    tan,
    tanh,
)
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, INPUT, PARAMETER, SPEED
from kane.formulation.quantities.responses import Responses


class Bodies:
    """Leaves of several bodies in one state, and programs that read those of one body."""

    def __init__(self, count=5):
        self.arena = Arena()
        self.q = [[self.arena.leaf(COORDINATE, f"q{b}{i}") for i in range(3)] for b in range(count)]
        self.u = [[self.arena.leaf(SPEED, f"u{b}{i}") for i in range(2)] for b in range(count)]
        self.rest = [self.arena.leaf(INPUT, f"tau{b}") for b in range(count)]
        self.parameters = [self.arena.leaf(PARAMETER, f"m{b}") for b in range(count)]
        self.given = tuple(self.rest)
        self.state = [*(x for own in self.q for x in own), *(x for own in self.u for x in own)]

    def unscheduled(self, outputs, name="f"):
        def schedule(found, numbers):
            given = {"state": self.state, "rest": self.given, "parameters": [*self.parameters, *numbers]}
            return Program(name, found, **given)

        return Unscheduled(name, [self.arena.lift(x) for x in outputs], self.given, schedule)

    def of(self, b, *, sizes=(0.3, 0.7), outputs=None):
        """Products, a parameter, numbers, and outputs at a place that depends on the body."""
        (x, y, z), (v, w), tau, m = self.q[b], self.u[b], self.rest[b], self.parameters[b]
        first, second = sizes
        found = [first * x * v + second * y * w, m * first * (tau - z), x, m, maximum(first * m, second)]
        return self.unscheduled([*[0.0] * b, *found, 4.0 + b, *[0.0] * (6 - b)] if outputs is None else outputs)


def compiled(given, bodies):
    """The native code of the programs, without a cache."""
    family = ProgramFamily("family", None, bodies.arena, [(x.name, lambda x=x: x) for x in given])
    return compiler.compile_family(family, cached=False)


def run(code, state, rest, parameters):
    return code(state, rest, code.stage(parameters))


def values(bodies, seed=0):
    source = np.random.default_rng(seed)
    return [source.uniform(0.5, 2.0, len(x)) for x in (bodies.state, bodies.rest, bodies.parameters)]


def expected(one, bodies, given):
    leaves = [*bodies.state, *bodies.rest, *bodies.parameters]
    known = dict(zip(leaves, np.concatenate(given), strict=True))
    return [float(x) for x in interpret(list(one.outputs), known)]


def test_programs_of_equal_bodies_share_operations_and_have_their_own_values():
    bodies = Bodies()
    given = [bodies.of(b, sizes=(0.3 + b, 0.7)) for b in range(5)]
    assert len({id(x.shared) for x in find_alike(given)}) == 1
    state, rest, parameters = values(bodies)
    for one, code in zip(given, compiled(given, bodies), strict=True):
        got = run(code, state, rest, parameters)
        np.testing.assert_allclose(got, expected(one, bodies, (state, rest, parameters)), rtol=1e-14)


def test_batches_of_states_and_of_parameters_have_the_values_of_single_calls():
    bodies = Bodies()
    given = [bodies.of(b) for b in range(3)]
    batches = [np.stack(x) for x in zip(*(values(bodies, seed) for seed in range(7)), strict=True)]
    for code in compiled(given, bodies):
        one_by_one = [run(code, *(x[k] for x in batches)) for k in range(7)]
        np.testing.assert_array_equal(run(code, *batches), one_by_one)
        np.testing.assert_array_equal(run(code, *batches[:2], batches[2][0])[0], one_by_one[0])


def test_programs_that_differ_in_operations_or_exponents_or_wiring_share_nothing():
    bodies = Bodies()
    (x, y, z), (v, _) = bodies.q[0], bodies.u[0]
    outputs = [x + y * 3.0, x + z * y, (x + y) * 3.0, x + v * 3.0, x**1.5 + y * 3.0, x**2.5 + y * 3.0,
               x + x * 3.0, x + sqrt(y) * 3.0, x + y * 2.0]  # fmt: skip
    s = x + y
    given = [bodies.unscheduled([output]) for output in outputs]
    given += [bodies.unscheduled(pair) for pair in ([s, s * z], [s * z, s], [s * z, s * z], [s, s])]
    assert len({id(one.shared) for one in find_alike(given)}) == len(given)
    arrays = values(bodies)
    for one, code in zip(given, compiled(given, bodies), strict=True):
        np.testing.assert_allclose(run(code, *arrays), expected(one, bodies, arrays), rtol=1e-14)


def signed_program(bodies, b, sign, swapped):
    """All operations; sign(k) is the sign of a term, and swapped(k) exchanges the operands of a sum."""
    (x, y, z), (v, w), m = bodies.q[b], bodies.u[b], bodies.parameters[b]

    def plus(k, first, second):
        terms = [sign(k) * first, sign(k + 1) * second]
        return terms[1] + terms[0] if swapped(k) else terms[0] + terms[1]

    length = sqrt(plus(0, 9.0 + 0.7 * x, y * z))
    angle = plus(2, sin(plus(4, x * v, z)), cos(plus(6, y, w)))
    odd = tan(0.3 * plus(8, x, w)) * tanh(plus(10, y, length)) / asin(0.2 * plus(12, z, v))
    bound = minimum(sign(14) * x, plus(15, odd, w)) + maximum(sign(17) * odd, plus(18, m, z))
    chosen = select(plus(20, x, y) < sign(22) * z, sign(23) * angle, sign(24) * 0.4)
    even = absolute(plus(25, odd, chosen)) + exp(0.1 * plus(27, z, w)) + atan2(sign(29) * y, sign(30) * v)
    more = plus(31, kane.sign(plus(33, w, x * y)), select(sign(35) * x <= y, sign(36), sign(37) * 2.0)) * length**1.7
    return bodies.unscheduled([plus(38, angle, odd), sign(40) * bound * chosen, plus(41, even, more), sign(43) * x])


@pytest.mark.parametrize("seed", range(4))
def test_programs_that_differ_in_signs_and_order_share_operations_and_have_their_own_values(seed, monkeypatch):
    monkeypatch.setattr(alike, "MOST_CHANGES", 1.0)
    bodies, source = Bodies(), random.Random(seed)
    given = []
    for b in range(5):
        signs = [source.choice((1.0, -1.0)) for _ in range(44)]
        turns = [source.random() < 0.5 for _ in range(44)]
        given.append(signed_program(bodies, b, signs.__getitem__, turns.__getitem__))
    assert len({one.group for one in find_alike(given)}) == 1
    arrays = values(bodies, seed)
    for one, code in zip(given, compiled(given, bodies), strict=True):
        np.testing.assert_allclose(run(code, *arrays), expected(one, bodies, arrays), rtol=1e-13)


@pytest.mark.parametrize("k", range(44))
def test_each_sign_alone_is_that_of_the_program(k, monkeypatch):
    """Two programs of one body that differ in one sign."""
    monkeypatch.setattr(alike, "MOST_CHANGES", 1.0)
    bodies = Bodies(1)
    given = [signed_program(bodies, 0, lambda j, s=s: s if j == k else 1.0, lambda j: False) for s in (1.0, -1.0)]
    assert len({one.group for one in find_alike(given)}) == 1
    states = [values(bodies, seed) for seed in range(12)]
    wanted = [[expected(one, bodies, arrays) for arrays in states] for one in given]
    assert wanted[0] != wanted[1]
    for own, code in zip(wanted, compiled(given, bodies), strict=True):
        np.testing.assert_allclose([run(code, *arrays) for arrays in states], own, rtol=1e-12)


def test_signs_of_numbers_cost_no_operation(monkeypatch):
    """A sign of 0.3 x multiplies 0.3, and a sign of m x multiplies m."""
    monkeypatch.setattr(alike, "MOST_CHANGES", 1.0)
    bodies = Bodies(2)
    given = [
        bodies.unscheduled([q[0] + s * (0.3 * q[1]) + t * (m * q[2])])
        for q, m, s, t in zip(bodies.q, bodies.parameters, (1.0, -1.0), (-1.0, 1.0), strict=True)
    ]
    (first, second) = find_alike(given)
    assert first.shared is second.shared
    assert len(first.shared.instructions) == len(given[0].program.instructions) == 4


def test_programs_that_differ_in_many_signs_share_operations_with_equal_signs_only():
    """Five changes among 20 operations are too many."""
    bodies, given = Bodies(4), []
    for b, sign in enumerate((1.0, -1.0, 1.0, -1.0)):
        (x, y, z), (v, w) = bodies.q[b], bodies.u[b]
        terms = [x * y, y * z, z * v, v * w, w * x, x * z, y * v, z * w, v * x, w * y]
        given.append(bodies.unscheduled([sum((sign * t if k % 2 else t for k, t in enumerate(terms)), 1.0)]))
    assert [one.group for one in find_alike(given)] == [0, 1, 0, 1]
    arrays = values(bodies)
    for one, code in zip(given, compiled(given, bodies), strict=True):
        np.testing.assert_allclose(run(code, *arrays), expected(one, bodies, arrays), rtol=1e-13)


def test_long_programs_pass_values_from_function_to_function():
    bodies, given = Bodies(3), []
    for (x, y, _), (v, _) in zip(bodies.q, bodies.u, strict=True):
        passed = [x * v]
        for k in range(3000):
            passed.append((passed[-1] * y + 0.3 * x) * (0.2 + 0.1 * (k % 3)))
        given.append(bodies.unscheduled([passed[-1], sum(passed[::500], 0.0)]))
    codes, arrays = compiled(given, bodies), values(bodies)
    assert codes[0].n_work > 0
    for one, code in zip(given, codes, strict=True):
        np.testing.assert_allclose(run(code, *arrays), expected(one, bodies, arrays), rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_of_other_leaves_and_numbers_have_the_values_of_the_interpreter(seed):
    """The same random operations on some of the leaves, so that addresses and numbers differ."""
    bodies = Bodies(8)

    def outputs(some, numbers):
        source, pool = random.Random(seed), [*some]
        for k in range(60):
            a, b, c = (source.choice(pool[-25:]) for _ in range(3))
            pool.append(source.choice([a * b + numbers[k % 4], a - numbers[k % 4] * c, maximum(a, b) * 0.5, a + b - c]))
        found = pool[-12:]
        source.shuffle(found)
        return found

    given = []
    for k in range(8):
        other = random.Random(100 * seed + k)
        groups = (bodies.state[:24], 10), (bodies.state[24:], 8), (bodies.rest, 4), (bodies.parameters, 4)
        some = [leaf for group, n in groups for leaf in sorted(other.sample(group, n), key=lambda leaf: leaf.id)]
        zeros = [0.0] * other.randrange(12)
        found = outputs(some, [other.uniform(0.1, 3.0) for _ in range(4)])
        given.append(bodies.unscheduled([*zeros, *found, *[0.0] * (11 - len(zeros))]))
    # common subexpressions with earlier programs exchange the arguments of some sums
    assert len({id(x.shared) for x in find_alike(given)}) <= 4
    arrays = values(bodies, seed)
    for one, code in zip(given, compiled(given, bodies), strict=True):
        wanted = np.array(expected(one, bodies, arrays))
        assert (run(code, *arrays)[wanted == 0.0] == 0.0).all()
        scale = max(1.0, *map(abs, wanted))
        np.testing.assert_allclose(run(code, *arrays), wanted, rtol=1e-11, atol=1e-12 * scale)


def test_a_number_of_a_program_that_does_not_exist_leads_to_the_last_one():
    """Native code reads the number from constants, which a caller may have changed."""
    bodies = Bodies()
    codes = compiled([bodies.of(b) for b in range(3)], bodies)
    state, rest, parameters = values(bodies)
    stage = codes[2].stage(parameters)
    right = codes[2](state, rest, stage)
    for wrong in (3, -1, 2**62):
        stage.view(np.int64)[0] = wrong
        np.testing.assert_array_equal(codes[0](state, rest, stage), right)


def test_more_bodies_need_more_numbers_but_no_more_functions():
    texts = []
    for count in (3, 12):
        bodies = Bodies(count)
        given = [bodies.unscheduled([0.3 * q[0] * u[0] + (1.1 + b) * q[1]]) for b, (q, u) in
                 enumerate(zip(bodies.q, bodies.u, strict=True))]  # fmt: skip
        texts.append(emit_alike([find_alike(given)]).text)
    assert texts[0].count("\ndefine") == texts[1].count("\ndefine")
    assert texts[0].count("\n") == texts[1].count("\n")
    # one address for the coordinates of a body, one for its speeds
    assert texts[0].count("ptr noalias readonly %state.") == 2


def test_code_from_the_cache_has_the_same_bits_and_derives_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("KANE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kane, "_STARTED", float("inf"))  # sources may be as new as this process, in a fresh clone
    found = []
    for _ in range(2):
        bodies = Bodies()
        makers = [(f"f{b}", lambda b=b, bodies=bodies: bodies.of(b)) for b in range(4)]
        family = ProgramFamily("family", "a key of this test", bodies.arena, makers)
        codes = compiler.compile_family(family)
        read = [sorted((leaf.op, leaf.data) for leaf in code.reads) for code in codes]
        found.append(([run(code, *values(bodies)).tobytes() for code in codes], read))
        derived = family.is_derived
    assert not derived
    assert found[0] == found[1]


def test_programs_that_read_their_inputs_from_other_places_share_nothing():
    bodies = Bodies()
    first = bodies.unscheduled([3.0 * bodies.rest[0] + bodies.q[0][0]])
    bodies.given = tuple(reversed(bodies.rest))
    second = bodies.unscheduled([3.0 * bodies.rest[1] + bodies.q[1][0]])
    assert len({id(one.shared) for one in find_alike([first, second])}) == 2


def test_a_family_of_no_programs_has_no_code():
    assert compiled([], Bodies()) == []


def test_a_parameter_may_be_called_like_a_number():
    m = kane.Model("ball", gravity=(0, 0, -9.81))
    ball = m.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, ball, kane.Free("f"))
    for k in range(12):
        m.parameter(f"number {k}", 0.3)
    friction = kane.Coulomb(m.parameter("number 12", 0.3))
    m.contact(kane.Sphere(ball.point(), 0.1), kane.Plane(m.ground.point(), m.ground.z), friction=friction, name="c")
    run = kane.simulate(kane.build(kane.formulate(m)), until=1.0, q={"f_z": 0.1}, u={"f_vx": 1.0})
    # it slips until it rolls: m v + I w / r is kept
    assert run["f_vx"][-1] ** 2 + run["f_vz"][-1] ** 2 == pytest.approx((1.0 / 11.0) ** 2, rel=1e-6)


def test_features_of_two_boxes_have_the_values_of_their_own_expressions():
    """44 features in three states, with random factors of the mass matrix; their programs differ in signs."""
    m, shapes = kane.Model("two boxes", gravity=(0, 0, -9.81)), []
    for k in range(2):
        body = m.body(f"b{k}", mass=1.0 + k, inertia=(0.1, 0.17, 0.23))
        m.connect(m.ground, body, kane.Free(f"f{k}"))
        shapes.append(body.shape(kane.Box(0.2 + 0.11 * k, 0.31, 0.43)))
    m.contact(shapes[1], shapes[0], friction=kane.Coulomb(0.37), name="pair")
    eqs = kane.formulate(m).with_intermittent_rows
    responses = Responses(eqs)
    given = [make() for _, make in _own_programs(eqs, responses).values()]
    family = ProgramFamily("family", None, eqs.t.arena, [(x.name, lambda x=x: x) for x in given])
    codes, source = compiler.compile_family(family, cached=False), np.random.default_rng(4)
    assert len(codes) == 132
    state, rest, shared = [eqs.t, *eqs.q, *eqs.u], given[0].rest, len(responses.shared)
    for _ in range(3):
        x, records = source.uniform(-1.0, 1.0, len(state)), source.uniform(0.5, 2.0, len(rest))
        for first in (1, 8):
            x[first : first + 4] /= np.linalg.norm(x[first : first + 4])
        records[-3 - shared : -3] = interpret(responses.shared, dict(zip(state, x, strict=True)))
        known = dict(zip([*state, *rest], [*x, *records], strict=True))
        for one, code in zip(given, codes, strict=True):
            got = code(x, records[: len(one.rest)], code.stage(np.zeros(0)))
            wanted = [float(v) for v in interpret(one.outputs, known)]
            # outputs reach 300, so that rounding of their terms is 1e-12
            np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11, err_msg=one.name)


class Separately:
    """Compiles programs one by one."""

    def compile(self, program):
        return compiler.compile_program(program, cached=False)


def test_a_target_of_the_user_compiles_alike_programs_one_by_one():
    m = kane.Model("crates", gravity=(0, 0, -9.81))
    for k in range(2):
        box = m.body(f"b{k}", mass=1.0, inertia=(0.01, 0.01, 0.01))
        m.connect(m.ground, box, kane.Free(f"f{k}"))
        floor = kane.Plane(m.ground.point(), m.ground.z)
        m.contact(box.shape(kane.Box(0.2, 0.2, 0.2)), floor, friction=kane.Coulomb(0.4), name=f"c{k}")
    start = {"q": {"f0_z": 0.1, "f1_z": 0.1, "f1_x": 2.0}, "u": {"f0_vx": 1.0, "f1_vx": 0.5}}
    runs = [
        kane.simulate(kane.build(kane.formulate(m), target=target), until=0.4, **start)
        for target in (kane.LLVM(cache=False), Separately())
    ]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)
    assert [event.name for event in runs[1].events] == [event.name for event in runs[0].events]
