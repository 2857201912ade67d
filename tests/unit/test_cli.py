"""The command line: what it prints and writes, and how it says no."""

import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from typing import get_type_hints

import numpy as np
import pytest
from typer.testing import CliRunner

import kane
from kane.analysis.certificate.certificate import Finding
from kane.cli.check import exit_status
from kane.cli.main import CLI_COMMANDS, app
from kane.cli.run import file_name

PENDULUM = """<robot name="pendulum">
  <link name="stand"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.2" iyy="0.2" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="stand"/><child link="rod"/>
    <origin rpy="0.5 0 0"/><axis xyz="1 0 0"/></joint>
</robot>
"""


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.urdf"
    path.write_text(PENDULUM)
    return str(path)


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_help_names_every_command():
    done = call("--help")
    assert done.exit_code == 0
    assert all(word in done.stdout for word in ("run", "count", "check", "bench", "--version"))


@pytest.mark.parametrize("name", CLI_COMMANDS)
def test_help_has_every_word_that_was_written(name):
    function = getattr(import_module(f"kane.cli.{name}"), f"{name}_command")
    hints = get_type_hints(function, include_extras=True)
    texts = [x.help for hint in hints.values() for x in getattr(hint, "__metadata__", ())]
    done = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "400"})  # texts in columns are not broken
    shown = re.sub("[\\s│╭╮╰╯─]", "", done.stdout)
    for text in (function.__doc__, *filter(None, texts)):
        assert re.sub(r"\s", "", text) in shown


def test_brackets_in_the_names_of_models_and_folders_are_printed(tmp_path):
    path = tmp_path / "arm.py"
    path.write_text(
        "import kane\nmodel = kane.Model('arm [red]')\n"
        "model.connect('ground', model.body('A', mass=1.0, inertia=(1, 1, 1)), kane.Revolute('q1'))\n"
    )
    assert "arm [red]: 1 speeds" in call("count", path).stdout
    done = call("run", path, "--until", 0.1, "--out", tmp_path / "[bold]")
    assert "[bold]" in re.sub(r"\s", "", done.stdout)


def test_without_arguments_there_is_help():
    assert "Usage" in call().output


def test_the_version_is_printed():
    done = call("--version")
    assert (done.exit_code, done.stdout) == (0, f"kane {kane.__version__}\n")


def test_count_prints_a_row_for_every_program(pendulum):
    done = call("count", pendulum)
    assert done.exit_code == 0, done.output
    assert all(word in done.stdout for word in ("inverse", "forward", "mass matrix", "bias", "kinematics", "trig"))


def test_counts_as_json_are_those_of_the_equations(pendulum):
    done = call("count", pendulum, "--json")
    assert json.loads(done.stdout) == {
        "model": "pendulum",
        "speeds": 1,
        "operations": kane.formulate(kane.load_urdf(pendulum)).count(),
    }


def test_a_free_base_adds_six_speeds(pendulum):
    assert json.loads(call("count", pendulum, "--base", "free", "--json").stdout)["speeds"] == 7


def test_a_reference_model_takes_whole_numbers_after_colons():
    assert json.loads(call("count", "chain:3", "--json").stdout)["speeds"] == 3


def test_check_prints_the_certificate_and_is_content(pendulum):
    done = call("check", pendulum, "--states", 2, "--seed", 5)
    assert done.exit_code == 0, done.output
    assert all(word in done.stdout for word in ("pendulum: 2 states, seed 5", "Lagrange", "holds", "n/a"))
    assert "FAILS" not in done.stdout


def test_a_certificate_as_json_is_that_of_the_model(pendulum):
    done = call("check", pendulum, "--json", "--seed", 2)
    record = json.loads(done.stdout)
    expected = kane.certify(kane.load_urdf(pendulum), seed=2)
    assert {k: record[k] for k in ("model", "states", "seed", "holds")} == {
        "model": "pendulum", "states": 4, "seed": 2, "holds": True
    }  # fmt: skip
    assert [(c["claim"], c["digits"], c["remark"]) for c in record["claims"]] == [tuple(f) for f in expected]


def test_a_certificate_that_fails_is_exit_status_1(tmp_path):
    """A needle that turns about itself has a mass matrix of zero."""
    path = tmp_path / "needle.urdf"
    path.write_text(re.sub(r'(i\w\w)="0[.0-9]*"', r'\1="0"', PENDULUM).replace('xyz="0 0 -0.5"', 'xyz="0.5 0 0"'))
    done = call("check", path)
    assert done.exit_code == 1
    assert "FAILS" in done.stdout
    assert "singular" in done.stdout
    record = json.loads(call("check", path, "--json").stdout)
    assert record["holds"] is False
    assert {"FAILS", "holds", "n/a"} == {claim["verdict"] for claim in record["claims"]}


