"""Native loops: compiled ahead, never run from code that is not of their sources, and no worse off where there is none.

The bits that count are those of numba, which compiles the same functions in a process as it always did.
"""

import io
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from oracles.source_mutants import everywhere

import kane
from kane.engine import code, kinds
from kane.engine.call import NativeLoop, call_program
from kane.engine.code import PORTABLE, Entry, compile_apart, keep, sources_digest
from kane.engine.compile.__main__ import FIRST_GROUPS, _runs, missing
from kane.engine.compile.entries import OPTIONS, entries, modules_of, translated
from kane.engine.compile.objects import code_of
from kane.engine.memory import loop_arguments as arrays
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.engine.project import projection as project
from kane.engine.rows import embedding
from kane.engine.step import batches, explicit, lanes
from kane.errors import CompileError
from kane.machine.processor import own_target, platform_targets

EACH = Entry("kane.engine.step.batches", "each_state")
SIMULATED = """
import sys, kane
arm, bar = (kane.build(kane.formulate(m)) for m in (kane.library.stanford_arm(), kane.library.four_bar()))
kane.simulate(arm, until=0.1)
kane.simulate(arm, until=0.1, dt=0.01, integrator=kane.Gauss4())
start = kane.assemble(bar)
kane.simulate(bar, until=0.1, q=start.q, u=start.u)
kane.simulate_many(arm, until=0.1, q=[[0.1] * len(arm.equations.q)] * 9)
print(*{name.split(".")[0] for name in sys.modules})
"""


def test_no_run_imports_numba():
    """Free and constrained, explicit and implicit, one and many."""
    environment = {**os.environ, "PYTHONPATH": str(Path(kane.__file__).parents[1])}
    command = [sys.executable, "-c", SIMULATED]
    imported = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert {"kane", "llvmlite"} < set(imported)
    assert "numba" not in imported


# Where code comes from -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with the code of one small loop, for processors of this kind and for all."""
    folder = tmp_path_factory.mktemp("compiled")
    list(compile_apart(folder, "--only", EACH.group, "--targets", *platform_targets(), PORTABLE))
    return folder


