"""kane haptic: what it prints and writes, and how it says no."""

import numpy as np
import pytest
from typer.testing import CliRunner

import kane
from kane.cli.main import app
from kane.haptics import replay
from kane.haptics.scenes import pushed_cart


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


@pytest.mark.parametrize(("name", "limit"), [("ball_in_a_box", 0.05), ("crank", 0.5)])
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("four_bar",), "give --handle"),
        (("four_bar", "--handle", "nobody"), "with a body of"),
        (("shopping_cart", "--handle", "B:1:2"), "with a body of"),
        (("shopping_cart", "--handle", "B:1:2:x"), "with a body of"),
    ],
)
def test_a_handle_that_is_missing_or_unknown_is_asked_for(arguments, message, tmp_path):
    done = call(*arguments, "--out", str(tmp_path))
    assert done.exit_code == 1
    assert message in done.output
