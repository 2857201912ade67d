"""The README and the pages are true: every block of Python and every command they show runs as printed.

Blocks of one page run one after the other, in one folder and with one set of names, as a reader would try them.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kane.cli.main import app

# Commands with a test of their own, or that do not end here: the suite runs in `make test`, benchmarks take minutes.
ELSEWHERE = ("kane bench",)
# Commands that go on by the clock, for a minute or as long as a scene takes: what they do then, they do in a second.
BY_THE_CLOCK = "kane haptic"


def blocks(text):
    """Blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


def commands(text):
    """Lines of indented blocks that call kane; a prompt before them and a comment behind them are left out."""
    found = re.findall(r"^    (?:\$ )?(kane .*?)(?:\s+#.*)?$", text, re.M)
    return [line for line in found if not line.startswith(ELSEWHERE)]


ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "ARCHITECTURE")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
WITH_BLOCKS = [page for page in PAGES if blocks(page.read_text("utf-8"))]


def test_the_readme_shows_blocks_and_commands():
    assert PAGES[0] in WITH_BLOCKS
    text = PAGES[0].read_text("utf-8")
    assert len(blocks(text)) >= 2
    assert len(commands(text)) >= 5


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=[page.stem for page in WITH_BLOCKS])
def test_every_block_of_python_runs(page, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT / "src")}
    script = "\n".join(blocks(page.read_text("utf-8")))
    command = [sys.executable, "-"]
    done = subprocess.run(
        command, input=script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_every_command_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    for page in PAGES:
        for line in commands(page.read_text("utf-8")):
            shorter = ["--seconds", "1"] if line.startswith(BY_THE_CLOCK) else []
            done = CliRunner().invoke(app, [*shlex.split(line)[1:], *shorter])
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
