"""Dependent speeds chosen near a state: NumPy, SciPy, multipliers and the embedding in numbers vouch for the graph."""

from functools import cache

import numpy as np
import pytest
from oracles.formulated import formulated
from oracles.multipliers import accelerations
from scipy.linalg import qr

import kane
from kane import library
from kane.expression.derivative import linear_coefficients
from kane.expression.interpret import interpret
from kane.formulation.constraints.angle_sums import gathered
from kane.formulation.random_states import RandomStates
from kane.library.andrews_squeezer import ANDREWS_START

LEGS = {f"l{i}": 1.0 for i in range(1, 7)}
GUESSES = {
    "four_bar": (library.four_bar, {"q": {"q1": 1.0, "q3": 1.5}, "fixed": ["q1"]}),
    "slider_crank": (library.slider_crank, {"q": {"q1": 1.0, "q2": -1.2}, "fixed": ["q1"]}),
    "andrews_squeezer": (library.andrews_squeezer, {"q": ANDREWS_START, "fixed": ["beta"]}),
    "bricard": (library.bricard, {}),
    "n_four_bar": (lambda: library.n_four_bar(3), {}),
    "whipple_bicycle": (library.whipple_bicycle, {"q": {"roll": 0.1, "steer": 0.2}}),
    "stewart_platform": (library.stewart_platform, {"q": {"platform_z": 1.0, **LEGS}}),
}


@cache
def both(name):
    """Equations in numbers, the assembled state, and the equations near it; for all tests that only read them."""
    make, guess = GUESSES[name]
    equations = formulated(make)
    state = kane.assemble(equations, **guess)
    return equations, state, kane.formulate(equations.model, near=state)


