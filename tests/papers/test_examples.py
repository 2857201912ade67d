"""The examples of the papers run as they stand, write their figures and print what they promise."""

import re
import runpy

import numpy as np
import pytest
from matplotlib.figure import Figure

FIGURES = {
    "kane_levinson": {"kane_levinson_fig1.png", "kane_levinson_fig3.png"},
    "angeles_stanford_arm": {"angeles_fig4.png", "angeles_fig5.png"},
    "angeles_six_axis": {"angeles_fig6.png", "angeles_fig7.png", "angeles_fig8.png"},
    "angeles_table1": set(),
    "stoneking_spacecraft": {"stoneking_spacecraft.png"},
    "tanner_mobile_manipulator": {"tanner_fig3.png", "tanner_fig4.png", "tanner_fig5.png"},
    "gillespie_wrist": set(),
    "gillespie_disk": {"gillespie_disk.png"},
    "gillespie_cart": {"gillespie_cart.png"},
    "piano_action": {"piano_action.png"},
    "pushed_block": {"pushed_block.png"},
    "disk_on_rough_floor": {"disk_on_rough_floor.png"},
    "rolling_coin": {"rolling_coin.png"},
    "andrews_squeezer": {"andrews_squeezer.png"},
    "closed_loops": {"closed_loops.png"},
    "whipple_bicycle": {"whipple_bicycle.png"},
    "sampled_control": {"sampled_control.png"},
    "simplest_walker": {"simplest_walker.png"},
    "painleve_rod": {"painleve_rod.png"},
    "slider_crank_stop": {"slider_crank_stop.png"},
    "rocking_and_walking": {"rocking_and_walking.png"},
    "sticking_caster": {"sticking_caster.png"},
    "docking": {"docking.png"},
    "dry_friction": {"dry_friction.png"},
    "bouncing_ball": {"bouncing_ball.png"},
    "linear_control": {"linear_control.png"},
    "cart_pole_swing_up": {"cart_pole_swing_up.png"},
    "one_legged_hopper": {"one_legged_hopper.png"},
    "attitude_control": {"attitude_control.png"},
    "identify_ur5": {"identify_ur5.png"},
    "live_pages": set(),
    "pushed_cart": {"pushed_cart.png"},
    "piano_key": {"piano_key.png"},
    "turned_crank": {"turned_crank.png"},
    "ball_in_a_box": {"ball_in_a_box.png"},
    "pulled_chain": {"pulled_chain.png"},
    "rattleback": {"rattleback.png"},
    "trotting_quadruped": {"trotting_quadruped.png"},
    "tippe_top": {"tippe_top.png"},
    "gripper": {"gripper.png"},
    "dominoes": {"dominoes.png"},
    "newtons_cradle": {"newtons_cradle.png"},
    "two_rough_walls": set(),
    "woodpecker": {"woodpecker.png"},
    "bag_of_spheres": {"bag_of_spheres.png"},
    "poured_balls": {"poured_balls.png"},
    "part_on_chute": {"part_on_chute.png"},
    "spacecraft_landing": {"spacecraft_landing.png"},
    "many_runs": {"many_runs.png"},
    "gymnasium_adapter": set(),
}
PRINTED = {
    "kane_levinson": "sigma:    0.0000",
    "angeles_stanford_arm": "",
    "angeles_six_axis": "starts at [1.32455 0.      1.23764] and ends at [1.32455 0.5     1.23764]",
    "angeles_table1": "kane, Z0 = Z1",
    "stoneking_spacecraft": "angular momentum: relative drift",
    "tanner_mobile_manipulator": "Fig. 3: straight, links aligned: energy constant",
    "gillespie_wrist": "u1' = ",
    "gillespie_disk": "then rolls at 1.287393 m/s",
    "gillespie_cart": "the impact takes",
    "piano_action": "hammer: upper  bounces",
    "pushed_block": "slips at 5.178344959 N, closed form 5.178344959 N",
    "disk_on_rough_floor": "rolls at -1.333333333 m/s, closed form -1.333333333 m/s",
    "rolling_coin": "5 coordinates, 3 speeds",
    "andrews_squeezer": "rank 6",
    "whipple_bicycle": "on the rear wheel 612.8 N",
    "closed_loops": "freedoms upright 1, flat 41",
    "sampled_control": "|z| up to 0.94",
    "simplest_walker": "a published step takes",
    "painleve_rod": "p = -0.3285: imposed",
    "slider_crank_stop": "stop: lower  bounces",
    "rocking_and_walking": "(Housner)",
    "sticking_caster": "caster sticks  imposed",
    "docking": "latch  imposed",
    "dry_friction": "the pendulum stops at",
    "bouncing_ball": "by the conservation law -0.285714285714",
    "cart_pole_swing_up": "least effort: 82.38 N^2 s in 2.00 s",
    "one_legged_hopper": "0.100000  foot   imposed",
    "linear_control": "bicycle at 5.0 m/s: -0.3229+0j",
    "attitude_control": "wheels at most 40 rad/s",
    "identify_ur5": "wrist_3_link_xx, wrist_3_link_zz: only wrist_3_link_xx - wrist_3_link_zz appears",
    "live_pages": "whipple_bicycle.html",
    "pushed_cart": "friction of q4 sticks",
    "piano_key": "with 9.898654 rad/s, closed form 9.898654 rad/s\nthe finger gave 0.0293 J, impacts took 0.0293 J",
    "turned_crank": "the hand feels 4.87648 N, two springs in series 4.87648 N",
    "ball_in_a_box": "energy: given 0.0294 J, kept 0.0000 J, to 21 knocks 0.0293 J",
    "pulled_chain": "angles of the forces [deg]:",
    "rattleback": "it turns back after 6.3 s, up to 5.000 rad/s",
    "trotting_quadruped": "LF held, RF held, LH held, RH held",
    "tippe_top": "spun at 150 rad/s it leans by 155.5 deg",
    "gripper": "friction of a pad up to 3.1888 N, by Newton's law 3.1888 N",
    "dominoes": "in sqrt(g h): 1.8643",
    "newtons_cradle": "together: -0.600000 0.400000 0.400000 0.400000 0.400000",
    "two_rough_walls": "after the impact 2.625000 J",
    "woodpecker": "a hop takes 0.1512 s",
    "bag_of_spheres": "the walls carry 29.430000 N of 29.430000 N",
    "poured_balls": "floor and walls carry 58.860000 N of 58.860000 N",
    "spacecraft_landing": "tips over with probability 0.092",
    "part_on_chute": "down the chute at 3.110179949 m/s^2, closed form 3.110179949",
    "many_runs": "after 4 s the pole leans by",
    "gymnasium_adapter": "gymnasium",
}