@pytest.fixture
def installation(compiled, tmp_path, monkeypatch):
    """A copy of it in the place of the installation's own, an empty cache, and no numba."""
    folder = tmp_path / "compiled"
    shutil.copytree(compiled, folder)
    monkeypatch.setattr(code, "FOLDER", folder)
    monkeypatch.setenv("KANE_CACHE", "on")
    monkeypatch.setenv("KANE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    yield folder
    code.linked_group.cache_clear()


def outdate(folder):
    """Let all files be of other sources."""
    for file in folder.glob("*/*"):
        head, _, rest = file.read_bytes().partition(b"\n")
        said = {**json.loads(head), "sources": "of another version"}
        file.write_bytes(json.dumps(said).encode() + b"\n" + rest)


def works():
    """Whether a loop that is linked anew calls a program once for every row."""
    code.linked_group.cache_clear()
    model = kane.library.n_link_pendulum(2)
    function = kane.build(kane.formulate(model), target=kane.LLVM(cache=False)).function("energy")
    loop, rng = NativeLoop(batches.each_state.function), np.random.default_rng(0)
    states, rests = rng.normal(size=(5, function.n_state)), np.zeros((5, function.n_rest))
    stage = function.stage(np.ones(function.n_parameters))
    out = np.zeros((5, function.n_out))
    loop(function.address, states, rests, stage[None], out, np.zeros(function.n_work))
    return np.array_equal(out, function(states, rests, stage))


def test_the_code_of_the_installation_is_taken_without_a_word(installation, caplog):
    assert works()
    assert caplog.messages == []
    assert not any(EACH.group.encode() in file.read_bytes() for file in (installation.parent / "cache").glob("*"))


def test_a_processor_that_no_code_was_made_for_gets_it_from_bitcode_with_a_word_and_keeps_it(
    installation, caplog, monkeypatch
):
    monkeypatch.setattr(code, "own_target", lambda: None)
    assert works()
    told = "kane: compiling native code, step.batches, of which the installation has none for this processor"
    assert caplog.messages == [told]
    caplog.clear()
    assert works()
    assert caplog.messages == []


def test_bitcode_that_llvm_cannot_read_is_a_named_error(installation, monkeypatch):
    monkeypatch.setattr(code, "own_target", lambda: None)
    keep(installation, EACH.group, PORTABLE, b"of another time")
    with pytest.raises(CompileError, match=r"(?s)cannot read the native code of step\.batches .* upgrade llvmlite"):
        works()


@pytest.mark.parametrize("fault", ["sources", "damage", "another's name", "no files", "no folder"])
def test_code_that_is_missing_damaged_or_older_than_its_source_is_never_run(fault, installation):
    """Without numba it is a named error: nothing wrong is linked."""
    if fault == "sources":
        outdate(installation)
    elif fault == "no folder":
        shutil.rmtree(installation)
    for file in list(installation.glob("*/*")):
        if fault == "damage":
            file.write_bytes(file.read_bytes()[:-1])
        elif fault == "another's name":
            keep(installation, "step.variations", file.parent.name, b"code")
            (file.parent / "step.variations").replace(file)
        elif fault == "no files":
            file.unlink()
    with pytest.raises(CompileError, match=r"step\.batches is missing .* or older than its source; install kane again"):
        works()


def test_code_older_than_its_source_is_compiled_anew_where_numba_is_and_kept_in_its_place(
    installation, monkeypatch, caplog
):
    outdate(installation)
    monkeypatch.setattr(code, "find_spec", lambda name: name)
    monkeypatch.setenv("KANE_CACHE", "off")
    assert works()
    began, *_, ended = caplog.messages  # progress in between, after 10 s
    assert began.startswith("kane: compiling native code for step.batches, once per installation")
    assert re.fullmatch(r"kane: compiled native code for step.batches in \d+ s", ended)
    caplog.clear()
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    assert works()
    assert caplog.messages == []


def test_a_read_only_installation_has_what_is_compiled_in_the_cache(installation, monkeypatch, caplog):
    outdate(installation)
    before = {file: file.read_bytes() for file in installation.glob("*/*")}
    monkeypatch.setattr(code, "find_spec", lambda name: name)
    monkeypatch.setattr(code.os, "access", lambda path, mode: False)
    assert works()
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    caplog.clear()
    assert works()
    assert caplog.messages == []
    assert {file: file.read_bytes() for file in installation.glob("*/*")} == before


def test_a_simulation_without_constraints_needs_only_the_code_that_an_installation_compiles(tmp_path):
    """The code in a folder of its own, and no numba: any other loop would raise an error."""
    folder, here = tmp_path / "compiled", code.own_target()
    if here is None:
        pytest.skip("this processor has no target of its own: its code comes from bitcode")
    (folder / here).mkdir(parents=True)
    for group in FIRST_GROUPS:
        shutil.copy(code.FOLDER / here / group, folder / here / group)
    text = f"""
import kane.engine.code as code
from pathlib import Path
code.FOLDER, code.find_spec = Path({str(folder)!r}), lambda name: None
import kane
arm = kane.build(kane.formulate(kane.library.stanford_arm()))
print(kane.simulate(arm, until=0.1).time[-1], kane.simulate(arm, until=0.1, dt=0.01).time[-1])
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(kane.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.1", "0.1"]
    assert done.stderr == ""


def test_the_first_of_a_group_compiles_the_group_once(tmp_path):
    """Two processes at once: the second one waits and finds nothing missing."""
    target = code.own_target() or PORTABLE
    command = [
        sys.executable,
        "-m",
        "kane.engine.compile",
        str(tmp_path),
        "--missing",
        "step.variations",
    ]
    environment = {**os.environ, **code.NUMBA_SETTINGS, "PYTHONPATH": str(Path(kane.__file__).parents[1])}
    pipes = {"stdout": subprocess.PIPE, "text": True, "env": environment}
    both = [subprocess.Popen([*command, "--targets", target], **pipes) for _ in range(2)]
    said = [process.communicate()[0].splitlines() for process in both]
    assert sorted(map(len, said)) == [0, 3]
    assert [file.name for file in (tmp_path / target).iterdir()] == ["step.variations"]


def test_a_compilation_that_fails_is_a_named_error(installation, monkeypatch):
    outdate(installation)
    monkeypatch.setattr(code, "find_spec", lambda name: name)
    monkeypatch.setattr(code.sys, "executable", shutil.which("false"))
    with pytest.raises(CompileError, match=r"native code could not be compiled: 1"):
        works()


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_nobody_who_reads_messages_is_no_reason_to_fail(monkeypatch, stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    code._tell("compiling")


def test_a_loop_is_stale_when_a_module_that_it_is_made_of_changed(tmp_path, monkeypatch):
    shutil.copytree(code.SOURCES / "compile", tmp_path / "compile")
    shutil.copy(code.SOURCES / "kinds.py", tmp_path)
    (tmp_path / "room").mkdir()
    loop = "from kane.engine.inlined import x\nfrom kane.engine.room import codes as named\n"
    for name, text in (("loop", loop), ("inlined", "x = 1\n"), ("room/codes", ""), ("other", "")):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(code, "SOURCES", tmp_path)
    digests = []
    for changed in ("other", "inlined", "room/codes", "loop"):
        sources_digest.cache_clear()
        digests.append(sources_digest("loop"))
        (tmp_path / f"{changed}.py").write_text("from kane.engine.inlined import x, y\n")
    sources_digest.cache_clear()
    assert digests[0] == digests[1]
    assert len({*digests, sources_digest("loop")}) == 4
    sources_digest.cache_clear()


def test_what_loops_are_made_of_is_part_of_their_digest(tmp_path, monkeypatch):
    """All modules of native code that a loop inlines from, the layout of its words, and what compiles it."""
    copy = tmp_path / "native"
    shutil.copytree(code.SOURCES, copy, ignore=shutil.ignore_patterns("compiled", "__pycache__"))
    monkeypatch.setattr(code, "SOURCES", copy)

    def digest(group="step.explicit"):
        sources_digest.cache_clear()
        return sources_digest(group)

    def after(part, group="step.explicit"):
        file = copy / f"{part}.py"
        text = file.read_text("utf-8")
        file.write_text(text + "\n", "utf-8")
        found = digest(group)
        file.write_text(text, "utf-8")
        return found

    known = digest()
    parts = [f"step/{name}" for name in ("explicit", "step_ends", "state_equation", "event_location")]
    parts += ["memory/loop_arguments", "call", "kinds", "compile/entries", "compile/objects"]
    assert all(after(part) != known for part in parts)
    assert all(after(part) == known for part in ("code", "step/lanes", "rows/embedding"))
    assert digest() == known
    of_room = digest("hybrid")
    assert all(after(part, "hybrid") != of_room for part in ("hybrid/collisions", "hybrid/moreau_jean", "laws/newton"))
    assert after("realtime/tick", "hybrid") == of_room
    sources_digest.cache_clear()


# What is compiled ----------------------------------------------------------------------------------------------------


def test_loops_in_lanes_are_compiled_for_every_width_that_machines_have():
    from kane.codegen.jit.compiler import lane_width

    titles = {title for title in entries() if title.startswith("step.lanes.integrate_lanes")}
    assert titles == {f"step.lanes.integrate_lanes-{n}" for n in (1, 4, 8)}
    assert lane_width() in arrays.LANE_WIDTHS


def test_code_for_one_processor_alone_has_the_lanes_that_it_runs_and_no_others(tmp_path):
    from kane.codegen.jit.compiler import lane_width

    target = own_target()
    if target is None:
        pytest.skip("a processor that no code is made for ahead")
    run = {entry.lanes for entry, _ in entries().values() if entry.group == "step.lanes" and _runs(entry, [target])}
    assert run == {1, lane_width()}
    assert all(_runs(entry, [target, PORTABLE]) for entry, _ in entries().values())


def test_code_is_missing_until_every_target_has_it(tmp_path):
    groups = {entry.group for entry, _ in entries().values()}
    assert set(missing(tmp_path, [PORTABLE])) == groups
    keep(tmp_path, "hybrid", PORTABLE, b"")
    assert set(missing(tmp_path, [PORTABLE])) == groups - {"hybrid"}
    assert set(missing(tmp_path, ["x86-64-v4", PORTABLE])) == groups


def refused(function):
    entry = Entry(__name__, function.__name__)
    return code_of(modules_of([translated(entry, NativeLoop(function))]), PORTABLE)


def _raises(n: int) -> int:
    if n < 0:
        raise ValueError("negative")
    return n


def _allocates(n: int) -> int:
    return np.empty(n).size


def _calls_c(x: float) -> int:
    return int(math.erf(x))


def _strided(address: int, x: Vector) -> int:
    call_program(address, x[::2], x, x, x, x)
    return 0


def _flat(address: int, x: Matrix) -> int:
    call_program(address, x, x, x, x, x)
    return 0


def _halves(n: int) -> int:
    return n / 2


def _is_odd(n: int) -> bool:
    return n % 2 == 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_raises, "_raises can raise an exception"),
        (_allocates, "numba rejects .*_allocates"),
        (_calls_c, "calls erf, which"),
        (_strided, "contiguous"),
        (_flat, "float64 vectors"),
        (_halves, "_halves returns float64, which differs from its annotation"),
        (_is_odd, "_is_odd returns bool, .* neither int nor float"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_could_not_run_is_refused_when_it_is_compiled(function, words):
    entries()
    with pytest.raises(CompileError, match=words):
        refused(function)


RAISES_IN_A_KERNEL = """
from numba.extending import register_jitable
from kane.errors import CompileError
from kane.engine.call import native_loop
from kane.engine.code import PORTABLE, Entry
from kane.engine.compile.entries import OPTIONS, entries, kernels, modules_of, translated
from kane.engine.compile.objects import code_of
from kane.engine.compile.parts import keep_parts

@register_jitable(**OPTIONS)
def kernel(n):
    if n > {limit}:
        raise ValueError("too large")
    return n

def loop(n: int) -> int:
    return kernel(n) + 1

entries()
keep_parts([*kernels(), "__main__.kernel"])
try:
    parts = [translated(Entry("x", "loop"), native_loop(loop))]
    print("compiled for", *code_of(modules_of(parts), PORTABLE).split(b"\\n")[:1])
except CompileError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (9, "kane.x.loop can raise an exception, which native code must not do: change the function that raises"),
        (2**63 - 1, "compiled for b'kane.x.loop'"),
    ],
)
def test_a_kernel_that_can_raise_is_refused(tmp_path, limit, said):
    """Calls do not look at the status of a kernel, so that the kernel itself must show that it raises."""
    script = tmp_path / "script.py"
    script.write_text(RAISES_IN_A_KERNEL.format(limit=limit))
    environment = {**os.environ, **code.NUMBA_SETTINGS, "PYTHONPATH": str(Path(kane.__file__).parents[1])}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == said


