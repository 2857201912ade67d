"""Programs that test emitters, and their values by the interpreter."""

from __future__ import annotations

import numpy as np

from kane.codegen.programs.program import Program
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.derivative import forward
from kane.expression.functions import cos, maximum, sin, spline
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, INPUT, OPERATIONS, PARAMETER, SPEED, SPLINE, TIME
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS

TABLE = PiecewiseCubic.through([-1.0, 0.0, 0.5, 2.0, 2.5], [1.0, -2.0, 0.25, 3.0, -1.0])
HOSTILE = ["lambda", "Z1", "Z_2", "np", "jnp", "nan", "state", "shape", "match", "1st", "", "a b", "a_b", '"""', "a\nb",
           "\\", "\u03b8", "__x", "_spline", "None", "y1", "results", "import os"]  # fmt: skip


def every_operation() -> Program:
    """Return a program of every operation, applied to leaves and to other operations, to test parentheses."""
    arena = Arena()
    x, y, z = (arena.leaf(COORDINATE, name) for name in "xyz")
    outputs = []
    for op, constructor in CONSTRUCTORS.items():
        data = (TABLE,) if op == SPLINE else ()
        arity = OPERATIONS[op].arity
        for arguments in ((x, y, z), (x + y, y - z, x * z), (x / y, -(y * z), x < z), (x - y * z, x / (y * z), y**1.5)):
            outputs.append(constructor(*arguments[:arity], *data) * z - (y - x))
            outputs.append(1 / construct.neg(constructor(*arguments[:arity], *data)))
    return Program("f", outputs, state=[x, y, z], rest=[], parameters=[])


def moving() -> Program:
    """Return a program similar to equations of motion, of parameters m and L1, angles, speeds, input tau and time."""
    arena = Arena()
    t = arena.leaf(TIME, "t")
    q = [arena.leaf(COORDINATE, f"q{i}") for i in range(1, 4)]
    u = [arena.leaf(SPEED, f"u{i}") for i in range(1, 4)]
    length, mass = arena.leaf(PARAMETER, "L1"), arena.leaf(PARAMETER, "m")
    tau = arena.leaf(INPUT, "tau")
    height = length * sin(q[0]) + 0.5 * length * sin(q[0] + q[1]) + 0.3 * cos(q[2]) * sin(q[0] + q[1])
    (rate,) = forward([height], dict(zip(q, u, strict=True)))
    outputs = [mass * height * 9.81, 0.5 * mass * rate * rate + tau * u[0], rate, mass * length**2, sin(t) * tau, tau]
    return Program("f", outputs, state=[t, *q, *u], rest=[tau], parameters=[mass, length])


def hostile() -> tuple[Program, np.ndarray, list[float]]:
    """Return a program with names that are hard to emit, a state and parameters."""
    arena = Arena()
    leaves = [arena.leaf(COORDINATE, name) for name in HOSTILE]
    parameter = arena.leaf(PARAMETER, "'''")
    weighted = [(i + 2) * sin(leaf) * (parameter + i) for i, leaf in enumerate(leaves)]
    outputs = [*weighted, maximum(leaves[0], leaves[1]), spline(leaves[0], [0, 1, 2], [0, 1, 4])]
    program = Program('"""; import os', outputs, state=leaves, rest=[], parameters=[parameter])
    return program, np.linspace(0.1, 1.9, len(leaves)), [0.75]


def interpreted(program: Program, state, rest=(), parameters=()) -> np.ndarray:
    """Return the outputs of a program by the interpreter."""
    leaves = [*program.state, *program.rest, *program.parameters]
    values = dict(zip(leaves, map(float, [*state, *rest, *parameters]), strict=True))
    return np.array(interpret(program.outputs, values), float)


def loaded(source: str) -> dict:
    """Return the names that Python source defines."""
    names: dict = {}
    exec(compile(source, "generated", "exec"), names)
    return names


def nested() -> Program:
    """Return a program of operations that are used once and therefore emitted inside others, to test parentheses."""
    arena = Arena()
    x, y, z = (arena.leaf(COORDINATE, name) for name in "xyz")
    outputs = [x - (y - z), x - (y + z), x + (y - z), x + (y + z), x / (y / z), x / (y * z), x * (y / z), x * (y * z)]
    outputs += [(x - z) - y, (x / z) / y, (x - z) * y, y * (z - x), (z - x) ** 2.0, 2.0 ** (z - x), -(x + y), -(x * z)]
    outputs += [arena.constant(-2.0) ** z, x - arena.constant(-3.0), x * arena.constant(-3.0), (-x) ** 2.0]
    outputs += [0.5 ** (y - x), (0.5 - x) * y, arena.constant(-0.5) - (y - x), x - (-(y * z)), (x**y) ** z, x ** (y**z)]
    outputs += [x - (z - y), x / (z / y)]  # operations used twice get names, and are not nested
    return Program("f", outputs, state=[x, y, z], rest=[], parameters=[])
