"""Print the number of memory allocations in native calls of a run; needs ``allocations.c`` preloaded."""

import ctypes

import kane
from benchmarks.tables.contacts import ten_speeds
from kane.engine.step.explicit import integrate_explicit


def main():
    """Print the count of one malloc as a check, the counts of all native calls, and the number of transitions."""
    process = ctypes.CDLL(None)
    counter, malloc = process.allocations, process.malloc
    counter.restype = ctypes.c_long
    malloc(64)
    before = counter()
    malloc(64)
    print("one", counter() - before)
    dyn = kane.build(kane.formulate(ten_speeds()))
    start = {"q": {"f_y": 0.5} | {f"q{k}": 0.2 * k for k in range(4)}}
    kane.simulate(dyn, until=0.01, **start)  # links the loop
    owner, native = integrate_explicit._linked[None]
    found = []

    def counted(words):
        first = counter()
        result = native(words)
        found.append(counter() - first)
        return result

    integrate_explicit._linked[None] = owner, counted
    run = kane.simulate(dyn, until=0.7, **start)
    print("calls", *found)
    print("changes", len(run.events))


main()
