"""Exact operation counts of the reference models, and ceilings that they stay under.

The counts stand in counts.json. After a change that is meant to change them:

    PYTHONPATH=src:tests python tests/budget/test_counts.py
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from oracles.general_arm import general_arm
from oracles.robots import anymal, panda, talos, ur5

import kane
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.parameter_sums import shortened
from kane.expression.operations import PARAMETER
from kane.expression.traverse import count_operations
from kane.formulation.quantities.programs import written_quantity
from kane.library import (
    andrews_squeezer,
    chain,
    chaplygin_sleigh,
    four_bar,
    n_link_pendulum_to_vertical,
    rolling_coin,
    rolling_disk,
    shopping_cart,
    slider_crank,
    stanford_arm,
    stewart_platform,
    stuck_shopping_cart,
    whipple_bicycle,
    wrist,
    wrist_measure_numbers,
)
from kane.library.andrews_squeezer import ANDREWS_START

TABLE = Path(__file__).with_name("counts.json")
UPDATE = "if that is meant, write the table anew: PYTHONPATH=src:tests python tests/budget/test_counts.py"


def stanford_arm_in_measure_numbers():
    """Kane & Levinson 1983: u_i = w_ND . d_i for i = 1, 2, 3."""
    model = stanford_arm()
    joint = {c.name: c for c in model.connections}
    D = joint["q3"].child
    w = D.angular_velocity
    rates = {f"u{k}": joint[f"q{k}"].qdot for k in (4, 5, 6)}
    model.speeds(u1=w.dot(D.x), u2=w.dot(D.y), u3=w.dot(D.z), **rates)
    return model


MODELS = {
    "general 6R": lambda: general_arm(6),
    "general 7R": lambda: general_arm(7),
    "Stanford Arm": stanford_arm,
    "UR5": ur5,
    "Panda": panda,
    "ANYmal C": anymal,
    "Talos reduced": talos,
    "chain 10": lambda: chain(10),
    "wrist": wrist,
    "wrist in measure numbers": wrist_measure_numbers,
    "Stanford Arm in measure numbers": stanford_arm_in_measure_numbers,
    "rolling disk": rolling_disk,
    "shopping cart": shopping_cart,
    "stuck shopping cart": stuck_shopping_cart,
    "rolling coin": rolling_coin,
    "Chaplygin's sleigh": chaplygin_sleigh,
    "four-bar linkage": four_bar,
    "slider-crank": slider_crank,
    "bicycle": whipple_bicycle,
    "Andrews' squeezer": andrews_squeezer,
    "Stewart platform": stewart_platform,
}
PLATFORM = {"platform_z": 1.0, **{f"l{i}": 1.0 for i in range(1, 7)}}
# Guesses of the states near which the dependent speeds of closed loops are chosen, and what is held of them.
NEAR = {
    "four-bar linkage": ({"q1": 1.0, "q3": 1.5}, ["q1"]),
    "slider-crank": ({"q1": 1.0, "q2": -1.2}, ["q1"]),
    "bicycle": ({"roll": 0.1, "steer": 0.2}, ["roll", "steer"]),
    "Andrews' squeezer": (ANDREWS_START, ["beta"]),
    "Stewart platform": (PLATFORM, [f"platform_{x}" for x in ("qw", "qx", "qy", "qz", "x", "y", "z")]),
}
# Of the sine of the tilt; of a spring's length; of the radii of wheels seen in the vertical plane through the contact.
ROOTS = {"rolling coin": 1, "Andrews' squeezer": 1, "bicycle": 2}
# Multiplications, additions and divisions measured feasible by experiment (architecture, section 5).
CEILINGS = {
    ("general 6R", "inverse"): (454, 359, 0),
    ("general 6R", "forward"): (959, 827, 6),
    ("general 7R", "forward"): (1250, 1067, 6),
    ("Stanford Arm", "inverse"): (150, 104, 0),
    ("Stanford Arm", "forward"): (323, 254, 5),
}
# Pinocchio's algorithms traced through CasADi (architecture, section 5): the strongest peer, to be under in every cell.
TRACED = {
    ("Stanford Arm", "inverse"): (270, 199, 0),
    ("Stanford Arm", "forward"): (571, 426, 21),
    ("UR5", "inverse"): (327, 237, 0),
    ("UR5", "forward"): (728, 536, 21),
    ("Panda", "inverse"): (665, 553, 0),
    ("Panda", "forward"): (1404, 1221, 32),
    ("ANYmal C", "inverse"): (1637, 1370, 0),
    ("ANYmal C", "forward"): (3745, 3351, 116),
    ("Talos reduced", "inverse"): (3305, 2774, 0),
    ("Talos reduced", "forward"): (7214, 6226, 234),
}
# SymPy's KanesMethod and cse, M and f together (benchmarks/RESULTS.md, "Deriving the equations").
SYMPY = {5: (109, 44), 10: (419, 189), 20: (1639, 779)}


@cache
def counts(name):
    """Every row of the table of a model's equations."""
    model = MODELS[name]()
    near = None
    if name in NEAR:
        q, fixed = NEAR[name]
        near = kane.assemble(kane.formulate(model), q=q, fixed=fixed)
    return {program: dict(row) for program, row in kane.formulate(model, near=near).count().items()}


