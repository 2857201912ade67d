"""Numbers out of equations: the one calling convention for users of arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, final

import numpy as np

from kane.codegen.jit.function import ArrayFunction
from kane.codegen.programs.composed import Composed
from kane.codegen.programs.program import Program
from kane.dynamics.ahead import IN_NUMBERS, AheadOfTime
from kane.dynamics.displayed import Displayed
from kane.dynamics.embedded.embedded_functions import EmbeddedFunctions
from kane.dynamics.embedded.embedded_quantity import Embedded
from kane.dynamics.inertia_left import require_inertia
from kane.dynamics.state_function import NOTHING, StateFunction, checked_array
from kane.dynamics.unit_quaternions import OF_A_STAGE, UNIT
from kane.errors import ModelError, shown
from kane.expression.arguments import numbers, require
from kane.formulation.equations import Equations
from kane.formulation.quantities.programs import program
from kane.model.body import Body
from kane.model.named_vector import position
from kane.native.blocks import constraint_places

if TYPE_CHECKING:
    from kane.dynamics.derivatives.derivatives import Derivatives
    from kane.dynamics.embedded.constrained_function import ConstrainedFunction
    from kane.formulation.derivatives.derivative import Derivable

T = TypeVar("T")
# Values with a row and a column for each speed.
SQUARE = ("whole_mass_matrix",)


class Energy(NamedTuple):
    """Kinetic and potential energy [J]."""

    kinetic: Any
    potential: Any

    @property
    def total(self) -> Any:
        """Kinetic and potential together."""
        return self.kinetic + self.potential


class Momentum(NamedTuple):
    """Linear momentum and angular momentum about the origin of N, in N, shape (..., 3) [kg m/s, kg m^2/s]."""

    linear: np.ndarray
    angular: np.ndarray


class Pose(NamedTuple):
    """R_NB (..., 3, 3) and p_NoBo in N (..., 3) [m]."""

    orientation: np.ndarray
    position: np.ndarray


class Jacobian(NamedTuple):
    """w_NB_u and v_NP_u in N, shape (..., 3, n): w_NB = angular @ u, v_NP = linear @ u, up to terms free of u."""

    angular: np.ndarray
    linear: np.ndarray


class Residuals(NamedTuple):
    """How far states are from their constraints.

    Attributes:
        configuration: of each row that restricts the configuration, (..., rows) [m or rad].
        motion: A u + b of each row, (..., rows) [m/s or rad/s].
    """

    configuration: np.ndarray
    motion: np.ndarray

    @property
    def largest(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest of each state, (...), of configuration and of motion."""
        return np.abs(self.configuration).max(axis=-1, initial=0.0), np.abs(self.motion).max(axis=-1, initial=0.0)


