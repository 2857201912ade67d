"""kane haptic: what it prints and writes, and how it says no."""

import numpy as np
import pytest
from typer.testing import CliRunner

import kane
from kane.cli.main import app
from kane.haptics import replay
from kane.haptics.scenes import make_hand_scene, pushed_cart


def call(*arguments):
    return CliRunner().invoke(app, ["haptic", *arguments])


def test_the_cart_of_gillespie_is_pushed_sticks_and_is_free_again(tmp_path):
    done = call("shopping_cart", "--device", "simulated", "--rehearse", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert done.output.startswith("8000 ticks of 1 ms")
    events = [line.split()[-1] for line in done.output.splitlines() if line.startswith("event at")]
    assert events[:1] == ["slips"]  # it was stuck
    k = events.index("sticks")
    assert "slips" in events[k + 1 :]
    assert "energy: to the hand" in done.output
    run = kane.Trajectory.load(tmp_path / "shopping_cart.nc")
    assert len(run.time) == 8001
    again = replay(tmp_path / "shopping_cart.session", pushed_cart().dyn)
    assert (again.trajectory.q == run.q).all()


@pytest.mark.parametrize(
    ("name", "limit"), [("ball_in_a_box", 0.05), pytest.param("crank", 0.5, marks=pytest.mark.slow)]
)
def test_walls_and_stops_are_met_exactly_in_ticks(name, limit, tmp_path):
    """No coordinate passes its stop by more than rounding, whatever the hand does; impacts are events within ticks."""
    done = call(name, "--rehearse", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    words = [line.split()[-1] for line in done.output.splitlines() if line.startswith("event at")]
    assert words.count("bounces") >= 2
    run = kane.Trajectory.load(tmp_path / f"{name}.nc")
    assert limit - 1e-6 < np.abs(run.q).max() <= limit + 1e-9


def test_any_model_is_moved_by_a_handle_that_is_named(tmp_path):
    done = call("four_bar", "--handle", "coupler:0.05:0:0", "--seconds", "0.05", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "lateness [us]" in done.output  # in real time


def test_ticks_are_taken_before_they_are_due_where_that_is_asked_for_and_the_session_knows(tmp_path):
    """How many were foreseen follows from samples alone; whether there was time to take them does not."""
    for words, told in (((), False), (("--predict",), True)):
        done = call("crank", "--rehearse", "--seconds", "0.2", *words, "--out", str(tmp_path))
        assert done.exit_code == 0, done.output
        assert ("prediction: the position was correct in" in done.output) == told
    run = kane.Trajectory.load(tmp_path / "crank.nc")
    again = replay(tmp_path / "crank.session", make_hand_scene("crank").dyn)
    assert again.report.predicted[0] > 0
    assert (again.trajectory.q == run.q).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("four_bar",), "give --handle"),
        (("zzz",), "nor a reference model: those are"),
        (("zzz",), "a scene: those are shopping_cart, ball_in_a_box, crank, dragged_box"),
        (("dragged_box", "--handle", "crate"), "leave --handle out"),
        (("four_bar", "--handle", "nobody"), "with a body of"),
        (("shopping_cart", "--handle", "B:1:2"), "with a body of"),
        (("shopping_cart", "--handle", "B:1:2:x"), "with a body of"),
    ],
)
def test_a_handle_that_is_missing_or_unknown_is_asked_for(arguments, message, tmp_path):
    done = call(*arguments, "--out", str(tmp_path))
    assert done.exit_code == 1
    assert message in done.output


def test_a_mouse_cannot_be_rehearsed_and_a_page_is_written_where_it_is_asked_for(tmp_path):
    refused = call("crank", "--device", "pointer", "--rehearse", "--out", str(tmp_path))
    assert refused.exit_code == 1
    assert "real time" in refused.output
    page = tmp_path / "push.html"
    done = call("crank", "--rehearse", "--seconds", "0.1", "--out", str(tmp_path), "--save", str(page))
    assert done.exit_code == 0, done.output
    assert "work_on_mechanism" in page.read_text("utf-8")


def test_a_session_is_shown_on_a_page_meanwhile(tmp_path):
    done = call("crank", "--view", "--no-browser", "--seconds", "0.1", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "http://127.0.0.1:" in done.output
    assert "100 ticks of 1 ms" in done.output


def test_the_mouse_is_a_device_and_is_nobody_s_until_it_presses(tmp_path):
    done = call("crank", "--device", "pointer", "--no-browser", "--seconds", "0.1", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "http://127.0.0.1:" in done.output
    assert "largest force 0 N" in done.output
