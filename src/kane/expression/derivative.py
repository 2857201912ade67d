"""Exact symbolic derivatives, forward and reverse: one rule per operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kane.errors import ExpressionError, shown
from kane.expression import operations as ops
from kane.expression.construct import (
    build_cos,
    build_less_equal,
    build_log,
    build_power,
    build_select,
    build_sign,
    build_sin,
    build_spline,
    build_sqrt,
)
from kane.expression.node import Expr
from kane.expression.traverse import leaves, reachable, rebuild

# Upper bound of the operations of one backward pass, divided by the operations of one forward pass.
BACKWARDS = 4
DerivativeRule = Callable[[Expr], tuple["Expr | None", ...]]


def _quotient(r: Expr) -> tuple[Expr, ...]:
    _, b = r.args
    return 1 / b, -(r / b)


def _power(r: Expr) -> tuple[Expr | None, ...]:
    a, b = r.args
    with_respect_to_base = b * build_power(a, b - 1)
    return with_respect_to_base, None if b.is_constant else r * build_log(a)


def _atan2(r: Expr) -> tuple[Expr, ...]:
    y, x = r.args
    square = y * y + x * x
    return x / square, -y / square


# Functions with branches: (condition, a, b), where the node equals a if the condition holds, else b. Derivatives
# select the same branch, so that the other branch may be undefined.
CHOICES: dict[int, Callable[[Expr], tuple[Expr, ...]]] = {
    ops.MIN: lambda r: (build_less_equal(r.args[0], r.args[1]), *r.args),
    ops.MAX: lambda r: (build_less_equal(r.args[1], r.args[0]), *r.args),
    ops.SELECT: lambda r: r.args,
}

# Partial derivatives of the other operations with respect to each argument; None if zero. Functions with kinks or jumps
# (abs, sign, comparisons) get the derivative on their side of the kink or jump.
PARTIALS: dict[int, DerivativeRule] = {
    ops.ADD: lambda r: (r.arena.one, r.arena.one),
    ops.SUB: lambda r: (r.arena.one, -r.arena.one),
    ops.MUL: lambda r: (r.args[1], r.args[0]),
    ops.DIV: _quotient,
    ops.NEG: lambda r: (-r.arena.one,),
    ops.POW: _power,
    ops.SQRT: lambda r: (0.5 / r,),
    ops.SIN: lambda r: (build_cos(r.args[0]),),
    ops.COS: lambda r: (-build_sin(r.args[0]),),
    ops.TAN: lambda r: (1 + r * r,),
    ops.ASIN: lambda r: (1 / build_sqrt(1 - r.args[0] * r.args[0]),),
    ops.ACOS: lambda r: (-1 / build_sqrt(1 - r.args[0] * r.args[0]),),
    ops.ATAN2: _atan2,
    ops.EXP: lambda r: (r,),
    ops.LOG: lambda r: (1 / r.args[0],),
    ops.TANH: lambda r: (1 - r * r,),
    ops.ABS: lambda r: (build_sign(r.args[0]),),
    ops.SIGN: lambda r: (None,),
    ops.LESS: lambda r: (None, None),
    ops.LESS_EQUAL: lambda r: (None, None),
    ops.EQUAL: lambda r: (None, None),
    ops.SPLINE: lambda r: (build_spline(r.args[0], r.data.derivative()),),
}


Tangents = dict[Expr, Expr | None]


def forward(roots: Sequence[Expr], seeds: Mapping[Expr, Expr], tangents: Tangents | None = None) -> list[Expr]:
    """Return the directional derivative of each root: the sum of (d root/dx) seeds[x] over the leaves x.

    Args:
        roots: expressions to differentiate.
        seeds: rate of each leaf that changes.
        tangents: derivatives of nodes in earlier calls with the same rates, None for zero; those of further nodes are
            added.

    Source: the chain rule, with one tangent per node.
    """
    found: Tangents = {} if tangents is None else tangents
    for node in reachable(roots, found):
        total = None
        if node in seeds:
            total = node.arena.lift(seeds[node])
        elif any(found[a] is not None for a in node.args):
            total = _tangent(node, found)
            total = None if total is node.arena.zero else total
        found[node] = total
    return [_or_zero(found[root], root) for root in roots]


def _tangent(node: Expr, tangents: Tangents) -> Expr | None:
    if node.op in CHOICES:
        condition, a, b = CHOICES[node.op](node)
        return build_select(condition, _or_zero(tangents[a], node), _or_zero(tangents[b], node))
    total = None
    for a, partial in zip(node.args, PARTIALS[node.op](node), strict=True):
        if partial is not None and (tangent := tangents[a]) is not None:
            term = partial * tangent
            total = term if total is None else total + term
    return total


def _or_zero(tangent: Expr | None, node: Expr) -> Expr:
    return node.arena.zero if tangent is None else tangent


def gradient(root: Expr, variables: Sequence[Expr]) -> list[Expr]:
    """Return all partial derivatives d root/d variable by one backward pass, for any number of variables.

    A select may have an undefined branch, such as the root of a negative number. The backward pass multiplies the slope
    of this branch by zero and returns NaN; ``forward`` does not.
    """
    order = reachable([root])
    wanted = set(variables)
    reaches = set()
    for node in order:
        if node in wanted or any(a in reaches for a in node.args):
            reaches.add(node)
    adjoint: dict[Expr, Expr] = {root: root.arena.one}
    for node in reversed(order):
        bar = adjoint.get(node)
        if bar is None or not node.args or node in wanted or node not in reaches:
            continue
        for a, term in _shares(node, bar):
            if a in reaches:
                adjoint[a] = adjoint[a] + term if a in adjoint else term
    return [adjoint.get(v, root.arena.zero) for v in variables]


def _shares(node: Expr, bar: Expr) -> list[tuple[Expr, Expr]]:
    """Return (argument, term) pairs: the terms of the adjoints of the arguments from ``bar``, the node's adjoint."""
    if node.op in CHOICES:
        condition, a, b = CHOICES[node.op](node)
        zero = node.arena.zero
        return [(a, build_select(condition, bar, zero)), (b, build_select(condition, zero, bar))]
    partials = zip(node.args, PARTIALS[node.op](node), strict=True)
    return [(a, bar * partial) for a, partial in partials if partial is not None]


