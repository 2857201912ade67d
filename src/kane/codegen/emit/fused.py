"""Select the products that are fused with the sums that use them, on machines with fused multiply-add.

Fusing saves one operation. It also saves latency if the sum waits for the product, but adds latency if the sum waits
for its other argument. So a product is not fused if this would delay the outputs beyond a bound. The bound is the
larger of two times: the earliest time of the last output, and the smallest number of operations over the throughput.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from kane.expression import operations as ops
from kane.expression.node import Expr

# Latency of operations on current processors [cycles]; ELSE, for all other operations, is a call of the C library.
FUSED = 4
CYCLES = {ops.ADD: 2, ops.SUB: 2, ops.MUL: 3, ops.NEG: 1, ops.DIV: 13, ops.SQRT: 20, ops.SIN: 45, ops.COS: 45}
ELSE = 60
# Throughput [operations per cycle].
A_CYCLE = 2


def contracted(instructions: Sequence[Expr], outputs: Sequence[Expr]) -> dict[Expr, int]:
    """Return the sums and differences that are fused with a product, and the index of this argument.

    Only products with a single use are fused, and only where the latency bound permits.
    """
    choices = _choices(instructions, outputs)
    ready = _earliest(instructions, choices)
    late = max((ready.get(node, 0) for node in outputs), default=0)
    return _chosen(instructions, outputs, choices, ready, max(late, (len(instructions) - len(choices)) / A_CYCLE))


def contracted_everywhere(instructions: Sequence[Expr], outputs: Sequence[Expr]) -> dict[Expr, int]:
    """Return all possible fusions, for programs whose time depends on the number of operations and not on latency."""
    return {node: places[-1] for node, places in _choices(instructions, outputs).items()}


def _choices(instructions: Sequence[Expr], outputs: Sequence[Expr]) -> dict[Expr, list[int]]:
    """Return for each sum the indices of the arguments that it could fuse; sums that can fuse none are omitted."""
    uses = Counter(chain.from_iterable([node.args for node in instructions]))
    uses.update(outputs)
    products = {node for node in instructions if node.op == ops.MUL and uses[node] == 1}
    found = {}
    for node in instructions:
        if node.op == ops.ADD or node.op == ops.SUB:
            left, right = node.args
            if left in products or right in products:
                found[node] = [k for k in (0, 1) if node.args[k] in products]
    return found


def _earliest(instructions: Sequence[Expr], choices: Mapping[Expr, Sequence[int]]) -> dict[Expr, float]:
    """Return the earliest time of each result [cycles]; each sum is fused if this makes it earlier."""
    ready: dict[Expr, float] = {}
    for node in instructions:
        done = max([ready.get(a, 0) for a in node.args]) + CYCLES.get(node.op, ELSE)
        for k in choices.get(node, ()):
            done = min(done, _fused_by(node, k, ready))
        ready[node] = done
    return ready


def _fused_by(node: Expr, k: int, ready: Mapping[Expr, float]) -> float:
    """Return the earliest time of a sum that is fused with its argument k [cycles]."""
    (a, b), c = node.args[k].args, node.args[1 - k]
    return max(ready.get(a, 0), ready.get(b, 0), ready.get(c, 0)) + FUSED


def _chosen(
    instructions: Sequence[Expr],
    outputs: Sequence[Expr],
    choices: Mapping[Expr, Sequence[int]],
    ready: Mapping[Expr, float],
    end: float,
) -> dict[Expr, int]:
    """Return the fusions that keep all outputs within the time ``end``; select from the last operation backwards."""
    due = dict.fromkeys(outputs, end)  # latest permissible time of each result
    found: dict[Expr, int] = {}
    for node in reversed(instructions):
        time = due.get(node)
        if time is None:
            continue  # a product that is part of a fused sum
        before = time - CYCLES.get(node.op, ELSE)
        needed = node.args
        if node in choices:
            k = min(choices[node], key=lambda k: _fused_by(node, k, ready))
            if _fused_by(node, k, ready) <= time:
                found[node] = k
                before = time - FUSED
                needed = (*node.args[k].args, node.args[1 - k])
        for a in needed:
            due[a] = min(due.get(a, before), before)
    return found
