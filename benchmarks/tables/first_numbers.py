"""From a model file to the first inverse and forward dynamics, every run in a fresh process."""

from benchmarks.mode import Mode
from benchmarks.processes import Laps, first_numbers, laps_of, total
from benchmarks.report import Table, seconds
from benchmarks.robots import FIVE, UR5, Robot, key_of

TITLE = "Model to first number"
COLUMNS = [
    "robot",
    "kane, s",
    "model",
    "derive",
    "compile",
    "import",
    "kane again, s",
    "traced + gcc, s",
    "trace",
    "gcc",
    "x",
]
COLUMNS += ["SymPy + PyDy, s", "x"]
NOTE = (
    "CPU seconds from reading the model to the first values of inverse and forward dynamics, each run a fresh process "
    "with its packages imported (kane's own import is the column of that name, not in the total); medians, of totals "
    "with (least-greatest). Nothing is cached, except in kane again: the same by a process that finds kane's native "
    "code on disk. Traced: Pinocchio and CasADi write C, gcc -O3 -march=native compiles it; building the tracing "
    "program itself (two minutes of g++) is left out. SymPy + PyDy (forward only): KanesMethod, then PyDy's Cython."
)
STAGES = ("model", "derive", "compile", "call")
SYMPY_ROBOTS = ("stanford", "ur5")  # the Panda takes the better part of a minute a run


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in (UR5,) if mode.quick else FIVE:
        result.rows.append(_row(robot, mode, result))
    return result


def _row(robot: Robot, mode: Mode, result: Table) -> list[str]:
    key, title = key_of(robot), robot.title
    sides = ("kane", "again", "traced", *["pydy"] * (key in SYMPY_ROBOTS))
    laps_of("first_number", "again", key)  # leaves its code behind
    runs = first_numbers(sides, key, mode.processes)
    for side, reason in runs.items():
        if isinstance(reason, str):
            result.note(f"No {side}: {reason}.")
    laps = {side: run for side, run in runs.items() if not isinstance(run, str)}
    totals = {side: total(run, *STAGES) for side, run in laps.items()}
    cells = [seconds(totals["kane"]), *_stages(laps["kane"], (*STAGES[:3], "import"))]
    cells.append(seconds(totals["again"]))
    result.alone(f"{title}, again", totals["again"])
    if "traced" in laps:
        cells += [seconds(totals["traced"]), *_stages(laps["traced"], ("derive", "compile"))]
        cells += [result.ratio(title, "traced C + gcc", totals["kane"], totals["traced"])]
    else:
        cells += ["missing", "-", "-", "-"]
    pydy = totals.get("pydy")
    absent = "missing" if key in SYMPY_ROBOTS else "-"
    times = result.ratio(title, "SymPy + PyDy", totals["kane"], pydy)
    return [title, *cells, absent if pydy is None else seconds(pydy), times]


def _stages(runs: list[Laps], names: tuple[str, ...]) -> list[str]:
    return [f"{total(runs, name).median:.3g}" for name in names]
