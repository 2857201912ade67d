"""Measurements in processes of their own, where nothing is warm and memory is only what the task took."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import Figure

ROOT = Path(__file__).resolve().parents[1]
Laps = dict[str, float]


def first_number(side: str, key: str) -> Laps | str:
    """Runs `benchmarks.first_number`; its laps [s], or in words why there are none."""
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, "-m", "benchmarks.first_number", side, key]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return result.stderr.strip().splitlines()[-1].split("Error: ", 1)[-1]
    return dict(json.loads(result.stdout.splitlines()[-1]))


def first_numbers(sides: Sequence[str], key: str, batches: int) -> dict[str, list[Laps] | str]:
    """Several runs of every side, in turn; a side that fails once is not asked again."""
    results: dict[str, list[Laps] | str] = {side: [] for side in sides}
    for _ in range(batches):
        for side in sides:
            runs = results[side]
            if isinstance(runs, str):
                continue
            laps = first_number(side, key)
            if isinstance(laps, str):
                results[side] = laps
            else:
                runs.append(laps)
    return results


def total(runs: Sequence[Laps], *names: str) -> Figure:
    """The sum of some laps in every run [s]."""
    return Figure(tuple(sum(laps[name] for name in names) for laps in runs))
