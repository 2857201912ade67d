"""Stores of sweeps: resumed, extended, read while they grow, and refused where they belong to another study.

What vouches: the same study computed in memory, to the bit; zarr and xarray, which read the folder by themselves.
"""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from oracles.studies import ball, pendulum
from scipy import stats

import kane
from kane.sweeps import stores
from kane.sweeps.study import Study

RUNS = 500


def given(n=RUNS, **others):
    """Arguments of a study of n runs."""
    table = kane.sample(n, mass=stats.norm(2.0, 0.1), q1=(-1.0, 1.0), method=others.pop("method", "random"))
    return dict(until=0.5, runs=table, seed=others.pop("seed", 3), chunk=others.pop("chunk", 100)) | others


@pytest.fixture
def computed(monkeypatch):
    """List of the runs that are computed, in order."""
    runs, compute = [], Study.compute

    def noted(self, first, names, rows, *rest):
        runs.extend(range(first, first + len(rows)))
        return compute(self, first, names, rows, *rest)

    monkeypatch.setattr(Study, "compute", noted)
    return runs


def same(a, b):
    """Whether two studies have the same results, to the bit, the same failures and statistics."""
    names = list(a.to_xarray())
    equal = all(np.array_equal(a[name], b[name], equal_nan=True) for name in names)
    return equal and names == list(b.to_xarray()) and dict(a.failures) == dict(b.failures) and str(a) == str(b)


def test_a_store_has_the_results_of_memory_and_is_read_by_zarr_and_xarray(tmp_path):
    xarray, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr")
    more = dict(times=[0.2, 0.4], outputs={"end": "q1"})
    inside, stored = (kane.sweep(pendulum(), **given(), **more, store=x) for x in (None, tmp_path / "a.zarr"))
    assert same(inside, stored)
    opened = kane.Sweep.open(tmp_path / "a.zarr")
    assert same(inside, opened)
    data = xarray.open_zarr(tmp_path / "a.zarr")
    assert set(data) == {"status", "mass", "initial q1", "end", "q1", "u1"}
    assert data.sizes == {"run": RUNS, "time": 4}
    for name in data:
        assert np.array_equal(data[name].values, inside[name])
    assert data.time.values.tolist() == [0.0, 0.2, 0.4, 0.5]
    assert data["initial q1"].attrs == {"long_name": "initial q1", "units": "rad"}
    assert np.array_equal(zarr.open_array(tmp_path / "a.zarr" / "end")[:], inside["end"])


def test_a_repeated_call_computes_nothing(tmp_path, computed):
    first = kane.sweep(pendulum(), **given(), store=tmp_path)
    assert computed == list(range(RUNS))
    computed.clear()
    assert same(first, kane.sweep(pendulum(), **given(), store=tmp_path))
    assert computed == []


def test_an_interrupted_study_computes_no_run_twice(tmp_path, computed, monkeypatch):
    write = stores.FolderStore.write

    def stopped(self, values, entry):
        if entry.first == 300:
            raise KeyboardInterrupt
        write(self, values, entry)

    with monkeypatch.context() as patch:
        patch.setattr(stores.FolderStore, "write", stopped)
        with pytest.warns(UserWarning, match="interrupted after 300 of 500"):
            kane.sweep(pendulum(), **given(), store=tmp_path)
    computed.clear()
    found = kane.sweep(pendulum(), **given(), store=tmp_path)
    assert computed == list(range(300, 500))
    assert same(found, kane.sweep(pendulum(), **given()))


@pytest.mark.parametrize("method", ["random", "sobol"])
def test_a_study_is_extended(tmp_path, computed, method):
    kane.sweep(pendulum(), **given(250, method=method), store=tmp_path)
    computed.clear()
    found = kane.sweep(pendulum(), **given(620, method=method, chunk=None), store=tmp_path)
    assert computed == list(range(250, 620))
    whole = kane.sweep(pendulum(), **given(620, method=method))
    for name in ("q1", "u1", "mass", "status"):
        assert np.array_equal(found[name], whole[name])
    assert found.statistics("q1").mean == pytest.approx(whole.statistics("q1").mean, abs=1e-14)
    assert len(kane.Sweep.open(tmp_path)) == 620


