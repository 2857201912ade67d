"""Native programs of constraints that come and go, each by itself at states: closed forms, and dense algebra."""

from types import SimpleNamespace

import numpy as np
import pytest
from oracles.contact_machine import ContactMachine, broken

import kane
from kane.engine.hybrid import transition as changes
from kane.engine.hybrid.consistency import RESTING, SLIPPING
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import (
    ADOPTED,
    BOUNCED,
    DELETED,
    ENERGY_GAINED,
    IMPOSED,
    OPEN,
    SLIDING,
    SLIDING_ENDED,
    SLIPPED,
    SOLUTIONS,
    STICKING,
    SUBSTITUTION,
)
from kane.engine.step.batches import each_state

G = 9.81


def block(slope=0.0, static=0.5, kinetic=0.4, restitution=0.3, half=0.1, height=0.05):
    """A block on two corners on a plane through the origin, x upwards along it; where it rests, too."""
    angle = np.arctan(slope)
    m = kane.Model("block", gravity=(0, -G, 0))
    b = m.body("b", mass=2, inertia=(0.02, 0.02, 0.02))
    m.connect(m.ground, b, kane.Planar(("x", "y", "th")))
    up = np.array([-np.sin(angle), np.cos(angle)])
    plane = kane.Plane(m.ground.point(), m.ground.direction((*up, 0)))
    for side, x in (("left", -half), ("right", half)):
        friction = kane.Coulomb(static=static, kinetic=kinetic)
        m.contact(b.point((x, -height, 0)), plane, restitution=restitution, friction=friction, name=side)
    along = np.array([np.cos(angle), np.sin(angle)])
    return ContactMachine(m), np.array([*(height * up), angle]), along


