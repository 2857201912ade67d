"""Programs: schedules, stages, counts and what they refuse."""

import re

import pytest

from kane.codegen.programs.program import Program
from kane.errors import ExpressionError
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.operations import (
    COORDINATE,
    COS,
    COST_CLASSES,
    INPUT,
    PARAMETER,
    SIN,
    SPEED,
    TIME,
)


class Leaves:
    """An arena with a leaf of each kind that programs read."""

    def __init__(self):
        self.arena = Arena()
        self.t = self.arena.leaf(TIME, "t")
        self.q = self.arena.leaf(COORDINATE, "q")
        self.u = self.arena.leaf(SPEED, "u")
        self.tau = self.arena.leaf(INPUT, "tau")
        self.mass = self.arena.leaf(PARAMETER, "mass")
        self.length = self.arena.leaf(PARAMETER, "length")

    def program(self, *outputs, **changes):
        lists = {"state": [self.t, self.q, self.u], "rest": [self.tau], "parameters": [self.mass, self.length]}
        return Program("test", outputs, **{**lists, **changes})


@pytest.fixture
def leaves():
    return Leaves()


def test_every_instruction_comes_after_its_arguments_and_once(leaves):
    s, c = construct.build_sin(leaves.q), construct.build_cos(leaves.q)
    program = leaves.program(s * leaves.u + c, construct.build_sin(s + leaves.t) * leaves.mass * leaves.length, s - c)
    ready = {*program.state, *program.rest, *program.stage_outputs}
    for node in program.instructions:
        assert node not in ready
        assert all(a in ready or a.is_constant for a in node.args)
        ready.add(node)
    assert all(o in ready for o in program.outputs)


def test_sines_and_cosines_of_independent_angles_come_first_and_side_by_side(leaves):
    inner = construct.build_sin(leaves.q)
    late = construct.build_cos(inner + leaves.t)
    shifted = leaves.t * 3.0
    program = leaves.program(leaves.u * leaves.tau + late + construct.build_cos(shifted), inner)
    assert program.angles == (leaves.q, shifted)
    words = [node.op for node in program.instructions]
    assert words[0] == shifted.op
    assert set(words[1:3]) == {SIN, COS}
    assert program.instructions.index(late) > 2


def test_what_depends_on_parameters_alone_is_the_parameter_stage(leaves):
    inertia = leaves.mass * leaves.length * leaves.length
    program = leaves.program(inertia * leaves.u + leaves.mass, construct.build_sin(leaves.length))
    assert program.stage_nodes[0] is leaves.length * leaves.length or inertia in program.stage_nodes
    assert set(program.stage_outputs) == {inertia, leaves.mass, construct.build_sin(leaves.length)}
    assert leaves.length not in program.stage_outputs
    assert len(program.instructions) == 2
    assert program.angles == ()


def test_counts_are_those_of_the_main_part(leaves):
    x = (
        leaves.mass * leaves.length * leaves.q
        + construct.build_sin(leaves.q) / leaves.u
        - construct.build_sqrt(leaves.q)
    )
    assert leaves.program(x).count() == {"mul": 1, "add": 2, "div": 1, "trig": 1, "other": 1}
    assert leaves.program(leaves.mass * leaves.length).count() == dict.fromkeys(COST_CLASSES, 0)


def test_a_leaf_without_a_place_is_named_with_its_kind(leaves):
    stray = leaves.arena.leaf(INPUT, "brake")
    with pytest.raises(ExpressionError, match="depends on the input 'brake'"):
        leaves.program(stray * leaves.q)
    with pytest.raises(ExpressionError, match="depends on the parameter 'mass'"):
        leaves.program(leaves.mass * leaves.q, parameters=[leaves.length])


def test_lists_of_leaves_hold_leaves_and_each_once(leaves):
    with pytest.raises(ExpressionError, match="'q' is listed twice"):
        leaves.program(leaves.q, rest=[leaves.q])
    with pytest.raises(ExpressionError, match="in state of 'test' is not a leaf"):
        leaves.program(leaves.q, state=[leaves.q * 2.0])
    with pytest.raises(ExpressionError, match="not a leaf"):
        leaves.program(leaves.q, rest=[leaves.arena.one])


def test_an_output_that_is_a_number_is_refused_by_position(leaves):
    with pytest.raises(ExpressionError, match=re.escape("output 1 of 'test' is 0.0, not an expression")):
        leaves.program(leaves.q, 0.0)
