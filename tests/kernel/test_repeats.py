"""Long programs as loops over parts that are alike: the bits of the same program written in one piece after another."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from oracles.loaded_tree import EVERY_JOINT, loaded_tree
from oracles.random_programs import random_arrays, random_program, smooth_program

import kane
from kane.codegen.emit import llvm_parts
from kane.codegen.emit.lanes import Lanes
from kane.codegen.emit.llvm import emit_llvm
from kane.codegen.emit.llvm_table import _joined
from kane.codegen.emit.repeats import ProgramPart, _words, count_written_steps, repeated
from kane.codegen.emit.steps import EmittedStep, group_steps
from kane.codegen.jit import compiler
from kane.codegen.programs.program import Program
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.operations import COORDINATE, PARAMETER
from kane.formulation.quantities.programs import program
from kane.library import chain


def straight(given, monkeypatch):
    """The program in pieces."""
    monkeypatch.setattr(llvm_parts, "LONG_PROGRAM", 10**9)
    return compiler.compile_program(given, lanes=False)


def looped(monkeypatch):
    """From here on programs are loops, however short they are and however little is alike."""
    monkeypatch.setattr(llvm_parts, "LONG_PROGRAM", 0)
    monkeypatch.setattr(llvm_parts, "MAX_WRITTEN_FRACTION", 2.0)


def same_bits(given, monkeypatch, seed=0):
    """Alone, in lanes, and in lanes with a stage of its own for each; who vouches: the same program in pieces."""
    alone = straight(given, monkeypatch)
    (state, rest), parameters = random_arrays(alone, seed, batch=(9,))
    many = parameters + 0.01 * np.arange(9)[:, None]
    stage, stages = alone.stage(parameters), alone.stage(many)
    expected, each = alone(state, rest, stage), alone(state, rest, stages)
    assert np.isfinite(expected).any(), "nothing is tested by what is not finite"
    looped(monkeypatch)
    loop = compiler.compile_program(given, lanes=False)
    np.testing.assert_array_equal(loop.stage(many), stages)
    np.testing.assert_array_equal(loop(state, rest, stage), expected)
    np.testing.assert_array_equal(loop(state, rest, stages), each)
    for own in (False, True):
        code = compiler._load_lanes(given, Lanes(8), own)
        out = np.full_like(expected, 77.0)
        code.ranges((state,), rest, stages if own else stage, batch=(9,), out=out)()(0, 9)
        np.testing.assert_array_equal(out, each if own else expected)


@pytest.mark.parametrize("name", ["inverse", "forward", "mass_matrix"])
def test_a_chain_gives_the_same_bits_as_straight_code(name, monkeypatch):
    same_bits(program(kane.formulate(chain(25)), name), monkeypatch)


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_trees_of_all_joints_and_loads_give_the_same_bits_as_straight_code(seed, monkeypatch):
    equations = kane.formulate(loaded_tree(seed, 6 + 4 * seed, joints=EVERY_JOINT))
    same_bits(program(equations, "inverse" if seed % 2 else "forward"), monkeypatch, seed)


@pytest.mark.parametrize("seed", range(2))
def test_programs_of_all_operations_give_the_same_bits_as_straight_code(seed, monkeypatch):
    same_bits(random_program(seed, 500), monkeypatch, seed)


def test_what_hardly_repeats_itself_stays_straight(monkeypatch):
    given = random_program(1, 3000)
    monkeypatch.setattr(llvm_parts, "LONG_PROGRAM", 0)
    assert "kane_main.order" not in emit_llvm(given).text


def test_a_chain_is_written_once_and_not_for_every_joint():
    """The operations written for 160 joints are not twice those for 80, but nearly the same."""
    counts = []
    for n in (80, 160):
        given = program(kane.formulate(chain(n)), "forward")
        steps = group_steps(given.instructions, given.angles, {})
        kinds = dict.fromkeys((*given.state, *given.rest, *given.stage_outputs), "state")
        counts.append((len(steps), count_written_steps(repeated(steps, kinds, {}))))
    (short, few), (long, many) = counts
    assert long > 1.9 * short
    assert many < 1.25 * few < 0.6 * short


def test_parts_that_are_alike_are_step_for_step_alike():
    """The same operations on the same of their own values, and on as many of others; together they are the program."""
    given = program(kane.formulate(chain(40)), "forward")
    steps = group_steps(given.instructions, given.angles, {})
    parts = repeated(steps, dict.fromkeys((*given.state, *given.rest, *given.stage_outputs), "state"), {})
    assert [step for part in parts for step in part.steps] == steps
    forms = {}
    for part in parts:
        inner = {node: k for k, node in enumerate(n for step in part.steps for n in step.nodes)}
        outer = {node: k for k, node in enumerate(part.reads)}
        assert inner.keys().isdisjoint(outer)
        form = [
            (node.op, node.data, *(inner[a] if a in inner else ~outer[a] for a in node.args))
            for step in part.steps
            for node in step.nodes
        ]
        assert forms.setdefault(part.body, form) == form
    assert len(forms) < len(parts), "nothing was found twice"


def test_numbers_that_differ_between_parts_stand_in_the_table(monkeypatch):
    """Horner's rule over constants and parameters that differ from part to part, and one number that does not."""
    arena = Arena()
    x, p = arena.leaf(COORDINATE, "x"), [arena.leaf(PARAMETER, f"p{i}") for i in range(3)]
    total = x
    for i in range(1500):
        total = (total * (0.3 + 1e-4 * i) + p[i % 3]) * 0.5
    same_bits(Program("horner", [total, p[0], x], state=[x], rest=[], parameters=p), monkeypatch)
    assert (
        "kane_main.constants = internal unnamed_addr constant [0 x double]"
        not in emit_llvm(Program("horner", [total], state=[x], rest=[], parameters=p)).text
    )


