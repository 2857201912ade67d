"""The tape of native calls: a replay gives the same bits, and another result of one call is noticed."""

import os
import subprocess
import sys

import pytest

CALLS = """
import kane

def test_fall():
    m = kane.Model("fall")
    m.connect(m.ground, m.body("ball", mass=1.0, inertia=(1, 1, 1)), kane.Prismatic("h", axis="z"))
    kane.simulate(kane.build(kane.formulate(m)), until=1.0)
"""


@pytest.fixture(scope="module")
def tape(tmp_path_factory):
    """A folder with a test of one run, whose calls were recorded."""
    folder = tmp_path_factory.mktemp("tape")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_fall.py").write_text(CALLS)
    status, text = run(folder, "record")
    assert status == 0, text
    return folder


def run(folder, what, *options):
    """The exit status and the printed lines of a recording or a replay."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "oracles.tape", "--tape", what, *options]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [*command, "test_fall.py"], cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_a_replay_gives_the_same_bits(tape):
    status, text = run(tape, "replay")
    assert status == 0
    line = next(line for line in text.splitlines() if line.startswith("explicit.integrate_explicit"))
    calls, given, same, worst = line.split()[1:]
    assert int(calls) == int(given) == int(same) > 0
    assert float(worst) == 0.0


@pytest.mark.slow
def test_another_result_is_noticed_and_may_be_allowed(tape):
    """The last number on the tape, of the last result, is changed by a part in 1e12."""
    (file,) = (tape / ".pytest_cache/kane/tape").glob("*.bits")
    bits = bytearray(file.read_bytes())
    bits[-8] ^= 0x10
    file.write_bytes(bits)
    assert run(tape, "replay")[0] == 1
    assert run(tape, "replay", "--tape-within", "1e-3")[0] == 0


@pytest.mark.slow
def test_without_a_tape_a_replay_says_how_to_record_one(tape):
    status, text = run(tape, "replay", "--tape-folder", "elsewhere")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "record one with --tape record" in text