def test_a_study_that_stopped_is_continued_for_a_narrower_interval(tmp_path, computed):
    wide = kane.sweep(pendulum(), **given(2000), store=tmp_path, precision={"q1": 0.06})
    assert len(kane.Sweep.open(tmp_path)) == len(wide) < 1000
    computed.clear()
    again = kane.sweep(pendulum(), **given(2000), store=tmp_path, precision={"q1": 0.06})
    assert computed == []
    assert same(wide, again)
    narrow = kane.sweep(pendulum(), **given(2000), store=tmp_path, precision={"q1": 0.03})
    assert computed == list(range(len(wide), len(narrow)))
    assert same(narrow, kane.sweep(pendulum(), **given(2000), precision={"q1": 0.03}))
    assert len(kane.sweep(pendulum(), **given(2000), store=tmp_path)) == 2000


def test_failures_are_stored_with_their_reasons(tmp_path):
    ask = dict(until=0.2, runs={"z": [1.0, -1.0, 2.0]})
    kane.sweep(ball(), **ask, store=tmp_path)
    found = kane.Sweep.open(tmp_path)
    assert list(found.failures) == [1]
    assert "violated by" in found.failures[1]
    assert same(found, kane.sweep(ball(), **ask))


PROGRAM = """
import sys
sys.path[:0] = {paths!r}
import kane, numpy as np
from oracles.studies import pendulum
from scipy import stats
table = kane.sample({runs}, mass=stats.norm(2.0, 0.1), q1=(-1.0, 1.0))
kane.sweep(pendulum(), until=0.5, runs=table, seed=3, chunk=100, store=sys.argv[1])
"""


@pytest.fixture
def program(root, tmp_path):
    """Command line of a process that computes a study of 40,000 runs into a store."""
    file = tmp_path / "study.py"
    file.write_text(PROGRAM.format(paths=[str(root / "src"), str(root / "tests")], runs=40_000), "utf-8")
    return [sys.executable, str(file)]


def log_of(path):
    """Entries in the log of a store."""
    text = (path / "pieces.jsonl").read_text("utf-8") if (path / "pieces.jsonl").exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("]")]


def test_a_killed_study_is_read_while_it_grows_and_computes_no_stored_run_twice(program, tmp_path):
    store, seen = tmp_path / "killed.zarr", 0
    for _ in range(3):
        process = subprocess.Popen([*program, str(store)])
        before = len(log_of(store))
        while len(log_of(store)) < before + 20:
            assert process.poll() is None
            time.sleep(0.005)
        growing = kane.Sweep.open(store)
        assert 0 < growing.computed < len(growing) == 40_000
        assert np.isfinite(growing["q1"]).sum() >= growing.computed
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(log_of(store)) > seen
        seen = len(log_of(store))
    finished = subprocess.run([*program, str(store)], timeout=300, check=True)
    assert finished.returncode == 0
    firsts = [entry[0] for entry in log_of(store)]
    assert firsts == list(range(0, 40_000, 100))
    whole = kane.sweep(pendulum(), **given(40_000))
    assert same(kane.Sweep.open(store), whole)


def test_a_line_that_was_cut_is_computed_again(tmp_path, computed):
    whole = kane.sweep(pendulum(), **given(), store=tmp_path)
    log = tmp_path / "pieces.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    assert kane.Sweep.open(tmp_path).computed == 400
    computed.clear()
    assert same(kane.sweep(pendulum(), **given(), store=tmp_path), whole)
    assert computed == list(range(400, 500))
    assert same(kane.Sweep.open(tmp_path), whole)


