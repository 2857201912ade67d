"""Runs of models whose mode changes stay in native code: Python is not asked for each step or change."""

import sys

import kane
from benchmarks.tables.contacts import ten_speeds
from kane.simulation import simulate as module


def test_a_hundred_changes_of_ten_speeds_and_six_contacts_take_a_few_native_calls(monkeypatch):
    """Counted is every call of a Python function between the first step and the last, those that hand on included.

    That native code calls no Python and allocates nothing is a condition under which it is compiled: see
    ``kane.native.compile.objects``, which refuses all but some functions of the C library.
    """
    dyn, seen = kane.build(kane.formulate(ten_speeds())), []
    march = module.run_march

    def counted(*arguments, **named):
        seen.clear()
        sys.setprofile(lambda frame, event, what: seen.append(frame.f_code.co_name) if event == "call" else None)
        try:
            return march(*arguments, **named)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(module, "run_march", counted)
    run = kane.simulate(dyn, until=0.6, q={"f_y": 0.5} | {f"q{k}": 0.2 * k for k in range(4)})
    # Native calls end where the store of changes is full, and after some milliseconds, to tell of progress.
    chunks = seen.count("advance") // 2  # of the problem and of its method
    assert len(run.events) > 100
    assert 0 < 5 * chunks < len(run.events)
