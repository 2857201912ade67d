"""``kane.to_sympy``: expressions and equations as SymPy expressions and matrices."""

from __future__ import annotations

from typing import Any, overload

from kane.errors import ModelError, pip_install
from kane.exporters.sympy_equations import SymPyEquations
from kane.exporters.sympy_expressions import sympy_expressions
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.formulation.equations import Equations
from kane.formulation.reactions.reactions import Reactions


@overload
def to_sympy(source: Equations, *, reactions: Reactions | None = None) -> SymPyEquations: ...


@overload
def to_sympy(source: Expr) -> Any: ...


def to_sympy(source: Any, *, reactions: Reactions | None = None) -> Any:
    """Return an expression as a SymPy expression, or equations with the attributes of SymPy's ``KanesMethod``.

    Coordinates, speeds and inputs become functions of Symbol("t"), parameters symbols, rates and accelerations
    derivatives. Nothing is expanded or simplified. Shared subexpressions of an expression are shared objects, which
    ``sympy.cse`` finds. Shared subexpressions of equations are symbols with a list of replacements.
    ``kane.expression_from_sympy`` and ``kane.from_sympy`` lead back.

    Args:
        source: an expression, or equations of a model.
        reactions: result of ``kane.reveal_reactions(source, ...)``, for ``auxiliary_eqs``.

    Raises:
        ModelError: SymPy is missing, or the expression contains a spline or a measure. The constraints of the equations
            are embedded numerically, or the reactions belong to other equations.
    """
    require(source, (Expr, Equations), "to_sympy takes an expression or Equations")
    require(reactions, (Reactions, type(None)), "reactions is the result of kane.reveal_reactions")
    if reactions is not None and reactions.equations is not source:
        raise ModelError("the reactions belong to other equations; give kane.reveal_reactions(source, ...)")
    try:
        import sympy
    except ImportError:
        raise ModelError(f"to_sympy needs the package sympy; {pip_install('sympy')}") from None
    if isinstance(source, Expr):
        return sympy_expressions(sympy, [source])[1][0]
    return SymPyEquations(sympy, source, reactions)
