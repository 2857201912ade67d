"""Runs of models whose mode changes stay in native code: Python is not asked for each step or change."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kane
from benchmarks.tables.contacts import ten_speeds
from kane.simulation import simulate as module


def test_a_hundred_changes_of_ten_speeds_and_six_contacts_take_a_few_native_calls(monkeypatch):
    """Counted is every call of a Python function between the first step and the last, those that hand on included.

    That native code calls no Python is a condition under which it is compiled: see ``kane.engine.compile.objects``,
    which refuses all but some functions of the C library.
    """
    dyn, seen = kane.build(kane.formulate(ten_speeds())), []
    integration = module.advance_to_end

    def counted(*arguments, **named):
        seen.clear()
        sys.setprofile(lambda frame, event, what: seen.append(frame.f_code.co_name) if event == "call" else None)
        try:
            return integration(*arguments, **named)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(module, "advance_to_end", counted)
    run = kane.simulate(dyn, until=0.7, q={"f_y": 0.5} | {f"q{k}": 0.2 * k for k in range(4)})
    # Native calls end where the store of changes is full, and after some milliseconds, to tell of progress.
    chunks = seen.count("advance") // 2  # of the problem and of its method
    assert len(run.events) > 100
    assert 0 < 5 * chunks < len(run.events)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted by a preloaded library")
def test_native_calls_of_a_hundred_changes_ask_for_no_memory(tmp_path):
    """Counted is every malloc, calloc and the like of the thread between begin and end of each native call."""
    assert shutil.which("gcc"), "this test needs gcc; install it (apt-get install gcc)"
    oracles, library = Path(__file__).parents[1] / "oracles", tmp_path / "allocations.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", str(oracles / "allocations.c"), "-o", str(library)], check=True)
    paths = [str(Path(kane.__file__).parents[1]), str(oracles.parents[1])]
    env = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-P", str(oracles / "allocations.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    one, calls, changes = (list(map(int, line.split()[1:])) for line in done.stdout.splitlines())
    assert one == [1]  # the counter counts
    assert changes[0] > 100
    assert len(calls) > 1
    assert set(calls) == {0}
