"""python -m kane.engine.compile FOLDER: compile the native loops and programs whose code is missing or outdated."""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from kane.engine.code import FOLDER, PORTABLE, Entry, compile_apart, keep, kept
from kane.engine.compile.entries import Translated, entries, kernels, modules_of, translated
from kane.engine.compile.objects import Modules, code_of
from kane.engine.compile.parts import keep_parts
from kane.files.lock import locked_file
from kane.machine.processor import DOUBLES, own_target, platform_targets

# Groups that the first simulation of an unconstrained model needs.
FIRST_GROUPS = ("step.batches", "step.explicit")


def compile_these(groups: Collection[str], folder: Path, targets: Sequence[str]) -> None:
    """Compile groups for these targets, store their code in the folder, and print a line for each entry."""
    keep_parts(kernels())
    # Objects of numba live as long as the process; default garbage collection would take a seventh of the time.
    gc.set_threshold(500_000, 20, 10)
    left = {entry: value for entry, value in entries().values() if entry.group in groups and _runs(entry, targets)}
    began, made, numbers = time.monotonic(), [], itertools.count(1)
    # One process translates all functions once with numba; the others emit the code of the groups with LLVM.
    with ProcessPoolExecutor(max(1, (os.cpu_count() or 1) - 1)) as objects:
        for group, members in itertools.groupby(sorted(left, key=_group), _group):
            parts: dict[Entry, Translated] = {}
            for entry in members:
                parts[entry] = translated(entry, left[entry])
                _say(f"{entry.title}, {next(numbers)} of {len(left)}, {time.monotonic() - began:.0f} s")
            made += [(group, objects.submit(_keep_code, folder, *work)) for work in _work(group, parts, targets)]
        for group, future in made:
            future.result()
            _say(f"machine code of {group}, {time.monotonic() - began:.0f} s")


def _group(entry: Entry) -> str:
    return entry.group


def _work(group: str, parts: Mapping[Entry, Translated], targets: Sequence[str]) -> Iterator[Any]:
    """Yield the group, the modules of the entries that a target runs, and the target."""
    for target in targets:
        yield group, modules_of([part for entry, part in parts.items() if _runs(entry, [target])]), target


def _keep_code(folder: Path, group: str, modules: Modules, target: str) -> None:
    keep(folder, group, target, code_of(modules, target))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def compile_group(group: str, folder: Path, targets: Sequence[str]) -> None:
    """Compile a group if its code is missing; a lock prevents duplicate work of other processes."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked_file(folder / f".{group}.lock"):
        if group in missing(folder, targets):
            compile_these([group], folder, targets)


def missing(folder: Path, targets: Sequence[str]) -> list[str]:
    """Return the groups whose code for one of the targets is missing or outdated."""
    groups = dict.fromkeys(entry.group for entry, _ in entries().values())
    return [group for group in groups if any(kept(folder, group, target) is None for target in targets)]


def _runs(entry: Entry, targets: Sequence[str]) -> bool:
    """Check whether a target uses this number of lanes: one, or as many as its registers hold; PORTABLE uses all."""
    used = {1, *(DOUBLES.get(target.partition("-")[2]) for target in targets)}
    return entry.lanes is None or entry.lanes in used or PORTABLE in targets


def compile_missing(folder: Path, targets: Sequence[str], *, first: bool) -> None:
    """Compile missing and outdated code on all processors of this machine, and print a line for each entry.

    Args:
        folder: folder for the code.
        targets: target processors.
        first: whether to compile only FIRST_GROUPS.
    """
    left = [group for group in missing(folder, targets) if group in FIRST_GROUPS or not first]
    _say(f"{len(left)} groups of native code to compile" if left else "all code is up to date")
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
    which.add_argument("--first", action="store_true", help="compile only the groups of a first simulation")
    # Options of the processes that ``compile_apart`` starts with NUMBA_SETTINGS.
    which.add_argument("--missing", metavar="GROUP", help=argparse.SUPPRESS)
    which.add_argument("--only", nargs="+", metavar="GROUP", help=argparse.SUPPRESS)
    parser.add_argument("--targets", nargs="+", default=[*platform_targets(), PORTABLE], help="target processors")
    parser.add_argument("--here", action="store_true", help="compile for this processor only")
    given = parser.parse_args()
    targets = [own_target() or PORTABLE] if given.here else given.targets
    if given.missing:
        compile_group(given.missing, given.folder, targets)
    elif given.only:
        compile_these(given.only, given.folder, targets)
    else:
        compile_missing(given.folder, targets, first=given.first)


if __name__ == "__main__":
    main()
