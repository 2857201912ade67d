"""Programs that equations offer: their outputs, and the leaves that they read besides t, q and u."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kane.codegen.programs.common_factors import factor
from kane.codegen.programs.parameter_sums import shortened
from kane.codegen.programs.program import Program
from kane.deferred import NamedTuple
from kane.errors import ModelError
from kane.expression.collector import collector_paused
from kane.expression.derivative import linear_coefficients, total_time_derivative
from kane.expression.node import Expr
from kane.expression.number_arguments import require
from kane.expression.operations import INPUT
from kane.formulation.constraints.intermittent_rows import ContactNumbers, IntermittentEquations, without_forces
from kane.formulation.constraints.rows import Equation
from kane.formulation.quantities.energy import energy
from kane.formulation.quantities.momentum import momentum
from kane.formulation.quantities.poses import FixedFrame, point_jacobian, poses
from kane.formulation.recursive.applied import Applied
from kane.formulation.route import Route
from kane.formulation.tree.system import System
from kane.geometry.rotation import Rotation
from kane.geometry.scalars import ZERO_VECTOR
from kane.model.checks import near, require_known
from kane.model.reaction import row_force
from kane.progress import stage


class Derived(Protocol):
    """Properties of ``Equations`` from which programs are derived; a protocol, to avoid a circular import."""

    @property
    def t(self) -> Expr: ...

    @property
    def q(self) -> tuple[Expr, ...]: ...

    @property
    def u(self) -> tuple[Expr, ...]: ...

    @property
    def udot(self) -> tuple[Expr, ...]: ...

    @property
    def inputs(self) -> tuple[Expr, ...]: ...

    @property
    def parameters(self) -> tuple[Expr, ...]: ...

    @property
    def kinematics(self) -> tuple[Expr, ...]: ...

    @property
    def forward(self) -> tuple[Expr, ...]: ...

    @property
    def inverse(self) -> tuple[Expr, ...]: ...

    @property
    def bias(self) -> tuple[Expr, ...]: ...

    @property
    def mass_matrix(self) -> tuple[tuple[Expr, ...], ...]: ...

    @property
    def input_matrix(self) -> tuple[tuple[Expr, ...], ...]: ...

    @property
    def coriolis_matrix(self) -> tuple[tuple[Expr, ...], ...]: ...

    @property
    def gravity_vector(self) -> tuple[Expr, ...]: ...

    @property
    def system(self) -> System: ...

    @property
    def applied(self) -> Applied: ...

    @property
    def route(self) -> Route: ...

    @property
    def bodies(self) -> tuple[str, ...]: ...

    @property
    def posed(self) -> Mapping[str, FixedFrame]: ...

    @property
    def constraints(self) -> tuple[Equation, ...]: ...

    @property
    def closing(self) -> tuple[Equation, ...]: ...

    @property
    def held(self) -> tuple[Equation, ...]: ...

    @property
    def intermittents(self) -> tuple[IntermittentEquations, ...]: ...
    @property
    def permanent(self) -> tuple[Equation, ...]: ...

    @property
    def unconstrained(self) -> Derived: ...

    def baked_in(self, expressions: Any) -> tuple[Expr, ...]: ...


class Quantity(NamedTuple):
    """Outputs of a program by name and expression, and the leaves that it reads besides t, q and u."""

    names: Sequence[str]
    outputs: Sequence[Expr]
    rest: Sequence[Expr] = ()


def lower_triangle(n: int) -> list[tuple[int, int]]:
    """Return the places (i, j), j <= i, of the mass matrix in the order of its program's outputs."""
    return [(i, j) for i in range(n) for j in range(i + 1)]


def _rates(leaves: Sequence[Expr]) -> list[str]:
    return [f"{leaf.name}'" for leaf in leaves]


def _forces(eqs: Derived) -> list[str]:
    return [f"f_{leaf.name}" for leaf in eqs.u]


def _mass_matrix(eqs: Derived) -> Quantity:
    """Return one triangle of M, for printing, counting and exporting."""
    places = lower_triangle(len(eqs.u))
    return Quantity([f"M_{i + 1}_{j + 1}" for i, j in places], [eqs.mass_matrix[i][j] for i, j in places])


def _whole_mass_matrix(eqs: Derived) -> Quantity:
    """Return all of M by rows, for numerical use."""
    n = len(eqs.u)
    names = [f"M_{i + 1}_{j + 1}" for i in range(n) for j in range(n)]
    return Quantity(names, [eqs.mass_matrix[max(i, j)][min(i, j)] for i in range(n) for j in range(n)])


