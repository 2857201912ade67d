"""What results print at a prompt and in a notebook is true, and readable."""

import numpy as np
import pytest

import kane
from kane import Model, Revolute
from kane.dynamics.reactions.reaction_values import INDETERMINATE, ReactionValues
from kane.library import bricard, four_bar


@pytest.fixture(scope="module")
def swing():
    """A pendulum about x whose energy is zero: it starts from rest beside its hinge."""
    m = Model("swing", gravity=(0.0, 0.0, -9.81))
    m.connect(m.ground, m.body("bob", mass=2.0, com=(0.0, 0.5, 0.0)), Revolute("q1", axis="x"), at=(0.3, 0.0, 0.0))
    return m


@pytest.fixture(scope="module")
def loop():
    equations = kane.formulate(four_bar())
    dyn = kane.build(equations)
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    return equations, dyn, start, kane.simulate(dyn, until=0.05, q=start.q, u=start.u)


def test_results_that_print_as_tables_do_so_at_a_prompt_as_well(swing, loop):
    _, _, start, run = loop
    results = [
        kane.formulate(swing).count(), kane.formulate(swing).partial_velocities(), kane.path_tables(swing),
        kane.certify(swing), kane.best_speeds(swing), kane.power_ledger(swing), start, run.audit(),
    ]  # fmt: skip
    for result in results:
        assert repr(result) == str(result)
        assert "object at 0x" not in repr(result)
        assert max(map(len, repr(result).splitlines())) < 200


def test_dynamics_functions_and_reactions_say_what_they_are_of(loop):
    equations, dyn, _, _ = loop
    assert repr(dyn) == "<Dynamics of 'four_bar': 3 coordinates, 3 speeds, 1 input, 2 constraints>"
    assert repr(dyn.function("rhs")) == "<ConstrainedFunction 'rhs': state[7], rest[1] -> out[6]>"
    force = kane.RevealedReactions(dyn, kane.reveal_reactions(equations, "q1"))
    assert repr(force).startswith("<RevealedReactions of 'four_bar': q1 Fx [N], q1 Fy [N],")
    assert repr(kane.Multipliers()) == "Multipliers()"
    assert repr(kane.lagrange(kane.library.chain(2))) == "<LagrangeEquations in q1, q2, u1, u2>"


def test_tried_speeds_say_what_they_cost(swing):
    assert repr(kane.best_speeds(swing).table[0]).startswith("<TriedSpeeds u1: ")


def test_indeterminate_reactions_print_as_such():
    m = bricard()
    equations = kane.formulate(m)
    dyn = kane.build(equations)
    start = kane.assemble(dyn)  # all hinges flat: five of the six closing equations are independent
    force = kane.RevealedReactions(dyn, kane.reveal_reactions(equations, "q1"))
    values = force(start.q, start.u)
    assert np.isnan(values[0])
    for text in (str(values), repr(values), str(values[:1]), str(2.0 * values)):
        assert "indeterminate" in text
        assert "nan" not in text
    assert np.isnan(values.copy()).sum() == str(values).count("indeterminate")


def test_a_nan_that_came_with_the_state_is_not_called_indeterminate():
    mixed = np.array([np.nan, INDETERMINATE, 1.5]).view(ReactionValues)
    assert str(mixed).split() == ["[", "nan", "indeterminate", "1.5]"]
    assert str(np.array([np.nan, 1.0]).view(ReactionValues)) == "[nan  1.]"
    assert "indeterminate" not in str((mixed > 1).view(ReactionValues))


def test_a_gate_that_hangs_on_two_hinges_says_which_reactions_they_share():
    m = Model("gate")
    gate = m.body("gate", mass=2.0, com=(0.4, 0.0, 0.0), inertia=(0.1, 0.2, 0.3))
    hinge = m.connect(m.ground, gate, Revolute("q1", axis="z"))
    m.constrain(kane.Coincidence(m.ground.point((0, 0, 1)), gate.point((0, 0, 1))), name="upper")
    revealed = kane.reveal_reactions(kane.formulate(m), hinge)
    assert revealed.indeterminate
    assert repr(revealed).endswith(f"; indeterminate: {', '.join(revealed.indeterminate)}>")


def test_residuals_are_residuals(loop):
    run = loop[3]
    assert sorted(run.residuals) == ["configuration_residual", "motion_residual"]
    assert "format" not in run.residuals.attrs
    assert {"configuration_drift", "motion_drift", "conditioning", "switches"} <= set(run.to_xarray())


def test_an_audit_of_quantities_that_stay_zero_is_not_alarmed_by_round_off(swing):
    run = kane.simulate(kane.build(kane.formulate(swing)), until=1.0)
    found = {c.name: c for c in run.audit()}
    assert abs(found["energy"].initial) < 1e-14  # nothing to measure a drift against ...
    assert found["energy"].size > 9.0  # ... but kinetic and potential energy are 9.81 J at the bottom
    assert all(c.digits > 8 for c in found.values())
    lines = str(run.audit()).splitlines()
    assert lines[0].startswith("constants of motion, kept to at least ")
    assert [line.split()[:2] for line in lines[1:]] == [[name, "0"] for name in found]
    assert "relative" in run.audit().table()


def test_the_size_of_momenta_bounds_them_whatever_the_motion():
    """|P| <= sum |m v| and |H| <= sum |I w + p x m v| by the triangle inequality: nature vouches."""
    dyn = kane.build(kane.formulate(kane.library.spacecraft_tree()))
    run = kane.simulate(dyn, until=1.0, u=np.linspace(-0.5, 1.0, len(dyn.equations.u)))
    sizes = {c.name[0]: c.size for c in run.audit() if c.name != "energy"}
    momentum = dyn.momentum(run.q, run.u)
    for letter, vectors in zip("PH", momentum, strict=True):
        assert np.linalg.norm(vectors, axis=-1).max() <= sizes[letter] * (1 + 1e-12)  # round-off


def test_an_assembled_state_has_units(loop):
    start = loop[2]
    lines = [line.split() for line in str(start).splitlines()]
    assert lines[0] == ["q1", "0.5", "rad", "independent"]
    assert lines[4][0] == "u2"
    assert lines[4][2:] == ["rad/s"]


def test_a_run_whose_steps_are_chosen_records_no_step(swing):
    dyn = kane.build(kane.formulate(swing))
    assert "dt" not in kane.simulate(dyn, until=0.01).to_xarray().attrs
    assert kane.simulate(dyn, until=0.01, dt=0.005).to_xarray().attrs["dt"] == 0.005