@pytest.mark.parametrize("name", GUESSES)
def test_accelerations_near_the_state_are_those_of_multipliers_and_those_embedded_in_numbers(name):
    equations, state, near = both(name)
    assert equations.embedding.numerical
    numbers, graph = kane.build(equations), kane.build(near)
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = state.q + 0.05 * rng.normal(size=len(state.q))
        for start in equations.quaternions:
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        there = kane.assemble(numbers, q=q, u=rng.normal(size=len(state.u)))
        inputs = rng.normal(size=len(equations.inputs))
        udot = graph.forward(there.q, there.u, inputs)
        scale = np.abs(udot).max()
        # Divisors are some hundredths of their largest values, products of three of them lose five digits of sixteen.
        np.testing.assert_allclose(udot, numbers.forward(there.q, there.u, inputs), rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(udot, accelerations(numbers, there.q, there.u, inputs), rtol=0, atol=1e-8 * scale)


def test_held_speeds_stay_independent():
    _, state, near = both("four_bar")
    assert "u1" in state.free
    assert [leaf.name for leaf in near.embedding.u] == ["u2", "u3"]


def test_of_coordinates_alone_the_speeds_of_the_largest_pivots_are_dependent():
    """SciPy's QR with column pivoting of the rows, which are those of the embedding in numbers."""
    equations, state, _ = both("four_bar")
    coordinates = dict(zip(state.coordinates, state.q, strict=True))
    near = kane.formulate(equations.model, near=coordinates)
    dyn = kane.build(equations)
    rows = dyn.evaluate(dyn.function("constraints"), state.q, np.zeros(3))[:6].reshape(2, 3)
    assert sorted(near.embedding.D) == sorted(qr(rows, pivoting=True)[2][:2])
    independent = [leaf.name for j, leaf in enumerate(near.u) if j in near.embedding.independent]
    assert tuple(independent) == dyn.independent(state.q)


def test_the_four_bar_fails_only_where_coupler_and_rocker_lie_in_one_line():
    """By geometry: b c sin(q1 + q2 - q3)."""
    _, state, near = both("four_bar")
    (divisor,) = near.fails_where
    values = dict(zip(near.q, state.q, strict=True)) | {p: near.defaults[p.name] for p in near.parameters}
    b, c = near.defaults["b"], near.defaults["c"]
    expected = b * c * np.sin(state.q[0] + state.q[1] - state.q[2])
    assert abs(interpret([divisor], values)[0]) == pytest.approx(abs(expected), rel=1e-14)
    assert near.embedding.divisors == pytest.approx(interpret([divisor], values))
    assert f"{near.embedding.divisors[0]:.3g}" in near.notes_on_embedding


def test_rows_that_others_imply_are_left_out_by_name_and_hold_along_a_run():
    """What is left of all rows, those left out too, is recorded by the equations as declared."""
    equations, state, near = both("bricard")
    assert state.rank == 5
    assert len(near.embedding.redundant) == 1
    assert near.embedding.redundant[0] in {row.name for row in equations.constraints}
    dyn = kane.build(near)
    run = kane.simulate(dyn, until=1.0, q=state.q, u=state.u, integrator=kane.RK5())
    left = dyn.constraint_residuals(run.q, run.u)
    assert left.motion.shape[-1] == len(equations.constraints)
    assert np.abs(left.configuration).max() < 1e-13
    assert np.abs(left.motion).max() < 1e-12


def test_a_state_where_freedoms_meet_is_refused():
    flat = {"a0": np.pi / 2, "a1": np.pi / 2, "b1": -np.pi / 2}
    with pytest.raises(kane.ModelError, match=r"1 of 2 constraint equations are independent .* 2 around it.*singular"):
        kane.formulate(library.n_four_bar(1), near=flat)


@pytest.mark.parametrize(
    ("near", "words"),
    [
        ({"q1": 0.3}, r"does not satisfy the constraint 'loop: .*kane\.assemble"),
        ({"q9": 0.3}, "no coordinate 'q9'"),
        ([1.0, 2.0], "shape"),
        ({"q1": float("nan")}, "finite"),
        ("start", "q1, q2, q3|numbers"),
    ],
)
def test_states_that_are_none_are_refused(near, words):
    with pytest.raises(kane.ModelError, match=words):
        kane.formulate(library.four_bar(), near=near)


def test_where_nothing_has_to_be_chosen_a_state_changes_nothing():
    make = library.rolling_disk
    assert kane.formulate(make(), near={}).listing() == kane.formulate(make()).listing()


def test_speeds_that_are_named_stay_dependent_near_a_state():
    equations, state, _ = both("four_bar")
    model = library.four_bar()
    model.speeds(dependent=["u1", "u3"])
    near = kane.formulate(model, near=state)
    assert [leaf.name for leaf in near.embedding.u] == ["u1", "u3"]
    u = kane.assemble(equations, q=state.q, u={"u1": 1.0}, fixed=["u1"]).u
    udot = kane.build(equations).forward(state.q, u, [2.0])
    np.testing.assert_allclose(kane.build(near).forward(state.q, u, [2.0]), udot, rtol=1e-12)


def test_named_speeds_that_do_not_move_the_loop_are_refused_at_a_state():
    model = library.n_four_bar(2)
    model.speeds(dependent=["a0_dot", "b1_dot", "b2_dot"])
    with pytest.raises(kane.ModelError, match="4 constraint equations are independent"):
        kane.formulate(model, near={})


def test_the_choice_stays_with_the_model_of_the_equations():
    _, _, near = both("four_bar")
    again = kane.formulate(near.model)
    assert again.embedding.u.keys() == near.embedding.u.keys()
    heavier = kane.constrain(near, near.model.rate("q1") - 2.0)
    assert heavier.embedding.u
    assert heavier.embedding.independent == ()


TAKEN = (lambda e: e.listing(), lambda e: e.latex(), lambda e: e.mass_matrix, lambda e: e.input_matrix)


@pytest.mark.parametrize("take", [*TAKEN, lambda e: kane.power_ledger(e.model)])
def test_messages_that_refuse_name_the_cure(take):
    equations = kane.formulate(library.four_bar())
    with pytest.raises(kane.ModelError, match=r"embedded numerically.*kane\.formulate\(model, near=kane\.assemble\("):
        take(equations)


def test_what_needs_expressions_works_near_a_state():
    _, _, near = both("slider_crank")
    assert near.listing().splitlines()[-1].startswith("u3' = ")
    assert "align" in near.latex()
    assert kane.power_ledger(near.model)


def test_the_certificate_covers_the_choice():
    _, state, near = both("slider_crank")
    certificate = kane.certify(library.slider_crank(), near=state)
    assert certificate.holds
    assert any("numerically" in finding.claim and finding.digits for finding in certificate)
    assert str(kane.certify(near.model)) == str(certificate)


def test_runs_are_those_of_the_embedding_in_numbers():
    equations, state, near = both("four_bar")
    start = kane.assemble(equations, q=state.q, u={"u1": 3.0}, fixed=["u1"])
    options = {"until": 1.0, "integrator": kane.RK5(rtol=1e-11, atol=1e-11)}
    expected = kane.simulate(kane.build(equations), q=start.q, u=start.u, **options)
    run = kane.simulate(kane.build(near), q=start.q, u={"u1": 3.0}, **options)
    # Twenty times what the tolerances leave in a second.
    np.testing.assert_allclose(run.q, expected.q, rtol=0, atol=2e-9)


@pytest.mark.parametrize("method", [kane.RK5(), kane.RK8(), kane.RK4()], ids=lambda method: method.name)
def test_a_run_through_a_state_where_the_choice_fails_warns_by_name(method):
    """The piston cannot lead the crank at its dead centre: r sin(q1) = 0 there, by geometry."""
    model = library.slider_crank()
    equations = kane.formulate(model)
    guess = {"q1": 1.0, "q2": -1.2, "q3": 0.34}
    start = kane.assemble(equations, q=guess, u={"u3": -1.0}, fixed=["q3", "u3"])
    near = kane.formulate(model, near=start)
    assert [leaf.name for leaf in near.embedding.u] == ["u1", "u2"]
    with pytest.warns(UserWarning, match=r"passes a state between t = .* where .*u1, u2 cannot be the dependent"):
        kane.simulate(kane.build(near), until=0.5, q=start.q, u=start.u, integrator=method)


def test_a_run_in_which_the_choice_holds_warns_of_nothing(recwarn):
    _, state, near = both("slider_crank")
    kane.simulate(kane.build(near), until=0.5, q=state.q, u={"u1": 9.0})
    assert not recwarn.list


def test_sums_of_angles_are_gathered_and_put_back():
    model = kane.Model("angles")
    x, y, z = (model.parameter(name, 1.0) for name in "xyz")
    sin, cos = kane.sin, kane.cos
    s, c = sin(x) * cos(y) + cos(x) * sin(y), sin(x) * sin(y) - cos(x) * cos(y)
    forms = [s, c, s * cos(z) - c * sin(z), sin(x) * cos(y) - cos(x) * sin(y), cos(x) * cos(z) + sin(x) * sin(z)]
    found, products = gathered(forms)
    # cos(x + y) is -c, so that the third is s cos z + cos(x + y) sin z.
    wanted = [sin(x + y), -cos(x + y), sin(x + y + z), sin(x - y), cos(x - z)]
    assert [f is w for f, w in zip(found, wanted, strict=True)] == [True] * 5
    values = {x: 0.3, y: 1.1, z: -0.7}
    assert interpret(found, values) == pytest.approx(interpret(forms, values), rel=1e-14)
    nodes, meanings = list(products), list(products.values())
    assert interpret(nodes, values) == pytest.approx(interpret(meanings, values), rel=1e-14)


def disk_on_a_table_that_moves():
    m = kane.Model("table")
    table = m.body("table", mass=3.0, inertia=(1, 2, 3))
    m.connect(m.ground, table, kane.Gimbal(("yaw", "pitch", "roll")), at=(0.1, 0.2, 0.3))
    disk = m.body("disk", mass=1.0, inertia=(1, 2, 1))
    m.connect(m.ground, disk, kane.Free("disk"))
    shape = kane.Disk(disk.point((0.1, 0.0, 0.2)), disk.direction((0.6, 0.8, 0.0)), 0.3)
    m.constrain(kane.Rolling(shape, kane.Plane(table.point((0, 0, 0.1)), table.z)))
    return m


@pytest.mark.parametrize("model", [library.whipple_bicycle, disk_on_a_table_that_moves])
def test_rows_that_stand_for_others_where_speeds_are_eliminated_allow_the_same_motions(model):
    """In every state, on the constraints or off them: [A b] and [A' b'] have the same span."""
    equations = formulated(model)
    given = equations.constraints
    assert any(row.instead is not None for row in given)
    taken = [row.motion if row.instead is None else row.instead for row in given]
    states = RandomStates(equations, 5, seed=1)

    def rows(motions):
        A, b = linear_coefficients(motions, equations.u)
        width = len(equations.u)
        found = states([x for row in A for x in row]).T.reshape(5, len(motions), width)
        return np.concatenate([found, states(b).T[..., None]], axis=-1)

    before, after = rows([row.motion for row in given]), rows(taken)
    for A, B in zip(before, after, strict=True):
        rank = np.linalg.matrix_rank(A, tol=1e-9)
        assert np.linalg.matrix_rank(B, tol=1e-9) == rank
        assert np.linalg.matrix_rank(np.vstack([A, B]), tol=1e-9) == rank
