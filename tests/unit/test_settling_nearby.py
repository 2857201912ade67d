"""The end of a step put onto its rows by what the last slope has left in the scratch: native programs at states."""

import numpy as np
import pytest
from oracles.contact_machine import ContactMachine

import kane
from kane.engine.memory.contact_codes import OPEN, STICKING
from kane.engine.step.batches import each_state

# What a sum of at most ten terms rounds, over their sizes, with that of the terms themselves.
ROUNDING = 2.0**-49


def crate_with_a_lid(points):
    """Points of a crate and of its lid, of which each may stick to a floor; as a machine of contacts."""
    m = kane.Model("crate with a lid", gravity=(0, -9.81, 0))
    crate = m.body("crate", mass=2, inertia=(0.02, 0.03, 0.025))
    lid = m.body("lid", mass=0.3, inertia=(1e-3,) * 3, com=(0.1, 0.02, 0.01))
    m.connect(m.ground, crate, kane.Free("f"))
    m.connect(crate, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    floor, friction = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(static=0.5, kinetic=0.4)
    for name, point in points(crate, lid).items():
        m.contact(point, floor, friction=friction, name=name)
    return ContactMachine(m)


@pytest.fixture(scope="module")
def machine():
    """A corner of the crate and a tip of the lid."""
    return crate_with_a_lid(
        lambda crate, lid: {"left": crate.point((-0.1, -0.1, 0.02)), "tip": lid.point((0.3, 0, 0.05))}
    )


class Calls:
    """Programs of a machine called one after the other over one scratch, as a run does."""

    def __init__(self, machine):
        self._machine, f = machine, machine.functions
        self.work = np.zeros(max(p.n_work for p in (f.rhs, f.project, f.project_step_end)))

    def __call__(self, name, q, u):
        f, rest = getattr(self._machine.functions, name), np.zeros((1, 0))
        out = np.full((1, f.n_out), np.nan)  # so that nothing unwritten can be read unseen
        each_state(f.address, np.array([[0.0, *q, *u]]), rest, self._machine.stage[None], out, self.work)
        return out[0]


def projected_state(machine, rng):
    """A random state on the rows of a mode by lot in which something is held."""
    machine.fresh()
    machine.status[:] = [[STICKING, OPEN], [OPEN, STICKING], [STICKING, STICKING]][rng.integers(3)]
    while True:
        q, u = rng.normal(size=machine.nq), rng.normal(size=machine.n)
        q[:4] /= np.linalg.norm(q[:4])
        q, u = machine.projected(*machine.projected(q, u))
        T, rows = machine.terms(q, u), machine.in_force()
        if np.linalg.svd(T.A[rows], compute_uv=False)[-1] > 0.05 and np.abs(q).max() < 10.0:
            return q, u


def moved(rng, q, u, far, faster):
    """The state with coordinates and speeds that much off, quaternions of unit length."""
    q, u = q + far * rng.normal(size=len(q)), u + faster * rng.normal(size=len(u))
    q[:4] /= np.linalg.norm(q[:4])
    return q, u


def require_kept(machine, q, u, given):
    """No row is off by more than rounding: gaps in metres, velocities over their terms with the given speeds."""
    T, rows = machine.terms(q, u), machine.in_force()
    assert max(abs(x) for i, x in zip(T.closing, T.phi, strict=True) if i in rows) <= 1e-14
    assert np.all(np.abs(T.motion[rows]) <= 2.0 * ROUNDING * (np.abs(T.A[rows]) @ np.abs(given)))


def test_the_end_of_a_step_is_put_onto_the_rows_along_the_change_that_the_slope_before_it_knows(machine):
    """NumPy solves M s = A^T lambda with M and A of that slope, 1e-5 off, by which s differs from the least one."""
    rng, short = np.random.default_rng(0), slice(machine.nq, machine.nq + machine.n)
    for _ in range(40):
        q, u = projected_state(machine, rng)
        call, rows = Calls(machine), machine.in_force()
        nearby, end = moved(rng, q, u, 1e-5, 1e-5), moved(rng, q, u, 1e-8, 1e-3)
        call("rhs", *nearby)
        found = call("project_step_end", *end)
        require_kept(machine, found[: machine.nq], found[short], found[short])
        T, free = machine.terms(*nearby), machine.terms(found[: machine.nq], end[1])
        given = np.linalg.solve(T.M, T.A[rows].T)
        # The rows are those where it ends; M and the direction of the forces are those of the slope.
        expected = end[1] - given @ np.linalg.solve(free.A[rows] @ given, free.motion[rows])
        assert found[short] == pytest.approx(expected, abs=1e-13)
        least = call("project", *end)[short]
        # By 1e-5 of a change of 1e-3, times what rows that are nearly dependent make of it; not zero, as if made anew.
        assert 1e-12 < np.abs(found[short] - least).max() < 1e-6


def test_what_is_on_the_rows_but_for_rounding_stays_as_it_is(machine):
    """Bit for bit, residuals and the conditioning besides, which is that of the program that makes it all anew."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        q, u = projected_state(machine, rng)
        call = Calls(machine)
        call("rhs", q, u)
        found = call("project_step_end", q, u)
        assert found[: len(q) + len(u)].tolist() == [*q, *u]
        assert found[-1] == pytest.approx(call("project", q, u)[-1], rel=1e-9)


def test_rows_that_come_to_rest_have_no_speed_at_all(machine):
    rng = np.random.default_rng(2)
    machine.fresh()
    machine.status[:] = STICKING
    q, _ = projected_state(machine, rng)
    call = Calls(machine)
    call("rhs", q, np.zeros(machine.n))
    T, rows = machine.terms(q, np.zeros(machine.n)), machine.in_force()
    u = 1e-18 * np.linalg.solve(T.M, T.A[rows].T) @ rng.normal(size=len(rows))  # what rows take away whole
    assert call("project_step_end", q, u)[machine.nq : machine.nq + machine.n].tolist() == [0.0] * machine.n


@pytest.mark.parametrize("before", ["nothing", "another mode"])
def test_a_scratch_without_this_mode_serves_nothing(machine, before):
    """The state is then settled as from the beginning, bit for bit."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, u = projected_state(machine, rng)
        call, end = Calls(machine), moved(rng, q, u, 1e-8, 1e-3)
        if before == "another mode":
            kept = machine.status.copy()
            machine.status[:] = [STICKING, OPEN] if kept[0] == OPEN or kept.all() else [OPEN, STICKING]
            call("rhs", q, u)
            machine.status[:] = kept
        assert call("project_step_end", *end).tolist() == Calls(machine)("project", *end).tolist()


def test_a_slope_far_away_does_not_keep_a_state_off_its_rows(machine):
    rng = np.random.default_rng(4)
    for _ in range(40):
        far = projected_state(machine, rng)
        mode = machine.status.copy()
        q, u = projected_state(machine, rng)
        machine.status[:] = mode
        q, u = machine.projected(*machine.projected(q, u))
        call = Calls(machine)
        call("rhs", *far)
        end = moved(rng, q, u, 1e-3, 1e-1)
        found = call("project_step_end", *end)
        require_kept(machine, found[: machine.nq], found[machine.nq : machine.nq + machine.n], end[1])


def test_rows_that_repeat_others_are_projected_as_from_the_beginning():
    """Two points of one body: the distance between them is held twice, whose share of its square is zero."""
    machine = crate_with_a_lid(
        lambda crate, lid: {"left": crate.point((-0.1, -0.1, 0.02)), "right": crate.point((0.1, -0.1, 0.02))}
    )
    machine.status[:] = STICKING
    q, u = machine.projected([1.0, 0, 0, 0, 0, 0.1, 0, 0.3], [0.1, 0, 0, 0, 0, 0, 0.2])
    call = Calls(machine)
    call("rhs", q, u)
    assert call("project_step_end", q, u).tolist() == Calls(machine)("project", q, u).tolist()
