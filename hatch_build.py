"""What hatchling runs before it packs a wheel: native loops and programs are compiled, which needs numba."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/kane/native/compiled"


class NativeCode(BuildHookInterface[Any]):
    """The code of native loops and programs, beside their sources: in the wheel, or in place for an editable one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile what is missing or older than its source; what is installed in place serves this machine alone."""
        root = Path(self.root)
        path = os.pathsep.join([str(root / "src"), *sys.path])  # numba is where pip put it for the build
        environment = {**os.environ, "PYTHONPATH": path}
        # -S: pip's sitecustomize would take from the path what an earlier install put there, kane itself
        command = [sys.executable, "-S", "-m", "kane.native.compile", str(root / FOLDER)]
        command += ["--here"] if version == "editable" else []
        subprocess.run(command, env=environment, check=True, cwd=root)
        build_data["artifacts"].append(f"/{FOLDER}/")
