"""Methods of ``Model`` that declare intermittent constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kane.errors import ModelError, shown
from kane.expression.node import Expr, Scalar
from kane.expression.number_arguments import require
from kane.expression.operations import INPUT
from kane.expression.traverse import leaves
from kane.model.body import Mechanism, Point
from kane.model.checks import require_word
from kane.model.connection import Connection, JointCoordinate
from kane.model.constraints import Constraint, Row
from kane.model.reaction import reaction_leaf, reaction_leaves
from kane.model.shapes import Shape

if TYPE_CHECKING:
    from kane.model.constraints.constraint import Imposed
    from kane.model.contacts.friction import Coulomb
    from kane.model.contacts.intermittent_constraint import Intermittent, IntermittentConstraint
    from kane.model.contacts.restitution import Restitution

IMPACTS_TOGETHER, IMPACTS_IN_TURN = "together", "in turn"
# Parts of an intermittent constraint that impose and delete it, and may depend on inputs.
SIGNALS = ("on=", "off=")


class IntermittentDeclarations(Mechanism):
    """Base class of ``Model`` for contacts, stops, latches, sticking joints and switches.

    Attributes:
        intermittents: intermittent constraints, in order of declaration.
        constraints: permanent constraints of the model; all names differ.
    """

    intermittents: list[IntermittentConstraint]
    constraints: list[Imposed]
    _impacts: str = IMPACTS_TOGETHER

    @property
    def impacts(self) -> str:
        """Treatment of simultaneous impacts of several contacts; may be set.

        "together": all these contacts, and the resting contacts that react, share one impact with compression and
        expansion.
        "in turn": one impact after the other, in order of declaration, until no contact approaches.
        """
        return self._impacts

    @impacts.setter
    def impacts(self, value: str) -> None:
        if value not in (IMPACTS_TOGETHER, IMPACTS_IN_TURN):
            raise ModelError(
                f"impacts of {self.name!r} happen {IMPACTS_TOGETHER!r} or {IMPACTS_IN_TURN!r}, not {shown(value)}"
            )
        self._impacts = value

    def contact(
        self,
        feature: Point | Shape,
        surface: Shape,
        *,
        restitution: Scalar | Restitution = 0.0,
        friction: Coulomb | None = None,
        name: str | None = None,
    ) -> tuple[IntermittentConstraint, ...]:
        """Declare that a feature of one body may touch a surface of another body (unilateral constraint).

        Args:
            feature: a point, ``kane.Sphere``, ``Disk``, ``Capsule``, ``Ellipsoid``, ``Box``, ``Polyhedron``, convex
                ``Mesh`` or ``Cylinder`` with a length. On a plane, a box has eight contact points (corners) and a
                capsule two (ends). A disk or cylinder has its rims and up to eight feet. A capsule on a capsule or
                cylinder touches at its ends if the axes are parallel, otherwise where the axes cross.
            surface: ``kane.Plane``, ``Sphere``, ``Cylinder`` without a length, ``Capsule``, ``Box``, ``Polyhedron``,
                convex ``Mesh`` or ``HeightField``; the feature is outside. Not all pairs have a rule.
            restitution: coefficient e of impacts, from 0 to 1, by Poisson's law: the impulse of expansion is e times
                the impulse of compression. ``kane.Newton(e)`` relates velocities instead, ``kane.Stronge(e)``
                energies.
            friction: ``kane.Coulomb(static=.5, kinetic=.4)``; None for a frictionless contact.
            name: for events and reactions; unique.

        Returns:
            The intermittent constraints; several if the feature has corners or ends: "crate: +-+", "rod: start".

        Raises:
            ModelError: this pair of shapes has no rule (the message names pairs that have one), or both are in one
                body. Also raised if a mesh is not convex, or polyhedra have too many pairs of edges. Also raised for a
                negative coefficient, static friction below kinetic, or a name that is taken.
        """
        from kane.model.contacts.contact import Contact

        return self.intermittent(Contact(feature, surface, restitution, friction), name=name)

    def stop(
        self,
        joint: Connection | JointCoordinate,
        *,
        lower: Scalar | None = None,
        upper: Scalar | None = None,
        restitution: Scalar | Restitution = 0.0,
        name: str | None = None,
    ) -> tuple[IntermittentConstraint, ...]:
        """Limit a coordinate: lower <= q <= upper [rad or m].

        Args:
            joint: a joint with one coordinate, or one coordinate of a joint: ``joint["q2"]``.
            lower, upper: numbers or expressions of coordinates, parameters and time; one may be omitted.
            restitution: as for ``contact``.
            name: for events and reactions; unique. The ends are called "name: lower" and "name: upper".

        Returns:
            The intermittent constraints, one for each end.

        Raises:
            ModelError: no end is given, lower is not below upper, a restitution is not from 0 to 1, or a name is taken.
        """
        from kane.model.contacts.stop import Stop

        return self.intermittent(Stop(joint, lower, upper, restitution), name=name)

    def stick(
        self,
        joint: Connection | JointCoordinate,
        *,
        static: Scalar,
        kinetic: Scalar | None = None,
        name: str | None = None,
    ) -> tuple[IntermittentConstraint, ...]:
        """Add dry friction to a joint. It sticks exactly: qdot = 0 as long as an effort of at most ``static`` holds it.

        Both efforts may depend on inputs, as the capacity of a brake or clutch does. At each instant

            kinetic = max(kinetic, 0),   static = max(static, kinetic)

        then limit the values of the inputs. Without inputs these conditions must hold as declared.

        Args:
            joint: a joint with one coordinate, or one coordinate of a joint, whose rate is a speed of the joint.
            static: largest effort that holds the joint at rest [N m or N].
            kinetic: effort against the motion [N m or N]; ``static`` by default.
            name: for events and reactions; unique.

        Raises:
            ModelError: an effort without inputs is negative or less than the kinetic one; an effort depends on anything
                but parameters and inputs; or a name is taken.
        """
        from kane.model.contacts.stick import Stick

        return self.intermittent(Stick(joint, static, kinetic), name=name)

    def latch(
        self,
        gap: Expr,
        *,
        holds: Expr | Constraint | Sequence[Expr] = (),
        off: Expr | None = None,
        name: str | None = None,
    ) -> tuple[IntermittentConstraint, ...]:
        """Let a gap close permanently: an impact without rebound, after which gap = 0 holds in both directions.

        Args:
            gap: expression of coordinates, positions, directions, parameters and time, not negative while open
                [m or rad].
            holds: expressions of rates and velocities that also vanish while the latch is closed, or a constraint. The
                configuration of a constraint is treated as in ``switch``.
            off: the latch opens when this expression becomes positive; None if it never opens. It may also depend on
                inputs and on ``reaction``.
            name: for events and reactions; unique.

        Raises:
            ModelError: the gap contains rates or velocities, an expression in ``holds`` has none, or a name is taken.
        """
        from kane.model.contacts.latch import Latch

        return self.intermittent(Latch(gap, holds, off), name=name)

    def switch(
        self,
        motion: Expr | Constraint | Sequence[Expr],
        *,
        on: Expr | None = None,
        off: Expr | None = None,
        name: str | None = None,
    ) -> tuple[IntermittentConstraint, ...]:
        """Impose a constraint by an impulse when ``on`` becomes positive, and delete it when ``off`` becomes positive.

        Args:
            motion: expression of rates or velocities that vanishes while active, several of them, or a constraint. The
                configuration residual of a constraint keeps its value at the impulse; it does not jump to zero.
            on: expression of coordinates, speeds, positions, parameters, time, inputs and ``reaction``; required.
            off: expression like ``on``; without it the constraint stays active.
            name: for events and reactions; unique.

        Raises:
            ModelError: ``motion`` contains no rates or velocities, ``on`` is missing, or a name is taken.
        """
        from kane.model.contacts.switch import Switch

        return self.intermittent(Switch(motion, on, off), name=name)

    def reaction(self, name: str) -> Expr:
        """Return the force of a constraint row [N or N m], for use in ``on=`` and ``off=``.

        It is the multiplier lambda of the row A u + b in the active contact mode, with the power lambda (A u + b). The
        force of an inactive row is zero. Impulses do not count. ``run.reactions`` has the same signs.

        Args:
            name: a row of an intermittent or permanent constraint, such as "foot: tangent 1". The name of a constraint
                means its first row: the normal force of a contact. The constraint may be declared later.

        Raises:
            ModelError: the name is not a word. ``formulate`` raises it if no row has the name.
        """
        require_word(name)
        return reaction_leaf(self.arena.zero, name)

    def intermittent(self, member: Intermittent, *, name: str | None = None) -> tuple[IntermittentConstraint, ...]:
        """Declare an intermittent constraint; ``contact``, ``stop``, ``stick``, ``latch`` and ``switch`` call this.

        Raises:
            ModelError: ``member`` is not a ``kane.Intermittent``, or a name is taken.
        """
        from kane.model.contacts.intermittent_constraint import Intermittent

        require(member, Intermittent, "intermittent() takes a kane.Contact, or a kane.Intermittent of your own")
        title = self._free_title(member.title) if name is None else name
        require_word(title)
        made = tuple(_checked(self, constraint) for constraint in member.intermittents(title))
        for constraint in made:
            if constraint.name in self._taken():
                raise ModelError(f"there is already a constraint named {constraint.name!r}; give another name=")
        self.intermittents.extend(made)
        self.note_line("constraint", title)
        return made

    def _free_title(self, title: str) -> str:
        taken = {name.partition(":")[0] for name in self._taken()}
        titles = (title if k == 1 else f"{title} ({k})" for k in range(1, len(taken) + 2))
        return next(t for t in titles if t not in taken)

    def _taken(self) -> set[str]:
        return {x.name for x in self.constraints} | {x.name for x in self.intermittents}


def _require_known(model: Mechanism, given: IntermittentConstraint, part: str, x: Expr) -> None:
    """Raise ModelError if a row or gap depends on inputs or reactions, or ``on`` or ``off`` on an unknown reaction.

    Native code knows forces of rows only, and it has to know which contacts are closed before it computes them.
    """
    found = [leaf for leaf in leaves([x]) if leaf.op == INPUT]
    reactions, wrong, others = reaction_leaves(found), found, ""
    if part in SIGNALS:
        wrong = [leaf for leaf in reactions if not given.bilateral or _is_of_joint(model, leaf)]
        others = "inputs, Model.reaction of constraints, " if given.bilateral else "inputs, "
    if wrong:
        named = [f"the {'reaction' if leaf in reactions else 'input'} {leaf.data.strip()!r}" for leaf in wrong]
        raise ModelError(
            f"{part} of {given.name!r} depends on {', '.join(named)}; it may depend on coordinates, rates, positions, "
            f"velocities, {others}parameters and time only. Stepper.impose and Stepper.delete impose and delete a "
            "constraint from outside"
        )


def _is_of_joint(model: Mechanism, reaction: Expr) -> bool:
    """Return whether a reaction leaf is a component of the reaction of a joint."""
    return any(reaction.data.strip() == f"{c.name} {x}{y}" for c in model.connections for x in "FT" for y in "xyz")


def _checked(model: Mechanism, given: IntermittentConstraint) -> IntermittentConstraint:
    """Return an intermittent constraint of this model, checked; its coefficients are numbers or parameter expressions.

    Raises:
        ModelError: it has no rows, its rows are not expressions, or a coefficient is not valid.
    """
    from kane.model.contacts.friction import Coulomb, Thresholds, checked_friction
    from kane.model.contacts.restitution import Restitution, checked_restitution

    who = f"the intermittent constraint {given.name!r}"
    for row in given.rows:
        require(row, Row, f"rows of {who} are kane.Row")
    rows = [x for row in given.rows for x in (row.configuration, row.motion)]
    named = [*(("a row", x) for x in rows), ("the gap", given.gap), *zip(SIGNALS, (given.on, given.off), strict=True)]
    for part, x in named:
        if x is not None:
            require(x, Expr, f"{who} consists of expressions")
            model.scalar(x, who)  # raises for an expression of another model
            _require_known(model, given, part, x)
    if not given.rows:
        raise ModelError(f"{who} has no rows; it would restrict nothing")
    law, friction = given.restitution, given.friction
    require(law, Restitution, f"the restitution of {who} is a number, kane.Poisson, kane.Newton or kane.Stronge")
    require(friction, Coulomb | Thresholds | None, f"the friction of {who} is a kane.Coulomb(0.5)")
    if friction is not None:
        friction = checked_friction(model, friction, repr(given.name))
    return replace(given, restitution=checked_restitution(model, law, repr(given.name)), friction=friction)
