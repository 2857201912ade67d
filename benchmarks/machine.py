"""What the figures were measured on and with."""

import datetime
import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

PACKAGES = ("numpy", "numba", "llvmlite", "pin", "casadi", "mujoco", "example-robot-data", "sympy", "pydy")


def description(core: int) -> str:
    """Date, machine, versions, as lines of Markdown."""
    now = datetime.datetime.now(datetime.UTC)
    load = os.getloadavg()[0]
    where = f"{os.cpu_count()} cores, core {core} used, load at the start {load:.1f}"
    lines = [
        f"- {now:%Y-%m-%d %H:%M} UTC, {_processor()}, {where}",
        f"- kane at {_revision()}, Python {platform.python_version()}, {_compiler()}",
        "- " + ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    ]
    return "\n".join(lines)


def _processor() -> str:
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


def _compiler() -> str:
    path = shutil.which("gcc")
    if path is None:
        return "no gcc"
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
