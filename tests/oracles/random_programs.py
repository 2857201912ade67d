"""Random programs of every operation, and arrays for them."""

import contextlib
import random

import numpy as np

from kane.codegen.programs.program import Program
from kane.errors import ExpressionError
from kane.expression import construct
from kane.expression.arena import Arena
from kane.expression.operations import CONSTANT, COORDINATE, INPUT, OPERATIONS, PARAMETER, SPEED, SPLINE, TIME
from kane.expression.spline import PiecewiseCubic
from kane.expression.traverse import CONSTRUCTORS, reachable

TABLE = PiecewiseCubic.through([-1.5, -0.5, 0.1, 1.0, 2.5], [0.3, -1.0, 0.7, 0.2, 1.1])
OPERATION_CODES = [op for op, row in enumerate(OPERATIONS) if row.arity]


def leaves_of(arena):
    state = [arena.leaf(TIME, "t")]
    state += [arena.leaf(COORDINATE, f"q{i}") for i in range(3)] + [arena.leaf(SPEED, f"u{i}") for i in range(3)]
    return state, [arena.leaf(INPUT, f"tau{i}") for i in range(3)], [arena.leaf(PARAMETER, f"p{i}") for i in range(4)]


def random_program(seed, operations):
    """Return a random program with all nodes as outputs, so that each operation is testable from its arguments."""
    source = random.Random(seed)
    arena = Arena()
    state, rest, parameters = leaves_of(arena)
    pool = [*state, *rest, *parameters]
    frequent = [op for op in OPERATION_CODES if OPERATIONS[op].name in ("add", "sub", "mul")]
    while len(arena.nodes) < operations:
        op = source.choice(frequent if source.random() < 0.5 else OPERATION_CODES)
        args = [source.choice(pool[-60:]) for _ in range(OPERATIONS[op].arity)]
        if len(args) == 2 and source.random() < 0.15:
            args[source.randrange(2)] = arena.constant(source.uniform(-2, 2))
        # Operations of constants fold, for example x - (x + c), and the root of a negative constant is refused.
        with contextlib.suppress(ExpressionError):
            pool.append(construct.build_spline(args[0], TABLE) if op == SPLINE else CONSTRUCTORS[op](*args))
    outputs = [n for n in reachable(pool) if n.op != CONSTANT]
    return Program("random", outputs, state=state, rest=rest, parameters=parameters)


def random_arrays(function, seed, batch=()):
    source = np.random.default_rng(seed)
    lengths = function.n_state, function.n_rest
    return [source.standard_normal((*batch, n)) for n in lengths], source.standard_normal(function.n_parameters)


def smooth_program(*, terms=300, seed=5):
    """Return a random program of bounded sums of products with few outputs, whose errors stay near round-off."""
    source = random.Random(seed)
    arena = Arena()
    state, rest, parameters = leaves_of(arena)
    pool = [*state, *rest, *parameters, *(f(x) for x in state for f in (construct.build_sin, construct.build_cos))]
    for _ in range(terms):
        a, b, c = (source.choice(pool[-40:]) for _ in range(3))
        pool.append(construct.build_tanh(a * b - c) if source.random() < 0.05 else (a * b + c) * 0.5)
    outputs = [*pool[-6:], state[1], parameters[2], arena.constant(2.5), pool[-1], parameters[0] * parameters[1]]
    return Program("smooth", outputs, state=state, rest=rest, parameters=parameters)
