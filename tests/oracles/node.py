"""JavaScript run by Node; tests skip with a message if there is no Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest

NODE = shutil.which("node") or shutil.which("nodejs")


def needs_node() -> str:
    """Return the path of Node; without Node, skip the test, or fail it in continuous integration."""
    if NODE is None:
        message = "JavaScript was NOT tested: there is no node on this machine (apt-get install nodejs)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return NODE


def run_script(source: str, *, timeout: float = 120.0) -> Any:
    """Return the list of values that a script passes to ``give``, including NaN and infinities."""
    text = f"""
const kane_kept = [];
const give = (x) => kane_kept.push(x);
{source}
const kane_word = (key, x) => ArrayBuffer.isView(x) ? Array.from(x)
  : typeof x === "number" && !Number.isFinite(x) ? `#${{x}}` : x;
process.stdout.write(JSON.stringify(kane_kept, (k, x) => Array.isArray(x) ? x.map((y) => kane_word(k, y))
  : kane_word(k, x)));
"""
    done = subprocess.run([needs_node(), "-"], input=text, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr[-4000:]
    return [_numbers(x) for x in json.loads(done.stdout)]


def _numbers(x: Any) -> Any:
    if isinstance(x, list):
        return [_numbers(y) for y in x]
    if isinstance(x, dict):
        return {key: _numbers(y) for key, y in x.items()}
    return float(x[1:].replace("Infinity", "inf")) if isinstance(x, str) and x.startswith("#") else x
