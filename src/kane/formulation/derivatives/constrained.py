"""Derivatives of quantities that are solved numerically under constraints: the terms that are expressions.

With all speeds free, and the multipliers lambda of the rows of A as given values,

    f = M udot + bias - B inputs - A^T lambda,   A u + b,   A udot + remainder

are expressions. Their derivatives determine the derivatives of the motion, because the last two remain zero
(``dynamics``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kane.deferred import dataclass
from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.derivatives.program_derivative import IMPLICIT, REACTIONS, Derivable, Derivative, asked
from kane.formulation.derivatives.variables import Variable, variables
from kane.formulation.equations import Equations

# Programs whose accelerations follow from the inputs, and all programs that need the forces f.
DRIVEN = (*IMPLICIT, REACTIONS)
FORCE_PROGRAMS = (*DRIVEN, "inverse", "bias")
# Programs of all speeds that have numerical rules; the other quantities of ``EmbeddedQuantity`` have no rules.
ALL_SPEED_PROGRAMS = ("kinematics", "energy", "momentum")


@dataclass(frozen=True)
class ConstrainedTerms:
    """The terms as one sparse derivative.

    Attributes:
        derivative: derivative of f if needed, of the outputs that are expressions of all speeds, of A u + b, and of A
            udot + remainder if f is needed. Columns: the variables except u and udot, then each speed, then (for
            reactions) each acceleration. It reads inputs, udot and multipliers.
        varied: variables of the differentiation.
        forces, outputs, rows: number of values of f, of the outputs, and of constraint rows.
        names: names of the requested outputs.
        single: whether the request is one expression.
    """

    derivative: Derivative
    varied: tuple[Variable, ...]
    forces: int
    outputs: int
    rows: int
    names: tuple[str, ...]
    single: bool

    @property
    def at_forces(self) -> slice:
        """Positions of f among the values."""
        return slice(0, self.forces)

    @property
    def at_outputs(self) -> slice:
        """Positions of the outputs."""
        return slice(self.forces, self.forces + self.outputs)

    @property
    def at_motion(self) -> slice:
        """Positions of A u + b."""
        return slice(self.forces + self.outputs, self.forces + self.outputs + self.rows)

    @property
    def at_acceleration(self) -> slice:
        """Positions of A udot + remainder."""
        return slice(self.forces + self.outputs + self.rows, len(self.derivative.values))


def constrained_terms(equations: Equations, of: Derivable, wrt: Sequence[str]) -> ConstrainedTerms:
    """Return the terms for a program or for expressions; arguments as in ``derivative``."""
    free = equations.unconstrained
    with collector_paused():
        name, found, names, read, single = _outputs(equations, of)
        varied = variables(equations, wrt, read)
        motion = [row.motion for row in equations.constraints]
        multipliers = tuple(free.t.arena.leaf(INPUT, f"multiplier {k + 1}") for k in range(len(motion)))
        forces, rows = [], [*motion]
        if name in FORCE_PROGRAMS:
            forces = [free.t.arena.lift(x) for x in constrained_forces(equations, multipliers, inputs=name in DRIVEN)]
            rows += [row_acceleration(equations, k) for k in range(len(motion))]
        values = tuple(free.baked_in([*forces, *found, *rows]))
        directions = [d for x in varied if x.word not in ("u", "udot") for d in x.directions]
        speeds = Variable("u", tuple(leaf.name for leaf in free.u), tuple({leaf: leaf.arena.one} for leaf in free.u))
        kept = tuple(x for x in varied if x.word not in ("u", "udot"))
        entries = jacobian(values, [*directions, *speeds.directions])
        if name == REACTIONS:
            first, start = len(forces), len(directions) + len(free.u)
            by_udot = jacobian(values[first : first + len(found)], [{leaf: leaf.arena.one} for leaf in free.udot])
            entries |= {(first + i, start + j): x for (i, j), x in by_udot.items()}
    accelerated = Variable(
        "udot", tuple(leaf.name for leaf in free.udot), tuple({leaf: leaf.arena.one} for leaf in free.udot)
    )
    labels = [f"value {i + 1}" for i in range(len(values))]
    rest = (*equations.inputs, *free.udot, *multipliers)
    terms = Derivative(name, tuple(labels), values, False, (*kept, speeds, accelerated), entries, rest)
    return ConstrainedTerms(terms, varied, len(forces), len(found), len(motion), names, single)


def _outputs(
    equations: Equations, of: Derivable
) -> tuple[str, Sequence[Expr], tuple[str, ...], tuple[Expr, ...], bool]:
    """Return name, outputs in all speeds, names of all outputs, leaves that they read, and whether it is one output."""
    free, own = equations.unconstrained, [f"{leaf.name}'" for leaf in equations.u]
    rates = [f"{leaf.name}'" for leaf in equations.q]
    if of == "forward":
        return "forward", (), tuple(own), equations.inputs, False
    if of == "rhs":
        return "rhs", free.kinematics, (*rates, *own), equations.inputs, False
    if of in ("inverse", "bias"):
        names = tuple(f"f_{leaf.name}" for leaf in equations.u)
        return str(of), (), names, equations.udot if of == "inverse" else (), False
    name, found, single = asked(free if of in ALL_SPEED_PROGRAMS else equations, of)
    return name, found.outputs, tuple(found.names), tuple(found.rest), single


def constrained_forces(equations: Equations, multipliers: Sequence[Expr], *, inputs: bool) -> list[Any]:
    """Return M udot + bias - A^T lambda, minus B inputs if they act, for all speeds."""
    free = equations.unconstrained
    needed = list((free.route.loaded if inputs else free.route.passive)(free.udot))
    for row, force in zip(equations.constraints, multipliers, strict=True):
        for j, c in row.coefficients.items():
            needed[j] = needed[j] - c * force
    return needed


def row_acceleration(equations: Equations, k: int) -> Expr:
    """Return A udot + remainder of a row."""
    row = equations.constraints[k]
    terms = (c * equations.udot[j] for j, c in row.coefficients.items())
    return sum(terms, row.remainder)
