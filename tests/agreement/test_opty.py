"""kane.compat.opty beside values of opty 1.5, which oracles/opty_problems.py stores."""

import json

import numpy as np
import pytest
from oracles import opty_problems

import kane.compat.opty

# Relative to the largest value; opty and kane round sums in another order.
TOLERANCE = 1e-12
STORED = json.loads(opty_problems.STORED.read_text("utf-8"))
METHODS = ("backward euler", "midpoint")


def _close(ours, theirs):
    theirs = np.asarray(theirs)
    return np.abs(ours - theirs).max() < TOLERANCE * (1.0 + np.abs(theirs).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", opty_problems.problems())
def test_constraints_and_jacobian_entries_are_those_of_opty(name, method):
    c, stored = opty_problems.collocator(kane.compat.opty, name, method), STORED[f"{name}, {method}"]
    z = opty_problems.free_vector(c.num_free)
    rows, columns = c.jacobian_indices()
    entries = c.generate_jacobian_function()(z)
    assert [str(x) for x in (*c.unknown_input_trajectories, *c.unknown_parameters)] == stored["unknown"]
    assert _close(c.generate_constraint_function()(z), stored["constraints"])
    # Entries of instance constraints have the order of a set in opty, which changes from run to run.
    motion = c.num_eom * (c.num_collocation_nodes - 1) * len(c.program.elements[0].functions.unknowns)
    assert rows[:motion].tolist() == stored["rows"][:motion]
    assert columns[:motion].tolist() == stored["columns"][:motion]
    assert _close(entries[:motion], stored["jacobian"][:motion])
    ours = sorted(zip(rows[motion:].tolist(), columns[motion:].tolist(), entries[motion:], strict=True))
    theirs = zip(*(stored[word][motion:] for word in ("rows", "columns", "jacobian")), strict=True)
    assert len(ours) == len(stored["rows"]) - motion
    for own, other in zip(ours, sorted(theirs), strict=True):
        assert own == pytest.approx(other, rel=TOLERANCE, abs=TOLERANCE)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", opty_problems.objectives())
def test_objectives_are_those_of_opty(name, method):
    stored = STORED[f"objective {name}, {method}"]
    value, gradient = opty_problems.objective(kane.compat.opty, name, method)
    z = opty_problems.free_vector(len(stored["gradient"]))
    assert value(z) == pytest.approx(stored["value"], rel=TOLERANCE)
    if method == "backward euler":  # for midpoint, opty's gradient is not that of its value
        assert _close(gradient(z), stored["gradient"])
    step = 1e-6
    differences = [(value(z + step * e) - value(z - step * e)) / (2 * step) for e in np.eye(len(z))]
    assert gradient(z) == pytest.approx(differences, abs=1e-8)  # central differences: step^2 and 1e-16 / step
