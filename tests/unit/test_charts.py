"""Charts of gimbals: conversions there and back, what a run records, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kane
from kane.expression.interpret import interpret
from kane.model.joints.gimbal.angles import angular_velocity_matrix, rotation_matrix

SEQUENCES = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]
RATES, MEASURES = kane.AngleRates(), kane.MeasureNumbers()
ANGLE = st.floats(-7.0, 7.0)
ANGLES = st.tuples(ANGLE, ANGLE, ANGLE)
TRIPLES = st.tuples(*[st.floats(-3.0, 3.0)] * 3)


def gimbal(sequence="zyx", speeds=MEASURES, name="ring"):
    return kane.Gimbal(name, sequence=sequence, speeds=speeds)


def orientation(joint, q):
    return rotation_matrix(joint.axes, np.asarray(q))


@given(st.sampled_from(SEQUENCES), ANGLES)
def test_the_matrix_of_the_angles_is_that_of_the_rotation(sequence, q):
    """Rotation takes an angle within 1e-12 of a right one as right, each of the three."""
    R = kane.Rotation.euler(sequence, *q).as_numpy()
    assert orientation(gimbal(sequence), q) == pytest.approx(R, abs=4e-12)


@given(st.sampled_from(SEQUENCES), st.sampled_from([RATES, MEASURES]), ANGLES, TRIPLES)
def test_angles_and_speeds_go_to_the_other_chart_and_back(sequence, speeds, angles, u):
    joint = gimbal(sequence, speeds)
    there = joint.other_chart
    back = there.joint.other_chart
    q = np.array([angles])
    other = there.coordinates(q, near=np.zeros(3))
    assert orientation(there.joint, other) == pytest.approx(orientation(joint, q), abs=1e-11)
    again = back.coordinates(other, near=q[0])
    assert orientation(joint, again) == pytest.approx(orientation(joint, q), abs=1e-11)
    assert np.linalg.norm(again - q) <= math.pi  # never farther than half a turn, which is where two turns are one
    # Both charts are regular there: what they make of round-off is not more than 1 / sin 0.1.
    if min(there.distance(q)[0], back.distance(other)[0]) > 0.1:
        assert again == pytest.approx(q, abs=1e-12)
        w = there.speeds(q, np.array([u]), other)
        assert back.speeds(other, w, again)[0] == pytest.approx(u, abs=1e-11)


@given(st.sampled_from(SEQUENCES), st.sampled_from([RATES, MEASURES]), ANGLES, ANGLES, TRIPLES)
def test_a_course_of_angles_is_continued_by_others_as_smooth(sequence, speeds, angles, near, rates):
    joint = gimbal(sequence, speeds)
    q = np.array(angles) + np.outer(np.arange(4.0), rates)
    if joint.distance_to_singularity(q).min() < 0.01:
        return
    found = joint.other_chart.continued(q, near=np.array(near))
    assert orientation(joint, found) == pytest.approx(orientation(joint, q), abs=1e-11)
    assert np.linalg.norm(found[0] - near) <= math.pi * math.sqrt(3.0)
    assert np.abs(np.diff(found, axis=0)) == pytest.approx(np.abs(np.diff(q, axis=0)), abs=1e-12)
    u = np.tile(rates, (4, 1))
    w = joint.other_chart.continued_speeds(q, u, found)
    assert np.abs(w) == pytest.approx(np.abs(u), abs=1e-9)


@given(st.sampled_from(SEQUENCES), st.sampled_from([RATES, MEASURES]), ANGLES, TRIPLES)
def test_native_code_goes_to_the_other_chart_as_numbers_do(sequence, speeds, angles, u):
    joint = gimbal(sequence, speeds)
    chart, model = joint.other_chart, kane.Model("leaves")
    connection = model.connect(model.ground, model.body("B", mass=1.0, inertia=(1, 1, 1)), joint)
    leaves = [*connection.coordinates, *connection.speeds]
    q, values = np.array([angles]), dict(zip(leaves, [*angles, *u], strict=True))
    other = chart.coordinates(q, near=np.zeros(3))
    if min(chart.distance(q)[0], chart.joint.distance_to_singularity(other)[0]) < 0.1:
        return
    there, carried = chart.carry(leaves[:3], leaves[3:] if speeds == RATES else [])
    found = np.array([float(x) for x in interpret(there, values)])
    assert orientation(chart.joint, found) == pytest.approx(orientation(joint, q[0]), abs=1e-12)
    if speeds == RATES:
        rates = np.array([float(x) for x in interpret(carried, values)])
        assert rates == pytest.approx(chart.speeds(q, np.array([u]), found[None])[0], abs=1e-11)


@given(st.sampled_from(SEQUENCES), ANGLES, TRIPLES)
def test_rates_of_other_angles_are_the_same_angular_velocity(sequence, angles, u):
    joint = gimbal(sequence, RATES)
    there, q = joint.other_chart, np.array([angles])
    other = there.coordinates(q, near=q[0])
    rates = there.speeds(q, np.array([u]), other)
    w = angular_velocity_matrix(joint.axes, q[0]) @ u
    if there.joint.distance_to_singularity(other)[0] > 1e-3:
        assert angular_velocity_matrix(there.joint.axes, other[0]) @ rates[0] == pytest.approx(w, abs=1e-9)


@given(st.sampled_from(SEQUENCES), ANGLES)
def test_one_chart_is_regular_where_the_other_is_singular(sequence, angles):
    there = gimbal(sequence).other_chart
    q = np.array([angles])
    other = there.coordinates(q, near=q[0])
    both = there.distance(q)[0] + there.joint.distance_to_singularity(other)[0]
    assert both > math.pi / 2 - 1e-7  # the singular directions are a quarter turn apart; acos of nearly 1 has 1e-8


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_at_the_singularity_the_third_angle_stays_and_the_rotation_is_kept(sequence):
    joint = gimbal(sequence)
    back = joint.other_chart.joint.other_chart
    q = np.array([[0.3, 0.0 if sequence[0] == sequence[2] else math.pi / 2, 0.4]])
    other = joint.other_chart.coordinates(q, near=q[0])
    again = back.coordinates(other, near=np.array([9.0, q[0, 1], 0.9]))
    assert orientation(joint, again) == pytest.approx(orientation(joint, q), abs=1e-11)
    if joint.distance_to_singularity(again)[0] == 0.0:
        assert again[0, 2] == pytest.approx(0.9)


@pytest.mark.parametrize("joint", [kane.Gimbal("g", sequence="zx"), kane.Spherical("g"), kane.Revolute("g", axis="x")])
def test_only_three_angles_have_another_chart(joint):
    assert joint.other_chart is None


def ringed(speeds=MEASURES, change=lambda model, joint, body: None, sequence="zyx"):
    model = kane.Model("ringed", gravity=(0, 0, 0))
    body = model.body("B", mass=1.0, inertia=(0.3, 0.4, 0.5))
    joint = model.connect(model.ground, body, gimbal(sequence, speeds))
    change(model, joint, body)
    return model, joint, body


def built(*args, **kwargs):
    model, joint, body = ringed(*args, **kwargs)
    return kane.build(kane.formulate(model)), joint, body


START = {"q": [0.2, 0.9, 0.1], "u": [0.3, 3.0, 0.4]}  # pitch goes up, and over the top


@pytest.fixture(scope="module")
def dyn():
    return built()[0]


@pytest.fixture(scope="module")
def run(dyn):
    return kane.simulate(dyn, until=3.0, charts=kane.Charts(), **START)


def test_the_trajectory_says_when_charts_were_switched(run):
    times = [s.time for s in run.chart_switches]
    assert len(times) >= 2
    assert times == sorted(times)
    assert [s.chart for s in run.chart_switches][:2] == ["zyz", "zyx"]
    assert {s.joint for s in run.chart_switches} == {"ring"}
    assert run.to_xarray().attrs["charts_within"] == 0.3
    far = run["ring_2"][run.time < times[0]]
    assert np.abs(far).max() < math.pi / 2 - 0.3
    assert run.events == ()


def test_names_units_and_times_are_those_of_the_run_without_charts(dyn, run):
    plain = kane.simulate(dyn, until=3.0, **START)
    for variable in ("time", "coordinate", "speed", "coordinate_units", "speed_units"):
        assert (run.to_xarray()[variable].to_numpy() == plain.to_xarray()[variable].to_numpy()).all()
    assert run.chart_switches
    assert plain.chart_switches == ()


def test_angles_do_not_jump(run):
    # At some 3 rad/s and a record every 3 ms; beside the singularity the outer angles swing faster.
    assert np.abs(np.diff(run["ring_2"])).max() < 0.02
    assert np.abs(np.diff(run.q, axis=0)).max() < 1.0


def test_switches_survive_a_file(run, tmp_path):
    run.save(tmp_path / "run.nc")
    assert kane.Trajectory.load(tmp_path / "run.nc").chart_switches == run.chart_switches


def test_records_are_made_at_the_times_asked_for(dyn, run):
    times = [0.1, 0.7, 2.0, 2.9]
    few = kane.simulate(dyn, until=3.0, times=times, charts=kane.Charts(), **START)
    assert few.time.tolist() == [0.0, *times, 3.0]
    rows = np.searchsorted(run.time, times[1:3])
    joint = gimbal()
    assert orientation(joint, few.q[2:4]) == pytest.approx(orientation(joint, run.q[rows]), abs=2e-3 * 3.5)
    assert few.u[-1] == pytest.approx(run.u[-1], abs=1e-12)


def test_a_switch_at_a_time_of_a_record_is_recorded_once(dyn, run):
    switch = run.chart_switches[0].time
    again = kane.simulate(dyn, until=3.0, times=[1e-3, switch, 2.0], charts=kane.Charts(), **START)
    assert again.time.tolist() == [0.0, 1e-3, switch, 2.0, 3.0]


def test_every_step_may_be_recorded(dyn, run):
    steps = kane.simulate(dyn, until=3.0, every=1, charts=kane.Charts(), **START)
    assert (np.diff(steps.time) > 0).all()
    assert steps.final.time == 3.0
    assert {s.time for s in steps.chart_switches} <= set(steps.time)


@pytest.mark.parametrize("speeds", [MEASURES, RATES], ids=repr)
def test_a_run_may_start_at_the_singularity_and_go_back_in_time(speeds):
    dyn, _, _ = built(speeds)
    q, w = np.array([0.2, math.pi / 2, 0.1]), np.array([0.3, 3.0, 0.4])
    u = w if speeds == MEASURES else np.array([1.0, 2.0, 3.0])
    with pytest.raises(kane.ModelError, match=r"cannot start there.*kane\.Charts\(\)"):
        kane.simulate(dyn, until=1.0, q=q, u=u)
    forth = kane.simulate(dyn, until=1.5, q=q, u=u, charts=kane.Charts())
    assert forth.chart_switches[0] == (0.0, "ring", "zyz")
    assert orientation(gimbal(), forth.q[0]) == pytest.approx(orientation(gimbal(), q), abs=1e-12)
    assert forth.energy == pytest.approx(forth.energy[0], rel=1e-7)
    end = forth.final
    back = kane.simulate(dyn, start=1.5, until=0.0, q=end.q, u=end.u, charts=kane.Charts())
    assert orientation(gimbal(), back.final.q) == pytest.approx(orientation(gimbal(), q), abs=1e-6)
    assert (np.diff(back.time) < 0).all()


# BDF has tolerances of 1e-6, of steps of its own; fixed steps of 3 ms err by (0.003 x 3.5 / s)^2 / 12 in a midpoint's.
METHODS = [(kane.RK5(), 1e-5), (kane.BDF(), 1e-3), (kane.RK4(), 1e-6), (kane.Gauss4(), 1e-6), (kane.Midpoint(), 1e-4)]


@pytest.mark.parametrize(("method", "within"), METHODS, ids=lambda m: getattr(m, "name", None))
def test_every_integrator_switches(dyn, run, method, within):
    step = {"dt": 3e-3} if method.fixed else {}
    other = kane.simulate(
        dyn, until=3.0, integrator=method, charts=kane.Charts(), times=run.time[1:-1], **step, **START
    )
    assert [s[1:] for s in other.chart_switches] == [s[1:] for s in run.chart_switches]
    assert [s.time for s in other.chart_switches] == pytest.approx([s.time for s in run.chart_switches], abs=within)
    assert (other.time == run.time).all()
    assert orientation(gimbal(), other.q) == pytest.approx(orientation(gimbal(), run.q), abs=within)


@pytest.mark.parametrize("speeds", [MEASURES, RATES], ids=repr)
@pytest.mark.parametrize("dt", [0.01, 1.5])
def test_a_stepper_switches_and_shows_the_declared_angles(speeds, dt):
    dyn, _, body = built(speeds)
    level = kane.Event(body.x.dot(body.model.ground.z), name="level")
    options = {"charts": kane.Charts(), "events": [level], **START}
    run = kane.simulate(dyn, until=3.0, times=np.arange(1, 300) * 0.01, **options)
    stepper, events = kane.Stepper(dyn, **options), []
    for row in np.round(np.arange(dt, 3.001, dt) / 0.01).astype(int):
        events += stepper.step(dt)
        # Steps end elsewhere, each with an error of 1e-9, and rates beside the singularity are some 100 times as large.
        assert orientation(gimbal(), stepper.q) == pytest.approx(orientation(gimbal(), run.q[row]), abs=1e-6)
        if dt < 0.1:  # a whole turn more or less is not seen in longer ones
            assert stepper.q == pytest.approx(run.q[row], abs=1e-6)
            assert stepper.u == pytest.approx(run.u[row], abs=1e-4)
    assert [e.time for e in events] == pytest.approx([e.time for e in run.events], abs=1e-7)
    assert len(events) >= 2
    for one, other in zip(events, run.events, strict=True):
        assert orientation(gimbal(), one.q) == pytest.approx(orientation(gimbal(), other.q), abs=1e-6)


def test_events_are_found_in_both_charts_and_a_terminal_one_ends_the_run():
    dyn, _, body = built()
    N = body.model.ground
    level = kane.Event(body.x.dot(N.z), name="level")
    run = kane.simulate(dyn, until=3.0, events=[level], charts=kane.Charts(), **START)
    assert len(run.events) >= 2
    assert {e.name for e in run.events} == {"level"}
    for event in run.events:  # R_zx of zyx is -sin of the second angle
        assert math.sin(event.q[1]) == pytest.approx(0.0, abs=1e-9)
    # In the other chart, while the first axis is still within 0.3 of the vertical.
    steep = kane.Event(body.x.dot(N.z) + math.cos(0.25), terminal=True, name="steep")
    ended = kane.simulate(dyn, until=3.0, events=[steep], charts=kane.Charts(), **START)
    assert [e.name for e in ended.events] == ["steep"]
    assert len(ended.chart_switches) == 1
    assert ended.final.time == ended.events[0].time < 1.0
    assert (ended.final.q == ended.events[0].q).all()
    assert gimbal().distance_to_singularity(ended.final.q) == pytest.approx(0.25, abs=1e-9)


def test_an_interrupted_run_is_the_beginning_of_the_whole_one(dyn):
    def stop(done):
        if done > 0.1:
            raise KeyboardInterrupt

    small = {"until": 3.0, "integrator": kane.RK8(max_step=1e-3), "charts": kane.Charts(), **START}
    run = kane.simulate(dyn, **small)
    with pytest.warns(UserWarning, match="'ringed' was interrupted at t = .* of 3 s"):
        part = kane.simulate(dyn, progress=stop, **small)
    assert part.interrupted
    assert 1 < len(part) < len(run)
    assert (part.q[:-1] == run.q[: len(part) - 1]).all()


def test_progress_never_goes_back(dyn):
    seen = []
    kane.simulate(dyn, until=3.0, charts=kane.Charts(), progress=seen.append, **START)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def add_motor(model, joint, body):
    model.load(kane.Motor(joint["ring_2"], model.input("torque")))


def add_spring_force(model, joint, body):
    model.load(kane.Torque(body, (0, -3.0 * joint.coordinates[1], 0)))


def add_damping_torque(model, joint, body):
    model.load(kane.Torque(body, (0, -3.0 * joint.qdot[1], 0)))


def add_constraint(model, joint, body):
    model.constrain(joint.qdot[0] - 2.0 * joint.qdot[1], name="ratio")


def add_speeds(model, joint, body):
    model.speeds(**{f"s{i}": rate for i, rate in enumerate(joint.qdot)})


def add_mimic(model, joint, body):
    model.connect(body, model.body("C", mass=1.0, inertia=(1, 1, 1)), kane.Revolute(2 * joint.q[0], axis="x"), name="m")


REFERENCES = [
    (RATES, add_motor, "a Motor acts along 'ring_2'"),
    (RATES, add_spring_force, "a Torque refers to 'ring_2'"),
    (MEASURES, add_damping_torque, "a Torque refers to 'ring_2'"),
    (RATES, add_constraint, "the constraint 'ratio' refers to 'ring_[12]'"),
    (RATES, add_speeds, "the speed 's0' refers to 'ring_1'"),
    (RATES, add_mimic, "the coordinate of joint 'm' refers to 'ring_1'"),
]


@pytest.mark.parametrize(("speeds", "change", "message"), REFERENCES, ids=lambda x: getattr(x, "__name__", ""))
def test_what_refers_to_angles_that_switch_is_refused_at_once(speeds, change, message):
    dyn, _, _ = built(speeds, change)
    with pytest.raises(kane.ModelError, match=message + r", while charts of the gimbal 'ring' are switched.*use "):
        kane.simulate(dyn, until=1.0, charts=kane.Charts())


def test_inputs_and_events_that_refer_to_angles_are_refused():
    def add_torque(model, joint, body):
        model.load(kane.Torque(body, (0, model.input("torque"), 0)))

    model, joint, body = ringed(RATES, add_torque)
    equations = kane.formulate(model)
    dyn = kane.build(equations)
    charts = {"until": 1.0, "charts": kane.Charts()}
    with pytest.raises(kane.ModelError, match=r"expression for the input 'torque' refers to 'ring_2'.*measures"):
        kane.simulate(dyn, inputs={"torque": -joint.coordinates[1]}, **charts)
    with pytest.raises(kane.ModelError, match="the input 'torque' refers to 'ring_1_dot'"):
        kane.simulate(dyn, inputs={"torque": -equations.u[0]}, **charts)
    with pytest.raises(kane.ModelError, match="the event 'half' refers to 'ring_1'"):
        kane.simulate(dyn, events=[kane.Event(joint.coordinates[0], name="half")], **charts)
    with pytest.raises(kane.ModelError, match="a Python function gives inputs"):
        kane.simulate(dyn, inputs=lambda t, q, u: [0.0], **charts)
    baked = kane.build(kane.substitute(equations, torque=-joint.coordinates[1]))
    with pytest.raises(kane.ModelError, match=r"kane\.substitute put in place of 'torque'.*inputs= of simulate"):
        kane.simulate(baked, **charts)
    measured = {"torque": -1.0 * body.angular_velocity.dot(body.y)}
    assert kane.simulate(dyn, inputs=measured, q=START["q"], u=[0, 3.0, 0], **charts).chart_switches


def test_a_gimbal_that_may_not_switch_may_be_referred_to():
    def add_second(model, joint, body):
        other = model.connect(body, model.body("C", mass=1.0, inertia=(1, 1, 1)), gimbal("zyx", RATES, "other"))
        model.load(kane.Motor(other["other_2"], model.input("torque")))

    dyn, _, _ = built(MEASURES, add_second)
    with pytest.raises(kane.ModelError, match=r"a Motor acts along 'other_2'.*kane\.Charts\(joints=\.\.\.\)"):
        kane.simulate(dyn, until=1.0, charts=kane.Charts())
    run = kane.simulate(dyn, until=1.0, q={"ring_2": 1.4}, charts=kane.Charts(joints=["ring"]))
    assert [s[1:] for s in run.chart_switches] == [("ring", "zyz")]


def test_charts_that_make_no_sense_are_refused(dyn):
    for within in (0.0, -1.0, 1.0, math.nan, math.inf):
        with pytest.raises(kane.ModelError, match="less than pi/4"):
            kane.Charts(within=within)
    with pytest.raises(kane.ModelError, match="within is 'near'"):
        kane.Charts(within="near")
    with pytest.raises(kane.ModelError, match=r"list of names of joints, such as \['ring'\]"):
        kane.Charts(joints="ring")
    with pytest.raises(kane.ModelError, match="'rung': it is no Gimbal of three angles; did you mean ring"):
        kane.simulate(dyn, until=1.0, charts=kane.Charts(joints=["rung"]))
    with pytest.raises(kane.ModelError, match=r"charts is True; give kane\.Charts\(\)"):
        kane.simulate(dyn, until=1.0, charts=True)
    model = kane.Model("wheel")
    model.connect(model.ground, model.body("B", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1", axis="x"))
    with pytest.raises(kane.ModelError, match=r"'wheel' has no Gimbal of three angles.*leave charts out"):
        kane.simulate(kane.build(kane.formulate(model)), until=1.0, charts=kane.Charts())


def steered(joint):
    """A body on a joint, turned about y of the ground by an input."""
    model = kane.Model("steered", gravity=(0, 0, 0))
    body = model.body("B", mass=1.0, inertia=(0.3, 0.4, 0.5))
    model.connect(model.ground, body, joint)
    model.load(kane.Torque(body, (0, model.input("torque"), 0)))
    return kane.build(kane.formulate(model)), body


def sampled(law, **options):
    return {"torque": kane.Sampled(law, period=0.05, delay=0.01, **options)}


def turned(quaternion):
    w, x, y, z = quaternion
    return kane.Rotation.quaternion(w, x, y, z).as_numpy()


@pytest.mark.parametrize("kind", ["an expression", "Python", "Python with a state"])
def test_sampled_laws_see_the_declared_angles_and_measures_whatever_the_chart(kind):
    """Who vouches: the same body on quaternions, and the same law of its orientation."""
    ring = gimbal("zyx", MEASURES)
    angles, body = steered(ring)
    quaternions, other = steered(kane.Spherical("ring"))
    q = np.array(START["q"])
    R = orientation(ring, q)
    w = 0.5 * math.sqrt(1.0 + np.trace(R))
    start = np.array([w, *((R[2, 1] - R[1, 2]), (R[0, 2] - R[2, 0]), (R[1, 0] - R[0, 1]))]) / [1, 4 * w, 4 * w, 4 * w]
    of = {"gimbal": lambda q: orientation(ring, q), "spherical": turned}

    def law(which):
        if kind == "an expression":
            B = body if which == "gimbal" else other
            return sampled(-0.4 * B.x.dot(B.model.ground.z) - 0.1 * B.angular_velocity.dot(B.y))
        if kind == "Python":
            return sampled(lambda t, q, u: -0.4 * of[which](q)[2, 0] - 0.1 * u[1])
        return sampled(lambda t, q, u, k: (0.1 * k * of[which](q)[2, 0], 0.5 * k + u[1]), state=0.0)

    run = kane.simulate(angles, until=3.0, inputs=law("gimbal"), charts=kane.Charts(), **START)
    same = kane.simulate(quaternions, until=3.0, inputs=law("spherical"), q=start, u=START["u"])
    assert len(run.chart_switches) >= 2
    assert np.abs(run.inputs).max() > 0.1
    assert run.inputs == pytest.approx(same.inputs, abs=1e-7)
    assert orientation(ring, run.q) == pytest.approx(np.array([turned(x) for x in same.q]), abs=1e-7)
    stepper = kane.Stepper(angles, inputs=law("gimbal"), charts=kane.Charts(), **START)
    for _ in range(30):
        stepper.step(0.1)
    assert orientation(ring, stepper.q) == pytest.approx(orientation(ring, run.final.q), abs=1e-6)


def test_a_sampled_law_that_refers_to_angles_is_refused():
    dyn, _ = steered(gimbal("zyx", RATES))
    with pytest.raises(kane.ModelError, match=r"the sampled law of the input 'torque' refers to 'ring_2'.*measures"):
        kane.simulate(dyn, until=1.0, inputs=sampled(-dyn.equations.q[1]), charts=kane.Charts())