def test_one_claim_that_fails_is_enough():
    right, idle, wrong = Finding("a", 12.0), Finding("b", None, "why"), Finding("c", 7.9)
    assert exit_status(kane.Certificate([right, idle])) == 0
    assert exit_status(kane.Certificate([right, wrong, idle])) == 1


def test_run_writes_a_trajectory_and_a_picture(pendulum, tmp_path):
    done = call("run", pendulum, "--until", 0.5, "--dt", 0.01, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "s for 0.5 s" in done.stdout
    assert "energy" in done.stdout
    told = re.sub(r"[│\s]", "", done.stdout)  # without the frame and the lines of the table
    assert all(str(tmp_path / "out" / f"pendulum.{kind}") in told for kind in ("nc", "png"))
    assert (tmp_path / "out" / "pendulum.png").read_bytes()[:4] == b"\x89PNG"
    run = kane.Trajectory.load(tmp_path / "out" / "pendulum.nc")
    assert run.time[-1] == 0.5


def test_a_model_that_is_beyond_its_stop_in_neutral_position_is_run_from_the_stop(tmp_path):
    model = kane.Model("hoist", gravity=(0, 0, -9.81))
    load = model.body("load", mass=2.0)
    model.stop(model.connect(model.ground, load, kane.Prismatic("z", axis="z")), lower=-8.0, upper=-1.0)
    kane.save_model(model, tmp_path / "hoist.json")
    done = call("run", tmp_path / "hoist.json", "--until", "0.5", "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    run = kane.Trajectory.load(tmp_path / "hoist.nc")
    assert run["z"][[0, -1]] == pytest.approx([-1.0, -1.0 - 9.81 / 8], abs=1e-9)


def test_what_happens_to_stops_in_a_run_is_listed(tmp_path):
    model = kane.Model("hoist", gravity=(0, 0, -9.81))
    load = model.body("load", mass=2.0)
    model.stop(model.connect(model.ground, load, kane.Prismatic("z", axis="z")), lower=-1.0, name="rope")
    kane.save_model(model, tmp_path / "hoist.json")
    found = [call("run", tmp_path / "hoist.json", "--until", until, "--out", tmp_path).stdout for until in (0.4, 0.5)]
    assert "rope" not in found[0]
    # sqrt(2 m / g), and the weight's m g h
    assert re.search(r"0\.451524 +rope: lower +imposed +8\.859 +19\.62", found[1]), found[1]


def test_a_model_with_closed_loops_is_counted_and_run(tmp_path):
    counted = call("count", "four_bar")
    assert counted.exit_code == 0, counted.output
    assert "before constraints" in counted.output
    out = tmp_path / "out"
    result = call("run", "four_bar", "--until", "0.1", "--out", out)
    assert result.exit_code == 0, result.output
    run = kane.Trajectory.load(out / "four_bar.nc")
    assert run.residuals.configuration_residual.max() < 1e-13  # rounding in metres


REFERENCE_MODELS = sorted(
    name for name in kane.library.__all__ if get_type_hints(getattr(kane.library, name)).get("return") is kane.Model
)


# An open chain, a closed loop, a tree with a seed, a wheel, a stiff model, and one that is singular in its neutral
# position. Other quick tests certify all models and simulate them on their pages.
QUICK_MODELS = {"four_bar", "stiff_flyball_governor", "wrist"}


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK_MODELS else pytest.param(name, marks=pytest.mark.slow) for name in REFERENCE_MODELS],
)
def test_every_reference_model_is_counted_and_run_by_its_name_alone(name, tmp_path):
    """Those included that are singular in their neutral position (wrist) or stiff (stiff_flyball_governor)."""
    counted = call("count", name)
    assert counted.exit_code == 0, counted.output
    ran = call("run", name, "--until", 0.05, "--out", tmp_path)
    assert ran.exit_code == 0, ran.output
    assert len(list(tmp_path.glob("*.nc"))) == 1


