"""``kane.to_casadi``: expressions and equations as CasADi graphs, compiled equations as external functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from kane.array_types import Array
from kane.dynamics.derivatives.derivatives import Blocks, Derivatives
from kane.dynamics.dynamics import Dynamics
from kane.errors import ExpressionError, ModelError, pip_install, shown
from kane.expression import operations as ops
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.text import name_of
from kane.expression.traverse import reachable
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import require_program, written_quantity

# Constructor of each operation from CasADi's namespace and the arguments.
TO_CASADI: dict[int, Callable[..., Any]] = {
    ops.ADD: lambda f, a, b: a + b,
    ops.SUB: lambda f, a, b: a - b,
    ops.MUL: lambda f, a, b: a * b,
    ops.DIV: lambda f, a, b: a / b,
    ops.NEG: lambda f, a: -a,
    ops.POW: lambda f, a, b: a**b,
    ops.SQRT: lambda f, a: f.sqrt(a),
    ops.SIN: lambda f, a: f.sin(a),
    ops.COS: lambda f, a: f.cos(a),
    ops.TAN: lambda f, a: f.tan(a),
    ops.ASIN: lambda f, a: f.asin(a),
    ops.ACOS: lambda f, a: f.acos(a),
    ops.ATAN2: lambda f, a, b: f.atan2(a, b),
    ops.EXP: lambda f, a: f.exp(a),
    ops.LOG: lambda f, a: f.log(a),
    ops.TANH: lambda f, a: f.tanh(a),
    ops.ABS: lambda f, a: f.fabs(a),
    ops.SIGN: lambda f, a: f.sign(a),
    ops.MIN: lambda f, a, b: f.fmin(a, b),
    ops.MAX: lambda f, a, b: f.fmax(a, b),
    ops.LESS: lambda f, a, b: f.if_else(a < b, 1.0, 0.0),
    ops.LESS_EQUAL: lambda f, a, b: f.if_else(a <= b, 1.0, 0.0),
    ops.EQUAL: lambda f, a, b: f.if_else(a == b, 1.0, 0.0),
    ops.SELECT: lambda f, c, a, b: f.if_else(c != 0, a, b),
    ops.SPLINE: lambda f, a, table: _piecewise(f, a, table),
}
# Programs whose outputs are a matrix, by rows, and the program that has all its entries.
MATRICES = {"mass_matrix": "whole_mass_matrix", "input_matrix": "input_matrix", "coriolis_matrix": "coriolis_matrix"}
# Programs that read inputs, or udot.
READ_INPUTS = ("rhs", "forward", "inverse")


@overload
def to_casadi(source: Expr, name: Mapping[str, Any]) -> Any: ...


@overload
def to_casadi(source: Equations | Dynamics, name: str = "rhs") -> Any: ...


def to_casadi(source: Any, name: Any = "rhs") -> Any:
    """Return an expression as a CasADi expression, or equations as a ``casadi.Function``.

        x = casadi.SX.sym("q1")
        kane.to_casadi(kane.sin(joint.q), {"q1": x})
        f = kane.to_casadi(eqs)           # f(q, u, inputs, t, parameters): an SX graph
        g = kane.to_casadi(dyn)           # the same, evaluated by kane's native code

    The functions have the named arguments q, u, inputs ("udot" for "inverse"), t and parameters. These are columns in
    the order of ``eqs.q``, ``eqs.u``, ``eqs.inputs`` and ``eqs.parameters``. The output has the name of the program.
    Functions that are called by name, as in ``f(q=[0.1], u=[0])``, take the declared defaults of inputs and parameters,
    and t = 0. A missing q, u or udot is NaN, and so is the result. In other uses of functions of ``Dynamics``, such as
    ``map``, give all arguments: CasADi takes 0 for a missing one.

    Use the SX graph for models of up to some 1e5 operations, and ``Dynamics`` for larger models and for
    constraints that are embedded numerically. First derivatives of the latter are kane's exact ones. Second derivatives
    are finite differences of these. Python must keep a function of ``Dynamics`` alive as long as CasADi uses it.

    Args:
        source: an expression, equations, or compiled equations.
        name: name of a program, "rhs", "forward", "inverse", "mass_matrix", "bias", "kinematics", "energy" and others.
            For an expression a dict from names of symbols to SX, MX or numbers.

    Raises:
        ModelError: CasADi is missing, a symbol has no value, or the equations lack the program or its expressions.
    """
    require(source, (Expr, Equations, Dynamics), "to_casadi takes an expression, Equations or Dynamics")
    try:
        import casadi
    except ImportError:
        raise ModelError(f"to_casadi needs the package casadi; {pip_install('casadi')}") from None
    if isinstance(source, Expr):
        require(name, Mapping, 'an expression needs the values of its symbols, such as {"q1": casadi.SX.sym("q1")}')
        return _converted(casadi, [source], lambda leaf: _named(leaf, name))[0]
    if isinstance(source, Equations):
        return _graph(casadi, source, name)
    require_program(source.equations, name)
    return _external(casadi, source, name)


def _named(leaf: Expr, values: Mapping[str, Any]) -> Any:
    word = "t" if leaf.op == ops.TIME else name_of(leaf)
    if word not in values:
        raise ModelError(f"the symbol {shown(word)} has no value; give it by this name")
    return values[word]


def _converted(casadi: Any, roots: Sequence[Expr], meaning: Callable[[Expr], Any]) -> list[Any]:
    found: dict[Expr, Any] = {}
    for node in reachable(roots):
        if node.op == ops.CONSTANT:
            found[node] = casadi.DM(node.data) if node in roots else node.data
        elif not node.args:
            found[node] = meaning(node)
        else:
            data = () if node.data is None else (node.data,)
            found[node] = TO_CASADI[node.op](casadi, *(found[a] for a in node.args), *data)
    return [found[x] for x in roots]


def _piecewise(casadi: Any, x: Any, table: Any) -> Any:
    """Return a piecewise cubic polynomial as nested choices of its pieces."""
    value: Any = None
    for knot, (a, b, c, d) in zip(table.knots, table.coefficients, strict=True):
        s = x - knot
        piece = a + s * (b + s * (c + s * d))
        value = piece if value is None else casadi.if_else(x < knot, value, piece)
    return value


def _graph(casadi: Any, eqs: Equations, name: str) -> Any:
    """Return a program of equations as a function of SX."""
    found = written_quantity(eqs, MATRICES.get(name, name))
    groups = {"q": eqs.q, "u": eqs.u, "inputs": eqs.inputs, "t": (eqs.t,), "parameters": eqs.parameters}
    if name == "inverse":
        groups = {"udot" if word == "inputs" else word: leaves for word, leaves in groups.items()}
        groups["udot"] = eqs.udot
    columns = {word: casadi.SX.sym(word, len(leaves)) for word, leaves in groups.items()}
    known = {leaf: columns[word][i] for word, leaves in groups.items() for i, leaf in enumerate(leaves)}

    def meaning(leaf: Expr) -> Any:
        if leaf not in known:
            raise ExpressionError(f"{name} contains {shown(name_of(leaf))}, which is no argument of a CasADi function")
        return known[leaf]

    values = casadi.vertcat(*_converted(casadi, found.outputs, meaning))
    if name in MATRICES:
        width = len(found.outputs) // max(1, len(eqs.u))
        values = casadi.reshape(values, width, len(eqs.u)).T
    given = _defaults(casadi, eqs, tuple(groups))
    kind = _by_name(casadi, casadi.Function, given)
    own = {"default_in": _of_each(given)}
    return kind(_word(eqs, name), [*columns.values()], [values], [*columns], [_plain(name)], own)


def _defaults(casadi: Any, eqs: Equations, words: Sequence[str]) -> dict[str, Any]:
    """Return the default columns of arguments by name; without a default they are NaN."""
    columns = {"inputs": eqs.inputs, "parameters": eqs.parameters}
    declared = {word: [eqs.defaults[x.name] for x in columns[word]] for word in words if columns.get(word)}
    return {word: casadi.DM(declared.get(word, 0.0 if word == "t" else np.nan)) for word in words}


def _of_each(given: Mapping[str, Any]) -> list[float]:
    """Return CasADi's own defaults, one number for each argument: NaN if the defaults of a column differ."""
    found = [set(map(float, column.full().ravel())) for column in given.values()]
    return [x.pop() if len(x) == 1 else np.nan for x in found]


