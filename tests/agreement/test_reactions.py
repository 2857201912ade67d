"""Revealed reactions agree with Pinocchio's joint forces, with free-body cuts, and among three routes."""

import numpy as np
import pytest
from oracles.numbers import interpreted, random_state, values_of
from oracles.pinocchio_twin import PinocchioTwin

import kane
from kane import AuxiliarySpeeds, Multipliers, OrthogonalComplement
from kane.formulation.reactions.reactions import _null_rows
from kane.library import random_tree
from kane.library.random_tree import PLAIN_JOINTS

# Some hundred products of numbers of order one: 1e4 roundings of 1.1e-16.
ROUNDING = 1e-12
ROUTES = [AuxiliarySpeeds(), OrthogonalComplement(), Multipliers()]


@pytest.mark.parametrize("seed", range(8))
def test_joint_wrenches_of_random_trees_are_those_that_pinocchio_carries_inwards(seed):
    """Pinocchio's rnea leaves in data.f the force and the moment about the joint frame that hold each subtree."""
    model = random_tree(seed, 2 + seed % 5, joints=PLAIN_JOINTS)
    equations = kane.formulate(model)
    twin = PinocchioTwin(model, equations)
    state = random_state(equations, np.random.default_rng(seed))
    twin.inverse(state)
    moving = [(c, index) for c, index in twin.joints]
    revealed = kane.reveal_reactions(equations, *(c for c, _ in moving))
    found = interpreted(equations, revealed.expressions.values(), values_of(equations, state)).reshape(-1, 6)
    for wrench, (_, index) in zip(found, moving, strict=True):
        f = twin.data.f[index]
        np.testing.assert_allclose(wrench, [*f.linear, *f.angular], rtol=0, atol=ROUNDING * (1 + np.abs(wrench).max()))


def four_bar():
    model = kane.Model("four bar", gravity=(0.0, -9.81, 0.0))
    names, lengths = "ABC", (1.0, 2.0, 2.5)
    A, B, C = (
        model.body(n, mass=1.0 + k, inertia=(0.0, l * l / 12, l * l / 12), com=(l / 2, 0.0, 0.0))
        for k, (n, l) in enumerate(zip(names, lengths, strict=True))
    )
    model.connect(model.ground, A, kane.Revolute("q1", axis="z"))
    model.connect(A, B, kane.Revolute("q2", axis="z"), at=(1.0, 0.0, 0.0))
    model.connect(model.ground, C, kane.Revolute("q3", axis="z"), at=(2.2, 0.0, 0.0))
    model.close(B, C, kane.Revolute("q4", axis="z"), at=(2.0, 0.0, 0.0), child_at=(2.5, 0.0, 0.0))
    return model


def closed(crank):
    """The four-bar's q at a crank angle, by the triangle of coupler and rocker."""
    P, Q = np.array([np.cos(crank), np.sin(crank)]), np.array([2.2, 0.0])
    d = Q - P
    alpha = np.arctan2(d[1], d[0]) + np.arccos((d @ d + 2.0**2 - 2.5**2) / (2 * 2.0 * np.linalg.norm(d)))
    tip = P + 2.0 * np.array([np.cos(alpha), np.sin(alpha)])
    rocker = np.arctan2(*(tip - Q)[::-1])
    return np.array([crank, alpha - crank, rocker, rocker - alpha])


def rates(crank, speed, h=1e-5):
    """Its u by differences of the closed form: h^2 and rounding over h, 1e-10 each."""
    return (closed(crank + h) - closed(crank - h)) / (2 * h) * speed


@pytest.fixture(scope="module")
def bar():
    equations = kane.formulate(four_bar())
    revealed = kane.reveal_reactions(equations, "q1", "q2", "q3", "q4", "closure of q4")
    return kane.build(equations), revealed