def _input_matrix(eqs: Derived) -> Quantity:
    names = [f"B_{i + 1}_{j + 1}" for i in range(len(eqs.u)) for j in range(len(eqs.inputs))]
    return Quantity(names, [x for row in eqs.input_matrix for x in row])


def _coriolis_matrix(eqs: Derived) -> Quantity:
    names = [f"C_{i + 1}_{j + 1}" for i in range(len(eqs.u)) for j in range(len(eqs.u))]
    return Quantity(names, [x for row in eqs.coriolis_matrix for x in row])


def _poses(eqs: Derived) -> Quantity:
    outputs = eqs.baked_in(poses(eqs.system, eqs.posed.values()))
    entries = [*(f"R_{i}{j}" for i in "xyz" for j in "xyz"), "p_x", "p_y", "p_z"]
    return Quantity([f"{name}_{entry}" for name in eqs.posed for entry in entries], outputs)


def _jacobian(eqs: Derived, name: str) -> Quantity:
    """Return the Jacobian of a point of a body or named frame; it reads the point's position there [m]."""
    frame = _frame(eqs, name)
    point = tuple(eqs.t.arena.leaf(INPUT, f"{name}.{axis}") for axis in "xyz")
    rows = ("w_x", "w_y", "w_z", "v_x", "v_y", "v_z")
    names = [f"{row}_{u.name}" for row in rows for u in eqs.u]
    return Quantity(names, eqs.baked_in(point_jacobian(eqs.system, frame, point)), point)


def _frame(eqs: Derived, name: str) -> FixedFrame:
    """Return a body's own frame, the ground, or a named frame."""
    still = {eqs.bodies[0]: FixedFrame(0, ZERO_VECTOR, Rotation.identity())}
    if name not in (frames := {**still, **eqs.posed}):
        raise ModelError(f"there is no body or frame {name!r}; {near(name, list(eqs.posed))}")
    return frames[name]


def _constraints(eqs: Derived) -> Quantity:
    """Return A by rows, then the residuals of the motion, A u + b."""
    rows, zero = eqs.constraints, eqs.system.arena.zero
    names = [f"{row.name} A_{u.name}" for row in rows for u in eqs.u] + [row.name for row in rows]
    entries = [row.coefficients.get(j, zero) for row in rows for j in range(len(eqs.u))]
    return Quantity(names, eqs.unconstrained.baked_in([*entries, *(row.motion for row in rows)]))


def _configuration(eqs: Derived) -> Quantity:
    """Return the residuals of all configuration constraints, including rows that user-defined speeds satisfy."""
    rows = eqs.closing
    return Quantity([row.name for row in rows], eqs.unconstrained.baked_in([row.configuration for row in rows]))


def _configuration_found(eqs: Derived) -> Quantity:
    """Return the residuals of ``_configuration``, then the integrals that intermittent constraints keep constant."""
    closing, held = _configuration(eqs), eqs.held
    found = eqs.unconstrained.baked_in([row.integral for row in held])
    return Quantity([*closing.names, *(row.name for row in held)], [*closing.outputs, *found])


def _closure(eqs: Derived) -> Quantity:
    """Return phi of the rows that restrict the configuration, then J by rows, with dphi/dt = J u + ..."""
    free, rows = eqs.unconstrained, [row for row in eqs.constraints if row.configuration is not None]
    residuals = [row.configuration for row in rows if row.configuration is not None]
    changes = dict(zip(free.q, free.system.speeds.kinematics, strict=True))
    J, _ = linear_coefficients(total_time_derivative(residuals, changes), free.u)
    names = [*(row.name for row in rows), *(f"{row.name} J_{u.name}" for row in rows for u in eqs.u)]
    return Quantity(names, free.baked_in([*residuals, *(x for row in J for x in row)]))


def _unconstrained(eqs: Derived) -> Quantity:
    """Return terms of the equations before constraints are embedded.

    M, one triangle; h with M udot + h = A^T lambda, including inputs; the remainders of A udot + remainder = 0; dq/dt.
    """
    free, n = eqs.unconstrained, len(eqs.u)
    mass = _mass_matrix(free)
    h = free.baked_in(free.route.loaded([0.0] * n))
    remainders = free.baked_in([row.remainder for row in eqs.constraints])
    names = [*mass.names, *(f"h_{x.name}" for x in eqs.u), *(f"{row.name} remainder" for row in eqs.constraints)]
    return Quantity([*names, *_rates(eqs.q)], [*mass.outputs, *h, *remainders, *free.kinematics], eqs.inputs)


