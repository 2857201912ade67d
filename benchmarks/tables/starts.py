"""From the start of a process to its first result: the first process, which has no cache yet, and later ones."""

import sys
import tempfile

from benchmarks.mode import Mode
from benchmarks.report import Table, seconds
from benchmarks.start import PEER, TASKS, cpu_seconds
from benchmarks.timing import Figure

TITLE = "Start of a process"
COLUMNS = ("process", "first, s", "later, s", "x")
NOTE = (
    "CPU seconds, user and system, of a whole process with the start of Python; medians with (least-greatest). The "
    "first process has an empty cache of object code. x: time of MuJoCo's process over that of a later one, in turn."
)


def table(mode: Mode) -> Table:
    """Measures every task in turn, so that a disturbance of the machine meets all of them alike."""
    result = Table(TITLE, COLUMNS, notes=[NOTE])
    samples: dict[str, list[tuple[float, float]]] = {task: [] for task in TASKS}
    for _ in range(mode.processes):
        for task, code in TASKS.items():
            with tempfile.TemporaryDirectory() as cache:
                first, later = (cpu_seconds(sys.executable, code, cache) for _ in range(2))
                samples[task].append((first, later))
    peer = Figure(tuple(later for _, later in samples[PEER]))
    for task, times in samples.items():
        first, later = (Figure(tuple(part)) for part in zip(*times, strict=True))
        result.rows.append([task, seconds(first), seconds(later), result.ratio(task, "MuJoCo", later, peer)])
        result.alone(f"{task}, first", first)
    return result
