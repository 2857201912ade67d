"""The clamp is the only way to the program "write" of a device: who may name what lies on that way."""

import ast
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


def test_one_function_calls_the_program_write_and_two_call_that_one():
    writes = lambda node: isinstance(node, ast.Call) and "port.programs[1]" in text(node)  # noqa: E731
    assert functions_with(writes, NATIVE) == {"machine_calls.py:write_alone"}
    assert functions_with(calls("write_alone"), NATIVE) == {"tick.py:_write", "watchdog.py:watch_ticks"}


def test_what_is_written_is_zero_or_what_the_clamp_has_left():
    """The command has WRITTEN alone, which the clamp alone fills; the command of the watchdog is zero."""
    commands = lambda node: any("port.command[sample.FORCE" in x for x in targets(node))  # noqa: E731
    assert functions_with(commands, NATIVE) == {"tick.py:_write"}
    (tick,) = (path for path in NATIVE if path.name == "tick.py")
    assigned = [node for node in ast.walk(ast.parse(tick.read_text())) if commands(node)]
    assert [text(node.value) for node in assigned] == ["0.0 if s.counts[SEIZED] == 1 else s.moving[WRITTEN + i]"]
    clamped = lambda node: any(x.startswith("written[") or "moving[WRITTEN" in x for x in targets(node))  # noqa: E731
    assert functions_with(clamped, NATIVE) == {"safety.py:clamp"}
    views = lambda node: isinstance(node, ast.Subscript) and text(node).startswith("s.moving[WRITTEN:")  # noqa: E731
    assert functions_with(views, NATIVE) == {"safety.py:clamp"}
    assert functions_with(calls("clamp"), NATIVE) == {"tick.py:_tick"}


@pytest.mark.parametrize("word", ["write", "push"])
def test_in_python_nobody_takes_the_program_write_but_the_loop_and_what_ends_a_force(word):
    """A slot's program is handed on by Pointer; the handle made of numbers, in nobody's hand, may be pushed."""
    known = {
        "write": {"loop.py:new_circuit", "device.py:release", "simulated.py:push", "pointer.py:open"},
        "push": set(),
    }
    names = lambda node: isinstance(node, ast.Attribute) and node.attr == word and "file" not in text(node)  # noqa: E731
    found = functions_with(names, [path for path in FILES if SOURCE / "engine" not in path.parents])
    assert found == known[word]


def test_a_channel_that_others_than_simulated_devices_open_takes_no_force():
    from kane.haptics import Channel

    assert {name for name in vars(Channel) if not name.startswith("_")} == {"sample", "release"}