def _gaps(eqs: Derived) -> Quantity:
    """Return gap, on, off, static and kinetic friction and restitution of each intermittent constraint."""
    names = [f"{c.name} {word}" for word in ContactNumbers._fields for c in eqs.intermittents]
    columns = zip(*(c.numbers for c in without_forces(eqs.intermittents)), strict=True)
    return Quantity(names, eqs.unconstrained.baked_in([x for column in columns for x in column]), eqs.inputs)


def _signals(eqs: Derived) -> Quantity:
    """Return on and off of each intermittent constraint as functions of the forces of all rows, then of the inputs."""
    names = [f"{c.name} {word}" for word in ("on", "off") for c in eqs.intermittents]
    outputs = [*(c.numbers.on for c in eqs.intermittents), *(c.numbers.off for c in eqs.intermittents)]
    forces = [row_force(eqs.t, row.name) for row in eqs.constraints]
    return Quantity(names, eqs.unconstrained.baked_in(outputs), (*forces, *eqs.inputs))


PROGRAMS: dict[str, Callable[[Derived], Quantity]] = {
    "rhs": lambda eqs: Quantity(_rates((*eqs.q, *eqs.u)), (*eqs.kinematics, *eqs.forward), eqs.inputs),
    "kinematics": lambda eqs: Quantity(_rates(eqs.q), eqs.kinematics),
    "forward": lambda eqs: Quantity(_rates(eqs.u), eqs.forward, eqs.inputs),
    "inverse": lambda eqs: Quantity(_forces(eqs), eqs.inverse, eqs.udot),
    "bias": lambda eqs: Quantity(_forces(eqs), eqs.bias),
    "mass_matrix": _mass_matrix,
    "whole_mass_matrix": _whole_mass_matrix,
    "input_matrix": _input_matrix,
    "coriolis_matrix": _coriolis_matrix,
    "gravity_vector": lambda eqs: Quantity(_forces(eqs), eqs.gravity_vector),
    "energy": lambda eqs: Quantity(("kinetic", "potential"), eqs.baked_in(energy(eqs.system, eqs.applied.potential))),
    "momentum": lambda eqs: Quantity(("P_x", "P_y", "P_z", "H_x", "H_y", "H_z"), eqs.baked_in(momentum(eqs.system))),
    "poses": _poses,
    "constraints": _constraints,
    "configuration": _configuration,
    "configuration found": _configuration_found,
    "closure": _closure,
    "unconstrained": _unconstrained,
    "gaps": _gaps,
    "signals": _signals,
}


def quantity(equations: Derived, name: str) -> Quantity:
    """Return the outputs of a named program; "jacobian NAME" is the Jacobian of a body or frame.

    Raises:
        ModelError: there is no such program, body or frame.
    """
    require_program(equations, name)
    with collector_paused():
        if name.startswith("jacobian "):
            return _jacobian(equations, name.removeprefix("jacobian "))
        return PROGRAMS[name](equations)


def require_program(equations: Derived, name: str) -> None:
    """Raise if there is no program of this name.

    Raises:
        ModelError: there is no such program, body or frame.
    """
    require(name, str, 'a program has a name such as "forward"')
    if name.startswith("jacobian "):
        _frame(equations, name.removeprefix("jacobian "))
    else:
        require_known(name, PROGRAMS, "program")


def written_quantity(equations: Derived, name: str) -> Quantity:
    """Return a named quantity in the form that is computed and printed, with factored sums and products."""
    return _shortened(quantity(equations, name))


def _shortened(found: Quantity) -> Quantity:
    with collector_paused():
        return found._replace(outputs=shortened(factor(found.outputs)))


def program(equations: Derived, name: str) -> Program:
    """Return the straight-line program of a named quantity."""
    with stage(f"deriving {name}"):
        return scheduled(equations, name, quantity(equations, name))


def scheduled(equations: Derived, name: str, found: Quantity, numbers: Sequence[Expr] = ()) -> Program:
    """Return the straight-line program of a quantity of these equations, under the given name.

    ``numbers`` are further parameters that the quantity reads.
    """
    outputs = _shortened(found).outputs
    state, parameters = (equations.t, *equations.q, *equations.u), (*equations.parameters, *numbers)
    with collector_paused():
        return Program(name, outputs, state=state, rest=found.rest, parameters=parameters)
