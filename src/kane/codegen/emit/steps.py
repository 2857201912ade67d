"""Group operations that are emitted together: one operation, a fused multiply-add, or sines and cosines in lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kane.deferred import NamedTuple
from kane.expression.node import Expr
from kane.expression.operations import COS, SIN

# Angles of one state whose sines and cosines are evaluated in parallel lanes. Eight would fill an AVX-512 register, but
# one AVX-512 instruction in scalar code costs 50 to 95 ns per call on Intel processors, for any number of angles.
_TOGETHER = 4


class EmittedStep(NamedTuple):
    """One operation, a sum fused with a product, or sines and cosines of angles evaluated together.

    Attributes:
        nodes: computed nodes.
        reads: operands.
        angles: arguments of the sines and cosines; empty for other operations.
        product: index of the sum's argument that is the fused product; None for other operations.
    """

    nodes: tuple[Expr, ...]
    reads: tuple[Expr, ...]
    angles: tuple[Expr, ...] = ()
    product: int | None = None


def group_steps(
    instructions: Sequence[Expr], together: Sequence[Expr], products: Mapping[Expr, int]
) -> list[EmittedStep]:
    """Return the operations as steps, in order.

    ``together`` are the angles evaluated in lanes; ``products`` maps sums to the index of their fused product.
    """
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
    """Return the nodes that are computed in one piece and read in another."""
    home = {node: k for k, piece in enumerate(pieces) for step in piece for node in step.nodes}
    found: dict[Expr, None] = {}
    for k, piece in enumerate(pieces):
        for step in piece:
            for a in step.reads:
                if home.get(a, k) != k:
                    found[a] = None
    return list(found)
