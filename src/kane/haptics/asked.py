"""What is asked of a session, checked."""

from __future__ import annotations

import warnings
from typing import Any

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.haptics.coupler import Coupler, Safety
from kane.haptics.devices.device import Device
from kane.haptics.grip import IMAGE, Coupled
from kane.haptics.limits import coupler_limits
from kane.haptics.passive import PassiveMidpoint, PassiveSteps, passive_steps
from kane.simulation.integrators.explicit import Explicit
from kane.simulation.integrators.implicit import Implicit
from kane.simulation.problem import Problem


def warn_of(hand: Device, coupler: Coupler) -> None:
    """Say where the coupler is stiffer than the free handle bears before a wall."""
    scales = {"scale": coupler.scale, "force_scale": coupler.force_scale}
    limits = coupler_limits(hand, damping=coupler.damping, **scales)
    if coupler.stiffness > limits.stable:
        warnings.warn(
            f"a coupler of {coupler.stiffness:g} N/m and {coupler.damping:g} N s/m is not stable before this device: "
            f"with that damping it may have {limits.stable:.4g} N/m; see kane.haptics.coupler_limits",
            stacklevel=3,
        )


def passive_of(held: Coupled, problem: Problem) -> PassiveSteps:
    """What passive steps of a mechanism need.

    Raises:
        ModelError: inputs that are no numbers, or a mechanism that such steps are not for.
    """
    if problem.plan.samples or problem.plan.expressions:
        raise ModelError("inputs of PassiveMidpoint are numbers; give other ones to a session by kane.RK4()")
    return passive_steps(held, problem.parameters, len(problem.plan.names) - len(IMAGE))


def require_kinds(dyn: Any, hand: Any, coupler: Any, safety: Any, method: Any) -> None:
    """Refuse what is not of the kind that a session takes.

    Raises:
        ModelError: it is another one.
    """
    for value, kind, wanted in (
        (dyn, Dynamics, "Dynamics, as kane.build(equations) makes them"),
        (hand, Device, "a device such as kane.haptics.Simulated()"),
        (coupler, Coupler, "a kane.haptics.Coupler(point, stiffness=..., damping=...)"),
        (safety, Safety, "kane.haptics.Safety(...)"),
    ):
        if not isinstance(value, kind):
            raise ModelError(f"a Session takes {wanted}, not {shown(value)}")
    if not isinstance(method, Explicit | Implicit | PassiveMidpoint) or not method.fixed:
        raise ModelError(f"a tick is one step of a method of fixed steps such as kane.RK4(), not {shown(method)}")


def require_native(problem: Problem) -> None:
    """Refuse inputs that need Python while a run goes on.

    Raises:
        ModelError: one does.
    """
    plan = problem.plan
    if plan.needs_python or plan.sampled_laws:
        raise ModelError(
            "inputs of a haptic session are numbers, samples or expressions: no Python may run within a tick"
        )
