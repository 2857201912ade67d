"""Derivatives of what is found in numbers at states under constraints: their terms on the graph.

With all speeds free and multipliers lambda of the rows of A held as they are,

    f = M udot + bias - B inputs - A^T lambda,   A u + b,   A udot + remainder

are expressions. Their derivatives, and that the two last ones stay zero, give those of the motion (``dynamics``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kane.expression.collector import collector_paused
from kane.expression.derivative import jacobian
from kane.expression.node import Expr
from kane.expression.operations import INPUT
from kane.formulation.derivatives.derivative import IMPLICIT, REACTIONS, Derivable, Derivative, asked
from kane.formulation.derivatives.variables import Variable, variables
from kane.formulation.equations import Equations

# Outputs of accelerations that follow from the inputs, and all that need the forces f.
DRIVEN = (*IMPLICIT, REACTIONS)
MOVING = (*DRIVEN, "inverse", "bias")
# Of these there are rules in numbers; of the others of ``EmbeddedQuantity`` there are none.
OF_SPEEDS = ("kinematics", "energy", "momentum")


@dataclass(frozen=True)
class ConstrainedTerms:
    """The terms as one sparse derivative.

    Attributes:
        derivative: of f where it is asked for, of outputs that are expressions of all speeds, of A u + b, and of A udot
            + remainder where f is asked for; along what was asked for but udot, then along each speed, then, of
            reactions, along each acceleration. It reads inputs, udot and multipliers.
        varied: what was asked for.
        forces, outputs, rows: how many values are of f, of outputs, and of the rows of constraints.
        names: of the outputs that were asked for; ``single`` whether that is one expression.
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
        """Places of f among the values."""
        return slice(0, self.forces)

    @property
    def at_outputs(self) -> slice:
        """Places of the outputs."""
        return slice(self.forces, self.forces + self.outputs)

    @property
    def at_motion(self) -> slice:
        """Places of A u + b."""
        return slice(self.forces + self.outputs, self.forces + self.outputs + self.rows)

    @property
    def at_acceleration(self) -> slice:
        """Places of A udot + remainder."""
        return slice(self.forces + self.outputs + self.rows, len(self.derivative.values))


def constrained_terms(equations: Equations, of: Derivable, wrt: Sequence[str]) -> ConstrainedTerms:
    """The terms for a program or for expressions; arguments as of ``derivative``."""
    free = equations.unconstrained
    with collector_paused():
        name, found, names, read, single = _outputs(equations, of)
        varied = variables(equations, wrt, read)
        motion = [row.motion for row in equations.constraints]
        multipliers = tuple(free.t.arena.leaf(INPUT, f"multiplier {k + 1}") for k in range(len(motion)))
        forces, rows = [], [*motion]
        if name in MOVING:
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
    """Name, outputs that are expressions of all speeds, names of all outputs, what they read, whether it is one."""
    free, own = equations.unconstrained, [f"{leaf.name}'" for leaf in equations.u]
    rates = [f"{leaf.name}'" for leaf in equations.q]
    if of == "forward":
        return "forward", (), tuple(own), equations.inputs, False
    if of == "rhs":
        return "rhs", free.kinematics, (*rates, *own), equations.inputs, False
    if of in ("inverse", "bias"):
        names = tuple(f"f_{leaf.name}" for leaf in equations.u)
        return str(of), (), names, equations.udot if of == "inverse" else (), False
    name, found, single = asked(free if of in OF_SPEEDS else equations, of)
    return name, found.outputs, tuple(found.names), tuple(found.rest), single


def constrained_forces(equations: Equations, multipliers: Sequence[Expr], *, inputs: bool) -> list[Any]:
    """M udot + bias - A^T lambda, less B inputs where they act, for all speeds."""
    free = equations.unconstrained
    needed = list((free.route.loaded if inputs else free.route.passive)(free.udot))
    for row, force in zip(equations.constraints, multipliers, strict=True):
        for j, c in row.coefficients.items():
            needed[j] = needed[j] - c * force
    return needed


def row_acceleration(equations: Equations, k: int) -> Expr:
    """A udot + remainder of a row."""
    row = equations.constraints[k]
    terms = (c * equations.udot[j] for j, c in row.coefficients.items())
    return sum(terms, row.remainder)
