"""Steps that are cut at a guard within them are taken again with the directions of slip of their start.

What vouches: runs by another integrator with other steps; the arrays themselves.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import kane
from kane.engine.memory.constants import CONSTRAINT_HEADER, CONTACT_BLOCK, CONTACT_STATE, CONTACT_TABLE
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.fill import filled
from kane.engine.memory.run_codes import AT_END
from kane.engine.memory.views import (
    guard_history_size,
    guard_samples_at,
    guard_samples_size,
    mode_programs_size,
    run_clock_at,
    run_clock_size,
    slip_memory_size,
)
from kane.engine.step.slip_directions import restore_directions, save_directions

SLIDES = {"q": {"f_z": 0.15}, "u": {"f_vx": 0.5, "f_vy": 0.2, "f_wz": 1.0}}


@pytest.fixture(scope="module")
def box():
    m = kane.Model("box", gravity=(0, 0, -9.81))
    body = m.body("box", mass=1.0, inertia=(0.015,) * 3)
    m.connect(m.ground, body, kane.Free("f"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(body.shape(kane.Box(0.3, 0.3, 0.3)), floor, friction=kane.Coulomb(0.5), name="floor")
    return kane.build(kane.formulate(m))


def thrown(seed):
    """The start of a box that is thrown 0.5 m above the floor."""
    rng = np.random.default_rng(0)
    for _ in range(seed + 1):
        axis, angle, turn = rng.normal(size=3), rng.uniform(0, 1), rng.normal(size=3)
    turned = [np.cos(angle / 2), *np.sin(angle / 2) * axis / np.linalg.norm(axis)]
    q = dict(zip(("f_qw", "f_qx", "f_qy", "f_qz"), turned, strict=True)) | {"f_z": 0.5}
    return {"q": q, "u": dict(zip(("f_wx", "f_wy", "f_wz"), turn, strict=True)) | {"f_vx": 1.0}}


@pytest.mark.parametrize("dt", [4e-3, 5e-3, 1e-2])
def test_a_box_that_slides_and_turns_comes_to_rest_in_steps_past_the_end_of_its_slip(box, dt):
    """In a step of 5 ms friction takes 25 mm/s, and its corners slip by 15 when the last one begins."""
    run = kane.simulate(box, until=0.2, integrator=kane.RK4(), dt=dt, **SLIDES)
    exact = kane.simulate(box, until=0.2, integrator=kane.RK8(rtol=1e-11), **SLIDES)
    assert [event.cause for event in run.events] == ["imposed"] * 4 + ["sticks"] * 4
    assert run.q[-1] == pytest.approx(exact.q[-1], abs=5e-6)


@pytest.mark.parametrize(
    ("seed", "how"), [(99, {"integrator": kane.RK4(), "dt": 2e-3}), (140, {"integrator": kane.RK5(rtol=1e-4)})]
)
def test_thrown_boxes_come_to_rest_whose_corners_end_their_slip_within_steps(box, seed, how):
    """Each changed its mode a hundred times at one instant, where directions of discarded steps were left behind."""
    run = kane.simulate(box, until=1.5, **thrown(seed), **how)
    assert run.time[-1] == 1.5
    assert np.abs(run.u[-1]).max() < 1e-9
    exact = kane.simulate(box, until=1.5, **thrown(seed))
    assert run.q[-1] == pytest.approx(exact.q[-1], abs=2e-2)  # impacts grow errors of steps


@pytest.mark.slow
def test_in_lanes_boxes_slide_and_end_as_alone(box):
    """In compiled modes, and by steps of which the error discards many; lanes keep directions of their own."""
    method, speeds = kane.RK5(rtol=1e-4), np.linspace(0.3, 0.6, 9)
    start = {"q": SLIDES["q"], "u": SLIDES["u"] | {"f_vx": speeds}}
    alone = [
        kane.simulate(box, until=0.2, integrator=method, q=start["q"], u=SLIDES["u"] | {"f_vx": v}) for v in speeds
    ]
    fast = kane.compile_modes(box, sorted({mode for run in alone for mode in run.modes}))
    ensemble = kane.simulate_many(fast, until=0.2, integrator=method, **start)
    assert not ensemble.failures
    np.testing.assert_allclose(ensemble.q[:, -1], [run.q[-1] for run in alone], atol=1e-8)


def test_the_directions_at_the_start_of_a_step_come_back_but_of_slip_that_has_hardly_begun():
    """Two candidates behind the guard of a chart: the first slips, the second has hardly begun."""
    intermittents, guards = 2, 5
    header = {a.name: np.zeros(int(a.length)) for a in CONSTRAINT_HEADER.arrays} | {"speeds": 6}
    block = {a.name: np.zeros(int(a.length)) for a in CONTACT_BLOCK.arrays} | {"constraints": intermittents}
    table = {a.name: np.zeros(intermittents) for a in CONTACT_TABLE.arrays}
    state = {"status": [0, 0], "armed": [1, 1], "along": [[1.0, 0.0], [1.0, 0.1]], "begun": [1e-3, 1e-3]}
    parts = [
        filled(CONSTRAINT_HEADER, **header),
        np.arange(6),
        filled(CONTACT_BLOCK, **block),
        filled(CONTACT_TABLE, **table),
    ]
    stages = np.concatenate([*parts, filled(CONTACT_STATE, **state)]).view(np.float64)
    along = contact_constants_of(stages).state.along
    clock, looks, least = (
        run_clock_at(np.zeros(run_clock_size() + guard_history_size(guards) + slip_memory_size(intermittents, 3)), 0),
        np.zeros(guard_samples_size(guards)),
        np.ones(3),
    )
    system = SimpleNamespace(
        mode=np.zeros(mode_programs_size(), np.int64),
        stages=stages,
        headers=stages.view(np.int64),
        projection=SimpleNamespace(least=least),
        automaton=SimpleNamespace(guards=SimpleNamespace(out=np.zeros(guards))),
    )
    save_directions(system, clock)
    along[:] = 0.0, 1.0
    least[:] = 0.5, 0.1, 0.2
    guard_samples_at(looks, 0, guards).values[AT_END] = (
        -1.0,
        1.0,
        2e-3,
        1.0,
        5e-4,
    )  # of the chart, then normal and tangent of each
    restore_directions(system, clock, looks)
    assert along.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert least.tolist() == [1.0, 1.0, 1.0]
