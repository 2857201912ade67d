"""Reactions brought into evidence by auxiliary generalized speeds.

A joint gets motions that it does not allow, and a constraint row gets a residual. Each is an auxiliary speed sigma,
whose value is zero. The generalized force of sigma contains the reaction, and no other unknown:

    R_k = -(F_k + F*_k) - sum over dependent speeds d of D_dk (F_d + F*_d),  A_d D_k = -A_k.

Source: Kane & Levinson 1985, Sec. 4.9; Tanner & Kyriakopoulos 2001, Sec. 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from kane.array_types import Array
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.deferred import dataclass
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.derivative import total_time_derivative
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import ACCELERATION, SPEED
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.elimination import ZERO_COEFFICIENT_TOLERANCE, Elimination, LinearRow, eliminate
from kane.formulation.constraints.rows import Equation, every_equation, row_equation
from kane.formulation.equations import Equations
from kane.formulation.read_model import natural_system, probe_of
from kane.formulation.recursive.applied import applied_loads
from kane.formulation.recursive.inverse import along_u, inverse_dynamics
from kane.formulation.recursive.measures import position_in_K
from kane.formulation.tree.spatial import minus
from kane.formulation.tree.system import System
from kane.geometry.scalars import UNIT_VECTORS, ZERO_VECTOR, Triple, cross, dot, is_zero
from kane.model.body import Point
from kane.model.checks import require_known
from kane.model.connection import Connection
from kane.model.constraints.constraint import Imposed

ReactionPlace: TypeAlias = Connection | Point | Imposed | str
# Prefix of the names of auxiliary speeds; names in a model do not start with a space.
AUXILIARY_SPEED_PREFIX = " auxiliary "
# Sums of reactions that are determinate at this many random states are determinate at almost all states, because their
# coefficients are analytic functions of the state.
DETERMINACY_STATES = 3


@dataclass(frozen=True)
class Auxiliary:
    """An auxiliary speed: of a link relative to its parent, or the residual of a constraint row.

    Attributes:
        name, unit: name and unit of the reaction that does work on it.
        link: index of the moving link; 0 for a constraint row.
        w, v: angular velocity, and velocity of the joint's foot point, per unit of the speed, in K.
        row: name of the constraint row.
    """

    name: str
    unit: str
    link: int = 0
    w: Triple = ZERO_VECTOR
    v: Triple = ZERO_VECTOR
    row: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Reactions:
    """Reactions of a model, from ``reveal_reactions``.

    The reactions of a joint are the force and the torque that the parent exerts on the child, about Mo along the axes
    of M. They include motors and springs of the joint. The reactions at a point of a body are force and torque of its
    inboard joint about the point, along the axes of the body. The reaction of a constraint row is the force or torque
    that does work on the row's residual velocity A u + b.

    Attributes:
        names, units: names and units of the reactions.
        equations: equations from which they were revealed.
        needed: -(F_r + F*_r) of the joints' own speeds, then of the auxiliary speeds, in q, u, udot, t and inputs.
        rows: sparse rows of A; columns of the joints' own speeds, then of the auxiliary speeds.
        row_names: names of these rows.
        touching: sparse rows of all intermittent constraints, whose forces are loads here.
        own: number of the joints' own speeds.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    equations: Equations
    needed: tuple[Expr, ...]
    rows: tuple[dict[int, Expr], ...]
    row_names: tuple[str, ...]
    touching: tuple[dict[int, Expr], ...]
    own: int

    def __repr__(self) -> str:
        shared = f"; indeterminate: {', '.join(self.indeterminate)}" if self.indeterminate else ""
        return f"<Reactions of {self.equations.name!r}: {', '.join(self.names)}{shared}>"

    @cached_property
    def expressions(self) -> dict[str, Expr]:
        """The determinate reactions by name, in q, u, udot, t and inputs; see ``fails_where``."""
        D, lift = self._elimination.values(), self.equations.system.arena.lift
        reactions: list[Any] = list(self.needed[self.own :])
        for d, row in D.items():
            for j, c in row.coefficients.items():
                if j >= self.own:
                    reactions[j - self.own] = reactions[j - self.own] + c * self.needed[d]
        found = dict(zip(self.names, reactions, strict=True))
        return {name: lift(x) for name, x in found.items() if name not in self.indeterminate}

    @property
    def fails_where(self) -> tuple[Expr, ...]:
        """Divisors of ``expressions``, which fail where a divisor vanishes; numerical solutions do not fail there."""
        return tuple(self._elimination.pivots)

    @cached_property
    def indeterminate(self) -> tuple[str, ...]:
        """Names of reactions that redundant constraints share, so that they are indeterminate at every state."""
        probe = probe_of(self.equations.model)
        left = [(j, c) for row in self._elimination.left for j, c in row.coefficients.items() if j >= self.own]
        shared = {j for j, c in left if abs(probe([c])[0]) > ZERO_COEFFICIENT_TOLERANCE}
        return tuple(name for j, name in enumerate(self.names, start=self.own) if j in shared)

    @cached_property
    def determinate_sums(self) -> tuple[dict[str, float], ...]:
        """Sums of indeterminate reactions that are determinate at every state, {name: factor}."""
        columns = [self.own + self.names.index(name) for name in self.indeterminate]
        probes = [probe_of(self.equations.model, seed=seed) for seed in range(DETERMINACY_STATES)]
        rows = [[row.coefficients.get(j, 0.0) for j in columns] for row in self._elimination.left]
        left = [probe(row) for row in rows for probe in probes]
        if not left:
            return ()
        return tuple(
            {name: float(x) for name, x in zip(self.indeterminate, v, strict=True) if x} for v in _null_rows(left)
        )

    def summed(self, **sums: Mapping[str, float]) -> Reactions:
        """Return sums of reactions instead of the reactions: ``summed(rear={"left Fy": 1, "right Fy": 1})``.

        Raises:
            ModelError: a reaction is unknown, or a sum is empty.
        """
        n, k = self.own, len(self.names)
        for title, terms in sums.items():
            require(terms, Mapping, f"the sum {shown(title)} is a dict of factors by names of reactions")
            if not terms:
                raise ModelError(f"the sum {shown(title)} is empty; give factors by names of reactions")
        for name in (name for terms in sums.values() for name in terms):
            require_known(name, self.names, "reaction")
        weights = [[terms.get(name, 0.0) for name in self.names] for terms in sums.values()]
        needed = [dot(row, self.needed[n:]) for row in weights]

        def mixed(row: Mapping[int, Expr]) -> dict[int, Expr]:
            found = {n + i: dot(w, [row.get(n + j, 0.0) for j in range(k)]) for i, w in enumerate(weights)}
            return {j: c for j, c in row.items() if j < n} | {j: c for j, c in found.items() if not is_zero(c)}

        units = tuple(self.units[self.names.index(next(iter(terms)))] for terms in sums.values())
        lifted = tuple(self.equations.system.arena.lift(x) for x in needed)
        rows, touching = (tuple(map(mixed, given)) for given in (self.rows, self.touching))
        whole = (*self.needed[:n], *lifted)
        return replace(self, names=tuple(sums), units=units, needed=whole, rows=rows, touching=touching)

    @cached_property
    def _elimination(self) -> Elimination:
        rows = [LinearRow(str(i), dict(row), 0.0) for i, row in enumerate(self.rows)]
        return eliminate(rows, range(self.own), probe_of(self.equations.model))

    @cached_property
    def forward(self) -> dict[str, Expr]:
        """The determinate reactions in q, u, t and inputs, with udot substituted; for events and listings.

        Raises:
            ModelError: the constraints are embedded numerically, so that there is no expression for udot.
        """
        eqs = self.equations
        udot = dict(zip(eqs.udot, eqs.forward, strict=True))
        found = eqs.baked_in(substitute_nodes(list(self.expressions.values()), udot))
        return dict(zip(self.expressions, found, strict=True))

    def program(self) -> Program:
        """Return the program of ``needed``, A and ``touching``, which reads t, q, u, udot and inputs."""
        eqs, zero = self.equations, self.equations.system.arena.zero
        width = self.own + len(self.names)
        entries = [row.get(j, zero) for row in (*self.rows, *self.touching) for j in range(width)]
        outputs = [eqs.system.arena.lift(x) for x in (*self.needed, *entries)]
        state = (eqs.t, *eqs.q, *eqs.u)
        rest = (*eqs.udot, *eqs.inputs)
        with collector_paused():
            return Program("reactions", factor(outputs), state=state, rest=rest, parameters=eqs.parameters)


