"""Tables of partial velocities and generalized forces, against the papers, by hand, and against Jacobians."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.loaded_tree import loaded_tree
from oracles.numbers import close, evaluated, input_matrix, interpreted, random_state, values_of

import kane
from kane.library import n_link_pendulum, random_tree, stanford_arm
from kane.library.wrist import wrist

# Some hundred products of numbers of order one on each side.
ROUNDING = 1e-12


def pendulum(**options):
    """A rod on a pin at the origin, its mass centre at l below it when q1 = 0, swinging about z."""
    m = kane.Model("pendulum", gravity=(0.0, -9.81, 0.0))
    rod = m.body("rod", mass=m.parameter("m", 2.0), inertia=(0.0, 0.0, 0.0), com=(0.0, -m.parameter("l", 0.5), 0.0))
    pin = m.connect(m.ground, rod, kane.Revolute("q1", **options))
    m.load(kane.Motor(pin, m.input("tau")))
    return m


def numbers(equations, state, vectors):
    """The components in N of vectors, (len, 3)."""
    values = values_of(equations, state)
    return np.array([interpreted(equations, v.components, values) for v in vectors])


def test_a_pendulum_has_the_partial_velocities_and_forces_that_one_writes_by_hand():
    e = kane.formulate(pendulum())
    table = e.partial_velocities()
    w, v = table.angular_velocities["rod"], table.mass_centres["rod"]
    assert w.u[0] == w.frame.z
    l, m = (p for name in ("l", "m") for p in e.parameters if p.name == name)
    assert v.frame.name == "rod"
    assert v.u[0].components[0] is l
    F, G = table.generalized_active_forces.by_load(), table.generalized_inertia_forces.total
    q, udot = 0.7, 1.3
    known = {e.q[0]: q, e.u[0]: 0.4, e.udot[0]: udot, e.inputs[0]: 3.0, m: 2.0, l: 0.5}
    # One product of rounded numbers on either side.
    np.testing.assert_allclose(interpreted(e, F["gravity"], known), -2.0 * 9.81 * 0.5 * np.sin(q), rtol=1e-15)
    np.testing.assert_allclose(interpreted(e, F["Motor on q1"], known), 3.0, rtol=0.0)
    np.testing.assert_allclose(interpreted(e, G, known), -2.0 * 0.25 * udot, rtol=1e-15)


def test_the_measure_number_speeds_of_a_gimbal_have_unit_vectors_for_partial_velocities():
    """u_i = w_NC . c_i."""
    m = kane.Model("wrist")
    L = m.parameter("L", 0.2)
    C = m.body("C", mass=2.0, inertia=(0.03, 0.04, 0.02), com=(0.0, 0.0, L))
    m.connect(m.ground, C, kane.Gimbal("turn", sequence="323", speeds=kane.MeasureNumbers()))
    table = kane.formulate(m).partial_velocities()
    lines = [line.split("  ") for line in str(table).splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert cells[0] == ["Partial velocities of wrist"]
    assert cells[2] == ["w_NC", "C.x", "C.y", "C.z"]
    assert cells[3] == ["v_NCcm", "-L C.y", "L C.x", "0"]


def test_the_stanford_arm_reads_as_in_the_paper():
    """Kane & Levinson 1983, Eqs. 17, 30, 32 with rates for speeds: w_B, B* and C*."""
    table = kane.formulate(stanford_arm()).partial_velocities()
    rows = {row.label: row for row in table.rows()}
    text = str(table).splitlines()
    assert "c2 B.y - s2 B.z" in next(line for line in text if line.startswith("w_NB "))
    assert rows["w_NB"].u[1] == rows["w_NB"].frame.x
    assert rows["v_NCcm"].u[5] == rows["v_NCcm"].frame.y
    assert all(x == 0.0 for u in rows["v_NAcm"].u for x in u.components)


@pytest.mark.parametrize("model", [stanford_arm, lambda: random_tree(6, 4), lambda: loaded_tree(2, 3)])
def test_whole_velocities_are_the_sum_of_partial_ones_and_the_remainder(model):
    e = kane.formulate(model())
    table, s = e.partial_velocities(), random_state(e, np.random.default_rng(1))
    for row in table.rows():
        parts = s.u @ numbers(e, s, row.u) + numbers(e, s, [row.t])[0]
        np.testing.assert_allclose(numbers(e, s, [row.whole])[0], parts, atol=ROUNDING * max(1.0, np.abs(parts).max()))


@pytest.mark.parametrize("model", [stanford_arm, lambda: random_tree(6, 4), lambda: loaded_tree(2, 3)])
def test_partial_velocities_are_the_columns_of_jacobians(model):
    made = model()
    e = kane.formulate(made)
    table, s = e.partial_velocities(), random_state(e, np.random.default_rng(2))
    N = table.frames["N"]
    for body in made.bodies[1:]:
        both = [table.angular_velocities[body.name].u, table.mass_centres[body.name].u]
        ours = [numbers(e, s, [v.express(N) for v in u]).T for u in both]
        theirs = evaluated(e, f"jacobian {body.name}", s, [float(x) for x in body.com]).reshape(6, -1)
        close(np.vstack(ours), theirs, ROUNDING)


def test_a_point_at_which_a_force_acts_has_a_row_of_its_own():
    model = pendulum()
    tip = model.bodies[1].point((0.0, -1.0, 0.2))
    model.load(kane.Force(tip, (model.input("push"), 0.0, 0.0)))
    e = kane.formulate(model)
    table = e.partial_velocities()
    (row,) = table.points.values()
    assert row.label == "v_NP, P of rod: Force on rod"
    assert row.u[0].components == (1.0, 0.0, 0.0)  # 1 m below the pin
    F = table.generalized_active_forces.by_load()["Force on rod"]
    known = {e.q[0]: 0.3, next(i for i in e.inputs if i.name == "push"): 2.0}
    np.testing.assert_allclose(interpreted(e, F, known), 2.0 * np.cos(0.3), rtol=1e-15)


def test_a_force_at_the_mass_centre_has_no_row_besides_that_of_the_mass_centre():
    assert kane.formulate(wrist()).partial_velocities().points == {}


@pytest.mark.parametrize("seed", range(3))
def test_active_and_inertia_forces_sum_to_the_equations_of_motion(seed):
    e = kane.formulate(loaded_tree(seed, 3))
    table, s = e.partial_velocities(), random_state(e, np.random.default_rng(seed))
    values = values_of(e, s)
    active, inertia = table.generalized_active_forces, table.generalized_inertia_forces
    total = interpreted(e, active.total, values) + interpreted(e, inertia.total, values)
    close(-total, evaluated(e, "inverse", s) - input_matrix(e, s) @ s.inputs, ROUNDING)
    for forces in (active, inertia):
        whole = interpreted(e, forces.total, values)
        for parts in (forces.by_body(), forces.by_load()):
            summed = sum(interpreted(e, x, values) for x in parts.values())
            close(summed, whole, ROUNDING * len(parts))


def test_forces_are_named_by_load_and_by_body_and_loads_of_one_kind_are_numbered():
    model = pendulum()
    model.load(kane.Motor(model.connections[0], 1.0))
    model.load(kane.Torque(model.bodies[1], (0.0, 0.0, 2.0)))
    forces = kane.formulate(model).partial_velocities().generalized_active_forces
    assert list(forces.by_load()) == ["gravity", "Torque on rod", "Motor on q1 (1)", "Motor on q1 (2)"]
    assert list(forces.by_body()) == ["rod", "q1"]


def test_prescribed_motion_shows_in_a_column_of_remainders():
    m = kane.Model("driven")
    a = m.body("a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b = m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.2, 0.0, 0.0))
    m.connect(m.ground, a, kane.Revolute("q1"))
    m.connect(a, b, kane.Revolute(3.0 * m.time, axis="z"), name="drive")
    table = kane.formulate(m).partial_velocities()
    assert table.angular_velocities["b"].t.components == (0.0, 0.0, 3.0)
    assert str(table).splitlines()[1].split() == ["u1", "t"]
    assert str(kane.formulate(pendulum()).partial_velocities()).splitlines()[1].split() == ["u1"]


def test_parameters_that_were_substituted_are_numbers_in_the_table():
    e = kane.substitute(kane.formulate(pendulum()), l=0.5)
    assert e.partial_velocities().mass_centres["rod"].u[0].components == (0.5, 0.0, 0.0)


def test_tables_are_shown_as_html_with_their_definitions_escaped():
    model = pendulum()
    model.load(kane.Motor(model.connections[0], kane.select(model.connections[0].q < 1.0, 1.0, 2.0)))
    table = kane.formulate(model).partial_velocities()
    assert table._repr_html_().startswith("<table>")
    html = table.generalized_active_forces._repr_html_()
    assert "&lt;" in html
    assert " < " not in html


def test_mass_and_inertia_forces_follow_the_order_of_the_bodies():
    table = kane.formulate(n_link_pendulum(3)).partial_velocities()
    names = [body for _, body, _ in table.generalized_inertia_forces.contributions]
    assert names == list(table.angular_velocities)


def test_a_sum_in_a_cell_stands_in_parentheses_before_its_unit_vector():
    m = kane.Model("slider")
    a = m.body("a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b = m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, a, kane.Revolute("q1"))
    m.connect(a, b, kane.Prismatic("q2", axis="x"), at=(0.3, 0.0, 0.0))
    row = next(line for line in str(kane.formulate(m).partial_velocities()).splitlines() if line.startswith("v_Nbcm"))
    assert row.split("  ", 1)[1].strip().startswith("(0.3 + q2) ")
