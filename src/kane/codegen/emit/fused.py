"""Which products become one operation with the sum that takes them, on a machine with fused multiply-add.

That is one operation less, and less waiting where the product is what the sum waits for; but where the rest of the sum
comes last, the sum alone would be done sooner. So nothing is fused where all outputs then come later than they must:
than the time in which they could be there, or the time that so many operations take in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from kane.expression import operations as ops
from kane.expression.node import Expr

# Cycles until a result can be used, on processors of these years; of all else so many as of a call of the C library.
FUSED = 4
CYCLES = {ops.ADD: 2, ops.SUB: 2, ops.MUL: 3, ops.NEG: 1, ops.DIV: 13, ops.SQRT: 20, ops.SIN: 45, ops.COS: 45}
ELSE = 60
# Operations that they do in a cycle.
A_CYCLE = 2


def contracted(instructions: Sequence[Expr], outputs: Sequence[Expr]) -> dict[Expr, int]:
    """Sums and differences that are fused with a product nothing else uses, and which of their arguments it is."""
    choices = _choices(instructions, outputs)
    ready = _earliest(instructions, choices)
    late = max((ready.get(node, 0) for node in outputs), default=0)
    return _chosen(instructions, outputs, choices, ready, max(late, (len(instructions) - len(choices)) / A_CYCLE))


def contracted_everywhere(instructions: Sequence[Expr], outputs: Sequence[Expr]) -> dict[Expr, int]:
    """The same where it is operations that take time, and not that one waits for another."""
    return {node: places[-1] for node, places in _choices(instructions, outputs).items()}


def _choices(instructions: Sequence[Expr], outputs: Sequence[Expr]) -> dict[Expr, list[int]]:
    """The arguments with which each sum could be fused, where there are any."""
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
    """When each result could be there, in cycles from the beginning, each sum being done in the quickest way."""
    ready: dict[Expr, float] = {}
    for node in instructions:
        done = max([ready.get(a, 0) for a in node.args]) + CYCLES.get(node.op, ELSE)
        for k in choices.get(node, ()):
            done = min(done, _fused_by(node, k, ready))
        ready[node] = done
    return ready


def _fused_by(node: Expr, k: int, ready: Mapping[Expr, float]) -> float:
    """When a sum fused with its argument k could be there."""
    (a, b), c = node.args[k].args, node.args[1 - k]
    return max(ready.get(a, 0), ready.get(b, 0), ready.get(c, 0)) + FUSED


def _chosen(
    instructions: Sequence[Expr],
    outputs: Sequence[Expr],
    choices: Mapping[Expr, Sequence[int]],
    ready: Mapping[Expr, float],
    end: float,
) -> dict[Expr, int]:
    """Sums fused wherever the outputs are there by the end all the same, from the last one on."""
    due = dict.fromkeys(outputs, end)  # when each result has to be there
    found: dict[Expr, int] = {}
    for node in reversed(instructions):
        time = due.get(node)
        if time is None:
            continue  # a product within a sum
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
