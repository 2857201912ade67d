"""Runs the pages whose code saves pages with motions, and puts these into the site."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from staged_pages import LIVE, ROOT, place_of

_RUN = "from outputs import check_page; import sys; check_page(sys.argv[1])"


def write_live_pages(html: Path) -> None:
    """Run each page that links to a live page, two at a time; raise RuntimeError if one fails."""
    pages = [path for path in sorted((ROOT / "docs").rglob("*.md")) if f"]({LIVE}" in path.read_text("utf-8")]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda page: _run(page, html), pages))


def _run(page: Path, html: Path) -> None:
    target = html / Path(place_of(page.relative_to(ROOT).as_posix())).parent / LIVE
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(page)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the code of {page} fails:\n{done.stderr}")
        for path in Path(folder).glob("*.html"):
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / path.name)
