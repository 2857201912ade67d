"""Links that are symmetric about their joint axis (wheels, disks, rotors): no equation of motion needs their angle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kane.expression.node import Expr
from kane.formulation.recursive.inverse import LinkWrench
from kane.formulation.tree.frames import Step
from kane.formulation.tree.mass_parameters import MOMENT_ROUND_OFF, MassParameters
from kane.formulation.tree.system import System
from kane.geometry.rotation import Rotation
from kane.geometry.rotation_factor import Elementary
from kane.geometry.scalars import is_zero


def without_turns(system: System) -> System:
    """Return an equivalent system in which the frames K of symmetric links do not turn about the axes of symmetry.

    Vector equations hold along any axes, and the mass parameters of a symmetric link are constant along these axes too.
    Links with children do not qualify, because the children turn with the link.
    """
    parents = {link.parent for link in system.links}
    declared = (*system.declared_turns.items(), *system.declared_points.items())
    needed = parents | {x for index, known in declared for x in (index, known.frame)}
    steps = list(system.steps)
    for index in range(1, len(steps)):
        if index not in needed and _turns_about_z(steps[index]) and _alike(system.masses[index]):
            steps[index] = replace(steps[index], R=Rotation(steps[index].R.factors[:-1]))
    return replace(system, steps=steps)


def wrenches_in(system: System, plain: System, wrenches: Mapping[int, LinkWrench]) -> dict[int, LinkWrench]:
    """Transform wrenches from the frames K of ``plain`` to the frames K of ``system`` from ``without_turns``."""
    found = dict(wrenches)
    for index, (f, n) in wrenches.items():
        ours, theirs = system.steps[index].R, plain.steps[index].R
        if ours is not theirs:
            turn = ours.inverse() @ theirs
            found[index] = turn.apply(f), turn.apply(n)
    return found


def _turns_about_z(step: Step) -> bool:
    last = step.R.factors[-1:]
    turning = any(isinstance(factor, Elementary) and factor.axis == 2 and not factor.is_constant for factor in last)
    return turning and step.w_u == ((0.0, 0.0, 1.0),) and all(is_zero(x) for v in step.v_u for x in v)


def _alike(mass: MassParameters) -> bool:
    """Check whether the mass parameters stay the same when the link turns about z."""
    xx, yy, _, xy, xz, yz = mass.J
    return all(map(is_zero, (mass.mc[0], mass.mc[1], xy, xz, yz))) and _equal(xx, yy)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Expr) or isinstance(b, Expr):
        return a is b
    return abs(a - b) <= MOMENT_ROUND_OFF * max(abs(a), abs(b))