@pytest.mark.parametrize("crank", [0.3, 1.4, 2.6, 4.0])
def test_three_routes_to_the_reactions_of_a_closed_loop_agree(bar, crank):
    dyn, revealed = bar
    q, u = closed(crank), rates(crank, 1.3)
    first, *others = (kane.RevealedReactions(dyn, revealed, route=route)(q, u) for route in ROUTES)
    assert np.isfinite(first).any()
    for other in others:
        # u satisfies the constraints to 1e-10, and what each route makes of the rest differs by as much.
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-8 * np.nanmax(np.abs(first)))


@pytest.mark.parametrize("crank", [0.3, 1.4, 2.6, 4.0])
def test_forces_in_the_joints_of_a_closed_loop_balance_each_body_cut_free(bar, crank):
    """m a = sum of forces for crank, coupler and rocker; accelerations by differences of positions along the motion."""
    dyn, revealed = bar
    q, u = closed(crank), rates(crank, 1.3)
    udot = dyn.forward(q, u)
    values = dict(zip(revealed.names, kane.RevealedReactions(dyn, revealed)(q, u), strict=True))
    poses = dyn.poses(q)
    children = {"q1": "A", "q2": "B", "q3": "C", "q4": "q4_M"}
    force = {
        joint: poses[child].orientation[:2, :2] @ [values[f"{joint} Fx"], values[f"{joint} Fy"]]
        for joint, child in children.items()
    }
    h = 1e-4

    def centre(name, length, t):
        pose = dyn.poses(q + t * u + t * t / 2 * udot)[name]
        return (pose.position + pose.orientation @ [length / 2, 0.0, 0.0])[:2]

    bodies = {"A": (1.0, 1.0, "q1", "q2"), "B": (2.0, 2.0, "q2", "q4"), "C": (3.0, 2.5, "q3", None)}
    for name, (mass, length, inner, outer) in bodies.items():
        a = (centre(name, length, h) - 2 * centre(name, length, 0.0) + centre(name, length, -h)) / h**2
        total = force[inner] - (force[outer] if outer else -force["q4"])
        # Second differences over 1e-4 s: 1e-16/1e-8 of rounding, h^2 times fourth derivatives of some hundred.
        np.testing.assert_allclose(total + mass * np.array([0.0, -9.81]), mass * a, rtol=0, atol=1e-5)


def test_what_a_planar_loop_of_hinges_shares_is_nan_and_its_determinate_sums_are_named(bar):
    """Out of the plane the hinges hold each other: 3 times 4 components, of which the plane determines none."""
    dyn, revealed = bar
    values = dict(zip(revealed.names, kane.RevealedReactions(dyn, revealed)(closed(0.3), rates(0.3, 1.0)), strict=True))
    shared = {name for name, x in values.items() if np.isnan(x)}
    assert shared == set(revealed.indeterminate)
    assert shared == {f"q{k} {c}" for k in "1234" for c in ("Fz", "Tx", "Ty")} | {
        f"closure of q4: {row}" for row in ("z", "turn about x", "turn about y")
    }
    sums = revealed.determinate_sums
    assert sums
    summed = revealed.summed(**{f"sum{k}": terms for k, terms in enumerate(sums)})
    assert summed.indeterminate == ()


def test_a_weld_inside_a_link_and_a_point_of_a_body_have_reactions():
    """A mass at the end of a pendulum of length 2: m a = F + m g in the bar's axes."""
    model = kane.Model("pendulum", gravity=(0.0, -9.81, 0.0))
    bar, bob = model.body("bar", mass=2.0, inertia=(0.1, 0.2, 0.3), com=(1.0, 0.0, 0.0)), model.body("bob", mass=1.5)
    hinge = model.connect(model.ground, bar, kane.Revolute("q1", axis="z"))
    model.connect(bar, bob, kane.Weld(), at=(2.0, 0.0, 0.0), name="clamp")
    model.load(kane.Motor(hinge, model.input("tau")))
    equations = kane.formulate(model)
    dyn = kane.build(equations)
    revealed = kane.reveal_reactions(equations, "clamp", bob.point((0.0, 0.0, 0.0)), hinge)
    q, u, tau = 0.3, 0.7, 1.5
    values = dict(zip(revealed.names, kane.RevealedReactions(dyn, revealed)([q], [u], [tau]), strict=True))
    udot = dyn.forward([q], [u], [tau])[0]
    expected = 1.5 * np.array([-2 * u * u + 9.81 * np.sin(q), 2 * udot + 9.81 * np.cos(q)])
    for title in ("clamp", "bob"):
        np.testing.assert_allclose([values[f"{title} Fx"], values[f"{title} Fy"]], expected, rtol=ROUNDING)
    np.testing.assert_allclose(values["q1 Tz"], tau, rtol=ROUNDING)


