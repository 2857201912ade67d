"""``kane.to_sympy``: expressions and equations as SymPy expressions and matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

from kane.errors import ExpressionError, ModelError, pip_install, shown
from kane.expression import operations as ops
from kane.expression.derivative import linear_coefficients
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.text import name_of
from kane.expression.traverse import reachable
from kane.formulation.derivatives.implicit_rule import needed_forces
from kane.formulation.equations import Equations

# Constructor of each operation from SymPy's namespace and the arguments; none of them simplifies.
TO_SYMPY: dict[int, Callable[..., Any]] = {
    ops.ADD: lambda s, a, b: s.Add(a, b, evaluate=False),
    ops.SUB: lambda s, a, b: s.Add(a, s.Mul(-1, b, evaluate=False), evaluate=False),
    ops.MUL: lambda s, a, b: s.Mul(a, b, evaluate=False),
    ops.DIV: lambda s, a, b: s.Mul(a, s.Pow(b, -1, evaluate=False), evaluate=False),
    ops.NEG: lambda s, a: s.Mul(-1, a, evaluate=False),
    ops.POW: lambda s, a, b: s.Pow(a, b, evaluate=False),
    ops.SQRT: lambda s, a: s.Pow(a, s.Rational(1, 2), evaluate=False),
    ops.SIN: lambda s, a: s.sin(a, evaluate=False),
    ops.COS: lambda s, a: s.cos(a, evaluate=False),
    ops.TAN: lambda s, a: s.tan(a, evaluate=False),
    ops.ASIN: lambda s, a: s.asin(a, evaluate=False),
    ops.ACOS: lambda s, a: s.acos(a, evaluate=False),
    ops.ATAN2: lambda s, a, b: s.atan2(a, b, evaluate=False),
    ops.EXP: lambda s, a: s.exp(a, evaluate=False),
    ops.LOG: lambda s, a: s.log(a, evaluate=False),
    ops.TANH: lambda s, a: s.tanh(a, evaluate=False),
    ops.ABS: lambda s, a: s.Abs(a, evaluate=False),
    ops.SIGN: lambda s, a: s.sign(a, evaluate=False),
    ops.MIN: lambda s, a, b: s.Min(a, b, evaluate=False),
    ops.MAX: lambda s, a, b: s.Max(a, b, evaluate=False),
    ops.LESS: lambda s, a, b: s.Piecewise((1, s.Lt(a, b, evaluate=False)), (0, True), evaluate=False),
    ops.LESS_EQUAL: lambda s, a, b: s.Piecewise((1, s.Le(a, b, evaluate=False)), (0, True), evaluate=False),
    ops.EQUAL: lambda s, a, b: s.Piecewise((1, s.Eq(a, b, evaluate=False)), (0, True), evaluate=False),
    ops.SELECT: lambda s, c, a, b: s.Piecewise((a, s.Ne(c, 0, evaluate=False)), (b, True), evaluate=False),
}


class SymPyEquations(NamedTuple):
    """Equations M u' = forcing as SymPy matrices; the arguments of ``kane.from_sympy``.

    Attributes:
        mass_matrix: M, n x n. The row of a dependent speed is its acceleration constraint, as in ``KanesMethod``.
        forcing: n x 1.
        q, u: coordinates and speeds, functions of time.
        kinematics: dq/dt by derivative, as ``KanesMethod.kindiffdict()`` returns.
        inputs, parameters: default values by function of time, and by symbol.
    """

    mass_matrix: Any
    forcing: Any
    q: list[Any]
    u: list[Any]
    kinematics: dict[Any, Any]
    inputs: dict[Any, float]
    parameters: dict[Any, float]


@overload
def to_sympy(source: Equations) -> SymPyEquations: ...


@overload
def to_sympy(source: Expr) -> Any: ...


def to_sympy(source: Any) -> Any:
    """Return an expression as a SymPy expression, or equations as SymPy matrices.

    Coordinates, speeds and inputs become functions of Symbol("t"), parameters symbols, rates and accelerations
    derivatives. Shared subexpressions are shared objects, which ``sympy.cse`` finds. Nothing is expanded or simplified.
    ``kane.expression_from_sympy`` and ``kane.from_sympy`` lead back.

    Args:
        source: an expression, or equations of a model.

    Raises:
        ModelError: SymPy is missing, the expression contains a spline or a measure of a model without equations, or the
            constraints of the equations are embedded numerically.
    """
    require(source, (Expr, Equations), "to_sympy takes an expression or Equations")
    try:
        import sympy
    except ImportError:
        raise ModelError(f"to_sympy needs the package sympy; {pip_install('sympy')}") from None
    return _converted(sympy, [source])[0] if isinstance(source, Expr) else _equations(sympy, source)


def _equations(sympy: Any, source: Equations) -> SymPyEquations:
    """Return equations as SymPy matrices, with the acceleration constraints in the rows of dependent speeds."""
    n, mass = len(source.u), [list(row) for row in source.mass_matrix]
    forcing = [-x for x in needed_forces(source, [0.0] * n)]
    for leaf, acceleration in source.embedding.udot.items():
        d = source.udot.index(leaf)
        (row,), (rest,) = linear_coefficients(list(source.baked_in([acceleration])), source.udot)
        mass[d] = [(leaf.arena.one if j == d else leaf.arena.zero) - x for j, x in enumerate(row)]
        forcing[d] = rest
    groups = [source.q, source.u, source.inputs, source.parameters]
    roots = [*(x for row in mass for x in row), *forcing, *source.kinematics, *(x for group in groups for x in group)]
    take = iter(_converted(sympy, roots))
    M = sympy.Matrix(n, n, [next(take) for _ in range(n * n)])
    f = sympy.Matrix(n, 1, [next(take) for _ in range(n)])
    rates = [next(take) for _ in source.q]
    q, u, inputs, parameters = ([next(take) for _ in group] for group in groups)
    defaults = [[source.defaults[leaf.name] for leaf in group] for group in groups[2:]]
    time = sympy.Symbol("t")
    return SymPyEquations(
        mass_matrix=M,
        forcing=f,
        q=q,
        u=u,
        kinematics=dict(zip([sympy.Derivative(x, time) for x in q], rates, strict=True)),
        inputs=dict(zip(inputs, defaults[0], strict=True)),
        parameters=dict(zip(parameters, defaults[1], strict=True)),
    )


def _converted(sympy: Any, roots: Sequence[Expr]) -> list[Any]:
    found: dict[Expr, Any] = {}
    for node in reachable(roots):
        make = TO_SYMPY.get(node.op)
        found[node] = make(sympy, *(found[a] for a in node.args)) if make else _leaf(sympy, node)
    return [found[x] for x in roots]


def _leaf(sympy: Any, node: Expr) -> Any:
    """Return the SymPy object of a leaf.

    Raises:
        ExpressionError: SymPy has none.
    """
    time = sympy.Symbol("t")
    if node.op == ops.CONSTANT:
        return sympy.Integer(int(node.data)) if node.data == int(node.data) else sympy.Float(node.data)
    if node.op == ops.TIME:
        return time
    if node.op == ops.PARAMETER:
        return sympy.Symbol(node.name)
    if node.op in (ops.COORDINATE, ops.SPEED, ops.INPUT):
        return sympy.Function(node.name)(time)
    if node.op in (ops.RATE, ops.ACCELERATION):
        return sympy.Derivative(sympy.Function(node.name)(time), time)
    raise ExpressionError(
        f"SymPy has no form of {shown(name_of(node))}, a {ops.OPERATIONS[node.op].name}; use expressions of "
        "coordinates, speeds, parameters and inputs"
    )
