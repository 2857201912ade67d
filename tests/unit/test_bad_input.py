"""Bad input is refused by name, with the cure, by the first call that can know; what has one meaning works.

Python's own arithmetic and the definitions vouch: an answer is compared with the longhand form of the same thing.
"""

import math
from pathlib import Path

import numpy as np
import pytest

import kane
from kane.errors import shown
from tests.oracles.hostile_values import MJCF, URDF, Scene


@pytest.fixture(scope="module")
def scene():
    return Scene()


REFUSED = {
    "gravity as name": (lambda s: kane.Model((0, -9.81, 0)), r"name of a model .* is \(0, -9.81, 0\); give a text"),
    "no name": (lambda s: kane.Model(None), "name of a model .* is None; give a text"),
    "number as name": (lambda s: kane.Model(name=3), "is 3; give a text"),
    "until in words": (lambda s: kane.simulate(s.dyn, until="1"), "until is '1'; give a finite number of seconds"),
    "no start": (lambda s: kane.simulate(s.dyn, until=1.0, start=None), "start is None; give a finite number"),
    "inputs beyond doubles": (
        lambda s: kane.simulate(s.dyn, until=1.0, inputs=10**400),
        "the inputs must be 1 num",
    ),
    "input beyond doubles": (lambda s: kane.simulate(s.dyn, until=1.0, inputs={"tau": 10**400}), "'tau' is 1000"),
    "states as truth": (lambda s: kane.certify(s.model, states=True), "states of a certificate is True; give a whole"),
    "program of no name": (lambda s: s.dyn.function(None), 'a program has a name such as "forward", not None'),
    "MJCF as URDF": (lambda s: kane.load_urdf(MJCF), "<mujoco>, not <robot> of a URDF file; kane.load_mjcf reads that"),
    "URDF as MJCF": (
        lambda s: kane.load_mjcf(URDF),
        "not <mujoco> of an MJCF file; kane.load_urdf reads that",
    ),
    "load on nothing": (lambda s: kane.Spring(3, 1.0), "a Spring acts on a joint"),
    "math.sin": (lambda s: math.sin(s.q1), "kane.sin"),
    "np.floor": (lambda s: np.floor(s.q1), "NumPy's floor is not defined for expressions"),
    "text in an array": (lambda s: s.dyn.forward(["1"] * 6, s.u), "q must be 6 numbers"),
    "complex numbers": (lambda s: s.dyn.forward(np.ones(6, complex), s.u), "q must be 6 numbers"),
    "body of no name": (
        lambda s: s.model.connect("grund", "A", kane.Weld()),
        r"'grund'; did you mean ground\?",
    ),
    "four numbers": (
        lambda s: s.model.frame("f", "A", orientation=(5, 0, 0, 0)),
        "the orientation of frame 'f': the quaternion .* has length 5; divide it by its length",
    ),
    "no orientation": (lambda s: s.model.frame("f", "A", orientation="x"), "give a kane.Rotation, a matrix of 3 x 3"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_by_name(case, scene):
    call, words = REFUSED[case]
    with pytest.raises(kane.KaneError, match=words):
        call(scene)


def test_numpy_s_functions_of_expressions_are_expressions(scene):
    q, p = scene.q1, scene.q2
    assert np.sin(q) is kane.sin(q)
    assert np.arctan2(q, p) is kane.atan2(q, p)
    assert np.maximum(q, 0.0) is kane.maximum(q, 0.0)
    assert list(np.sqrt(np.array([q, p]))) == [kane.sqrt(q), kane.sqrt(p)]
    assert list(kane.cos(np.array([q, p]))) == [kane.cos(q), kane.cos(p)]
    assert kane.sin(np.array([0.5, 1.0])).dtype == np.float64


def test_arrays_and_expressions_are_combined_entry_by_entry(scene):
    q, p, a = scene.q1, scene.q2, np.array([2.0, 3.0])
    assert list(a * q) == list(q * a) == [2.0 * q, 3.0 * q]
    assert list(a - q) == [2.0 - q, 3.0 - q]
    assert list(q / a) == [q / 2.0, q / 3.0]
    assert list(q < a) == [q < 2.0, q < 3.0]
    assert list(np.array([[0.0, 1.0], [2.0, 0.0]]) @ np.array([q, p])) == [p, 2.0 * q]
    assert np.float64(2.0) * q is 2.0 * q


def test_an_array_of_numbers_takes_no_expressions_in_place(scene):
    a = np.array([2.0, 3.0])
    with pytest.raises(kane.ExpressionError, match="is not a number"):
        a *= scene.q1


@pytest.mark.parametrize(
    "given", [np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), (math.sqrt(0.5), 0, 0, math.sqrt(0.5))]
)
def test_an_orientation_is_a_matrix_or_a_quaternion_too(given):
    model = kane.Model()
    body = model.body("A", mass=1.0, inertia=(1.0, 1.0, 1.0))
    joint = model.connect("ground", "A", kane.Revolute("q1", axis="x"), orientation=given)
    expected = kane.Rotation.about("z", math.pi / 2).as_numpy()
    assert joint.parent is model.ground
    assert joint.child is body
    np.testing.assert_allclose(
        joint.R_PF.as_numpy(), expected, atol=3e-5
    )  # the quaternion is rounded to four digits, and normalised


def test_one_event_needs_no_list(scene):
    event = kane.Event(scene.model.time - 0.005, terminal=True)
    run = kane.simulate(scene.dyn, until=0.01, events=event)
    assert [e.name for e in run.events] == ["event 1"]


def test_what_a_message_shows_is_short_whatever_it_is():
    class Mute:
        def __repr__(self):
            raise RuntimeError

    nested = []
    for _ in range(5000):
        nested = [nested]
    for value in (Mute(), nested, 10**5000, "x" * 10**6, list(range(10**5)), np.zeros((300, 300)), Path("a")):
        text = shown(value)
        assert 0 < len(text) < 300
        assert "\n" not in text


class Mute:
    def __repr__(self):
        raise RuntimeError("no text")


class TestWhatHasNoTextIsRefusedByName:
    """Found by hostile calls: the message itself failed, or a value was asked whether it is true."""

    @pytest.mark.parametrize("path", [[Mute()], {Mute(): 1}, 10**5000], ids=["list", "dict", "number"])
    def test_paths(self, scene, path):
        for call in (kane.load_model, kane.load_equations, lambda p: kane.save_model(scene.model, p)):
            with pytest.raises(kane.KaneError, match="path"):
                call(path)

    def test_sums_of_reactions(self, scene):
        with pytest.raises(kane.ModelError, match="the sum 'u9' is empty"):
            scene.reactions.summed(u9={})

    def test_what_is_saved(self, tmp_path):
        for save, what in ((kane.save_model, "kane.Model"), (kane.save_equations, "Equations")):
            with pytest.raises(kane.ModelError, match=f"takes (a )?{what}"):
                save([Mute()], tmp_path / "x")

    def test_names_of_values_constraints_and_events(self, scene):
        with pytest.raises(kane.ModelError, match="there is no coordinate"):
            kane.simulate(scene.dyn, until=0.01, q={Mute(): 1.0})
        with pytest.raises(kane.ModelError, match="is not a name"):
            scene.model.constrain(scene.q1, name={Mute(): 1})
        with pytest.raises(kane.ModelError, match="is not a name"):
            kane.Event(scene.q1, name=np.zeros(3))

    def test_more_states_than_a_certificate_can_take(self, scene):
        with pytest.raises(kane.ModelError, match="give 1000000 at most"):
            kane.certify(scene.model, states=10**400)

    def test_links_to_repair(self):
        with pytest.raises(kane.KaneError, match="names of links"):
            kane.load_urdf(URDF, repair=np.zeros((2, 6)))

    def test_a_single_text_as_inertia(self, scene):
        with pytest.raises(kane.ModelError, match="give 3 principal moments"):
            scene.model.body("text", mass=1.0, inertia=np.array("x"))

    def test_flags(self, scene):
        run = kane.simulate(scene.dyn, until=0.01)
        with pytest.raises(kane.ModelError, match="inputs is True or False"):
            run.plot(inputs=np.zeros(3))
        with pytest.raises(kane.ModelError, match="terminal is True or False"):
            kane.Event(scene.q1, terminal=np.zeros(3))

    def test_orientations_with_no_entries_and_arrays_of_64_dimensions(self, scene):
        with pytest.raises(kane.ModelError, match=r"give a kane\.Rotation"):
            scene.model.frame("F", "A", orientation=np.ma.masked_all(6))
        with pytest.raises(kane.ExpressionError, match="do not broadcast"):
            kane.maximum(np.zeros((1,) * 40), np.full((1,) * 64, scene.q1))

    def test_the_platform_of_the_mobile_manipulator(self):
        with pytest.raises(kane.ModelError, match="the platform is a Platform"):
            kane.library.mobile_manipulator(platform=np.zeros((0, 6)))

    def test_a_complex_moment_of_inertia_a_name_without_text_and_a_path_that_cannot_be_coded(self, scene, tmp_path):
        with pytest.raises(kane.ModelError, match="give a finite number"):
            scene.model.body("complex", mass=1.0, inertia=np.array([1.0 + 1j, 1.0, 1.0]))
        with pytest.raises(kane.ModelError, match="there is no coordinate"):
            kane.decoupling_speeds(scene.model, q={Mute(): 1.0})
        with pytest.raises(kane.FileError, match="give a path, a text without odd characters"):
            kane.save_model(scene.model, tmp_path / "\ud800")

    def test_a_class_as_the_profile_of_a_cam_and_a_spline_far_outside_its_knots(self, scene):
        with pytest.raises(kane.ModelError, match="profile of a Cam is a function"):
            kane.Cam(scene.joint, scene.slide, object)
        with pytest.raises(kane.ModelError, match="profile of a Cam is a function of one argument"):
            kane.Cam(scene.joint, scene.slide, lambda x, y: x)
        with np.errstate(all="raise"):
            assert not np.isfinite(kane.spline(1e308, [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 1e9]))

    def test_a_number_of_thousands_of_digits_as_a_distance_between_charts(self):
        with pytest.raises(kane.ModelError, match=r"within is .* rad; give more than 0 and less than pi/4"):
            kane.Charts(within=10**5000)
