"""Differences of models and equations: the planted change, all of it and nothing else."""

import importlib
import random

import pytest
from typer.testing import CliRunner

import kane
from kane.cli.main import app

stanford = importlib.import_module("kane.library.stanford_arm")  # a function has the same name


def test_rolling_beside_sliding_shows_the_speeds_and_rows_of_example_1():
    """Gillespie 2003, Example 1: u2 = -u1 by the constraint, w_B_1 = -a3/r, and the row of u2 joins that of u1."""
    found = kane.compare(kane.formulate(kane.library.sliding_disk()), kane.formulate(kane.library.rolling_disk()))
    assert {(c.kind, c.name) for c in found.changes} == {
        ("changed", "speed u2"),
        ("added", "constraint row 'rolling'"),
        ("removed", "partial velocity w_NB_u2"),
        ("added", "partial velocity w_NB_u1"),
        ("removed", "equation of u2: u2', inertia of B"),
        ("removed", "equation of u2: Torque on B, load of Torque on B"),
        ("added", "equation of u1: u1', inertia of B through u2"),
        ("added", "equation of u1: Torque on B, load of Torque on B through u2"),
    }
    assert "~ speed u2: independent -> dependent" in repr(found)
    assert "+ partial velocity w_NB_u1: (0, 0, -1/r)" in repr(found)
    assert found.counts == {"changed": 1, "added": 4, "removed": 3, "unchanged": found.unchanged}
    assert found.unchanged > 10


def test_a_payload_of_10_g_changes_only_the_coefficients_of_its_body(monkeypatch):
    before = kane.formulate(stanford.stanford_arm())
    mass, inertia = stanford.STANFORD_BODIES["F"]
    monkeypatch.setitem(stanford.STANFORD_BODIES, "F", (mass + 0.01, inertia))
    found = kane.compare(before, kane.formulate(stanford.stanford_arm()))
    assert {c.kind for c in found.changes} == {"changed"}
    named = [c.name for c in found.changes]
    assert all(name.startswith("equation of ") and name.endswith(" of F") for name in named)
    assert not any("gyroscopic" in name for name in named)  # the moments of inertia did not change
    assert "equation of u6: u2**2, centripetal of F" in named
    assert "equation of u2: gravity, gravity of F" in named
    assert found.unchanged > len(named)


SIGNS = 6 * 9


def arm(signs):
    """A 6R arm with nine numbers or terms per link, each with a sign; and the names of these entries."""
    m, last, names = kane.Model("arm"), "ground", []
    for k in range(6):
        s = signs[9 * k : 9 * k + 9]
        com, at = (0.1 * s[0], 0.2 * s[1], 0.3 * s[2]), (0.4 * s[3], 0.5 * s[4], 0.6 * s[5])
        link = m.body(f"link{k}", mass=1.0 + k, inertia=(1.0, 1.0, 1.0), com=com)
        joint = m.connect(last, link, kane.Revolute(f"q{k}", axis="zyx"[k % 3]), at=at)
        kp, kd = m.parameter(f"kp{k}", 3.0), m.parameter(f"kd{k}", 0.5)
        cosine = s[8] * 2.5 * kane.cos(joint.q)
        m.load(kane.Motor(joint, s[6] * (kp * joint.q) + s[7] * (kd * joint.qdot) + cosine))
        names += [f"body 'link{k}' com {x}" for x in "xyz"] + [f"joint 'q{k}' at {x}" for x in "xyz"]
        names += [f"load 'Motor on q{k}' effort"] * 3
        last = link
    return m, names


def test_a_planted_sign_error_is_the_only_line_in_100_of_100_trials(tmp_path):
    right, names = arm([1.0] * SIGNS)
    kane.save_model(right, tmp_path / "right.json")
    rng = random.Random(0)
    for _ in range(100):
        place = rng.randrange(SIGNS)
        signs = [1.0] * SIGNS
        signs[place] = -1.0
        wrong, _ = arm(signs)
        kane.save_model(wrong, tmp_path / "wrong.json")
        (change,) = kane.compare(tmp_path / "right.json", tmp_path / "wrong.json").changes
        assert (change.kind, change.name) == ("changed", names[place])
        if place % 9 >= 6:  # of the terms of a sum, only the wrong one is shown
            assert "(and 2 unchanged terms)" in change.after
            assert change.after.count("q") == change.before.count("q") == 1


