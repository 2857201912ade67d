"""Derivatives of dynamics, vouched for by complex steps through the interpreter, by Pinocchio's analytical derivatives,
by JAX's automatic ones, by differences where numbers choose the dependent speeds, and by the power of the forces.
"""

from __future__ import annotations

import jax
import numpy as np
import pinocchio as pin
import pytest
from oracles import complex_step, robots
from oracles.formulated import built
from oracles.numbers import random_state, values_of
from oracles.pinocchio_twin import PinocchioTwin
from oracles.programs import loaded

import kane
from kane.codegen.emit.jax import JAX
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.embedded.embedded_quantity import Embedded
from kane.formulation.constraints.embedding import NumericalEmbedding
from kane.formulation.derivatives.solved_in_parts import is_long
from kane.formulation.quantities.programs import program, quantity
from kane.library.random_tree import random_tree

# Sums of some hundred products of numbers that cancel: 1e4 roundings.
ROUNDING = 1e-12


def own_directions(equations, q):
    """d q along each of the joints' own speeds, from their kinematics in numbers and not from kane's Y."""
    own = equations.system.own or equations.system
    values = dict(zip(own.speeds.q, q, strict=True))
    values |= {p: equations.defaults[p.name] for p in equations.parameters} | {equations.t: 0.3}
    still = values | dict.fromkeys(own.speeds.u, 0.0)
    found = []
    for w in own.speeds.u:
        unit = dict.fromkeys(own.speeds.u, 0.0) | {w: 1.0}
        rates = complex_step.slopes(own.speeds.kinematics, still, unit)
        found.append(dict(zip(own.speeds.q, rates, strict=True)))
    return found


def rest_of(name, state):
    return {"inverse": state.udot, "forward": state.inputs, "rhs": state.inputs}.get(name, ())


def expected(equations, name, state):
    """Blocks by complex steps."""
    roots, values = quantity(equations, name).outputs, values_of(equations, state)
    wanted = {
        "q": own_directions(equations, state.q),
        "u": [{u: 1.0} for u in equations.u],
        "udot": [{x: 1.0} for x in equations.udot],
        "inputs": [{x: 1.0} for x in equations.inputs],
    }
    read = {"inverse": ("q", "u", "udot"), "forward": ("q", "u", "inputs"), "rhs": ("q", "u", "inputs")}
    found = {word: complex_step.columns(roots, values, wanted[word]) for word in read.get(name, ("q", "u"))}
    return found | {p.name: complex_step.slopes(roots, values, {p: 1.0}) for p in equations.parameters}


def arm_with_springs():
    """Two joints, a slide, chosen speeds, a spring, a damper, a force and parameters."""
    m = kane.Model("arm", gravity=(0.3, -0.2, -9.81))
    L, k = m.parameter("L", 0.7), m.parameter("k", 30.0)
    A = m.body("A", mass=2.0, inertia=(0.1, 0.2, 0.15), com=(0.1, 0.0, 0.2))
    B = m.body("B", mass=m.parameter("mB", 1.5), inertia=(0.05, 0.04, 0.03, 0.01, 0.0, 0.002), com=(0.0, 0.1, 0.0))
    C = m.body("C", mass=0.5, inertia=(0.01, 0.01, 0.02))
    j1 = m.connect(m.ground, A, kane.Revolute("q1", axis=(1.0, 2.0, 0.5)))
    j2 = m.connect(A, B, kane.Revolute("q2", axis="x"), at=(L, 0.1, 0.0))
    j3 = m.connect(B, C, kane.Prismatic("q3", axis="z"), at=(0.0, L, 0.0))
    m.load(kane.Motor(j1, m.input("T")))
    m.load(kane.Spring(j2, k))
    m.load(kane.Damper(j3, 0.4))
    m.load(kane.Force(C.point((0.1, 0.0, 0.0)), (0.0, m.input("F"), 0.0), expressed_in=C))
    m.speeds(v1=B.angular_velocity.dot(B.x), v2=j1.qdot, v3=C.point().velocity.dot(B.z))
    return m


def chain_of_chosen_speeds():
    """So many speeds that accelerations are solved for in numbers, none of them the rate of a joint alone."""
    m = kane.library.chain(12)
    rates = [0.0, *(connection.qdot for connection in m.connections)]
    m.speeds(**{f"v{k + 1}": rates[k + 1] + 0.4 * rates[k] for k in range(12)})
    return m


