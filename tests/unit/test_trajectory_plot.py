"""What the picture of a run contains: panels, lines, units, limits, marks and words; not how it looks."""

import io
import re

import numpy as np
import pytest

import kane


def built(model):
    return kane.build(kane.formulate(model))


def row(count, release=lambda i: 1.0):
    """Pendulums of different lengths side by side, let go at the angles [rad] that ``release`` says."""
    model = kane.Model("row")
    for i in range(count):
        bob = model.body(f"bob{i}", mass=1.0, com=(0, 0, -1.0 - i / 20))
        model.connect(model.ground, bob, kane.Revolute(f"q{i}", axis="y"))
    return kane.simulate(built(model), until=0.5, q=[release(i) for i in range(count)])


@pytest.fixture(scope="module")
def run():
    """A cart with a pendulum, pushed by F."""
    model = kane.Model("cart", gravity=(0, 0, -9.81))
    cart = model.body("cart", mass=2.0)
    bob = model.body("bob", mass=1.0, com=(0, 0, -0.5))
    slide = model.connect(model.ground, cart, kane.Prismatic("place", axis="x"))
    hinge = model.connect(cart, bob, kane.Revolute("angle", axis="y"))
    model.load(kane.Motor(slide, model.input("F")))
    below = kane.Event(hinge.q, name="below")
    return kane.simulate(built(model), until=2.0, q={"angle": 1.0}, inputs={"F": 3.0}, events=[below])


def axes(figure):
    return [ax for ax in figure.axes if ax.get_ylabel()]


def titles(figure):
    return [[line.get_label() for line in ax.lines] for ax in axes(figure)]


def test_there_is_one_panel_a_unit_and_one_for_energies_and_each_axis_has_its_unit(run, tmp_path):
    figure = run.plot()
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert labels == ["q [m]", "q [rad]", "u [m/s]", "u [rad/s]", "energy [J]"]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert titles(figure)[1] == ["angle"]
    assert titles(figure)[-1] == ["kinetic", "potential", "total"]
    figure.savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_quaternions_and_inputs_have_units_too():
    model = kane.Model("ball")
    model.connect(model.ground, model.body("ball", mass=1.0, inertia=(1, 2, 3)), kane.Free("base"))
    model.input("tau", 1.0)
    labels = [ax.get_ylabel() for ax in kane.simulate(built(model), until=0.5).plot(inputs=True).axes]
    assert all(re.fullmatch(r".+ \[.+\]", label) for label in labels)
    assert "quaternion [1]" in labels
    assert "inputs [SI units]" in labels


def test_quantities_are_chosen_by_name_and_keep_their_order(run):
    assert titles(run.plot(["angle_dot", "energy", "F"])) == [["angle_dot"], ["total"], ["F"]]
    assert titles(run.plot("angle")) == [["angle"]]
    np.testing.assert_array_equal(run.plot("energy").axes[0].lines[0].get_ydata(), run.energy)
    with pytest.raises(kane.ModelError, match=r"no coordinate, speed, input or energy 'angel'.*angle"):
        run.plot(["angel"])


def test_inputs_are_shown_where_asked_for_and_once(run):
    assert ["F"] not in titles(run.plot())
    assert titles(run.plot(inputs=True))[-1] == ["F"]
    assert titles(run.plot(["F"], inputs=True)) == [["F"]]


def test_events_are_upright_lines_with_their_names_in_one_legend(run):
    times = [event.time for event in run.events]
    assert len(times) > 1
    figure = run.plot()
    for ax in figure.axes:
        (marks,) = ax.collections
        assert [segment[0][0] for segment in marks.get_segments()] == times
    named = ["below" in [t.get_text() for t in ax.get_legend().get_texts()] for ax in figure.axes]
    assert named == [True, False, False, False, False]
    assert not any(ax.collections for ax in run.plot(events=False).axes)


def test_what_is_zero_but_for_rounding_is_left_out_and_said_to_be():
    found = row(3, lambda i: [1.0, 1e-14, 0.0][i])
    figure = found.plot()
    assert titles(figure)[:2] == [["q0"], ["u0"]]
    words = figure.get_supxlabel()
    assert words.startswith("omitted because zero up to rounding")
    assert re.findall(r"[qu]\d", words) == ["q1", "q2", "u1", "u2"]
    asked = found.plot(["q1"])
    assert titles(asked) == [["q1"]]
    assert asked.get_supxlabel() == ""
    assert asked.axes[0].get_ylim() == pytest.approx((-1.0, 1.0))


