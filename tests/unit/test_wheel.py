"""Wheels: their tags, their contents and their requirements, from the build hook of the repository."""

import shutil
import subprocess
import zipfile

import pytest
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

CODE = "kane/engine/compiled/some-processor/step.explicit"


@pytest.fixture
def project(root, tmp_path, monkeypatch):
    """A project with the repository's configuration, one source, and code that was compiled in its folder."""
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(root / name, tmp_path / name)
    for name in ("kane/__init__.py", "kane/py.typed"):
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / "src" / name, tmp_path / "src" / name)
    (tmp_path / "src" / CODE).parent.mkdir(parents=True)
    (tmp_path / "src" / CODE).write_bytes(b"machine code")
    monkeypatch.delenv("KANE_NATIVE", raising=False)
    return tmp_path


def built(project):
    """File name of the wheel, the names in it, and its metadata."""
    metadata = ProjectMetadata(str(project), PluginManager())
    (path,) = WheelBuilder(str(project), metadata=metadata).build(directory=str(project), versions=["standard"])
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        (about,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    return path.rpartition("/")[2], names, about


def test_a_wheel_without_native_code_is_for_any_platform_and_asks_for_the_compiler(project):
    name, names, about = built(project)
    assert name.endswith("-py3-none-any.whl")
    assert [x for x in names if "compiled" in x] == []
    assert "\nRequires-Dist: numba<0.69,>=0.68\n" in about


def test_a_wheel_with_machine_code_is_for_one_platform_and_needs_no_compiler(project, monkeypatch):
    monkeypatch.setenv("KANE_NATIVE", "all")
    commands = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command))
    name, names, about = built(project)
    assert "kane.engine.compile" in commands[0]
    assert CODE in names
    assert "-py3-none-" in name
    assert not name.endswith("-any.whl")
    assert "\nRequires-Dist: numba<0.69,>=0.68\n" not in about


@pytest.mark.parametrize(
    ("system", "machine", "tag"),
    [
        ("linux", "x86_64", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
        ("linux", "aarch64", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
        ("darwin", "arm64", "macosx_11_0_arm64"),
        ("win32", "AMD64", "win_amd64"),
    ],
)
def test_tags_of_platforms_are_those_of_packaging(project, monkeypatch, system, machine, tag):
    monkeypatch.syspath_prepend(str(project))
    import hatch_build

    assert hatch_build.platform_tag(system, machine) == tag
