"""Motions in the contact modes of a model, from the statuses of its intermittent constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.sensitivities.row_equations import (
    CompiledRowEquations,
    Friction,
    RowDerivatives,
    RowEquations,
    RowEquationsAt,
)
from kane.analysis.sensitivities.variations import Array, ModeSlopes
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.contact_codes import SLIDING, STICKING
from kane.expression.node import Expr
from kane.formulation.constraints.intermittent_rows import IntermittentEquations
from kane.formulation.constraints.rows import Equation
from kane.formulation.contact_mode import active_rows
from kane.simulation.inputs.input_plan import InputPlan


class StaticBound(NamedTuple):
    """Static friction of a sticking contact, per unit force of a normal row, or in itself without one."""

    normal: Equation | None
    tangents: tuple[Equation, ...]
    static: Expr


@dataclass(frozen=True, eq=False)
class SlidingSlopes(ModeSlopes):
    """x' = f in a mode with sliding contacts, from the row problem; also in other modes, if reactions are needed.

    Attributes:
        frictions: friction of the sliding contacts.
        signs: of the slip of each contact with one tangent; it does not change within the mode, (frictions,).
        bounds: contacts whose friction and static bound are evaluated; they begin to slip together.
        offsets: added to each slip velocity in space to define its direction where it vanishes [m/s], (frictions, 2).
    """

    frictions: tuple[Friction, ...]
    signs: Array
    bounds: tuple[StaticBound, ...] = ()
    offsets: Array | None = None

    def directed(self, t: Array, x: Array) -> SlidingSlopes:
        """Return the motion with the signs that the slips have along states of this mode."""
        return replace(self, signs=np.sign(self.slips(t, x)[:, :, 0].sum(axis=0)))

    def slips(self, t: Array, x: Array) -> Array:
        """Return slip velocities along the tangents, (times, frictions, 2); zero along a missing second tangent."""
        found = np.zeros((len(t), len(self.frictions), 2))
        places = [(i, k) for i, friction in enumerate(self.frictions) for k in range(len(friction.tangents))]
        values = self._at(t, x, self.inputs(t, t)).outputs[:, self.widths[0] :]
        for (i, k), column in zip(places, values.T, strict=False):
            found[:, i, k] = column
        return found

    def rates(self, t: Array, x: Array, inputs: Array) -> Array:
        at = self._at(t, x, inputs)
        return np.concatenate([at.outputs[:, : self.widths[0]], at.z[:, : at.code.n]], axis=1)

    def derivatives(self, t: Array, x: Array, inputs: Array) -> tuple[Array, Array]:
        at, (nq, nx, _) = self._at(t, x, inputs), self.widths
        found = at.derivatives(at.z)
        by = np.concatenate([found.outputs[:, :nq], found.z[:, : at.code.n]], axis=1)
        return by[..., :nx], by[..., nx + 1 :]

    def friction_and_bound(self, t: Array, x: Array) -> tuple[Array, RowDerivatives]:
        """Return the squares of the friction of ``bounds`` and of its bound, (times, 2), and derivatives.

        Both are last among the outputs of the derivatives.
        """
        at = self._at(t, x, self.inputs(t, t))
        return at.values(at.z)[0][:, -2:], at.derivatives(at.z)

    def _at(self, t: Array, x: Array, inputs: Array) -> RowEquationsAt:
        offsets = np.zeros((len(self.frictions), 2)) if self.offsets is None else self.offsets
        one = np.array([len(friction.tangents) == 1 for friction in self.frictions], bool)
        directions = np.where(one[:, None], self.signs[:, None] * [1.0, 0.0], offsets)
        return self._code.at(t, x, inputs, directions, self.parameters)

    @cached_property
    def _code(self) -> CompiledRowEquations:
        frictions = tuple((friction.tangents[0].name, friction.normal is None) for friction in self.frictions)
        bounds = tuple(bound.tangents[0].name for bound in self.bounds)
        problem = RowEquations(self.dyn.equations.constraints, self.frictions, None, self._outputs)
        key = "sliding", frictions, bounds, self.direct
        return self.dyn.derived(key, lambda: problem.compiled(self.dyn, self.direct))

    def _outputs(self, force: Mapping[str, Expr]) -> Sequence[Any]:
        """Return dq/dt, slip velocities, and the squares of friction and bound of the contacts in ``bounds``.

        Sums over these contacts do not depend on how redundant rows share forces.
        """
        slips = [row.motion for friction in self.frictions for row in friction.tangents]
        found = [*self.dyn.equations.unconstrained.kinematics, *slips]
        if not self.bounds:
            return found
        limits = [bound.static * (1.0 if bound.normal is None else force[bound.normal.name]) for bound in self.bounds]
        tangents = zip(*(bound.tangents for bound in self.bounds), strict=True)
        along, limit = (sum(force[row.name] for row in rows) for rows in tangents), sum(limits)
        return [*found, sum(friction * friction for friction in along), limit * limit]


def sliding(motion: ModeSlopes, frictions: Sequence[Friction] = ()) -> SlidingSlopes:
    """Return the motion of a mode from its row problem; its rows are the constraints of ``motion``."""
    if isinstance(motion, SlidingSlopes):
        return motion
    given = motion.dyn, motion.plan, motion.parameters, motion.direct
    return SlidingSlopes(*given, tuple(frictions), np.zeros(len(frictions)))


def held(dyn: Dynamics, rows: Sequence[Equation]) -> Dynamics:
    """Return the dynamics of a mode in which additional rows are active and no contact slides."""
    if not rows:
        return dyn
    return dyn.derived(("held", tuple(row.name for row in rows)), lambda: _held(dyn, rows))


def _held(dyn: Dynamics, rows: Sequence[Equation]) -> Dynamics:
    whole = dyn.equations.with_intermittent_rows
    constraints = (*dyn.equations.constraints, *rows)
    return Dynamics(replace(whole, constraints=constraints, intermittents=(), touching=False), dyn.compile)


@dataclass(frozen=True, eq=False)
class ContactMotions:
    """Motions of one model in its contact modes.

    Attributes:
        dyn, plan, parameters, direct: as in ``ModeSlopes``; ``dyn`` has no active intermittent constraints.
    """

    dyn: Dynamics
    plan: InputPlan
    parameters: Array
    direct: tuple[str, ...]

    @property
    def intermittents(self) -> Sequence[IntermittentEquations]:
        """The intermittent constraints of the model."""
        return self.dyn.equations.intermittents

    def motion(self, statuses: NDArray[np.int8]) -> ModeSlopes:
        """Return the motion with these statuses of the intermittent constraints."""
        pairs = list(zip(self.intermittents, statuses.tolist(), strict=True))
        rows = [row for c, status in pairs for row in active_rows(c, status)]
        slides = [c for c, status in pairs if status == SLIDING and c.tangents]
        frictions = [Friction(c.normal, c.tangents, c.numbers.kinetic) for c in slides]
        motion = ModeSlopes(held(self.dyn, rows), self.plan, self.parameters, self.direct)
        return sliding(motion, frictions) if frictions else motion

    def motion_at(self, statuses: NDArray[np.int8], t: float, x: Array) -> ModeSlopes:
        """Return the motion with these statuses and the slip directions of a state."""
        motion = self.motion(statuses)
        return motion.directed(np.array([t]), x[None]) if isinstance(motion, SlidingSlopes) else motion

    def closed(self, statuses: NDArray[np.int8], beside: IntermittentEquations | None = None) -> list[Equation]:
        """Return the permanent rows and those of sticking and bilateral constraints, except of one constraint."""
        pairs = zip(self.intermittents, statuses, strict=True)
        active = (row for c, status in pairs if status == STICKING and c is not beside for row in c.rows)
        return [*self.dyn.equations.constraints, *active]
