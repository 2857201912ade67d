"""Integrable motion constraints, by Frobenius's test with Lie brackets; exact derivatives, evaluated numerically.

Constraints A(q, t) u + b = 0 let a system of n speeds move, in the space of (q, t), along the fields

    X_i = Y (e_i + sum_d D_di e_d),  i independent,      X_0 = d/dt + y_t + Y sum_d e_d (-A_d^-1 b)_d,

where dq/dt = Y u + y_t, e_i are unit vectors, d runs over dependent speeds and D = -A_d^-1 A_i. Motions forth and back
along these fields reach the involutive closure: the directions that the fields and their repeated brackets [X, Z] =
(dZ) X - (dX) Z span. A constraint is integrable if it vanishes along the whole closure: together with the others it is
then the derivative of a configuration constraint. All other constraints are nonholonomic.

Source: Frobenius 1877; Chow 1939; Bloch, Nonholonomic Mechanics and Control, ch. 2 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kane.array_types import Array
from kane.deferred import NamedTuple
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.expression.collector import collector_paused
from kane.expression.derivative import forward, linear_coefficients
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.constraints.elimination import LinearRow, eliminate
from kane.formulation.equations import Equations
from kane.formulation.tree.probe import Probe

# Largest number of rounds of brackets; closures of mechanisms are complete after two or three.
MAX_BRACKET_ROUNDS = 6
# Number and distance of random places around the state at which fields are compared; at the state itself a bracket may
# vanish by symmetry.
PLACES = 3
NEIGHBOUR_OFFSET = 0.3
NEIGHBOUR_SEED = 1877
# Number of results, one for each set of rows and parameter values, that are stored with the Dynamics.
KEPT = 64
# Singular values, and components of brackets along constraints, are round-off if they are relatively below this.
BRACKET_TOLERANCE = 1e-9


class Field(NamedTuple):
    """Vector field over (q, t): its components along q, and its component along t (0 or 1)."""

    along_q: tuple[Expr, ...]
    along_t: float


def integrable_rows(terms: ConstraintTerms, q: Array, independent: Sequence[int]) -> tuple[str, ...]:
    """Return the names of integrable motion constraints.

    Only constraints that are linear in u and have no configuration equation are tested. The answer is the same at
    almost all states and times; it is computed once, at the first state.

    Args:
        terms: the constraints.
        q: coordinates, (nq,).
        independent: indices of rows that are independent there; only these are tested.
    """
    e = terms.equations
    motion = [i for i in independent if e.constraints[i].configuration is None and e.constraints[i].linear]
    if not motion or not all(e.constraints[i].linear for i in independent):
        return ()
    known: dict[tuple[tuple[int, ...], bytes], tuple[str, ...]] = terms.dyn.derived("integrable rows", dict)
    key = (tuple(independent), terms.parameters.tobytes())
    if key not in known:
        if len(known) >= KEPT:
            known.clear()
        known[key] = _integrable(terms, q, motion, independent)
    return known[key]


def _integrable(terms: ConstraintTerms, q: Array, motion: Sequence[int], independent: Sequence[int]) -> tuple[str, ...]:
    e = terms.equations
    with collector_paused():
        fields = _fields(e, independent)
        places = _places(terms, q)
        for _ in range(MAX_BRACKET_ROUNDS):
            bases = [_values(fields, place) for place in places]
            more = _closed_further(e, fields, bases, places)
            if len(more) == len(fields):
                break
            fields = more
        crossed = np.max([_crossed(e, motion, fields, place) for place in places], axis=0)
    return tuple(e.constraints[i].name for i, ratio in zip(motion, crossed, strict=True) if ratio < BRACKET_TOLERANCE)


def _fields(e: Equations, rows: Sequence[int]) -> list[Field]:
    """Return X_0 and the X_i as exact expressions."""
    speeds, arena = e.system.speeds, e.system.arena
    at_rest = dict.fromkeys(speeds.u, arena.zero)
    used = [e.constraints[i] for i in rows]
    given = [LinearRow(c.name, dict(c.coefficients), substitute_nodes([c.motion], at_rest)[0]) for c in used]
    known = eliminate(given, range(len(speeds.u)), Probe(e.defaults)).values()
    Y, y_t = linear_coefficients(speeds.kinematics, speeds.u)

    def along(direction: dict[int, Expr], rest: Sequence[Expr]) -> tuple[Expr, ...]:
        sums = [arena.lift(r + sum(row[j] * x for j, x in direction.items())) for row, r in zip(Y, rest, strict=True)]
        return tuple(e.unconstrained.baked_in(sums))

    drift = {d: arena.lift(row.rest) for d, row in known.items()}
    found = [Field(along(drift, y_t), 1.0)]
    for i in range(len(speeds.u)):
        if i not in known:
            direction = {d: arena.lift(row.coefficients[i]) for d, row in known.items() if i in row.coefficients}
            found.append(Field(along({i: arena.one, **direction}, [arena.zero] * len(y_t)), 0.0))
    return found


def _places(terms: ConstraintTerms, q: Array) -> list[dict[Expr, float]]:
    """Return values of the leaves at random places near the state."""
    e, random = terms.equations, np.random.default_rng(NEIGHBOUR_SEED)
    parameters = dict(zip(e.parameters, terms.parameters, strict=True))
    found = []
    for _ in range(PLACES):
        near = terms.at(q).moved(random.uniform(-NEIGHBOUR_OFFSET, NEIGHBOUR_OFFSET, size=len(e.u)))
        found.append(
            {**parameters, **dict(zip(e.q, near, strict=True)), e.t: terms.t + random.uniform(0.0, NEIGHBOUR_OFFSET)}
        )
    return found


def _values(fields: Sequence[Field], place: dict[Expr, float]) -> Array:
    """Return the fields at a place as columns of length one, (nq + 1, fields)."""
    width = len(fields[0].along_q)
    flat = np.array(interpret([x for field in fields for x in field.along_q], place), float).reshape(-1, width)
    columns = np.column_stack([flat, [field.along_t for field in fields]]).T
    lengths = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.where(lengths > 0.0, lengths, 1.0))


def _rank(columns: Array) -> int:
    values = np.linalg.svd(columns, compute_uv=False)
    return int((values > BRACKET_TOLERANCE * values[0]).sum())


def _closed_further(
    e: Equations, fields: list[Field], bases: Sequence[Array], places: Sequence[dict[Expr, float]]
) -> list[Field]:
    """Return the fields extended by the brackets that increase the rank of their span."""
    found, bases = list(fields), list(bases)
    for k, field in enumerate(fields):
        for other in fields[:k]:
            bracket = _bracket(e, other, field)
            if all(x.is_constant and float(x) == 0.0 for x in bracket.along_q):
                continue
            wider = [np.column_stack([b, _values([bracket], p)]) for b, p in zip(bases, places, strict=True)]
            if any(_rank(w) > _rank(b) for w, b in zip(wider, bases, strict=True)):
                found.append(bracket)
                bases = wider
    return found


def _bracket(e: Equations, X: Field, Z: Field) -> Field:
    """Return [X, Z] = (dZ) X - (dX) Z along q; its component along t is zero."""

    def derivative(of: Field, along: Field) -> list[Expr]:
        seeds = dict(zip(e.q, along.along_q, strict=True)) | {e.t: e.system.arena.lift(along.along_t)}
        return forward(of.along_q, seeds)

    pairs = zip(derivative(Z, X), derivative(X, Z), strict=True)
    return Field(tuple(e.system.arena.lift(a - b) for a, b in pairs), 0.0)


def _crossed(e: Equations, rows: Sequence[int], fields: Sequence[Field], place: dict[Expr, float]) -> Array:
    """Return the largest |A u + b| / |A| of each constraint over the closure's columns, which have length one."""
    speeds, n = e.system.speeds, len(e.u)
    Y, y_t = linear_coefficients(speeds.kinematics, speeds.u)
    at_rest = dict.fromkeys(speeds.u, e.system.arena.zero)
    chosen = [e.constraints[i] for i in rows]
    rest = substitute_nodes([c.motion for c in chosen], at_rest)
    entries = [c.coefficients.get(j, e.system.arena.zero) for c in chosen for j in range(n)]
    flat = [*(x for row in Y for x in row), *y_t, *entries, *rest]
    values = np.array(interpret(e.unconstrained.baked_in(flat), place), float)
    nq = len(speeds.q)
    Y_n, y, A, b = np.split(values, np.cumsum([nq * n, nq, len(rows) * n]))
    A = A.reshape(len(rows), n)
    columns = _values(fields, place)
    u = np.linalg.pinv(Y_n.reshape(nq, n)) @ (columns[:nq] - np.outer(y, columns[nq]))
    lengths = np.maximum(np.linalg.norm(A, axis=1), 1e-300)
    return np.asarray(np.abs(A @ u + np.outer(b, columns[nq])).max(axis=1) / lengths)
