"""Programs: outputs of the expression graph as straight-line sequences of operations."""

from __future__ import annotations

from collections.abc import Sequence

from kane.errors import ExpressionError, shown
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COS, COST_CLASSES, OPERATIONS, SIN, SPEED
from kane.expression.traverse import reachable

PARAMETER_STAGE, POSITION_STAGE, SPEED_STAGE, LAST_STAGE = range(4)


class Program:
    """An immutable straight-line sequence of operations that computes outputs.

    Nodes that depend on parameters alone form the parameter stage, which a separate function computes once. Its results
    are passed to the main part as an array of constants. Numeric literals are immediates and appear in no array.

    Attributes:
        name: name in messages and in generated code.
        outputs: expressions to compute.
        state: leaves [t, q..., u...].
        rest: leaves of inputs, accelerations and the like.
        parameters: parameter leaves.
        instructions: operations of the main part, each after its arguments.
        angles: arguments of sines and cosines that depend on no other sine or cosine. Their operations, then their
            sines and cosines, come first in ``instructions``, so that SIMD lanes can evaluate several sines at once.
        stage_nodes: operations of the parameter stage, each after its arguments.
        stage_outputs: nodes of the parameter stage, plain parameters included, that the main part or the outputs use.
    """

    def __init__(
        self,
        name: str,
        outputs: Sequence[Expr],
        *,
        state: Sequence[Expr],
        rest: Sequence[Expr],
        parameters: Sequence[Expr],
    ) -> None:
        """Order the operations of the outputs.

        Args:
            name: any text.
            outputs: expressions of one arena.
            state: leaves read from the state array, in its order.
            rest: leaves read from the second array, in its order.
            parameters: leaves read by the parameter stage, in its order.

        Raises:
            ExpressionError: an output is not an expression, a leaf is missing or listed twice, or a list contains a
                node that is not a leaf.
        """
        self.name = name
        self.outputs = tuple(outputs)
        self.state = tuple(state)
        self.rest = tuple(rest)
        self.parameters = tuple(parameters)
        self._stages = self._leaf_stages()
        for i, output in enumerate(self.outputs):
            if output.__class__ is not Expr:
                raise ExpressionError(f"output {i} of {name!r} is {shown(output)}, not an expression; use arena.lift")
        # The order of creation keeps related nodes together. Compared to depth-first order, fewer values are live at a
        # time, the code is up to a third faster, and LLVM's register allocator has less to do.
        order = reachable(self.outputs)
        main = self._classify(order)
        self.angles, self.instructions = _angles_first(main)
        self.stage_nodes = tuple(n for n in order if n.args and self._stages[n] == PARAMETER_STAGE)
        self.stage_outputs = self._handed_over()

    def _leaf_stages(self) -> dict[Expr, int]:
        stages: dict[Expr, int] = {}
        for word, group in (("state", self.state), ("rest", self.rest), ("parameters", self.parameters)):
            for leaf in group:
                if leaf.args or leaf.op == CONSTANT:
                    raise ExpressionError(f"{shown(leaf)} in {word} of {self.name!r} is not a leaf; list leaves only")
                if leaf in stages:
                    raise ExpressionError(f"the leaf {leaf.name!r} is listed twice in {self.name!r}; list it once")
                if word == "state":
                    stages[leaf] = SPEED_STAGE if leaf.op == SPEED else POSITION_STAGE
                else:
                    stages[leaf] = LAST_STAGE if word == "rest" else PARAMETER_STAGE
        return stages

    def _classify(self, order: Sequence[Expr]) -> list[Expr]:
        """Store the stage of every node and return the operations that depend on more than parameters."""
        stages = self._stages
        main = []
        for node in order:
            args = node.args
            if args:
                stage = max([stages[a] for a in args])
                stages[node] = stage
                if stage:
                    main.append(node)
            elif node.op == CONSTANT:
                stages[node] = PARAMETER_STAGE
            elif node not in stages:
                raise ExpressionError(
                    f"{self.name!r} depends on the {OPERATIONS[node.op].name} {node.name!r}, which is neither in its "
                    "state, nor in rest, nor among its parameters; list it, or substitute a value for it"
                )
        return main

    def _handed_over(self) -> tuple[Expr, ...]:
        stages = self._stages
        used = dict.fromkeys(
            a for node in self.instructions for a in node.args if stages[a] == PARAMETER_STAGE and a.op != CONSTANT
        )
        used.update(dict.fromkeys(o for o in self.outputs if stages[o] == PARAMETER_STAGE and o.op != CONSTANT))
        return tuple(used)

    @property
    def n_out(self) -> int:
        """Number of results."""
        return len(self.outputs)

    @property
    def operations(self) -> tuple[int, int]:
        """Numbers of operations per state, on single numbers and on several items in SIMD lanes."""
        return len(self.instructions), 0

    def count(self) -> dict[str, int]:
        """Return the numbers of operations in the main part by cost class: mul, add, div, trig, other."""
        totals = dict.fromkeys(COST_CLASSES, 0)
        costs = [operation.cost for operation in OPERATIONS]
        for node in self.instructions:
            cost = costs[node.op]
            if cost:
                totals[cost] += 1
        return totals

    def __repr__(self) -> str:
        return f"<Program {self.name!r}: {len(self.outputs)} outputs, {len(self.instructions)} operations>"


def _angles_first(order: Sequence[Expr]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return the angles that depend on no sine or cosine, and the operations, reordered as in ``instructions``."""
    touched: set[Expr] = set()
    angles: dict[Expr, None] = {}
    for node in order:
        if node.op == SIN or node.op == COS:
            if node.args[0] not in touched:
                angles[node.args[0]] = None
            touched.add(node)
        elif not touched.isdisjoint(node.args):
            touched.add(node)
    needed = set(angles)
    for node in reversed(order):
        if node in needed:
            needed.update(node.args)
    functions = [n for n in order if (n.op == SIN or n.op == COS) and n.args[0] in angles]
    front = [n for n in order if n in needed]
    early = needed.union(functions)
    return tuple(angles), (*front, *functions, *(n for n in order if n not in early))
