"""The UR5, from its URDF to native equations of motion and a simulation with an energy balance.

`make demo` runs this example. It writes to out/: trajectory (NetCDF), plot (PNG), equations as a listing and as a CMake
project in C.
"""

import sys
import time
from pathlib import Path

from rich.console import Console
from scipy.integrate import simpson

import kane
from kane.cli.count import operation_table

OUT = Path("out")
DAMPING = 0.5  # N m s/rad, in every joint
START = [0.0, -0.4, 0.6, 0.2, 0.3, 0.0]  # rad; released from rest
UNTIL, STEP = 10.0, 1e-3  # s
TOLERANCE = 1e-6


def main() -> int:
    """Derive, build, simulate, check the energy balance, write the files."""
    OUT.mkdir(exist_ok=True)
    started = time.perf_counter()
    model = kane.load_urdf(kane.example_robot("ur5"), stops=False)
    for joint in model.connections:
        model.load(kane.Damper(joint, DAMPING))
    read = time.perf_counter()
    eqs = kane.formulate(model)
    eqs.count()  # derives all quantities of the table
    derived = time.perf_counter()
    dyn = kane.build(eqs)
    dyn.forward(START, [0.0] * 6, [0.0] * 6)
    built = time.perf_counter()
    kane.simulate(dyn, until=STEP, dt=STEP)  # loads the integrator, which was compiled once for all models
    loaded = time.perf_counter()
    run = kane.simulate(dyn, until=UNTIL, dt=STEP, every=1, q=START)
    finished = time.perf_counter()
    Console().print(operation_table("UR5: operations per call", eqs.count()))
    print(f"read {read - started:.3f} s, derive {derived - read:.3f} s, build and first call {built - derived:.3f} s,")
    print(f"load integrator {loaded - built:.3f} s, simulate {UNTIL:g} s in {finished - loaded:.3f} s")

    files = [OUT / "ur5.nc", OUT / "ur5.png"]
    run.save(files[0])
    run.plot().savefig(files[1])
    files += kane.export(eqs, OUT, kane.Listing(), quantities=["rhs"])
    files += kane.export(eqs, OUT / "c", kane.CSource(), quantities=["forward", "inverse"])
    print(f"wrote {', '.join(map(str, files))}")
    return check_energy(run)


def check_energy(run: kane.Trajectory) -> int:
    """Check that the energy lost equals the integral of sum c u^2, the work of the dampers; return 1 if not, else 0.

    Both sides use steps of 1 ms and methods of fourth order, RK4 and Simpson's rule. The motion has time constants of
    at least 0.1 s, so each relative error is about (1 ms / 0.1 s)^4 = 1e-8. A wrong sign or a missing term would give a
    relative error of about 1.
    """
    lost = run.energy[0] - run.energy[-1]
    damped = simpson(DAMPING * (run.u**2).sum(axis=1), x=run.time)
    error = abs(lost - damped) / lost
    print(f"energy lost {lost:.9f} J, taken by the dampers {damped:.9f} J, relative difference {error:.1e}")
    if not error < TOLERANCE:
        print(f"the energy balance is violated: the difference exceeds {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
