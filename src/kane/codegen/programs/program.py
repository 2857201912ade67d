"""Programs: outputs of the expression graph as one straight line of operations, in stages."""

from __future__ import annotations

from collections.abc import Sequence

from kane.errors import ExpressionError, shown
from kane.expression.node import Expr
from kane.expression.operations import CONSTANT, COS, COST_CLASSES, OPERATIONS, SIN, SPEED
from kane.expression.traverse import reachable

PARAMETER_STAGE, POSITION_STAGE, SPEED_STAGE, LAST_STAGE = range(4)


class Program:
    """A straight-line schedule of outputs, frozen.

    Nodes that depend on parameters alone form the parameter stage, computed once by a function of its own; those of
    them that the main part or the outputs use are handed over in an array. Constants are immediates and appear nowhere.

    Attributes:
        name: what messages and generated functions are called after.
        outputs: the wanted expressions.
        state: leaves [t, q..., u...]; ``rest``: leaves of inputs, accelerations, ...; ``parameters``: parameter leaves.
        instructions: operations of the main part, every one after its arguments.
        angles: arguments of sines and cosines that depend on no other sine or cosine; whatever they are made of, and
            then their sines and cosines, come first in ``instructions``, so that they can be evaluated side by side.
        stage_nodes: operations of the parameter stage, every one after its arguments.
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
        """Schedule the outputs.

        Args:
            name: any text.
            outputs: expressions of one arena.
            state: leaves read from the state array, in its order.
            rest: leaves read from the second array, in its order.
            parameters: leaves read by the parameter stage, in its order.

        Raises:
            ExpressionError: an output is not an expression, a leaf is in no list or in two, or a list holds a node
                that is not a leaf.
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
        # The order in which the formulation made the nodes keeps what belongs together together: fewer values alive at
        # a time than depth first from the outputs, up to a third faster code, and less for LLVM's allocator to do.
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
        """Fill in the stage of every node; return the operations that are past the parameter stage."""
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

    def count(self) -> dict[str, int]:
        """Operations of the main part by cost class: mul, add, div, trig, other."""
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
    """Find the angles that depend on no sine or cosine, and move what they need, then their functions, to the front."""
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