def reveal_reactions(equations: Equations, *places: ReactionPlace) -> Reactions:
    """Bring reactions into evidence by auxiliary generalized speeds, which the result does not contain.

    Args:
        equations: equations of a model.
        places: joints or constraints (results of Model.constrain), or their names; or points of bodies, for the wrench
            that the inboard joint exerts on the body.

    Raises:
        ModelError: a joint or constraint is unknown, or a point belongs to the ground, which no joint holds.

    Source: Tanner & Kyriakopoulos 2001, Sec. 3; Kane & Levinson 1985, Sec. 4.9.
    """
    require(equations, Equations, "reveal_reactions takes Equations, which kane.formulate(model) returns")
    if not places:
        raise ModelError("reveal_reactions needs a joint, a constraint, or a point of a body whose reactions to reveal")
    with collector_paused():
        model = equations.model
        found = [_resolved(equations, place) for place in places]
        welds = [c for c in found if isinstance(c, Connection) and c.joint.nu == 0]
        welds += [c for p in found if isinstance(p, Point) and (c := _inboard(equations, p)).joint.nu == 0]
        plain = natural_system(model, apart=welds)
        auxiliary = [a for place in found for a in _auxiliary(plain, equations, place)]
        system = _with_auxiliary(plain, auxiliary)
        n = len(plain.speeds.u)
        applied = applied_loads((load.effect() for load in model.loads), system)
        udot = [*plain.speeds.udot, *(0.0 for _ in auxiliary)]
        inertia = inverse_dynamics(system, udot, applied.wrenches)
        needed = [x - y for x, y in zip(inertia, along_u(system, applied.efforts), strict=True)]
        row_names, rows = _rows(system, equations, auxiliary)
        touching = [dict(row.coefficients) for row in _touching(system, equations)]
        flat = _in_chosen_speeds([*needed, *(x for row in (*rows, *touching) for x in row.values())], system, equations)
    entries = iter(flat[len(needed) :])
    return Reactions(
        names=tuple(a.name for a in auxiliary),
        units=tuple(a.unit for a in auxiliary),
        equations=equations,
        needed=tuple(flat[: len(needed)]),
        rows=tuple({j: next(entries) for j in row} for row in rows),
        row_names=row_names,
        touching=tuple({j: next(entries) for j in row} for row in touching),
        own=n,
    )


