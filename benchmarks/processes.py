"""Measurements in processes of their own, where nothing is warm and memory is only what the task took."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import Figure

ROOT = Path(__file__).resolve().parents[1]
Laps = dict[str, Any]


def laps_of(module: str, *arguments: str) -> Laps | str:
    """Runs a module of this package, which prints laps [s] and more; or in words why there are none."""
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled Python is part of what is installed, on all sides
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return result.stderr.strip().splitlines()[-1].split("Error: ", 1)[-1]
    return dict(json.loads(result.stdout.splitlines()[-1]))


def first_numbers(sides: Sequence[str], key: str, batches: int) -> dict[str, list[Laps] | str]:
    """Several runs of every side of `benchmarks.first_number`, in turn."""
    return in_turn(sides, batches, lambda side, _: laps_of("first_number", side, key))


def derivations(sides: Sequence[str], key: str, batches: int) -> dict[str, list[Laps] | str]:
    """Several runs of every side of `benchmarks.derive_once`, in turn; the first of each counts and evaluates too."""
    return in_turn(sides, batches, lambda side, i: laps_of("derive_once", side, key, *["check"] * (i == 0)))


def in_turn(sides: Sequence[str], batches: int, run: Callable[[str, int], Laps | str]) -> dict[str, list[Laps] | str]:
    """run(side, batch) of every side in every batch; a side that fails once is not asked again."""
    results: dict[str, list[Laps] | str] = {side: [] for side in sides}
    for i in range(batches):
        for side in sides:
            runs = results[side]
            if isinstance(runs, str):
                continue
            laps = run(side, i)
            if isinstance(laps, str):
                results[side] = laps
            else:
                runs.append(laps)
    return results


def total(runs: Sequence[Laps], *names: str) -> Figure:
    """The sum of some laps in every run [s]."""
    return Figure(tuple(sum(laps[name] for name in names) for laps in runs))
