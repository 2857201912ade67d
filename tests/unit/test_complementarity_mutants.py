"""The solver of reactions with one thing wrong fails a test: its functions are mutated, a change at a time.

They run as the Python functions that they are; the tests are those of test_complementarity_method.
"""

from __future__ import annotations

import signal
import warnings

import pytest
from oracles.source_mutants import mutants, survivors
from unit import test_complementarity_method

MODULES = ("kane.engine.laws.newton", "kane.engine.linear.elimination")
# A mutant that loops for ever is stopped after so many seconds of CPU.
PATIENCE = 3.0
UNREAD = "what is written for a known force lies behind the unknown ones, where nothing reads it"
BEST = "what is solved is the best that was met"
EQUIVALENT = {
    "_next: 1.0 -> 2.0": "no share is between one and two",
    "_refine: _copy(p.f, p.best) -> pass": BEST,
    "_refine: _copy(p.f, p.best) -> _copy(p.best, p.f)": BEST,
    "_load_block: tangents == 0 or p.place[row] < 0 -> tangents == 0 and p.place[row] < 0": UNREAD,
    "_load_block: row - 1 -> row": UNREAD,
    "factor_rows: rank + 1 -> rank": "a pivot is not larger than itself",
    "_solve_least_norm: 1 -> 2 (2)": "the last row lies behind the rank, where nothing reads it",
}


def cases():
    """Every test with every set of its parameters."""
    for name, test in vars(test_complementarity_method).items():
        if not name.startswith("test_"):
            continue
        sets = [{}]
        for mark in getattr(test, "pytestmark", ()):
            names = [mark.args[0]] if isinstance(mark.args[0], str) else list(mark.args[0])
            rows = [dict(zip(names, v if len(names) > 1 else (v,), strict=True)) for v in mark.args[1]]
            sets = [{**old, **new} for old in sets for new in rows]
        yield from ((test, given) for given in sets)


def stop(*_):
    raise TimeoutError


def noticed():
    """Whether a test fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a wrong function divides by
        before = signal.signal(signal.SIGVTALRM, stop)
        try:
            for test, given in cases():
                signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
                with pytest.MonkeyPatch.context() as patch:
                    if "monkeypatch" in test.__code__.co_varnames[: test.__code__.co_argcount]:
                        given = {**given, "monkeypatch": patch}
                    test(**given)
        except Exception:
            return True
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            signal.signal(signal.SIGVTALRM, before)
    return False


def test_without_a_mutation_the_solver_passes():
    assert not noticed()


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_the_solver_with_one_thing_wrong_fails(module):
    assert survivors(mutants(module), noticed, EQUIVALENT) == []
