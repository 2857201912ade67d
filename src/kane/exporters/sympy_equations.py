"""Equations with the attributes of SymPy's ``KanesMethod``, as matrices over intermediate symbols."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from kane.codegen.emit.intermediates import intermediate_names, intermediates
from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.parameter_sums import shortened
from kane.errors import ModelError, list_names, shown
from kane.exporters.sympy_expressions import sympy_expressions, sympy_leaf
from kane.expression.derivative import jacobian, linear_coefficients
from kane.expression.node import Expr
from kane.expression.number_arguments import number
from kane.expression.text import name_of
from kane.expression.traverse import leaves, reachable, substitute_nodes
from kane.formulation.derivatives.implicit_rule import needed_forces
from kane.formulation.equations import Equations
from kane.formulation.reactions.reactions import Reactions

# Expanded matrices with more operations than this get a warning: SymPy prints or differentiates them in minutes.
LARGE_EXPANSION = 20_000
Replacements = list[tuple[Any, Any]]


class SymPyLinearization(NamedTuple):
    """Linear equations dx/dt = A x + B v as SymPy matrices, in the order of ``KanesMethod.linearize``.

    Attributes:
        A: n x n, derivatives of the rates of the states by the states.
        B: n x m, derivatives by the inputs.
        inputs: v, m x 1.
        states: x, n x 1: coordinates, then independent speeds.
        replacements: (symbol, expression) of the intermediate symbols in A and B.
    """

    A: Any
    B: Any
    inputs: Any
    states: Any
    replacements: Replacements


class SymPyEquations:
    """Equations M u' = forcing with the attributes of ``KanesMethod``; ``kane.to_sympy(equations)`` returns them.

    Attributes:
        replacements: (symbol, expression) of the intermediate symbols, as ``sympy.cse`` returns; each expression
            contains earlier symbols only. Empty after ``expanded()``.
        mass_matrix: M, n x n. The row of a dependent speed is its acceleration constraint, as in ``KanesMethod``.
        forcing: n x 1.
        auxiliary_eqs: expression minus reaction, which vanishes, for each determinate reaction that was given.
        q, u: coordinates and speeds, columns of functions of time.
        inputs, parameters: default values by function of time, and by symbol.
    """

    def __init__(
        self, sympy: Any, source: Equations, reactions: Reactions | None = None, *, whole: bool = False
    ) -> None:
        self._sympy, self._source, self._reactions = sympy, source, reactions
        n, nq = len(source.u), len(source.q)
        mass, forcing = _matrices(source)
        held = list(reactions.expressions.items()) if reactions else []
        roots = [*(x for row in mass for x in row), *forcing, *source.kinematics, *source.baked_in(x for _, x in held)]
        self.replacements, found = _written(sympy, source, roots, whole=whole)
        take = iter(found)
        self.mass_matrix = sympy.Matrix(n, n, [next(take) for _ in range(n * n)])
        self.forcing = sympy.Matrix(n, 1, [next(take) for _ in range(n)])
        self._rates = [next(take) for _ in range(nq)]
        time = sympy.Symbol("t")
        self.auxiliary_eqs = sympy.Matrix(
            len(held), 1, [next(take) - sympy.Function(name.replace(" ", "_"))(time) for name, _ in held]
        )
        self.q, self.u = (sympy.Matrix(len(x), 1, self._symbols(x)) for x in (source.q, source.u))
        self.inputs, self.parameters = (
            dict(zip(self._symbols(x), [source.defaults[leaf.name] for leaf in x], strict=True))
            for x in (source.inputs, source.parameters)
        )

    def __repr__(self) -> str:
        """Return the summary of the equations and the number of replacements."""
        return f"<SymPyEquations {self._source.summary}; {len(self.replacements)} replacements>"

    def kindiffdict(self) -> dict[Any, Any]:
        """Return dq/dt by derivative of the coordinate."""
        time = self._sympy.Symbol("t")
        return {self._sympy.Derivative(x, time): rate for x, rate in zip(self.q, self._rates, strict=True)}

    @cached_property
    def mass_matrix_full(self) -> Any:
        """Matrix of [q', u'], (nq + n) square: mass_matrix_full [q'; u'] = forcing_full."""
        return self._sympy.diag(self._sympy.eye(len(self.q)), self.mass_matrix)

    @cached_property
    def forcing_full(self) -> Any:
        """Right side of the equations of [q', u'], (nq + n) x 1."""
        return self._sympy.Matrix([*self._rates, *self.forcing])

    def expanded(self) -> SymPyEquations:
        """Return the same matrices without intermediate symbols, with a warning if they are large."""
        return SymPyEquations(self._sympy, self._source, self._reactions, whole=True)

    def linearize(self, *, op_point: Any = None, A_and_B: bool = True) -> SymPyLinearization:
        """Return A and B of dx/dt = A x + B v as SymPy matrices, x = [q, independent u].

        Args:
            op_point: dict from coordinates, speeds, inputs, parameters and time to numbers, or a list of dicts.
            A_and_B: True; the implicit form M x' = A x + B v does not exist here.

        Raises:
            ModelError: the configuration is constrained (``kane.linearize`` gives numbers), the equations have no
                expressions for u', a key of ``op_point`` is unknown, or a value is no finite number.
        """
        source, sympy = self._source, self._sympy
        if not A_and_B:
            raise ModelError("linearize gives the explicit form only; leave A_and_B out")
        if source.closing:
            raise ModelError(
                f"the configuration of {source.name!r} is constrained, so that its coordinates are not independent; "
                "kane.linearize(dyn, q=...) eliminates them numerically"
            )
        dependent = source.embedding.u
        free = [(x, rate) for x, rate in zip(source.u, source.forward, strict=True) if x not in dependent]
        states = [*source.q, *(x for x, _ in free)]
        rates = [*source.kinematics, *(rate for _, rate in free)]
        one, zero = source.t.arena.one, source.t.arena.zero
        columns = [*states, *source.inputs]
        slopes = jacobian(rates, [{x: one} for x in columns])
        entries = [slopes.get((i, j), zero) for i in range(len(states)) for j in range(len(columns))]
        point = self._point(op_point)
        replacements, found = _written(sympy, source, substitute_nodes(entries, point))
        whole = sympy.Matrix(len(states), len(columns), found)
        inputs = sympy.Matrix(len(source.inputs), 1, self._symbols(source.inputs))
        n = len(states)
        return SymPyLinearization(
            whole[:, :n], whole[:, n:], inputs, sympy.Matrix(n, 1, self._symbols(states)), replacements
        )

    def _symbols(self, found: Sequence[Expr]) -> list[Any]:
        return [sympy_leaf(self._sympy, leaf) for leaf in found]

    def _point(self, given: Any) -> dict[Expr, Expr]:
        """Return constants of the leaves in an operating point.

        Raises:
            ModelError: a key is no symbol of the equations, or a value is no number.
        """
        source = self._source
        own = [*source.q, *source.u, *source.inputs, *source.parameters, source.t]
        known = dict(zip(self._symbols(own), own, strict=True))
        found = {}
        for part in [given or {}] if given is None or isinstance(given, Mapping) else given:
            for symbol, value in part.items():
                if symbol not in known:
                    raise ModelError(
                        f"op_point contains {shown(symbol)}; the symbols are {list_names([str(x) for x in known])}"
                    )
                found[known[symbol]] = source.t.arena.constant(number(value, f"op_point[{symbol}]"))
        return found


def _matrices(source: Equations) -> tuple[list[list[Expr]], list[Expr]]:
    """Return M and forcing, with the acceleration constraints in the rows of dependent speeds."""
    n, mass = len(source.u), [list(row) for row in source.mass_matrix]
    forcing = [-x for x in needed_forces(source, [0.0] * n)]
    for leaf, acceleration in source.embedding.udot.items():
        d = source.udot.index(leaf)
        (row,), (rest,) = linear_coefficients(list(source.baked_in([acceleration])), source.udot)
        mass[d] = [(leaf.arena.one if j == d else leaf.arena.zero) - x for j, x in enumerate(row)]
        forcing[d] = rest
    return mass, forcing


def _written(
    sympy: Any, source: Equations, roots: Sequence[Expr], *, whole: bool = False
) -> tuple[Replacements, list[Any]]:
    """Return replacements and roots as SymPy expressions; no replacements if they are wanted ``whole``."""
    if whole:
        _warn_of_size(source, roots)
        return sympy_expressions(sympy, roots)
    short = shortened(factor(roots))
    order = [node for node in reachable(short) if node.args]
    taken = {name_of(leaf) for leaf in (*leaves(short), *source.q, *source.u, *source.inputs, *source.parameters)}
    return sympy_expressions(sympy, short, intermediate_names(intermediates(order, short, True), taken | {"t"}))


def _warn_of_size(source: Equations, roots: Sequence[Expr]) -> None:
    size: dict[Expr, int] = {}
    for node in reachable(roots):
        size[node] = bool(node.args) + sum(size[a] for a in node.args)
    total = sum(size[x] for x in roots)
    if total > LARGE_EXPANSION:
        warnings.warn(
            f"the expanded matrices of {source.name!r} have {total:.3g} operations, {len(size)} of them different; "
            "SymPy may take minutes to print or differentiate them. The matrices with replacements are short",
            stacklevel=5,
        )