def _by_name(casadi: Any, base: Any, defaults: Mapping[str, Any]) -> Any:
    """Return a kind of CasADi functions whose arguments have defaults in calls by name."""

    class WithDefaults(base):
        def call(self, arguments: Any, *flags: bool) -> Any:
            if isinstance(arguments, dict):
                arguments = {**defaults, **arguments}
            return super().call(arguments, *flags)

        def __reduce__(self) -> Any:
            return _loaded, (self.serialize(), dict(defaults))

    return WithDefaults


def _loaded(text: str, defaults: Mapping[str, Any]) -> Any:
    """Return a pickled function."""
    import casadi

    return _by_name(casadi, casadi.Function, defaults)(casadi.Function.deserialize(text))


def _plain(name: str) -> str:
    return "".join(x if x.isalnum() else "_" for x in name)


def _word(eqs: Equations, name: str) -> str:
    """Return a name of a CasADi function, which has letters, digits and single underscores."""
    word = "_".join(filter(None, _plain(f"{eqs.name}_{name}").split("_")))
    return word if word[0].isalpha() else f"model_{word}"


class _External:
    """Program of compiled equations, with the arguments of a CasADi function, all as columns.

    Attributes:
        words, sizes: names and lengths of the arguments.
        shape: of the output.
        parameters: names of the parameters.
    """

    def __init__(self, dyn: Dynamics, name: str) -> None:
        eqs = dyn.equations
        rest = ("udot", eqs.udot) if name == "inverse" else ("inputs", eqs.inputs)
        self.words = ("q", "u", rest[0], "t", "parameters")
        self.sizes = (len(eqs.q), len(eqs.u), len(rest[1]), 1, len(eqs.parameters))
        self.parameters = [x.name for x in eqs.parameters]
        self._dyn, self._name = dyn, MATRICES.get(name, name)
        self._value = dyn.derivatives(self._name, wrt=())
        self._reads = name in READ_INPUTS
        count = len(self._value.outputs)
        n = max(1, len(eqs.u))
        self.shape = (n, count // n) if name in MATRICES else (count, 1)

    @cached_property
    def _slopes(self) -> Derivatives:
        rest = (self.words[2],) if self._reads and self.sizes[2] else ()
        return self._dyn.derivatives(self._name, wrt=("coordinates", "u", *rest, "t", *self.parameters))

    def value(self, arguments: Sequence[Any]) -> list[Array]:
        """Return the output."""
        return [self._at(self._value, arguments).value.reshape(self.shape)]

    def slopes(self, arguments: Sequence[Any]) -> list[Array]:
        """Return the derivatives of the output, whose columns follow each other, by each argument."""
        found = self._at(self._slopes, arguments)
        size = self.shape[0] * self.shape[1]
        order = np.arange(size).reshape(self.shape).ravel(order="F")
        blocks = [found[x].reshape(size, -1) if x in found else np.zeros((size, n)) for x, n in self._columns()]
        blocks.append(np.array([found[x] for x in self.parameters]).reshape(len(self.parameters), size).T)
        return [block[order] for block in blocks]

    def _columns(self) -> list[tuple[str, int]]:
        return list(zip(("coordinates", *self.words[1:4]), self.sizes[:4], strict=True))

    def _at(self, function: Derivatives, arguments: Sequence[Any]) -> Blocks:
        q, u, rest, t, p = (np.array(x, float).ravel() for x in arguments[:5])
        values = dict(zip(self.parameters, p, strict=True))
        return function(q, u, rest if self._reads else None, float(t[0]), parameters=values)


@dataclass(frozen=True)
class _CallbackShape:
    """Shapes, names and defaults of the arguments and results of a CasADi function; names are optional."""

    takes: Sequence[tuple[int, int]]
    gives: Sequence[tuple[int, int]]
    argument_names: Sequence[str] = ()
    result_names: Sequence[str] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)


