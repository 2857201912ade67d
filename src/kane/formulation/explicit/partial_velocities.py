"""Tables of partial velocities and generalized forces: bodies and points by generalized speeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kane.expression.node import Expr
from kane.formulation.explicit.acceleration_forms import Accelerations
from kane.formulation.explicit.generalized_forces import (
    AppliedWrench,
    active_forces,
    applied_wrenches,
    inertia_forces,
    project_joint_efforts,
    resolve_loads,
    weight_wrench,
)
from kane.formulation.explicit.table_text import Table, format_tables, html_of
from kane.formulation.explicit.vector_bases import with_cheapest_bases
from kane.formulation.explicit.velocity_forms import Velocities, VelocityForm
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.system import System
from kane.geometry.frame import Frame
from kane.geometry.scalars import ZERO_VECTOR, is_zero
from kane.geometry.vector import Vector

GRAVITY_TITLE, INERTIA_TITLE = "gravity", "inertia"


@dataclass(frozen=True)
class Partials:
    """Angular velocity or velocity: whole == sum of u[r] times the r-th speed, plus t; all in ``frame``.

    Attributes:
        label: "w_NB" of a body B, "v_NBcm" of its mass centre, "v_NP" of a point at which a load acts.
        whole: measure numbers in q, u and t: the implicit form.
        u: the partial (angular) velocities, one for each speed: the explicit form.
        t: the remainder, nonzero only with prescribed motion.
    """

    label: str
    whole: Vector
    u: tuple[Vector, ...]
    t: Vector

    @property
    def frame(self) -> Frame:
        """Return the basis of all these vectors."""
        return self.whole.frame


@dataclass(frozen=True)
class GeneralizedForces:
    """Contributions to generalized forces: (load, body or joint, one expression for each speed).

    Attributes:
        symbol: "F" for active forces, "F*" for inertia forces.
        speeds: names of the generalized speeds.
        contributions: in the order of the loads, then of the bodies.
    """

    symbol: str
    speeds: tuple[str, ...]
    contributions: tuple[tuple[str, str, tuple[Expr, ...]], ...]
    zero: Expr

    @property
    def total(self) -> tuple[Expr, ...]:
        """Return F_r, summed over all contributions."""
        return self._sum(forces for _, _, forces in self.contributions)

    def by_body(self) -> dict[str, tuple[Expr, ...]]:
        """Return (F_r)_B by body; efforts of motors, springs and dampers are under the name of their joint."""
        return self._grouped(1)

    def by_load(self) -> dict[str, tuple[Expr, ...]]:
        """Return F_r of each load, gravity among them."""
        return self._grouped(0)

    def _grouped(self, place: int) -> dict[str, tuple[Expr, ...]]:
        names = dict.fromkeys(str(c[place]) for c in self.contributions)
        return {name: self._sum(c[2] for c in self.contributions if c[place] == name) for name in names}

    def _sum(self, forces: Iterable[Sequence[Expr]]) -> tuple[Expr, ...]:
        totals = [self.zero] * len(self.speeds)
        for each in forces:
            totals = [a + b for a, b in zip(totals, each, strict=True)]
        return tuple(totals)

    def table(self) -> Table:
        """Return a table with one row for each contribution, and one for the total."""
        rows = [
            (f"{load}, {where}" if load != INERTIA_TITLE else where, list(f)) for load, where, f in self.contributions
        ]
        heads = [f"{self.symbol}_{r + 1} ({u})" for r, u in enumerate(self.speeds)]
        return Table(self.symbol, heads, [*rows, ("total", list(self.total))])

    def __repr__(self) -> str:
        return format_tables([self.table()])

    def _repr_html_(self) -> str:
        return html_of([self.table()])


@dataclass(frozen=True)
class PartialVelocities:
    """Result of ``Equations.partial_velocities``; prints as a table.

    Kane's equations are F_r + F*_r = 0 with F_r in ``generalized_active_forces`` (inputs and gravity in it) and F*_r in
    ``generalized_inertia_forces`` (udot in it).

    Attributes:
        name: name of the model.
        speeds: names of u.
        frames: by name, "N" and the bodies: ``vector.express(table.frames["N"])``.
        angular_velocities, mass_centres: w_NB and v_NBcm by body.
        points: v_NP by load, for loads on a body at another point than its mass centre.
        generalized_active_forces: F_r by load and body.
        generalized_inertia_forces: F*_r by body.
    """

    name: str
    speeds: tuple[str, ...]
    frames: Mapping[str, Frame]
    angular_velocities: Mapping[str, Partials]
    mass_centres: Mapping[str, Partials]
    points: Mapping[str, Partials]
    generalized_active_forces: GeneralizedForces
    generalized_inertia_forces: GeneralizedForces

    def rows(self) -> Iterator[Partials]:
        """Yield the velocities body by body, then those at points of application."""
        for name, w in self.angular_velocities.items():
            yield w
            yield self.mass_centres[name]
        yield from self.points.values()

    def table(self) -> Table:
        """Return a table with a row for each velocity and a column for each speed, and one for nonzero remainders."""
        rows = list(self.rows())
        remainder = any(not is_zero(x) for row in rows for x in row.t.components)
        cells = [(row.label, [*row.u, *([row.t] if remainder else [])]) for row in rows]
        return Table(f"Partial velocities of {self.name}", [*self.speeds, *(["t"] if remainder else [])], cells)

    def __repr__(self) -> str:
        return format_tables([self.table()])

    def _repr_html_(self) -> str:
        return html_of([self.table()])


def partial_velocities(
    name: str, system: System, tree: BodyTree, baked_in: Callable[[Any], tuple[Expr, ...]]
) -> PartialVelocities:
    """Return partial (angular) velocities of bodies, mass centres and points at which loads act, with F_r and F*_r.

    The partial velocities satisfy w_NB = sum w_NB_u[r] u[r] + w_NB_t and v_NP = sum v_NP_u[r] u[r] + v_NP_t. Each
    vector is in the basis with which the equations of motion need the fewest operations; its ``frame`` names this
    basis.

    Args:
        name: name of the model.
        system: source of the speeds and of gravity.
        tree: bodies and loads as declared.
        baked_in: function that replaces permanently substituted parameters in expressions.

    Source: Kane & Levinson 1983, Eqs. 23-27, 44-47, 78-95; Gillespie 2003, Tables 2 and 4.
    """
    motion = with_cheapest_bases(tree, system.speeds, system.gravity)
    tables = _Tables(system, motion, resolve_loads(motion, tree), baked_in)
    members = tree.members[1:]
    return PartialVelocities(
        name=name,
        speeds=tuple(u.name for u in system.speeds.u),
        frames={frame.name: frame for frame in tables.frames},
        angular_velocities={m.body.name: tables.angular(k) for k, m in enumerate(members, start=1)},
        mass_centres={m.body.name: tables.mass_centre(k) for k, m in enumerate(members, start=1)},
        points=tables.points(),
        generalized_active_forces=tables.active(),
        generalized_inertia_forces=tables.inertia(),
    )


class BodyPartials(NamedTuple):
    """Partial angular velocities of bodies and partial velocities of mass centres, by body, and the frame N."""

    N: Frame
    angular_velocities: Mapping[str, Partials]
    mass_centres: Mapping[str, Partials]


def body_partials(
    motion: Velocities, system: System, tree: BodyTree, baked_in: Callable[[Any], tuple[Expr, ...]]
) -> BodyPartials:
    """Return the partial velocities of all bodies in the bases of ``motion``, without forces."""
    tables, members = _Tables(system, motion, tree, baked_in), tree.members[1:]
    angular = {m.body.name: tables.angular(k) for k, m in enumerate(members, start=1)}
    return BodyPartials(
        tables.frames[0], angular, {m.body.name: tables.mass_centre(k) for k, m in enumerate(members, start=1)}
    )


class _Tables:
    """Conversion of velocity forms and forces to printed vectors: in named frames, with parameters substituted."""

    def __init__(
        self, system: System, motion: Velocities, tree: BodyTree, baked_in: Callable[[Any], tuple[Expr, ...]]
    ) -> None:
        self.motion, self.tree, self.gravity = motion, tree, system.gravity
        self.bake, self.zero = baked_in, system.arena.zero
        self.frames = [Frame("N")]
        for k, member in enumerate(tree.members[1:], start=1):
            self.frames.append(self.frames[member.parent].orient(member.body.name, tree.joined(k).R_PB))

    def _partials(self, label: str, form: VelocityForm, basis: int) -> Partials:
        def vector(v: Any) -> Vector:
            return Vector(self.frames[basis], self.bake(v))

        u = tuple(vector(form.u.get(r, ZERO_VECTOR)) for r in range(len(self.motion.speeds.u)))
        return Partials(label, vector(form.whole), u, vector(form.t))

    def angular(self, k: int) -> Partials:
        return self._partials(f"w_N{self.frames[k].name}", self.motion.angular(k, k), k)

    def mass_centre(self, k: int) -> Partials:
        form = self.motion.point(k, self.tree.members[k].body.com)
        return self._partials(f"v_N{self.frames[k].name}cm", form, self.motion.bases[k][1])

    def points(self) -> dict[str, Partials]:
        found = {}
        for a in applied_wrenches(self.motion, self.tree):
            pushes = any(not is_zero(x) for x in a.force)
            if pushes and a.point != self.tree.members[a.member].body.com:
                body = self.frames[a.member].name
                form = self.motion.point(a.member, a.point)
                label = f"v_NP, P of {body}: {a.load}"
                found[f"{a.load}, {body}"] = self._partials(label, form, self.motion.bases[a.member][1])
        return found

    def _forces(self, symbol: str, contributions: Iterable[tuple[str, str, list[Any]]]) -> GeneralizedForces:
        listed = tuple((load, where, self.bake(forces)) for load, where, forces in contributions)
        return GeneralizedForces(symbol, tuple(u.name for u in self.motion.speeds.u), listed, self.zero)

    def active(self) -> GeneralizedForces:
        weights = [weight_wrench(self.motion, k, self.gravity) for k in range(1, len(self.frames))]
        standing: list[AppliedWrench] = [*weights, *applied_wrenches(self.motion, self.tree)]
        on_bodies = [(a.load, self.frames[a.member].name, active_forces(self.motion, a)) for a in standing]
        return self._forces("F", [*on_bodies, *project_joint_efforts(self.motion, self.tree)])

    def inertia(self) -> GeneralizedForces:
        speeds = self.motion.speeds
        motion = Accelerations(self.motion, speeds.natural_accelerations(speeds.udot))
        found = [(INERTIA_TITLE, self.frames[k].name, inertia_forces(motion, k)) for k in range(1, len(self.frames))]
        return self._forces("F*", found)