RECORDS = """
import ctypes
from typing import NamedTuple
import numpy as np
from numba.extending import register_jitable
from kane.engine.call import native_loop
from kane.engine.code import PORTABLE, Entry, _emitted
from kane.engine.compile.entries import OPTIONS, entries, kernels, modules_of, translated
from kane.engine.compile.objects import code_of
from kane.engine.compile.parts import keep_parts
from kane.engine.memory.loop_arguments import Matrix, Vector
from kane.errors import CompileError
from kane.machine.linker import link
from kane.machine.processor import target_machine

class Inner(NamedTuple):
    x: Vector
    n: int

class Outer(NamedTuple):
    inner: Inner
    A: Matrix
    scale: float

@register_jitable(**OPTIONS)
def made(inner, A, scale):
    return Outer(inner, A, scale)

@register_jitable(**OPTIONS)
def two(outer):
    return Inner(outer.inner.x[1:], 7), Inner(outer.A[1], 9)

@register_jitable(**OPTIONS)
def total(outer):
    (x, n), found = outer.inner, 0.0
    for i in range(x.size):
        found += outer.scale * x[i] + n * outer.A[i, 0]
    return found

def {name}(inner: Inner, A: Matrix) -> float:
    {body}

entries()
keep_parts([*kernels(), "__main__.made", "__main__.two", "__main__.total"])
try:
    entry = Entry("x", "{name}")
    parts = [translated(entry, native_loop({name}))]
except CompileError as error:
    print(error)
else:
    machine = target_machine(optimization=2)
    code = _emitted("x", code_of(modules_of(parts), PORTABLE), machine).partition(b"\\n")[2]
    linked, (address,) = link("x", code, [entry.symbol], (), machine)
    x, A = np.array([1.0, 2.0, 4.0]), np.arange(12.0).reshape(3, 4)
    words = np.array([x.ctypes.data, 3, 5, A.ctypes.data, 3, 4])
    run = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(address)
    print(run(words.ctypes.data) == {name}(Inner(x, 5), A))
"""
USES = """
    outer = made(inner, A, 0.5)
    first, second = two(outer)
    both = first.n + 10 * second.n + 100.0 * first.x[1] + 1000.0 * second.x[3]
    for k in range(3):
        again = made(Inner(inner.x[k:], k), A, 2.0)
        both += total(again) + total(outer)
    return both
"""
KEEPS = """
    best = made(inner, A, 0.5)
    for k in range(3):
        if k > best.inner.n:
            best = made(Inner(inner.x, k), A, 2.0)
    return total(best)
"""


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("uses", USES, "True"),
        ("keeps", KEEPS, "numba rejects x.keeps: keeps assigns records to best in several places, where a later one"),
    ],
)
def test_a_record_is_made_in_a_kernel_kept_in_another_and_returned_but_not_kept_by_a_loop(tmp_path, name, body, said):
    """Who vouches: Python, which runs the same function."""
    script = tmp_path / "script.py"
    script.write_text(RECORDS.format(name=name, body=body.strip()))
    environment = {**os.environ, **code.NUMBA_SETTINGS, "PYTHONPATH": str(Path(kane.__file__).parents[1])}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.startswith(said)