def lidded(spatial):
    """Everything at once: two corners, a tip on a lid, stops, friction and a latch in its hinge."""
    m = kane.Model("lidded", gravity=(0, -G, 0))
    crate = m.body("crate", mass=2, inertia=(0.02, 0.03, 0.025))
    lid = m.body("lid", mass=0.3, inertia=(1e-3,) * 3, com=(0.1, 0.02, 0.01))
    m.connect(m.ground, crate, kane.Free("f") if spatial else kane.Planar(("x", "y", "th")))
    hinge = m.connect(crate, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, x in (("left", -0.1), ("right", 0.1)):
        friction = kane.Coulomb(static=0.5, kinetic=0.4)
        m.contact(crate.point((x, -0.1, 0.02)), floor, friction=friction, restitution=0.3, name=side)
    friction = kane.Coulomb(static=0.3, kinetic=0.2)
    m.contact(lid.point((0.3, 0, 0.05)), floor, friction=friction, restitution=0.5, name="tip")
    m.stop(hinge, lower=-0.5, upper=1.2, restitution=0.2)
    m.stick(hinge, static=0.03, kinetic=0.02)
    m.switch(hinge.qdot, on=hinge.q - 1.1, off=m.time - 2, name="latch")
    return ContactMachine(m)


@pytest.fixture(scope="module", params=[False, True], ids=["plane", "space"])
def machine(request):
    return lidded(request.param)


def random_state(machine, rng):
    q, u = rng.normal(size=machine.nq), rng.normal(size=machine.n)
    for start in machine.equations.quaternions:
        q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
    return q, u


def randomise(machine, rng):
    """A mode by lot."""
    machine.fresh()
    for k, c in enumerate(machine.intermittents):
        statuses = [STICKING] if c.constraint.gap is None and c.constraint.on is None else [OPEN, STICKING]
        machine.status[k] = rng.choice([*statuses, SLIDING] if c.constraint.friction is not None else statuses)
        d = rng.normal(size=len(c.tangents))
        machine.along[k, : len(d)] = d / np.linalg.norm(d) if len(d) else 0.0


def test_accelerations_and_forces_of_any_mode_are_those_of_all_equations_at_once(machine):
    """NumPy solves for accelerations and forces together, friction of what slides in the matrix."""
    rng, looked_at = np.random.default_rng(0), 0
    for _ in range(150):
        randomise(machine, rng)
        q, u = machine.projected(*random_state(machine, rng))
        T, rows = machine.terms(q, u), machine.in_force()
        closed = [abs(x) for i, x in zip(T.closing, T.phi, strict=True) if i in rows]
        if max(closed, default=0.0) > 1e-10 or np.linalg.matrix_rank(T.A[rows]) < len(rows):
            continue  # rows that contradict each other, as both stops do, or that are redundant
        looked_at += 1
        udot = machine.call("rhs", q, u)[machine.nq :]
        expected = machine.accelerations(q, u)
        assert udot == pytest.approx(expected, abs=1e-10 * (1.0 + np.abs(expected).max()))
        f = machine.call("reactions", q, u)
        assert T.M @ udot + T.h == pytest.approx(T.A.T @ f, abs=1e-10 * (1.0 + np.abs(f).max()))
        assert np.abs(T.motion[rows]).max(initial=0.0) < 1e-12
    assert looked_at > 15


def test_changes_keep_momentum_lose_energy_and_end_where_signorini_and_coulomb_hold(machine):
    """At random states with one or two contacts closed, approaching or at rest; what is declared is asked of NumPy."""
    rng, looked_at = np.random.default_rng(1), 0
    for _ in range(120):
        machine.fresh()
        machine.status[:] = OPEN
        closed = rng.choice(3, size=rng.integers(1, 3), replace=False)
        machine.status[closed] = SLIDING
        q, u = random_state(machine, rng)
        q, _ = machine.projected(*machine.projected(0.7 * q, u))
        u *= rng.choice([0.0, 1.0])
        T = machine.terms(q, u)
        if min(T.phi) < -1e-11:
            continue  # deep inside another one, where no run can be
        machine.fresh()
        found = machine.transition(q, u, 3.0)
        assert found.status == ADOPTED
        assert broken(machine, q, u, found, 3.0) == []
        looked_at += 1
    assert looked_at > 10


@pytest.mark.parametrize(("slope", "sticks"), [(0.3, True), (0.499999, True), (0.500001, False)])
def test_a_block_on_two_corners_begins_to_slip_at_the_angle_of_friction(slope, sticks):
    """Redundant friction is shared out in proportion to its bounds, so that the threshold is that of one contact."""
    machine, q, along = block(slope)
    found = machine.transition(q, np.zeros(3))
    assert found.statuses == ([STICKING, STICKING] if sticks else [SLIDING, SLIDING])
    a = machine.call("rhs", q, np.zeros(3))[3:5] @ along
    angle = np.arctan(slope)
    expected = 0.0 if sticks else -G * (np.sin(angle) - 0.4 * np.cos(angle))
    assert a == pytest.approx(expected, abs=1e-13)
    f = machine.call("reactions", q, np.zeros(3))
    assert f[0] + f[2] == pytest.approx(2 * G * np.cos(angle), rel=1e-13)
    # About the mass centre: (N_right - N_left) half = (f_left + f_right) height, signs by hand.
    assert f[0] - f[2] == pytest.approx(2 * G * min(np.sin(angle), 1.0 if sticks else 0.4 * np.cos(angle)) * 0.5)


def test_slip_that_has_passed_zero_sticks_or_is_reversed():
    machine, q, along = block(0.4)
    up = np.array([*along, 0.0])
    assert machine.transition(q, 1e-3 * up).statuses == [SLIDING, SLIDING]
    found = machine.transition(q, -2e-13 * up)
    assert (found.statuses, found.kind) == ([STICKING, STICKING], SLIDING_ENDED)
    assert found.u == pytest.approx(np.zeros(3), abs=1e-25)
    machine, q, along = block(0.6)
    up = np.array([*along, 0.0])
    machine.transition(q, 1e-3 * up)
    found = machine.transition(q, -2e-13 * up)
    assert found.statuses == [SLIDING, SLIDING]
    assert (machine.along[:, 0] * machine.terms(q, -up).motion[[1, 3]] > 0).all()


def test_a_slip_that_has_passed_zero_by_more_than_rounding_and_cannot_be_held_goes_on_as_it_goes():
    """Down the slope, found moving up: friction acts against that until it is zero again, and no guard is negative."""
    machine, q, along = block(0.6)
    up = np.array([*along, 0.0])
    machine.transition(q, -1e-3 * up)
    before = machine.along[:, 0].copy()
    found = machine.transition(q, 1e-7 * up)
    assert found.statuses == [SLIDING, SLIDING]
    assert (machine.along[:, 0] == -before).all()
    assert machine.guards(q, found.u).min() >= 0.0


def test_a_slip_that_an_impact_reverses_goes_on_the_other_way():
    """A lid strikes its stop while its hinge slips with dry friction: velocity and friction are reversed."""
    m = kane.Model("lid", gravity=(0, 0, 0))
    lid = m.body("lid", mass=1, inertia=(0.1, 0.1, 0.1))
    hinge = m.connect(m.ground, lid, kane.Revolute("q1", axis="z"))
    m.stop(hinge, lower=0.0, restitution=0.5)
    m.stick(hinge, static=0.03, kinetic=0.02)
    machine = ContactMachine(m)
    machine.transition([0.5], [-2.0])
    assert machine.along[1, 0] == -1.0
    found = machine.transition([0.0], [-2.0])
    assert found.statuses == [OPEN, SLIDING]
    assert found.kind == BOUNCED
    assert found.u == pytest.approx([1.0])
    assert machine.along[1, 0] == 1.0
    assert machine.call("rhs", [0.0], [1.0])[1] == pytest.approx(-0.02 / 0.1)


def test_a_contact_that_hops_less_than_anything_comes_to_rest():
    m = kane.Model("ball", gravity=(0, -G, 0))
    ball = m.body("ball", mass=1)
    m.connect(m.ground, ball, kane.Prismatic("y", axis="y"))
    m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.y), restitution=0.5, name="floor")
    machine = ContactMachine(m)
    assert machine.transition([0.0], [-1.0]).u == pytest.approx([0.5], rel=1e-15)
    machine.fresh()
    found = machine.transition([0.0], [-1e-6])
    assert (found.statuses, found.u.tolist(), found.kind) == ([STICKING], [0.0], IMPOSED)
    assert machine.call("rhs", [0.0], [0.0]).tolist() == [0.0, 0.0]


