"""Modes of constraints that come and go compiled ahead.

What vouches: the numeric programs, which find the same accelerations, forces and settled states in another way, for
numbers; a run in numbers for whole motions, with steps whose times do not depend on rounding.
"""

import copy

import numpy as np
import pytest

import kane
from kane import ModelError
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.engine.memory.constraint_memory import contact_constants_of
from kane.engine.memory.contact_codes import NONE
from kane.engine.memory.run_codes import PROJECT
from kane.engine.memory.views import compiled_mode_block_at
from kane.simulation.mode_table import stage_in_force

G = 9.81
FRICTION = kane.Coulomb(static=0.5, kinetic=0.4)
# Rounding of some hundred operations, forces divided by pivots of 1e-3 and more.
ROUNDING = 1e-11


def crate():
    """Two corners and a lid with stops, dry friction and a switch, in the plane."""
    m = kane.Model("crate", gravity=(0, -G, 0))
    body = m.body("crate", mass=2, inertia=(0.02, 0.03, 0.025))
    lid = m.body("lid", mass=0.3, inertia=(1e-3,) * 3, com=(0.1, 0.02, 0.01))
    m.connect(m.ground, body, kane.Planar(("x", "y", "th")))
    hinge = m.connect(body, lid, kane.Revolute("q1", axis="z"), at=(-0.1, 0.1, 0))
    m.load(kane.Motor(hinge, m.input("T")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for side, x in (("left", -0.1), ("right", 0.1)):
        m.contact(body.point((x, -0.1, 0.0)), floor, friction=FRICTION, restitution=0.3, name=side)
    m.stop(hinge, lower=-0.5, upper=1.2, restitution=0.2, name="end")
    m.stick(hinge, static=0.03, kinetic=0.02, name="bearing")
    m.switch(hinge.qdot, on=hinge.q - 1.1, off=m.time - 2, name="lock")
    return m


def tumbler():
    """A body with a limb in space: contacts that slip in two directions, speeds of choice for none."""
    m = kane.Model("tumbler", gravity=(0, 0, -G))
    body = m.body("body", mass=2, inertia=(0.02, 0.03, 0.025))
    limb = m.body("limb", mass=0.5, inertia=(1e-3, 2e-3, 1e-3), com=(0.1, 0, 0.02))
    m.connect(m.ground, body, kane.Free("f"))
    m.connect(body, limb, kane.Revolute("q1", axis="y"), at=(0.1, 0, 0))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(body.point((-0.1, 0.05, -0.1)), floor, friction=FRICTION, restitution=0.3, name="corner")
    m.contact(limb.point((0.2, 0, -0.05)), floor, friction=FRICTION, name="tip")
    m.contact(kane.Sphere(body.point((0, 0, 0.2)), 0.05), floor, name="ball")
    return m


def slider():
    """A closed loop, whose rows are permanent, and a rough contact of its slider."""
    m = kane.Model("slider", gravity=(0, -G, 0))
    crank, rod = (m.body(name, mass=1, inertia=(0.05,) * 3, com=(0.3, 0, 0)) for name in ("crank", "rod"))
    m.connect(m.ground, crank, kane.Revolute("a", axis="z"))
    m.connect(crank, rod, kane.Revolute("b", axis="z"), at=(0.5, 0, 0))
    block = m.body("block", mass=0.5, inertia=(0.01,) * 3)
    guide = m.body("guide", mass=0.0)
    m.connect(m.ground, guide, kane.Prismatic("x", axis="x"))
    m.connect(guide, block, kane.Prismatic("y", axis="y"))
    m.constrain(kane.Coincidence(rod.point((1.0, 0, 0)), block.point()), name="pin")
    m.contact(block.point((0, -0.05, 0)), kane.Plane(m.ground.point(), m.ground.y), friction=FRICTION, name="track")
    return m


MODELS = {
    "crate": (crate, ("free", "left sliding", "left held, end: upper held", "left sliding, right sliding, bearing held",
                      "left held, bearing sliding", "right held, lock held, bearing sliding")),
    "tumbler": (tumbler, ("free", "corner held", "corner sliding", "corner sliding, tip held",
                          "corner sliding, ball held", "corner held, tip sliding, ball held")),
    "slider": (slider, ("free", "track sliding")),
}  # fmt: skip


def built(name):
    model, modes = MODELS[name]
    dyn = kane.build(kane.formulate(model()))
    return dyn, kane.compile_modes(dyn, modes)


def chosen_in(functions, stage):
    """The number of the compiled mode in force in a stage, as an array that may be written."""
    return compiled_mode_block_at(stage, functions.parts.moving.stop).chosen


def in_mode(functions, dyn, statuses, along, state):
    """A stage in which a mode is in force, settled at a state [t, q, u], and what settling made of the state.

    Settled so often that directions by lot, against the slip by up to 179.9 degrees, have come to that of the slip.
    """
    stage = functions.rhs.stage(dyn.parameters)
    of = contact_constants_of(stage).state
    of.status[:], of.along[:] = statuses, along
    inputs = np.full(len(dyn.equations.inputs), 0.3)
    for _ in range(12):
        projected = functions.project(state, inputs, stage)
        state = np.concatenate([state[:1], projected[: len(state) - 1]])
    return stage, state, inputs


@pytest.mark.parametrize("name", MODELS)
def test_accelerations_guards_and_projected_states_are_those_found_in_numbers(name):
    """At states by lot, on the rows in force and off them by what a step leaves.

    That states are settled by programs of the mode is seen by their last bits: they are not those found in numbers, but
    where nothing is to be settled, or something is held as it was found, which is left to numbers.
    """
    dyn, fast = built(name)
    numeric, own, rng = contact_functions(dyn), contact_functions(fast), np.random.default_rng(0)
    looked_at, in_programs = set(), set()
    for k, statuses in [(k, s) for k, s in enumerate(fast.compiled_modes.statuses) for _ in range(8)]:
        q, u = 0.4 * rng.normal(size=len(dyn.equations.q)), rng.normal(size=len(dyn.equations.u))
        for start in dyn.equations.quaternions:
            q[start : start + 4] = [1.0, *(0.3 * rng.normal(size=3))]
            q[start : start + 4] /= np.linalg.norm(q[start : start + 4])
        along = rng.normal(size=(len(statuses), 2))
        for c, way in zip(dyn.equations.intermittents, along, strict=True):
            way[len(c.tangents) :] = 0.0
            way /= max(np.linalg.norm(way), 1e-300)
        state = np.concatenate([[1.0], q, u])
        stages, states, inputs = zip(*(in_mode(f, dyn, statuses, along, state) for f in (numeric, own)), strict=True)
        if (
            chosen_in(own, stages[1])[0] == NONE
            or np.abs(numeric.project(states[0], inputs[0], stages[0])[len(state) - 1]) > 1e-9
        ):
            continue  # digits would be lost there, or the rows contradict each other
        looked_at.add(k)
        for off in (0.0, 1e-9, 1e-7):
            there = states[0] + np.concatenate([[0.0], off * rng.normal(size=len(state) - 1)])
            for start in dyn.equations.quaternions:  # every step ends so; rows in body axes turn by what is a rotation
                there[1 + start : 5 + start] /= np.linalg.norm(there[1 + start : 5 + start])
            for what in ("rhs", "guards", "reactions", "project"):
                pair = (
                    getattr(f, what)(there, inputs[0], s.copy()) for f, s in zip((numeric, own), stages, strict=True)
                )
                # how a square is shared among rows depends on the axes along which they hold a point
                expected, found = (x[:-1] if what == "project" else x for x in pair)
                assert np.abs(found - expected).max() < ROUNDING * (1.0 + np.abs(expected[expected < 1e99]).max()), what
                if what == "project" and not np.array_equal(found, expected):
                    in_programs.add(k)
        again = [s.copy() for s in stages]
        for f, s in zip((numeric, own), again, strict=True):
            f.project(states[0], inputs[0], s)
        by_numbers, compiled = (contact_constants_of(s).state for s in again)
        assert compiled.along == pytest.approx(by_numbers.along, abs=1e-12)
        assert np.array_equal(compiled.status, by_numbers.status)
        assert np.array_equal(compiled.armed, by_numbers.armed)
    assert looked_at == {*range(len(fast.compiled_modes.statuses))}
    words = dict(enumerate(fast.modes))
    assert in_programs == {k for k, mode in words.items() if "lock held" not in mode and (k > 0 or name == "slider")}


def pushed():
    """A crate that is thrown, bounces, slides and tilts; its lid swings to its end and locks."""
    dyn = kane.build(kane.formulate(crate()))
    start = {"y": 0.3, "th": 0.3, "q1": 0.4}, {"x_dot": 1.5, "u1": 2.0}
    return dyn, {"until": 1.0, "q": start[0], "u": start[1], "inputs": {"T": 0.05}}


def test_a_run_has_the_events_of_the_run_in_numbers_and_its_motion():
    """With fixed steps; each of its impacts makes differences by rounding some ten times larger."""
    dyn, how = pushed()
    run = kane.simulate(dyn, dt=1e-3, integrator=kane.RK4(), **how)
    fast = kane.compile_modes(dyn, run.modes)
    own = kane.simulate(fast, dt=1e-3, integrator=kane.RK4(), **how)
    assert len(run.events) > 20
    assert [(e.name, e.cause) for e in own.events] == [(e.name, e.cause) for e in run.events]
    assert np.abs(np.array([e.time for e in own.events]) - [e.time for e in run.events]).max() < 1e-9
    assert own.modes == run.modes
    assert np.abs(own.q - run.q).max() < 1e-8


@pytest.mark.slow
def test_two_boxes_that_fall_flat_have_the_speeds_of_the_run_in_numbers_behind_each_impact():
    """Their fourth corners repeat the other three, so that normal impulses, and with them friction and the speeds
    behind, are open by one number: where rounding chose it, these speeds differed by 0.05 and by 0.24.
    """
    random, q, u = np.random.default_rng(3), {}, {}
    m = kane.Model("boxes", gravity=(0, 0, -G))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    for k in range(2):
        box = m.body(f"b{k}", mass=1.0, inertia=(0.015,) * 3)
        m.connect(m.ground, box, kane.Free(f"f{k}"))
        m.contact(box.shape(kane.Box(0.3, 0.3, 0.3)), floor, friction=kane.Coulomb(0.5), name=f"floor{k}")
        axis = random.normal(size=3)
        w, (x, y, z) = np.cos(0.35), np.sin(0.35) * axis / np.linalg.norm(axis)
        across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        back = (np.eye(3) + 2 * w * across + 2 * across @ across).T
        q |= {
            f"f{k}_{c}": value
            for c, value in zip(("qw", "qx", "qy", "qz", "x", "z"), (w, x, y, z, k, 0.45), strict=True)
        }
        turning = random.normal(size=3)
        u |= {f"f{k}_{c}": value for c, value in zip(("wx", "wy", "wz"), turning, strict=True)}
        u |= {f"f{k}_{c}": value for c, value in zip(("vx", "vy", "vz"), back @ (0.6, 0.2, 0.0), strict=True)}
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=0.6, q=q, u=u)
    own = kane.simulate(kane.compile_modes(dyn, run.modes), until=0.6, q=q, u=u)
    assert len(run.events) == len(own.events) > 30
    for event, other in zip(run.events, own.events, strict=True):
        assert (event.name, event.cause) == (other.name, other.cause)
        assert event.u == pytest.approx(other.u, abs=1e-8)


def test_modes_that_are_not_compiled_run_in_numbers_and_are_told():
    dyn, how = pushed()
    run = kane.simulate(dyn, **how)
    some = kane.compile_modes(dyn, ["free"])
    own = kane.simulate(some, **how)
    told = str(own).splitlines()[1]
    assert told.startswith("modes that are not compiled, embedded numerically: ")
    assert set(told.split(": ", 1)[1].split("; ")) == {*own.modes} - {"free"}
    assert "not compiled" not in str(run)
    assert [e.cause for e in own.events[:5]] == [e.cause for e in run.events[:5]]


def test_what_is_very_light_beside_the_rest_runs_in_numbers_to_the_last_bit():
    """Forces on it lose digits, which the numeric programs see too."""
    m = kane.Model("wheel", gravity=(1.0, -G, 0))
    hub = m.body("hub", mass=1.0, inertia=(1e-12,) * 3)
    m.connect(m.ground, hub, kane.Planar(("x", "y", "turn")))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for k, angle in enumerate((-1.9, -1.2)):
        m.contact(hub.point((np.cos(angle), np.sin(angle), 0)), floor, friction=kane.Coulomb(5.0), name=f"spoke {k}")
    dyn = kane.build(kane.formulate(m))
    how = {
        "until": 0.4,
        "q": {"y": np.sin(1.9), "turn": 0.0},
        "u": {"turn_dot": -1.0, "x_dot": np.sin(1.9), "y_dot": np.cos(1.9)},
    }
    run = kane.simulate(dyn, **how)
    own = kane.simulate(kane.compile_modes(dyn, ["spoke 0 held", "spoke 1 held"]), **how)
    assert "spoke 0 held" in run.modes
    assert np.array_equal(own.q, run.q)


def test_a_switch_whose_sign_stays_counts_again_only_after_it_has_changed():
    """The guard of a sign that does not count is its size: compiled as in numbers."""
    m = kane.Model("locked", gravity=(0, -G, 0))
    arm = m.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.1,) * 3)
    m.connect(m.ground, arm, kane.Revolute("q1", axis="z"))
    other = m.connect(arm, m.body("tip", mass=1.0, com=(0.2, 0, 0)), kane.Revolute("q2", axis="z"), at=(1, 0, 0))
    m.switch(other.qdot, on=m.time - 0.2, off=m.time - 0.6, name="lock")  # `on` stays positive
    dyn = kane.build(kane.formulate(m))
    run = kane.simulate(dyn, until=2.0, u={"u2": 1.0})
    own = kane.simulate(kane.compile_modes(dyn, run.modes), until=2.0, u={"u2": 1.0})
    assert [e.cause for e in run.events] == ["imposed", "deleted"]
    assert [(e.cause, round(e.time, 7)) for e in own.events] == [(e.cause, round(e.time, 7)) for e in run.events]