@pytest.mark.parametrize("name", MODELS)
def test_operation_counts_are_those_of_the_table(name):
    """Up is a regression; down is progress that the table should know of."""
    table = json.loads(TABLE.read_text())[name]
    changes = [
        f"{name}, {program}, {kind}: {table.get(program, {}).get(kind)} in the table, {number} now"
        for program, row in counts(name).items()
        for kind, number in row.items()
        if table.get(program, {}).get(kind) != number
    ]
    assert not changes, "\n".join([*changes, UPDATE])


def test_the_table_has_no_rows_of_models_that_are_gone():
    assert list(json.loads(TABLE.read_text())) == list(MODELS), UPDATE


@pytest.mark.parametrize(("cell", "ceiling"), CEILINGS.items(), ids=str)
def test_counts_are_at_or_under_what_was_measured_feasible(cell, ceiling):
    row = counts(cell[0])[cell[1]]
    assert (row["mul"] <= ceiling[0], row["add"] <= ceiling[1], row["div"] <= ceiling[2]) == (True,) * 3, row


@pytest.mark.parametrize(("cell", "ceiling"), TRACED.items(), ids=str)
def test_counts_are_under_those_of_pinocchio_traced_to_straight_line_code(cell, ceiling):
    row = counts(cell[0])[cell[1]]
    below = row["mul"] < ceiling[0], row["add"] < ceiling[1], row["div"] <= ceiling[2]
    assert below == (True,) * 3, row


@pytest.mark.parametrize("n", SYMPY)
def test_pendulums_with_angles_to_the_vertical_need_no_more_operations_than_sympys(n):
    equations = kane.formulate(n_link_pendulum_to_vertical(n))
    outputs = [*written_quantity(equations, "mass_matrix").outputs, *written_quantity(equations, "bias").outputs]
    found = count_operations(shortened(factor(outputs)), free=(PARAMETER,))
    assert (found["mul"] <= SYMPY[n][0], found["add"] <= SYMPY[n][1]) == (True, True), found


@pytest.mark.parametrize("name", MODELS)
def test_each_angle_has_one_sine_and_one_cosine(name):
    """No more trigonometry than two functions a turning joint, and none that is not real dynamics (sqrt, exp, ...)."""
    model = MODELS[name]()
    angles = sum(c.joint.coordinate_units.count("rad") for c in model.connections)
    for row in counts(name).values():
        assert row["trig"] <= 2 * angles
        assert row["other"] <= ROOTS.get(name, 0)


if __name__ == "__main__":
    TABLE.write_text(json.dumps({name: counts(name) for name in MODELS}, indent=1) + "\n")
    print(f"wrote {TABLE}")
