"""Mechanism with a coupler at its handle: equations with the loads of the coupler, and the programs of the handle."""

from __future__ import annotations

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple
from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.views import CouplerInputs, HandleMotion, coupler_inputs_at, handle_motion_at
from kane.errors import ModelError
from kane.expression.node import Expr
from kane.formulation.equations import Equations
from kane.formulation.formulate import formulate, resubstituted
from kane.formulation.quantities.programs import program
from kane.formulation.read_model import snapshot
from kane.geometry.rotation import Rotation
from kane.haptics.coupling.admittance_coupler import AdmittanceCoupler
from kane.haptics.coupling.coupler import Coupler
from kane.haptics.coupling.rigid_coupler import AnyCoupler, RigidCoupler
from kane.model.body import Point
from kane.model.loads import Force, Torque
from kane.model.loads.load import Load
from kane.simulation.inputs.known_in_state import known_in_state

# Names of the inputs that the coupler adds, in the order of ``CouplerInputs``.
COUPLER_INPUT_NAMES = tuple(
    f"coupler_{word}"
    for word in ("x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz", "K", "Kt", "B", "Bt")
)


class Coupled(NamedTuple):
    """Mechanism with a coupler.

    Attributes:
        dyn: Dynamics whose inputs are the user's inputs, followed by COUPLER_INPUT_NAMES.
        handle: program of the handle in the ground: position, velocity, angular velocity, and rotation matrix of its
            body by rows, (18,).
        energy: program of kinetic and potential energy as functions of all speeds, including dependent ones, (2,).
        where: outputs of ``handle`` as expressions, with zero velocities along axes that are not coupled.
        inputs: leaves of the coupler's inputs, (17,).
    """

    dyn: Dynamics
    handle: CompiledFunction
    energy: CompiledFunction
    where: tuple[Expr, ...]
    inputs: tuple[Expr, ...]

    @property
    def motion(self) -> HandleMotion:
        """Expressions of ``where`` by name."""
        return handle_motion_at(np.array(self.where, dtype=object), 0)


def coupled(dyn: Dynamics, coupler: AnyCoupler) -> Coupled:
    """Return the dynamics with the loads of a coupler at its handle, see ``Coupler``.

    Raises:
        ModelError: the handle is fixed in the ground, belongs to another model, or cannot move along an axis.
    """
    e, handle = dyn.equations, coupler.handle
    if not any(body is handle.body for body in e.model.bodies):
        raise ModelError(f"the handle {handle!r} belongs to another model than {e.name!r}")
    if handle.body is e.model.bodies[0]:
        raise ModelError(f"the handle {handle!r} is fixed in the ground and cannot move; give a point of a body")
    equations = _with_coupler(e, coupler)
    outputs = known_in_state(equations, _measured(handle), {}, ())
    held = Dynamics(equations, dyn.compile)
    state = (equations.t, *equations.q, *equations.u)
    where = Program("handle", outputs, state=state, rest=equations.inputs, parameters=equations.parameters)
    added = equations.inputs[len(e.inputs) :]
    energy = held.compile(program(equations, "energy"))
    zero = e.system.arena.zero
    rates = [x if on else zero for x, on in zip(outputs[3:9], coupler.coupled_axes, strict=True)]
    return Coupled(held, held.compile(where), energy, (*outputs[:3], *rates, *outputs[9:]), added)


def _measured(handle: Point) -> dict[str, Expr]:
    """Return the outputs of the program of a handle, by name."""
    n, body = handle.body.model.ground, handle.body
    of = {"position": handle.position, "velocity": handle.velocity, "angular velocity": body.angular_velocity}
    wanted = {f"{what} of the handle along {k}": v.dot(getattr(n, k)) for what, v in of.items() for k in "xyz"}
    return wanted | {f"{k} of the handle along {j}": getattr(body, k).dot(getattr(n, j)) for j in "xyz" for k in "xyz"}


def _with_coupler(e: Equations, coupler: AnyCoupler) -> Equations:
    model = snapshot(e.model)
    given = [model.input(name) for name in COUPLER_INPUT_NAMES]
    for load in _loads(coupler, coupler_inputs_at(np.array(given, dtype=object), 0)):
        load.effect()
        model.loads.append(load)
    found = formulate(model)
    added = tuple(leaf for leaf in found.inputs if leaf.name in COUPLER_INPUT_NAMES)
    return resubstituted(
        found, parameters=e.parameters, inputs=(*e.inputs, *added), baked=e.baked, controllers=e.controllers
    )


def _loads(coupler: AnyCoupler, given: CouplerInputs) -> list[Load]:
    """Return the loads of a coupler; a rigid coupler has none."""
    if isinstance(coupler, RigidCoupler):
        return []
    return [_force(coupler, given), *([_torque(coupler, given)] if coupler.turns else [])]


def _force(coupler: Coupler | AdmittanceCoupler, given: CouplerInputs) -> Force:
    """Return the force f = K (x_h - p) + B (v_h - v)."""
    n, handle, components = coupler.handle.body.model.ground, coupler.handle, []
    for k, axis in enumerate("xyz"):
        along = getattr(n, axis)
        stretch, rate = given.proxy[k] - handle.position.dot(along), given.rates[k] - handle.velocity.dot(along)
        pull = given.stiffness[0] * stretch + given.damping[0] * rate
        components.append(pull if axis in coupler.axes else 0.0)
    return Force(handle, components)


def _torque(coupler: Coupler | AdmittanceCoupler, given: CouplerInputs) -> Torque:
    """Return the torque 2 (e_w K e - e x K e) + B (w_h - w); the quaternion (e_w, e) turns the handle into the proxy.

    Products of its components are sums of entries of E = R_h R^T: 4 e_w e_x = E_zy - E_yz, 4 e_y e_z = E_yz + E_zy.
    See ``kane.engine.realtime.rotations``.
    """
    body = coupler.handle.body
    n = body.model.ground
    axes, own = (n.x, n.y, n.z), (body.x, body.y, body.z)
    R_h = Rotation.quaternion(*given.proxy[3:]).entries
    R = [[b.dot(a) for b in own] for a in axes]
    E = [[sum(R_h[i][k] * R[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
    on = [float(x) for x in coupler.coupled_axes[3:]]
    components = []
    for i, axis in enumerate(axes):
        j, k = (i + 1) % 3, (i + 2) % 3
        turn = on[i] * (E[k][j] - E[j][k]) / 2 - (on[k] - on[j]) * (E[j][k] + E[k][j]) / 2
        rate = given.rates[3 + i] - body.angular_velocity.dot(axis)
        components.append(given.stiffness[1] * turn + on[i] * given.damping[1] * rate)
    return Torque(body, components)
