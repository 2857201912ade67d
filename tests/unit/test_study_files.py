"""``kane sweep``: studies in TOML, with the line of each fault; the same study in Python vouches for its results."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from oracles.studies import pendulum
from scipy import stats
from typer.testing import CliRunner

import kane
from kane.cli.main import app
from kane.cli.study_file import read_study
from kane.sweeps.study import Study

MODEL = """
import kane

def model():
    m = kane.Model("swept pendulum", gravity=(0.0, 0.0, -9.81))
    bob = m.body("bob", mass=m.parameter("mass", 2.0), inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, -1.0))
    joint = m.connect(m.ground, bob, kane.Revolute("q1", axis="y"))
    m.load(kane.Motor(joint, m.input("tau")))
    return m
"""
STUDY = """model = "pendulum.py"
until = 0.5
runs = 300
seed = 3
method = "sobol"
rtol = 1e-8

[values]
tau = 0.2

[sample]
mass = { normal = [2.0, 0.1] }
q1 = { uniform = [-1.0, 1.0] }

[outputs]
angle = "q1"
height = "-mass * cos(q1)"

[events.upright]
expression = "q1 - 0.1"
direction = -1

[precision]
angle = 1e-6
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder with a model and a study."""
    (tmp_path / "pendulum.py").write_text(MODEL, "utf-8")
    (tmp_path / "study.toml").write_text(STUDY, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_a_study_in_a_file_equals_the_study_in_python(folder):
    done = call("study.toml", "--store", "a.zarr")
    assert done.exit_code == 0, done.output
    found, dyn = kane.Sweep.open("a.zarr"), pendulum()
    q1, (mass,) = dyn.equations.q[0], dyn.equations.parameters
    expected = kane.sweep(
        dyn,
        until=0.5,
        inputs={"tau": 0.2},
        runs=kane.sample(300, mass=stats.norm(2.0, 0.1), q1=(-1.0, 1.0), method="sobol"),
        seed=3,
        outputs={"angle": q1, "height": -mass * kane.cos(q1)},
        events=kane.Event(q1 - 0.1, -1, name="upright"),
        integrator=kane.RK8(rtol=1e-8),
    )
    assert str(found) == str(expected) == done.stdout.strip()
    assert np.array_equal(found["upright"], expected["upright"], equal_nan=True)
    again = call("study.toml", "--store", "a.zarr")
    assert again.stdout == done.stdout
    told = call("study.toml", "--store", "a.zarr", "--status").stdout
    assert told.strip().endswith("300 of 300 runs computed (100.0%)")
    assert call("a.zarr", "--status").stdout == told


def test_outputs_may_be_positions_of_points(folder):
    (folder / "reach.toml").write_text(
        STUDY.replace('"-mass * cos(q1)"', '"bob.point((0, 0, -1)).position.dot(ground.z)"'), "utf-8"
    )
    assert call("reach.toml", "--store", "r.zarr").exit_code == 0
    found = kane.Sweep.open("r.zarr")
    np.testing.assert_allclose(found["height"], -np.cos(found["angle"]), rtol=1e-14)
    (folder / "reach.toml").write_text(STUDY.replace('"-mass * cos(q1)"', '"bob.z"'), "utf-8")
    done = call("reach.toml", "--store", "s.zarr")
    assert "line 17: the formula of 'height' is a scalar, not bob.z" in done.output


def test_a_killed_command_is_resumed_by_repeating_it(folder):
    (folder / "long.toml").write_text(
        STUDY.replace("runs = 300", "runs = 30000\nchunk = 100").split("[events")[0], "utf-8"
    )
    command = [sys.executable, "-m", "kane", "sweep", "long.toml", "--store", "b.zarr"]
    log = folder / "b.zarr" / "pieces.jsonl"
    process = subprocess.Popen(command)
    while not log.exists() or log.read_bytes().count(b"\n") < 5:
        assert process.poll() is None
        time.sleep(0.005)
    assert "another process computes more" in call("b.zarr", "--status").stdout
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert kane.Sweep.open("b.zarr").computed < 30000
    assert "another process" not in call("b.zarr", "--status").stdout
    done = call("long.toml", "--store", "b.zarr")
    assert done.exit_code == 0
    assert kane.Sweep.open("b.zarr").finished


def test_ctrl_c_is_exit_status_1_and_keeps_the_finished_chunks(folder, monkeypatch):
    compute = Study.compute

    def stopped(self, first, *rest):
        if first >= 256:
            raise KeyboardInterrupt
        return compute(self, first, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Study, "compute", stopped)
        with pytest.warns(UserWarning, match="interrupted after 256 of 300 runs"):
            done = call("study.toml", "--store", "e.zarr")
    assert done.exit_code == 1
    assert "256 of 300 runs computed (85.3%)" in done.stdout
    assert call("study.toml", "--store", "e.zarr").exit_code == 0


def test_failed_runs_are_printed_with_their_reason(folder):
    (folder / "grid.toml").write_text(
        'model = "pendulum.py"\nuntil = 0.1\n[grid]\nmass = { from = -6, to = 1, count = 8 }', "utf-8"
    )
    done = call("grid.toml", "--store", "c.zarr")
    assert done.exit_code == 0, done.output
    assert "run 0 failed: the mass of body 'bob' is -6" in done.stdout
    assert "1 more failed" in done.stdout


REPLACED = {
    "no TOML": ("until = 0.5", "until = ", r"line 2: this is not TOML: Invalid value"),
    "open text": ('"sobol"', '"sobol', "line 5: this is not TOML"),
    "key": ("until =", "untill =", "line 2: there is no key 'untill'; did you mean until"),
    "table": ("[values]", "[value]", "line 8: there is no key 'value'; did you mean values"),
    "type": ("until = 0.5", 'until = "0.5"', "line 2: until is '0.5'; give a number of seconds"),
    "truth": ("seed = 3", "seed = true", "line 4: seed is True; give a whole number"),
    "no until": ("until = 0.5\n", "", "has no until; give a number of seconds"),
    "no runs": ("runs = 300\n", "", "has no runs; .sample. needs a whole number"),
    "no seed": ("seed = 3\n", "", "has no seed"),
    "model": ("pendulum.py", "pendulums.py", "line 1: .*pendulums.py"),
    "base": ("seed = 3", 'seed = 3\nbase = "fre"', "line 5: there is no base 'fre'; did you mean free"),
    "method": ('"sobol"', '"sobl"', "line 5: the method 'sobl' of a sample is unknown"),
    "no table": ("[sample]", "[outputs]", "this is not TOML: .outputs. occurs twice"),
    "value": ("tau = 0.2", 'tau = "0.2"', "line 9: tau is '0.2'; give a finite number"),
    "name of a value": ("tau = 0.2", "tou = 0.2", "line 9: there is no coordinate, .* 'tou'; did you mean tau"),
    "name of a sample": ("mass = {", "mas = {", "line 12: there is no coordinate, .* 'mas'; did you mean mass"),
    "distribution": ("normal = [", "normel = [", "line 12: there is no distribution 'normel'; did you mean normal"),
    "two distributions": ("[2.0, 0.1] }", "[2.0, 0.1], uniform = [0, 1] }", "line 12: 'mass' has 2 distributions"),
    "deviation": ("[2.0, 0.1]", "[2.0, -0.1]", r"line 12: normal of 'mass' is \[2.0, -0.1\]; give \[mean, deviation\]"),
    "interval": ("[-1.0, 1.0]", "[1.0, -1.0]", "line 13: the interval of 'q1'"),
    "no distribution": (
        "{ uniform = [-1.0, 1.0] }",
        "[-1.0, 1.0]",
        "line 13: the distribution of 'q1' is a table such",
    ),
    "formula": ("cos(q1)", "cos(q2)", "line 17: the formula .* character 12: there is no 'q2'; did you mean|known are"),
    "number": ('"q1"', '"3"', "line 16: the formula of 'angle' is the number 3; use a name"),
    "no formula": ('"q1"', "3", "line 16: the formula of 'angle' is 3; give a text"),
    "key of an event": ("direction", "directions", "line 21: there is no key 'directions'; did you mean direction"),
    "direction": ("direction = -1", "direction = 2", "line 19: the direction of an event is 2"),
    "no expression": ('expression = "q1 - 0.1"\n', "", "line 19: the event 'upright' has no expression"),
    "tolerance": ("rtol = 1e-8", "rtol = -1", "line 6: "),
    "precision": ("angle = 1e-6", "angel = 1e-6", "there is no output 'angel'; did you mean angle"),
}


def computed(path):
    """Compute the study of a file in memory."""
    dyn, given = read_study(path)
    return kane.sweep(dyn, **given)


@pytest.mark.parametrize("case", REPLACED)
def test_faults_are_named_with_their_line(folder, case):
    old, new, message = REPLACED[case]
    assert old in STUDY
    (folder / "bad.toml").write_text(STUDY.replace(old, new), "utf-8")
    with pytest.raises(kane.ModelError, match=message):
        computed("bad.toml")
    done = call("bad.toml", "--store", "d.zarr")
    assert done.exit_code == 1
    assert not (folder / "d.zarr").exists()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("q1 = 3", "line 4: the values of 'q1' is 3; give a list"),
        ("q1 = []", "line 3: the values of 'q1' are"),
        ("q1 = { from = 0, to = 1 }", "line 4: the values of 'q1' have no count"),
        ("q1 = { from = 0, to = 1, cont = 1 }", "line 4: there is no key 'cont'; did you mean count"),
        ("q1 = { from = 0, to = 1, count = 0 }", "line 4: count of 'q1' is 0"),
    ],
)
def test_faults_of_grids_are_named_with_their_line(folder, table, message):
    (folder / "bad.toml").write_text(f'model = "pendulum.py"\nuntil = 0.1\n[grid]\n{table}\n', "utf-8")
    with pytest.raises(kane.ImportFileError, match=message):
        read_study("bad.toml")


def test_a_store_is_needed_and_files_that_are_missing_are_named(folder):
    assert "kane sweep needs --store" in call("study.toml").output
    assert "nothing.toml" in call("nothing.toml", "--store", "a.zarr").output
    assert "there is no store of a sweep at 'nothing'" in call("nothing", "--status").output
    assert "study.toml is a study; --status needs its store" in call("study.toml", "--status").output
    assert "is not a store of kane.sweep (it has no zarr.json)" in call(".", "--status").output
    (folder / "both.toml").write_text(STUDY + "[grid]\nq1 = [1]\n", "utf-8")
    assert "needs one of the tables [grid] and [sample]" in call("both.toml", "--store", "a.zarr").output
    (folder / "grid.toml").write_text('model = "pendulum.py"\nuntil = 0.1\nseed = 3\n[grid]\nq1 = [1]', "utf-8")
    assert "line 3: seed is for [sample]" in call("grid.toml", "--store", "a.zarr").output