MODELS = {
    "Stanford Arm": kane.library.stanford_arm,
    "arm with springs, chosen speeds": arm_with_springs,
    "spacecraft": kane.library.spacecraft_tree,
    "rolling disk": kane.library.rolling_disk,
    "rolling coin": kane.library.rolling_coin,
    "tree": lambda: random_tree(3, 5),
    "tree of many speeds": lambda: random_tree(3, 9),
    "chain of chosen speeds": chain_of_chosen_speeds,
}


@pytest.mark.parametrize("name", ["inverse", "rhs", "energy", "poses"])
@pytest.mark.parametrize("model", MODELS)
def test_derivatives_are_those_of_complex_steps(model, name):
    dyn = built(MODELS[model])
    equations = dyn.equations
    state = random_state(equations, np.random.default_rng(5))
    blocks = expected(equations, name, state)
    found = dyn.derivatives(name, wrt=tuple(blocks))(state.q, state.u, rest_of(name, state), state.t)
    value = dyn.evaluate(dyn.function(name), state.q, state.u, rest_of(name, state), state.t)
    scale = max(1.0, *(np.abs(x).max(initial=0.0) for x in (value, *blocks.values())))
    condition = 1e2 if name in ("forward", "rhs") else 1.0  # a relative error of M grows by its condition number
    np.testing.assert_allclose(found.value, value, rtol=0, atol=condition * ROUNDING * scale)
    for word, block in blocks.items():
        assert found[word].shape == block.shape
        np.testing.assert_allclose(found[word], block, rtol=0, atol=condition * ROUNDING * scale, err_msg=word)


@pytest.mark.parametrize("robot", [robots.ur5, robots.panda, robots.anymal])
def test_derivatives_of_inverse_and_forward_dynamics_are_those_of_pinocchio(robot):
    model = robot()
    model.loads[:] = [load for load in model.loads if not isinstance(load, kane.Damper)]
    equations = kane.formulate(model)
    twin, dyn = PinocchioTwin(model, equations), kane.build(equations)
    for seed in range(3):
        state = random_state(equations, np.random.default_rng(seed))
        C, _, _ = twin.motion(state)
        q, v, a = twin.q(state), C @ state.u, C @ state.udot
        theirs = pin.computeRNEADerivatives(twin.model, twin.data, q, v, a)
        found = dyn.derivatives("inverse", wrt=("q", "u", "udot"))(state.q, state.u, state.udot)
        for word, block in zip(("q", "u"), theirs, strict=False):
            scale = np.abs(block).max()
            np.testing.assert_allclose(found[word], C.T @ block @ C, rtol=0, atol=1e-9 * scale, err_msg=word)
        B = np.array(dyn.evaluate(dyn.function("input_matrix"), state.q, state.u)).reshape(len(equations.u), -1)
        tau = C @ B @ state.inputs
        theirs = pin.computeABADerivatives(twin.model, twin.data, q, v, tau)
        found = dyn.derivatives("forward", wrt=("q", "u"))(state.q, state.u, state.inputs)
        for word, block in zip(("q", "u"), theirs, strict=False):
            # Pinocchio keeps angles that kane snaps to right ones, 1e-11 off; inertias of wrists are 1e5 times smaller.
            scale = np.abs(block).max()
            np.testing.assert_allclose(found[word], C.T @ block @ C, rtol=0, atol=1e-7 * scale, err_msg=word)


