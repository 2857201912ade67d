"""Engines of sweeps: results of every engine equal those of this process, to the bit, also when workers are killed."""

import os
import signal
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from oracles.studies import STARTS, pendulum, torque_that_counts

import kane
from kane.sweeps import distributed, engines
from kane.sweeps.study import Study

ASK = dict(until=1.0, runs=kane.sample(1500, q1=(-1.0, 1.0), mass=(1.0, 2.0)), seed=1, chunk=100)


@pytest.fixture(scope="module")
def alone():
    """The study as this process computes it."""
    return kane.sweep(pendulum(), **ASK)


def same(a, b):
    """Whether two studies agree to the bit, in results and statistics."""
    return all(np.array_equal(a[name], b[name]) for name in a.to_xarray()) and str(a) == str(b)


@pytest.mark.parametrize("workers", [1, 3])
def test_threads_agree_to_the_bit(alone, workers):
    with ThreadPoolExecutor(workers) as executor:
        assert same(alone, kane.sweep(pendulum(), **ASK, executor=executor))


def test_processes_agree_to_the_bit(alone):
    with ProcessPoolExecutor(2) as executor:
        assert same(alone, kane.sweep(pendulum(), **ASK, executor=executor))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_run_after_which_a_study_stops_does_not_depend_on_the_workers(workers):
    ask = ASK | dict(precision={"q1": 0.04})
    with ThreadPoolExecutor(workers) as executor:
        found = kane.sweep(pendulum(), **ask, executor=executor)
    assert same(found, kane.sweep(pendulum(), **ask))
    assert len(found) < 1500


def test_few_chunks_are_in_flight(monkeypatch):
    """Memory is bounded: no more chunks are made than two per worker beyond those that are stored."""
    made, most = 0, 0

    def works():
        nonlocal made
        for k in range(100):
            made += 1
            yield engines.Work(k, (), np.zeros((1, 0)))

    class Quick:
        key = "quick"

        def compute(self, first, *rest):
            return first

    with ThreadPoolExecutor(3) as executor:
        for stored, _ in enumerate(engines.computed_by(executor, Quick(), works(), None), start=1):
            most = max(most, made - stored)
    assert most < engines.QUEUED_PER_WORKER * 3


def killed(first, *rest):
    """Stand-in for ``compute`` that kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_that_die_end_the_study_and_stored_chunks_stay(tmp_path, monkeypatch):
    kane.sweep(pendulum(), **ASK | dict(runs=kane.sample(300, q1=(-1.0, 1.0), mass=(1.0, 2.0))), store=tmp_path)
    with monkeypatch.context() as patch, ProcessPoolExecutor(1) as executor:
        patch.setattr(Study, "compute", property(lambda self: killed))
        with pytest.raises(
            kane.SimulationError,
            match=r"the workers of the sweep or their scheduler ended .* finished chunks are in the st",
        ):
            kane.sweep(pendulum(), **ASK, store=tmp_path, executor=executor)
    assert kane.Sweep.open(tmp_path).computed == 300
    assert kane.sweep(pendulum(), **ASK, store=tmp_path).finished


def test_a_law_that_cannot_be_sent_is_named():
    law = kane.Sampled(lambda t, q, u: -q[0], period=0.1)
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(kane.ModelError, match="define Python laws as functions of a"),
    ):
        kane.sweep(pendulum(), **ASK, inputs={"tau": law}, executor=executor)


def test_other_sources_of_kane_are_refused():
    restore, (sources, key, values) = Study(pendulum(), *[None] * 7).__reduce__()
    assert restore(sources, key, values).key == key
    with pytest.raises(kane.ModelError, match="other sources of kane than the client"):
        restore("others", key, values)


def test_no_scheduler_and_two_engines_are_refused(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "CONNECT_SECONDS", 0.3)
    for address in ("tcp://127.0.0.1:1", "nonsense://", "tcp://nowhere.invalid:8786"):
        with pytest.raises(kane.ModelError, match="there is no Dask scheduler at"):
            kane.sweep(pendulum(), **ASK, scheduler=address)
    with ThreadPoolExecutor(1) as executor, pytest.raises(kane.ModelError, match="leave one out"):
        kane.sweep(pendulum(), **ASK, scheduler="tcp://127.0.0.1:1", executor=executor)
    with pytest.raises(kane.ModelError, match="scheduler is 3"):
        kane.sweep(pendulum(), **ASK, scheduler=3)


def test_a_cluster_agrees_to_the_bit_when_its_workers_are_killed(alone, tmp_path, monkeypatch):
    dask = pytest.importorskip("distributed")
    store, kills = tmp_path / "killed.zarr", []

    def kill(done):
        """Kill one worker after a third, and another one after two thirds of the runs."""
        if len(kills) < 2 and done > (len(kills) + 1) / 3:
            process = list(cluster.workers.values())[len(kills)].process.process
            os.kill(process.pid, signal.SIGKILL)
            kills.append(process.pid)

    made = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    with dask.LocalCluster(**made) as cluster:
        address = cluster.scheduler_address
        found = kane.sweep(pendulum(), **ASK, scheduler=address, store=store, progress=kill)
        assert same(found, alone)
        assert len(kills) == 2
        lines = (store / "pieces.jsonl").read_text("utf-8").splitlines()
        assert len(lines) == 15
        monkeypatch.setattr(distributed, "kane_version", lambda: "9.9")
        with pytest.raises(kane.ModelError, match=r"the worker tcp://.* has kane .* and the client kane 9\.9; install"):
            kane.sweep(pendulum(), **ASK, scheduler=address)
        monkeypatch.undo()
        cluster.scale(0)
        until_gone = threading.Event()
        while cluster.scheduler.workers:
            until_gone.wait(0.05)
        with pytest.raises(kane.ModelError, match="the Dask scheduler has no workers"):
            kane.sweep(pendulum(), **ASK, scheduler=address)


def test_a_killed_worker_repeats_at_most_one_chunk(tmp_path, monkeypatch):
    dask = pytest.importorskip("distributed")
    ask = dict(until=0.2, runs=kane.sample(600, q1=(-1.0, 1.0)), seed=1, chunk=50)
    ask["inputs"] = {"tau": kane.Sampled(torque_that_counts, period=0.05)}
    monkeypatch.setenv(STARTS, str(tmp_path / "alone"))
    alone, kills = kane.sweep(pendulum(), **ask), []
    monkeypatch.setenv(STARTS, str(tmp_path / "starts"))

    def kill(done):
        if len(kills) < 3 and done > (len(kills) + 1) / 4:
            process = list(cluster.workers.values())[len(kills) % 2].process.process
            os.kill(process.pid, signal.SIGKILL)
            kills.append(process.pid)

    with dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        found = kane.sweep(pendulum(), **ask, scheduler=cluster.scheduler_address, progress=kill)
    assert same(found, alone)
    assert len(set(kills)) == 3
    starts = Counter((tmp_path / "starts").read_text("utf-8").splitlines())
    assert len(starts) == 600
    assert sum(starts.values()) - 600 <= len(kills) * 50