def test_no_two_parts_that_are_not_alike_are_one_body():
    """Steps that are like nothing, in three parts, between parts that are alike: each has a number of its own."""
    arena = Arena()
    nodes = [arena.leaf(COORDINATE, "x")]
    for i in range(700):
        nodes.append(nodes[-1] + float(i + 2))
    steps = [EmittedStep((node,), node.args) for node in nodes[1:]]
    parts = []
    for k in range(0, 700, 7):
        parts += [ProgramPart(steps[k : k + 5], (), k + 1), ProgramPart(steps[k + 5 : k + 7], (), 0)]
    joined = _joined(parts, 2)
    assert [step for part in joined for step in part.steps] == steps
    bodies = Counter(part.body for part in joined)
    assert bodies.pop(0) == 100
    assert sorted(bodies.values()) == [1] * 300


def test_an_output_that_is_wanted_twice_is_stored_twice(monkeypatch):
    equations = kane.formulate(chain(20))
    given = program(equations, "inverse")
    both = Program(
        "both", [*given.outputs, *given.outputs[::-1]], state=given.state, rest=given.rest, parameters=given.parameters
    )
    same_bits(both, monkeypatch)


def test_the_text_is_the_same_in_every_process():
    """Code is kept on the disk by its text, so that nothing in it may hang on the hashes of one process."""
    source = (
        "import hashlib, kane\n"
        "from kane.codegen.emit.llvm import emit_llvm\n"
        "from kane.formulation.quantities.programs import program\n"
        "text = emit_llvm(program(kane.formulate(kane.library.chain(70)), 'forward')).text\n"
        "assert 'kane_main.order' in text\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    runs = {subprocess.run([sys.executable, "-c", source], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1


def test_a_smooth_program_with_parameters_alone_in_its_stage_keeps_its_bits(monkeypatch):
    same_bits(smooth_program(terms=200), monkeypatch)


def test_sines_and_cosines_of_other_angles_are_not_alike():
    """Parts of the same operations on as many angles: the sine of the first and the cosine of the second, or not."""
    arena = Arena()
    x, steps = [arena.leaf(COORDINATE, f"x{i}") for i in range(4)], []
    for k, turned in enumerate((False, True)):
        a, b = x[2 * k : 2 * k + 2]
        nodes = (
            (construct.build_sin(a), construct.build_cos(b))
            if turned
            else (construct.build_sin(b), construct.build_cos(a))
        )
        steps.append(EmittedStep(nodes, (a, b), (a, b)))
    words = _words(steps)
    assert words[0] != words[1]


def test_parts_read_at_one_place_at_two_and_after_what_is_like_nothing(monkeypatch):
    """A coordinate and a number that are the same in all parts, one of two parameters in each, a number of its own.

    What each part adds stays in the sum: what contracts forgets what was read wrong a hundred steps ago.
    """
    arena = Arena()
    x, p = arena.leaf(COORDINATE, "x"), [arena.leaf(PARAMETER, f"p{i}") for i in range(2)]
    total, source = x, np.random.default_rng(0)
    for i in source.integers(0, 3, 500):
        total = (total * x + p[1], total - p[0], 0.5 * total)[i]
    for i in range(900):
        total = ((total - x + p[i // 450]) * (1.0 - 1e-6 * i) + 0.25) * 0.9990234375
    same_bits(Program("places", [total], state=[x], rest=[], parameters=p), monkeypatch)