@pytest.mark.parametrize("damage", ["zeros", "half", "missing"])
def test_damaged_files_are_noticed_and_their_runs_computed_again(tmp_path, computed, damage):
    whole = kane.sweep(pendulum(), **given(), store=tmp_path)
    name = whole.results[0]
    file = tmp_path / name / "c" / "0"
    size = file.stat().st_size
    {
        "zeros": lambda: file.write_bytes(bytes(size)),
        "half": lambda: file.write_bytes(bytes(size // 2)),
        "missing": file.unlink,
    }[damage]()
    if damage == "half":
        with pytest.raises(kane.KaneError, match="is damaged; repeat the sweep"):
            kane.Sweep.open(tmp_path)[name]
    computed.clear()
    with pytest.warns(UserWarning, match="500 runs of the store .* are damaged or missing"):
        again = kane.sweep(pendulum(), **given(), store=tmp_path)
    assert computed == list(range(500))
    assert same(again, whole)
    assert same(kane.Sweep.open(tmp_path), whole)


def test_two_processes_cannot_write_one_store(program, tmp_path):
    store = tmp_path / "locked.zarr"
    process = subprocess.Popen([*program, str(store)])
    try:
        while len(log_of(store)) < 2:
            time.sleep(0.005)
        with pytest.raises(kane.FileError, match="is written by another process"):
            kane.sweep(pendulum(), **given(40_000), store=store)
    finally:
        process.kill()
        process.wait()
    assert kane.sweep(pendulum(), **given(40_000), store=store).finished


DIFFERENT = {
    "until": (dict(until=0.6), r"until= is 0\.5, not 0\.6"),
    "seed": (dict(seed=4), "seed= is 3, not 4"),
    "output": (dict(outputs={"q1": "u1"}), "its outputs= is different"),
    "event": (lambda: dict(events=kane.Event(pendulum().equations.q[0])), "its events= is different"),
    "integrator": (dict(integrator=kane.RK5()), r"its integrator is .*RK8.*, not .*RK5"),
    "input": (dict(inputs={"tau": 1.0}), "its dict of values for all runs is"),
    "law": (
        lambda: dict(inputs={"tau": pendulum().equations.q[0]}),
        "an expression or a law of its inputs is different",
    ),
    "times": (dict(times=[0.1], outputs={"end": "q1"}), r"times= is None, not \[0\.0, 0\.1, 0\.5\]"),
    "chunk": (dict(chunk=50), "chunk is 50, and 100 in the store"),
    "names": (dict(runs=kane.sample(RUNS, mass=(1.0, 2.0))), r"its list of names that vary is \[.*\], not \["),
    "values": (dict(runs=kane.sample(RUNS, mass=(1.0, 2.0), q1=(0.0, 1.0))), "have other values of mass, q1"),
    "fewer": (
        dict(runs=kane.sample(100, mass=stats.norm(2.0, 0.1), q1=(-1.0, 1.0))),
        "has 500 runs, and this table 100",
    ),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_a_store_of_another_study_is_refused_and_stays_intact(tmp_path, case):
    more, message = DIFFERENT[case]
    whole = kane.sweep(pendulum(), **given(), store=tmp_path)
    with pytest.raises(kane.ModelError, match=message):
        kane.sweep(pendulum(), **{**given(), **(more() if callable(more) else more)}, store=tmp_path)
    assert same(kane.Sweep.open(tmp_path), whole)


def test_a_latin_hypercube_cannot_be_extended(tmp_path):
    kane.sweep(pendulum(), **given(100, method="latin hypercube"), store=tmp_path)
    with pytest.raises(kane.ModelError, match="only tables that begin with the stored runs"):
        kane.sweep(pendulum(), **given(200, method="latin hypercube"), store=tmp_path)


def test_a_store_of_another_model_is_refused(tmp_path):
    kane.sweep(pendulum(), until=0.5, runs={"q1": [1.0]}, store=tmp_path)
    for gravity, word in ((-9.0, "its model is different"), (-9.81, None)):
        m = kane.Model("swept pendulum", gravity=(0.0, 0.0, gravity))
        bob = m.body("bob", mass=m.parameter("mass", 2.0), inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, -1.0))
        m.load(kane.Motor(m.connect(m.ground, bob, kane.Revolute("q1", axis="y")), m.input("tau")))
        dyn = kane.build(kane.formulate(m))
        if word is None:
            assert kane.sweep(dyn, until=0.5, runs={"q1": [1.0]}, store=tmp_path).finished
        else:
            with pytest.raises(kane.ModelError, match=word):
                kane.sweep(dyn, until=0.5, runs={"q1": [1.0]}, store=tmp_path)


def test_a_store_of_another_version_is_refused_by_name(tmp_path):
    kane.sweep(pendulum(), **given(), store=tmp_path)
    file = tmp_path / "zarr.json"
    for key, value, message in (
        ("kane", "0.0.9", "its version of kane is '0.0.9', not"),
        ("format_version", 99, "was written by a newer kane"),
    ):
        text = file.read_text("utf-8")
        content = json.loads(text)
        content["attributes"]["kane_sweep"][key] = value
        file.write_text(json.dumps(content), "utf-8")
        with pytest.raises(kane.ModelError, match=message):
            kane.sweep(pendulum(), **given(), store=tmp_path)
        file.write_text(text, "utf-8")


@pytest.mark.parametrize("what", ["file", "other folder", "broken", "text"])
def test_a_path_with_something_else_is_refused(tmp_path, what):
    path = tmp_path / "x"
    if what in ("file", "text"):
        path.write_text("hello", "utf-8")
    else:
        path.mkdir()
        (path / ("zarr.json" if what == "broken" else "letter.txt")).write_text("{", "utf-8")
    before = sorted(path.rglob("*"))
    for call in (lambda: kane.sweep(pendulum(), **given(), store=path), lambda: kane.Sweep.open(path)):
        with pytest.raises(kane.ImportFileError, match=r"is not a store of kane\.sweep"):
            call()
    assert sorted(path.rglob("*")) == before
    with pytest.raises(kane.FileError, match="there is no store of a sweep at"):
        kane.Sweep.open(tmp_path / "nothing")
    with pytest.raises(kane.FileError, match="the store of a sweep is 5"):
        kane.sweep(pendulum(), **given(), store=5)


def test_a_study_larger_than_the_disk_is_refused_with_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 0, 15_000))
    with pytest.raises(
        kane.FileError, match=r"500 runs with 5 variables need 21 kB, and the disk of .* has 15 kB free"
    ):
        kane.sweep(pendulum(), **given(), store=tmp_path)


