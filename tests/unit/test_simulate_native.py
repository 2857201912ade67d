"""The native loop: compiled once, kept on disk, and no worse off where it cannot be kept."""

import io
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import kane
from kane.native.call import _tell, call_program, native_loop
from kane.native.explicit import march_explicit

SCRIPT = """
import kane
model = kane.Model("pendulum")
bob = model.body("bob", mass=1.0, com=(0, 0, -1))
model.connect(model.ground, bob, kane.Revolute("q1", axis="y"))
run = kane.simulate(kane.build(kane.formulate(model)), until=1.0, q=[1.0])
from kane.native.explicit import march_explicit
stats = march_explicit.stats
print(run.final.q[0].hex(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def result_with(cache: Path) -> tuple[str, int, int]:
    """Final coordinate, cache hits and misses of a short simulation in another process."""
    return ran_with(cache)[0]


def ran_with(cache: Path) -> tuple[tuple[str, int, int], str]:
    """The result of a short simulation in another process, whose output goes into a pipe, and what it complained of."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(Path(kane.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    number, hits, misses = done.stdout.split()
    return (number, int(hits), int(misses)), done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that a first process has filled, and what that process found."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, *ran_with(folder)


def test_a_second_process_takes_the_loop_from_disk(filled):
    folder, first, told = filled
    assert first[1:] == (0, 1)
    assert told == "kane: compiling native code, march_explicit, once per installation (some ten seconds)\n"
    assert ran_with(folder) == ((first[0], 1, 0), "")


def test_a_damaged_cache_is_compiled_anew(filled, tmp_path):
    folder, first, _ = filled
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(b"not what it was")
    assert result_with(tmp_path) == (first[0], 0, 1)
    assert result_with(tmp_path) == (first[0], 1, 0)  # and kept, in the place of what was damaged


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path, monkeypatch, capsys):
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")

    def nowhere(function):
        raise RuntimeError("no locator available")

    monkeypatch.setattr("kane.native.call._LoopCache", nowhere)
    loop = native_loop(_double)
    assert loop(1) == 2
    assert "compiling native code, _double; NUMBA_CACHE_DIR can name a folder" in capsys.readouterr().err
    monkeypatch.undo()
    assert np.isfinite(float.fromhex(result_with(blocked)[0]))


def test_a_folder_that_disappears_does_no_harm(tmp_path, capsys):
    from kane.native.call import _LoopCache

    loop = native_loop(_double)
    assert isinstance(loop._cache, _LoopCache)
    loop._cache._cache_file._cache_path = str(tmp_path / "gone" / "missing")
    loop._cache._cache_file._index_path = str(tmp_path / "gone" / "missing" / "index")
    shutil.rmtree(tmp_path)
    assert loop(2.0) == 4.0
    assert "_double cannot be kept on disk" in capsys.readouterr().err


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_nobody_who_reads_messages_is_no_reason_to_fail(monkeypatch, stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    _tell("compiling")


def test_a_loop_is_stale_when_a_module_that_it_is_made_of_changed(tmp_path, monkeypatch):
    from kane.native.call import _sources

    for name, text in (("loop", "from kane.inlined import x\n"), ("inlined", "x = 1\n"), ("other", "")):
        (tmp_path / f"{name}.py").write_text(text)
        module = types.ModuleType(f"kane.{name}")
        module.__file__ = str(tmp_path / f"{name}.py")
        monkeypatch.setitem(sys.modules, module.__name__, module)
    digests = []
    for changed in ("other", "inlined", "loop"):
        _sources.cache_clear()
        digests.append(_sources("kane.loop"))
        (tmp_path / f"{changed}.py").write_text("from kane.inlined import x, y\n")
    _sources.cache_clear()
    assert digests[0] == digests[1]
    assert len({*digests, _sources("kane.loop")}) == 3


def _double(x):
    return 2 * x


def test_a_strided_or_single_precision_vector_is_refused():
    def call(address, state, v):
        call_program(address, state, v, v, v, v)

    from numba.core.errors import TypingError

    v = np.zeros(2)
    for wrong, message in ((np.zeros(4)[::2], "contiguous"), (np.zeros(2, np.float32), "float64 vectors")):
        with pytest.raises(TypingError, match=message):
            native_loop(call)(0, wrong, v)


def test_the_loop_releases_the_interpreter_lock():
    assert march_explicit.targetoptions["nogil"]


def test_a_loop_that_would_allocate_is_refused_when_it_is_compiled():
    """Loops run without numba's memory runtime, so that an array made inside one cannot pass unseen."""
    from numba.core.errors import TypingError

    def allocate(n):
        return np.empty(n).size

    with pytest.raises(TypingError, match="empty"):
        native_loop(allocate)(3)
