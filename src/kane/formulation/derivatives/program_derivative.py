"""Derivatives of the quantities that equations offer, as entries of sparse symbolic matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.program import Program
from kane.errors import ModelError, shown
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.traverse import substitute_nodes
from kane.formulation.derivatives.forces import force_entries
from kane.formulation.derivatives.implicit_rule import acceleration_entries, solve_accelerations
from kane.formulation.derivatives.variables import LeafRates, Variable, variables
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import Quantity, quantity
from kane.formulation.reactions.reactions import Reactions
from kane.formulation.recursive.measures import images, measure_accelerations

# Programs that contain udot, whose derivatives follow from the derivatives of inverse dynamics.
IMPLICIT = ("forward", "rhs")
REACTIONS = "reactions"


# A program by name, one expression, several expressions, or reactions.
Derivable: TypeAlias = str | Expr | Sequence[Expr] | Reactions


@dataclass(frozen=True)
class Derivative:
    """Outputs f and the entries of df that are not identically zero.

    Attributes:
        name: name of the outputs, for messages.
        names: name of each output.
        values: f.
        single: whether f is one expression instead of a list.
        variables: variables of the differentiation; their columns are adjacent in this order.
        entries: {(output, column): derivative}.
        rest: leaves that f reads besides t, q, u and parameters.
    """

    name: str
    names: tuple[str, ...]
    values: tuple[Expr, ...]
    single: bool
    variables: tuple[Variable, ...]
    entries: Mapping[tuple[int, int], Expr]
    rest: tuple[Expr, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Label of each column."""
        return tuple(label for variable in self.variables for label in variable.labels)

    @property
    def quantity(self) -> Quantity:
        """Values, then entries, with names such as "u1'" and "u1'/q2"."""
        labels = self.labels
        names = [*self.names, *(f"{self.names[i]}/{labels[j]}" for i, j in self.entries)]
        return Quantity(names, (*self.values, *self.entries.values()), self.rest)


def asked(equations: Equations, of: Derivable) -> tuple[str, Quantity, bool]:
    """Return name and outputs of a program, or of expressions of the model, and whether it is a single expression.

    Raises:
        ModelError: there is no such program, or an expression has no value in these equations.
    """
    if isinstance(of, str):
        return of, quantity(equations, of), False
    if isinstance(of, Reactions):
        determinate, reactions = tuple(of.expressions), equations.baked_in(of.expressions.values())
        return REACTIONS, Quantity(determinate, reactions, equations.inputs), False
    single = isinstance(of, Expr)
    given = [of] if isinstance(of, Expr) else list(of)
    for x in given:
        if x.arena is not equations.system.arena:
            raise ModelError(f"{shown(x)} is not an expression of the model {equations.name!r}; give expressions of it")
    meaning = images(
        equations.system, given, "an output", udot=equations.forward if measure_accelerations(given) else ()
    )
    found = substitute_nodes(given, {**meaning, **equations.controllers})
    names = [f"output {i + 1}" for i in range(len(given))]
    return "outputs", Quantity(names, equations.baked_in(found), equations.inputs), single


def derivative(equations: Equations, of: Derivable, wrt: Sequence[str]) -> Derivative:
    """Return the derivative of a program or of expressions; see ``Dynamics.derivatives``.

    Raises:
        ModelError: as ``asked`` and ``variables``.
    """
    with collector_paused():
        name, found, single = asked(equations, of)
        varied = variables(equations, wrt, found.rest)
        directions = [d for variable in varied for d in variable.directions]
        if isinstance(of, Reactions):
            values, entries = _at_accelerations(equations, found.outputs, varied)
        elif isinstance(of, str) and of in IMPLICIT and equations.route.symmetric:
            values, entries = _with_accelerations(equations, found.outputs, varied)
        elif isinstance(of, str) and of == "inverse":
            values = tuple(found.outputs)
            masses = _masses(equations, directions)
            entries = force_entries(equations, values, varied, inputs=False, beside=[*masses.values()]) | masses
        else:
            values, entries = tuple(found.outputs), jacobian(found.outputs, directions)
    return Derivative(name, tuple(found.names), values, single, varied, entries, tuple(found.rest))


def _at_accelerations(
    equations: Equations, outputs: Sequence[Expr], varied: Sequence[Variable]
) -> tuple[tuple[Expr, ...], dict[tuple[int, int], Expr]]:
    """Differentiate outputs that contain udot, where udot follows from the state and the inputs."""
    udot = solve_accelerations(equations)
    found = acceleration_entries(equations, udot, varied)
    directions: list[dict[Expr, Expr]] = [dict(d) for variable in varied for d in variable.directions]
    for (i, j), rate in found.items():
        directions[j][equations.udot[i]] = rate
    entries = jacobian(outputs, directions)
    at = dict(zip(equations.udot, udot, strict=True))
    values = substitute_nodes([*outputs, *entries.values()], at)
    return tuple(values[: len(outputs)]), dict(zip(entries, values[len(outputs) :], strict=True))


def _with_accelerations(
    equations: Equations, outputs: Sequence[Expr], varied: Sequence[Variable]
) -> tuple[tuple[Expr, ...], dict[tuple[int, int], Expr]]:
    """Differentiate outputs that end with udot: the other outputs by graph, udot by the implicit rule."""
    n = len(equations.u)
    first = len(outputs) - n
    udot = solve_accelerations(equations)
    directions = [d for variable in varied for d in variable.directions]
    entries: dict[tuple[int, int], Any] = dict(jacobian(outputs[:first], directions))
    found = acceleration_entries(equations, udot, varied)
    entries |= {(first + i, j): x for (i, j), x in found.items()}
    return (*outputs[:first], *udot), entries


def _masses(equations: Equations, directions: Sequence[LeafRates]) -> dict[tuple[int, int], Expr]:
    """Return M in the columns of udot, by composite inertias: shorter than the forces of unit accelerations."""
    places = {leaf: k for k, leaf in enumerate(equations.udot)}
    columns = {j: places[leaf] for j, leaf in enumerate(next(iter(d), None) for d in directions) if leaf in places}
    rows, zero = equations.mass_matrix, equations.system.arena.zero
    return {(i, j): row[k] for i, row in enumerate(rows) for j, k in columns.items() if row[k] is not zero}


def derivative_program(equations: Equations, found: Derivative) -> Program:
    """Return the straight-line program of values and entries."""
    state = (equations.t, *equations.q, *equations.u)
    with collector_paused():
        # The second pass takes apart expressions that the first pass left with a single use.
        outputs = factor(factor(found.quantity.outputs))
        name = f"derivatives of {found.name} by {', '.join(variable.word for variable in found.variables)}"
        return Program(name, outputs, state=state, rest=found.rest, parameters=equations.parameters)