def test_steppers_ensembles_and_controllers_take_compiled_modes():
    dyn, how = pushed()
    fast = kane.compile_modes(dyn, kane.simulate(dyn, **how).modes)
    law = {"inputs": {"T": 0.1 - 0.2 * dyn.equations.q[3]}}
    both = [kane.simulate(d, **{**how, **law, "until": 0.2}) for d in (dyn, fast)]
    assert np.abs(both[1].q - both[0].q).max() < 1e-6
    many = kane.simulate_many(fast, **{**how, "u": {"x_dot": np.linspace(0.5, 1.5, 3), "u1": 2.0}}, times=(0.4,))
    for k, speed in enumerate(np.linspace(0.5, 1.5, 3)):
        alone = kane.simulate(fast, **{**how, "u": {"x_dot": speed, "u1": 2.0}}, times=(0.4,))
        assert np.array_equal(many.q[k, -1], alone.q[-1])
    stepper = kane.Stepper(fast, q=how["q"], u=how["u"], inputs=how["inputs"])
    stepper.step(0.4)
    alone = kane.simulate(fast, **{**how, "until": 0.4}, times=(0.4,))
    assert np.array_equal(stepper.q, alone.q[-1])
    copied = copy.deepcopy(fast)
    assert copied.modes == fast.modes


