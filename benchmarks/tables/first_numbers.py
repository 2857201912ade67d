"""From a model file to the first inverse and forward dynamics, every run in a fresh process."""

from benchmarks.mode import Mode
from benchmarks.processes import first_numbers, laps_of, total
from benchmarks.report import Table, seconds
from benchmarks.robots import FIVE, UR5, Robot, key_of

TITLE = "Model to first number"
COLUMNS = ("robot", "program", "s", "with imports, s", "imports", "model", "derive", "compile", "x", "x with imports")
NOTE = (
    "CPU seconds from reading the model to the first values of inverse and forward dynamics, each run a fresh process; "
    "without and with the imports of the packages that it needs, NumPy among them; medians, of totals with "
    "(least-greatest). x is the peer's time over that of kane. Nothing is cached, except in kane again: the same by a "
    "process that finds kane's native code on disk. Traced: Pinocchio and CasADi write C, gcc -march=native compiles "
    "it, with -O3 or, to be done sooner, -O1; building the tracing program itself (two minutes of g++) is left out. "
    "SymPy + PyDy (forward only): KanesMethod, then PyDy's Cython."
)
STAGES = ("model", "derive", "compile", "call")
SYMPY_ROBOTS = ("stanford", "ur5")  # the Panda takes the better part of a minute a run
SIDES = {
    "kane": "kane",
    "again": "kane again",
    "traced": "traced C + gcc -O3",
    "O1": "traced C + gcc -O1",
    "pydy": "SymPy + PyDy",
}


def table(mode: Mode) -> Table:
    """Measures the robots of the mode."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    for robot in (UR5,) if mode.quick else FIVE:
        _rows(robot, mode, result)
    return result


def _rows(robot: Robot, mode: Mode, result: Table) -> None:
    key = key_of(robot)
    sides = [side for side in SIDES if side != "pydy" or key in SYMPY_ROBOTS]
    laps_of("first_number", "again", key)  # leaves its code behind
    runs = first_numbers(sides, key, mode.processes)
    ours = runs["kane"]
    if isinstance(ours, str):
        raise RuntimeError(f"kane has no first number of {robot.title}: {ours}")
    for side, laps in runs.items():
        if isinstance(laps, str):
            result.note(f"No {SIDES[side]}: {laps}.")
            continue
        alone, whole = total(laps, *STAGES), total(laps, "import", *STAGES)
        stages = [f"{total(laps, name).median:.3g}" for name in ("import", *STAGES[:3])]
        ratios = ["", ""]
        if side == "again":
            result.alone(f"{robot.title}, again", alone)
            result.alone(f"{robot.title}, again, with imports", whole)
        elif side != "kane":
            ratios = [
                result.ratio(robot.title, SIDES[side], total(ours, *STAGES), alone),
                result.ratio(f"{robot.title}, with imports", SIDES[side], total(ours, "import", *STAGES), whole),
            ]
        result.rows.append([robot.title, SIDES[side], seconds(alone), seconds(whole), *stages, *ratios])
