"""kane export, and the files that MODEL may be."""

from __future__ import annotations

import json
import warnings

import pytest
from typer.testing import CliRunner

import kane
from kane.cli.main import app

MJCF = """<mujoco model="swing"><worldbody><body><joint name="q1" axis="0 1 0"/>
<inertial mass="1" pos="0 0 -1" diaginertia="1 1 1"/><geom size="0.1"/></body></worldbody></mujoco>"""
URDF = """<robot name="swing"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="q1" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
PYTHON = """
import kane

m = kane.Model("swing")
m.connect(m.ground, m.body("A", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("q1"))
"""


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.mark.parametrize(
    ("to", "files"),
    [
        ("c", {"chain_2.c", "chain_2.h", "main.c", "CMakeLists.txt"}),
        ("numpy", {"chain_2.py"}),
        ("jax", {"chain_2_jax.py"}),
        ("latex", {"chain_2.tex"}),
        ("listing", {"chain_2.txt"}),
    ],
)
def test_every_language_is_written_and_its_files_are_named(tmp_path, to, files):
    done = call("export", "chain:2", "--to", to, "--out", tmp_path / "new" / "folder")
    assert done.exit_code == 0, done.output
    written = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert len(written) == len(files)
    assert {name.rpartition(".")[2] for name in written} == {name.rpartition(".")[2] for name in files}
    assert all(name in done.stdout for name in written)


def test_the_quantities_asked_for_are_written(tmp_path):
    done = call("export", "chain:2", "--to", "listing", "--out", tmp_path, "--quantity", "bias", "--quantity", "energy")
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.iterdir()
    equations = kane.formulate(kane.library.chain(2))
    parts = f"bias\n----\n{equations.listing('bias')}\nenergy\n------\n{equations.listing('energy')}"
    assert path.read_text() == f"{kane.units(equations)!r}\n\n{parts}"


def test_an_unknown_quantity_is_an_error_without_a_traceback(tmp_path):
    done = call("export", "chain:2", "--to", "c", "--out", tmp_path, "--quantity", "froward")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "did you mean forward" in done.stderr


def test_an_unknown_language_is_wrong_usage():
    assert call("export", "chain:2", "--to", "cobol").exit_code == 2


def speeds(path, *options):
    done = call("count", path, "--json", *options)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    return found["model"], found["speeds"]


@pytest.mark.parametrize(("name", "text"), [("a.xml", MJCF), ("a.xml", URDF), ("a.mjcf", MJCF), ("robot", URDF)])
def test_what_a_file_holds_decides_how_it_is_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert speeds(path) == ("swing", 1)


def test_what_a_file_has_and_the_model_has_not_is_said_on_standard_error(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(MJCF)
    done = call("count", path, "--json")
    assert done.stderr.startswith("note: contacts are left out (geoms: 1)")
    keys = "".join(f'<key name="k{i}"/>' for i in range(30))
    path.write_text(MJCF.replace("<worldbody>", f"<keyframe>{keys}</keyframe><worldbody>"))
    assert done.stdout == call("count", path, "--json").stdout
    assert "note: and 11 more" in call("count", path).stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # notes are told one by one, and not once more as a warning
        assert call("count", path).exit_code == 0


@pytest.mark.parametrize("text", [PYTHON + "model = m\n", PYTHON + "def model():\n    return m\n"])
def test_a_python_file_defines_model(tmp_path, text):
    path = tmp_path / "swing.py"
    path.write_text(text)
    assert speeds(path) == ("swing", 1)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.py", "model = 3", "`model` is 3; define a kane.Model"),
        ("a.py", "", "a.py defines no `model`; assign a kane.Model"),
        ("a.py", "import kane\nmodel = kane.Model('m').body('b', mass=-1.0)", "mass"),
        ("a.xml", "<!DOCTYPE a>" + MJCF, "document type"),
        ("a.xml", MJCF.replace("<worldbody>", '<include file="/etc/hostname"/><worldbody>'), "<include>"),
    ],
)
def test_a_file_without_a_model_is_an_error_without_a_traceback(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    done = call("count", tmp_path / name)
    assert (done.exit_code, done.stdout) == (1, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_files_that_are_not_there_and_a_base_for_mjcf_are_errors(tmp_path):
    assert "there is no such file" in call("count", tmp_path / "no.py").stderr
    assert "no.xml" in call("count", tmp_path / "no.xml").stderr
    (tmp_path / "a.xml").write_text(MJCF)
    assert "say which bodies are free" in call("count", tmp_path / "a.xml", "--base", "free").stderr


def test_help_says_that_a_python_file_is_executed():
    assert "executed" in call("count", "--help").stdout


def test_contacts_are_left_out_where_that_is_asked_for(tmp_path):
    path = tmp_path / "swing.py"
    path.write_text(f"{PYTHON}m.stop(m.connections[0], lower=-1.0, name='end')\nmodel = m\n")
    done = call("export", path, "--to", "numpy", "--out", tmp_path / "out")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "cannot be exported: end; without_contacts=True (kane export --without-contacts)" in done.stderr
    done = call("export", path, "--to", "numpy", "--out", tmp_path / "out", "--without-contacts")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "swing.py").read_text().startswith("# Without contacts: ")