def test_the_direction_of_slip_in_space_is_not_a_mode_of_its_own():
    """A body that slides round a curve: one mode, whose friction turns with the slip."""
    m = kane.Model("puck", gravity=(0, 0, -G))
    puck = m.body("puck", mass=1.0, inertia=(1e-3, 1e-3, 2e-3))
    m.connect(m.ground, puck, kane.Free("f"))
    m.load(kane.Force(puck.point(), (m.input("F"), 0, 0), m.ground))
    m.contact(puck.point((0, 0, -0.0)), kane.Plane(m.ground.point(), m.ground.z), friction=FRICTION, name="ice")
    dyn = kane.build(kane.formulate(m))
    how = {"until": 0.3, "u": {"f_vy": 2.0, "f_vx": -0.2}, "inputs": {"F": 8.0}}
    run = kane.simulate(dyn, **how)
    assert run.modes == ("ice sliding",)
    own = kane.simulate(kane.compile_modes(dyn, run.modes), **how)
    assert np.abs(own.q - run.q).max() < 1e-12
    assert np.ptp(np.arctan2(run["f_vy"], run["f_vx"])) > 0.3
    assert own.reactions["ice"] == pytest.approx(run.reactions["ice"], abs=1e-9)


@pytest.mark.parametrize(
    "words",
    [
        *("left", "left slides", "side held", "left held right held", "open", "u2 dependent"),
        *("left held, left sliding", "left held, left held", "lock sliding", "end: lower sliding", "end held"),
    ],
)
def test_what_is_no_mode_is_refused_with_those_that_are(words):
    """Something twice, what has no friction and slides, a stop without saying which end: none of these is a mode."""
    dyn = kane.build(kane.formulate(crate()))
    with pytest.raises(ModelError, match="is no mode of 'crate': write 'free', or the active constraints") as told:
        kane.compile_modes(dyn, [words])
    known = "'left held' or 'left sliding', 'right held' or 'right sliding', 'end: lower held', 'end: upper held', "
    assert str(told.value).endswith(known + "'bearing held' or 'bearing sliding', 'lock held'")


