"""Passive midpoint steps: a simulation that makes no energy, so that the coupler alone decides what is stable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.errors import ModelError
from kane.expression.derivative import gradient, linear_coefficients
from kane.expression.node import Expr
from kane.expression.traverse import leaves, substitute
from kane.formulation.quantities.programs import quantity
from kane.haptics.grip import Coupled
from kane.native.arrays import Vector
from kane.native.haptics import passive as native
from kane.native.haptics.passive import Passive


@final
@dataclass(frozen=True)
class PassiveMidpoint:
    """Steps in which kinetic and potential energy change by the work of loads and coupler, to rounding.

    For trees of bodies: no constraints, none that come and go, nothing prescribed in time, inputs that are numbers. Of
    the first order: loads without a potential, such as dampers, and one of the speeds of the velocity terms are taken
    at the start of a step. One linear system a step, in which the coupler is as it will be in the middle of the step.

    Source: Kim et al. 2017; Brown & Colgate 1997.
    """

    fixed = True

    @property
    def name(self) -> str:
        """The word that trajectories are labelled with."""
        return "PassiveMidpoint"


class Ledger(NamedTuple):
    """Where the energy of a passive simulation went [J].

    kinetic + potential - (those at the start) = coupler + other + owed, to rounding.

    Attributes:
        coupler: work of the coupler on the mechanism.
        other: work of loads that have no potential.
        owed: what the potential has gained in the last steps beyond the work against it, not yet taken off the motion.
        kinetic, potential: now.
    """

    coupler: float
    other: float
    owed: float
    kinetic: float
    potential: float


class PassiveSteps(NamedTuple):
    """What the loop needs, and the programs whose addresses are in it, which live as long as this."""

    arrays: Passive
    functions: tuple[CompiledFunction, ...]


def ledger_of(steps: PassiveSteps) -> Ledger:
    """The ledger of a loop."""
    values = steps.arrays.ledger
    places = (native.PORT, native.OTHER, native.OWED, native.KINETIC, native.POTENTIAL)
    return Ledger(*(float(values[place]) for place in places))


def passive_steps(coupled: Coupled, parameters: Vector, inputs: int) -> PassiveSteps:
    """The arrays for the loop, with programs compiled.

    Args:
        coupled: the mechanism with its coupler.
        parameters: values.
        inputs: where among the inputs those of the coupler begin.

    Raises:
        ModelError: the model has constraints, or something of it is prescribed in time.
    """
    e = coupled.dyn.equations
    if e.constraints or e.candidates or e.closing:
        raise ModelError(f"{e.name!r} has constraints; PassiveMidpoint is for trees of bodies: use kane.RK4()")
    n, nq, dyn = len(e.u), len(e.q), coupled.dyn
    outputs = _outputs(coupled)
    state = (e.t, *e.q, *e.u)
    named = [
        Program(f"passive {k}", out, state=state, rest=e.inputs, parameters=e.parameters)
        for k, out in enumerate(outputs)
    ]
    functions = tuple(dyn.compile(program) for program in named)
    if any(e.t in leaves(list(out)) for out in outputs):
        raise ModelError(
            f"something of {e.name!r} is prescribed in time; PassiveMidpoint is for what is not: use kane.RK4()"
        )
    stages = [function.stage(parameters) for function in functions]
    places = np.cumsum([0, *map(len, stages)])[:3].astype(np.int64)
    arrays = Passive(
        programs=np.array([function.address for function in functions], dtype=np.int64),
        stages=np.concatenate([*stages, np.zeros(1)]),
        places=places,
        ahead=np.zeros(len(outputs[0])),
        behind=np.zeros(len(outputs[1])),
        rates=np.zeros(nq),
        work=np.zeros(max(function.n_work for function in functions)),
        L=np.zeros((n, n)),
        A=np.zeros((n, n)),
        w=np.zeros(n),
        middle=np.zeros(n),
        force=np.zeros(n),
        coupling=np.zeros((3, n)),
        ledger=np.zeros(native.LEDGER),
        inputs=inputs,
    )
    return PassiveSteps(arrays, functions)


def _outputs(coupled: Coupled) -> tuple[tuple[Expr, ...], ...]:
    """[M, C, h, g, J, v_t], [M, V, p] and dq/dt as expressions; h without the coupler, which the loop adds itself."""
    e = coupled.dyn.equations
    zero = e.system.arena.zero
    M = quantity(e, "mass_matrix").outputs
    C = quantity(e, "coriolis_matrix").outputs
    off = dict.fromkeys(coupled.inputs, zero)
    h = [_put(x, off) for x in e.baked_in(e.route.loaded([0.0] * len(e.u)))]
    _, V = quantity(e, "energy").outputs
    V = _put(V, off)
    slope = gradient(V, e.q)
    power = zero
    for part, rate in zip(slope, e.kinematics, strict=True):
        power = power + part * rate
    (g,), _ = linear_coefficients([power], e.u)
    J, v_t = linear_coefficients(coupled.velocity, e.u)
    return (*M, *C, *h, *g, *(x for row in J for x in row), *v_t), (*M, V, *coupled.position), tuple(e.kinematics)


def _put(x: Expr, values: dict[Expr, Expr]) -> Expr:
    (found,) = substitute([x], values)
    return found
