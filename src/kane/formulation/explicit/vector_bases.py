"""The basis in which each mass centre's velocity is written: the one that costs the fewest operations."""

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

# With more speeds than this each body's velocities stay along its own axes: trying costs O(n^3) nodes.
MANY_SPEEDS = 40
# With no more bodies than this each choice is tried once more when all others are known.
MANY_BODIES = 12


def with_cheapest_bases(tree: BodyTree, speeds: Speeds, ground: Triple) -> Velocities:
    """Velocities whose bases are chosen body by body, outwards, by what each adds to the mass matrix and the bias."""
    motion = Velocities(tree, speeds)
    if len(speeds.u) > MANY_SPEEDS:
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
    """Give a member the bases of least cost; on a draw those it has, else those named first."""
    trials = {}
    for bases in dict.fromkeys((motion.bases[k], *_candidates(motion, k))):
        motion.use(k, bases)
        remainders.forget()
        trials[bases] = cost()
    motion.use(k, min(trials, key=trials.__getitem__))
    remainders.forget()


def _added(done: Operations, motion: Velocities, remainders: Accelerations, k: int) -> int:
    return done.added_by(_terms(motion, remainders, k))


def _total(motion: Velocities, remainders: Accelerations) -> int:
    """Cost of all mass centres together."""
    every = [x for k in range(1, len(motion.tree.members)) for x in _terms(motion, remainders, k)]
    return Operations().added_by(every)


def _candidates(motion: Velocities, k: int) -> Iterator[tuple[int, int]]:
    """Displacements along the axes of the parent or of its points' basis, velocities along these or the body's own."""
    parent = motion.tree.members[k].parent
    for Y in (parent, motion.bases[parent][1]):
        for X in (k, parent, Y):
            yield Y, X


def _terms(motion: Velocities, remainders: Accelerations, k: int) -> list[Any]:
    """What the mass centre of a member adds to the mass matrix and to the bias."""
    body = motion.tree.members[k].body
    v_u = list(motion.point(k, body.com).u.values())
    force = times(body.mass, remainders.point(k, body.com))
    terms = [dot(v, force) for v in v_u]
    for i, v in enumerate(v_u):
        momentum = times(body.mass, v)
        terms.extend(dot(momentum, other) for other in v_u[: i + 1])
    return terms


class Operations:
    """Operations counted once, however many expressions need them."""

    def __init__(self) -> None:
        self._done: set[Expr] = set()

    def added_by(self, expressions: Iterable[Any]) -> int:
        """Cost, in multiplications, of what is not there yet."""
        return sum(_cost(node) for node in self._new(expressions))

    def add(self, expressions: Iterable[Any]) -> None:
        """Take expressions in."""
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