def test_a_state_near_which_says_nothing_where_constraints_come_and_go():
    """It says which rows of closed loops are left out; here none is."""
    dyn = kane.build(kane.formulate(crate()))
    with pytest.raises(
        ModelError, match="near= selects which redundant constraint equations of a closed loop are omitted"
    ):
        kane.compile_modes(dyn, ["free"], near=dyn.equations.neutral)


def test_modes_in_which_nothing_is_free_are_left_to_numbers():
    """A crate on both corners: four rows for three speeds."""
    dyn = kane.build(kane.formulate(crate()))
    both = "left held, right held, bearing held"
    with pytest.raises(ModelError, match="leave no freedom or are redundant"):
        kane.compile_modes(dyn, [both])
    fast = kane.compile_modes(dyn, ["free", both])
    assert contact_functions(fast).parts.modes.statuses == ((0,) * 6,)


def test_stages_that_name_no_mode_are_refused():
    """Native code follows the addresses in the row of the mode that a stage names."""
    dyn = kane.build(kane.formulate(crate()))
    functions = contact_functions(kane.compile_modes(dyn, ["free"]))
    stage = functions.rhs.stage(dyn.parameters)
    chosen_in(functions, stage)[0] = 7
    with pytest.raises(ModelError, match="this stage was not made for it"):
        functions.rhs(np.zeros(9), np.zeros(1), stage)


