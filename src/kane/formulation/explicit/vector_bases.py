"""Choice of the basis of each mass centre's velocity: the one that needs the fewest operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from kane.expression.node import Expr
from kane.expression.operations import OPERATIONS, PARAMETER
from kane.formulation.explicit.acceleration_forms import Accelerations
from kane.formulation.explicit.velocity_forms import Velocities
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.cost import DIVISION
from kane.formulation.tree.spatial import times
from kane.formulation.tree.speeds import Speeds
from kane.geometry.scalars import Triple, dot

# Above this number of speeds, each body's velocities stay along its own axes, because a trial builds O(n^3) nodes.
MAX_BASIS_TRIAL_SPEEDS = 40
# Up to this number of bodies, each choice is tried once more after all others have been made.
MANY_BODIES = 12


def with_cheapest_bases(tree: BodyTree, speeds: Speeds, ground: Triple) -> Velocities:
    """Return velocities in the bases with which mass matrix and bias need the fewest operations.

    Bases are chosen body by body, from the ground outwards.

    Args:
        ground: acceleration of the ground in N [m/s^2].
    """
    motion = Velocities(tree, speeds)
    if len(speeds.u) > MAX_BASIS_TRIAL_SPEEDS:
        return motion
    remainders = Accelerations(motion, speeds.a_t, ground)
    done = Operations()
    for k in range(1, len(tree.members)):
        _use_best(motion, remainders, k, partial(_added, done, motion, remainders, k))
        done.add(_terms(motion, remainders, k))
    if len(tree.members) <= MANY_BODIES:
        for k in range(1, len(tree.members)):
            _use_best(motion, remainders, k, partial(_total, motion, remainders))
    return motion


def _use_best(motion: Velocities, remainders: Accelerations, k: int, cost: Callable[[], int]) -> None:
    """Give a member its cheapest bases; a tie keeps the present bases or selects the first of the equal bases."""
    trials = {}
    for bases in dict.fromkeys((motion.bases[k], *_intermittent(motion, k))):
        motion.use(k, bases)
        remainders.forget()
        trials[bases] = cost()
    motion.use(k, min(trials, key=trials.__getitem__))
    remainders.forget()


def _added(done: Operations, motion: Velocities, remainders: Accelerations, k: int) -> int:
    return done.added_by(_terms(motion, remainders, k))


def _total(motion: Velocities, remainders: Accelerations) -> int:
    """Return the cost of all mass centres together."""
    every = [x for k in range(1, len(motion.tree.members)) for x in _terms(motion, remainders, k)]
    return Operations().added_by(every)


def _intermittent(motion: Velocities, k: int) -> Iterator[tuple[int, int]]:
    """Yield bases (Y, X): Y is the parent or the parent's X, and X is the body, its parent, or Y."""
    parent = motion.tree.members[k].parent
    for Y in (parent, motion.bases[parent][1]):
        for X in (k, parent, Y):
            yield Y, X


def _terms(motion: Velocities, remainders: Accelerations, k: int) -> list[Any]:
    """Return the terms that the mass centre of a member adds to the mass matrix and to the bias."""
    body = motion.tree.members[k].body
    v_u = list(motion.point(k, body.com).u.values())
    force = times(body.mass, remainders.point(k, body.com))
    terms = [dot(v, force) for v in v_u]
    for i, v in enumerate(v_u):
        momentum = times(body.mass, v)
        terms.extend(dot(momentum, other) for other in v_u[: i + 1])
    return terms


class Operations:
    """Set of operations, each counted once, however many expressions need it."""

    def __init__(self) -> None:
        self._done: set[Expr] = set()

    def added_by(self, expressions: Iterable[Any]) -> int:
        """Return the cost, in multiplications, of the operations that are not in the set yet."""
        return sum(_cost(node) for node in self._new(expressions))

    def add(self, expressions: Iterable[Any]) -> None:
        """Add the operations of expressions to the set."""
        self._done.update(self._new(expressions))

    def _new(self, expressions: Iterable[Any]) -> set[Expr]:
        stack, new = [x for x in expressions if isinstance(x, Expr)], set[Expr]()
        while stack:
            node = stack.pop()
            if node not in self._done and node not in new:
                new.add(node)
                stack.extend(node.args)
        return new


def _cost(node: Expr) -> int:
    if all(a.op == PARAMETER or (not a.args and a.is_constant) for a in node.args):
        return 0
    kind = OPERATIONS[node.op].cost
    return DIVISION if kind == "div" else int(kind in ("mul", "add"))
