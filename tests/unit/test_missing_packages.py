"""kane without the packages of its extras: runs and plots work, and each other function names its package."""

import json
import subprocess
import sys

import pytest

import kane
from kane.files.lock import locked_file

OPTIONAL = ("scipy", "xarray", "pandas", "h5netcdf", "h5py", "typer", "numba", "sympy", "trimesh", "websockets", "zarr")
WITHOUT = f"""
import json, sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
import numpy as np
import kane

m = kane.Model("pendulum")
bob = m.body("bob", mass=1.0, inertia=(0.01, 0.01, 0.002), com=(0, 0, -0.5))
m.connect(m.ground, bob, kane.Revolute("q", axis="y"))
dyn = kane.build(kane.formulate(m))
run = kane.simulate(dyn, until=1.0, q={{"q": 1.0}})
run.plot().savefig("plot.png")
ledger = kane.power_ledger(m)
many = kane.simulate_many(dyn, q=[[0.1], [0.2]], until=0.1, times=[0.0, 0.1])
calls = {{
    "dataset": run.to_xarray,
    "frame": run.to_pandas,
    "file": lambda: run.save("run.nc"),
    "load": lambda: kane.Trajectory.load("run.nc"),
    "ledger": lambda: ledger.along(run),
    "ensemble": many.to_xarray,
    "ensemble's file": lambda: many.save("many.nc"),
    "spline": lambda: kane.spline(m.time, [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0]),
    "follow": lambda: kane.follow(dyn, q={{"q": np.zeros(9)}}, times=np.linspace(0.0, 1.0, 9)),
    "scipy's system": lambda: kane.linearize(dyn, q=[0.0]).to_scipy(),
}}
found = {{}}
for name, call in calls.items():
    try:
        call()
    except kane.ModelError as error:
        found[name] = str(error)
print(json.dumps(found))
"""
OF_XARRAY = ("dataset", "frame", "file", "load", "ledger", "ensemble", "ensemble's file")
PACKAGES = dict.fromkeys(OF_XARRAY, "xarray") | dict.fromkeys(("spline", "follow", "scipy's system"), "scipy")


def process(text, folder, *more):
    return subprocess.run([sys.executable, "-c", text, *more], capture_output=True, text=True, cwd=folder, timeout=500)


def test_runs_and_plots_need_no_extra_and_other_functions_name_theirs(tmp_path):
    done = process(WITHOUT, tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (tmp_path / "plot.png").stat().st_size > 1000
    assert set(found) == set(PACKAGES)
    for name, package in PACKAGES.items():
        assert f"pip install '{package}>=" in found[name], name


def test_commands_name_the_package_that_they_need(tmp_path):
    text = "import sys; sys.modules['typer'] = None; sys.argv[0] = 'kane'; from kane.cli.start import start; start()"
    assert process(text, tmp_path, "--version").stdout == f"kane {kane.__version__}\n"
    done = process(text, tmp_path, "count", "wrist")
    assert done.returncode == 1
    assert done.stderr.startswith("kane: the commands need the package typer; pip install 'scipy>=1.13' 'typer>=0.20'")


def test_a_locked_file_waits_for_the_process_that_holds_it(tmp_path):
    """The child writes only after this process has let go."""
    text = (
        "import sys, pathlib; from kane.files.lock import locked_file\n"
        "print('begins', flush=True)\n"
        "with locked_file(pathlib.Path('lock')): pathlib.Path('entered').touch()"
    )
    with locked_file(tmp_path / "lock"):
        child = subprocess.Popen([sys.executable, "-c", text], cwd=tmp_path, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.3)
        assert not (tmp_path / "entered").exists()
    assert child.wait(60) == 0
    assert (tmp_path / "entered").exists()


def test_stores_of_sweeps_are_refused_where_folders_cannot_be_locked(tmp_path, monkeypatch):
    dyn = kane.build(kane.formulate(kane.library.wrist()))
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(kane.FileError, match=r"Windows has no locks of folders, .* sweep without a store"):
        kane.sweep(dyn, runs=kane.sample(3, q1=(-0.1, 0.1)), seed=0, until=0.01, store=tmp_path / "store")