@pytest.mark.parametrize("hint", [np.ndarray, str, Vector | None, list[int]])
def test_an_annotation_that_loops_cannot_take_is_refused(hint):
    with pytest.raises(TypeError, match="a native loop cannot take"):
        kinds.kind_of(hint)


def test_an_array_is_of_one_kind_in_old_and_new_versions_of_numpy():
    """NDArray[float] is ndarray[..., dtype[float]] up to NumPy 2.4, and an alias with the argument float since."""
    new, old = Annotated[list[np.float64], 2], Annotated[tuple[int, np.dtype[np.float64]], 2]
    assert kinds.kind_of(new).put(np.zeros((3, 4)), []) == kinds.kind_of(old).put(np.zeros((3, 4)), []) == 96


# What is passed ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros(3, np.float32), "1 dimensions of float64"),
        (np.zeros((3, 1)), "1 dimensions of float64"),
        ([0.0], "1 dimensions of float64"),
        (np.zeros(6)[::2], "not C contiguous"),
        (np.broadcast_to(0.0, 3), "not writable"),
    ],
)
def test_an_array_that_native_code_would_misread_is_refused(value, words):
    with pytest.raises(TypeError, match=words):
        kinds.packed(kinds.kind_of(Vector), value)


def test_words_are_addresses_shapes_and_numbers_in_the_order_of_the_fields():
    a, b = np.zeros((2, 3)), np.zeros(0, np.int64)
    hint = tuple[float, Matrix, tuple[int, arrays.Indices]]
    words, size = kinds.packed(kinds.kind_of(hint), (0.5, a, (7, b)))
    expected = [a.ctypes.data, 2, 3, 7, b.ctypes.data, 0]
    assert np.frombuffer(words[:8])[0] == 0.5
    assert np.frombuffer(words[8:], np.int64).tolist() == expected
    assert size == a.nbytes