def rocking():
    """A block that rocks from corner to corner: two modes in turn."""
    m = kane.Model("block", gravity=(0, -G, 0))
    body = m.body("block", mass=1.0, inertia=(1.0, 1.0, 0.2))
    m.connect(m.ground, body, kane.Planar(("x", "y", "turn")), child_at=(0, -0.8, 0))
    floor = kane.Plane(m.ground.point(), m.ground.y)
    for name, side in (("left", -1), ("right", 1)):
        m.contact(body.point((side * 0.2, -0.8, 0)), floor, friction=kane.Coulomb(5.0), name=name)
    how = {"q": {"x": 0.2 * (1 - np.cos(0.12)), "y": 0.2 * np.sin(0.12), "turn": -0.12}, "dt": 1e-3}
    return kane.build(kane.formulate(m)), {"until": 3.0, "integrator": kane.RK4(), **how}


def stepped(dyn, how, between=lambda: None):
    """A stepper after 3,000 steps."""
    stepper = kane.Stepper(dyn, q=how["q"], integrator=kane.RK4())
    for _ in range(3000):
        stepper.step(1e-3)
        between()
    return stepper


def test_modes_that_runs_meet_are_compiled_as_they_go():
    """A stepper that was begun in numbers goes on in compiled modes, and the next run begins with them."""
    dyn, how = rocking()
    fast = kane.compile_modes(dyn)
    first, own = stepped(dyn, how), stepped(fast, how, lambda: fast.derived("met modes", lambda: None).wait())
    assert np.abs(own.q - first.q).max() < 1e-9
    functions, integration = own._problem.mode_source._at(0).functions, own._integration
    assert {*functions.parts.modes.statuses} >= {(1, 0), (0, 1)}
    stage = stage_in_force(integration.system, PROJECT, functions.project)
    assert chosen_in(functions, stage)[0] != NONE
    runs = [kane.simulate(d, **how) for d in (dyn, fast)]
    assert np.abs(runs[1].q - runs[0].q).max() < 1e-9
    assert "not compiled" not in str(runs[1])