def test_a_reaction_that_would_pull_lets_go():
    m = kane.Model("lift", gravity=(0, -G, 0))
    body = m.body("body", mass=2)
    m.connect(m.ground, body, kane.Prismatic("y", axis="y"))
    m.load(kane.Force(body.point(), (0, 10.0 * m.time, 0)))
    m.contact(body.point(), kane.Plane(m.ground.point(), m.ground.y), name="floor")
    machine = ContactMachine(m)
    machine.transition([0.0], [0.0])
    instant = 2 * G / 10.0
    assert machine.call("guards", [0.0], [0.0], instant - 1e-9)[0] > 0.0
    assert machine.call("guards", [0.0], [0.0], instant + 1e-9)[0] < 0.0
    found = machine.transition([0.0], [0.0], instant + 1e-9)
    assert (found.statuses, found.kind) == ([OPEN], DELETED)


def test_a_reaction_that_rounding_makes_is_no_reason_to_let_go():
    """A crate whose centre of mass is over its left edge presses with that alone: rounding must not lift the right one.

    The right force is zero in closed form, whatever pulls at the left edge along the floor. All of 240 come out alike;
    of those in which rounding made it negative, half let go and some found no mode at all.
    """
    rng, left = np.random.default_rng(1), 0
    m = kane.Model("edge", gravity=(0, -G, 0))
    at, width, height = (m.parameter(name, 0.3) for name in ("at", "width", "height"))
    crate = m.body("crate", mass=m.parameter("mass", 1.0), inertia=(0.05,) * 3, com=(at, 0, 0))
    m.connect(m.ground, crate, kane.Planar(("x", "y", "th")))
    floor, edge = kane.Plane(m.ground.point(), m.ground.y), crate.point((at, -height, 0))
    m.contact(edge, floor, friction=kane.Coulomb(static=0.5, kinetic=0.4), name="left")
    m.contact(crate.point((at + width, -height, 0)), floor, name="right")
    m.load(kane.Force(edge, (m.input("F"), 0, 0)))
    machine = ContactMachine(m)
    for _ in range(12):
        values = rng.uniform([-0.3, 0.1, 0.1, 0.5], [0.3, 0.5, 0.5, 3.0])
        for machine.inputs[:] in rng.uniform(-2.0, 2.0, size=20):
            machine.stage[:] = machine.functions.rhs.stage(values)
            found = machine.transition([0.0, values[2], 0.0], np.zeros(3))
            assert (found.status, found.statuses) == (ADOPTED, [STICKING, STICKING])
            left += machine.call("reactions", [0.0, values[2], 0.0], np.zeros(3))[-1] < 0.0
    assert left > 20  # rounding goes both ways


