"""Why a term is in an equation of motion: ``kane.explain`` and ``kane.why``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from kane.analysis.mode_equations import chosen_mode
from kane.analysis.required_values import require_values
from kane.array_types import Array
from kane.errors import ModelError
from kane.expression.interpret import interpret
from kane.expression.node import Expr
from kane.expression.number_arguments import number, require
from kane.expression.text import format_expression
from kane.expression.traverse import leaves
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import quantity
from kane.formulation.reasons.contributions import LOAD, Contribution, Contributions, friction_force
from kane.formulation.reasons.reason import Reason
from kane.formulation.units.inferred_units import shown_units
from kane.model.checks import require_known
from kane.model.named_vector import named_vector
from kane.model.reaction import row_force
from kane.simulation.state_layout import Layout


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Contributions to one equation of motion; prints as a table. The sum of all contributions is zero.

        M udot + bias - B inputs - A^T lambda - friction = 0

    Attributes:
        equations: the equations of the model.
        speed: name of the generalized speed whose equation this is.
        contributions: one for each term, kind and body, load or constraint row. The lambda of numerically embedded
            constraints and of active contacts are the reactions of their rows.
        sliding: intermittent constraints whose kinetic friction acts.
    """

    equations: Equations
    speed: str
    contributions: tuple[Contribution, ...]
    sliding: tuple[IntermittentEquations, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms, accelerations first."""
        return tuple(dict.fromkeys(c.term for c in self.contributions))

    def at(self, q: Any = None, u: Any = None, *, inputs: Any = None, parameters: Any = None, t: float = 0.0) -> Shares:
        """Return the value of each contribution at a state, with the accelerations and reactions of this state.

        Args:
            q, u: coordinates and speeds, arrays or dicts by name; neutral and zero by default. Speeds that constraints
                make dependent follow from the others if the embedding is symbolic.
            inputs: array or dict by name of all inputs on which the values and accelerations depend.
            parameters: array or dict by name; defaults for the rest.
            t: time [s].

        Raises:
            ModelError: an unknown name, a wrong shape, a missing input, or a state at which the mass matrix is singular
                or a sliding constraint has no slip velocity.
        """
        values = _values(self.equations, self.sliding, (q, u), (inputs, parameters, t))
        self._require_inputs(inputs)
        found = np.array(interpret([c.expression for c in self.contributions], values), float) + 0.0
        if not np.isfinite(found).all():
            raise ModelError(
                f"the accelerations of {self.equations.name!r} are not determined at this state, where a divisor of "
                "its equations or the velocity of a sliding contact vanishes; give another state"
            )
        return Shares(self.speed, shown_units(self.equations)[f"f_{self.speed}"], self.contributions, found)

    def _require_inputs(self, inputs: Any) -> None:
        """Raise if the contributions or the accelerations depend on an input that is not given."""
        constrained = self.equations.embedding.numerical or self.sliding
        solved = quantity(self.equations, "unconstrained").outputs if constrained else self.equations.forward
        read = set(leaves([*(c.expression for c in self.contributions), *solved]))
        require_values(f"the equation of {self.speed!r} at a state", read, self.equations.inputs, inputs, "inputs")

    def __repr__(self) -> str:
        rows = [(c.term, c.kind, _source(c), format_expression(c.expression)) for c in self.contributions]
        unit = shown_units(self.equations)[f"f_{self.speed}"]
        head = f"equation of {self.speed} of {self.equations.name!r} [{unit}]"
        return f"{head}\n{_table(('term', 'kind', 'from', 'value'), rows)}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


@dataclass(frozen=True, repr=False, eq=False)
class Shares:
    """Values of the contributions to one equation at a state; prints as a table with shares of the largest.

    Attributes:
        speed: name of the speed whose equation this is.
        unit: unit of the values: N m for a speed in rad/s, N for m/s.
        contributions: as in the ``Explanation``.
        values: one number for each contribution, with the sum zero.
    """

    speed: str
    unit: str
    contributions: tuple[Contribution, ...]
    values: Array

    @property
    def by_term(self) -> dict[str, float]:
        """Sum of the contributions to each term."""
        found: dict[str, float] = {}
        for c, value in zip(self.contributions, self.values.tolist(), strict=True):
            found[c.term] = found.get(c.term, 0.0) + value
        return found

    def __repr__(self) -> str:
        total = 0.5 * np.abs(self.values).sum() or 1.0
        order = np.argsort(-np.abs(self.values), kind="stable")
        told = [(self.contributions[k], float(self.values[k])) for k in order]
        rows = [(c.term, c.kind, _source(c), f"{x:.6g}", f"{100 * abs(x) / total:.1f} %") for c, x in told]
        heads = ("term", "kind", "from", f"value [{self.unit}]", "share")
        return f"equation of {self.speed}: shares of one side\n{_table(heads, rows)}"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def explain(equations: Equations, equation: str, *, mode: str | None = None) -> Explanation:
    """Return every body, load and constraint that contributes to an equation of motion, term by term.

    The equation of u_r is -(F_r + F*_r) = 0. F*_r is linear in masses and moments of inertia, and F_r is additive:

        m v_r . a = sum of M_rs udot_s + c_ij u_i u_j,      w_r . (I alpha + w x I w) = the same with c gyroscopic,

    with c_ii u_i^2 of the mass centre centripetal, and c_ij u_i u_j Coriolis. Removing a body or a load removes exactly
    its contributions. With symbolically embedded constraints, the equations of dependent speeds contribute too:
    F_i + D^T F_d. With numerically embedded constraints, the rows contribute their reactions, A^T lambda. So do the
    active rows of contacts, stops, latches, switches and sticking joints; sliding ones contribute kinetic friction.

    Args:
        equations: equations of a model.
        equation: name of the speed, "u2", or of its derivative, "u2'".
        mode: name of a contact mode as in ``run.modes``, such as "free" or "left held, right sliding"; required if the
            model has intermittent constraints.

    Raises:
        ModelError: the speed is unknown, constraints make it dependent, or the mode is unknown or missing.

    Source: Kane & Levinson 1983, Eqs. 78-79, 90; Gillespie 2003, Eq. 44.
    """
    require(equations, Equations, "explain takes Equations, which kane.formulate(model) returns")
    equations, sliding = chosen_mode(equations, mode)
    names = [leaf.data for leaf in equations.u]
    speed = equation.removesuffix("'") if isinstance(equation, str) else equation
    require_known(speed, names, "equation of the speed")
    row = names.index(speed)
    if row in equations.embedding.D:
        free = [name for j, name in enumerate(names) if j not in equations.embedding.D]
        raise ModelError(
            f"the constraints of {equations.name!r} make {speed!r} dependent, so that it has no equation of its own; "
            f"ask for {', '.join(free)}, or explain equations.unconstrained"
        )
    return Explanation(equations, speed, tuple(Contributions(equations, sliding).of([row])), sliding)


def why(equations: Equations, equation: str, term: str | Expr, *, mode: str | None = None) -> Reason:
    """Return why a term is in an equation of motion: its kind, and the bodies, loads or constraints it comes from.

    Args:
        equations: equations of a model.
        equation: name of the speed, "u2", or of its derivative, "u2'".
        term: "u1*u2", "u2**2", "u3'", "gravity", the title of a load ("Motor on q2") or of a constraint row, an input,
            the name of a sliding contact, or an expression such as ``eqs.u[0] * eqs.u[1]``.
        mode: name of a contact mode, as for ``explain``.

    Raises:
        ModelError: the equation is unknown, or does not have the term; the message names similar terms.
    """
    found = explain(equations, equation, mode=mode)
    factors = _factors(term)
    named = [c for c in found.contributions if _factors(c.term) == factors]
    if named:
        return Reason(found.speed, named[0].term, tuple(named))
    name = "*".join(factors)  # an input or a parameter of a load
    named = [c for c in found.contributions if c.kind == LOAD and name in {x.data for x in leaves([c.expression])}]
    if not named:
        require_known(name, found.terms, f"term of the equation of {found.speed}:")
    return Reason(found.speed, name, tuple(named))


def _factors(term: Any) -> list[str]:
    """Return the factors of a term in alphabetical order: u1, u1 for u1**2."""
    text = repr(term) if isinstance(term, Expr) else term
    require(text, str, 'a term is a text such as "u1*u2" or an expression')
    found: list[str] = []
    for factor in text.replace("^", "**").replace("**2", "@").split("*"):
        found += [factor.strip().removesuffix("@")] * (2 if factor.strip().endswith("@") else 1)
    return sorted(found)


def _source(c: Contribution) -> str:
    return f"{c.source} through {c.through}" if c.through else c.source


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _values(
    equations: Equations,
    sliding: Sequence[IntermittentEquations],
    state: tuple[Any, Any],
    others: tuple[Any, Any, float],
) -> dict[Expr, Any]:
    """Return the values of all leaves at a state, with its accelerations and reactions."""
    layout, (inputs, parameters, t) = Layout.of(equations), others
    x = layout.named_state(*state)
    given: list[tuple[Sequence[Expr], Any]] = [
        ((equations.t,), [number(t, "the time")]),
        (equations.q, x[: len(equations.q)]),
        (equations.u, x[len(equations.q) :]),
        (equations.inputs, named_vector(inputs, layout.inputs, layout.input_defaults, "input")),
        (equations.parameters, equations.parameter_bounds.given(parameters)),
    ]
    values: dict[Expr, Any] = {}
    for group, row in given:
        values |= dict(zip(group, row, strict=True))
    if not equations.embedding.numerical and not sliding:
        found = interpret(equations.forward, values)
        return values | dict(zip(equations.udot, found, strict=True))
    return values | _constrained(equations, sliding, values)


def _constrained(
    equations: Equations, sliding: Sequence[IntermittentEquations], values: Mapping[Expr, Any]
) -> dict[Expr, Any]:
    """Return udot and the reactions lambda: M udot + h = (A^T + G) lambda + g, A udot + remainder = 0.

    G lambda + g are the generalized forces of kinetic friction.
    """
    n, rows = len(equations.u), equations.constraints
    terms = interpret(quantity(equations, "unconstrained").outputs, values)
    size = n * (n + 1) // 2
    M = np.zeros((n, n))
    M[np.tril_indices(n)] = terms[:size]
    M += np.tril(M, -1).T
    h, remainder = np.array(terms[size : size + n]), np.array(terms[size + n : size + n + len(rows)])
    A = np.array(interpret(quantity(equations, "constraints").outputs[: len(rows) * n], values)).reshape(len(rows), n)
    forces = [row_force(equations.t, row.name) for row in rows]
    friction = _friction_at(equations, sliding, values, forces)
    if not np.isfinite(friction).all():
        return dict.fromkeys((*equations.udot, *forces), np.nan)
    whole = np.block([[M, -A.T - friction[:, 1:]], [A, np.zeros((len(rows), len(rows)))]])
    found = np.linalg.lstsq(whole, np.concatenate([friction[:, 0] - h, -remainder]), rcond=None)[0]
    return dict(zip((*equations.udot, *forces), found, strict=True))


def _friction_at(
    equations: Equations,
    sliding: Sequence[IntermittentEquations],
    values: Mapping[Expr, Any],
    forces: Sequence[Expr],
) -> Array:
    """Return the generalized forces of friction without reactions, and per unit of each reaction, (n, 1 + rows)."""
    zero = equations.t.arena.zero
    totals = [
        sum((f for c in sliding if (f := friction_force(c, r)) is not None), zero) for r in range(len(equations.u))
    ]
    baked, none = equations.baked_in(totals), dict.fromkeys(forces, 0.0)
    at = [interpret(baked, {**values, **none, **one}) for one in ({}, *({force: 1.0} for force in forces))]
    found = np.array(at, float).T
    found[:, 1:] -= found[:, :1]
    return found