def test_derivatives_of_forward_dynamics_are_those_that_jax_finds_in_its_own_source():
    jax.config.update("jax_enable_x64", True)
    equations = kane.formulate(kane.library.stanford_arm())
    dyn, state = kane.build(equations), random_state(equations, np.random.default_rng(1))
    f = loaded(JAX.source([program(equations, "forward")], name="arm"))["forward"]
    x, parameters = np.concatenate([[state.t], state.q, state.u]), dyn.parameters
    theirs = np.asarray(jax.jacfwd(lambda x: f(x, state.inputs, parameters))(x))
    ours = dyn.derivatives("forward", wrt=("q", "u"))(state.q, state.u, state.inputs)
    joined = np.concatenate([ours["q"], ours["u"]], axis=1)
    np.testing.assert_allclose(joined, theirs[:, 1:], rtol=0, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_accelerations_solved_for_in_numbers_have_the_derivatives_of_the_graph(seed):
    equations = kane.formulate(random_tree(seed, 9))
    assert is_long(equations, "rhs", ("q", "u", "inputs"))
    dyn, generator = kane.build(equations), np.random.default_rng(seed)
    d = dyn.derivatives("rhs", wrt=("q", "u", "inputs"))
    assert d.function.program is None
    states = [random_state(equations, generator) for _ in range(70)]  # more than a chunk, so that threads share them
    q, u, inputs = (np.array([getattr(x, word) for x in states]) for word in ("q", "u", "inputs"))
    found = d(q, u, inputs)
    written = dyn.evaluate(dyn.compile(d.program), q, u, inputs)
    values = len(d.outputs)
    np.testing.assert_allclose(found.value, written[:, :values], rtol=0, atol=ROUNDING * np.abs(found.value).max())
    entries = np.zeros((70, values, sum(map(len, d.columns.values()))))
    pattern = np.hstack([d.sparsity[word] for word in found])
    for x, (i, j) in zip(written[:, values:].T, d.places, strict=True):
        entries[:, i, j] = x
        assert pattern[i, j]
    joined = np.concatenate([found[word] for word in found], axis=-1)
    np.testing.assert_allclose(joined, entries, rtol=0, atol=1e2 * ROUNDING * np.abs(entries).max())
    for i in (0, 69):
        np.testing.assert_array_equal(d(q[i], u[i], inputs[i])["u"], found["u"][i])


LOOPS = {
    "four-bar": (kane.library.four_bar, {}),
    "bicycle": (kane.library.whipple_bicycle, {"q": {"heave": -0.3}}),
    "slider crank": (kane.library.slider_crank, {}),
}


@pytest.mark.parametrize("name", ["rhs", "inverse", "bias", "energy"])
@pytest.mark.parametrize("loop", LOOPS)
def test_derivatives_under_constraints_in_numbers_are_those_of_differences(loop, name):
    """Differences of ``Dynamics`` itself, over steps of 1e-5: their error is h^2 f'''/6 and 1e-16/h of rounding."""
    make, guess = LOOPS[loop]
    dyn, random, h = built(make), np.random.default_rng(2), 1e-5
    assert isinstance(dyn.equations.embedding, NumericalEmbedding)
    q = kane.assemble(dyn, **guess).q
    state = random_state(dyn.equations, random)
    u, rest = 0.5 * state.u, np.asarray(rest_of(name, state))
    words = {"inverse": ("q", "u", "udot"), "forward": ("q", "u", "inputs"), "rhs": ("q", "u", "inputs")}
    found = dyn.derivatives(name, wrt=words.get(name, ("q", "u")))(q, u, rest, 0.0)
    own, function = ConstraintTerms.of(dyn, q).own, dyn.function(name)

    def at(word, j, step):
        s = np.zeros(found[word].shape[-1])
        s[j] = step
        there = {"q": (own.moved(s), u, rest), "u": (q, u + s, rest)} if word in "qu" else {word: (q, u, rest + s)}
        return dyn.evaluate(function, *there[word], 0.0)

    np.testing.assert_allclose(found.value, dyn.evaluate(function, q, u, rest, 0.0), rtol=1e-9, atol=1e-9)
    for word, block in found.items():
        for j in range(block.shape[-1]):
            slope = (at(word, j, h) - at(word, j, -h)) / (2.0 * h)
            scale = 1.0 + np.abs(slope).max(initial=0.0)
            np.testing.assert_allclose(block[:, j], slope, rtol=0, atol=1e-6 * scale, err_msg=f"{word} {j}")


def test_along_the_motion_derivatives_in_numbers_are_those_on_the_graph():
    """On the constraints, along directions that they allow, both embeddings are one function of q and the speeds that
    are independent in both.
    """
    model = kane.library.four_bar()
    numbers = kane.build(kane.formulate(model))
    q = kane.assemble(numbers).q
    (independent,) = numbers.independent(q)
    start = kane.assemble(numbers, fixed=[independent])
    graph = kane.build(kane.formulate(model, near=start))
    assert graph.independent(q) == (independent,)
    allowed = np.linalg.svd(ConstraintTerms.of(numbers, q).A)[2][2:].T
    u, inputs = 3.0 * allowed[:, 0], np.array([0.7])
    a, b = (d.derivatives("forward", wrt=("q", "u", "inputs"))(q, u, inputs, 0.0) for d in (numbers, graph))
    np.testing.assert_allclose(a.value, b.value, rtol=1e-9)
    np.testing.assert_allclose(a["inputs"], b["inputs"], rtol=1e-9)
    np.testing.assert_allclose(a["u"], b["u"], rtol=1e-9)
    np.testing.assert_allclose(a["q"] @ allowed, b["q"] @ allowed, rtol=1e-8)


def test_a_batch_has_the_blocks_of_its_states():
    dyn = built(kane.library.four_bar)
    q = np.array([kane.assemble(dyn, q={"q1": x}, fixed=["q1"]).q for x in (0.4, 0.8, 1.1)])
    d = dyn.derivatives("forward", wrt=("q", "u", "inputs"))
    u, inputs = np.linspace(-1.0, 1.0, 9).reshape(3, 3), np.array([0.4])
    whole = d(q, u, inputs, 0.0)
    for k in range(3):
        one = d(q[k], u[k], inputs, 0.0)
        for word, block in whole.items():
            np.testing.assert_allclose(block[k], one[word], rtol=0, atol=1e-9 * (1.0 + np.abs(one[word]).max()))


@pytest.mark.parametrize("name", ["inverse", "forward", "energy"])
@pytest.mark.parametrize("model", ["Stanford Arm", "arm with springs, chosen speeds", "tree"])
def test_second_derivatives_are_complex_steps_of_first_ones(model, name):
    """Of the first derivatives as programs, whose own voucher are complex steps of the outputs."""
    dyn = built(MODELS[model])
    equations = dyn.equations
    state = random_state(equations, np.random.default_rng(8))
    words = ("q", "u", *{"inverse": ("udot",), "forward": ("inputs",)}.get(name, ()))
    d = dyn.derivatives(name, wrt=words)
    weights = np.random.default_rng(3).normal(size=len(d.outputs))
    found = d.hessian(state.q, state.u, rest_of(name, state), state.t, weights=weights)
    values = values_of(equations, state)
    directions = own_directions(equations, state.q) + [{u: 1.0} for u in equations.u]
    directions += [{x: 1.0} for x in {"inverse": equations.udot, "forward": equations.inputs}.get(name, ())]
    width = len(directions)
    slopes = complex_step.columns(d.program.outputs[len(d.outputs) :], values, directions)
    whole = np.zeros((len(d.outputs), width, width))
    for (i, j), row in zip(d.places, slopes, strict=True):
        whole[i, j] = row
    expected = np.einsum("i,ijk->jk", weights, whole)
    expected = 0.5 * (expected + expected.T)
    joined = np.block([[found[a, b] for b in words] for a in words])
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(joined, expected, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(found["q", "u"], found["u", "q"].T)


@pytest.mark.parametrize("of", ["forward", "rhs", "inverse", "bias", "energy", "reactions", "speeds"])
def test_second_derivatives_in_numbers_are_differences_of_first_ones(of):
    """Of the exact first ones, whose own vouchers are above, over steps of 1e-5 on and off the closed loop."""
    dyn = built(kane.library.four_bar)
    equations = dyn.equations
    assert isinstance(equations.embedding, NumericalEmbedding)
    asked = {"reactions": kane.reveal_reactions(equations, "q1", "q3"), "speeds": list(equations.u)}.get(of, of)
    reads = {"inverse": "udot", "forward": "inputs", "rhs": "inputs", "reactions": "inputs", "speeds": "inputs"}.get(of)
    words = ("q", "u", "b", "mu", *([reads] if reads else []))
    d = dyn.derivatives(asked, wrt=words)
    random = np.random.default_rng(2)
    q = kane.assemble(dyn, q={"q1": 0.4}, fixed=["q1"]).q + 0.01 * random.normal(size=3)
    at = {"q": q, "u": random.normal(size=3), "b": dyn.equations.defaults["b"], "mu": 0.02}
    rest = random.normal(size={"udot": 3, "inputs": 1}.get(reads, 0))
    weights, h = random.normal(size=len(d.outputs)), 1e-5

    def gradient(**moved):
        given = {**at, reads: rest} | moved
        J = d(given["q"], given["u"], given.get(reads), 0.0, parameters={"b": given["b"], "mu": given["mu"]})
        return {word: weights @ block for word, block in J.items()}

    found = d.hessian(
        at["q"], at["u"], rest if reads else None, 0.0, weights=weights, parameters={"b": at["b"], "mu": 0.02}
    )
    for second in words:
        value = np.atleast_1d({**at, reads: rest}[second])
        for j in range(len(value)):
            step = h * np.eye(len(value))[j] if np.ndim({**at, reads: rest}[second]) else h
            ends = [gradient(**{second: {**at, reads: rest}[second] + sign * step}) for sign in (1.0, -1.0)]
            for first in words:
                slope = np.atleast_1d((ends[0][first] - ends[1][first]) / (2 * h))
                # Central differences err by 1e-10 of third derivatives, 1e3 times as large where q moves a loop.
                scale = max(1.0, np.abs(found[first, second]).max())
                np.testing.assert_allclose(found[first, second][:, j], slope, rtol=0, atol=1e-6 * scale)


def test_second_derivatives_in_numbers_of_a_batch_are_those_of_its_states():
    dyn = built(kane.library.four_bar)
    q = np.array([kane.assemble(dyn, q={"q1": x}, fixed=["q1"]).q for x in (0.4, 0.8)])
    d, u, w = dyn.derivatives("forward", wrt=("q", "u")), np.ones((2, 3)), np.array([1.0, -2.0, 0.5])
    whole = d.hessian(q, u, [0.3], weights=w)
    for k in range(2):
        one = d.hessian(q[k], u[k], [0.3], weights=w)
        for place, block in whole.items():
            np.testing.assert_allclose(block[k], one[place], rtol=0, atol=1e-9 * (1.0 + np.abs(one[place]).max()))


@pytest.mark.parametrize(
    ("model", "joints"),
    [(kane.library.stanford_arm, ("q2", "q3")), (kane.library.four_bar, ("q1", "q3")), (kane.library.rolling_coin, ())],
)
def test_reactions_are_derived_with_the_accelerations_that_they_contain(model, joints):
    """Vouched for by differences of ``RevealedReactions``, over steps of 1e-5; dependent speeds follow there too."""
    equations = kane.formulate(model())
    dyn, h = kane.build(equations), 1e-5
    joints = joints or [connection.name for connection in equations.model.connections][:1]
    reactions = kane.reveal_reactions(equations, *joints)
    revealed = kane.RevealedReactions(dyn, reactions)
    chosen = [reactions.names.index(name) for name in reactions.expressions]

    def values(q, u, inputs):
        if equations.constraints:
            u = Embedded.of(dyn.evaluate(dyn.function("embedding"), q, u, inputs, state.t), len(u)).u
        return np.asarray(revealed(q, u, inputs, state.t))[chosen]

    state = random_state(equations, np.random.default_rng(4))
    words = ("u", "inputs") if equations.quaternions else ("q", "u", "inputs")
    found = dyn.derivatives(reactions, wrt=words)(state.q, state.u, state.inputs, state.t)
    np.testing.assert_allclose(found.value, values(state.q, state.u, state.inputs), rtol=1e-9, atol=1e-9)
    for word, block in found.items():
        for j in range(block.shape[1]):
            ends = []
            for sign in (1.0, -1.0):
                at = {"q": state.q, "u": state.u, "inputs": state.inputs}
                at[word] = at[word] + sign * h * np.eye(len(at[word]))[j]
                ends.append(values(**at))
            slope = (ends[0] - ends[1]) / (2.0 * h)
            np.testing.assert_allclose(block[:, j], slope, rtol=0, atol=1e-6 * (1.0 + np.abs(slope).max()))


def test_derivatives_are_exported_as_source_with_the_numbers_of_native_code(tmp_path):
    equations = kane.formulate(kane.library.n_link_pendulum(2))
    dyn, state = kane.build(equations), random_state(equations, np.random.default_rng(6))
    name = "derivatives of forward by q, u, m"
    (path,) = kane.export(equations, tmp_path, kane.NumPySource(), quantities=["forward", name])
    functions = loaded(path.read_text())
    (function,) = [f for word, f in functions.items() if word.startswith("derivatives")]
    x = np.concatenate([[state.t], state.q, state.u])
    values = function(x, state.inputs)
    d = dyn.derivatives("forward", wrt=("q", "u", "m"))
    found, entries = d(state.q, state.u, state.inputs), d.places
    whole = np.concatenate([found["q"], found["u"], found["m"][:, None]], axis=1)
    np.testing.assert_allclose(values[:3], found.value, rtol=1e-12)
    np.testing.assert_allclose(values[3:], [whole[place] for place in entries], rtol=1e-11, atol=1e-11)
    (header,) = [p for p in kane.export(equations, tmp_path, kane.CSource(), quantities=[name]) if p.suffix == ".h"]
    assert "derivatives_of_forward" in header.read_text()
    with pytest.raises(kane.ModelError, match="no derivative with respect to 'p'"):
        kane.export(equations, tmp_path, kane.CSource(), quantities=["derivatives of forward by p"])