def test_friction_in_a_joint_slips_at_its_threshold():
    m = kane.Model("rotor", gravity=(0, 0, 0))
    rotor = m.body("rotor", mass=1, inertia=(0.1, 0.1, 0.1))
    hinge = m.connect(m.ground, rotor, kane.Revolute("q1", axis="z"))
    m.load(kane.Motor(hinge, m.time))
    m.stick(hinge, static=0.3, kinetic=0.2)
    machine = ContactMachine(m)
    assert machine.transition([0.0], [0.0], 0.299).statuses == [STICKING]
    found = machine.transition([0.0], [0.0], 0.3 + 1e-9)
    assert (found.statuses, found.kind) == ([SLIDING], SLIPPED)
    assert machine.call("rhs", [0.0], [0.0], 0.3)[1] == pytest.approx((0.3 - 0.2) / 0.1)


def test_a_switch_projects_momentum_on_what_it_imposes():
    """Gillespie 2003 with the reading of the errata: u1+ = C'M u- / (C'M C) for the one speed that remains."""
    m = kane.Model("gears", gravity=(0, 0, 0))
    joints = []
    for k, J in enumerate((0.2, 0.5)):
        wheel = m.body(f"wheel{k}", mass=1, inertia=(J, J, J))
        joints.append(m.connect(m.ground, wheel, kane.Revolute(f"q{k + 1}", axis="z"), at=(k, 0, 0)))
    m.switch(joints[1].qdot + 2 * joints[0].qdot, on=m.time - 1, off=m.time - 3, name="mesh")
    machine = ContactMachine(m)
    u, M, C = np.array([3.0, 1.0]), np.diag([0.2, 0.5]), np.array([1.0, -2.0])
    assert machine.transition([0, 0], u).statuses == [OPEN]
    found = machine.transition([0, 0], u, 1.0 + 1e-12)
    expected = C @ M @ u / (C @ M @ C)
    assert found.statuses == [STICKING]
    assert found.u == pytest.approx(expected * C, rel=1e-14)
    assert found.energy_lost == pytest.approx(0.5 * u @ M @ u - 0.5 * expected**2 * C @ M @ C, rel=1e-13)
    assert machine.transition([0, 0], found.u, 3.0 + 1e-12).statuses == [OPEN]


@pytest.mark.parametrize("ratio", [0.0, 0.6, 1.0])
def test_a_ball_that_strikes_by_the_law_of_newton_leaves_with_its_share_of_the_speed(ratio):
    """The closed form, at speeds by lot: rounding is no gain of energy."""
    m = kane.Model("ball", gravity=(0, -G, 0))
    ball = m.body("ball", mass=0.7)
    m.connect(m.ground, ball, kane.Prismatic("y", axis="y"))
    m.contact(ball.point(), kane.Plane(m.ground.point(), m.ground.y), restitution=kane.Newton(ratio), name="floor")
    machine = ContactMachine(m)
    for speed in np.random.default_rng(1).uniform(0.5, 3.0, 20):
        machine.fresh()
        found = machine.transition([0.0], [-speed])
        assert found.status == ADOPTED
        assert found.u == pytest.approx([ratio * speed], rel=1e-15)


def test_restitution_of_newton_that_would_make_energy_is_an_error_that_names_the_contact():
    """A rod whose end strikes with slip against its lean; Kane & Levinson's paradox."""

    def rod(restitution):
        m = kane.Model("rod", gravity=(0, -G, 0))
        body = m.body("rod", mass=1, inertia=(0.01, 0.01, 0.01))
        m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
        plane = kane.Plane(m.ground.point(), m.ground.y)
        friction = kane.Coulomb(static=0.9, kinetic=0.9)
        m.contact(body.point((1, 0, 0)), plane, restitution=restitution, friction=friction, name="end")
        return ContactMachine(m)

    angle, gained = -0.8, []
    q = [0.0, -np.sin(angle), angle]
    machine, other = rod(kane.Newton(0.9)), rod(0.9)
    for slip in np.linspace(-3, 3, 13):
        u = [slip, -1.0, 0.0]
        machine.fresh()
        other.fresh()
        found = machine.transition(q, u)
        if found.status == ENERGY_GAINED:
            gained.append(slip)
            assert machine.intermittents[found.cause].name == "end"
            assert found.u.tolist() == u
        assert other.transition(q, u).status == ADOPTED
    assert gained


