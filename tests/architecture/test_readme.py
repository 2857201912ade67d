"""The README and the pages are true: every block of Python and every command they show runs as printed.

Blocks of one page run one after the other, in one folder and with one set of names, as a reader would try them. Where a
page shows the output of a block directly below it, the block prints this output (docs/site/outputs.py writes it).
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docs.site.outputs import blocks_of
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


def script_of(page):
    """All blocks of Python of a page."""
    return "\n".join(blocks(page.read_text("utf-8")))


@pytest.mark.parametrize("page", WITH_BLOCKS[1:], ids=[page.stem for page in WITH_BLOCKS[1:]])
def test_every_block_of_python_runs(page, tmp_path):
    code, output = run_apart(f"from docs.site.outputs import check_page\ncheck_page({str(page)!r})", tmp_path)
    assert code == 0, output


def test_another_output_than_that_of_the_page_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert [block.expected for block in blocks_of(page.read_text())] == ["3\n"]
    code, output = run_apart(f"from docs.site.outputs import check_page\ncheck_page({str(page)!r})", tmp_path)
    assert code == 1
    assert "-3\n+2" in output


def test_every_block_of_python_of_the_readme_runs_in_a_new_interpreter(tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT / "src")}
    command, script = [sys.executable, "-"], script_of(WITH_BLOCKS[0])
    done = subprocess.run(
        command, input=script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def run_apart(script, folder):
    """Run a script in a child of this process; return its exit code and its output.

    The child has all modules already: a new interpreter takes a second to import them.
    """
    with tempfile.TemporaryFile() as written:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about forks beside threads, which are idle
            child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(300)
                os.dup2(written.fileno(), 1)
                os.dup2(written.fileno(), 2)
                sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
                os.chdir(folder)
                exec(compile(script, "<blocks of a page>", "exec"), {"__name__": "__main__"})
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)  # in any case, so that no code of the parent runs in the child
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        written.seek(0)
        return code, written.read().decode()


@pytest.mark.parametrize(("script", "code", "word"), [("print('seen')", 0, "seen"), ("1 / 0", 1, "ZeroDivisionError")])
def test_a_script_that_fails_in_a_child_is_told_with_its_output(script, code, word, tmp_path):
    found, output = run_apart(script, tmp_path)
    assert found == code
    assert word in output


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