def test_nothing_is_left_out_where_nothing_moves():
    model = kane.Model("still", gravity=(0, 0, 0))
    model.connect(model.ground, model.body("bob", mass=1.0, com=(0, 0, -1)), kane.Revolute("q1", axis="y"))
    figure = kane.simulate(built(model), until=0.1).plot()
    assert titles(figure)[0] == ["q1"]
    assert all(ax.get_ylim() == pytest.approx((-1.0, 1.0)) for ax in figure.axes)


def test_unequal_magnitudes_have_panels_of_their_own():
    figure = row(3, lambda i: [1.0, 1e-3, 0.5][i]).plot()
    assert titles(figure)[:4] == [["q0", "q2"], ["q1"], ["u0", "u2"], ["u1"]]


def test_more_than_ten_lines_are_distinct():
    figure = row(45).plot()
    panels = [ax for ax in figure.axes if ax.get_ylabel() == "q [rad]"]
    assert [name for ax in panels for name in (line.get_label() for line in ax.lines)] == [f"q{i}" for i in range(45)]
    for ax in panels:
        entries = ax.get_legend().legend_handles
        assert len(entries) == len(ax.lines) <= 20
        assert len({(line.get_color(), line.get_linestyle()) for line in entries}) == len(entries)


def test_very_many_lines_are_told_apart_by_a_colour_scale():
    figure = row(70).plot()
    panel = figure.axes[0]
    assert len(panel.lines) == 70
    assert panel.get_legend() is None
    assert "q69" in [text.get_text() for ax in figure.axes for text in ax.get_yticklabels()]
    figure.savefig(io.BytesIO())


def test_lines_that_cover_each_other_take_turns():
    model = kane.Model("twins")
    for name in ("left", "right", "other"):
        bob = model.body(name, mass=1.0, com=(0, 0, -1.0))
        model.connect(model.ground, bob, kane.Revolute(f"q_{name}", axis="y"))
    panel = kane.simulate(built(model), until=1.0, q=[0.5, 0.5, -0.4]).plot().axes[0]
    left, right, other = (line._unscaled_dash_pattern for line in panel.lines)
    assert other == (0, None)
    assert left[1] == right[1] == (4.0, 4.0)
    assert abs(left[0] - right[0]) == 4.0  # one is drawn in the gaps of the other


def test_a_level_line_is_not_drawn_on_the_scale_of_its_rounding(run):
    model = kane.Model("spin", gravity=(0, 0, 0))
    model.connect(model.ground, model.body("disk", mass=1.0, inertia=(1, 1, 2)), kane.Revolute("q1", axis="z"))
    figure = kane.simulate(built(model), until=1.0, u=[3.0]).plot()
    assert figure.axes[1].get_ylim() == pytest.approx((2.7, 3.3))
    assert figure.axes[2].get_ylim() == pytest.approx((8.1, 9.9))


@pytest.mark.parametrize("count", [3, 20])
def test_no_legend_lies_over_data_or_reaches_into_the_next_panel(count):
    figure = row(count).plot()
    figure.savefig(io.BytesIO())
    boxes = [(ax.get_window_extent(), ax.get_legend().get_window_extent()) for ax in figure.axes]
    for (panel, legend), below in zip(boxes, [*(b for b, _ in boxes[1:]), None], strict=True):
        assert legend.x0 >= panel.x1
        assert legend.x1 <= figure.bbox.x1
        assert below is None or legend.y0 >= below.y1


def test_inputs_that_a_motion_does_not_determine_are_refused_in_its_picture():
    motion = kane.follow(
        built(kane.library.n_link_pendulum(1)), q={"q1": 0.0, "q2": lambda t: t}, times=np.linspace(0.0, 1.0, 11)
    )
    assert [ax.get_ylabel() for ax in motion.plot().axes][-2:] == ["forces [N]", "forces [N m]"]
    assert titles(motion.plot("u2")) == [["u2"]]
    with pytest.raises(kane.ModelError, match="do not determine 1 inputs"):
        motion.plot(inputs=True)
