"""Contributions of bodies, loads and constraint rows to one equation of motion, term by term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kane.expression.construct import build_absolute, build_sqrt
from kane.expression.derivative import forward, linear_coefficients
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.equations import Equations
from kane.formulation.explicit.acceleration_forms import Accelerations
from kane.formulation.explicit.generalized_forces import (
    active_forces,
    applied_wrenches,
    inertia_torque,
    project_joint_efforts,
    resolve_loads,
    weight_wrench,
)
from kane.formulation.explicit.vector_bases import with_cheapest_bases
from kane.formulation.explicit.velocity_forms import Velocities, VelocityForm
from kane.formulation.random_states import RandomStates
from kane.formulation.tree.body_tree import BodyTree
from kane.formulation.tree.spatial import times
from kane.geometry.scalars import Triple, dot
from kane.model.reaction import row_force

INERTIA, CENTRIPETAL, CORIOLIS, GYROSCOPIC = "inertia", "centripetal", "Coriolis", "gyroscopic"
PRESCRIBED_MOTION, GRAVITY, LOAD = "prescribed motion", "gravity", "load"
CONSTRAINT, FRICTION = "constraint", "friction"
# Coefficients smaller than the largest one of an equation by this factor are round-off. They vanish at random states by
# identities such as cos**2 + sin**2 = 1, which expressions do not simplify in every form.
VANISHING = 1e-14
STATES, SEED = 3, 0


class Contribution(NamedTuple):
    """Part of one term of an equation of motion, written as M udot + bias - B inputs - A^T lambda = 0.

    Attributes:
        speed: name of the speed whose equation it is.
        term: the term: "u1*u2", "u2**2", "u3'", "gravity", the title of a load, the name of a constraint row, or the
            name of a sliding constraint.
        kind: "inertia", "centripetal", "Coriolis", "gyroscopic", "prescribed motion", "gravity", "load", "constraint"
            or "friction".
        source: name of the body, the load, the constraint row or the sliding constraint.
        through: dependent speed whose equation contributes it, by the constraints; empty for the equation's own speed.
        expression: its value [N m for a speed in rad/s, N for m/s].
    """

    speed: str
    term: str
    kind: str
    source: str
    through: str
    expression: Expr


class _Part(NamedTuple):
    """Generalized force of one body, load or row in one equation, before it is split into terms.

    ``way`` is the column of the speed whose equation contributes it: the row itself, or a dependent speed.
    """

    row: int
    source: str
    kind: str
    way: int
    expression: Any


class Contributions:
    """Contributions to the equations of motion of independent speeds; their sum is the equation.

    F*_r is linear in masses and inertias, and F_r is additive, so that the contribution of a body or a load is exact.
    """

    def __init__(
        self,
        equations: Equations,
        sliding: Sequence[IntermittentEquations] = (),
        motion: Velocities | None = None,
    ) -> None:
        """Prepare the motion of all bodies.

        Args:
            equations: equations of a model.
            sliding: intermittent constraints whose kinetic friction acts.
            motion: velocities of all bodies; by default in the bases with the fewest operations.
        """
        x, y, z = equations.system.gravity
        speeds, embedding = equations.system.speeds, equations.embedding
        self._equations, self._sliding = equations, sliding
        self._motion = motion or with_cheapest_bases(equations.tree, speeds, (-x, -y, -z))
        udot = speeds.udot if embedding.numerical else embedding.accelerations(speeds.udot)
        self._accelerations = Accelerations(self._motion, speeds.natural_accelerations(udot))

    def of(self, rows: Sequence[int]) -> list[Contribution]:
        """Return the contributions to the equations of the independent speeds with these indices."""
        equations = self._equations
        parts = [part for row in rows for part in _Forces(equations, self._accelerations, row).parts()]
        parts += [part for row in rows for part in _friction(equations, self._sliding, row)]
        baked = equations.baked_in([part.expression for part in parts])
        parts = [part._replace(expression=x) for part, x in zip(parts, baked, strict=True)]
        split = list(_split(equations, [part for part in parts if part.kind in (CORIOLIS, GYROSCOPIC)]))
        others = [_titled(equations, part) for part in parts if part.kind not in (CORIOLIS, GYROSCOPIC)]
        return _present(equations, split) + _present(equations, [(c, c.expression) for c in others])


class _Forces:
    """Generalized forces -(F_r + F*_r) of one equation, by body and by load."""

    def __init__(self, equations: Equations, accelerations: Accelerations, row: int) -> None:
        self._equations, self._row = equations, row
        self._accelerations, self._motion = accelerations, accelerations.velocities
        D = equations.embedding.D
        self._ways: dict[int, Any] = {row: 1.0} | {d: c[row] for d, c in D.items() if row in c}

    def parts(self) -> Iterator[_Part]:
        """Yield the parts of the inertia, the weight, the loads and the constraint rows."""
        yield from self._inertia()
        yield from self._weight()
        yield from self._loads(resolve_loads(self._motion, self._equations.tree))
        for c in self._equations.constraints if self._equations.embedding.numerical else ():
            if self._row in c.coefficients:
                force = c.coefficients[self._row] * row_force(self._equations.t, c.name)
                yield _Part(self._row, c.name, CONSTRAINT, self._row, -force)

    def _weighed(self, source: str, kind: str, forces: Mapping[int, Any]) -> Iterator[_Part]:
        """Yield the force of the row, and the forces of dependent speeds times their coefficients in D."""
        for r, weight in self._ways.items():
            yield _Part(self._row, source, kind, r, weight * forces[r])

    def _projected(self, form: VelocityForm, v: Triple) -> dict[int, Any]:
        return {r: dot(form.u[r], v) if r in form.u else 0.0 for r in self._ways}

    def _inertia(self) -> Iterator[_Part]:
        found = self._accelerations
        for k, member in enumerate(self._motion.tree.members[1:], start=1):
            body = member.body
            pushing = times(body.mass, found.point(k, body.com))
            yield from self._weighed(body.name, CORIOLIS, self._projected(self._motion.point(k, body.com), pushing))
            turning = inertia_torque(found, k)
            yield from self._weighed(body.name, GYROSCOPIC, self._projected(self._motion.angular(k, k), turning))

    def _weight(self) -> Iterator[_Part]:
        for k, member in enumerate(self._motion.tree.members[1:], start=1):
            forces = active_forces(self._motion, weight_wrench(self._motion, k, self._equations.system.gravity))
            yield from self._weighed(member.body.name, GRAVITY, {r: -forces[r] for r in self._ways})

    def _loads(self, tree: BodyTree) -> Iterator[_Part]:
        totals: dict[str, list[Any]] = {title: [0.0] * len(self._equations.u) for title, _ in tree.loads}
        for applied in applied_wrenches(self._motion, tree):
            totals[applied.load] = _sum(totals[applied.load], active_forces(self._motion, applied))
        for title, _, forces in project_joint_efforts(self._motion, tree):
            totals[title] = _sum(totals[title], forces)
        for title, forces in totals.items():
            yield from self._weighed(title, LOAD, {r: -forces[r] for r in self._ways})


def _friction(equations: Equations, sliding: Sequence[IntermittentEquations], row: int) -> Iterator[_Part]:
    for c in sliding:
        force = friction_force(c, row)
        if force is not None:
            yield _Part(row, c.name, FRICTION, row, -force)


def friction_force(c: IntermittentEquations, row: int) -> Expr | None:
    """Return the generalized force of kinetic friction, -mu_k N A_t^T v_t / |v_t|; None if it is zero.

    The normal force N is the leaf of the normal row; a joint with dry friction has the effort ``kinetic``.
    """
    slips = [tangent.motion for tangent in c.tangents]
    size = build_absolute(slips[0]) if len(slips) == 1 else build_sqrt(slips[0] * slips[0] + slips[1] * slips[1])
    bound = c.numbers.kinetic if c.normal is None else c.numbers.kinetic * row_force(size, c.normal.name)
    columns = [tangent.coefficients.get(row) for tangent in c.tangents]
    parts = [-a * (bound * (slip / size)) for a, slip in zip(columns, slips, strict=True) if a is not None]
    return sum(parts[1:], parts[0]) if parts else None


def _sum(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _titled(equations: Equations, part: _Part) -> Contribution:
    term = GRAVITY if part.kind == GRAVITY else part.source
    return _named(equations, part, term, part.kind, part.expression)


def _named(equations: Equations, part: _Part, term: str, kind: str, expression: Expr) -> Contribution:
    speed, way = (str(equations.u[j].data) for j in (part.row, part.way))
    return Contribution(speed, term, kind, part.source, "" if part.way == part.row else way, expression)


def _split(equations: Equations, parts: Sequence[_Part]) -> Iterator[tuple[Contribution, Expr]]:
    """Yield the contributions of inertia forces, a_i udot_i + c_ij u_i u_j + b_i u_i + e, with their coefficients."""
    u, zero = equations.u, equations.system.arena.zero
    rows, rest = linear_coefficients([part.expression for part in parts], equations.udot)
    for i, leaf in enumerate(equations.udot):
        yield from _times(equations, parts, [row[i] for row in rows], (f"{leaf.data}'", leaf, INERTIA))
    still = dict.fromkeys(u, zero)
    slopes = [forward(rest, {leaf: zero.arena.one}) for leaf in u]
    for i, first in enumerate(u):
        for j in range(i, len(u)):
            found = forward(slopes[i], {u[j]: zero.arena.one})
            name, kind = (f"{first}*{u[j]}", "") if j > i else (f"{first}**2", CENTRIPETAL)
            halved = found if j > i else [0.5 * x for x in found]
            yield from _times(equations, parts, halved, (name, first * u[j], kind))
    if any(x is not zero for x in substitute_nodes(_speeds(equations), still)):
        for first, slope in zip(u, slopes, strict=True):
            yield from _times(equations, parts, substitute_nodes(slope, still), (str(first), first, PRESCRIBED_MOTION))
        yield from _times(equations, parts, substitute_nodes(rest, still), ("1", zero.arena.one, PRESCRIBED_MOTION))


def _speeds(equations: Equations) -> list[Expr]:
    """Return the joints' own speeds and the dependent speeds, which vanish with u unless a motion is prescribed."""
    return [*equations.system.speeds.natural, *equations.embedding.u.values()]


