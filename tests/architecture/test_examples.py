"""The demo runs, writes what it promises, and would notice a violated energy balance."""

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np


def test_the_demo_runs_and_writes_trajectory_plot_and_equations(root, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(root / "src")}
    command = [sys.executable, str(root / "examples" / "ur5.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "energy lost" in done.stdout
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"ur5.nc", "ur5.png", "ur5.txt", "c"}
    assert {p.name for p in (tmp_path / "out" / "c").iterdir()} == {"ur5.c", "ur5.h", "main.c", "CMakeLists.txt"}


def test_the_demo_fails_where_energy_is_lost_without_a_damper(root, capsys):
    specification = importlib.util.spec_from_file_location("ur5", root / "examples" / "ur5.py")
    ur5 = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(ur5)
    time = np.linspace(0.0, 1.0, 1001)
    still = SimpleNamespace(time=time, u=np.ones((1001, 6)), energy=np.linspace(5.0, 2.0, 1001))
    assert ur5.check_energy(still) == 0  # 6 joints at 1 rad/s with 0.5 N m s/rad take 3 W
    leaking = SimpleNamespace(time=time, u=np.ones((1001, 6)), energy=np.linspace(5.0, 1.999, 1001))
    assert ur5.check_energy(leaking) == 1
    assert "violated" in capsys.readouterr().err
