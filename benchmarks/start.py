"""CPU time of processes from their start to a first result: `python benchmarks/start.py [PYTHON ...]`.

Give the Python of a virtual environment with kane, or of several to compare them in turn; it is the one that runs this
otherwise. Install a wheel of `make wheel`: compiled Python and compiled loops are then part of what was installed.
"""

import os
import resource
import subprocess
import sys
import tempfile

TASKS = {
    "import numpy": "import numpy",
    "import kane": "import kane",
    "import kane, all of its names": "from kane import *",
    "kane count stanford_arm": "import sys; sys.argv[1:] = ['count', 'stanford_arm']; "
    "from kane.cli.main import app; app()",
    "first simulated result": "import kane; "
    "kane.simulate(kane.build(kane.formulate(kane.library.stanford_arm())), until=1.0)",
    "first simulated result under constraints": "import kane; "
    "dyn = kane.build(kane.formulate(kane.library.four_bar())); start = kane.assemble(dyn); "
    "kane.simulate(dyn, until=1.0, q=start.q, u=start.u)",
}
TURNS = 7


def cpu_seconds(python: str, code: str, cache: str) -> float:
    """Of one process, user and system."""
    environment = {**os.environ, "KANE_CACHE_DIR": cache, "COLUMNS": "80"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, "-c", code], env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """A table of Markdown: for each Python the first process, which has no cache yet, and the best of the others."""
    pythons = sys.argv[1:] or [sys.executable]
    print("| CPU time [s] |", " | ".join(f"{python}: first | then" for python in pythons), "|")
    print("|---|" + "---|" * 2 * len(pythons))
    for name, code in TASKS.items():
        with tempfile.TemporaryDirectory() as folder:
            caches = [os.path.join(folder, str(k)) for k in range(len(pythons))]
            turns = [[cpu_seconds(p, code, c) for p, c in zip(pythons, caches, strict=True)] for _ in range(TURNS)]
        times = list(zip(*turns, strict=True))
        print(f"| {name} |", " | ".join(f"{t[0]:.2f} | {min(t[1:]):.2f}" for t in times), "|", flush=True)


if __name__ == "__main__":
    main()