def test_a_mode_that_cannot_be_compiled_is_told_and_the_run_goes_on_in_numbers(monkeypatch):
    dyn, how = rocking()
    fast = kane.compile_modes(dyn)

    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr("kane.dynamics.contacts.contact_functions.CompiledMode.of", broken)
    with pytest.warns(UserWarning, match="held' of 'block' could not be compiled .* numerically: .* no room"):
        own = stepped(fast, how, lambda: fast.derived("met modes", lambda: None).wait())
    # Behind compiled modes states are projected afresh, else by the last response: the same up to rounding errors.
    assert own.q == pytest.approx(stepped(dyn, how).q, abs=1e-14)


def test_modes_that_the_trajectories_of_an_ensemble_meet_are_compiled_behind_it():
    dyn, how = rocking()
    fast, starts = kane.compile_modes(dyn), {name: np.array([x, x]) for name, x in how["q"].items()}
    many = [kane.simulate_many(d, until=how["until"], q=starts) for d in (dyn, fast)]
    assert np.array_equal(many[0].q, many[1].q)  # what is compiled serves those that follow
    fast.derived("met modes", lambda: None).wait()
    assert "not compiled" not in str(kane.simulate(fast, **how))


def test_all_modes_are_compiled_where_these_are_few():
    dyn, how = rocking()
    fast = kane.compile_modes(dyn, "all")
    assert len(fast.modes) == 9
    assert {"free", "left held, right sliding"} < {*fast.modes}
    assert dyn.modes == ()
    assert "not compiled" not in str(kane.simulate(fast, **how))
    m = crate()
    floor = kane.Plane(m.ground.point(), m.ground.y)
    m.contact(m.bodies[1].point((0.3, 0, 0)), floor, friction=FRICTION, name="tip")
    with pytest.raises(ModelError, match=r"has 432 modes, but at most 100 are compiled in advance; give .*run\.modes"):
        kane.compile_modes(kane.build(kane.formulate(m)), "all")