def _times(
    equations: Equations, parts: Sequence[_Part], coefficients: Sequence[Expr], named: tuple[str, Expr, str]
) -> Iterator[tuple[Contribution, Expr]]:
    """Yield coefficient times factor for each part, given name, factor and kind of the term.

    Velocity terms of moments of inertia are gyroscopic.
    """
    term, factor, kind = named
    for part, coefficient in zip(parts, coefficients, strict=True):
        if coefficient is not equations.system.arena.zero:
            gyroscopic = part.kind == GYROSCOPIC and kind in ("", CENTRIPETAL)
            told = GYROSCOPIC if gyroscopic else kind or part.kind
            yield _named(equations, part, term, told, coefficient * factor), coefficient


def _present(equations: Equations, found: Sequence[tuple[Contribution, Expr]]) -> list[Contribution]:
    """Return the contributions whose coefficients do not vanish at random states, oldest terms first."""
    if not found:
        return []
    states = RandomStates(equations, STATES, SEED)
    forces = [row_force(equations.t, row.name) for row in equations.constraints]
    if forces:
        states = states.with_values(forces, np.ones((len(forces), STATES)))
    sizes = np.abs(states(coefficient for _, coefficient in found)).max(axis=1)
    largest: dict[str, float] = {}
    for (c, _), size in zip(found, sizes.tolist(), strict=True):
        largest[c.speed] = max(size, largest.get(c.speed, 0.0))
    kept: dict[tuple[str, ...], Contribution] = {}
    for (c, _), size in zip(found, sizes.tolist(), strict=True):
        if not size <= VANISHING * largest[c.speed]:
            key = (c.speed, c.term, c.kind, c.source, c.through)
            kept[key] = c._replace(expression=kept[key].expression + c.expression) if key in kept else c
    return list(kept.values())
