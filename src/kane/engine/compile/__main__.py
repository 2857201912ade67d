"""python -m kane.engine.compile FOLDER: compile the native loops and programs whose code is missing or outdated."""

from __future__ import annotations

import argparse
import fcntl
import gc
import os
import sys
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from kane.engine.code import FOLDER, PORTABLE, Entry, compile_apart, keep, kept
from kane.engine.compile.entries import entries, kernels, text_of
from kane.engine.compile.objects import code_of
from kane.engine.compile.parts import keep_parts
from kane.machine.processor import DOUBLES, own_target, platform_targets

# Entries that the first simulation of an unconstrained model needs.
FIRST_ENTRIES = ("step.batches.each_state", "step.explicit.integrate_explicit")


def compile_these(titles: Collection[str], folder: Path, targets: Sequence[str]) -> None:
    """Compile entries for these targets, store their code in the folder, and print a line for each entry."""
    keep_parts(kernels())
    # Objects of numba live as long as the process; default garbage collection would take a seventh of the time.
    gc.set_threshold(500_000, 20, 10)
    began, found, made = time.monotonic(), entries(), []
    # One process translates all functions once with numba; the others emit the code of the entries with LLVM.
    with ProcessPoolExecutor(max(1, (os.cpu_count() or 1) - 1)) as objects:
        for k, title in enumerate(titles, 1):
            entry, value = found[title]
            made.append(objects.submit(_keep_code, entry, text_of(entry, value), folder, targets))
            _say(f"{title}, {k} of {len(titles)}, {time.monotonic() - began:.0f} s")
        for future in made:
            future.result()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _keep_code(entry: Entry, text: str, folder: Path, targets: Sequence[str]) -> None:
    for target, code in code_of(entry.title, text, targets).items():
        keep(folder, entry, target, code)


def compile_group(title: str, folder: Path, targets: Sequence[str]) -> None:
    """Compile the missing entries in the group of one entry; a lock prevents duplicate work of other processes."""
    folder.mkdir(parents=True, exist_ok=True)
    group = entries()[title][0].group
    with (folder / f".{group}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        compile_these([t for t, entry in missing(folder, targets).items() if entry.group == group], folder, targets)


def missing(folder: Path, targets: Sequence[str]) -> dict[str, Entry]:
    """Return the entries, by title, whose code for one of the targets is missing or outdated."""
    found = {title: entry for title, (entry, _) in entries().items()}
    return {
        title: entry
        for title, entry in found.items()
        if any(_is_run(entry, target) and kept(folder, entry, target) is None for target in targets)
    }


def _is_run(entry: Entry, target: str) -> bool:
    """Check whether a target uses this number of lanes: one, or as many as its registers hold."""
    return target == PORTABLE or entry.lanes in (None, 1, DOUBLES.get(target.partition("-")[2]))


def compile_missing(folder: Path, targets: Sequence[str], *, first: bool) -> None:
    """Compile missing and outdated code on all processors of this machine, and print a line for each entry.

    Args:
        folder: folder for the code.
        targets: target processors.
        first: whether to compile only FIRST_ENTRIES.
    """
    left = {title: entry for title, entry in missing(folder, targets).items() if title in FIRST_ENTRIES or not first}
    _say(f"{len(left)} entries to compile" if left else "all code is up to date")
    if left:
        for line in compile_apart(folder, "--only", *left, "--targets", *targets):
            _say(line)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m kane.engine.compile", description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", default=FOLDER, help="folder for the code; default: the installation"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--first", action="store_true", help="compile only the entries of a first simulation")
    # Options of the processes that ``compile_apart`` starts with NUMBA_SETTINGS.
    which.add_argument("--with", dest="member", metavar="ENTRY", help=argparse.SUPPRESS)
    which.add_argument("--only", nargs="+", metavar="ENTRY", help=argparse.SUPPRESS)
    parser.add_argument("--targets", nargs="+", default=[*platform_targets(), PORTABLE], help="target processors")
    parser.add_argument("--here", action="store_true", help="compile for this processor only")
    given = parser.parse_args()
    targets = [own_target() or PORTABLE] if given.here else given.targets
    if given.member:
        compile_group(given.member, given.folder, targets)
    elif given.only:
        compile_these(given.only, given.folder, targets)
    else:
        compile_missing(given.folder, targets, first=given.first)


if __name__ == "__main__":
    main()