def test_the_order_of_factors_is_no_difference():
    def spring(effort):
        m = kane.Model("m")
        k, c = m.parameter("k", 1.0), m.parameter("c", 2.0)
        j = m.connect("ground", m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1"))
        m.load(kane.Motor(j, effort(j.q, k, c)))
        return m

    assert kane.compare(spring(lambda q, k, c: k * (c * q)), spring(lambda q, k, c: (k * q) * c)).same
    assert not kane.compare(spring(lambda q, k, c: k * (c * q)), spring(lambda q, k, c: k * (k * q))).same


def test_a_long_expression_that_differs_deep_inside_differs():
    def nested(coefficient):
        m = kane.Model("m")
        j = m.connect("ground", m.body("b", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1"))
        x = j.q
        for k in range(60):
            x = 1.1 * x + 0.25 * kane.sin(x + (coefficient if k == 0 else 0.25))
        m.load(kane.Motor(j, x))
        return m

    (change,) = kane.compare(nested(0.1), nested(0.1001)).changes
    assert change.after == f"{change.before}, which differs below the ellipsis"
    assert kane.compare(nested(0.1), nested(0.1)).same


def ball():
    m = kane.Model("ball")
    b = m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect("ground", b, kane.Prismatic("z", axis="z"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    m.contact(kane.Sphere(b.point(), 0.5), floor, name="floor")
    return m


def test_modes_of_one_model_differ_by_the_rows_of_their_contacts():
    found = kane.compare(ball(), ball(), modes=("free", "floor held"))
    assert {c.name for c in found.changes} == {
        "constraint row 'floor: normal'",
        "equation of z_dot: floor: normal, constraint of floor: normal",
    }
    assert {c.kind for c in found.changes} == {"added"}
    assert kane.compare(ball(), ball(), modes=("floor held", "floor held")).same


def slide(declare=lambda m, j: None):
    m = kane.Model("slide")
    j = m.connect("ground", m.body("b", mass=1.0), kane.Prismatic("x", axis="x"))
    declare(m, j)
    return m


def test_intermittent_constraints_of_equations_are_compared(tmp_path):
    def with_stop(upper, restitution):
        return kane.formulate(slide(lambda m, j: m.stop(j, upper=upper, restitution=restitution, name="end")))

    found, who = kane.compare(kane.formulate(slide()), with_stop(2.0, 0.3)), "intermittent constraint 'end: upper'"
    assert {c.kind for c in found.changes} == {"added"}
    added = {c.name: c.after for c in found.changes}
    assert added[f"{who} gap"] == "2 - x"
    assert added[f"{who} restitution coefficient"] == "0.3"
    assert added[f"{who} row 'normal'"] == "-x_dot"
    assert not any(" Candidate" in line or " Row" in line for line in repr(found).splitlines())
    changed = kane.compare(with_stop(2.0, 0.3), with_stop(2.5, 0.4)).changes
    assert {c.name for c in changed} == {
        f"{who} gap", f"{who} normal configuration", f"{who} restitution coefficient"
    }  # fmt: skip
    kane.save_equations(with_stop(2.0, 0.3), tmp_path / "stop.json")
    assert kane.compare(with_stop(2.0, 0.3), tmp_path / "stop.json").same
    stuck = kane.formulate(slide(lambda m, j: m.stick(j, static=m.parameter("F", 2.0), kinetic=1.0)))
    friction = kane.compare(kane.formulate(slide()), stuck).changes
    assert ("added", "intermittent constraint 'friction of x' friction static", "", "F") in friction
    smooth = kane.compare(stuck, kane.substitute(stuck, F=3.0)).changes
    assert ("changed", "intermittent constraint 'friction of x' friction static", "F", "3") in smooth


def test_definitions_of_speeds_have_their_names():
    found = kane.compare(slide(), slide(lambda m, j: m.speeds(v=2.0 * j.qdot)))
    assert [(c.kind, c.name, c.after) for c in found.changes] == [("added", "speeds definitions 'v'", "2*x'")]


def test_equations_and_files_of_equations_are_compared(tmp_path):
    equations = kane.formulate(kane.library.wrist())
    kane.save_equations(equations, tmp_path / "wrist.json")
    assert kane.compare(equations, tmp_path / "wrist.json").same
    changed = kane.compare(kane.substitute(equations, M=2.0), kane.library.wrist())
    assert all("M" in c.after or "M" in c.before or "..." in c.after for c in changed.changes)
    assert changed.changes


def test_the_command_has_the_exit_status_of_diff(tmp_path):
    for name, model in (("a", kane.library.sliding_disk()), ("b", kane.library.rolling_disk())):
        kane.save_model(model, tmp_path / f"{name}.json")
    run = CliRunner().invoke
    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    assert run(app, ["diff", a, a]).exit_code == 0
    different = run(app, ["diff", a, b])
    assert different.exit_code == 1
    assert "+ constraint 'rolling'" in different.output
    assert run(app, ["diff", a, str(tmp_path / "none.json")]).exit_code == 2


def test_wrong_arguments_are_refused(tmp_path):
    m = kane.library.wrist()
    with pytest.raises(kane.ModelError, match="compare takes models, equations or paths of saved files, not 3"):
        kane.compare(m, 3)
    with pytest.raises(kane.ModelError, match=r"'flor held' is no mode of 'ball'; modes are 'free' and lists of"):
        kane.compare(ball(), ball(), modes=("free", "flor held"))
    with pytest.raises(kane.ModelError, match="give two names of modes"):
        kane.compare(ball(), ball(), modes="free")
    (tmp_path / "other.json").write_text("[1, 2]", "utf-8")
    with pytest.raises(kane.ImportFileError, match="holds neither a model nor equations"):
        kane.compare(m, tmp_path / "other.json")
    (tmp_path / "broken.json").write_text("{", "utf-8")
    with pytest.raises(kane.ImportFileError, match="cannot be read as a model or equations"):
        kane.compare(m, tmp_path / "broken.json")
