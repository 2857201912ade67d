"""Write the playground: python -m kane.display.playground.site FOLDER --pyodide FOLDER_WITH_PYODIDE."""

from __future__ import annotations

import argparse
import json
import shutil
import zipfile
from importlib.resources import files
from pathlib import Path

from kane.display.page import document
from kane.display.playground.models import MODELS
from kane.errors import FileError
from kane.machine.sources import PACKAGE_FOLDER

ASSETS = ("index.html", "playground.css", "playground.js", "worker.js")
# Folders of kane that derive, export and draw; the others need native code, files or servers.
FOLDERS = (
    "codegen", "display", "engine/memory", "exporters", "expression", "files", "formulation", "geometry", "importers",
    "library", "model",
)  # fmt: skip
SUFFIXES = (".py", ".pyi", ".js", ".css", ".html")
# Files of Pyodide; the lock names the file of NumPy.
RUNTIME = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")


def write_playground(folder: Path, pyodide: Path) -> Path:
    """Write the static site of the playground, which any server of files can serve; return its index.html.

    Args:
        folder: folder of the site, created if it does not exist.
        pyodide: folder with a distribution of Pyodide (files RUNTIME) and its wheel of NumPy.

    Raises:
        FileError: a file of Pyodide is missing; nothing is written.
    """
    runtime = [pyodide / name for name in (*RUNTIME, *_numpy(pyodide / "pyodide-lock.json"))]
    missing = [path.name for path in runtime if not path.is_file()]
    if missing:
        raise FileError(f"{str(pyodide)!r} lacks {', '.join(missing)}; give the folder of a full Pyodide distribution")
    (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    for path in runtime:
        shutil.copyfile(path, folder / "pyodide" / path.name)
    for name in ASSETS:
        (folder / name).write_text(_asset(name), "utf-8")
    (folder / "frame.html").write_text(document("model", _asset("frame.js"), "'none'"), "utf-8")
    (folder / "models.json").write_text(json.dumps(MODELS), "utf-8")
    write_sources(folder / "kane.zip")
    return folder / "index.html"


def _numpy(lock: Path) -> list[str]:
    """Return the file name of NumPy that a lock of Pyodide gives; nothing if there is no lock."""
    return [json.loads(lock.read_text("utf-8"))["packages"]["numpy"]["file_name"]] if lock.is_file() else []


def _asset(name: str) -> str:
    return (files("kane.display") / "playground" / name).read_text("utf-8")


def write_sources(path: Path) -> None:
    """Write the sources of kane that run in browsers as a ZIP archive, and the lists of names of all packages."""
    root = Path(PACKAGE_FOLDER)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*")):
            place = file.relative_to(root)
            inside = place.as_posix().startswith(tuple(f"{name}/" for name in FOLDERS))
            needed = inside or len(place.parts) == 1 or file.name == "__init__.py"
            if needed and file.suffix in SUFFIXES:
                archive.write(file, str(Path("kane") / place))


def playground_command() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m kane.display.playground.site", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the site")
    parser.add_argument("--pyodide", type=Path, required=True, help="folder with a full distribution of Pyodide")
    given = parser.parse_args()
    parser.exit(message=f"{write_playground(given.folder, given.pyodide)}\n")


if __name__ == "__main__":
    playground_command()
