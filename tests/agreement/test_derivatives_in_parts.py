"""Derivatives with links side by side, vouched for by those of the graph, whose own vouchers are complex steps."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest
from oracles.numbers import random_state

import kane
from kane.codegen.programs.parts import MEMORY, LoopRound
from kane.formulation.derivatives.forward_in_parts import ForwardDerivatives, derivative_parts
from kane.formulation.derivatives.inverse_in_parts import InverseDerivatives
from kane.formulation.derivatives.link_blocks import blocks_of, has_single_axes, reference_of
from kane.formulation.derivatives.program_derivative import derivative, derivative_program

# Sums of some hundred products of numbers that cancel, in another order; where M is solved, times its condition.
ROUNDING = 1e-12
JOINTS = (kane.Revolute, kane.Revolute, kane.Prismatic)


def tree(seed, parents, *, base=None, loads=True):
    """Bodies with one speed each behind a first one with joint ``base``; ``parents`` of each, 0 the first body."""
    random, m = np.random.default_rng(seed), kane.Model("tree", gravity=(0.4, -0.3, -9.81))
    L, mass = m.parameter("L", 0.4), m.parameter("m", 1.3)

    def body(name):
        x = random.uniform(0.1, 0.5, 3)
        inertia = (*(x.sum() - x), *random.uniform(-0.02, 0.02, 3))
        heavy = mass if name in ("B2", "B5") else random.uniform(0.5, 2.0)
        return m.body(name, mass=heavy, inertia=inertia, com=tuple(random.uniform(-0.2, 0.2, 3)))

    bodies = [m.ground]
    if base is not None:
        bodies = [body("base")]
        m.connect(m.ground, bodies[0], base)
    for k, parent in enumerate(parents):
        name = f"B{k + 1}"
        bodies.append(body(name))
        kind = JOINTS[random.integers(3)]
        axis = tuple(random.normal(size=3)) if k % 2 else "xyz"[k % 3]
        at = (L, 0.1, 0.0) if k == 3 and parent == 0 else tuple(random.uniform(-0.5, 0.5, 3))
        turn = kane.Rotation.about(tuple(random.normal(size=3)), random.uniform(0.0, 3.0))
        joint = m.connect(bodies[parent], bodies[-1], kind(f"q{name}", axis=axis), at=at, orientation=turn)
        if loads and k % 3 == 0:
            m.load(kane.Damper(joint, 0.3 + 0.1 * k))
            m.load(kane.Motor(joint, m.input(f"T{k + 1}")))
    if loads:
        m.load(kane.PointSpring(bodies[3].point(), bodies[-1].point((0.1, 0.0, 0.2)), 20.0, 0.3))
        m.load(kane.Force(bodies[2].point((0.0, 0.1, 0.0)), (m.input("F"), 0.0, 1.0)))
    return m


# Each model has 17 speeds, the fewest with which links go side by side whatever the registers hold.
LEGS = [0, 1, 2, 0, 4, 5, 0, 7, 8, 9, 9]
BRANCHES = [0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9, 3]
MODELS = {
    "legs on a free body": lambda: tree(1, LEGS, base=kane.Free("base")),
    "an arm of more than a register holds": lambda: tree(2, range(16), base=kane.Revolute("q0", axis="z")),
    "branches of branches": lambda: tree(3, BRANCHES, base=kane.Spherical("b")),
    "two trees on the ground": lambda: tree(4, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 11, 12, 13, 14, 13, 16]),
    "three branches": lambda: tree(
        5, [0, 1, 2, 3, 4, 0, 6, 7, 8, 0, 10, 11, 12, 13, 14, 15], base=kane.Revolute("q0", axis="z")
    ),
}
COMPARED = [name for name in MODELS if name != "three branches"]
# The graph takes two seconds for each. The slow tests have every model by both programs.
QUICKLY = {
    ("legs on a free body", "forward"),
    ("an arm of more than a register holds", "inverse"),
    ("branches of branches", "forward"),
    ("two trees on the ground", "inverse"),
}


@cache
def equations_of(name):
    """Equations of a model, formulated once for all tests of this file."""
    return kane.formulate(MODELS[name]())


@cache
def named(name):
    equations = equations_of(name)
    return equations, kane.build(equations), random_state(equations, np.random.default_rng(3))


def graph(dyn, d, q, u, rest):
    """Values and blocks of the program that ``d`` has for emitters."""
    found = dyn.evaluate(dyn.compile(d.program), q, u, rest, 0.3)
    values, width = len(d.outputs), sum(map(len, d.columns.values()))
    whole = np.zeros((*found.shape[:-1], values, width))
    for place, (i, j) in enumerate(d.places):
        whole[..., i, j] = found[..., values + place]
    return found[..., :values], whole


@pytest.mark.parametrize(
    ("model", "name"),
    [
        pytest.param(model, name, marks=() if (model, name) in QUICKLY else pytest.mark.slow)
        for model in COMPARED
        for name in ("inverse", "forward")
    ],
)
def test_links_side_by_side_have_the_derivatives_of_the_graph(model, name):
    equations, dyn, state = named(model)
    rest, words = (state.udot, ("q", "u", "udot")) if name == "inverse" else (state.inputs, ("q", "u", "inputs"))
    assert has_single_axes(equations, name, words)
    d = dyn.derivatives(name, wrt=words)
    assert d.function.program is None
    found = d(state.q, state.u, rest, 0.3)
    value, whole = graph(dyn, d, state.q, state.u, rest)
    condition = 1e3 if name == "forward" else 1.0
    np.testing.assert_allclose(found.value, value, rtol=0, atol=condition * ROUNDING * np.abs(value).max())
    joined = np.concatenate([found[word] for word in found], axis=-1)
    np.testing.assert_allclose(joined, whole, rtol=0, atol=condition * ROUNDING * np.abs(whole).max())


@pytest.mark.parametrize("name", ["inverse", "forward"])
def test_a_batch_has_the_bits_of_its_states_and_parameters_may_be_a_batch(name):
    equations, dyn, _ = named("legs on a free body")
    random = np.random.default_rng(7)
    states = [random_state(equations, random) for _ in range(150)]  # more than a chunk
    word = "udot" if name == "inverse" else "inputs"
    q, u, rest = (np.array([getattr(x, w) for x in states]) for w in ("q", "u", word))
    d = dyn.derivatives(name, wrt=("u", "q"))
    masses = {"m": np.linspace(1.0, 2.0, 150)}
    found = d(q, u, rest, 0.3, parameters=masses)
    for k in (0, 77, 149):
        one = d(q[k], u[k], rest[k], 0.3, parameters={"m": masses["m"][k]})
        for key in ("q", "u"):
            np.testing.assert_array_equal(found[key][k], one[key])
        np.testing.assert_array_equal(found.value[k], one.value)


def test_what_is_far_from_the_origin_loses_no_digits():
    """No equation of motion of a free body sees that it is displaced by 10 km, nor may the frame of the first link."""
    equations = kane.formulate(tree(1, LEGS, base=kane.Free("base"), loads=False))
    dyn, state = kane.build(equations), random_state(equations, np.random.default_rng(3))
    d = dyn.derivatives("inverse", wrt=("q", "u"))
    near = d(state.q, state.u, state.udot)
    q = np.array(state.q)
    q[[k for k, leaf in enumerate(equations.q) if leaf.name in ("base_x", "base_y", "base_z")]] += 1e4
    assert (q != state.q).sum() == 3
    np.testing.assert_array_equal(d(q, state.u, state.udot)["q"], near["q"])


@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("model", COMPARED)
def test_every_link_has_one_place_behind_those_it_hangs_on(model, width):
    system = equations_of(model).route.system
    first = reference_of(system)
    blocks = blocks_of(system, width)
    assert sorted(x for block in blocks for x in block.links) == list(range(first + 1, len(system.links)))
    known = {first}
    for block in blocks:
        assert len(block.links) <= width
        assert block.above in known
        for x in block.links:
            parent = system.links[x].parent
            assert parent == block.above or parent in block.links[: block.links.index(x)]
        known |= {*block.links}


@pytest.mark.parametrize("name", ["inverse", "forward"])
def test_few_speeds_have_links_side_by_side_where_the_graph_sees_few_zeros(name):
    """The width is given: registers of four doubles (AVX2) are too narrow for seven speeds to gain."""
    for model, aside in ((kane.library.chain(7), True), (kane.library.n_link_pendulum(7), False)):
        equations = kane.formulate(model)
        on_graph = len(derivative_program(equations, derivative(equations, name, ("q", "u"))).instructions)
        found = derivative_parts(equations, name, ("q", "u"), 8, lambda count=on_graph: count)
        assert (found is not None) == aside, model.name


@pytest.mark.parametrize("name", ["inverse", "forward"])
@pytest.mark.parametrize("own", [False, True])
def test_states_in_lanes_have_the_bits_of_a_state_alone(name, own):
    """One stage for all or one for each, and 19 states: two blocks and a last one that goes back over its neighbour."""
    equations = equations_of("three branches")
    lanes, alone = (kane.build(equations, target=kane.LLVM(lanes=x)) for x in (True, False))
    random = np.random.default_rng(8)
    states = [random_state(equations, random) for _ in range(19)]
    word = "udot" if name == "inverse" else "inputs"
    q, u, rest = (np.array([getattr(x, w) for x in states]) for w in ("q", "u", word))
    masses = np.linspace(1.0, 2.0, 19) if own else np.full(19, 1.5)
    d, single = (dyn.derivatives(name, wrt=("q", "u", word)) for dyn in (lanes, alone))
    assert d.function.program is None
    found = d(q, u, rest, 0.3, parameters={"m": masses if own else 1.5})
    assert d.function._lanes.keys() == {own}
    for k in range(19):
        one = single(q[k], u[k], rest[k], 0.3, parameters={"m": masses[k]})
        for key in ("q", "u", word):
            assert found[key][k].tobytes() == one[key].tobytes()
        assert found.value[k].tobytes() == one.value.tobytes()


def test_a_state_with_a_nan_spoils_no_other_of_its_batch_and_no_more_of_its_own_entries_than_alone():
    """What depends on the last link of one branch is NaN either way; alone its neighbours in the registers are too."""
    equations = equations_of("three branches")
    dyn = kane.build(equations, target=kane.LLVM(lanes=True))
    random = np.random.default_rng(8)
    states = [random_state(equations, random) for _ in range(8)]
    q, u, udot = (np.array([getattr(x, w) for x in states]) for w in ("q", "u", "udot"))
    d = dyn.derivatives("inverse", wrt=("q", "u"))
    assert d.function.program is None
    sound = d(q, u, udot, 0.3)
    q[3, -1] = np.nan
    found, one = d(q, u, udot, 0.3), d(q[3], u[3], udot[3], 0.3)
    others = [0, 1, 2, 4, 5, 6, 7]
    for key in ("q", "u"):
        assert found[key][others].tobytes() == sound[key][others].tobytes()
        lost = np.isnan(found[key][3])
        assert lost[-1].any()
        assert (lost <= np.isnan(one[key])).all()
        kept = ~np.isnan(one[key])
        assert np.array_equal(found[key][3][kept], one[key][kept])


def test_accelerations_by_efforts_of_joints_are_the_inverse_of_the_mass_matrix_each_pair_found_once():
    """LAPACK inverts M; of two legs one acts on the other as that on it, to the bit."""
    _, dyn, state = named("legs on a free body")
    d = dyn.derivatives("forward", wrt=("q", "u", "inputs"))
    found, names = d(state.q, state.u, state.inputs)["inputs"], list(d.columns["inputs"])
    efforts = [(name, 5 + int(name[1:])) for name in names if name != "F"]  # six speeds of the first body before
    inverse = np.linalg.inv(dyn.mass_matrix(state.q))
    for name, speed in efforts:
        column = found[:, names.index(name)]
        np.testing.assert_allclose(column, inverse[:, speed], rtol=0, atol=1e-12 * np.abs(inverse).max())
    rows = [speed for _, speed in efforts]
    own = found[np.ix_(rows, [names.index(name) for name, _ in efforts])]
    legs = [leg for leg, size in enumerate((3, 3, 5)) for _ in range(size)]
    apart = np.array([[legs[i - 6] != legs[j - 6] for j in rows] for i in rows])
    assert apart.any()
    assert (own == own.T)[apart].all()


def test_joints_of_several_speeds_stay_on_the_graph():
    m = tree(1, LEGS, loads=False)
    m.connect(m.ground, m.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.1, 0.0, 0.0)), kane.Spherical("s"))
    assert not has_single_axes(kane.formulate(m), "inverse", ("q", "u"))


def unwritten(program):
    """Places of memory that routines of a program in parts read before they are written, with the routine's name.

    A lane that no item uses is written with what its own inputs make of it, if they are written: sums over all lanes
    take it times zero, and rubbish times zero may be no number.
    """
    parts = program.parts
    written, found = {*parts.places}, []
    for call in parts.calls:
        for sweep in call.rounds or [LoopRound({}, range(call.items))]:
            lanes = range(parts.width if call.routine.wide else 1)
            places = partial(places_of, parts, call.routine, {**call.at, **sweep.at})
            reads = {lane: {x for leaf in call.routine.leaves.values() for x in places(*leaf, lane)} for lane in lanes}
            used = {*sweep.items} & {*lanes}
            found += [(call.routine.name, place) for lane in used for place in reads[lane] - written]
            known = used | {lane for lane in lanes if reads[lane] <= written}
            written |= {x for _, *place in call.routine.outputs for lane in known for x in places(*place, lane)}
    return found


def places_of(parts, routine, at, array, index, lane):
    """The place in memory of a value, if it lies there."""
    home, start = at[array]
    if home != MEMORY:
        return []
    return [start + (index * parts.width + lane if routine.has_items(array) else index)]


@pytest.mark.parametrize(("name", "width"), [("inverse", 8), ("forward", 2), ("forward", 8)])
@pytest.mark.parametrize("model", COMPARED)
def test_nothing_is_read_before_it_is_written(model, name, width):
    """Memory begins with whatever was there: columns of a branch once read rows that only other branches write."""
    equations, words = equations_of(model), ("q", "u", "inputs")
    make = InverseDerivatives if name == "inverse" else partial(ForwardDerivatives, words=words)
    assert not unwritten(make(equations, width).derivatives().program)
