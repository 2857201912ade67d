"""Progress of long work: shown where a person looks on, logged elsewhere, and silent where work is short."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest
from rich.text import Text

import kane
from kane.progress import Bar, Line, Log, ProgressBar, display, stage

BOX = """
import kane, kane.progress
kane.progress.Bar.delay = kane.progress.Line.delay = 0.0  # seconds, so that a small model serves
kane.progress.REFRESHED = 0.0
m = kane.Model("crate", gravity=(0, 0, -9.81))
b = m.body("b", mass=1.0, inertia=(0.015,) * 3)
m.connect(m.ground, b, kane.Free("f"))
m.contact(b.shape(kane.Box(0.3, 0.3, 0.3)), kane.Plane(m.ground.point(), m.ground.z), name="floor")
kane.simulate(kane.build(kane.formulate(m)), until=0.001, q={"f_z": 0.15})
"""


def environment():
    return {**os.environ, "PYTHONPATH": str(Path(kane.__file__).parents[1]), "KANE_CACHE": "off", "TERM": "xterm"}


def run_on_a_terminal(text):
    """What a process writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", text], env=environment(), stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # the process has closed the terminal
            read = b""
        if not read:
            break
        written += read
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


def test_a_terminal_shows_the_programs_that_are_compiled():
    """The bar is drawn ten times a second, so that of short stages some are drawn."""
    assert re.search(r"crate: compiling \w+", run_on_a_terminal(BOX))


def test_a_notebook_shows_the_contacts_that_are_derived_and_the_programs_in_a_line_that_is_written_over():
    text = f"import sys, types; sys.modules['ipykernel'] = types.ModuleType('ipykernel')\n{BOX}"
    done = subprocess.run([sys.executable, "-c", text], env=environment(), capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()  # read as text, which makes a new line of each "\\r"
    assert any(re.match(r"deriving the equations of motion: contact \d of 8, floor", line) for line in lines)
    assert any(line.startswith("crate: compiling rows of each constraint") for line in lines)
    assert lines[-1].strip() == "", "the last line is wiped out"


def test_a_pipe_gets_nothing_on_standard_error():
    done = subprocess.run([sys.executable, "-c", BOX], env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_stage_without_a_call_is_shown_by_its_timer(monkeypatch, caplog):
    """LLVM may take a minute for one program."""
    monkeypatch.setattr(Log, "delay", 0.05)
    with stage("compiling forward"):
        time.sleep(0.2)
    assert caplog.messages == ["compiling forward: after 0 s"]


def test_stages_name_themselves_in_the_bar_in_force_and_give_the_name_back(monkeypatch):
    seen = []
    monkeypatch.setattr(ProgressBar, "_show", lambda self: seen.append((self._title, self._stage)))
    with ProgressBar("arm") as bar:
        with stage("deriving"):
            with stage("compiling"):
                pass
            assert bar._stage == "deriving"
        assert bar._stage == ""
    with stage("alone"):
        pass
    assert seen == [("arm", "deriving"), ("arm", "compiling"), ("alone", "")]


def test_the_log_has_the_seconds_of_stages_and_says_what_stays_numerical(caplog):
    with caplog.at_level("INFO", "kane"):
        kane.build(kane.formulate(kane.library.chain(1)))
    assert caplog.messages == []
    with caplog.at_level("DEBUG", "kane"):
        kane.build(kane.formulate(kane.library.four_bar()))
    assert "four_bar: constraints are embedded numerically; formulate(model, near=q)" in caplog.messages
    assert any(re.fullmatch(r"deriving the equations of motion: \d+\.\d{3} s", line) for line in caplog.messages)


def test_an_error_within_a_stage_passes_and_ends_the_stage():
    with pytest.raises(kane.ModelError), stage("deriving"):
        raise kane.ModelError("wrong")
    with stage("next") as bar:
        assert bar._title == "next", "the bar of the stage that failed is no longer in force"


def test_short_work_shows_nothing_and_starts_no_thread(monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["kane.progress"], "display", Line)
    before = threading.active_count()
    with ProgressBar("arm") as bar:
        bar(0.5)
        assert threading.active_count() == before
    assert capsys.readouterr().err == ""


def test_worker_threads_write_on_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: True))
    found = []
    thread = threading.Thread(target=lambda: found.append(display()))
    thread.start()
    thread.join()
    assert isinstance(display(), Bar)
    assert found == [None]


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_a_line_that_nobody_reads_is_no_reason_to_fail(monkeypatch, stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    line = Line()
    line.show("deriving", 0.5, str)
    line.close()


def test_a_bar_prints_brackets_in_the_name_of_a_model():
    bar = Bar()
    bar.show("arm [red]", 0.5, str)
    bar.close()
    assert Text.from_markup(bar._bar.tasks[0].description).plain == "arm [red]"
