"""What the figures were measured on and with."""

import datetime
import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

PACKAGES = ("numpy", "numba", "llvmlite", "pin", "casadi", "mujoco", "example-robot-data", "sympy", "pydy", "scipy")


class Conditions:
    """Date, machine and versions as lines of Markdown, and the load of the machine during the run.

    Args:
        core: on which everything is measured.
    """

    def __init__(self, core: int) -> None:
        self._core, self._start = core, datetime.datetime.now(datetime.UTC)
        self._loads = [os.getloadavg()[0]]
        self._revision = _revision()  # before the run writes its results

    def sample(self) -> None:
        """Takes down the load average of the last minute."""
        self._loads.append(os.getloadavg()[0])

    def lines(self) -> list[str]:
        """What holds so far."""
        minutes = (datetime.datetime.now(datetime.UTC) - self._start).total_seconds() / 60
        loads = self._loads
        load = f"{min(loads):.1f} to {max(loads):.1f}, mean {sum(loads) / len(loads):.1f}"
        return [
            f"{self._start:%Y-%m-%d %H:%M} UTC",
            f"{os.cpu_count()} cores, core {self._core} used, {minutes:.0f} minutes",
            f"load average during the run {load} (this run alone makes 1)",
            f"kane at {self._revision}, Python {platform.python_version()}, {_compiler('gcc')}, {_compiler('clang')}",
            ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        ]


def processor() -> str:
    """Its name, with family and model, by which results are kept."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    name = fields.get("model name", "unknown processor")
    return f"{name} (family {fields.get('cpu family')}, model {fields.get('model')})"


def _revision() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        result = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "an unknown revision"
    return result.stdout.strip()


def _compiler(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        return f"no {name}"
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