def test_a_robot_of_example_robot_data_is_run_by_its_name(tmp_path):
    for name in ("ur5", "ur5.urdf"):
        assert json.loads(call("count", name, "--json").stdout)["speeds"] == 6
    done = call("run", "panda", "--until", 0.1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "panda.urdf of the package example-robot-data" in done.stderr


def test_a_name_that_several_robots_have_is_refused_with_their_files():
    with pytest.raises(kane.ImportFileError, match=r"several files.*anymal_c_simple_description/urdf/anymal\.urdf"):
        kane.example_robot("anymal")
    found = kane.example_robot("anymal_c_simple_description/urdf/anymal")
    assert found.parts[-3:] == ("anymal_c_simple_description", "urdf", "anymal.urdf")


def test_a_robot_that_is_unknown_is_refused_with_names_like_it():
    with pytest.raises(kane.ImportFileError, match="has no robot 'pandas'; did you mean panda"):
        kane.example_robot("pandas")
    with pytest.raises(kane.ImportFileError, match="no name of a robot"):
        kane.example_robot(5)


def test_without_example_robot_data_its_robots_are_refused_with_the_command_that_brings_them(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    with pytest.raises(kane.ImportFileError, match=r"not installed: pip install 'example-robot-data>="):
        kane.example_robot("ur5")
    done = call("count", "ur5")
    assert done.exit_code == 1
    assert "neither a file nor a reference model" in done.output


def test_damping_acts_in_every_joint(pendulum, tmp_path):
    rates = []
    for damping in (0, 5):
        call("run", pendulum, "--until", 0.5, "--damping", damping, "--out", tmp_path)
        rates.append(np.abs(kane.Trajectory.load(tmp_path / "pendulum.nc").u).max())
    assert rates[1] < 0.8 * rates[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count", "no_such_model"], ["no_such_model", "chain"]),
        (["count", "no_such_file.urdf"], ["no_such_file.urdf"]),
        (["count", "__builtins__"], ["__builtins__", "neither"]),
        (["count", "chain.__globals__"], ["neither"]),
        (["count", "chain:2:3"], ["chain:N"]),
        (["count", "chain:three"], ["chain:", "whole numbers"]),
        (["run", "chain:2", "--dt", "-1"], ["-1"]),
    ],
)
def test_an_error_is_a_message_and_exit_status_1_without_a_traceback(arguments, words):
    done = call(*arguments)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert all(word in done.stderr for word in words)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["run", "count", "haptic"])
def test_a_saved_run_in_place_of_a_model_is_named_with_what_reads_it(command, tmp_path):
    (tmp_path / "run.nc").write_bytes(b"\x89HDF")
    done = call(command, tmp_path / "run.nc")
    assert done.exit_code == 1
    assert all(words in done.stderr for words in ("is a saved run", "kane view", "kane.Trajectory.load"))


def test_a_folder_that_cannot_be_made_is_an_error(pendulum, tmp_path):
    (tmp_path / "taken").write_text("")
    done = call("run", pendulum, "--until", 0.01, "--out", tmp_path / "taken" / "out")
    assert done.exit_code == 1
    assert "taken" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["count"],
        ["fly"],
        ["count", "chain:2", "--colour"],
        ["run", "chain:2", "--until", "x"],
        ["check", "chain:2", "--states", "0"],
    ],
)
def test_wrong_usage_is_exit_status_2(arguments):
    assert call(*arguments).exit_code == 2


def test_the_benchmarks_are_looked_for_in_a_source_checkout(monkeypatch, tmp_path):
    monkeypatch.setattr(kane, "__file__", str(tmp_path / "lib" / "kane" / "__init__.py"))
    done = call("bench")
    assert done.exit_code == 1
    assert "source checkout" in done.stderr


def test_the_name_of_a_model_cannot_leave_the_folder():
    assert file_name("../../etc/passwd") == "______etc_passwd"
    assert file_name("") == "model"


@pytest.mark.parametrize("module", ["kane", "kane.cli.main"])
def test_the_program_runs_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("kane ")


def test_a_saved_model_is_a_model_for_every_command(tmp_path):
    kane.save_model(kane.library.stanford_arm(), tmp_path / "arm.json")
    saved, named = (CliRunner().invoke(app, ["count", what]) for what in (str(tmp_path / "arm.json"), "stanford_arm"))
    assert saved.exit_code == 0
    assert saved.output == named.output
    refused = CliRunner().invoke(app, ["count", str(tmp_path / "arm.json"), "--base", "free"])
    assert refused.exit_code == 1


def test_view_writes_a_page_of_a_model_or_of_a_run(pendulum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("view", pendulum, "--save", "live.html")
    assert done.exit_code == 0, done.output
    assert '"mode": "live"' in (tmp_path / "live.html").read_text("utf-8")
    assert call("run", pendulum, "--until", "0.1").exit_code == 0
    done = call("view", "out/pendulum.nc", "--save", "run.html")
    assert done.exit_code == 0, done.output
    assert '"mode": "run"' in (tmp_path / "run.html").read_text("utf-8")


def test_view_serves_until_it_is_interrupted(pendulum, monkeypatch):
    opened = []
    monkeypatch.setattr("kane.cli.view.webbrowser.open", lambda url: opened.append(url) and False)
    monkeypatch.setattr("kane.cli.view.time.sleep", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    done = call("view", pendulum)
    assert done.exit_code == 0, done.output
    assert opened[0].startswith("http://127.0.0.1:")
    assert opened[0] in done.output
    assert "no browser was found" in done.output


@pytest.mark.parametrize(
    "arguments", [("nowhere",), ("nowhere.nc",), ("four_bar", "--port", "70000"), ("four_bar", "--save", "no/x.html")]
)
def test_view_says_no(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("view", *arguments)
    assert done.exit_code in (1, 2)
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []
