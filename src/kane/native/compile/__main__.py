"""`python -m kane.native.compile FOLDER`: the code of all native loops and programs, as installations carry it."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from kane.machine.processor import DOUBLES, own_target, platform_targets
from kane.native.code import PORTABLE, Entry, compile_apart, keep, kept
from kane.native.compile.entries import entries, text_of
from kane.native.compile.objects import code_of
from kane.native.compile.parts import keep_parts


def compile_these(titles: Sequence[str], folder: Path, targets: Sequence[str]) -> None:
    """Put the code of entries for these targets into the folder."""
    keep_parts()
    # What numba makes lives as long as the process: to visit it as often as usual takes a seventh of its time.
    gc.set_threshold(500_000, 20, 10)
    found = entries()
    for title in titles:
        entry, value = found[title]
        for target, code in code_of(title, text_of(entry, value), targets).items():
            keep(folder, entry, target, code)


def missing(folder: Path, targets: Sequence[str]) -> dict[str, Entry]:
    """The entries, by title, that any of the targets runs without having their code in the folder."""
    found = {title: entry for title, (entry, _) in entries().items()}
    return {
        title: entry
        for title, entry in found.items()
        if any(_is_run(entry, target) and kept(folder, entry, target) is None for target in targets)
    }


def _is_run(entry: Entry, target: str) -> bool:
    """Whether a processor has use for so many lanes: as many as its registers hold, or one where lanes do not pay."""
    return target == PORTABLE or entry.lanes in (None, 1, DOUBLES.get(target.partition("-")[2]))


def compile_all(folder: Path, targets: Sequence[str]) -> None:
    """Put the code of all entries that is missing or older than its sources into the folder."""
    left = missing(folder, targets)
    # What numba makes of a function serves all entries of a process, and those of one package share most of them.
    groups = [list(titles) for _, titles in groupby(left, lambda title: left[title].module.rpartition(".")[0])]
    together = sorted(groups, key=len, reverse=True)  # the longest first, so that none is left alone at the end
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process of its own
        list(pool.map(lambda titles: compile_apart(titles, folder, targets), together))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m kane.native.compile", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the code is put")
    parser.add_argument("--only", nargs="+", metavar="ENTRY", help="these loops or programs alone")
    parser.add_argument("--targets", nargs="+", default=[*platform_targets(), PORTABLE], help="for these processors")
    parser.add_argument("--here", action="store_true", help="for this processor alone")
    given = parser.parse_args()
    targets = [own_target() or PORTABLE] if given.here else given.targets
    if given.only is None:
        compile_all(given.folder, targets)
    else:
        compile_these(given.only, given.folder, targets)


if __name__ == "__main__":
    main()