def test_a_rod_in_painleves_paradox_is_stopped_by_an_impulse_without_collision():
    """mu > 4/3: sliding on, the rod's end has no finite force; the impulse takes the slip away."""
    m = kane.Model("rod", gravity=(0, -G, 0))
    body = m.body("rod", mass=1, inertia=(1 / 3, 1 / 3, 1 / 3))
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    plane = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(body.point((1, 0, 0)), plane, friction=kane.Coulomb(static=1.8, kinetic=1.8), name="end")
    machine = ContactMachine(m)
    angle = -np.arctan(2.0)
    q, found = [0.0, -np.sin(angle), angle], []
    for slip in (-1.0, 1.0):
        machine.fresh()
        changed = machine.transition(q, [slip, 0.0, 0.0])
        assert changed.status == ADOPTED
        assert broken(machine, q, [slip, 0.0, 0.0], changed, 0.0) == []
        found.append(changed.energy_lost)
    assert min(found) == pytest.approx(0.0, abs=1e-15)
    assert max(found) > 0.01


def stages_of_the_ways(machine):
    """Stages in the mode of the machine: as it is, without compiled solutions, without any quick way."""
    by_islands, embedded = machine.stage.copy(), machine.stage.copy()
    for stage in (by_islands, embedded):
        contact_constants_of(stage).block.addresses[SOLUTIONS:] = 0
    contact_constants_of(embedded).block.addresses[SUBSTITUTION] = 0
    return machine.stage.copy(), by_islands, embedded


def test_all_ways_find_the_same_accelerations_in_any_mode(machine):
    """Solutions compiled for so many independent rows, islands of rows solved in numbers, the embedding of all rows."""
    rng, looked_at = np.random.default_rng(3), 0
    for _ in range(150):
        randomise(machine, rng)
        q, u = machine.projected(*random_state(machine, rng))
        if np.linalg.matrix_rank(machine.terms(q, u).A[machine.in_force()], tol=1e-6) < len(machine.in_force()):
            continue
        found = [accelerations_at(machine, stage, q, u) for stage in stages_of_the_ways(machine)]
        for other in found[1:]:
            assert found[0] == pytest.approx(other, abs=1e-9 * (1.0 + np.abs(found[0]).max()))
        looked_at += 1
    assert looked_at > 15