@pytest.mark.parametrize("where", ["data", "log"])
def test_a_full_disk_keeps_the_stored_runs(tmp_path, monkeypatch, where):
    count = 0

    def fails(*arguments):
        nonlocal count
        count += 1
        if count > 3:
            if where == "log":  # half of the line fits
                original(arguments[0], arguments[1][: len(arguments[1]) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*arguments)

    kane.sweep(pendulum(), **given(100), store=tmp_path)
    owner, name = (os, "pwrite") if where == "data" else (stores.FolderStore, "_append")
    original = getattr(owner, name)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fails)
        with pytest.raises(OSError, match="No space left"):
            kane.sweep(pendulum(), **given(), store=tmp_path)
    found = kane.Sweep.open(tmp_path)
    assert 100 <= found.computed < RUNS
    assert same(kane.sweep(pendulum(), **given(), store=tmp_path), kane.sweep(pendulum(), **given()))


def test_a_file_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    """A limit of the process on the size of files stands for a full disk."""
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); import signal; "
    program += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + PROGRAM.format(paths=sys.path, runs=2000)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "full")], capture_output=True, text=True, timeout=300
    )
    assert "FileError" in done.stderr
    assert "cannot be written (File too large)" in done.stderr


def test_run_k_needs_its_model(tmp_path):
    found = kane.sweep(pendulum(), **given(), store=tmp_path)
    assert found.run(123)["q1"][-1] == found["q1"][123]
    with pytest.raises(kane.ModelError, match="there is no run 500"):
        found.run(500)
    with pytest.raises(kane.ModelError, match="a store does not hold the equations"):
        kane.Sweep.open(tmp_path).run(3)
    with pytest.raises(kane.ModelError, match="there is no result 'q2'"):
        found["q2"]
    with pytest.raises(kane.ModelError, match="there is no result 'mass'; known are q1, u1"):
        found.statistics("mass")
    with pytest.raises(kane.ModelError, match=r"probabilities are 1\.5"):
        found.quantile("q1", 1.5)
