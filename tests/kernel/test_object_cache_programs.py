"""Programs whose native code comes from disk."""

import os
import subprocess
import sys

import numpy as np
import pytest

import kane
from kane.codegen.jit import compiler, python_call
from kane.codegen.jit.compiler import compile_program
from kane.codegen.programs.program import Program
from kane.expression import functions
from kane.expression.arena import Arena
from kane.expression.operations import COORDINATE, PARAMETER
from kane.machine.object_cache import ENTRY

X, K = 0.7, 3.0
# atan2 is a function of the C library, which the loaded code has to find again.
EXPECTED = np.arctan2(np.sin(X), K**2) + X / K


def a_program():
    arena = Arena()
    x, k = arena.leaf(COORDINATE, "x"), arena.leaf(PARAMETER, "k")
    output = functions.atan2(functions.sin(x), k * k) + x / k
    return Program("angle", [output], state=[x], rest=[], parameters=[k])


def value(function):
    one = function([X], [], function.stage([K]))
    many = function(np.full((9, 1), X), np.empty((9, 0)), function.stage([K]))
    assert (many == one).all()
    return one[0]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    python_call._method()  # once for a process; its code would count among the programs
    monkeypatch.setenv("KANE_CACHE", "on")
    monkeypatch.setenv("KANE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows by the text of every module that LLVM compiles."""
    texts = []
    compile_text = compiler._object_code
    monkeypatch.setattr(
        compiler, "_object_code", lambda text, machine: texts.append(text) or compile_text(text, machine)
    )
    return texts


def test_a_program_is_compiled_once(folder, compilations):
    first, second = compile_program(a_program()), compile_program(a_program())
    assert len(compilations) == 1
    assert value(first) == value(second) == pytest.approx(EXPECTED, rel=1e-15)  # a few roundings


def test_loaded_code_runs_in_another_process(folder):
    # The second process is one in which LLVM would fail: no text is parsed but the empty one, no code is generated.
    script = """
import sys
from kane.codegen.jit import compiler
sys.path.insert(0, sys.argv[1])
from test_object_cache_programs import a_program, value
if sys.argv[2] == "second":
    def refuse(text, machine):
        raise AssertionError("compiled again")
    compiler._object_code = refuse
print(value(compiler.compile_program(a_program())).hex())
"""
    here = os.path.dirname(__file__)
    texts = [
        subprocess.run(
            [sys.executable, "-c", script, here, word], capture_output=True, text=True, check=True, timeout=120
        ).stdout
        for word in ("first", "second")
    ]
    assert texts[0] == texts[1]
    assert float.fromhex(texts[1]) == pytest.approx(EXPECTED, rel=1e-15)  # a few roundings


def test_a_program_with_another_number_is_another_entry(folder, compilations):
    arena = Arena()
    x = arena.leaf(COORDINATE, "x")
    for factor in (2.0, np.nextafter(2.0, 3.0)):
        function = compile_program(Program("times", [x * factor], state=[x], rest=[], parameters=[]))
        assert function([1.0], [], function.stage([]))[0] == factor
    assert len(compilations) == 2


@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 0.7, 0.999])
def test_damaged_code_is_compiled_again_and_never_run(folder, compilations, place):
    compile_program(a_program())
    (entry,) = folder.iterdir()
    good = entry.read_bytes()
    bad = bytearray(good)
    at = int(place * len(bad))
    bad[at : at + 64] = bytes(b ^ 0xFF for b in bad[at : at + 64])
    entry.write_bytes(bad)
    assert value(compile_program(a_program())) == pytest.approx(EXPECTED, rel=1e-15)  # a few roundings
    assert len(compilations) == 2
    assert entry.read_bytes() == good


OTHERS = {
    "get_host_cpu_name": lambda: "generic",
    "get_host_cpu_features": compiler.llvm.FeatureMap,
    "llvm_version_info": (7, 0, 0),
}


@pytest.mark.parametrize("name", OTHERS)
def test_code_of_another_processor_or_compiler_is_not_run(folder, compilations, monkeypatch, name):
    compile_program(a_program())
    monkeypatch.setattr(compiler.llvm, name, OTHERS[name])
    assert value(compile_program(a_program())) == pytest.approx(EXPECTED, rel=1e-15)  # a few roundings
    assert len(compilations) == 2
    assert len(list(folder.glob(f"*{ENTRY}"))) == 2


def test_a_folder_that_is_of_no_use_costs_a_warning_and_no_number(folder, compilations):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="other users may write to it"):
        assert value(compile_program(a_program())) == pytest.approx(EXPECTED, rel=1e-15)  # a few roundings
    assert list(folder.iterdir()) == []


def test_targets_and_programs_can_do_without(folder):
    compile_program(a_program(), cached=False)
    kane.LLVM(cache=False).compile(a_program())
    assert not folder.exists()
    kane.LLVM().compile(a_program())
    assert len(list(folder.iterdir())) == 1


def test_equations_derived_again_find_their_code(folder, compilations):
    model = kane.library.stanford_arm
    targets = (kane.LLVM(cache=False), kane.LLVM(), kane.LLVM())
    built = [kane.build(kane.formulate(model()), target=target) for target in targets]
    q, u = np.linspace(0.1, 0.6, 6), np.linspace(-1, 1, 6)
    fresh, kept, loaded = [dynamics.forward(q, u, np.zeros(6)) for dynamics in built]
    assert len(compilations) == 2 * len(["rhs", "energy", "forward"])
    assert (fresh == kept).all()  # the same code
    assert (fresh == loaded).all()
