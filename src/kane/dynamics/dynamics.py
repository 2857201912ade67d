"""Numerical evaluation of the equations of motion: one calling convention for all functions of a state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, final

import numpy as np

from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.named import NamedProgram, ProgramFamily
from kane.dynamics.compiled_modes import NO_COMPILED_MODES, CompiledModes
from kane.dynamics.displayed import Displayed
from kane.dynamics.inertia_left import require_inertia
from kane.dynamics.named_programs import NamedPrograms
from kane.dynamics.state_function import EMPTY_ARRAY, StateFunction, checked_array
from kane.dynamics.unit_quaternions import OF_A_STAGE, UNIT
from kane.engine.memory.views import constraint_rows_at
from kane.errors import ModelError, shown
from kane.expression.number_arguments import numbers, require
from kane.formulation.equations import Equations
from kane.model.body import Body
from kane.model.named_vector import index_of_name

if TYPE_CHECKING:
    from kane.codegen.programs.program import Program
    from kane.dynamics.derivatives.derivatives import Derivatives
    from kane.dynamics.embedded.constrained_function import ConstrainedFunction
    from kane.dynamics.embedded.embedded_functions import EmbeddedFunctions
    from kane.dynamics.embedded.embedded_quantity import Embedded
    from kane.formulation.derivatives.program_derivative import Derivable

DerivedValue = TypeVar("DerivedValue")
# Programs whose output is a matrix with one row and one column per speed.
SQUARE_PROGRAMS = ("whole_mass_matrix",)


class Energy(NamedTuple):
    """Kinetic and potential energy [J]."""

    kinetic: Any
    potential: Any

    @property
    def total(self) -> Any:
        """Kinetic plus potential energy [J]."""
        return self.kinetic + self.potential


class Momentum(NamedTuple):
    """Linear momentum [kg m/s], and angular momentum about the origin of N [kg m^2/s], in N, each (..., 3)."""

    linear: np.ndarray
    angular: np.ndarray


class Pose(NamedTuple):
    """Orientation R_NB (..., 3, 3) and position p_NoBo (..., 3) [m] of a body B, expressed in N."""

    orientation: np.ndarray
    position: np.ndarray


class Jacobian(NamedTuple):
    """w_NB_u and v_NP_u in N, shape (..., 3, n): w_NB = angular @ u and v_NP = linear @ u, plus terms free of u."""

    angular: np.ndarray
    linear: np.ndarray


class Residuals(NamedTuple):
    """Constraint residuals at states.

    Attributes:
        configuration: residual of each row that restricts the configuration, (..., rows) [m or rad].
        motion: A u + b of each row, (..., rows) [m/s or rad/s].
    """

    configuration: np.ndarray
    motion: np.ndarray

    @property
    def largest(self) -> tuple[np.ndarray, np.ndarray]:
        """Largest absolute residual of each state, (...), of the configuration and of the motion."""
        return np.abs(self.configuration).max(axis=-1, initial=0.0), np.abs(self.motion).max(axis=-1, initial=0.0)


@final
class Dynamics(Displayed):
    """Native code of equations. Every argument may be a batch (..., n); batches broadcast.

    q holds all coordinates, (..., nq) [rad or m], and u all speeds, (..., n) [rad/s or m/s], in the order of
    ``equations.q`` and ``.u``. udot holds the derivatives of u [rad/s^2 or m/s^2].

    ``inputs``, (..., inputs) in the order of ``equations.inputs``, and the time ``t``, (...) [s], may be omitted if the
    result does not depend on them. ``parameters`` is a dict of values by name that replaces defaults for this call; a
    value may be an array (...), one number per state of the batch. ``out`` is filled and returned: a contiguous array
    of double precision with the shape of the result; it may be one of the arguments. For large batches ``out`` avoids
    the page faults of newly allocated memory.

    Quaternions in q must have unit length to within 1e-6. ``rhs`` accepts other lengths, so that it can evaluate the
    stages of your own integrator; normalize the quaternions after each step. Any number of threads may call at once.

    Under constraints every method reads only the independent speeds and computes the dependent ones from them. If
    constraints are embedded numerically, QR with column pivoting selects the dependent speeds at each state and
    determines the rank. Accelerations are NaN where the mass matrix of the independent speeds is singular. q is not
    corrected; ``project`` projects it onto the constraints.

    Raises:
        ModelError: from every method, for arguments of a wrong shape, unknown names, quaternions that are not of unit
            length, and omitted inputs or time on which the result depends.

    Source: Gillespie 2003, Eqs. 4-5, 43-45, for constraints.
    """

    def __init__(
        self,
        equations: Equations,
        compile: Callable[[Any], Any],
        compiled_modes: CompiledModes = NO_COMPILED_MODES,
    ) -> None:
        self._equations = equations
        self._compile = compile
        self._compiled_modes = compiled_modes
        self._calls: dict[str, StateFunction] = {}
        self._derived: dict[Hashable, Any] = {}
        self._still = np.zeros(len(equations.u))
        self._lock = threading.Lock()  # only one thread at a time may create nodes and compile code

    def __repr__(self) -> str:
        return f"<Dynamics {self._equations.summary}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle or copy the equations and the target only; code is loaded from the disk cache on demand."""
        return Dynamics, (self._equations, self._compile, self._compiled_modes)

    @property
    def equations(self) -> Equations:
        """Equations from which this object was built."""
        return self._equations

    @property
    def compiled_modes(self) -> CompiledModes:
        """Modes that ``kane.compile_modes`` compiles in advance."""
        return self._compiled_modes

    @property
    def modes(self) -> tuple[str, ...]:
        """Modes given to ``kane.compile_modes``, written as in ``Trajectory.modes``; empty after ``kane.build``."""
        return self._compiled_modes.words

    @property
    def parameters(self) -> np.ndarray:
        """Default values of the parameters, in the order of ``equations.parameters``."""
        return np.array([self._equations.defaults[p.name] for p in self._equations.parameters])

    @cached_property
    def project(self) -> ConstrainedFunction | None:
        """Program that projects states onto the constraints; None without constraints.

        It maps [t, q, u] to [q, u, residuals, conditioning], nq + n + 3 numbers. Coordinates move by the minimum-norm
        speeds that close the constraints; dependent speeds follow from the independent ones. The two residuals are the
        largest of configuration and motion before the projection; see the method ``conditioning`` for the last number.

        A caller in native code, by the function's address, keeps the speed selection in the stage array, which the
        program "rhs" shares. The selection is repeated if its conditioning has fallen to half of the best, or if the
        rank changes.
        """
        equations = self._equations
        return self._embedded_functions.project() if equations.constraints or equations.closing else None

    @cached_property
    def named(self) -> NamedPrograms:
        """Native code of programs by name, which the cache may have."""
        return NamedPrograms(self._equations, self._compile)

    def compile(self, program: Program | NamedProgram | ProgramFamily) -> Any:
        """Compile another program that reads the symbols of these equations.

        Returns:
            an ``ArrayFunction``; for a family, a list of them.
        """
        from kane.codegen.programs.program import Program

        require(program, (Program, NamedProgram, ProgramFamily), "compile takes a Program")
        return self._compile(program)

    def function(self, name: str) -> ArrayFunction:
        """Return a compiled program by name: "forward", "inverse", "rhs" (qdot, udot), "mass_matrix", "energy", ..."""
        require(name, str, 'a program has a name such as "forward"')
        return (self._calls.get(name) or self._prepared(name)).function

    def _prepared(self, name: str) -> StateFunction:
        with self._lock:
            if name not in self._calls:
                word = "udot" if name == "inverse" else "at" if name.startswith("jacobian ") else "inputs"
                within = OF_A_STAGE if name == "rhs" else UNIT
                made = self._equations, self._make(name), word, self.parameters, within
                self._calls[name] = StateFunction(*made, shape=2 * self._still.shape if name in SQUARE_PROGRAMS else ())
            return self._calls[name]

    def derived(self, what: Hashable, derive: Callable[[], DerivedValue]) -> DerivedValue:
        """Return the result of ``derive``, computed once and cached under the key ``what``."""
        if what not in self._derived:
            self._derived.setdefault(what, derive())
        return cast(DerivedValue, self._derived[what])

    def _make(self, name: str) -> ArrayFunction:
        if name in ("embedding", *self._equations.embedding.numerical):
            return self._embedded_functions.make(name)
        return self.named.code(name)

    @cached_property
    def _embedded_functions(self) -> EmbeddedFunctions:
        from kane.dynamics.embedded.embedded_functions import EmbeddedFunctions

        return EmbeddedFunctions(self.named, self._compiled_modes)

    def forward(
        self, q: Any, u: Any, inputs: Any = None, t: Any = None, *, parameters: Any = None, out: Any = None
    ) -> np.ndarray:
        """Solve M(q) udot + bias(q, u) = B inputs for udot (forward dynamics), shape (..., n)."""
        return self._call("forward", (q, u), inputs, t, parameters, out=out)

    def inverse(
        self, q: Any, u: Any, udot: Any, t: Any = None, *, parameters: Any = None, out: Any = None
    ) -> np.ndarray:
        """Return M udot + bias (inverse dynamics), the generalized forces to be supplied by inputs, shape (..., n)."""
        return self._call("inverse", (q, u), udot, t, parameters, out=out)

    def inputs_for(self, q: Any, u: Any, udot: Any, t: Any = None, *, parameters: Any = None) -> np.ndarray:
        """Solve B inputs = M udot + bias for the inputs, using the rows of the independent speeds, shape (..., m).

        Raises:
            ModelError: the numbers of inputs and of independent speeds differ, or B is singular at a state.
        """
        n, m = len(self._equations.u), len(self._equations.inputs)
        needed = self.inverse(q, u, udot, t, parameters=parameters)
        B = self._call("input_matrix", (q, u), EMPTY_ARRAY, t, parameters)
        B = B.reshape(*B.shape[:-1], n, m)
        known = np.isfinite(B).all(axis=(-1, -2))
        independent = self._embedded(q, t, parameters).independent if self._equations.constraints else np.ones(n, bool)
        freedoms = independent.sum(axis=-1)
        if np.any((freedoms != m) & known):
            of = " of independent speeds" if self._equations.constraints else ""
            raise ModelError(
                f"{int(np.max(freedoms))} generalized forces{of} do not determine {m} inputs; inverse() gives the "
                "forces themselves"
            )
        rows = np.broadcast_to(np.argsort(~independent, axis=-1, kind="stable")[..., :m], (*known.shape, m))
        square = np.where(known[..., None, None], np.take_along_axis(B, rows[..., None], axis=-2), np.eye(m))
        if np.any(np.linalg.matrix_rank(square) < m):
            raise ModelError(
                "the input matrix is singular at this state: an input has no effect, or inputs are linearly dependent; "
                "inverse() gives the generalized forces themselves"
            )
        rows = np.broadcast_to(rows, (*needed.shape[:-1], m))
        found = np.linalg.solve(square, np.take_along_axis(needed, rows, axis=-1)[..., None])[..., 0]
        return np.where(known[..., None], found, np.nan)

    def conditioning(self, q: Any, t: Any = None) -> np.ndarray:
        """Return the smallest pivot of the dependent columns of A, relative to the largest of all selections, (...).

        Near zero the speed selection is singular. If each state uses its best selection, the mechanism is singular.
        """
        return self._embedded(q, t).conditioning

    def independent(self, q: Any, t: Any = None) -> tuple[str, ...]:
        """Return the names of the independent speeds at one state, selected there or once symbolically."""
        found = self._embedded(q, t).independent
        if found.ndim > 1:
            raise ModelError(f"independent speeds belong to one state, but q is a batch {found.shape[:-1]}")
        return tuple(leaf.name for leaf, is_so in zip(self._equations.u, found, strict=True) if is_so)

    def constraint_residuals(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None) -> Residuals:
        """Evaluate the constraint residuals at a state, without correcting q or the dependent speeds."""
        n, m = len(self._equations.u), len(self._equations.constraints)
        rows = self._call("constraints", (q, u), EMPTY_ARRAY, t, parameters)
        configuration = self._call("configuration", (q, u), EMPTY_ARRAY, t, parameters)
        return Residuals(configuration, constraint_rows_at(rows, 0, m, n).motion)

    def _embedded(self, q: Any, t: Any, parameters: Any = None) -> Embedded:
        from kane.dynamics.embedded.embedded_quantity import Embedded

        n, inputs = len(self._equations.u), np.zeros(len(self._equations.inputs))
        return Embedded.of(self._call("embedding", (q, self._still), inputs, t, parameters), n)

    def mass_matrix(self, q: Any, t: Any = None, *, parameters: Any = None, out: Any = None) -> np.ndarray:
        """Return the symmetric mass matrix M(q), shape (..., n, n)."""
        return self._call("whole_mass_matrix", (q, self._still), EMPTY_ARRAY, t, parameters, out=out)

    def bias(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None, out: Any = None) -> np.ndarray:
        """Return the terms of M udot + bias = B inputs that are free of udot and inputs, shape (..., n)."""
        return self._call("bias", (q, u), EMPTY_ARRAY, t, parameters, out=out)

    def kinematics(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None, out: Any = None) -> np.ndarray:
        """Return dq/dt, shape (..., nq)."""
        return self._call("kinematics", (q, u), EMPTY_ARRAY, t, parameters, out=out)

    def energy(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None) -> Energy:
        """Return the kinetic energy and the potential energy of gravity and springs [J], each of shape (...)."""
        values = self._call("energy", (q, u), EMPTY_ARRAY, t, parameters)
        return Energy(values[..., 0], values[..., 1])

    def momentum(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None) -> Momentum:
        """Return the linear momentum and the angular momentum about the origin of N, expressed in N."""
        values = self._call("momentum", (q, u), EMPTY_ARRAY, t, parameters)
        return Momentum(values[..., :3], values[..., 3:])

    def poses(self, q: Any, t: Any = None, *, parameters: Any = None) -> dict[str, Pose]:
        """Return the orientation and position of every body and named frame, by name."""
        values = self._call("poses", (q, self._still), EMPTY_ARRAY, t, parameters)
        blocks = np.moveaxis(values.reshape(*values.shape[:-1], len(self._equations.posed), 12), -2, 0)
        R = blocks[..., :9].reshape(*blocks.shape[:-1], 3, 3)
        return {name: Pose(*pose) for name, *pose in zip(self._equations.posed, R, blocks[..., 9:], strict=True)}

    def jacobian(
        self, body: Body | str, q: Any, *, at: Any = (0.0, 0.0, 0.0), t: Any = None, parameters: Any = None
    ) -> Jacobian:
        """Return partial angular velocities of a body and partial velocities of its point ``at`` (body frame) [m]."""
        if isinstance(body, Body) and body.model.arena is not self._equations.system.arena:
            raise ModelError(f"body {body.name!r} belongs to another model than {self._equations.name!r}")
        name = body.name if isinstance(body, Body) else body if isinstance(body, str) else shown(body)
        n = len(self._equations.u)
        values = self._call(f"jacobian {name}", (q, self._still), at, t, parameters)
        rows = values.reshape(*values.shape[:-1], 6, n)
        return Jacobian(rows[..., :3, :], rows[..., 3:, :])

    def derivatives(self, of: Derivable, *, wrt: Sequence[str]) -> Derivatives:
        """Return exact derivatives of a program ("forward", ...), an expression or several: see ``Derivatives``."""
        from kane.dynamics.derivatives.derivatives import derivatives_of  # imported late: it needs many parts of kane

        return derivatives_of(self, of, wrt)

    def rhs(self, t: Any, x: Any, inputs: Any = None, *, out: Any = None) -> np.ndarray:
        """Return d/dt of the state x = [q, u], shape (..., nq + n), with the argument order of scipy's ``solve_ivp``.

        Example: ``solve_ivp(dyn.rhs, (0, 10), x0)``; for models with inputs add ``args=(inputs,)``.
        """
        nq = len(self._equations.q)
        x = checked_array(x, "x = [q, u]", nq + len(self._equations.u))
        return self._call("rhs", (x[..., :nq], x[..., nq:]), inputs, t, None, out=out)

    def evaluate(
        self, function: ArrayFunction, q: Any, u: Any, rest: Any = (), t: Any = None, *, parameters: Any = None
    ) -> np.ndarray:
        """Evaluate a program that was compiled for these equations; returns (..., outputs).

        Args:
            function: returned by ``compile`` or ``function``.
            rest: values that the program reads besides t, q and u.
        """
        require(function, ArrayFunction, "evaluate needs a function from dyn.compile or dyn.function")
        call = StateFunction(self._equations, function, "inputs, udot or at", self.parameter_values(parameters))
        return call((q, u), rest, t, call.stage)

    def _call(
        self, name: str, state: tuple[Any, Any], rest: Any, t: Any, parameters: Any, *, out: Any = None
    ) -> np.ndarray:
        call = self._calls.get(name) or self._prepared(name)
        if parameters is None:
            return call(state, rest, t, call.stage, out)
        values = self.parameter_values(parameters)
        if name in ("forward", "rhs"):
            require_inertia(self, values)
        return call(state, rest, t, call.function.stage(values), out)

    def parameter_values(self, parameters: Mapping[str, Any] | None) -> np.ndarray:
        """Return all parameters with the given ones replaced, shape (..., p); the batches of the values broadcast."""
        if parameters is None:
            return self.parameters
        require(parameters, Mapping, "parameters must be a dict of values by name")
        names = [p.name for p in self._equations.parameters]
        given = {}
        for name, value in parameters.items():
            place = index_of_name(name, names, "parameter")
            given[place] = numbers(value, f"the parameter {name!r} must be a number")
        try:
            batch = np.broadcast_shapes(*(value.shape for value in given.values()))
        except ValueError:
            shapes = ", ".join(f"{np.shape(value)} of {name!r}" for name, value in parameters.items())
            raise ModelError(f"the batches {shapes} of the parameters do not broadcast") from None
        values = np.broadcast_to(self.parameters, (*batch, len(names))).copy()
        for place, value in given.items():
            values[..., place] = value
        self._equations.parameter_bounds.require(values)
        return values
