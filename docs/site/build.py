"""Builds the documentation site: python docs/site/build.py [FOLDER], out/docs by default.

The pages of the repository, and the generated pages of the reference and the gallery, become sources in FOLDER/source;
Sphinx turns them into FOLDER/html. Warnings are errors. The site then gets the Markdown of each page and llms.txt.
FOLDER/kane-VERSION-docs.zip is a copy of the site that needs no server.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from example_pages import write_examples
from gallery import write_gallery
from navigation import write_contents
from page_motions import write_live_pages
from reference import write_reference
from staged_pages import ROOT, Stage
from whole_site import broken_links, correct_html, foreign_requests, write_texts

import kane

HERE = Path(__file__).parent


def stage_all(folder: Path, html: Path) -> Stage:
    """Write the sources of all pages."""
    stage = Stage(folder)
    stage.copy_pages()
    for name, write in (
        ("examples", write_examples),
        ("reference", write_reference),
        ("gallery", lambda stage: write_gallery(stage, html)),
        ("contents", write_contents),
        ("live pages", lambda stage: write_live_pages(html)),
    ):
        began = time.perf_counter()
        write(stage)
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    stage.write_sources()
    return stage


def main(out: Path) -> int:
    """Build the site; return the exit status."""
    source, html = out / "source", out / "html"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(html, ignore_errors=True)
    html.mkdir(parents=True)
    stage = stage_all(source, html)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", str(os.cpu_count() or 1)]
    done = subprocess.run([*command, "-c", HERE, "-d", out / "doctrees", source, html], check=False)
    if done.returncode:
        return done.returncode
    write_texts(stage, html)
    correct_html(html)
    found = [*foreign_requests(html), *broken_links(html)]
    print("\n".join(found), end="\n" if found else "")
    print(f"{html / 'index.html'}; links that lead outside, which this build does not try: {len(stage.external)}")
    print(shutil.make_archive(str(out / f"kane-{kane.__version__}-docs"), "zip", html), "is the copy to take along")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out/docs").resolve()))
