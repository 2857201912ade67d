"""The benchmarks' command line: which tables, how thorough, where the results go."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [
    path for path in (str(ROOT), str(ROOT / "src")) if path not in sys.path
]  # run as a file, or not installed

from benchmarks import machine, readme  # noqa: E402
from benchmarks.mode import FULL, QUICK, Mode  # noqa: E402
from benchmarks.peers import pinocchio_native, traced  # noqa: E402
from benchmarks.peers.toolchain import PeerMissingError  # noqa: E402
from benchmarks.report import Table  # noqa: E402
from benchmarks.results import Results, document  # noqa: E402
from benchmarks.tables import (  # noqa: E402
    accuracy,
    calls,
    chains,
    compiled_contacts,
    compiled_modes,
    cones,
    contacts,
    counts,
    derivation,
    derivatives,
    first_from_sympy,
    first_numbers,
    from_python,
    from_sympy,
    identification,
    lanes,
    loops,
    many_contacts,
    many_steppers,
    mobile,
    optimal_control,
    peak,
    spacecraft,
    squeezer,
    starts,
    stepping,
    sweeps,
    time_steps,
    trajectories,
)
from benchmarks.timing import pin_to_core  # noqa: E402

FOLDER = Path(__file__).parent
MARKDOWN, NUMBERS = "RESULTS.md", "results"
TABLES: dict[str, Callable[[Mode], Table]] = {
    "counts": counts.table,
    "literature": counts.literature,
    "calls": calls.table,
    "chained": calls.chained,
    "derivatives": derivatives.table,
    "identification": identification.table,
    "python": from_python.table,
    "from-sympy": from_sympy.table,
    "first-from-sympy": first_from_sympy.table,
    "lanes": lanes.table,
    "peak": peak.table,
    "start": starts.table,
    "first": first_numbers.table,
    "chains": chains.derivation,
    "chain-calls": chains.running,
    "steps": stepping.table,
    "trajectories": trajectories.table,
    "accuracy": accuracy.table,
    "spacecraft": spacecraft.table,
    "squeezer": squeezer.table,
    "loops": loops.table,
    "modes": compiled_modes.table,
    "modes-many": compiled_modes.many,
    "modes-contacts": compiled_contacts.table,
    "modes-contacts-many": compiled_contacts.many,
    "contacts": contacts.table,
    "contact-steps": contacts.steps,
    "switches": contacts.switches,
    "contact-laws": contacts.laws,
    "cones": cones.table,
    "many-contacts": many_contacts.table,
    "time-steps": time_steps.table,
    "optimal-control": optimal_control.table,
    "sweeps": sweeps.table,
    "many-steppers": many_steppers.table,
    "mobile": mobile.table,
    "derivation": derivation.table,
    "certificate": derivation.certificate,
}


def main(argv: Sequence[str]) -> int:
    """Runs the tables and prints them; a full run keeps its results and writes RESULTS.md and README.md.

    Args:
        argv: options, without the program's name.

    Returns:
        0; a missing peer is reported in the tables and is no failure. 1 where README.md could not be written.
    """
    options = _options(argv)
    if options.readme:
        return _rewrite_readme()
    _build_peers()
    core = min(os.sched_getaffinity(0)) if options.core is None else options.core
    pin_to_core(core)
    results = _measure(options.only or TABLES, QUICK if options.quick else FULL, machine.Conditions(core))
    full = not (options.quick or options.only)
    folder = options.output or (FOLDER if full else None)
    if folder is not None:
        results.save(folder / NUMBERS)
        (folder / MARKDOWN).write_text(document(Results.load(folder / NUMBERS)))
    return _rewrite_readme() if folder == FOLDER else 0


def _rewrite_readme() -> int:
    try:
        readme.rewrite(ROOT / "README.md", Results.load(FOLDER / NUMBERS)[0])
    except (FileNotFoundError, ValueError) as error:
        print(f"README.md is as it was: {error}", file=sys.stderr)
        return 1
    return 0


def _measure(names: Iterable[str], mode: Mode, conditions: machine.Conditions) -> Results:
    results = Results(machine.processor())
    print(*conditions.lines(), "", sep="\n", flush=True)
    for name in names:
        start = time.monotonic()
        results.tables[name] = TABLES[name](mode)
        conditions.sample()
        print(results.tables[name].markdown(), flush=True)
        print(f"({name}: {time.monotonic() - start:.0f} s)\n", file=sys.stderr, flush=True)
    results.conditions = conditions.lines()
    print(results.slower(), flush=True)
    return results


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="kane beside its peers.")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="arms and short chains only, less than two minutes once the peers are built",
    )
    parser.add_argument("--only", choices=TABLES, action="append", help="this table alone; may be given again")
    parser.add_argument("--core", type=int, help="core to measure on (the first allowed one)")
    parser.add_argument(
        "--output", type=Path, help=f"folder for {MARKDOWN} and {NUMBERS}/ (a full run writes them beside this program)"
    )
    parser.add_argument(
        "--readme", action="store_true", help=f"measure nothing: write the figures of README.md from {NUMBERS}/"
    )
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
