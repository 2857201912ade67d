"""How a model is told of constraints that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from kane.errors import ModelError, shown
from kane.expression.arguments import require
from kane.expression.node import Expr, Scalar
from kane.expression.operations import INPUT
from kane.expression.traverse import leaves
from kane.model.body import Point
from kane.model.checks import require_word
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Constraint, Row
from kane.model.constraints.constraint import Imposed
from kane.model.contacts.candidate import Candidate
from kane.model.contacts.contact import Contact
from kane.model.contacts.friction import Coulomb, Thresholds, checked_friction
from kane.model.contacts.latch import Latch
from kane.model.contacts.member import Intermittent
from kane.model.contacts.restitution import Newton, Poisson, checked_restitution
from kane.model.contacts.stick import Stick
from kane.model.contacts.stop import Stop
from kane.model.contacts.switch import Switch
from kane.model.reaction import reaction_leaves
from kane.model.shapes import Shape

if TYPE_CHECKING:
    from kane.model.model import Model


TOGETHER, IN_TURN = "together", "in turn"


class Candidates:
    """What ``Model`` says of contacts, stops, latches, sticking joints and switches.

    Attributes:
        name: of the model.
        candidates: what may be imposed and deleted while a run goes on, in order.
        constraints: of the model; candidates have other names.
    """

    name: str
    candidates: list[Candidate]
    constraints: list[Imposed]
    _impacts: str = TOGETHER

    @property
    def impacts(self) -> str:
        """What is done where several contacts meet in one instant; may be set.

        "together": all of them, and those at rest that feel it, share one impact, a compression and an expansion.
        "in turn": one impact after the other, in the order of declaration, until nothing approaches.
        """
        return self._impacts

    @impacts.setter
    def impacts(self, value: str) -> None:
        if value not in (TOGETHER, IN_TURN):
            raise ModelError(f"impacts of {self.name!r} happen {TOGETHER!r} or {IN_TURN!r}, not {shown(value)}")
        self._impacts = value

    def contact(
        self,
        feature: Point | Shape,
        surface: Shape,
        *,
        restitution: Scalar | Poisson | Newton = 0.0,
        friction: Coulomb | None = None,
        name: str | None = None,
    ) -> tuple[Candidate, ...]:
        """Let a feature of one body come into contact with a surface of another.

        Args:
            feature: a point, ``kane.Sphere``, ``Disk``, ``Capsule``, ``Ellipsoid``, ``Box``, ``Polyhedron``, convex
                ``Mesh`` or ``Cylinder`` with a length. On a plane a box has eight contacts, its corners, a capsule and
                a cylinder two, their ends. A capsule on a capsule or a cylinder touches at ends where it is parallel,
                or across.
            surface: ``kane.Plane``, ``Sphere``, ``Cylinder`` without a length, ``Capsule``, ``Box``, ``Polyhedron``,
                convex ``Mesh`` or ``HeightField``; the feature is outside. Not all pairs have a rule.
            restitution: e of impacts, from 0 to 1: the impulse of expansion is e times that of compression (Poisson).
                ``kane.Newton(e)`` is for velocities in place of impulses.
            friction: ``kane.Coulomb(static=.5, kinetic=.4)``; None where there is none.
            name: for events and reactions; unique.

        Returns:
            The candidates, several where the feature has corners or ends: "crate: +-+", "rod: start".

        Raises:
            ModelError: there is no rule for this pair of shapes (those for which there is one are named), a mesh is
                not convex, polyhedra have too many edges for one another, both are fixed in one body, a coefficient is
                negative, static friction is less than kinetic, a name is taken.
        """
        return self.intermittent(Contact(feature, surface, restitution, friction), name=name)

    def stop(
        self,
        joint: Connection | JointCoordinate,
        *,
        lower: Scalar | None = None,
        upper: Scalar | None = None,
        restitution: Scalar | Poisson | Newton = 0.0,
        name: str | None = None,
    ) -> tuple[Candidate, ...]:
        """Limit a coordinate: lower <= q <= upper [rad or m].

        Args:
            joint: a joint with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
            lower, upper: numbers or expressions of coordinates, parameters and time; one may be left out.
            restitution: as for ``contact``.
            name: for events and reactions; unique. The ends are called "name: lower" and "name: upper".

        Raises:
            ModelError: neither end is given, the lower end is above the upper one, a restitution is not from 0 to 1, a
                name is taken.
        """
        return self.intermittent(Stop(joint, lower, upper, restitution), name=name)

    def stick(
        self,
        joint: Connection | JointCoordinate,
        *,
        static: Scalar,
        kinetic: Scalar | None = None,
        name: str | None = None,
    ) -> tuple[Candidate, ...]:
        """Add dry friction to a joint, which sticks exactly: qdot = 0 as long as an effort up to ``static`` holds it.

        Args:
            joint: a joint with one coordinate, or one coordinate of a joint, whose rate is a speed of the joint.
            static: the largest effort that a joint at rest resists [N m or N].
            kinetic: the effort against motion [N m or N]; ``static`` unless given.
            name: for events and reactions; unique.

        Raises:
            ModelError: an effort is negative, static is less than kinetic, a name is taken.
        """
        return self.intermittent(Stick(joint, static, kinetic), name=name)

    def latch(
        self,
        gap: Expr,
        *,
        holds: Expr | Constraint | Sequence[Expr] = (),
        off: Expr | None = None,
        name: str | None = None,
    ) -> tuple[Candidate, ...]:
        """Let a gap close for good: an impact without rebound, after which gap = 0 holds both ways.

        Args:
            gap: not negative while it is open: an expression of coordinates, positions, directions, parameters and time
                [m or rad].
            holds: what vanishes besides while it is closed: expressions of rates and velocities, or a constraint; the
                configuration as of a switch.
            off: the latch opens where this becomes positive; None for never.
            name: for events and reactions; unique.

        Raises:
            ModelError: the gap is of rates or velocities, what it holds is of the configuration, a name is taken.
        """
        return self.intermittent(Latch(gap, holds, off), name=name)

    def switch(
        self,
        motion: Expr | Constraint | Sequence[Expr],
        *,
        on: Expr | None = None,
        off: Expr | None = None,
        name: str | None = None,
    ) -> tuple[Candidate, ...]:
        """Impose a constraint at times: by an impulse where ``on`` becomes positive, until ``off`` becomes so.

        Args:
            motion: what vanishes while it is on: an expression of rates or velocities, several, or a constraint. The
                configuration is held as it is found, where the motion is the time derivative of some.
            on, off: expressions of coordinates, speeds, positions, parameters and time; ``on`` must be given, without
                ``off`` it stays on.
            name: for events and reactions; unique.

        Raises:
            ModelError: what is imposed is of the configuration, ``on`` is missing, a name is taken.
        """
        return self.intermittent(Switch(motion, on, off), name=name)

    def intermittent(self, member: Intermittent, *, name: str | None = None) -> tuple[Candidate, ...]:
        """Declare a constraint that comes and goes; ``contact`` and the others are shorter ways to say so.

        Raises:
            ModelError: the member is no ``kane.Intermittent``, or a name is taken.
        """
        require(member, Intermittent, "intermittent() takes a kane.Contact, or a kane.Intermittent of your own")
        title = self._free_title(member.title) if name is None else name
        require_word(title)
        made = tuple(_checked(cast("Model", self), candidate) for candidate in member.candidates(title))
        for candidate in made:
            if candidate.name in self._taken():
                raise ModelError(f"there is already a constraint named {candidate.name!r}; give another name=")
        self.candidates.extend(made)
        return made

    def _free_title(self, title: str) -> str:
        taken = {name.partition(":")[0] for name in self._taken()}
        titles = (title if k == 1 else f"{title} ({k})" for k in range(1, len(taken) + 2))
        return next(t for t in titles if t not in taken)

    def _taken(self) -> set[str]:
        return {x.name for x in self.constraints} | {x.name for x in self.candidates}


def _require_no_input(x: Expr, what: str) -> None:
    """Raise ModelError if an expression depends on inputs or reactions: native code decides on modes without them."""
    found = [leaf for leaf in leaves([x]) if leaf.op == INPUT]
    if found:
        reactions = reaction_leaves(found)
        named = [f"the {'reaction' if leaf in reactions else 'input'} {leaf.data.strip()!r}" for leaf in found]
        raise ModelError(
            f"{what} depends on {', '.join(named)}; it may depend on coordinates, rates, positions, velocities, "
            "parameters and time only. Stepper.impose and Stepper.delete impose and delete a constraint from outside"
        )


def _checked(model: Model, given: Candidate) -> Candidate:
    """A candidate of this model, its coefficients numbers or expressions of parameters.

    Raises:
        ModelError: it has no rows, rows of other things than expressions, or impossible coefficients.
    """
    who = f"the candidate {given.name!r}"
    for row in given.rows:
        require(row, Row, f"rows of {who} are kane.Row")
    rows = [x for row in given.rows for x in (row.configuration, row.motion)]
    named = [*(("a row", x) for x in rows), ("the gap", given.gap), ("on=", given.on), ("off=", given.off)]
    for part, x in named:
        if x is not None:
            require(x, Expr, f"{who} is made of expressions")
            model.scalar(x, who)  # of this model
            _require_no_input(x, f"{part} of {given.name!r}")
    if not given.rows:
        raise ModelError(f"{who} has no rows; it would restrict nothing")
    law, friction = given.restitution, given.friction
    require(law, Poisson | Newton, f"the restitution of {who} is a number or a kane.Newton(0.3)")
    require(friction, Coulomb | Thresholds | None, f"the friction of {who} is a kane.Coulomb(0.5)")
    if friction is not None:
        friction = checked_friction(model, friction, repr(given.name))
    return replace(given, restitution=checked_restitution(model, law, repr(given.name)), friction=friction)
