"""The tables of benchmarks that need no peer can be measured: a renamed attribute must not break them unseen."""

import os
import subprocess
import sys

import pytest

TABLES = (
    "loops",
    "modes",
    "modes-contacts",
    "contacts",
    "contact-steps",
    "switches",
    "contact-laws",
    "cones",
    "explanations",
)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_measured(table, tmp_path, root):
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", table, "--output", str(tmp_path)]
    path = os.pathsep.join([str(root), *sys.path])
    done = subprocess.run(
        command, cwd=root, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "\n## " in done.stdout
