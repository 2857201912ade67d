"""What is emitted together: one operation, a sum with the product in it, functions of angles side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kane.expression.node import Expr
from kane.expression.operations import COS, SIN

# Angles of one state whose sines and cosines are evaluated side by side. Eight would fill the registers of AVX-512, but
# one such instruction in scalar code slows down processors of Intel: by 50 to 95 ns a call, however many angles.
_TOGETHER = 4


class EmittedStep(NamedTuple):
    """Operations emitted together: one, a sum with a product in it, or functions of angles that share an evaluation.

    Attributes:
        nodes: what is computed.
        reads: what it is computed from.
        angles: of sines and cosines.
        product: the argument of the sum that is a product, evaluated with it.
    """

    nodes: tuple[Expr, ...]
    reads: tuple[Expr, ...]
    angles: tuple[Expr, ...] = ()
    product: int | None = None


def steps_of(instructions: Sequence[Expr], together: Sequence[Expr], products: Mapping[Expr, int]) -> list[EmittedStep]:
    """Operations in steps, in their order; ``together`` are angles evaluated side by side, ``products`` those fused."""
    functions: dict[Expr, list[Expr]] = {}
    for node in instructions:
        if node.op == SIN or node.op == COS:
            functions.setdefault(node.args[0], []).append(node)
    chunks = [tuple(together[i : i + _TOGETHER]) for i in range(0, len(together), _TOGETHER)]
    groups = {angle: chunk for chunk in chunks for angle in chunk}
    steps = []
    done = {node.args[k] for node, k in products.items()}
    for node in instructions:
        if node in done:
            continue
        if node.op == SIN or node.op == COS:
            angles = groups.get(node.args[0], (node.args[0],))
            nodes = tuple(f for angle in angles for f in functions[angle])
            done.update(nodes)
            steps.append(EmittedStep(nodes, angles, angles))
        elif node in products:
            k = products[node]
            steps.append(EmittedStep((node,), (*node.args[k].args, node.args[1 - k]), product=k))
        else:
            steps.append(EmittedStep((node,), node.args))
    return steps


def crossing(pieces: Sequence[Sequence[EmittedStep]]) -> list[Expr]:
    """What one piece computes and another reads."""
    home = {node: k for k, piece in enumerate(pieces) for step in piece for node in step.nodes}
    found: dict[Expr, None] = {}
    for k, piece in enumerate(pieces):
        for step in piece:
            for a in step.reads:
                if home.get(a, k) != k:
                    found[a] = None
    return list(found)