# Quick tests of the same motions: test_polyhedra_move, test_walking_examples, test_handling_examples, test_page_motion,
# test_linearize and, for windows that lie flat, test_simulate_progress.
LONG = {"part_on_chute", "trotting_quadruped", "dominoes", "live_pages", "linear_control", "closed_loops"}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in FIGURES]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_is_short_and_writes_its_figures(name, root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    figures, write = [], Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda fig, *args, **kw: (write(fig, *args, **kw), figures.append(fig)))
    path = root / "examples" / f"{name}.py"
    assert path.read_text("utf-8").count("\n") < 80
    runpy.run_path(str(path), run_name="__main__")
    out = tmp_path / "out"
    assert {p.name for p in out.glob("*.png")} == FIGURES[name]
    assert PRINTED[name] in capsys.readouterr().out
    for ax in (ax for figure in figures for ax in figure.axes):
        require_readable(ax)


def require_readable(ax):
    """A quantity and its unit at the axis, no legend over data, and nothing hidden below another line."""
    assert re.fullmatch(r".+ \[.+\].*", ax.get_ylabel())
    legend = ax.get_legend()
    if legend is not None:
        box = legend.get_window_extent()
        data = np.concatenate([line.get_transform().transform(line.get_xydata()) for line in ax.lines])
        assert not box.count_contains(data[np.isfinite(data).all(axis=1)])
    drawn = [line for line in ax.lines if len(line.get_xdata()) > 5]
    for k, upper in enumerate(drawn):
        for lower in drawn[:k]:
            if covers(ax, upper, lower):
                narrower = upper.get_linewidth() < lower.get_linewidth()
                assert narrower or upper.get_linestyle() != "-"


def covers(ax, upper, lower):
    """Whether a line runs within a pixel of one drawn before."""
    a, b = (ax.transData.transform(line.get_xydata()) for line in (upper, lower))
    return a.shape == b.shape and bool((np.abs(a - b) < 1.0).all())


def test_every_example_is_in_this_suite_but_the_demo(root):
    assert {p.stem for p in (root / "examples").glob("*.py")} - {"ur5"} == set(FIGURES)
