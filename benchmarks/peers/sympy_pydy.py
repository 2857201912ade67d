"""SymPy's KanesMethod and PyDy's compiled right-hand side of an arm: one method, by a general algebra system."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.pinocchio_models import joint_axis, joint_kind
from benchmarks.peers.toolchain import PeerMissingError


def kanes_method(model: Any) -> tuple[Any, Any]:
    """Derives the equations of a Pinocchio tree of revolute and prismatic joints, a torque or force at each.

    Returns:
        SymPy's KanesMethod, its equations formed with the symbol g for 9.81 m/s^2, and the symbols of the efforts.

    Raises:
        PeerMissingError: a joint is of another kind.
    """
    from sympy import Symbol
    from sympy.physics import mechanics

    n, g = model.nv, Symbol("g")
    q, u, efforts = (list(mechanics.dynamicsymbols(f"{letter}:{n}")) for letter in ("q", "u", "tau"))
    ground, origin = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    origin.set_vel(ground, 0)
    places, bodies, loads = [(ground, origin)], [], []
    down = _vector(ground, model.gravity.linear / np.linalg.norm(model.gravity.linear))
    for i in range(1, model.njoints):
        before = places[model.parents[i]]
        start, (frame, point) = _joint(model, i, before, (q[i - 1], u[i - 1]), ground)
        places.append((frame, point))
        body = _body(model.inertias[i], frame, point, i)
        body.masscenter.v2pt_theory(point, ground, frame)
        bodies.append(body)
        loads.append((body.masscenter, body.mass * g * down))
        along = efforts[i - 1] * _vector(frame, joint_axis(model.joints[i]))
        ends = (frame, before[0]) if joint_kind(model.joints[i])[0] == "R" else (point, start)
        loads += [(ends[0], along), (ends[1], -along)]  # start moves with the body before: the reaction acts there
    rates = [qi.diff() - ui for qi, ui in zip(q, u, strict=True)]
    method = mechanics.KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=rates)
    method.kanes_equations(bodies, loads)
    return method, efforts


def _exact(value: float) -> float | int:
    """0, 1 and -1 as integers, which SymPy simplifies; within the digits that files print."""
    return round(value) if abs(value - round(value)) < 1e-9 else float(value)


def _vector(frame: Any, values: Any) -> Any:
    return sum((_exact(v) * axis for v, axis in zip(values, (frame.x, frame.y, frame.z), strict=True)), 0 * frame.x)


def _joint(model: Any, i: int, parent: tuple[Any, Any], motion: tuple[Any, Any], ground: Any) -> Any:
    """The joint's place on the body before; frame and origin of the body. Velocities are set."""
    from sympy import Matrix

    (frame, point), (q, u), kind = parent, motion, joint_kind(model.joints[i])
    if kind[0] not in "RP":
        raise PeerMissingError("measured for arms only")
    placement = model.jointPlacements[i]
    fixed = frame
    if not np.array_equal(placement.rotation, np.eye(3)):
        fixed = frame.orientnew(
            f"F{i}", "DCM", Matrix([[_exact(entry) for entry in row] for row in placement.rotation])
        )
        fixed.set_ang_vel(frame, 0)
    axis = _vector(fixed, joint_axis(model.joints[i]))
    start = point.locatenew(f"F{i}o", _vector(frame, placement.translation))
    start.v2pt_theory(point, ground, frame)
    if kind[0] == "R":
        turned = fixed.orientnew(f"B{i}", "Axis", (q, axis))
        turned.set_ang_vel(fixed, u * axis)
        return start, (turned, start)
    moved = start.locatenew(f"B{i}o", q * axis)
    moved.set_vel(fixed, u * axis)
    moved.v1pt_theory(start, ground, fixed)
    return start, (fixed, moved)


def _body(inertia: Any, frame: Any, point: Any, i: int) -> Any:
    from sympy.physics import mechanics

    matrix = inertia.inertia
    six = [float(matrix[k]) for k in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
    centre = point.locatenew(f"C{i}", _vector(frame, inertia.lever))
    return mechanics.RigidBody(f"b{i}", centre, frame, float(inertia.mass), (mechanics.inertia(frame, *six), centre))


def require_pydy() -> None:
    """Imports what the compiled right-hand side needs.

    Raises:
        PeerMissingError: PyDy or Cython is not installed.
    """
    try:
        import Cython  # noqa: F401
        import pydy  # noqa: F401
    except ImportError as error:
        raise PeerMissingError("PyDy is not installed (pip install pydy cython)") from error


def right_hand_side(method: Any, efforts: Any) -> Callable[[Any, Any], Any]:
    """Compiles PyDy's right-hand side: f(x, efforts) -> dx/dt with x = (q, u); `require_pydy` first."""
    from pydy.codegen.ode_function_generators import generate_ode_function
    from sympy import Symbol

    function = generate_ode_function(
        method.forcing_full,
        method.q,
        method.u,
        [Symbol("g")],
        mass_matrix=method.mass_matrix_full,
        specifieds=efforts,
        generator="cython",
    )
    return lambda x, tau: np.array(function(x, 0.0, tau, np.array([9.81])))
