"""CPU time of processes from their start to a first result: `python benchmarks/start.py [PYTHON ...]`.

Give the Python of a virtual environment with kane, or of several to compare them in turn; it is the one that runs this
otherwise. Install a wheel of `make wheel`: compiled Python and compiled loops are then part of what was installed.
"""

import os
import resource
import subprocess
import sys
import tempfile

_SIMULATED = "kane.simulate(kane.build(kane.formulate(m)), until=1.0"
_COMMAND = "import sys; sys.argv[1:] = {}; from kane.cli.start import start; start()"
_BOX = """
import kane
m = kane.Model("box", gravity=(0, 0, -9.81))
box = m.body("box", mass=1.0, inertia=(0.1, 0.1, 0.1))
m.connect(m.ground, box, kane.Free("b"))
floor = kane.Plane(m.ground.point(), m.ground.z)
m.contact(kane.Box(0.2, 0.2, 0.2, box.point()), floor, restitution=0.3, friction=kane.Coulomb(0.5))
"""
_MUJOCO = """
import mujoco
box = "<body pos='0 0 0.3'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody><geom type='plane' size='5 5 1'/>{box}</worldbody></mujoco>")
mujoco.mj_step(m, mujoco.MjData(m))
"""
PEER = "import mujoco, one step of a box on a floor"
TASKS = {
    "import numpy": "import numpy",
    "import kane": "import kane",
    "first use of Model, formulate, build, simulate": "import kane; "
    "kane.Model, kane.formulate, kane.build, kane.simulate",
    "import kane, all of its names": "from kane import *",
    "kane --help": _COMMAND.format(["--help"]),
    "kane count ur5": _COMMAND.format(["count", "ur5"]),
    "UR5, from its file to a trajectory": f"import kane; m = kane.load_urdf(kane.example_robot('ur5')); {_SIMULATED})",
    "box on a floor, to a trajectory": f"{_BOX}{_SIMULATED}, q={{'b_z': 0.3}})",
    "four-bar linkage, to a trajectory": "import kane; "
    "dyn = kane.build(kane.formulate(kane.library.four_bar())); start = kane.assemble(dyn); "
    "kane.simulate(dyn, until=1.0, q=start.q, u=start.u)",
    PEER: _MUJOCO,
}
TURNS = 7


def cpu_seconds(python: str, code: str, cache: str) -> float:
    """Of one process, user and system."""
    environment = {**os.environ, "KANE_CACHE_DIR": cache, "COLUMNS": "80"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [python, "-W", "ignore", "-c", code],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
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
