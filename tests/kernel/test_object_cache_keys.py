"""What decides native code decides its key: programs changed in one place, options and machines of every kind.

The key of an entry is taken where it is used, in ``ObjectCache.get``; no code is compiled here. Changed programs are
told apart by the interpreter, so that a change that matters and leaves the key alone is found.
"""

import json

import numpy as np
import pytest
from oracles.random_programs import leaves_of, random_program

import kane
from kane.codegen.emit.lanes import Lanes
from kane.codegen.emit.llvm import emit_llvm
from kane.codegen.jit import compiler
from kane.codegen.programs.program import Program
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.interpret import interpret
from kane.expression.operations import CONSTANT, OPERATIONS, SPLINE
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS, reachable
from kane.formulation.quantities.programs import program


def key(program, *, fused=True, piece=None, machine=None):
    """The key of the scalar code of a program."""
    return json.dumps(
        compiler._origin(emit_llvm(program, fused=fused, piece=piece).text, machine or compiler._target_machine())
    )


class Rebuilt:
    """A program built again in an arena of its own, one node of it changed."""

    def __init__(self, program, place=-1, change=None):
        self.arena, self.nodes = Arena(), {}
        for leaf in (*program.state, *program.rest, *program.parameters):
            self.nodes[leaf] = self.arena.leaf(leaf.op, leaf.data)
        for k, node in enumerate(reachable(program.outputs)):
            if node not in self.nodes:
                self.nodes[node] = change(self, node) if k == place else self.again(node)
        lists = {word: [self.nodes[x] for x in getattr(program, word)] for word in ("state", "rest", "parameters")}
        self.program = Program(program.name, [self.nodes[x] for x in program.outputs], **lists)

    def again(self, node, args=None, op=None):
        if node.op == CONSTANT:
            return self.arena.constant(node.data)
        args = [self.nodes[a] for a in node.args] if args is None else args
        return construct.build_spline(*args, node.data) if node.op == SPLINE else CONSTRUCTORS[op or node.op](*args)


def another_digit(new, node):
    if node.op == CONSTANT:
        return new.arena.constant(np.nextafter(node.data, np.inf))
    if node.op == SPLINE:
        rows = [list(row) for row in node.data.coefficients]
        rows[1][2] = np.nextafter(rows[1][2], np.inf)
        table = PiecewiseCubic(node.data.knots, tuple(map(tuple, rows)))
        return construct.build_spline(new.nodes[node.args[0]], table)
    return new.again(node)


def another_operation(new, node):
    others = [
        op for op, row in enumerate(OPERATIONS) if row.arity == len(node.args) > 0 and op not in (node.op, SPLINE)
    ]
    return new.again(node, op=others[node.id % len(others)]) if others and node.op != SPLINE else new.again(node)


def arguments_swapped(new, node):
    return new.again(node, [new.nodes[a] for a in node.args[::-1]]) if node.op != SPLINE else new.again(node)


def one_argument_another(new, node):
    if not node.args:
        return new.again(node)
    leaf = next(iter(new.nodes.values()))
    return new.again(node, [leaf, *(new.nodes[a] for a in node.args[1:])])


CHANGES = (another_digit, another_operation, arguments_swapped, one_argument_another)


def values(program, count=40):
    source = np.random.default_rng(0)
    leaves = (*program.state, *program.rest, *program.parameters)
    with np.errstate(all="ignore"):
        found = interpret(program.outputs, dict(zip(leaves, source.normal(size=(len(leaves), count)), strict=True)))
    return np.array([np.broadcast_to(x, count) for x in found])


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("seed", range(2))
def test_a_program_changed_in_any_one_place_has_another_key(change, seed):
    given = random_program(seed, 60)
    right = Rebuilt(given).program
    known, expected = key(right), values(right)
    assert known == key(Rebuilt(given).program)
    changed = 0
    for place in range(len(reachable(given.outputs))):
        other = Rebuilt(given, place, change).program
        if not np.array_equal(values(other), expected, equal_nan=True):
            changed += 1
            assert key(other) != known, place
    # Constants and tables are few, and so are operations that do not commute.
    assert changed >= (2 if change is another_digit else 5)


@pytest.mark.parametrize("word", ["state", "rest", "parameters", "outputs"])
def test_the_order_of_arrays_is_part_of_the_key(word):
    arena = Arena()
    state, rest, parameters = leaves_of(arena)
    outputs = [state[1] + 2.0 * state[2], rest[0] - 3.0 * rest[1], parameters[0] * state[1] / parameters[1]]
    lists = {"outputs": outputs, "state": state, "rest": rest, "parameters": parameters}
    seen = {key(Program("f", lists["outputs"], state=state, rest=rest, parameters=parameters))}
    for a, b in ((0, 1), (1, 2)):
        swapped = {k: list(v) for k, v in lists.items()}
        swapped[word][a], swapped[word][b] = swapped[word][b], swapped[word][a]
        seen.add(key(Program("f", swapped.pop("outputs"), **swapped)))
    # Time, at place 0 of the state, and parameter 2 stand in no output, but shift what does.
    assert len(seen) == 3