@final
class Dynamics(Displayed):
    """Native code of equations. Every argument may be a batch (..., n); batches broadcast.

    q is always the full set of coordinates, (..., nq) [rad or m], and u the full set of speeds, (..., n) [rad/s or
    m/s], in the order of ``equations.q`` and ``.u``; udot are their derivatives [rad/s^2 or m/s^2]. ``inputs``,
    (..., inputs) in the order of ``equations.inputs``, and the time ``t``, (...) [s], may be left out where the result
    does not depend on them. ``parameters``, where a method takes it, is a dict of values by name that replaces defaults
    for this call; a value may be an array (...), one for each state of the batch. ``out``, where a method takes it, is
    filled and returned: contiguous, of double precision, of the shape of the result; it may be an argument. For large
    batches it saves the page faults of fresh memory.

    Quaternions in q must be of unit length, to 1e-6; ``rhs`` takes the stages of your own integrator, which are not
    quite: divide by the length when a step is done. Any number of threads may call at once.

    Under constraints every method reads the independent speeds, and takes the dependent ones as what these and the
    constraints make them. Where constraints are embedded in numbers, dependent speeds are chosen at each state by QR
    with column pivoting, the rank of the constraints with them; accelerations are NaN where the mass matrix of the
    independent speeds is singular. q is taken as it is: ``settle`` puts it onto the constraints.

    Raises:
        ModelError: from every method, for arguments of a wrong shape, unknown names, quaternions of another length, and
            inputs or time that the result depends on and that are not given.

    Source: Gillespie 2003, Eqs. 4-5, 43-45, for constraints.
    """

    def __init__(
        self,
        equations: Equations,
        compile: Callable[[Any], Any],
        ahead: AheadOfTime = IN_NUMBERS,
    ) -> None:
        self._equations = equations
        self._compile = compile
        self._ahead = ahead
        self._calls: dict[str, StateFunction] = {}
        self._derived: dict[Hashable, Any] = {}
        self._still = np.zeros(len(equations.u))
        self._lock = threading.Lock()  # nodes are made, and code compiled, by one thread at a time

    def __repr__(self) -> str:
        return f"<Dynamics {self._equations.summary}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent or copied as equations and target: code comes from the cache on disk when it is asked for."""
        return Dynamics, (self._equations, self._compile, self._ahead)

    @property
    def equations(self) -> Equations:
        """The equations that were built."""
        return self._equations

    @property
    def ahead(self) -> AheadOfTime:
        """What ``kane.compile_modes`` was asked to compile."""
        return self._ahead

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that ``kane.compile_modes`` was given, as ``Trajectory.modes`` has them; none as it is built."""
        return self._ahead.words

    @property
    def parameters(self) -> np.ndarray:
        """Default values of the parameters, in the order of ``equations.parameters``."""
        return np.array([self._equations.defaults[p.name] for p in self._equations.parameters])

    @cached_property
    def settle(self) -> ConstrainedFunction | None:
        """States put onto the constraints: of [t, q, u] it makes [q, u, residuals, conditioning], nq + n + 3; None
        without constraints.

        Coordinates move by the least speeds that do it, dependent speeds follow from the independent ones; residuals
        are the largest of configuration and motion before that, conditioning as of ``conditioning``. Called at its
        address, it keeps the choice of dependent speeds in its stage, which serves the program "rhs" also, and makes it
        anew where its conditioning has fallen to a half of the best, or the rank has changed.
        """
        equations = self._equations
        return self._embedded_functions.settle() if equations.constraints or equations.closing else None

    def compile(self, program: Program | Composed) -> Any:
        """Code for another program of these equations' leaves, by the same target: an ``ArrayFunction``."""
        require(program, (Program, Composed), "compile takes a Program")
        return self._compile(program)

    def function(self, name: str) -> ArrayFunction:
        """The compiled program of a quantity: "forward", "inverse", "rhs" (qdot, udot), "mass_matrix", "energy", ..."""
        require(name, str, 'a program has a name such as "forward"')
        return (self._calls.get(name) or self._prepared(name)).function

    def _prepared(self, name: str) -> StateFunction:
        with self._lock:
            if name not in self._calls:
                word = "udot" if name == "inverse" else "at" if name.startswith("jacobian ") else "inputs"
                within = OF_A_STAGE if name == "rhs" else UNIT
                made = self._equations, self._make(name), word, self.parameters, within
                self._calls[name] = StateFunction(*made, shape=2 * self._still.shape if name in SQUARE else ())
            return self._calls[name]

    def derived(self, what: Hashable, derive: Callable[[], T]) -> T:
        """What ``derive`` makes of these equations, made once and kept with them under the name ``what``."""
        if what not in self._derived:
            self._derived.setdefault(what, derive())
        return cast(T, self._derived[what])

    def _make(self, name: str) -> ArrayFunction:
        if name in ("embedding", *self._equations.embedding.in_numbers):
            return self._embedded_functions.make(name)
        return self.compile(program(self._equations, name))

    @cached_property
    def _embedded_functions(self) -> EmbeddedFunctions:
        return EmbeddedFunctions(self._equations, self._compile, self._ahead)

    def forward(
        self, q: Any, u: Any, inputs: Any = None, t: Any = None, *, parameters: Any = None, out: Any = None
    ) -> np.ndarray:
        """Forward dynamics: udot from M(q) udot + bias(q, u) = B inputs, shape (..., n)."""
        return self._call("forward", (q, u), inputs, t, parameters, out=out)

    def inverse(
        self, q: Any, u: Any, udot: Any, t: Any = None, *, parameters: Any = None, out: Any = None
    ) -> np.ndarray:
        """M udot + bias, the generalized forces that the inputs must supply, shape (..., n)."""
        return self._call("inverse", (q, u), udot, t, parameters, out=out)

    def inputs_for(self, q: Any, u: Any, udot: Any, t: Any = None, *, parameters: Any = None) -> np.ndarray:
        """The inputs with B inputs = M udot + bias in the independent speeds, shape (..., m).

        Raises:
            ModelError: there are not as many inputs as independent speeds, or B is singular at a state.
        """
        n, m = len(self._equations.u), len(self._equations.inputs)
        needed = self.inverse(q, u, udot, t, parameters=parameters)
        B = self._call("input_matrix", (q, u), NOTHING, t, parameters)
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
                "the input matrix is singular at this state: some input moves nothing, or two move the same; inverse() "
                "gives the generalized forces themselves"
            )
        rows = np.broadcast_to(rows, (*needed.shape[:-1], m))
        found = np.linalg.solve(square, np.take_along_axis(needed, rows, axis=-1)[..., None])[..., 0]
        return np.where(known[..., None], found, np.nan)

    def conditioning(self, q: Any, t: Any = None) -> np.ndarray:
        """Smallest pivot of the dependent columns of the constraints over the largest of any choice, shape (...).

        Near zero the choice of dependent speeds, or where it is free to be the best the mechanism, is singular.
        """
        return self._embedded(q, t).conditioning

    def independent(self, q: Any, t: Any = None) -> tuple[str, ...]:
        """Names of the independent speeds at one state: chosen there, or once for all by the graph."""
        found = self._embedded(q, t).independent
        if found.ndim > 1:
            raise ModelError(f"independent speeds are named for one state, not for a batch {found.shape[:-1]}")
        return tuple(leaf.name for leaf, is_so in zip(self._equations.u, found, strict=True) if is_so)

    def constraint_residuals(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None) -> Residuals:
        """What the constraints leave over at a state as it is, dependent speeds included."""
        n, m = len(self._equations.u), len(self._equations.constraints)
        rows = self._call("constraints", (q, u), NOTHING, t, parameters)
        configuration = self._call("configuration", (q, u), NOTHING, t, parameters)
        return Residuals(configuration, rows[..., constraint_places(m, n).motion :])

    def _embedded(self, q: Any, t: Any, parameters: Any = None) -> Embedded:
        n, inputs = len(self._equations.u), np.zeros(len(self._equations.inputs))
        return Embedded.of(self._call("embedding", (q, self._still), inputs, t, parameters), n)

    def mass_matrix(self, q: Any, t: Any = None, *, parameters: Any = None, out: Any = None) -> np.ndarray:
        """M(q), symmetric, shape (..., n, n)."""
        return self._call("whole_mass_matrix", (q, self._still), NOTHING, t, parameters, out=out)

    def bias(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None, out: Any = None) -> np.ndarray:
        """The terms free of udot and inputs, shape (..., n)."""
        return self._call("bias", (q, u), NOTHING, t, parameters, out=out)

    def kinematics(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None, out: Any = None) -> np.ndarray:
        """dq/dt, shape (..., nq)."""
        return self._call("kinematics", (q, u), NOTHING, t, parameters, out=out)

    def energy(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None) -> Energy:
        """Kinetic energy, and potential energy of gravity and springs [J], shape (...)."""
        values = self._call("energy", (q, u), NOTHING, t, parameters)
        return Energy(values[..., 0], values[..., 1])

    def momentum(self, q: Any, u: Any, t: Any = None, *, parameters: Any = None) -> Momentum:
        """Linear momentum, and angular momentum about the origin of N, in N."""
        values = self._call("momentum", (q, u), NOTHING, t, parameters)
        return Momentum(values[..., :3], values[..., 3:])

    def poses(self, q: Any, t: Any = None, *, parameters: Any = None) -> dict[str, Pose]:
        """Orientation and position of every body and named frame, by name."""
        values = self._call("poses", (q, self._still), NOTHING, t, parameters)
        blocks = np.moveaxis(values.reshape(*values.shape[:-1], len(self._equations.posed), 12), -2, 0)
        R = blocks[..., :9].reshape(*blocks.shape[:-1], 3, 3)
        return {name: Pose(*pose) for name, *pose in zip(self._equations.posed, R, blocks[..., 9:], strict=True)}

    def jacobian(
        self, body: Body | str, q: Any, *, at: Any = (0.0, 0.0, 0.0), t: Any = None, parameters: Any = None
    ) -> Jacobian:
        """Partial angular velocities of a body and partial velocities of its point ``at`` (in the body's frame) [m]."""
        if isinstance(body, Body) and body.model.arena is not self._equations.system.arena:
            raise ModelError(f"body {body.name!r} belongs to another model than {self._equations.name!r}")
        name = body.name if isinstance(body, Body) else body if isinstance(body, str) else shown(body)
        n = len(self._equations.u)
        values = self._call(f"jacobian {name}", (q, self._still), at, t, parameters)
        rows = values.reshape(*values.shape[:-1], 6, n)
        return Jacobian(rows[..., :3, :], rows[..., 3:, :])

    def derivatives(self, of: Derivable, *, wrt: Sequence[str]) -> Derivatives:
        """Exact derivatives of a program ("forward", ...), of an expression or a list of them: see ``Derivatives``."""
        from kane.dynamics.derivatives.derivatives import derivatives_of  # which reads many parts of these equations

        return derivatives_of(self, of, wrt)

    def rhs(self, t: Any, x: Any, inputs: Any = None, *, out: Any = None) -> np.ndarray:
        """d/dt of the state x = [q, u], shape (..., nq + n), as scipy wants it: ``solve_ivp(dyn.rhs, (0, 10), x0)``,
        where the model has inputs with ``args=(inputs,)``.
        """
        nq = len(self._equations.q)
        x = checked_array(x, "x = [q, u]", nq + len(self._equations.u))
        return self._call("rhs", (x[..., :nq], x[..., nq:]), inputs, t, None, out=out)

    def evaluate(
        self, function: ArrayFunction, q: Any, u: Any, rest: Any = (), t: Any = None, *, parameters: Any = None
    ) -> np.ndarray:
        """The values of a program that was compiled for these equations, shape (..., outputs).

        Args:
            function: from ``compile``.
            rest: what the program reads besides t, q and u.
        """
        require(function, ArrayFunction, "evaluate takes what dyn.compile or dyn.function returned")
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
        """All parameters, the given ones replaced, shape (..., n): the batches of the given values broadcast."""
        if parameters is None:
            return self.parameters
        if not isinstance(parameters, Mapping):
            raise ModelError(f"parameters must be a dict of values by name, not {shown(parameters)}")
        names = [p.name for p in self._equations.parameters]
        given = {}
        for name, value in parameters.items():
            place = position(name, names, "parameter")
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
