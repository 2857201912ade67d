"""The native loops with one thing wrong fail a test: their files are mutated, a change at a time, and run as Python.

The tests are those of test_marches. A loop that does not end is stopped, and counts as found.
"""

from __future__ import annotations

import signal
import warnings
from contextlib import contextmanager

import pytest
from oracles.interpreted import interpreted_loops
from oracles.source_mutants import mutants, survivors
from unit import test_marches

MODULES = {
    "kane.simulation.native_explicit": 40,
    "kane.simulation.native_march": 20,
    "kane.simulation.native_events": 20,
    "kane.simulation.native_implicit": 12,
}
# Seconds after which a mutant runs on for ever: the tests together take less than two.
PATIENCE = 10


def cases():
    """Every test with every set of its parameters, as functions without arguments."""
    for name, test in vars(test_marches).items():
        if not name.startswith("test_") or "monkeypatch" in test.__code__.co_varnames:
            continue
        sets = [{}]
        for mark in getattr(test, "pytestmark", ()):
            names = [mark.args[0]] if isinstance(mark.args[0], str) else list(mark.args[0])
            rows = [dict(zip(names, v if len(names) > 1 else (v,), strict=True)) for v in mark.args[1]]
            sets = [{**old, **new} for old in sets for new in rows]
        yield from ((test, given) for given in sets)


class Endless(Exception):
    """A loop did not end."""


@contextmanager
def patience():
    def stop(*_):
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def noticed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for test, given in cases():
            try:
                with patience():
                    test(**given)
            except (Exception, pytest.fail.Exception):
                return True
    return False


EQUIVALENT: dict[str, str] = {}


@pytest.fixture
def interpreted():
    for test, given in cases():  # models are built once, and by right code
        test(**given)
    with interpreted_loops():
        yield


def test_without_a_mutation_interpreted_loops_pass(interpreted):
    assert not noticed()


@pytest.mark.parametrize("module", MODULES)
def test_loops_with_one_thing_wrong_fail(module, interpreted):
    assert survivors(mutants(module)[:: MODULES[module]], noticed, EQUIVALENT) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_of_all_mutants_of_the_loops_none_passes(module, interpreted):
    assert survivors(mutants(module), noticed, EQUIVALENT) == []