def _external(casadi: Any, dyn: Dynamics, name: str) -> Any:
    """Return a program of compiled equations as a callback with exact first derivatives."""
    program = _External(dyn, name)
    columns = [(n, 1) for n in program.sizes]
    size = program.shape[0] * program.shape[1]
    slopes = _CallbackShape([*columns, program.shape], [(size, n) for n in program.sizes])

    def jacobian(title: str, options: Any) -> Any:
        found = _callback(casadi, slopes, program.slopes)
        found.construct(title, {**options, "enable_fd": True})
        return found

    given = _defaults(casadi, dyn.equations, program.words)
    form = _CallbackShape(columns, [program.shape], program.words, [_plain(name)], given)
    found = _callback(casadi, form, program.value, jacobian)
    found.construct(_word(dyn.equations, name), {})
    return found


def _callback(
    casadi: Any,
    form: _CallbackShape,
    evaluate: Callable[[Sequence[Any]], list[Array]],
    jacobian: Callable[[str, Any], Any] | None = None,
) -> Any:
    """Return a CasADi function, to be constructed, that calls ``evaluate``."""

    class Native(_by_name(casadi, casadi.Callback, form.defaults)):  # type: ignore[misc]  # CasADi is optional: its class is known at run time
        def get_n_in(self) -> int:
            return len(form.takes)

        def get_n_out(self) -> int:
            return len(form.gives)

        def get_sparsity_in(self, i: int) -> Any:
            return casadi.Sparsity.dense(*form.takes[i])

        def get_sparsity_out(self, i: int) -> Any:
            return casadi.Sparsity.dense(*form.gives[i])

        def get_name_in(self, i: int) -> str:
            return form.argument_names[i] if form.argument_names else f"i{i}"

        def get_name_out(self, i: int) -> str:
            return form.result_names[i] if form.result_names else f"o{i}"

        def eval(self, arguments: Sequence[Any]) -> list[Any]:
            return [casadi.DM(x) for x in evaluate(arguments)]

        def has_jacobian(self) -> bool:
            return jacobian is not None

        def get_jacobian(self, title: str, _inames: Any, _onames: Any, options: Any) -> Any:
            assert jacobian is not None
            self.kept = jacobian(title, options)  # CasADi does not keep Python's part of it alive
            return self.kept

    return Native()
