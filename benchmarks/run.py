"""The benchmarks' command line: which tables, how thorough, where the results go."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    path for path in (str(ROOT), str(ROOT / "src")) if path not in sys.path
]  # run as a file, or not installed

from benchmarks import machine  # noqa: E402
from benchmarks.mode import FULL, QUICK, Mode  # noqa: E402
from benchmarks.peers import pinocchio_native, traced  # noqa: E402
from benchmarks.peers.toolchain import PeerMissingError  # noqa: E402
from benchmarks.report import Table  # noqa: E402
from benchmarks.tables import calls, chains, counts, first_numbers, stepping  # noqa: E402
from benchmarks.timing import pin_to_core  # noqa: E402

RESULTS = Path(__file__).parent / "RESULTS.md"
TABLES: dict[str, Callable[[Mode], Table]] = {
    "counts": counts.table,
    "literature": counts.literature,
    "calls": calls.table,
    "first": first_numbers.table,
    "chains": chains.derivation,
    "chain-calls": chains.running,
    "steps": stepping.table,
}
HEAD = """# Benchmarks

Written by `kane bench` (`python -m benchmarks`). Every time is CPU time of the process, all contestants on one core
with their batches in turn, so that a disturbance meets all alike: the median, and (least-greatest) where there is room.
Columns headed x are ratios peer / kane, medians over the batches; above 1 kane is the faster.
"""


def main(argv: Sequence[str]) -> int:
    """Runs the tables, prints them, and after a full run writes RESULTS.md.

    Args:
        argv: options, without the program's name.

    Returns:
        0; a missing peer is reported in the tables and is no failure.
    """
    options = _options(argv)
    mode = QUICK if options.quick else FULL
    _build_peers()
    core = min(os.sched_getaffinity(0)) if options.core is None else options.core
    text = f"{HEAD}\n{machine.description(core)}\n"
    pin_to_core(core)
    print(text, flush=True)
    for name in options.only or TABLES:
        start = time.monotonic()
        section = TABLES[name](mode).markdown()
        print(section, flush=True)
        print(f"({name}: {time.monotonic() - start:.0f} s)\n", file=sys.stderr, flush=True)
        text += f"\n{section}"
    output = options.output or (None if options.quick or options.only else RESULTS)
    if output is not None:
        output.write_text(text)
    return 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="kane beside its peers.")
    parser.add_argument(
        "--quick", action="store_true", help="arms and short chains only, a minute once the peers are built"
    )
    parser.add_argument("--only", choices=TABLES, action="append", help="this table alone; may be given again")
    parser.add_argument("--core", type=int, help="core to measure on (the first allowed one)")
    parser.add_argument("--output", type=Path, help=f"file to write (a full run writes {RESULTS.name} here)")
    return parser.parse_args(argv)


def _build_peers() -> None:
    """Builds the peers' programs side by side before this process keeps to one core; kept in .bench afterwards."""
    print("peers: found in .bench, or built there (about two minutes)", file=sys.stderr, flush=True)
    with ThreadPoolExecutor() as threads:
        for build in [threads.submit(build) for build in (pinocchio_native.build, traced.build)]:
            try:
                build.result()
            except PeerMissingError as missing:
                print(f"peer missing: {missing}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