def test_the_wrench_on_a_point_of_a_body_is_that_of_its_joint_moved_there():
    """F along the axes of the body, T_P = T_Mo + (Mo - P) x F; of a body on a turned hinge and of one welded to it."""
    model = kane.Model("arm", gravity=(1.0, -2.0, -9.0))
    A = model.body("A", mass=1.3, inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), com=(0.1, 0.2, 0.3))
    B = model.body("B", mass=0.9, inertia=(0.5, 0.35, 0.4, 0.03, -0.02, 0.05), com=(-0.3, 0.2, 0.4))
    turns = [kane.Rotation.euler("xyz", 0.3 + k, 0.4, 0.5 - k) for k in range(4)]
    places = {"at": (0.4, -0.3, 0.2), "child_at": (0.1, 0.2, -0.1)}
    hinge = model.connect(
        model.ground,
        A,
        kane.Revolute("q1", axis=(1.0, 2.0, 0.5)),
        orientation=turns[0],
        child_orientation=turns[1],
        **places,
    )
    clamp = model.connect(A, B, kane.Weld(), orientation=turns[2], child_orientation=turns[3], name="clamp", **places)
    equations = kane.formulate(model)
    at = (-0.2, 0.5, 0.3)
    state = values_of(equations, random_state(equations, np.random.default_rng(0)))
    for joint, turn, body in ((hinge, turns[1], A), (clamp, turns[3], B)):
        # Each by itself, so that neither cuts the weld for the other.
        wrench, moved = (
            interpreted(equations, kane.reveal_reactions(equations, place).expressions.values(), state)
            for place in (joint, body.point(at))
        )
        R = np.array(turn.entries, float).reshape(3, 3)
        F, T = R @ wrench[:3], R @ wrench[3:]
        arm = np.array(places["child_at"]) - at
        np.testing.assert_allclose(moved, [*F, *(T + np.cross(arm, F))], rtol=0, atol=ROUNDING * np.abs(moved).max())


def shelf():
    """A shelf of weight 2 x 9.81 that two posts 0.8 m apart hold upright and along: they share what is along."""
    model = kane.Model("shelf", gravity=(0.0, -9.81, 0.0))
    board = model.body("board", mass=2.0, inertia=(0.0, 0.1, 0.1), com=(0.3, 0.0, 0.0))
    model.connect(model.ground, board, kane.Planar(("x", "y", "theta")), name="plane")
    model.load(kane.Force(board.point((0.1, 0.0, 0.0)), (5.0, 0.0, 0.0)))
    for name, x in (("left", 0.0), ("right", 0.8)):
        P = board.point((x, 0.0, 0.0))
        model.constrain(P.position.dot(model.ground.y), name=f"{name} up")
        model.constrain(P.velocity.dot(board.x), name=f"{name} along")
    return model