@pytest.fixture
def keys(monkeypatch):
    """The origins with which compiled code is asked for; what is asked for is compiled."""
    found = []

    class Folder:
        def get(self, origin, make):
            found.append(dict(origin))
            return make()

    monkeypatch.setattr(compiler, "environment_cache", lambda: Folder())
    return found


def pendulum(mass=1.0, length=0.7, gravity=(0.0, 0.0, -9.81), axis="y", damping=0.1):
    model = kane.Model("pendulum", gravity=gravity)
    bob = model.body("bob", mass=mass, com=(0.0, 0.0, -length))
    hinge = model.connect(model.ground, bob, kane.Revolute("q1", axis=axis))
    model.load(kane.Damper(hinge, damping))
    return model


MODELS = {
    "mass": {"mass": np.nextafter(1.0, 2.0)},
    "length": {"length": np.nextafter(0.7, 1.0)},
    "gravity": {"gravity": (0.0, 0.0, -9.8100001)},
    "damping": {"damping": np.nextafter(0.1, 1.0)},
}


@pytest.mark.parametrize("change", MODELS)
def test_a_model_changed_in_one_number_has_another_key_of_its_equations(change):
    right, again, other = (
        key(program(kane.formulate(pendulum(**options)), "rhs")) for options in ({}, {}, MODELS[change])
    )
    assert right == again != other


def test_programs_of_one_model_have_keys_of_their_own():
    equations = kane.formulate(kane.library.chain(3))
    names = ("rhs", "forward", "inverse", "mass_matrix", "energy")
    assert len({key(program(equations, name)) for name in names}) == len(names)


def test_options_that_change_code_change_the_key():
    given, machine = random_program(3, 200), compiler._target_machine()
    texts = [emit_llvm(given, fused=fused, piece=piece).text for fused in (True, False) for piece in (None, 50, 20)]
    texts += [
        emit_llvm(given, Lanes(width), each=each, fused=fused, piece=piece).text
        for width in (4, 8)
        for each in (True, False)
        for fused in (True, False)
        for piece in (None, 50)
    ]
    assert len({json.dumps(compiler._origin(text, machine)) for text in texts}) == len(texts)


def test_scalar_code_and_lanes_are_asked_for_by_their_own_keys(keys):
    if compiler.lane_width() == 1:
        pytest.skip("this machine has no lanes")
    function = compiler.compile_program(random_program(3, 60), lanes=True)
    state = np.zeros((40, function.n_state))
    function(state, np.zeros((40, function.n_rest)), function.stage(np.ones(function.n_parameters)))
    function(state, np.zeros((40, function.n_rest)), function.stage(np.ones((40, function.n_parameters))))
    assert len({json.dumps(origin) for origin in keys}) == len(keys) == 3


MACHINES = {
    "get_host_cpu_name": lambda: "generic",
    "get_host_cpu_features": compiler.llvm.FeatureMap,
    "llvm_version_info": (7, 0, 0),
}


@pytest.mark.parametrize(
    "word", [*MACHINES, "OPTIMIZATION_LEVEL", "RELOCATION", "CODE_MODEL", "LAYOUT", "__version__", "triple"]
)
def test_each_property_of_machine_and_compiler_is_part_of_the_key(word, monkeypatch):
    text, machine = "", compiler._target_machine()
    known = json.dumps(compiler._origin(text, machine))
    if word in MACHINES:
        monkeypatch.setattr(compiler.llvm, word, MACHINES[word])
    elif word == "__version__":
        monkeypatch.setattr(compiler.llvmlite, word, "0")
    elif word == "triple":
        machine = type("Machine", (), {"triple": "abacus-unknown-none"})()
    else:
        given = getattr(compiler, word)
        monkeypatch.setattr(compiler, word, given + type(given)(1))
    assert json.dumps(compiler._origin(text, machine)) != known


def test_the_machine_is_made_of_nothing_that_the_key_does_not_say(monkeypatch):
    """A new argument of the target machine needs a place in ``_origin``."""
    made = {}
    target = compiler.llvm.Target
    right = target.create_target_machine
    monkeypatch.setattr(target, "create_target_machine", lambda self, **how: made.update(how) or right(self, **how))
    said = compiler._origin("", compiler._target_machine())
    words = {"cpu": "cpu", "features": "features", "opt": "optimization", "reloc": "relocation", "codemodel": "model"}
    assert made == {argument: said[word] for argument, word in words.items()}
