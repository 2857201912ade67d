"""trim: find an equilibrium or a steady motion near a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kane.analysis.assembly.non_penetration import not_active_hint, require_apart
from kane.analysis.small_motions import SmallMotions
from kane.array_types import Array, StateLike
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.views import constraint_rows_at
from kane.errors import ModelError
from kane.expression.number_arguments import number, require, words
from kane.model.checks import near
from kane.model.named_vector import named_vector
from kane.simulation.state_layout import Layout

MAX_TRIM_ITERATIONS = 100
# Relative tolerance of residuals, compared with the largest derivative (at least one).
SOLVED = 1e-10
# Levenberg damping: initial value, factors after accepted and rejected steps, and the value beyond which trim stops.
DAMPING, EASED, RAISED, STIFF = 1e-3, 0.1, 10.0, 1e8
# Step of the finite differences of d udot/dt. They affect the direction of steps only, not the result.
DIFFERENCE = 1e-6


@dataclass(frozen=True, eq=False)
class Trim:
    """Equilibrium or steady motion, with udot = 0 and d udot/dt = 0; prints as a table.

    Attributes:
        q, u, inputs: in the order of the equations.
        residual: largest residual of constraints, accelerations and their rates.
        iterations: number of steps of the search.
        names: names of q, u and inputs.
        units: units of q and u.
    """

    q: Array
    u: Array
    inputs: Array
    residual: float
    iterations: int
    names: tuple[str, ...]
    units: tuple[str, ...]

    def __repr__(self) -> str:
        width = max(map(len, self.names), default=0)
        units = (*self.units, *("",) * len(self.inputs))
        values = zip(self.names, (*self.q, *self.u, *self.inputs), units, strict=True)
        rows = [f"{name:{width}}{x:18.9g} {unit}".rstrip() for name, x, unit in values]
        return "\n".join([*rows, f"residual {self.residual:.1e}, {self.iterations} iterations"])


def trim(
    dyn: Dynamics,
    *,
    q: StateLike | None = None,
    u: StateLike | None = None,
    inputs: Any = None,
    fixed: Sequence[str] = (),
    t: float = 0.0,
    parameters: Mapping[str, float] | None = None,
) -> Trim:
    """Find a state and inputs near a guess at which all speeds are and remain constant.

    Solves phi(q) = 0, A u + b = 0, udot = 0 and d udot/dt = 0 for q, u and inputs. Each step is a minimum-norm
    Levenberg step with exact derivatives of the equations. All values that are not named in ``fixed`` may change,
    inputs included; if several steady motions are near, one of them is found. Contacts, stops, sticks, latches and
    switches are inactive, so that equilibria of bodies on a floor are not found.

    Args:
        dyn: compiled equations.
        q, u, inputs: initial guess: arrays, or dicts from some of the names to numbers; neutral, at rest and at
            defaults for the others.
        fixed: names of coordinates, speeds and inputs that keep their values; all four of a quaternion.
        t: time [s].
        parameters: values by name; defaults for the others.

    Raises:
        ModelError: no steady motion is found (the message names the largest residual), it penetrates a contact or
            exceeds a stop, or a name is unknown.
    """
    require(dyn, Dynamics, "trim takes Dynamics, from kane.build")
    layout = Layout.of(dyn.equations)
    x, nq = layout.initial_state(q, u), len(layout.coordinates)
    given = named_vector(inputs, layout.inputs, layout.input_defaults, "input")
    motion = SmallMotions(dyn, x[:nq], x[nq:], given, number(t, "t", "seconds"), parameters)
    found, iterations = _TrimSearch(motion, _held(layout, fixed)).run()
    residual = float(np.abs(found.residual).max(initial=0.0))
    if not residual <= SOLVED * found.scale:
        _refuse(found, layout, fixed)
    at = found.motion
    require_apart(
        at,
        "the steady motion found is",
        "trim solves the equations in which no contact, stop, stick, latch or switch is active; start elsewhere, or "
        "replace those that should hold by permanent constraints (kane.Prescribed, kane.Coincidence)",
    )
    names = (*layout.coordinates, *layout.speeds, *layout.inputs)
    units = (*layout.coordinate_units, *layout.speed_units)
    return Trim(at.q, at.u, at.inputs, residual, iterations, names, units)


def _held(layout: Layout, fixed: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
    """Return the indices of held coordinates, speeds and inputs."""
    groups = (layout.coordinates, layout.speeds, layout.inputs)
    asked = words(fixed, "fixed", "names")
    for name in asked:
        if not any(name in group for group in groups):
            raise ModelError(f"no coordinate, speed or input {name!r} can be held; {near(name, [*sum(groups, ())])}")
    for start in layout.quaternions:
        group = layout.coordinates[start : start + 4]
        if 0 < sum(name in asked for name in group) < 4:
            raise ModelError(f"a part of the quaternion ({', '.join(group)}) cannot be held; hold all four, or none")
    q, u, inputs = ([i for i, name in enumerate(group) if name in asked] for group in groups)
    return q, u, inputs


@dataclass(frozen=True, eq=False)
class _TrimPlace:
    """A motion and its residuals, in the order of ``names``."""

    motion: SmallMotions

    @property
    def residual(self) -> Array:
        """phi, A u + b, udot and d udot/dt."""
        at = self.motion
        return np.concatenate([self.phi, self._rows[-self.m :] if self.m else [], at.accelerations.value, at.jerk])

    @property
    def phi(self) -> Array:
        """Residuals of the configuration."""
        return self.motion.terms.own.phi

    @property
    def m(self) -> int:
        """Number of rows that restrict the motion."""
        return len(self.motion.dyn.equations.constraints)

    @property
    def scale(self) -> float:
        """Largest derivative of the accelerations, at least one."""
        found = self.motion.accelerations
        return max(1.0, *(float(np.abs(found[word]).max(initial=0.0)) for word in ("q", "u", "inputs")))

    @property
    def names(self) -> list[str]:
        """Descriptions of the residuals, for messages."""
        terms, own = self.motion.terms, self.motion.terms.own
        speeds = [leaf.name for leaf in terms.equations.u]
        rows = [f"the constraint {own.names[i]!r}" for i in own.closing]
        rows += [f"the constraint {name!r}" for name in terms.names]
        rows += [f"the rate of {name}" for name in speeds]
        return [*rows, *(f"the second rate of {name}" for name in speeds)]

    @property
    def jacobian(self) -> Array:
        """Derivatives of the residuals by displacements, speeds and inputs."""
        at, n, m = self.motion, len(self.motion.u), self.m
        F, J = at.accelerations, at.terms.own.J
        none_u, none_i = np.zeros((len(J), n)), np.zeros((len(J) + m, len(at.inputs)))
        A, turned = constraint_rows_at(self._rows, 0, m, n).A, constraint_rows_at(self._turned.T, 0, m, n).motion.T
        rows = np.vstack([np.hstack([J, none_u]), np.hstack([turned, A])])
        return np.vstack([np.hstack([rows, none_i]), np.hstack([F["q"], F["u"], F["inputs"]]), self._jerk_slopes])

    @property
    def _rows(self) -> Array:
        return self._constraints.value

    @property
    def _turned(self) -> Array:
        return self._constraints["q"]

    @property
    def _constraints(self) -> Any:
        at = self.motion
        found = at.dyn.derivatives("constraints", wrt=("q",))
        return found(at.q, at.u, (), at.t, parameters=at.parameters)

    @property
    def _jerk_slopes(self) -> Array:
        at = self.motion
        widths = (at.Y.shape[1], len(at.u), len(at.inputs))
        steps = np.eye(sum(widths)) * DIFFERENCE
        return np.column_stack([(_moved(at, z).jerk - _moved(at, -z).jerk) / (2.0 * DIFFERENCE) for z in steps])


def _moved(at: SmallMotions, z: Array) -> SmallMotions:
    """Return the motion changed by displacements, speeds and inputs."""
    own, n = at.Y.shape[1], len(at.u)
    q = at.terms.normalised(at.q + at.Y @ z[:own])
    return replace(at, q=q, u=at.u + z[own : own + n], inputs=at.inputs + z[own + n :])


class _TrimSearch:
    """Damped Newton steps from a motion; held coordinates, speeds and inputs do not change."""

    def __init__(self, motion: SmallMotions, held: tuple[list[int], list[int], list[int]]) -> None:
        self._start, self._held = motion, held

    @np.errstate(over="ignore", invalid="ignore")
    def run(self) -> tuple[_TrimPlace, int]:
        """Return the result of the search, and the number of steps.

        Raises:
            ModelError: accelerations at the start are not finite.
        """
        here, damping = _TrimPlace(self._start), DAMPING
        left = here.residual
        if not np.isfinite(left).all():
            raise ModelError("the accelerations at the initial guess are not finite; give other q=, u= and inputs=")
        for k in range(MAX_TRIM_ITERATIONS):
            if np.abs(left).max(initial=0.0) <= SOLVED * here.scale * 1e-3 or damping > STIFF:
                return here, k
            while damping <= STIFF:
                there = _TrimPlace(self._step(here, left, damping))
                trial = there.residual
                if np.linalg.norm(trial) < np.linalg.norm(left):
                    here, left, damping = there, trial, damping * EASED
                    break
                damping *= RAISED
        return here, MAX_TRIM_ITERATIONS

    def _step(self, here: _TrimPlace, left: Array, damping: float) -> SmallMotions:
        at = here.motion
        q, u, inputs = self._held
        free = self._free(at, q, u, inputs)
        slopes = here.jacobian @ free
        size = np.sqrt(damping) * min(1.0, float(np.linalg.norm(left)))
        rows = np.vstack([slopes, size * np.eye(free.shape[1])])
        wanted = np.concatenate([-left, np.zeros(free.shape[1])])
        moved = _moved(at, free @ np.linalg.lstsq(rows, wanted, rcond=1e-12)[0])
        moved.q[q] = at.q[q]
        return moved

    @staticmethod
    def _free(at: SmallMotions, q: list[int], u: list[int], inputs: list[int]) -> Array:
        """Return a basis of the changes that do not affect held values."""
        own, n, m = at.Y.shape[1], len(at.u), len(at.inputs)
        fixed = np.zeros((len(q) + len(u) + len(inputs), own + n + m))
        fixed[: len(q), :own] = at.Y[q]
        for k, place in enumerate([*(own + j for j in u), *(own + n + j for j in inputs)]):
            fixed[len(q) + k, place] = 1.0
        if not len(fixed):
            return np.eye(own + n + m)
        _, values, V = np.linalg.svd(fixed)
        return V[int((values > 1e-9).sum()) :].T


def _refuse(found: _TrimPlace, layout: Layout, fixed: Sequence[str]) -> None:
    left = np.abs(found.residual)
    worst = int(np.argmax(left))
    held = f" with {', '.join(fixed)} held" if fixed else ""
    raise ModelError(
        f"{layout.model!r} has no equilibrium or steady motion near this state{held}: at the end of the search "
        f"{found.names[worst]} is {left[worst]:.3g}; start elsewhere, or hold fewer names (fixed=)"
        f"{not_active_hint(found.motion.dyn)}"
    )
