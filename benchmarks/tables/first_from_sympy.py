"""From declarations in SymPy to the first accelerations: kane, and SymPy with PyDy."""

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.mode import Mode
from benchmarks.report import Table
from benchmarks.tables.from_sympy import difference_text

TITLE = "From SymPy to the first number"
COLUMNS = ("model", "kane, s", "SymPy + PyDy, s", "equations", "Cython", "x", "difference")
NOTE = (
    "CPU time from a KanesMethod with bodies and loads, whose equations are not formed, to the first accelerations; "
    "processes of their own, without imports. kane: model_from_sympy, formulate, build of all programs of a run, "
    "without the cache of object code. PyDy: kanes_equations, generate_ode_function with Cython and gcc, first call. "
    "The pendulum has absolute angles."
)
MODELS, QUICK_MODELS = ("20", "bicycle"), ("5",)
NAMES = {"bicycle": "bicycle of Whipple, 9 coordinates, 6 constraints"}


def table(mode: Mode) -> Table:
    """Measures the mode's models."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for model in QUICK_MODELS if mode.quick else MODELS:
        name = NAMES.get(model, f"pendulum of {model} links on a cart")
        ours, theirs = _measured("kane", model), _measured("pydy", model)
        if isinstance(theirs, str):
            result.note(f"{name}: {theirs}.")
            result.rows.append([name, f"{ours['total']:.2f}", "", "", "", "", ""])
            continue
        a, b = (np.array(x["accelerations"]) for x in (ours, theirs))
        difference = difference_text(float(np.abs(a - b).max() / np.abs(b).max())) if model != "bicycle" else ""
        seconds = [f"{theirs[word]:.2f}" for word in ("total", "derive", "compile")]
        ratio = f"{theirs['total'] / ours['total']:.1f}"
        result.rows.append([name, f"{ours['total']:.2f}", *seconds, ratio, difference])
    return result


def _measured(who: str, model: str) -> Any:
    """Laps of a process; the reason if a peer is missing."""
    command = [sys.executable, "-m", "benchmarks.first_from_sympy", who, model]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(run.stdout) if run.returncode == 0 else run.stderr.strip().splitlines()[-1]
