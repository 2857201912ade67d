"""Checks of the arguments of a session."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.fill import filled
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.realtime import LOOP_COMMAND
from kane.engine.memory.views import LoopRules
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, positive, require
from kane.haptics.coupling.admittance_coupler import AdmittanceCoupler
from kane.haptics.coupling.handle import COUPLER_INPUT_NAMES, Coupled
from kane.haptics.coupling.inverse_dynamics import InverseDynamics, RigidSteps, rigid_steps
from kane.haptics.coupling.passive_midpoint import PassiveMidpoint, PassiveSteps, passive_steps
from kane.haptics.coupling.rigid_coupler import AnyCoupler, RigidCoupler, largest_inertia
from kane.haptics.devices.device import Device
from kane.haptics.loop.commands import CommandPost
from kane.haptics.safety.coupler_limits import coupler_limits
from kane.haptics.safety.force_limits import Safety
from kane.model.named_vector import named_vector
from kane.simulation.initial_value_problem import InitialValueProblem
from kane.simulation.inputs.input_plan import InputPlan
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.integrators.rk4 import RK4
from kane.simulation.modes.set_up import set_up
from kane.simulation.monitors.penetration import refuse_start


def warn_of(device: Device, coupler: AnyCoupler, steps: PassiveSteps | RigidSteps | None = None) -> None:
    """Warn if the free device handle is unstable at a wall with this coupler, or with the mass of a rigid coupler."""
    if not device.traits.pushes or isinstance(coupler, AdmittanceCoupler):
        return
    if isinstance(coupler, RigidCoupler):
        if isinstance(steps, RigidSteps):
            _warn_of_inertia(device, coupler, steps.inertia)
        return
    limits = coupler_limits(
        device,
        damping=coupler.damping,
        turning_damping=coupler.turning_damping,
        scale=coupler.scale,
        force_scale=coupler.force_scale,
        torque_scale=coupler.torque_scale,
        lead=coupler.lead,
    )
    asked = [(coupler.stiffness, coupler.damping, limits, "N")]
    if limits.turning is not None:
        asked.append((coupler.turning_stiffness, coupler.turning_damping, limits.turning, "N m"))
    for stiffness, damping, limit, unit in asked:
        way = "m" if unit == "N" else "rad"
        if stiffness > limit.stable:
            warnings.warn(
                f"a coupler of {stiffness:g} {unit}/{way} and {damping:g} {unit} s/{way} is not stable with this "
                f"device: with that damping it may have {limit.stable:.4g} {unit}/{way}; see "
                "kane.haptics.coupler_limits",
                stacklevel=3,
            )


def require_axes_of(device: Device, coupler: AnyCoupler) -> None:
    """Raise if the coupler acts along or about an axis that the device does not have.

    Raises:
        ModelError: the device lacks an axis of the coupler.
    """
    traits = device.traits
    for word in ("axes", "turns"):
        wanted, there = getattr(coupler, word), getattr(traits, word)
        if not set(wanted) <= set(there):
            raise ModelError(
                f"the coupler has {word}={wanted!r}, and this {type(device).__name__} has {word}={there!r}; give the "
                "coupler axes of the device only"
            )


def require_display(device: Device, coupler: AnyCoupler) -> None:
    """Raise unless coupler and device are both for a display of force, or both for a display of position.

    Raises:
        ModelError: only one of them is for an admittance display.
    """
    kind, measures = type(device).__name__, device.traits.measures_force
    if isinstance(coupler, AdmittanceCoupler) and not measures:
        raise ModelError(
            f"an AdmittanceCoupler needs a device that measures force, and this {kind} does not: use "
            "kane.haptics.Coupler, or a device with measures_force=True"
        )
    if measures and not isinstance(coupler, AdmittanceCoupler):
        raise ModelError(
            f"this {kind} measures force and takes positions, and a {type(coupler).__name__} gives forces: use "
            "kane.haptics.AdmittanceCoupler(point, damping=...)"
        )


def method_of(dyn: Any, device: Any, coupler: Any, safety: Any, integrator: Any) -> Any:
    """Return the method of the steps: inverse dynamics for a RigidCoupler, else the integrator (RK4 by default).

    Raises:
        ModelError: an argument has the wrong type, the integrator has no fixed steps, the device lacks an axis of the
            coupler or is for another display, or an integrator is given for a RigidCoupler.
    """
    method = RK4() if integrator is None else integrator
    if isinstance(coupler, RigidCoupler):
        if integrator is not None:
            raise ModelError("with a rigid coupler nothing is integrated; leave integrator= out")
        method = InverseDynamics()
    require_kinds(dyn, device, coupler, safety, method)
    require_display(device, coupler)
    require_axes_of(device, coupler)
    return method


def prepare_tick_steps(
    method: Any, held: Coupled, coupler: AnyCoupler, problem: InitialValueProblem, x: Vector
) -> PassiveSteps | RigidSteps | None:
    """Return the data of passive steps or inverse dynamics, starting at the state x; None for other methods.

    Raises:
        ModelError: an input is not a number, or the method does not support the mechanism.
    """
    plan = problem.plan
    if not isinstance(method, PassiveMidpoint | InverseDynamics):
        return None
    if plan.samples or plan.expressions:
        raise ModelError(
            "with PassiveMidpoint or a RigidCoupler, inputs must be numbers; use a Coupler and kane.RK4() for samples "
            "and expressions"
        )
    if isinstance(coupler, RigidCoupler):
        return rigid_steps(held, coupler, x, problem.parameters, np.array(plan.constants))
    return passive_steps(held, coupler.coupled_axes, problem.parameters, len(plan.names) - len(COUPLER_INPUT_NAMES))


def _warn_of_inertia(device: Device, coupler: RigidCoupler, inertia: float) -> None:
    """Warn if the free device handle is unstable with this inertia behind a rigid coupler."""
    felt, most = inertia * coupler.scale * coupler.force_scale, largest_inertia(device, follow=coupler.follow)
    if felt > most:
        warnings.warn(
            f"a mass of {felt:.4g} kg at the hand is not stable with this device: with follow = {coupler.follow:g} "
            f"1/s it may be {most:.4g} kg; see kane.haptics.largest_inertia",
            stacklevel=4,
        )


def require_kinds(dyn: Any, device: Any, coupler: Any, safety: Any, method: Any) -> None:
    """Raise if an argument of a session has the wrong type.

    Raises:
        ModelError: an argument has the wrong type, or the integrator has no fixed steps.
    """
    for value, kind, wanted in (
        (dyn, Dynamics, "Dynamics, as kane.build(equations) makes them"),
        (device, Device, "a device such as kane.haptics.Simulated()"),
        (coupler, AnyCoupler, "a kane.haptics.Coupler(point, stiffness=..., damping=...)"),
        (safety, Safety, "kane.haptics.Safety(...)"),
    ):
        require(value, kind, f"a Session takes {wanted}")
    if isinstance(method, type):
        raise ModelError(f"integrator= is the class {method.__name__}; its brackets are missing: {method.__name__}()")
    if not isinstance(method, Explicit | Implicit | PassiveMidpoint | InverseDynamics) or not method.fixed:
        known = "kane.RK4(), kane.Midpoint(), kane.Gauss4() or kane.haptics.PassiveMidpoint()"
        raise ModelError(f"a session takes {known}, not {shown(method)}")


def require_number_inputs(plan: InputPlan) -> None:
    """Raise unless all inputs of a session are numbers, which can be set.

    Raises:
        ModelError: some inputs are samples or expressions.
    """
    if plan.samples or plan.expressions:
        raise ModelError(
            "inputs cannot be set because some are samples or expressions; give only numbers in inputs= of Session"
        )


def ticks_of(seconds: Any, rules: LoopRules, commands: CommandPost) -> int:
    """Return the number of ticks of a run.

    Raises:
        ModelError: the time is not a positive number or less than a tick, or an armed run is not longer than the time
            in which forces end.
    """
    period = float(rules.period[0])
    ticks = round(number(positive(seconds, "the duration of a run"), "seconds") / period)
    if ticks < 1:
        raise ModelError(f"{seconds:g} s are less than one tick of {period:g} s")
    ending = int(rules.ramp_down[0] / period) + 2  # as in ``run_ticks``
    if commands.is_arming and ticks <= ending:
        raise ModelError(
            f"{ticks * period:g} s leave no room for a force, because force and coupler end within the last "
            f"{ending * period:g} s of every run; make one longer run, or do not arm"
        )
    return ticks


def split_settings(coupler: AnyCoupler) -> dict[str, tuple[float, ...]]:
    """Return the stiffness and the damping of a coupler, for translations and for rotations."""
    return {"stiffness": coupler.settings[:2], "damping": coupler.settings[2:]}


def first_command(coupler: AnyCoupler, inputs: Vector) -> Vector:
    """Return the command at the start of a session."""
    requests = dict.fromkeys(("arm", "disarm", "stop", "clutch"), 0.0)
    return filled(LOOP_COMMAND, **requests, **split_settings(coupler), inputs=inputs).view(np.float64)


def session_problem(dyn: Dynamics, inputs: Any, parameters: Any, start: tuple[Any, Any]) -> InitialValueProblem:
    """Return the initial value problem of a session, whose inputs need no Python during the run.

    Raises:
        ModelError: an input needs Python, or there is penetration at the start (q, u).
    """
    refuse_start(dyn, 0.0, *start, parameters)
    problem = set_up(dyn, inputs, parameters, ())
    plan = problem.plan
    if plan.needs_python or plan.sampled_laws:
        raise ModelError(
            "inputs of a haptic session must be numbers, samples or expressions, because Python cannot run in a tick"
        )
    return problem


def inputs_by_name(dyn: Dynamics, names: Sequence[str], inputs: Any) -> Any:
    """Convert inputs given as an array to a dict by name; return other inputs unchanged."""
    if inputs is None or isinstance(inputs, Mapping):
        return inputs
    given = named_vector(inputs, names, [dyn.equations.defaults[name] for name in names], "input")
    return dict(zip(names, given.tolist(), strict=True))
