"""The measure by which fixed steps notice that a held row turned further than the step followed."""

from types import SimpleNamespace

import numpy as np
import pytest

from kane.engine.memory.constants import CONSTRAINT_HEADER
from kane.engine.memory.fill import filled
from kane.engine.memory.run_memory import notes_of
from kane.engine.memory.views import mode_programs_size, projection_notes_at, projection_notes_size
from kane.engine.step import row_turns

# Residual of a step with a row that turns by phi, as a share of the speed: Taylor's theorem.
MIDPOINT, RK4, GAUSS4 = (2, 3, 24), (4, 5, 120), (4, 5, 4320)  # order; the residual is phi^power / divisor


def misses(monkeypatch, residual, phi, order, aligned, speed=3.0):
    """Whether the measure notices; the row is at right angles to the speeds before the step, and then turns by phi."""
    row = np.array([np.sin(aligned + phi), -np.cos(aligned + phi)])
    notes, aside = np.zeros(projection_notes_size()), np.zeros(projection_notes_size())
    projection_notes_at(notes, 0).motion[0] = residual * speed
    sizes = {array.name: np.zeros(int(array.length)) for array in CONSTRAINT_HEADER.arrays} | {"coordinates": 1}
    system = SimpleNamespace(
        projection=SimpleNamespace(notes=notes),
        aside=SimpleNamespace(notes=aside),
        headers=filled(CONSTRAINT_HEADER, **sizes),
        mode=np.zeros(mode_programs_size(), dtype=np.int64),
    )

    def project_probe(system, t, x):
        notes_of(system.aside).motion[0] = abs(row @ x[1:])

    monkeypatch.setattr(row_turns, "project_probe", project_probe)
    x = np.array([0.7, speed * np.cos(aligned), speed * np.sin(aligned)])
    store = SimpleNamespace(x=x, y=x.copy(), z=np.zeros(3))
    return row_turns.turns_too_far(system, store, 0.0, order)


@pytest.mark.parametrize("aligned", [0.0, 0.3, 0.8, 1.5])
@pytest.mark.parametrize(("method", "phi"), [(MIDPOINT, 0.08), (RK4, 0.18), (GAUSS4, 0.45)])
def test_a_smooth_row_that_a_step_follows_is_no_kink(monkeypatch, method, phi, aligned):
    order, power, divisor = method
    for turn in (phi, phi / 3, phi / 100, 0.0):
        assert not misses(monkeypatch, turn**power / divisor, turn, order, aligned)


@pytest.mark.parametrize("aligned", [0.0, 0.3, 0.8, 1.5])
@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("jump", [0.01, 0.3, np.pi / 2, 3.0])
def test_a_row_that_jumps_is_a_kink(monkeypatch, order, jump, aligned):
    """None of the jump is followed: the residual is the turn."""
    assert misses(monkeypatch, np.sin(jump), jump, order, aligned)


def test_residuals_below_the_slowest_slip_are_no_kink(monkeypatch):
    assert not misses(monkeypatch, 1.0, np.pi / 2, 4, 0.3, speed=0.9e-9)
