"""The declarations of a SymPy ``System`` or ``KanesMethod``: bodies, loads, coordinates, speeds and constraints."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kane.errors import ModelError, shown
from kane.model.symbols.symbol_names import symbol_name

CURE = "give it a position by set_pos or locatenew; kane derives velocities from positions"


@dataclass(frozen=True)
class SymPySystem:
    """Declarations of a mechanism.

    Attributes:
        frame: the inertial frame N.
        origin: a point fixed in N.
        bodies, loads: rigid bodies and particles; pairs of a point or frame and a vector.
        q, u: coordinates and speeds, independent ones first.
        dependent: names of the dependent speeds.
        kinematics: expressions of q, qdot and u that vanish.
        configuration, motion: constraints, expressions that vanish.
        auxiliary: auxiliary speeds, which are zero.
    """

    frame: Any
    origin: Any
    bodies: list[Any]
    loads: list[tuple[Any, Any]]
    q: list[Any]
    u: list[Any]
    dependent: tuple[str, ...]
    kinematics: list[Any]
    configuration: list[Any]
    motion: list[Any]
    auxiliary: list[Any]


def read_system(system: Any, bodies: Any, loads: Any) -> SymPySystem:
    """Return the declarations of a System or KanesMethod; its equations are not formed.

    Raises:
        ModelError: another class, no bodies, or no fixed point.
    """
    kind = type(system).__name__
    if kind == "KanesMethod":
        found = _of_kanes_method(system, bodies, loads)
    elif kind == "System" and hasattr(system, "kdes"):
        found = _of_system(system)
    else:
        raise ModelError(
            f"model_from_sympy takes a System or KanesMethod of sympy.physics.mechanics, not {shown(system)}; "
            "kane.from_sympy takes the matrices of other methods"
        )
    rates = [str(x) for x in found.u if type(x).__name__ == "Derivative"]
    if rates:
        raise ModelError(
            f"the speed {rates[0]} is the rate of a coordinate; give it a name of its own, with a kinematical equation"
        )
    return found


def _checked_bodies(given: Any) -> list[Any]:
    """Return bodies that a user gives; raise ModelError for another thing."""
    if not isinstance(given, (list, tuple)) or any(not hasattr(x, "mass") for x in given):
        raise ModelError(f"bodies= is {shown(given)}; give a list of RigidBody and Particle")
    return list(given)


def _checked_loads(given: Any) -> list[tuple[Any, Any]]:
    """Return loads that a user gives, as pairs; raise ModelError for another thing."""
    if not isinstance(given, (list, tuple)):
        raise ModelError(f"loads= is {shown(given)}; give a list of (point, force) and (frame, torque)")
    for x in given:
        if not isinstance(x, (list, tuple)) or len(x) != 2 or not hasattr(x[1], "dt"):
            raise ModelError(f"a load is {shown(x)}; give (point, force) or (frame, torque), each a vector")
    return [(x[0], x[1]) for x in given]


def _of_kanes_method(method: Any, bodies: Any, loads: Any) -> SymPySystem:
    given = bodies if bodies is not None else method.bodies
    if not given:
        raise ModelError("this KanesMethod does not know its bodies yet; give bodies= and loads=")
    if method._qdot_u_map is None:
        raise ModelError("this KanesMethod has no kinematical differential equations; give kd_eqs= to it")
    kinematics = method._k_kqdot_implicit * method._qdot + method._k_ku_implicit * method._u + method._f_k_implicit
    motion = method._k_nh * method._u + method._f_nh if len(method._f_nh) else ()
    return SymPySystem(
        frame=method._inertial,
        origin=_fixed_point(method._inertial, given, method._uaux),
        bodies=_checked_bodies(given),
        loads=_checked_loads((loads if loads is not None else method.loads) or ()),
        q=list(method.q),
        u=list(method.u),
        dependent=tuple(symbol_name(x, "the speed") for x in method._udep),
        kinematics=list(kinematics),
        configuration=list(method._f_h),
        motion=list(motion),
        auxiliary=list(method._uaux),
    )


def _of_system(system: Any) -> SymPySystem:
    acting = [load for actuator in system.actuators for load in actuator.to_loads()]
    given = system._vel_constrs
    return SymPySystem(
        frame=system.frame,
        origin=system.fixed_point,
        bodies=list(system.bodies),
        loads=[(x[0], x[1]) for x in (*system.loads, *acting)],
        q=[*system.q_ind, *system.q_dep],
        u=[*system.u_ind, *system.u_dep],
        dependent=tuple(symbol_name(x, "the speed") for x in system.u_dep),
        kinematics=list(system.kdes),
        configuration=list(system.holonomic_constraints),
        motion=list(system.nonholonomic_constraints if given is None else given),
        auxiliary=list(system.u_aux),
    )


def mass_centre(body: Any) -> Any:
    """Return the mass centre of a SymPy body, or the point of a particle."""
    return body.masscenter if hasattr(body, "masscenter") else body.point


def _fixed_point(frame: Any, bodies: Iterable[Any], auxiliary: Iterable[Any]) -> Any:
    """Return a point at rest in N, without auxiliary speeds, that has a position relative to the bodies.

    Raises:
        ModelError: there is none.
    """
    seen = dict.fromkeys(map(mass_centre, bodies))
    waiting = deque(seen)
    while waiting:
        point = waiting.popleft()
        velocity = point._vel_dict.get(frame)
        if velocity is not None and not velocity.subs(dict.fromkeys(auxiliary, 0)).args:
            return point
        new = [x for x in point._pos_dict if x not in seen]
        seen.update(dict.fromkeys(new))
        waiting.extend(new)
    raise ModelError(
        f"no point with a position relative to the bodies is fixed in {frame}; locate the bodies from a point whose "
        f"velocity is set to zero by set_vel({frame}, 0)"
    )