def test_sums_of_shared_reactions_have_the_value_that_balance_gives_them():
    """Lengthwise the posts share 5 N; upwards 2 x 9.81 N acts at 3/8 of the way from the left to the right one."""
    equations = kane.formulate(shelf())
    revealed = kane.reveal_reactions(equations, "left up", "left along", "right up", "right along")
    assert revealed.indeterminate == ("left along", "right along")
    assert revealed.determinate_sums == ({"left along": 1.0, "right along": 1.0},)
    summed = revealed.summed(along={"left along": 1.0, "right along": 1.0}, up={"right up": 2.0, "left up": -1.0})
    assert summed.units == ("N", "N")
    dyn = kane.build(equations)
    found = kane.RevealedReactions(dyn, summed)([0.0] * 3, [0.0] * 3)
    left, right = 2.0 * 9.81 * 5 / 8, 2.0 * 9.81 * 3 / 8
    np.testing.assert_allclose(found, [-5.0, 2.0 * right - left], rtol=ROUNDING)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[1.0, 1.0]], [[1.0, -1.0]]),
        ([[2.0, 0.0, 4.0], [0.0, 3.0, 0.0]], [[1.0, 0.0, -0.5]]),
        ([[0.0, 1.0, -2.0, 3.0]], [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, -1 / 3], [0.0, 0.0, 1.0, 2 / 3]]),
        ([[1.0, 0.0], [0.0, 1.0]], np.zeros((0, 2))),
        ([[3e-12, 1.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, -1.0]]),
        ([[1.0, 1.0, 1.0, 1.0]], [[1.0, 0.0, 0.0, -1.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, -1.0]]),
        ([[1.0, 2.0, 0.5, 1.0], [0.5, 1.0, 1.0, 2.0]], [[1.0, -0.5, 0.0, 0.0], [0.0, 0.0, 1.0, -0.5]]),
        ([[1e6, 0.0], [0.0, 1e-6]], [[0.0, 1.0]]),
        ([[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        # So many rows that in some column the largest entry of those left is not in the first, whatever the SVD gives.
        ([np.arange(1.0, 9.0)], np.hstack([np.eye(7), -np.arange(1.0, 8.0)[:, None] / 8.0])),
    ],
)
def test_combinations_that_vanish_are_in_reduced_form(matrix, expected):
    # Rotations of an SVD and a few eliminations; what is under 1e-9 is nothing, as everywhere in eliminations.
    found = _null_rows(matrix)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found == 0.0, np.equal(expected, 0.0))


def test_reactions_of_turns_are_torques():
    equations = kane.formulate(four_bar())
    revealed = kane.reveal_reactions(equations, "closure of q4", "q1")
    units = {name: "N m" if "turn" in name or " T" in name else "N" for name in revealed.names}
    assert dict(zip(revealed.names, revealed.units, strict=True)) == units


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (lambda m: [], "needs a joint, a constraint, or a point of a body"),
        (lambda m: ["q9"], "no joint or constraint 'q9'; known are closure of q4, q1"),
        (lambda m: [m.ground.point()], "nothing holds the ground"),
        (lambda m: [four_bar().connections[0]], "has no reactions in 'four bar'"),
        (lambda m: [four_bar().bodies[1].point()], "belongs to another model"),
    ],
)
def test_what_has_no_reaction_is_refused(places, message):
    model = four_bar()
    with pytest.raises(kane.ModelError, match=message):
        kane.reveal_reactions(kane.formulate(model), *places(model))


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([("q1", 1.0)], "the sum 'a' is a dict of factors by names of reactions, not"),
        ({}, "the sum 'a' is empty; give factors by names of reactions"),
        ({"q9": 1.0}, "there is no reaction 'q9'; "),
    ],
)
def test_what_is_no_sum_of_reactions_is_refused(terms, message):
    revealed = kane.reveal_reactions(kane.formulate(four_bar()), "q1")
    with pytest.raises(kane.ModelError, match=message):
        revealed.summed(a=terms)


def test_reactions_of_a_model_that_is_not_formulated_are_refused():
    with pytest.raises(
        kane.ModelError, match=r"reveal_reactions takes Equations, which kane.formulate\(model\) returns"
    ):
        kane.reveal_reactions(four_bar(), "q1")


def test_reactions_of_other_equations_are_refused(bar):
    with pytest.raises(kane.ModelError, match="belong to other equations"):
        kane.RevealedReactions(kane.build(kane.formulate(four_bar())), bar[1])
