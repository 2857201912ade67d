"""Pages: one HTML file that contains a scene and a run or equations, and needs no network."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from kane.codegen.emit.javascript import emit_javascript, javascript_name, literal
from kane.codegen.programs.program import Program
from kane.display.forms import Triangles
from kane.display.scene import Scene
from kane.display.simplified import lighter
from kane.files.given_path import given_path
from kane.files.write_file import write_whole

SCRIPTS = tuple(
    f"{x}.js" for x in ["linear", "motion", "render", "scene", "page", "controls", "terms", "hand", "start"]
)
_ALONE = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'"
_SERVED = _ALONE + " blob:; connect-src {socket}"
# Coordinates of corners are integers from 0 to CORNER_STEPS across a form.
CORNER_STEPS = 65535


@dataclass(frozen=True)
class Page:
    """Content of a page, for JavaScript.

    Attributes:
        title: title of the page.
        content: plain data.
        programs: programs that run in the browser; ``defaults`` has the values of their parameters.
    """

    title: str
    content: Mapping[str, Any]
    programs: Sequence[Program]
    defaults: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Page {self.title!r}>"

    def html(self) -> str:
        """Return the complete page."""
        start = f"begin({literal(self.content)}, kane_programs());"
        return document(self.title, f"{self.source()}\n{start}")

    def source(self) -> str:
        """Return JavaScript that defines ``kane_programs``, the programs by name."""
        text = emit_javascript(self.programs, name=self.title, defaults=self.defaults)
        entries = ", ".join(f"{literal(p.name)}: {javascript_name(p)}" for p in self.programs)
        return f"window.kane_programs = () => {{\n{text}\nreturn {{ {entries} }};\n}};"

    def message(self) -> str:
        """Return the message that a server sends to its page."""
        return json.dumps({"page": self.content, "source": self.source()})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as one file.

        Raises:
            FileError: the file cannot be written.
        """
        target = given_path(path, "the file of a page")
        text = self.html()
        write_whole(target, partial(Path.write_text, data=text, encoding="utf-8"))
        return Path(target)


def served(title: str, socket: str) -> str:
    """Return a page without content, which requests the content from the address ``socket``."""
    return document(title, "connect();", socket)


def document(title: str, begin: str, socket: str = "") -> str:
    """Return HTML with the scripts of the page, followed by the statement ``begin``."""
    nonce = secrets.token_urlsafe(16)
    policy = _SERVED if socket else _ALONE
    scripts = "\n".join(asset(name) for name in SCRIPTS)
    return Template(asset("page.html")).substitute(
        title=escape(title),
        version=_version(),
        policy=policy.format(nonce=nonce, socket=socket),
        nonce=nonce,
        style=asset("page.css"),
        script=f'"use strict";\n{scripts}\n{begin}',
    )


def asset(name: str) -> str:
    """Return the text of a file of the page."""
    return (files("kane.display") / "page" / name).read_text("utf-8")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("kane")
    except PackageNotFoundError:  # kane runs from its source
        return "from source"


def scene_form(scene: Scene) -> dict[str, Any]:
    """Return a scene as plain data."""
    names = {form: form if isinstance(form, str) else f"solid {k}" for k, form in enumerate(scene.forms)}
    return {
        "frames": list(scene.frames),
        "bodies": scene.bodies,
        "size": scene.size,
        "up": list(scene.up),
        "pieces": [
            [p.body, names[p.form], _digits(p.stretch.ravel()), _digits(p.position), p.look] for p in scene.pieces
        ],
        "ties": [[*tie.bodies, *map(_digits, tie.points)] for tie in scene.ties],
        "forms": {names[form]: _form(triangles) for form, triangles in lighter(scene.forms).items()},
    }


def _digits(values: Any) -> list[float]:
    return [float(f"{x:.7g}") for x in values]


def _form(form: Triangles) -> dict[str, Any]:
    """Return triangles as plain data: corners as integers up to CORNER_STEPS, normals as integers up to 127."""
    low, high = form.points.min(axis=0), form.points.max(axis=0)
    step = np.where(high > low, (high - low) / CORNER_STEPS, 1.0)
    found = {"low": low.tolist(), "step": step.tolist()}
    coarse = np.round((form.points - low) / step).astype("<u2")
    return {
        **found,
        "points": encoded(coarse),
        "normals": encoded(np.round(127 * form.normals).astype("i1")) if form.normals.any() else "",
        "faces": encoded(form.faces.astype("<u4")),
    }


def encoded(values: np.ndarray) -> str:
    """Return the bytes of an array, in memory order, as base64."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
