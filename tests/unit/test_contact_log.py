"""The contact log: its records follow their contract, and files, events and intervals repeat them."""

from dataclasses import fields

import numpy as np
import pytest

import kane
from kane.dynamics.compiled_modes import CONSTRAINT_STATUSES


def sliding_box():
    """A box in the plane that falls on an edge, slides and comes to rest."""
    m = kane.Model("box", gravity=(0, -9.81, 0))
    B = m.body("B", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, B, kane.Planar("p", axis="z"))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(B.shape(kane.Box(0.4, 0.2, 0.2)), floor, friction=kane.Coulomb(0.35, 0.3), restitution=0.2)
    return kane.build(kane.formulate(m))


@pytest.fixture(scope="module")
def run():
    return kane.simulate(sliding_box(), until=0.6, q={"p_y": 0.3, "p_angle": 0.2}, u={"p_x_dot": 0.5})


def test_events_are_the_records_with_the_impulses_of_their_own_constraint(run):
    log = run.contact_log
    assert len(log.records) > 5
    for record, event in zip(log.records, run.events, strict=True):
        assert (event.time, event.name, event.cause) == (record.time, log.intermittents[record.cause], record.kind)
        np.testing.assert_array_equal(event.impulse, record.impulses[log.of == record.cause])
        np.testing.assert_array_equal(event.u, record.u)


def test_records_of_one_transition_share_its_state_and_only_the_first_has_its_loss(run):
    records = run.contact_log.records
    groups = 0
    for last, record in zip((None, *records), records, strict=False):
        same = last is not None and last.time == record.time and (last.u == record.u).all()
        groups += not same
        if same:
            assert record.energy_lost == 0.0
            np.testing.assert_array_equal(record.impulses, last.impulses)
            np.testing.assert_array_equal(record.statuses, last.statuses)
    assert groups < len(records)
    assert sum(record.energy_lost for record in records) == pytest.approx(sum(e.energy_lost for e in run.events))


def test_a_file_keeps_the_log(run, tmp_path):
    run.save(tmp_path / "run.nc")
    log, read = run.contact_log, kane.Trajectory.load(tmp_path / "run.nc").contact_log
    for column in fields(log):
        np.testing.assert_array_equal(getattr(read, column.name), getattr(log, column.name), err_msg=column.name)


def test_a_run_without_transitions_has_an_empty_log():
    log = kane.simulate(sliding_box(), until=0.01, q={"p_y": 3.0}).contact_log
    assert log.records == ()
    assert log.active_intervals(np.array([0.0, 0.01])) == {}
    m = kane.library.n_link_pendulum(1)
    assert kane.simulate(kane.build(kane.formulate(m)), until=0.01).contact_log is None


def test_intervals_follow_the_statuses_after_each_transition(run):
    log = run.contact_log
    for name, intervals in log.active_intervals(run.time).items():
        k = log.intermittents.index(name)
        for interval in (x for x in intervals if x.begin < x.end):  # others are within one transition
            middle = 0.5 * (interval.begin + interval.end)
            status = log.after[np.searchsorted(log.times, middle) - 1, k]
            assert interval.slides == (CONSTRAINT_STATUSES[status] == "sliding")
