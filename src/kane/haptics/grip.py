"""A mechanism with a coupler at its handle: equations with one more load, and programs that say where the handle is."""

from __future__ import annotations

from typing import NamedTuple

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate, resubstituted
from kane.formulation.quantities.programs import program
from kane.formulation.read_model import snapshot
from kane.model.body import Point
from kane.model.loads import Force
from kane.simulation.asked.in_state import known_in_state

# Inputs that the coupler adds, in the order in which the loop fills them.
IMAGE = ("coupler_x", "coupler_y", "coupler_z", "coupler_vx", "coupler_vy", "coupler_vz", "coupler_K", "coupler_B")


class Coupled(NamedTuple):
    """A mechanism with a coupler.

    Attributes:
        dyn: Dynamics with the inputs IMAGE behind those of the user.
        handle: the program of position and velocity of the handle in the ground, (6,).
        energy: the program of kinetic and potential energy in all speeds, dependent ones too, (2,).
        position, velocity: of the handle as expressions, (3,) each.
        inputs: leaves of the coupler's inputs, (8,).
    """

    dyn: Dynamics
    handle: CompiledFunction
    energy: CompiledFunction
    position: tuple[Expr, ...]
    velocity: tuple[Expr, ...]
    inputs: tuple[Expr, ...]


def coupled(dyn: Dynamics, handle: Point, axes: str) -> Coupled:
    """Dynamics with the load f = K (x_h - p) + B (v_h - v) along these axes at the handle.

    Raises:
        ModelError: the handle is fixed in the ground, belongs to another model, or cannot move along an axis.
    """
    e = dyn.equations
    if not any(body is handle.body for body in e.model.bodies):
        raise ModelError(f"the handle {handle!r} belongs to another model than {e.name!r}")
    if handle.body is e.model.bodies[0]:
        raise ModelError(
            f"the handle {handle!r} is fixed in the ground, where a hand moves nothing; give a point of a body"
        )
    equations = _with_coupler(e, handle, axes)
    n = e.model.bodies[0]
    wanted = {
        f"{what} of the handle along {axis}": getattr(handle, what).dot(getattr(n, axis))
        for what in ("position", "velocity")
        for axis in "xyz"
    }
    outputs = known_in_state(equations, wanted, {}, ())
    held = Dynamics(equations, dyn.compile)
    state = (equations.t, *equations.q, *equations.u)
    where = Program("handle", outputs, state=state, rest=equations.inputs, parameters=equations.parameters)
    added = equations.inputs[len(e.inputs) :]
    energy = held.compile(program(equations, "energy"))
    return Coupled(held, held.compile(where), energy, tuple(outputs[:3]), tuple(outputs[3:]), added)


def _with_coupler(e: Equations, handle: Point, axes: str) -> Equations:
    model = snapshot(e.model)
    n = model.bodies[0]
    image = [model.input(name) for name in IMAGE]
    components: list[Expr | float] = []
    for k, axis in enumerate("xyz"):
        along = getattr(n, axis)
        stretch, rate = image[k] - handle.position.dot(along), image[3 + k] - handle.velocity.dot(along)
        components.append(image[6] * stretch + image[7] * rate if axis in axes else 0.0)
    load = Force(handle, components)
    load.effect()
    model.loads.append(load)
    found = formulate(model)
    added = tuple(leaf for leaf in found.inputs if leaf.name in IMAGE)
    return resubstituted(
        found, parameters=e.parameters, inputs=(*e.inputs, *added), baked=e.baked, controllers=e.controllers
    )