def jacobian(roots: Sequence[Expr], columns: Sequence[Mapping[Expr, Expr]]) -> dict[tuple[int, int], Expr]:
    """Return the nonzero directional derivatives of root i along column j under the key (i, j), column by column.

    If there are few roots and many columns, the derivatives come from backward passes, unless the roots have branches.
    Otherwise they come from one forward pass for each column.

    Args:
        roots: expressions to differentiate.
        columns: directions, each a mapping of leaves to their rates, which are expressions of the same arena.
    """
    if len(roots) * BACKWARDS <= len(columns) and not any(node.op in CHOICES for node in reachable(roots)):
        moving = list(dict.fromkeys(leaf for column in columns for leaf in column))
        slopes = [dict(zip(moving, gradient(root, moving), strict=True)) for root in roots]
        found = [[_along(slope, column) for slope in slopes] for column in columns]
    else:
        found = [forward(roots, column) for column in columns]
    entries = {(i, j): x for j, column in enumerate(found) for i, x in enumerate(column)}
    return {place: x for place, x in entries.items() if x is not x.arena.zero}


def _along(slope: Mapping[Expr, Expr], column: Mapping[Expr, Expr]) -> Expr:
    terms = [slope[leaf] * rate for leaf, rate in column.items()]
    return sum(terms[1:], terms[0])


def total_time_derivative(
    roots: Sequence[Expr], rates: Mapping[Expr, Expr], tangents: Tangents | None = None
) -> list[Expr]:
    """Return d root/dt, where each leaf x changes at ``rates[x]``, time at 1, and other leaves are constant.

    For ``tangents`` see ``forward``.
    """
    clocks = {leaf: leaf.arena.one for leaf in leaves(roots, tangents or ()) if leaf.op == ops.TIME}
    return forward(roots, clocks | dict(rates), tangents)


LinearForms = dict[Expr, "tuple[dict[int, Expr], Expr] | None"]


def linear_coefficients(
    roots: Sequence[Expr], variables: Sequence[Expr], forms: LinearForms | None = None
) -> tuple[list[list[Expr]], list[Expr]]:
    """Return exact A and b with root[i] = sum_j A[i][j] variables[j] + b[i]; they do not contain the variables.

    Args:
        roots: expressions that are linear in the variables.
        variables: leaves.
        forms: coefficients and rests of nodes in earlier calls with the same variables, None for nodes without
            variables; those of further nodes are added.

    Raises:
        ExpressionError: a root is not linear in the variables; the message names the nonlinear operation.
    """
    zero = roots[0].arena.zero if roots else None
    column = {v: j for j, v in enumerate(variables)}
    found: LinearForms = {} if forms is None else forms
    for node in reachable(roots, found):
        form = None
        if node in column:
            form = {column[node]: node.arena.one}, node.arena.zero
        elif any(found[a] is not None for a in node.args):
            form = _linear_form(node, found)
        found[node] = form
    rows, rest = [], []
    for root in roots:
        coefficients, remainder = found[root] or ({}, root)
        rows.append([coefficients.get(j, zero) for j in range(len(variables))])
        rest.append(remainder)
    return rows, rest  # type: ignore[return-value]


_Form = tuple[dict[int, "Expr"], "Expr"]


def _linear_form(node: Expr, forms: LinearForms) -> _Form:
    parts = [forms[a] or ({}, a) for a in node.args]
    if not any(form for form, _ in parts):  # the variables have cancelled
        return {}, rebuild(node, [rest for _, rest in parts])
    form, rest = _combined(node, parts)
    zero = node.arena.zero
    return {j: c for j, c in form.items() if c is not zero}, rest


def _combined(node: Expr, parts: Sequence[_Form]) -> _Form:
    if node.op == ops.NEG:
        return {j: -c for j, c in parts[0][0].items()}, -parts[0][1]
    if node.op in (ops.ADD, ops.SUB):
        signed = 1 if node.op == ops.ADD else -1
        total = dict(parts[0][0])
        for j, c in parts[1][0].items():
            total[j] = total[j] + signed * c if j in total else signed * c
        return total, parts[0][1] + signed * parts[1][1]
    if node.op == ops.MUL and not (parts[0][0] and parts[1][0]):
        (form, rest), factor = (parts[0], parts[1][1]) if parts[0][0] else (parts[1], parts[0][1])
        return {j: c * factor for j, c in form.items()}, rest * factor
    if node.op == ops.DIV and not parts[1][0]:
        divisor = parts[1][1]
        return {j: c / divisor for j, c in parts[0][0].items()}, parts[0][1] / divisor
    if node.op == ops.SELECT and not parts[0][0]:
        columns = parts[1][0].keys() | parts[2][0].keys()
        zero, test = node.arena.zero, parts[0][1]
        mixed = {j: build_select(test, parts[1][0].get(j, zero), parts[2][0].get(j, zero)) for j in sorted(columns)}
        return mixed, build_select(test, parts[1][1], parts[2][1])
    raise ExpressionError(f"{shown(node)} is not linear in the variables")