def _resolved(equations: Equations, place: ReactionPlace) -> Connection | Point | Imposed:
    model = equations.model
    known: dict[str, Connection | Imposed] = {c.name: c for c in model.constraints}
    known |= {c.name: c for c in model.connections}
    if isinstance(place, str):
        require_known(place, known, "joint or constraint")
        return known[place]
    if isinstance(place, Point):
        if place.body.model.arena is not model.arena:
            raise ModelError(f"the point of body {place.body.name!r} belongs to another model")
        return place
    if not isinstance(place, (Connection, Imposed)) or known.get(place.name) is not place:
        raise ModelError(
            f"{shown(place)} has no reactions in {model.name!r}; give a joint, a constraint or a point of a body of it"
        )
    return place


def _inboard(equations: Equations, point: Point) -> Connection:
    """Return the joint that connects a body to its parent."""
    for connection in equations.model.connections:
        if connection.child is point.body:
            return connection
    raise ModelError("nothing holds the ground, so it has no reaction; reveal the reactions of a joint or constraint")


def _auxiliary(system: System, equations: Equations, place: Connection | Point | Imposed) -> Iterator[Auxiliary]:
    if isinstance(place, Imposed):
        for row in place.rows:
            name = place.name_of(row)
            yield Auxiliary(name, "N m" if row.name.startswith("turn") else "N", row=name)
        return
    if isinstance(place, Connection):
        title, body, at, axes = place.name, place.child, place.p_CM, [place.R_CM.apply(e) for e in UNIT_VECTORS]
        link = next(i for i, x in enumerate(system.links) if x.connection is place)
    else:
        held = _inboard(equations, place)
        title, body, at, axes = place.body.name, place.body, place.position_in_body, list(UNIT_VECTORS)
        link = next(i for i, x in enumerate(system.links) if x.connection is held)
    step, R_LB = system.steps[link], system.places[body.index].R_LB
    arm = minus(minus(ZERO_VECTOR, step.d), position_in_K(system, body.index, at))
    in_K = [step.R_LK.apply_inverse(R_LB.apply(e)) for e in axes]
    for letter, e in zip("xyz", in_K, strict=True):
        yield Auxiliary(f"{title} F{letter}", "N", link, ZERO_VECTOR, e)
    for letter, e in zip("xyz", in_K, strict=True):
        yield Auxiliary(f"{title} T{letter}", "N m", link, e, cross(e, arm))


