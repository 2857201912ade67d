"""A free box on a rough floor in a hand: where its corners find no mode, the tick is a step of Moreau and Jean.

Who vouches: the floor, the second law of thermodynamics, the ledger of passive steps, which is an identity, and the
same session run again. The step itself is compared with closed forms in ``test_stepping_over.py``.
"""

from itertools import product

import numpy as np
import pytest

from kane.haptics import PassiveMidpoint, Session, replay
from kane.haptics.scenes import DRAGGED_BOX_SIZE, make_hand_scene

OVER = "is stepped over"


PASSIVE = PassiveMidpoint()


@pytest.fixture(scope="module", params=[None, PASSIVE], ids=["RK4", "passive"])
def session(request):
    scene = make_hand_scene("dragged_box")
    with Session(scene.dyn, scene.hand, scene.coupler, q=scene.q, integrator=request.param) as s:
        s.arm()
        s.rehearse(scene.seconds)
    return s


def heights(states):
    """Of the eight corners above the floor, from [t, q, u] with q = quaternion and place."""
    w, x, y, z = states[:, 1:5].T
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    return states[:, 7, None] + up @ np.array(list(product(*[(-size / 2, size / 2) for size in DRAGGED_BOX_SIZE]))).T


def test_a_hand_drags_a_box_by_a_corner_to_the_end_of_the_run(session):
    assert [x.name for x in session.coupling.dyn.equations.q[4:]] == ["box_x", "box_y", "box_z"]
    assert len(session.log) == 4000
    causes = [cause for _, _, cause in session.report.events]
    assert OVER in causes
    assert causes.count("slips") > 1
    assert causes.count("sticks") > 1
    assert np.ptp(session.states[:, 5]) > 0.03
    assert heights(session.states).max() > DRAGGED_BOX_SIZE[2] + 0.01  # it is tipped
    assert np.abs(session.log["force"][200:3000]).max() > 1.0
    assert session.report.faults == ()
    over, row = session.report.passed
    assert over == causes.count(OVER) >= row >= 1
    assert f"{over} ticks were Moreau-Jean time steps" in str(session.report)


def test_no_corner_goes_into_the_floor_by_more_than_a_step_misses(session):
    """A step of Moreau and Jean misses the floor by h^2 |w|^2 r/2, here (1e-3 s)^2 (3 1/s)^2 0.1 m/2."""
    assert heights(session.states).min() > -5e-7


def test_friction_takes_energy_and_never_gives_any(session):
    """Work of the coupler less what the box has of it: the work is summed by the trapezoidal rule."""
    log = session.log
    has = log["energies"]["kinetic"] + log["energies"]["potential"]
    taken = log["energies"]["to_mechanism"] - (has - has[0])
    assert taken[-1] > 0.5
    assert (taken - np.maximum.accumulate(taken)).min() > -1e-4 * taken[-1]


@pytest.mark.parametrize("session", [PASSIVE], indirect=True)
def test_the_ledger_of_passive_steps_has_what_was_stepped_over_among_what_was_lost(session):
    ledger, potential = session.ledger, session.log["energies"]["potential"][0]
    gained = ledger.kinetic + ledger.potential - ledger.owed - potential
    assert gained == pytest.approx(ledger.coupler + ledger.other - ledger.lost, abs=1e-13)


@pytest.mark.parametrize("session", [PASSIVE], indirect=True)
def test_with_passive_steps_the_report_closes_as_the_ledger_does(session):
    report, ledger = session.report, session.ledger
    assert report.to_mechanism == ledger.coupler
    gained = report.energy[1] - report.energy[0]
    assert gained == pytest.approx(report.to_mechanism + ledger.other - ledger.lost + ledger.owed, abs=1e-12)


def test_it_runs_again_bit_for_bit(session, tmp_path):
    session.save(tmp_path / "box.session")
    again = replay(tmp_path / "box.session", make_hand_scene("dragged_box").dyn)
    np.testing.assert_array_equal(again.states, session.states)
    assert again.report.events == session.report.events