def pairs(count):
    """So many pairs of carts that rise on a floor, a switch ties the two; 13 pairs have 52 speeds."""
    m = kane.Model("pairs", gravity=(0, -G, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for k in range(count):
        tips = []
        for side in range(2):
            rider, cart = m.body(f"r{k}{side}", mass=0.1 * (1 + side)), m.body(f"b{k}{side}", mass=1.0 + 0.1 * k)
            tips.append(m.connect(m.ground, rider, kane.Prismatic(f"x{k}{side}", axis="x")))
            m.connect(rider, cart, kane.Prismatic(f"y{k}{side}", axis=(0.6, 0.8, 0)))
            friction = kane.Coulomb(static=0.5, kinetic=0.2 + 0.02 * k) if k % 3 else None
            m.contact(cart.point(), floor, friction=friction, name=f"c{k}{side}")
        m.switch(tips[0].qdot + 2.0 * tips[1].qdot, on=m.time - 9, name=f"rod{k}")
    return ContactMachine(m)


def test_many_rows_in_islands_move_as_all_equations_at_once_say():
    """52 speeds and up to 54 rows, tied in pairs where the switch between them is on; NumPy solves all at once."""
    machine, rng = pairs(13), np.random.default_rng(5)
    by_islands = 0
    for trial in range(12):
        randomise(machine, rng)
        if trial < 2:
            machine.status[:] = [STICKING, SLIDING][trial]
            machine.status[[c.constraint.friction is None for c in machine.intermittents]] = [STICKING, OPEN][trial]
        of_pairs = machine.status.reshape(-1, 3)  # two carts and their rod
        of_pairs[(of_pairs[:, :2] == STICKING).all(axis=1), 2] = OPEN  # else forces would not be unique
        q = 0.1 * rng.normal(size=machine.nq)
        q, u = machine.projected(q, rng.normal(size=machine.n))
        expected = machine.accelerations(q, u)
        stage, _, embedded = stages_of_the_ways(machine)
        assert machine.call("rhs", q, u)[machine.nq :] == pytest.approx(expected, abs=1e-10)
        by_islands += bool((accelerations_at(machine, stage, q, u) != accelerations_at(machine, embedded, q, u)).any())
        T, f = machine.terms(q, u), machine.call("reactions", q, u)
        assert T.M @ expected + T.h == pytest.approx(T.A.T @ f, abs=1e-9)
    assert by_islands > 6


@pytest.mark.parametrize("count", [1, 5])
def test_boxes_on_four_corners_move_as_the_embedding_of_all_rows_says(count):
    """Rows that repeat others, in islands of their own: accelerations, forces, guards, and states that are settled."""
    m, rng = kane.Model("boxes", gravity=(1.2, 0.6, -G)), np.random.default_rng(count)
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k in range(count):
        box = m.body(f"b{k}", mass=1.0 + k, inertia=(0.01, 0.02, 0.03), com=(0.02, -0.01, 0.01))
        m.connect(m.ground, box, kane.Free(f"f{k}"))
        for i, (x, y) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
            m.contact(box.point((0.1 * x, 0.08 * y, -0.05)), floor, friction=kane.Coulomb(0.5, 0.4), name=f"c{k}{i}")
    machine = ContactMachine(m)
    for trial in range(4):
        machine.fresh()
        slides = np.repeat([True] * count if trial == 0 else rng.random(count) < 0.2 * trial, 4)
        machine.status[:] = np.where(slides, SLIDING, STICKING)
        q, u = np.zeros((count, 7)), np.zeros((count, 6))
        q[:, 0], q[:, 3], q[:, 6] = np.cos(0.2 * trial), np.sin(0.2 * trial), 0.05
        moving = slides[::4]
        u[moving] = rng.normal(size=(moving.sum(), 6)) * [0, 0, 3.0, 0, 0, 0]
        u[moving, 3:5] = rng.normal(size=(moving.sum(), 2))
        q, u = q.ravel(), u.ravel()
        stage, _, embedded = stages_of_the_ways(machine)
        found = [accelerations_at(machine, each, q, u) for each in (stage, embedded)]
        assert found[0] == pytest.approx(found[1], abs=1e-9)
        for name in ("reactions", "guards"):
            found = [called(machine, name, each, q, u) for each in (stage, embedded)]
            assert found[0] == pytest.approx(found[1], abs=1e-8), name
        assert (found[0][: 8 * count] > 0).all()
        nearly = q + 1e-7 * rng.normal(size=q.size), u + 1e-7 * rng.normal(size=u.size)
        q, u = machine.projected(*nearly)
        assert machine.terms(q, u).A[machine.in_force()] @ u == pytest.approx(0, abs=1e-13)
        again, _ = machine.projected(q, u)
        assert again == pytest.approx(q, abs=1e-14)
        assert q == pytest.approx(nearly[0], abs=1e-5)
        assert u == pytest.approx(nearly[1], abs=1e-5)


def test_guards_say_the_same_with_rows_and_without(machine):
    """Numbers that are all positive are found without the rows of what is not in force, and without rounding."""
    rng, looked_at = np.random.default_rng(7), 0
    for _ in range(300):
        randomise(machine, rng)
        q, u = machine.projected(*random_state(machine, rng))
        found = machine.call("guards", q, u)
        f, T = machine.call("reactions", q, u), machine.terms(q, u)
        scale = np.abs(f).max(initial=0.0) + np.abs(T.h).max()
        phi = dict(zip(T.closing, T.phi, strict=True))
        for k, c in enumerate(machine.intermittents):
            rows, status = machine.rows[k], machine.status[k]
            if c.normal is None or c.constraint.bilateral:
                continue
            if status == OPEN and phi[rows[0]] >= 0.0:
                assert found[2 * k] == pytest.approx(phi[rows[0]], rel=1e-12, abs=1e-14)
            if status != OPEN:
                assert found[2 * k] == pytest.approx(f[rows[0]], abs=1e-9 * scale)
                looked_at += 1
            if status == SLIDING:
                d = machine.along[k][: len(c.tangents)]
                slip = T.motion[rows[1:]]
                across = abs(d[0] * slip[1] - d[1] * slip[0]) if len(d) == 2 else 0.0
                assert found[2 * k + 1] == pytest.approx(slip @ d + across, abs=1e-9 * (1 + np.abs(slip).max()))
    assert looked_at > 30


def test_guards_come_with_the_slope_that_the_right_hand_side_gives(machine):
    """Of the same forces, so that the end of a step needs one call for both."""
    rng, looked_at = np.random.default_rng(8), 0
    for _ in range(150):
        randomise(machine, rng)
        q, u = machine.projected(*random_state(machine, rng))
        T, rows = machine.terms(q, u), machine.in_force()
        if np.linalg.matrix_rank(T.A[rows], tol=1e-6) < len(rows):
            continue  # both stops, which contradict each other
        slope = machine.call("guards", q, u)[2 * len(machine.intermittents) :]
        expected = machine.call("rhs", q, u)
        assert slope == pytest.approx(expected, abs=1e-10 * (1.0 + np.abs(expected).max()))
        looked_at += 1
    assert looked_at > 15


def test_projection_moves_speeds_by_the_least_change_in_kinetic_energy(machine):
    """NumPy solves M s = A^T lambda with A (u + s) + b = 0 where the coordinates end."""
    rng, looked_at = np.random.default_rng(9), 0
    for _ in range(150):
        randomise(machine, rng)
        q, u = machine.projected(*machine.projected(*random_state(machine, rng)))
        off = q + 1e-9 * rng.normal(size=machine.nq), u + 1e-3 * rng.normal(size=machine.n)
        for start in machine.equations.quaternions:
            off[0][start : start + 4] /= np.linalg.norm(off[0][start : start + 4])
        rows = machine.in_force()
        A = machine.terms(q, u).A[rows]
        if not 0 < len(rows) < machine.n or np.linalg.svd(A, compute_uv=False)[-1] < 0.1:
            continue  # nothing to settle, nothing free, or rows that another way settles
        q, u = machine.projected(*off)
        T, free = machine.terms(q, u), machine.terms(q, off[1])
        closed = [abs(x) for i, x in zip(T.closing, T.phi, strict=True) if i in rows]
        assert max(closed, default=0.0) < 1e-14
        assert np.abs(T.motion[rows]).max() < 1e-14
        given = np.linalg.solve(T.M, T.A[rows].T)
        expected = off[1] - given @ np.linalg.solve(T.A[rows] @ given, free.motion[rows])
        assert u == pytest.approx(expected, abs=1e-13)
        looked_at += 1
    assert looked_at > 15


def test_projection_finds_where_all_that_slides_slips(machine):
    """From no direction at all, as records of a run are settled: contacts, and joints with friction of their own."""
    rng, looked_at = np.random.default_rng(10), {False: 0, True: 0}
    for _ in range(100):
        randomise(machine, rng)
        machine.status[[3, 4, 6]] = OPEN  # stops and the latch, which would hold the hinge
        q, u = machine.projected(*random_state(machine, rng))
        machine.along[:] = 0.0
        machine.projected(q, u)
        motion = machine.terms(q, u).motion
        for k, c in enumerate(machine.intermittents):
            slip = motion[machine.rows[k][-len(c.tangents) or None :]]
            if machine.status[k] == SLIDING and np.linalg.norm(slip) > 1e-6:
                assert machine.along[k, : len(slip)] == pytest.approx(slip / np.linalg.norm(slip), abs=1e-9)
                looked_at[c.normal is None] += 1
    assert min(looked_at.values()) > 15


def accelerations_at(machine, stage, q, u):
    """Those of the native code for a stage of any making."""
    return called(machine, "rhs", stage, q, u)[machine.nq :]


def called(machine, name, stage, q, u):
    """What a native program gives for a stage of any making."""
    f = getattr(machine.functions, name)
    out, work = np.full((1, f.n_out), np.nan), np.full(f.n_work, np.nan)  # so that nothing unwritten can be read unseen
    rest = np.zeros((1, len(machine.equations.inputs)))
    each_state(f.address, np.array([[0.0, *q, *u]]), rest, stage[None], out, work)
    return out[0]


def bars():
    """Two bars with a hinge between them, the far ends on a rough floor."""
    m = kane.Model("bars", gravity=(0, -G, 0))
    first, second = m.body("first", mass=1, inertia=(0.1,) * 3), m.body("second", mass=1, inertia=(0.1,) * 3)
    m.connect(m.ground, first, kane.Planar(("x", "y", "th")))
    m.connect(first, second, kane.Revolute("bend", axis="z"), at=(0.5, 0, 0), child_at=(-0.5, 0, 0))
    floor, friction = kane.Plane(m.ground.point(), m.ground.y), kane.Coulomb(static=0.8, kinetic=0.8)
    m.contact(first.point((-0.5, 0, 0)), floor, friction=friction, name="left")
    m.contact(second.point((0.5, 0, 0)), floor, friction=friction, name="right")
    return ContactMachine(m)


def test_where_two_bars_between_sticking_contacts_come_into_line_no_force_holds_both():
    """The slip of the right end vanishes as the bars pass their dead centre, and its rows are then dependent on the
    others, but the bars pull it inwards with 2 w^2 l: it turns round."""
    machine, w = bars(), 1.0
    machine.fresh()
    machine.status[:], machine.along[:, 0] = [STICKING, SLIDING], 1.0
    # Both ends at rest, the hinge upwards with w: theta' = w, and bend' = -2 w.
    q, u = np.array([0.5, 0.0, 0.0, 0.0]), np.array([0.0, 0.5 * w, w, -2.0 * w])
    found = machine.transition(q, u)
    assert found.status == ADOPTED
    assert SLIDING in found.statuses
    assert broken(machine, q, u, found, 0.0) == []
    assert found.u == pytest.approx(u, abs=1e-12)
    moving = found.statuses.index(SLIDING)
    assert machine.along[moving, 0] == pytest.approx(1.0 if moving == 0 else -1.0)


def test_a_massless_link_of_a_loop_moves_as_a_link_of_hardly_any_mass():
    """M has no inverse, but the embedded rows leave only motions with inertia: projection must not lose the speeds."""
    m = kane.Model("crank and slider", gravity=(0, -G, 0))
    mass = m.parameter("mass", 1.0)
    crank = m.body("crank", mass=1.0, inertia=(0.1,) * 3, com=(0.1, 0, 0))
    rod = m.body("rod", mass=mass, inertia=(0.1 * mass,) * 3, com=(0.3, 0, 0))
    slider = m.body("slider", mass=2.0)
    m.connect(m.ground, crank, kane.Revolute("q1", axis="z"))
    m.connect(crank, rod, kane.Revolute("q2", axis="z"), at=(0.3, 0, 0))
    guide = m.connect(m.ground, slider, kane.Prismatic("x", axis="x"))
    m.constrain(kane.Coincidence(rod.point((0.6, 0, 0)), slider.point(), along=(m.ground.x, m.ground.y)))
    m.stick(guide, static=0.5, kinetic=0.4)
    dyn = kane.build(kane.formulate(m))
    q = kane.assemble(dyn, q={"q1": 0.9, "q2": -1.4, "x": 0.7}).q
    light, massless = (kane.simulate(dyn, until=0.05, q=q, parameters={"mass": value}) for value in (1e-9, 0.0))
    assert np.abs(massless.final.u).min() > 1e-2
    assert massless.final.u == pytest.approx(light.final.u, abs=1e-8)


def test_a_slip_has_ended_where_it_began_with_the_change_and_its_speed_is_gone(monkeypatch):
    """The cases one by one: only contacts that slipped before, and slide in the new mode, can have stopped."""
    monkeypatch.setattr(changes, "load_velocities", lambda c, i: None)
    monkeypatch.setattr(changes, "is_slipping", lambda c, i, k: i.moving[k])
    for undecided in (SLIPPING, RESTING):
        for status in (SLIDING, STICKING):
            for moving in (True, False):
                c = SimpleNamespace(block=SimpleNamespace(constraints=1), state=SimpleNamespace(status=[status]))
                i = SimpleNamespace(undecided=[undecided], moving=[moving])
                ended = undecided == SLIPPING and status == SLIDING and not moving
                assert changes._has_slip_ended(c, i) == ended
