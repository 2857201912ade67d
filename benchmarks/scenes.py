"""Scenes by lot, run and certified, a line each: what became of it, and then how many of each kind.

python -m benchmarks.scenes [FAMILY [FIRST LAST]] [--states N] [--processes N]

FAMILY is one of those in tests/oracles/random_scenes.py, "large" unless said otherwise: seeds FIRST to LAST - 1, 0 to
500 unless said otherwise, each in the plane and in space, robots in space alone. Each scene has a process of its own,
which may take LIMIT seconds of CPU. A certificate has runs from N random states, 2 unless said otherwise; with 0,
nothing is certified.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import kane

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from oracles.random_scenes import FAMILIES, GROWTH, INSIDE, Told, told

# Seconds of CPU that a scene and its certificate may take; some take seven.
LIMIT = 300


@dataclass(frozen=True)
class Line:
    """What became of a scene and of its certificate.

    Attributes:
        name: family, "plane" or "space", seed.
        told: of the run.
        verdict: of the certificate: "holds", or which of its claims fail, with their digits; "hangs" or "dies" where it
            came to no end.
        ended: how the process ended before the run did, likewise; empty where it did not.
        seconds: of CPU for the run, its compilation included, and for the certificate.
    """

    name: str
    told: Told = field(default_factory=Told)
    verdict: str = ""
    ended: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)

    @property
    def outcome(self) -> str:
        """In a word or two."""
        if self.told.error:
            return "stops with an error"
        if self.told.inside >= INSIDE:
            return "inside"
        if self.told.growth >= GROWTH:
            return "gains energy"
        return self.ended or "comes to its end"

    def __str__(self) -> str:
        t = self.told
        numbers = f"{t.growth:9.1e} J {t.inside:8.1e} m {t.contacts:3} contacts {t.changes:5} events"
        cpu = "{:6.1f} s {:6.1f} s".format(*self.seconds)
        return f"{self.name:22}{self.outcome:20}{numbers}{cpu}  {self.verdict}  {t.error}".rstrip()


def run_scene(name: str, family: str, seed: int, spatial: bool, states: int, results: Connection) -> None:
    """Run a scene, certify it, and send its line after each of the two."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 5))
    model, q = FAMILIES[family].scene(seed, spatial=spatial)
    try:
        found = told(model, q)
    except Exception as error:  # none of kane's: that is what is looked for
        found = Told(error=f"{type(error).__name__}: {error}")
    line = Line(name, found, seconds=(time.process_time(), 0.0))
    results.send(line)
    if states:
        failed = [f"{f.claim}: {f.digits:.1f} {f.remark}" for f in kane.certify(model, states=states) if not f.holds]
        verdict = "FAILS " + "; ".join(failed) if failed else "holds"
        results.send(replace(line, verdict=verdict, seconds=(line.seconds[0], time.process_time() - line.seconds[0])))


def lines(family: str, seeds: range, states: int, processes: int) -> Iterator[Line]:
    """The scenes in as many processes, as each comes to its end."""
    fork = multiprocessing.get_context("fork")
    left = iter(list(product(seeds, FAMILIES[family].spatial)))
    running: dict[Any, tuple[str, Connection]] = {}
    while True:
        while len(running) < processes and (drawn := next(left, None)):
            seed, spatial = drawn
            name = f"{family} {'space' if spatial else 'plane'} {seed}"
            here, there = fork.Pipe(duplex=False)
            process = fork.Process(target=run_scene, args=(name, family, seed, spatial, states, there))
            process.start()
            there.close()
            running[process.sentinel] = process, name, here
        if not running:
            return
        for sentinel in wait(running):
            process, name, here = running.pop(sentinel)
            process.join()
            how = "hangs" if process.exitcode == -signal.SIGXCPU else "dies"
            line = Line(name, ended=how)
            while here.poll():
                try:
                    line = here.recv()
                except EOFError:
                    break
            yield line if line.verdict or line.ended or not states else replace(line, verdict=how)


def main(arguments: list[str]) -> None:
    """Print a line a scene, and then the counts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scenes")
    parser.add_argument("family", nargs="?", default="large", choices=list(FAMILIES))
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("last", nargs="?", type=int, default=500)
    parser.add_argument("--states", type=int, default=2)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked = parser.parse_args(arguments)
    outcomes, verdicts, growth, inside = Counter(), Counter(), 0.0, 0.0
    for line in lines(asked.family, range(asked.first, asked.last), asked.states, asked.processes):
        print(line, flush=True)
        outcomes[line.outcome] += 1
        verdicts[line.verdict.partition(" ")[0]] += asked.states > 0
        if not line.told.error:
            growth, inside = max(growth, line.told.growth), max(inside, line.told.inside)
    print(f"{dict(outcomes)}; certificates {dict(+verdicts)}; energy +{growth:.1e} J, inside {inside:.1e} m at most")


if __name__ == "__main__":
    main(sys.argv[1:])
