"""Places of SymPy's points and frames on massless links of a model, which joints move as their positions demand."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

from kane.errors import ExpressionError, ModelError
from kane.expression.construct import build_sin, neg
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.operations import COORDINATE, COS, PARAMETER, TIME
from kane.expression.traverse import leaves, substitute_nodes
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR, Triple, dot, sum_vectors
from kane.importers.sympy.sympy_system import CURE
from kane.model.body import Body
from kane.model.joints import CustomJoint, Prismatic, Revolute
from kane.model.joints.joint import Joint
from kane.model.model import Model
from kane.model.symbols.sympy_reader import SymPyReader

# Function that replaces the coordinates of a joint in an expression.
CoordinateImage: TypeAlias = Callable[[Expr], Expr]


@dataclass(frozen=True)
class LinkPlace:
    """A point and a frame that are fixed in a body B of the model.

    Attributes:
        body: B.
        position: p_BoP_B [m].
        orientation: R_BA of the frame A.
    """

    body: Body
    position: Triple
    orientation: Rotation


@dataclass(frozen=True)
class AxisStep:
    """Rotation about, or displacement along, a coordinate axis.

    Attributes:
        axis: "x", "y" or "z".
        value: angle [rad] or displacement [m].
        kind: Revolute or Prismatic.
    """

    axis: str
    value: Expr
    kind: Callable[[Any, str], Joint]


class Places:
    """Places of points and frames, made on demand.

    A coordinate that appears for the first time becomes the coordinate of a joint; later, joints follow it by
    expressions of it.

    Args:
        model: model that gets links and joints.
        read: reader of SymPy expressions.
        start: N, and a point fixed in it, at the origin of the ground.
        coordinates: leaves of the coordinates.
        needed: frames that bodies have or torques act on.
    """

    def __init__(
        self,
        model: Model,
        read: SymPyReader,
        start: tuple[Any, Any],
        coordinates: Iterable[Expr],
        needed: Iterable[Any],
    ) -> None:
        frame, origin = start
        self._model, self._read, self._origin = model, read, origin
        self.unclaimed = dict.fromkeys(coordinates)
        self._at: dict[Any, dict[Any, LinkPlace]] = {}
        self._frames: dict[Any, LinkPlace] = {}
        self._previous = _tree(origin, lambda point: point._pos_dict)
        vectors = (point._pos_dict[before].args for point, before in self._previous.items() if point != origin)
        uses = Counter(frame for parts in vectors for _, frame in parts)
        self._shared = {frame, *needed, *(frame for frame, count in uses.items() if count > 1)}
        self._store(origin, frame, LinkPlace(model.ground, ZERO_VECTOR, Rotation.identity()))

    def at(self, point: Any, frame: Any = None) -> LinkPlace:
        """Return the place of a point, with the axes of a frame, or with any axes.

        Raises:
            ModelError: the point has no position, or its position is beyond the supported forms.
        """
        way = [point]
        while way[-1] not in self._at:
            if way[-1] not in self._previous:
                raise ModelError(f"the point {point} has no position relative to {self._origin}; {CURE}")
            way.append(self._previous[way[-1]])
        for before, after in pairwise(way[::-1]):
            self._locate(before, after)
        return next(iter(self._at[point].values())) if frame is None else self._oriented(point, frame)

    def on(self, frame: Any) -> LinkPlace | None:
        """Return a place with the axes of a frame; None if there is none."""
        return self._frames.get(frame)

    def in_bodies(self, parts: Iterable[tuple[Any, Any]], what: str) -> list[tuple[Body, Triple]]:
        """Return a sum of SymPy vectors (measure numbers, frame) as measure numbers in the frames of bodies."""
        found = []
        for components, frame in parts:
            known = frame if frame in self._frames else None
            v: Triple = tuple(self._read(x, what) for x in components)
            if known is None:
                way = self._way(frame, self._frames)
                for a, b in pairwise(way[::-1]):
                    v = tuple(dot(row, v) for row in self._dcm(b, a))
                known = way[0]
            place = self._frames[known]
            found.append((place.body, place.orientation.apply(v)))
        return found

    def _store(self, key: Any, frame: Any, place: LinkPlace) -> LinkPlace:
        self._at.setdefault(key, {})[frame] = place
        self._frames.setdefault(frame, place)
        return place

    def _locate(self, before: Any, after: Any) -> None:
        """Make the place of a point from a neighbour of it, one frame of the vector after the other."""
        parts, key = after._pos_dict[before].args, before
        what = f"the position of {after} from {before}"
        if not parts:
            self._at[after] = dict(self._at[before])
        for k, (components, frame) in enumerate(parts):
            values = [self._read(x, what) for x in components]
            frame, values = self._seen_at(key, frame, values)
            start = self._oriented(key, frame)
            key = after if k == len(parts) - 1 else (before, after, k)
            self._store(key, frame, self._displaced(start, values, (what, f"{after} on {frame}")))

    def _seen_at(self, key: Any, frame: Any, values: list[Expr]) -> tuple[Any, list[Expr]]:
        """Return the frame and the measure numbers of a displacement that give the fewest joints.

        If the frame of a displacement serves for nothing else, and its coordinates are new, then a joint that moves
        without turning replaces the rotation: particles at absolute angles need no turning links.
        """
        before = None
        while frame not in self._at[key] and frame not in self._shared:
            others = [x for x in frame._dcm_dict if x is not before]
            if len(others) != 1:
                break
            rows = self._dcm(others[0], frame)
            seen = [self._model.arena.lift(dot(row, values)) for row in rows]
            new = self._moving([*seen, *(x for row in rows for x in row)], f"the orientation of {frame}")
            if not 0 < len(new) < 4 or not new <= self.unclaimed.keys():
                break
            before, frame, values = frame, others[0], seen
        return frame, values

    def _oriented(self, key: Any, frame: Any) -> LinkPlace:
        known = self._at[key]
        if frame in known:
            return known[frame]
        way = self._way(frame, known)
        for a, b in pairwise(way):
            self._store(key, b, self._turned(known[a], self._dcm(a, b), f"the orientation of {b} in {a}", b))
        return known[frame]

    def _way(self, frame: Any, known: Mapping[Any, Any]) -> list[Any]:
        """Return neighbouring frames from the nearest known one to a frame."""
        previous = _tree(frame, lambda x: x._dcm_dict)
        way = [next((x for x in previous if x in known), None)]
        if way[0] is None:
            raise ModelError(
                f"the frame {frame} is not oriented in the inertial frame; orient it by orient_axis. A wheel needs its "
                "spin angle as a coordinate q, with the kinematical equation q' = spin rate, although no force depends "
                "on q"
            )
        while way[-1] != frame:
            way.append(previous[way[-1]])
        return way

    def _dcm(self, a: Any, b: Any) -> list[list[Expr]]:
        rows = a._dcm_dict[b].tolist()
        return [[self._read(x, f"the orientation of {b} in {a}") for x in row] for row in rows]

    def _moving(self, values: Iterable[Expr], what: str) -> set[Expr]:
        """Return the coordinates and time in expressions.

        Raises:
            ModelError: there are other variables.
        """
        found = {leaf for leaf in leaves(values) if leaf.op != PARAMETER}
        wrong = [leaf for leaf in found if leaf.op not in (COORDINATE, TIME)]
        if wrong:
            raise ModelError(f"{what} depends on {wrong[0]!r}; it may depend on coordinates, time and parameters only")
        return found

    def _turned(self, place: LinkPlace, rows: list[list[Expr]], what: str, frame: Any) -> LinkPlace:
        """Return a place with other axes at the same point."""
        moving = self._moving([x for row in rows for x in row], what)
        if not moving:
            R = Rotation.matrix([[x.data if x.is_constant else x for x in row] for row in rows])
            return LinkPlace(place.body, place.position, place.orientation @ R)
        simple = _elementary(rows)
        if simple is not None:
            return self._moved(place, AxisStep(*simple, Revolute), (what, str(frame)))
        if not moving <= self.unclaimed.keys():
            raise ModelError(
                f"{what} is no rotation about one axis, and depends on {_names(moving)}, which are time or move other "
                "frames; orient the frame by orient_axis in steps"
            )
        if len(moving) > 3:
            raise ModelError(
                f"{what} depends on {_names(moving)}, such as a quaternion; orient the frame by three angles "
                "(orient_body_fixed), or build the model with kane.Spherical, whose coordinates are a unit quaternion"
            )
        joint = self._own(moving, lambda image: Rotation.matrix([[image(x) for x in row] for row in rows]), None)
        return self._joined(place, joint, str(frame))

    def _displaced(self, place: LinkPlace, values: Sequence[Expr], words: tuple[str, str]) -> LinkPlace:
        """Return a place that is displaced along its own axes."""
        moving = [self._moving([x], words[0]) for x in values]
        pairs = zip(values, moving, strict=True)
        fixed: Triple = tuple(0.0 if found else x.data if x.is_constant else x for x, found in pairs)
        position = sum_vectors(place.position, place.orientation.apply(fixed))
        place = LinkPlace(place.body, position, place.orientation)
        together = set[Expr]().union(*moving)
        plain = all(x in self.unclaimed or not found for x, found in zip(values, moving, strict=True))
        if together <= self.unclaimed.keys() and sum(map(bool, moving)) > 1 and not plain and len(together) < 4:
            joint = self._own(together, None, lambda image: [image(x) if m else 0.0 for x, m in zip(values, moving)])
            return self._joined(place, joint, words[1])
        for axis, value, found in zip("xyz", values, moving, strict=True):
            if found:
                place = self._moved(place, AxisStep(axis, value, Prismatic), words)
        return place

    def _moved(self, place: LinkPlace, step: AxisStep, words: tuple[str, str]) -> LinkPlace:
        """Return a place that is turned or displaced along one of its axes.

        The coordinates that are new here get joints of their own; the rest of the sum follows other coordinates.

        Raises:
            ModelError: a new coordinate is not a separate term.
        """
        value, zero = step.value, self._model.arena.zero
        while value is not zero:
            leaf = next((leaf for leaf in leaves([value]) if leaf in self.unclaimed), None)
            if leaf is None:
                return self._joined(place, step.kind(value, step.axis), words[1])
            found = self._moving([value], words[0])
            own = value if found == {leaf} else _term(value, leaf)
            if own is None:
                raise ModelError(
                    f"{words[0]} mixes {leaf.name!r} with {_names(found - {leaf})}; describe it by separate steps with "
                    "one coordinate each"
                )
            place, value = self._joined(place, self._joint(leaf, replace(step, value=own)), words[1]), value - own
        return place

    def _joint(self, leaf: Expr, step: AxisStep) -> Joint:
        """Return the joint of a new coordinate for a step that depends on this coordinate alone."""
        if step.value is leaf:
            del self.unclaimed[leaf]
            return step.kind(leaf.name, step.axis)
        if step.kind is Revolute:
            return self._own({leaf}, lambda image: Rotation.about(step.axis, image(step.value)), None)
        return self._own({leaf}, None, lambda image: [image(step.value) if a == step.axis else 0.0 for a in "xyz"])

    def _own(
        self,
        coordinates: Collection[Expr],
        orientation: Callable[[CoordinateImage], Rotation] | None,
        position: Callable[[CoordinateImage], Any] | None,
    ) -> CustomJoint:
        """Return a joint with coordinates that no joint has yet; the functions take the image of an expression."""
        own = [leaf for leaf in self.unclaimed if leaf in coordinates]
        for leaf in own:
            del self.unclaimed[leaf]

        def at(make: Callable[[CoordinateImage], Any]) -> Callable[..., Any]:
            return lambda *q: make(lambda x: substitute_nodes([x], dict(zip(own, q, strict=True)))[0])

        names = tuple(leaf.name for leaf in own)
        return CustomJoint(names, orientation and at(orientation), position and at(position))

    def _joined(self, place: LinkPlace, joint: Joint, title: str) -> LinkPlace:
        taken, name, k = {b.name for b in self._model.bodies}, title, 1
        while name in taken:
            k += 1
            name = f"{title} {k}"
        link = self._model.body(name, mass=0.0)
        self._model.connect(
            place.body, link, joint, at=place.position, orientation=place.orientation, name=f"joint of {name}"
        )
        return LinkPlace(link, ZERO_VECTOR, Rotation.identity())


def _tree(start: Any, neighbours: Callable[[Any], Iterable[Any]]) -> dict[Any, Any]:
    """Return the neighbour that precedes each object on the shortest way from the start, nearest objects first."""
    previous, waiting = {start: start}, deque([start])
    while waiting:
        x = waiting.popleft()
        for y in neighbours(x):
            if y not in previous:
                previous[y] = x
                waiting.append(y)
    return previous


def _names(found: Iterable[Expr]) -> str:
    return ", ".join(sorted(leaf.name for leaf in found))


def _term(value: Expr, leaf: Expr) -> Expr | None:
    """Return the term of a sum that contains a coordinate, if it is c q with a c of parameters; otherwise None."""
    try:
        ((slope,),), _ = linear_coefficients([value], [leaf])
    except ExpressionError:
        return None
    return slope * leaf if all(x.op == PARAMETER for x in leaves([slope])) else None


def _elementary(rows: Sequence[Sequence[Expr]]) -> tuple[str, Expr] | None:
    """Return the axis and the angle of a rotation about a coordinate axis; None for other matrices."""
    one, zero = rows[0][0].arena.one, rows[0][0].arena.zero
    for k, axis in enumerate("xyz"):
        i, j = (k + 1) % 3, (k + 2) % 3
        c, s = rows[i][i], rows[j][i]
        flat = all(rows[a][b] is zero for a, b in ((k, i), (k, j), (i, k), (j, k)))
        if rows[k][k] is one and flat and c.op == COS and rows[j][j] is c and rows[i][j] is neg(s):
            sine = build_sin(c.args[0])
            if s is sine or s is neg(sine):
                return axis, c.args[0] if s is sine else neg(c.args[0])
    return None
