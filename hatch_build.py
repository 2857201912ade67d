"""Build hook of hatchling: compile native loops into a wheel that is made for others.

KANE_NATIVE=all compiles every loop and program for all processors of this kind, and tags the wheel for this platform.
Without it the wheel or editable installation carries no native code, because pip hides the output of build hooks:
minutes would pass in silence. It is tagged for any platform and requires the extra "compile": `make` compiles the code
of a first simulation in a step of its own, and kane compiles other code at its first use.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/kane/engine/compiled"
ALL = os.environ.get("KANE_NATIVE") == "all"


class NativeCode(BuildHookInterface[Any]):
    """The code of native loops and programs in a wheel, beside their sources."""

    def dependencies(self) -> list[str]:
        """Return the packages of the build: numba and NumPy compile, and nothing else needs them here."""
        core = self.metadata.core
        return [*core.optional_dependencies["compile"], "numpy>=2.0"] if ALL else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the code that is missing or older than its source."""
        root = Path(self.root)
        if not ALL or version == "editable":
            build_data["dependencies"] += self.metadata.core.optional_dependencies["compile"]
            return
        path = os.pathsep.join([str(root / "src"), *sys.path])  # numba is where pip put it for the build
        environment = {**os.environ, "PYTHONPATH": path}
        # -S: pip's sitecustomize would take from the path what an earlier install put there, kane itself
        command = [sys.executable, "-S", "-m", "kane.engine.compile", str(root / FOLDER)]
        subprocess.run(command, env=environment, check=True, cwd=root)
        build_data["artifacts"].append(f"/{FOLDER}/")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(sys.platform, platform.machine())}"


def platform_tag(system: str, machine: str) -> str:
    """Return the tag of a wheel with native code, which calls only functions of C that each version of a system has."""
    if system == "win32":
        return f"win_{machine.lower()}"
    return f"macosx_11_0_{machine}" if system == "darwin" else f"manylinux_2_17_{machine}.manylinux2014_{machine}"
