"""Passive midpoint steps: a simulation that makes no energy, so that stability depends on the coupler alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple, dataclass
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.views import (
    midpoint_terms_at,
    passive_ledger_at,
    passive_ledger_size,
    step_end_terms_at,
)
from kane.engine.realtime.passive_arrays import Passive
from kane.errors import ModelError
from kane.expression.derivative import gradient, linear_coefficients
from kane.expression.node import Expr
from kane.expression.traverse import leaves, substitute_nodes
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import quantity
from kane.haptics.coupling.handle import Coupled


@final
@dataclass(frozen=True)
class PassiveMidpoint:
    """Steps in which kinetic plus potential energy changes by the work of loads and coupler, up to rounding.

    This includes permanent and intermittent constraints, impacts, whose losses are in the ledger, and dry friction.
    Nothing may be prescribed in time, all constraint rows must have the form A u = 0, and inputs must be numbers.

    The method is of first order. Loads without a potential, such as dampers and friction, are evaluated at the start of
    a step, and so is one of the speeds in the velocity terms. Each step solves one linear system, with the coupler at
    the middle of the step.

    Source: Kim et al. 2017; Brown & Colgate 1997.
    """

    fixed = True

    @property
    def name(self) -> str:
        """Name of the integrator in trajectories."""
        return "PassiveMidpoint"


class Ledger(NamedTuple):
    """Energy balance of a passive simulation [J].

    (kinetic + potential) - (initial kinetic + potential) = coupler + other - lost + owed, up to rounding.

    Attributes:
        coupler: work of the coupler on the mechanism.
        other: work of loads without a potential, including dry friction.
        lost: energy lost in impacts and other transitions.
        owed: energy that the motion has gained beyond the work done; later steps remove it.
        kinetic, potential: current values.
    """

    coupler: float
    other: float
    lost: float
    owed: float
    kinetic: float
    potential: float


class PassiveSteps(NamedTuple):
    """Arrays of passive steps for the loop, and the programs whose addresses they contain."""

    arrays: Passive
    functions: tuple[CompiledFunction, ...]

    @property
    def carried(self) -> tuple[Vector, Vector, Vector]:
        """Arrays that persist from step to step."""
        return self.arrays.w, self.arrays.ledger.whole, self.arrays.place

    def carrying(self, w: Vector, ledger: Vector, place: Vector) -> PassiveSteps:
        """Return the steps with other persistent arrays."""
        return self._replace(arrays=self.arrays._replace(w=w, ledger=passive_ledger_at(ledger, 0), place=place))


def require_ledger(steps: object) -> Ledger:
    """Return the ledger of a loop.

    Raises:
        ModelError: the loop does not take passive steps.
    """
    if not isinstance(steps, PassiveSteps):
        raise ModelError("only integrator=kane.haptics.PassiveMidpoint() has an exact energy balance")
    return Ledger(**{name: float(getattr(steps.arrays.ledger, name)[0]) for name in Ledger._fields})


def passive_steps(coupled: Coupled, axes: Sequence[bool], parameters: Vector, inputs: int) -> PassiveSteps:
    """Compile the programs of passive steps, and return them with the arrays for the loop.

    Args:
        coupled: mechanism with its coupler.
        axes: whether each of the six axes is coupled.
        parameters: values of the parameters.
        inputs: index of the coupler's first input.

    Raises:
        ModelError: the model has a quantity prescribed in time, or a constraint row without the form A u = 0.
    """
    e = coupled.dyn.equations
    contacts = contact_functions(coupled.dyn)
    full = e.with_intermittent_rows
    _require_still(full)
    n, nq, dyn = len(e.u), len(e.q), coupled.dyn
    outputs = _outputs(coupled, full)
    if any(e.t in leaves(list(out)) for out in outputs):
        raise ModelError(
            f"{e.name!r} has a quantity prescribed in time, which PassiveMidpoint does not support; use kane.RK4()"
        )
    state = (e.t, *e.q, *e.u)
    named = [
        Program(f"passive {k}", out, state=state, rest=e.inputs, parameters=e.parameters)
        for k, out in enumerate(outputs)
    ]
    functions = tuple(dyn.compile(program) for program in named)
    arrays = _arrays(functions, parameters, (n, nq, len(full.constraints)))._replace(
        axes=np.array(axes[3:], dtype=float),
        inputs=inputs,
        permanent=len(e.constraints),
        reactions=0 if contacts is None else contacts.reactions.address,
    )
    return PassiveSteps(arrays, functions)


def _arrays(functions: tuple[CompiledFunction, ...], parameters: Vector, sizes: tuple[int, int, int]) -> Passive:
    """Return arrays for (speeds, coordinates, constraint rows), without active intermittent constraints."""
    n, nq, rows = sizes
    stages = [function.stage(parameters) for function in functions]
    places = np.cumsum([0, *map(len, stages)])[:3].astype(np.int64)
    return Passive(
        programs=np.array([function.address for function in functions], dtype=np.int64),
        stages=np.concatenate([*stages, np.zeros(1)]),
        places=places,
        midpoint=midpoint_terms_at(np.zeros(functions[0].n_out), 0, n, rows),
        step_end=step_end_terms_at(np.zeros(functions[1].n_out), 0, n, rows),
        rates=np.zeros(nq),
        work=np.zeros(max(function.n_work for function in functions)),
        L=np.zeros((n, n)),
        A=np.zeros((n, n)),
        pivots=np.zeros(n, dtype=np.int64),
        w=np.zeros(n),
        middle=np.zeros(n),
        force=np.zeros(n),
        coupling=np.zeros((6, n)),
        push=np.zeros(6),
        turns=np.zeros(8),
        axes=np.zeros(3),
        ledger=passive_ledger_at(np.zeros(passive_ledger_size()), 0),
        trial=passive_ledger_at(np.zeros(passive_ledger_size()), 0),
        end=np.zeros(n),
        place=np.zeros(12),
        rubbing=np.zeros(n),
        rows=np.zeros((n, n)),
        forces=np.zeros(rows),
        parabola=np.array([[1.0, -1.0], [0.0, 1.0]]),
        inputs=0,
        permanent=0,
        reactions=0,
    )


def _require_still(e: Equations) -> None:
    """Raise unless all constraint rows have the form A u = 0.

    Raises:
        ModelError: a constraint row is not linear in the speeds, or prescribes a velocity that is not zero.
    """
    for row in e.constraints:
        _, (rest,) = linear_coefficients([row.motion], e.unconstrained.u) if row.linear else ((), (row.motion,))
        if rest is not e.system.arena.zero:
            raise ModelError(
                f"the constraint {row.name!r} of {e.name!r} is not linear in the speeds, or prescribes a motion; "
                "PassiveMidpoint is for constraints that do no work: use kane.RK4()"
            )


def _outputs(coupled: Coupled, e: Equations) -> tuple[tuple[Expr, ...], ...]:
    """Return [M, C, h, g, J, v_t, A], [M, V, p, R, A] and dq/dt for all speeds; the loop adds the coupler to h.

    Args:
        coupled: mechanism with its coupler.
        e: equations of the mechanism, including the rows of all intermittent constraints.
    """
    free, zero = e.unconstrained, e.system.arena.zero
    M = quantity(free, "mass_matrix").outputs
    C = quantity(free, "coriolis_matrix").outputs
    off = dict.fromkeys(coupled.inputs, zero)
    h = [_put(x, off) for x in free.baked_in(free.route.loaded([0.0] * len(e.u)))]
    V = _put(quantity(free, "energy").outputs[1], off)
    power = zero
    for part, rate in zip(gradient(V, e.q), free.kinematics, strict=True):
        power = power + part * rate
    (g,), _ = linear_coefficients([power], e.u)
    motion = coupled.motion
    J, v_t = linear_coefficients(list(motion.rates), e.u)
    place = (*motion.position, *motion.R)
    A = quantity(e, "constraints").outputs[: len(e.constraints) * len(e.u)]
    midpoint = (*M, *C, *h, *g, *(x for row in J for x in row), *v_t, *A)
    return midpoint, (*M, V, *place, *A), tuple(free.kinematics)


def _put(x: Expr, values: dict[Expr, Expr]) -> Expr:
    (found,) = substitute_nodes([x], values)
    return found