def _with_auxiliary(system: System, auxiliary: Sequence[Auxiliary]) -> System:
    """Return the system with auxiliary natural speeds added to the joints, as generalized speeds at the end of u."""
    speeds, arena, links = system.speeds, system.arena, system.links
    n = len(speeds.u)
    natural: list[Expr] = []
    C: list[dict[int, Expr]] = []
    a_t: list[Expr] = []
    first: dict[Connection, int] = {}
    steps = list(system.steps)
    for index in range(1, len(links)):
        connection, old = links[index].connection, list(system.columns(index))
        assert connection is not None
        first[connection] = len(natural)
        own = [(k, a) for k, a in enumerate(auxiliary) if a.link == index]
        natural += [speeds.natural[k] for k in old] + [
            arena.leaf(SPEED, f"{AUXILIARY_SPEED_PREFIX}{k}") for k, _ in own
        ]
        a_t += [speeds.a_t[k] for k in old] + [arena.zero] * len(own)
        C += [speeds.C[k] for k in old] + [{n + k: arena.one} for k, _ in own]
        step = steps[index]
        w_u, v_u = (*step.w_u, *(a.w for _, a in own)), (*step.v_u, *(a.v for _, a in own))
        steps[index] = replace(step, w_u=w_u, v_u=v_u)
    u = (*speeds.u, *(arena.leaf(SPEED, f"{AUXILIARY_SPEED_PREFIX}{k}") for k in range(len(auxiliary))))
    udot = (*speeds.udot, *(arena.leaf(ACCELERATION, f"{AUXILIARY_SPEED_PREFIX}{k}") for k in range(len(auxiliary))))
    extended = replace(speeds, u=u, udot=udot, natural=natural, C=C, a_t=a_t, first=first)
    return replace(system, speeds=extended, steps=steps)


def _rows(
    system: System, equations: Equations, auxiliary: Sequence[Auxiliary]
) -> tuple[tuple[str, ...], list[dict[int, Any]]]:
    """Return names and A of every constraint row, including rows that no joint speed changes."""
    n = len(system.speeds.u) - len(auxiliary)
    rows = {row.name: dict[int, Any](row.coefficients) for row in every_equation(equations.model.constraints, system)}
    for k, a in enumerate(auxiliary):
        if a.row:
            rows[a.row][n + k] = -system.arena.one
    return tuple(rows), list(rows.values())


def _touching(system: System, equations: Equations) -> Iterator[Equation]:
    """Yield the rows of the intermittent constraints, in the order of the forces of a run."""
    for c in equations.intermittents:
        for row in c.declared:
            yield row_equation(row, f"{c.name}: {row.name}", system)


def _in_chosen_speeds(expressions: Sequence[Any], system: System, equations: Equations) -> tuple[Expr, ...]:
    """Return expressions of the joints' own speeds in terms of the generalized speeds; auxiliary speeds are zero."""
    arena, speeds = system.arena, equations.system.speeds
    still = {
        leaf: arena.zero
        for leaf in (*system.speeds.u, *system.speeds.udot)
        if leaf.data.startswith(AUXILIARY_SPEED_PREFIX)
    }
    found = substitute_nodes([arena.lift(x) for x in expressions], still)
    if equations.model.speed_choice.definitions:
        leaves = [leaf for leaf in system.speeds.u if leaf not in still]
        own = [speeds.rates[leaf] for leaf in leaves]
        changes = dict(zip((*speeds.q, *speeds.u), (*speeds.kinematics, *speeds.udot), strict=True))
        rates = total_time_derivative(own, changes | {equations.t: arena.one})
        images = dict(zip(leaves, own, strict=True)) | dict(zip(system.speeds.udot, rates, strict=False))
        found = substitute_nodes(found, images)
    if equations.controllers:
        found = substitute_nodes(found, equations.controllers)
    return equations.unconstrained.baked_in(found)


def _null_rows(matrix: Sequence[Array]) -> np.ndarray:
    """Return vectors c with matrix c = 0, in reduced form: few entries, and the first entry of each is one."""
    A = np.array(matrix, float)
    _, sizes, V = np.linalg.svd(A)
    null = V[int((sizes > ZERO_COEFFICIENT_TOLERANCE * sizes.max(initial=1.0)).sum()) :]
    reduced, row = null.copy(), 0
    for column in range(A.shape[1]):
        if row == len(reduced):
            break
        pivot = row + int(np.argmax(np.abs(reduced[row:, column])))
        if abs(reduced[pivot, column]) < ZERO_COEFFICIENT_TOLERANCE:
            continue
        reduced[[row, pivot]] = reduced[[pivot, row]]
        reduced[row] /= reduced[row, column]
        for other in range(len(reduced)):
            if other != row:
                reduced[other] -= reduced[other, column] * reduced[row]
        row += 1
    reduced[np.abs(reduced) < ZERO_COEFFICIENT_TOLERANCE] = 0.0
    return reduced
