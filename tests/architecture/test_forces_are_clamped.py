"""The clamps are the only way to the program "write" of a device: who may name what lies on that way."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "kane"
FILES = sorted([*(SOURCE / "haptics").rglob("*.py"), *(SOURCE / "engine" / "realtime").rglob("*.py")])
FILES += sorted((SOURCE / "viewer").rglob("*.py"))


def functions_with(matches, files=FILES):
    """Names of the functions, as file:name, with a node of this kind."""
    found = set()
    for path in files:
        tree = ast.parse(path.read_text())
        within = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for node in ast.walk(tree):
            if matches(node):
                holders = [f for f in within if f.lineno <= node.lineno <= f.end_lineno]
                found.add(f"{path.name}:{holders[-1].name if holders else ''}")
    return found


def text(node):
    return ast.unparse(node)


def targets(node):
    """What a statement assigns to, as it is written."""
    if isinstance(node, ast.Assign):
        return [text(part) for whole in node.targets for part in (getattr(whole, "elts", None) or [whole])]
    return [text(node.target)] if isinstance(node, ast.AugAssign | ast.AnnAssign) else []


def calls(name):
    return lambda node: isinstance(node, ast.Call) and text(node.func) == name


NATIVE = [path for path in FILES if SOURCE / "engine" in path.parents]


def writers(files):
    """Functions that call the program "write", and functions that call those."""
    writes = lambda node: isinstance(node, ast.Call) and "port.write" in text(node)  # noqa: E731
    return functions_with(writes, files), functions_with(calls("write_alone"), files)


def commanding(files):
    """Functions that fill the command of a device, also through another name or as a whole."""
    filled = re.compile(r"command\.(force|torque|position|moves|whole)\b|\b(force|torque)\b\[")
    return functions_with(lambda node: any(filled.match(x.removeprefix("s.port.")) for x in targets(node)), files)


def clamping(files):
    """Functions that fill the clamped wrench, the clamped position, or whether the device takes it."""
    filled = re.compile(r"(.*\.)?(written|placed)\[|(s\.)?state\.moves\[|moves\[")
    names = lambda node: isinstance(node, ast.Attribute) and node.attr == "written"  # noqa: E731

    def fills(node):
        return any(filled.match(x) for x in targets(node))

    return functions_with(names, files), functions_with(fills, files)


def whole_states(files):
    """Functions that take the numbers of a session as one array, in which the clamped wrench has no name."""
    return functions_with(lambda node: text(node) in ("s.state.whole", "state.whole", "circuit.state.whole"), files)


def test_one_function_calls_the_program_write_and_two_call_that_one():
    assert writers(NATIVE) == ({"machine_calls.py:write_alone"}, {"tick.py:_write", "watchdog.py:watch_ticks"})


def test_what_is_written_is_zero_or_what_the_clamp_has_left():
    """The clamp alone fills ``written``, and the command has nothing else; the command of the watchdog is zero."""
    assert commanding(NATIVE) == {"tick.py:_write"}
    (tick,) = (path for path in NATIVE if path.name == "tick.py")
    (write,) = (f for f in ast.parse(tick.read_text()).body if getattr(f, "name", "") == "_write")
    assigned = [text(node.value) for node in ast.walk(write) if any("[" in x for x in targets(node))]
    clamped = "0.0 if s.counts.seized[0] == 1 else s.state.written"
    held = "0.0 if s.counts.seized[0] == 1 else s.state.moves[0]"
    assert assigned == [held, f"{clamped}[i]", f"{clamped}[3 + i]", "s.state.placed[i]"]
    named, filled = clamping(NATIVE)
    assert named == {"safety.py:clamp", "safety.py:fail", "tick.py:_write"}
    assert filled == {"safety.py:clamp", "safety.py:place"}
    assert functions_with(calls("place"), NATIVE) == {"tick.py:_tick"}
    assert whole_states(NATIVE) == set()
    assert functions_with(calls("clamp"), NATIVE) == {"tick.py:_tick"}


@pytest.mark.parametrize(
    ("line", "seen_by"),
    [
        ("s.port.command.force[0] = 1.0", commanding),
        ("command.torque[i] = 1.0", commanding),
        ("s.port.command.whole[1] += 1.0", commanding),
        ("force[0] = 1.0", commanding),
        ("s.state.written[0] = 1.0", clamping),
        ("push = s.state.written", clamping),
        ("s.state.placed[0] = 1.0", clamping),
        ("placed[i] += 1.0", clamping),
        ("s.state.moves[0] = 1.0", clamping),
        ("command.position[0] = 1.0", commanding),
        ("s.port.command.moves[0] = 1.0", commanding),
        ("s.state.whole[50] = 1.0", whole_states),
        ("write_alone(s, now)", writers),
        ("call_program(s.port.write, d, d, d, d, d)", writers),
    ],
)
def test_another_function_that_writes_a_force_is_seen(tmp_path, line, seen_by):
    path = tmp_path / "coupler.py"
    path.write_text(f"def _push_hard(s, command, force, now, d, i):\n    {line}\n")
    assert "coupler.py:_push_hard" in str(seen_by([*NATIVE, path]))
    assert "coupler.py:_push_hard" not in str(seen_by(NATIVE))


@pytest.mark.parametrize("word", ["write", "push"])
def test_in_python_nobody_takes_the_program_write_but_the_loop_and_what_ends_a_force(word):
    """A slot's program is handed on by Pointer; the handle made of numbers, in nobody's hand, may be pushed."""
    known = {
        "write": {"circuit.py:new_circuit", "device.py:release", "simulated.py:push", "pointer.py:open"},
        "push": set(),
    }
    names = lambda node: isinstance(node, ast.Attribute) and node.attr == word and "file" not in text(node)  # noqa: E731
    found = functions_with(names, [path for path in FILES if SOURCE / "engine" not in path.parents])
    assert found == known[word]


def test_a_channel_that_others_than_simulated_devices_open_takes_no_force():
    from kane.haptics import Channel

    assert {name for name in vars(Channel) if not name.startswith("_")} == {"sample", "release"}
