"""``kane.from_sympy``: Equations from matrices that SymPy, or a derivation by hand, gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kane.errors import ModelError, list_names, shown
from kane.expression.collector import collector_paused
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import COORDINATE, SPEED
from kane.formulation.equations import Equations
from kane.formulation.given_equations import equations_of_matrices
from kane.model.checks import require_known
from kane.model.joints.joint import default_speed_name
from kane.model.model import Model
from kane.model.symbols.symbol_names import SymbolNames, symbol_name
from kane.model.symbols.sympy_reader import SymPyReader
from kane.progress import stage


def from_sympy(
    M: Any,
    forcing: Any,
    *,
    q: Iterable[Any],
    u: Iterable[Any] | None = None,
    kinematics: Mapping[Any, Any] | None = None,
    inputs: Any = (),
    parameters: Mapping[Any, float] | None = None,
    replacements: Iterable[tuple[Any, Any]] = (),
    name: str = "model",
) -> Equations:
    """Return the equations of motion M udot = forcing, given as SymPy matrices.

        KM.kanes_equations()
        eqs = kane.from_sympy(KM.mass_matrix, KM.forcing, q=KM.q, u=KM.u, kinematics=KM.kindiffdict(),
                              inputs=[F], parameters={m: 1.0, g: 9.81})

    Matrices may come from ``KanesMethod``, ``LagrangesMethod`` without constraints, or a derivation by hand. Names are
    kept: the coordinate q1(t) is named "q1". The result can be built, simulated, linearized, differentiated and
    exported. Energy, poses, reactions and further constraints need bodies: see ``kane.model_from_sympy``. If M is not
    symmetric, as with dependent speeds in ``KanesMethod``, each speed is a state of its own, and udot follows by
    elimination with pivots that do not vanish at random states.

    Args:
        M: mass matrix, n x n: a SymPy matrix, or rows of expressions of q, t and parameters.
        forcing: n expressions of q, u, t, inputs and parameters.
        q: coordinates, such as q1(t) or a symbol.
        u: speeds; unless given, the rates of q.
        kinematics: expression of the rate of each coordinate, by the derivative (as ``kindiffdict()`` returns) or by
            the coordinate; unless given, u must be the rates of q.
        inputs: symbols or functions of time, or a dict from them to default values, which are zero unless given.
        parameters: default value of each other symbol, by symbol or name.
        replacements: (symbol, expression) of intermediate symbols, each after the symbols that it contains, as
            ``sympy.cse`` returns.
        name: name of the equations.

    Raises:
        ModelError: matrices of wrong shape, a symbol without a value, a function that kane lacks (both with their
            place), two symbols with one name, a constant that is not finite, kinematics that are not linear in u, or
            a mass matrix that is singular at random states.
    """
    model = Model(name)
    with stage("reading SymPy matrices"), collector_paused():
        names = SymbolNames(model.arena, "add it to parameters=, inputs=, q= or u=")
        declared_symbols(names, model, parameters, inputs)
        coordinates = names.add_leaves(COORDINATE, _listed(q, "q"))
        speeds = _speeds(names, coordinates, u)
        read = SymPyReader(model.arena, names)
        for symbol, value in _pairs(replacements):
            names.add(symbol, read(value, f"the replacement of {symbol}"))
        _add_kinematics(names, read, coordinates, kinematics or {})
        n = len(speeds)
        mass = [
            [read(x, f"entry ({i + 1}, {j + 1}) of the mass matrix") for j, x in enumerate(row)]
            for i, row in enumerate(matrix_rows(M, "the mass matrix", (n, n)))
        ]
        column = matrix_rows(forcing, "the forcing vector", (n, 1))
        forces = [read(x, f"entry {i + 1} of the forcing vector") for i, (x,) in enumerate(column)]
    moved = [names.rates[leaf.name] for leaf in coordinates]
    return equations_of_matrices(model, coordinates, speeds, kinematics=moved, mass=mass, forcing=forces)


def _pairs(replacements: Any) -> list[tuple[Any, Any]]:
    """Return the replacements.

    Raises:
        ModelError: they are not pairs.
    """
    try:
        return [(symbol, value) for symbol, value in replacements]
    except (TypeError, ValueError):
        raise ModelError(
            f"replacements= is {shown(replacements)}; give the list of pairs (symbol, expression) that sympy.cse "
            "returns first"
        ) from None


def declared_symbols(names: SymbolNames, model: Model, parameters: Any, inputs: Any) -> None:
    """Declare parameters and inputs of a model, and their values as symbols."""
    require(parameters or {}, Mapping, "parameters is a dict from symbols or names to default values")
    for symbol, value in (parameters or {}).items():
        names.add(symbol, model.parameter(symbol_name(symbol, "the parameter"), value))
    given = inputs if isinstance(inputs, Mapping) else dict.fromkeys(_listed(inputs, "inputs"), 0.0)
    for symbol, value in given.items():
        names.add(symbol, model.input(symbol_name(symbol, "the input"), value))


def _speeds(names: SymbolNames, q: Sequence[Expr], u: Any) -> list[Expr]:
    """Declare the speeds, where the rate of a coordinate may be a speed, and return their leaves."""
    if u is None:
        return [names.add_rate(leaf.name, default_speed_name(leaf.name)) for leaf in q]
    found = []
    for x in _listed(u, "u"):
        if x.__class__.__name__ == "Derivative":
            of = symbol_name(x.args[0], "the coordinate of the speed")
            require_known(of, [leaf.name for leaf in q], "coordinate", f", whose rate {x} is in u=")
            found.append(names.add_rate(of, default_speed_name(of)))
        else:
            found += names.add_leaves(SPEED, [x])
    return found


def _add_kinematics(names: SymbolNames, read: SymPyReader, q: Sequence[Expr], given: Mapping[Any, Any]) -> None:
    """Read the rate of each coordinate.

    Raises:
        ModelError: a rate is missing, or is given twice or for an unknown coordinate.
    """
    require(given, Mapping, "kinematics is a dict from rates to expressions, as kindiffdict() returns")
    rates = {}
    for rate, x in given.items():
        of = symbol_name(rate.args[0] if rate.__class__.__name__ == "Derivative" else rate, "the rate")
        require_known(of, [leaf.name for leaf in q], "coordinate", " for kinematics=")
        if of in names.rates or of in rates:
            raise ModelError(f"kinematics= and u= give the rate of {of!r} twice")
        rates[of] = read(x, f"the kinematics of {of!r}")
    names.rates.update(rates)
    missing = [leaf.name for leaf in q if leaf.name not in names.rates]
    if missing:
        raise ModelError(f"the rate of {list_names(missing)} is unknown; give kinematics=KM.kindiffdict(), for example")


def matrix_rows(given: Any, what: str, shape: tuple[int, int]) -> list[list[Any]]:
    """Return the rows of a SymPy matrix, an array or nested sequences; a column may be a flat sequence.

    Raises:
        ModelError: it has another shape, or is not a matrix.
    """
    rows = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise ModelError(f"{what} is {shown(given)}; give a SymPy matrix or rows of expressions")
    rows = [list(row) if isinstance(row, Sequence) and not isinstance(row, str) else [row] for row in rows]
    lengths = {len(row) for row in rows} or {shape[1]}
    if len(rows) != shape[0] or lengths != {shape[1]}:
        raise ModelError(
            f"{what} has {len(rows)} rows of {' or '.join(map(str, sorted(lengths)))} entries, but there are "
            f"{shape[0]} speeds; give {shape[0]} x {shape[1]} entries (KanesMethod.mass_matrix and .forcing, without "
            "the rows of the kinematics, and without multipliers)"
        )
    return rows


def _listed(values: Any, what: str) -> list[Any]:
    """Return the entries of a sequence or of a SymPy matrix with one column."""
    if isinstance(values, str) or not (hasattr(values, "__iter__") or hasattr(values, "tolist")):
        raise ModelError(f"{what}= is {shown(values)}; give a list of SymPy symbols or functions of time")
    entries = values.tolist() if hasattr(values, "tolist") else list(values)
    if hasattr(values, "free_symbols"):  # a matrix of SymPy, whose rows are lists
        rows = entries
        if any(len(row) != 1 for row in rows):
            raise ModelError(f"{what}= is a matrix of {len(rows[0])} columns; give one column")
        return [row[0] for row in rows]
    return entries if isinstance(entries, list) else [entries]