def test_a_run_whose_arrays_are_replaced_goes_on_with_the_new_ones():
    """Words of tuples are remembered while the tuples are the same."""
    steppers = [
        kane.Stepper(kane.build(kane.formulate(kane.library.n_link_pendulum(1))), q=[1.0, 0.2]) for _ in range(2)
    ]
    for stepper in steppers:
        stepper.step(0.01)
    one, other = (stepper._integration for stepper in steppers)
    one.store = one.store._replace(x=np.array([0.5, 0.0, 0.0, 0.0]))
    other.store.x[:] = 0.5, 0.0, 0.0, 0.0
    for stepper in steppers:
        stepper._integration.counts.slope_known[0] = 0
        stepper.step(0.01)
    assert np.array_equal(one.x, other.x)
    assert abs(one.x[0] - 0.5) < 1e-2


def test_a_loop_leaves_the_interpreter_to_other_threads():
    """While one thread is in a single long call, this one goes on; it could not if the lock were held."""
    dyn = kane.build(kane.formulate(kane.library.stanford_arm()))
    problem = kane.simulation.initial_value_problem.InitialValueProblem.of(dyn, None, None, ())
    nx = len(dyn.equations.q) + len(dyn.equations.u)
    course = kane.simulation.schedule.course.grid_course(0.0, 1e-6, 400_000)
    integration, method = problem.integration(course, np.full(nx, 0.1)), kane.RK4()
    method.advance(integration, 1)
    thread, turns = threading.Thread(target=method.advance, args=(integration, 400_000)), 0
    thread.start()
    while thread.is_alive():
        thread.join(0.005)
        turns += 1
    assert integration.finished
    assert turns > 3


