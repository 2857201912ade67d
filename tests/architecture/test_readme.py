"""The README and the pages are true: every block of Python and every command they show runs as printed.

Blocks of one page run one after the other, in one folder and with one set of names, as a reader would try them.
"""

import os
import re
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from kane.cli.main import app

# Commands with a test of their own, or that do not end here: the suite runs in `make test`, benchmarks take minutes.
ELSEWHERE = ("kane bench",)


def blocks(text):
    """Blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


def commands(text):
    """Lines of indented blocks that call kane; a prompt before them and a comment behind them are left out."""
    found = re.findall(r"^    (?:\$ )?(kane .*?)(?:\s+#.*)?$", text, re.M)
    return [line for line in found if not line.startswith(ELSEWHERE)]


def pages(root):
    return [
        root / "README.md",
        root / "CONTRIBUTING.md",
        root / "ARCHITECTURE.md",
        *sorted((root / "docs").rglob("*.md")),
    ]


def test_the_readme_shows_blocks_and_commands(root):
    text = (root / "README.md").read_text("utf-8")
    assert len(blocks(text)) >= 2
    assert len(commands(text)) >= 5


def test_every_block_of_python_runs(root, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(root / "src")}
    for page in pages(root):
        script = "\n".join(blocks(page.read_text("utf-8")))
        done = subprocess.run(
            [sys.executable, "-"],
            input=script,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{page.name}:\n{done.stderr}"


def test_every_command_runs(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for page in pages(root):
        for line in commands(page.read_text("utf-8")):
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, f"{page.name}: {line}\n{done.output}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("    $ kane count stanford_arm\n", ["kane count stanford_arm"]),
        ("    kane --help   # what there is\n", ["kane --help"]),
        ("text about `kane run`\n    kane bench\n", []),
    ],
)
def test_commands_are_found_where_a_reader_sees_them(text, found):
    assert commands(text) == found