# Bits ----------------------------------------------------------------------------------------------------------------


def by_numba(function):
    """What numba makes of a loop or program in this process, with all its optimisation for this processor."""
    from numba import cfunc, njit, types

    entries()
    if isinstance(function, NativeLoop):
        return njit(**OPTIONS)(function.function)
    return cfunc(types.void(*[types.CPointer(types.float64)] * 5), **OPTIONS)(function.function)


def single_runs():
    free, arm = (kane.build(kane.formulate(m)) for m in (kane.library.spacecraft_tree(), kane.library.stanford_arm()))
    moving = 0.1 * np.arange(1.0, 1.0 + len(free.equations.u))
    found = [kane.simulate(free, until=0.5, u=moving)]
    found.append(kane.simulate(arm, until=0.5, events=kane.Event(arm.equations.q[1])))
    found.append(kane.simulate(arm, until=0.2, dt=0.01, integrator=kane.RK4()))
    return [np.concatenate([run.final.q, run.final.u]) for run in found]


def many_runs():
    dyn = kane.build(kane.formulate(kane.library.spacecraft_tree()), target=kane.LLVM(lanes=True))
    moving = np.random.default_rng(0).normal(size=(11, len(dyn.equations.u)))
    return [kane.simulate_many(dyn, until=0.3, u=moving).u]


LOOPS = [(explicit.integrate_explicit, single_runs), (lanes.integrate_lanes, many_runs)]


@pytest.mark.slow
@pytest.mark.parametrize(("loop", "runs"), LOOPS)
def test_loops_compiled_ahead_give_the_bits_that_numba_gives(loop, runs):
    """Free steps with quaternions, events, fixed steps, lanes: nothing is fused, sums keep their order."""
    ahead = runs()
    with everywhere(loop, by_numba(loop)):
        again = runs()
    assert all(np.array_equal(a, b) for a, b in zip(ahead, again, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rhs", "project"])
def test_programs_compiled_ahead_give_the_bits_that_numba_gives(name):
    dyn = kane.build(kane.formulate(kane.library.n_four_bar(3)))
    function = dyn.project if name == "project" else dyn.function("rhs")
    states = 0.3 * np.random.default_rng(1).normal(size=(50, function.n_state))
    stage, rest = (
        function.stage([dyn.equations.defaults[p.name] for p in dyn.equations.parameters]),
        np.zeros(function.n_rest),
    )
    ahead = function(states, rest, stage.copy())
    program = by_numba(project.project if name == "project" else embedding.rhs)
    function.address = program.address
    assert np.array_equal(ahead, function(states, rest, stage.copy()), equal_nan=True)
    assert np.isfinite(ahead).any()
