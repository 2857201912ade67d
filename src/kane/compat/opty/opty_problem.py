"""``Problem``: an optimal control problem with opty's interface, solved by Ipopt."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kane.analysis.optimal_control.ipopt import RESULTS, Bounds, Iteration, Solution, check_option, solve_by_ipopt
from kane.compat.opty.constraint_collocator import ConstraintCollocator
from kane.compat.opty.free_vector import parse_free
from kane.compat.opty.linear_guess import linear_guess
from kane.compat.opty.objective_function import ObjectiveFunction
from kane.compat.opty.opty_plots import OptyPlots
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.errors import ModelError, list_names, shown
from kane.expression.number_arguments import number, numbers

# Bounds without a limit, as in opty.
INFINITY = 1e20
NO_PLACES = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


class OptyProblem(OptyPlots):
    """Optimal control or parameter identification by direct collocation: ``kane.compat.opty.Problem``.

        minimize obj(free)   subject to   equations of motion, instance constraints and bounds

    Ipopt gets exact first derivatives, and the exact Hessian if ``obj`` comes from ``create_objective_function``.

    Attributes:
        collocator: constraints, a ``ConstraintCollocator``.
        obj, obj_grad: as given.
        con, con_jac: functions of the free vector: constraints, and entries of their Jacobian.
        con_jac_rows, con_jac_cols: places of these entries.
        num_free, num_constraints: lengths.
        bounds, eom_bounds: as given.
        lower_bound, upper_bound: bounds of the free vector.
        obj_value: objective at each iteration.
    """

    INF = INFINITY

    def __init__(
        self,
        obj: Callable[..., Any],
        obj_grad: Callable[..., Any],
        equations_of_motion: Any,
        state_symbols: Any,
        num_collocation_nodes: int,
        node_time_interval: Any,
        known_parameter_map: Mapping[Any, float] | None = None,
        known_trajectory_map: Mapping[Any, Any] | None = None,
        instance_constraints: Any = None,
        time_symbol: Any = None,
        tmp_dir: Any = None,
        integration_method: str = "backward euler",
        parallel: bool = False,
        bounds: Mapping[Any, tuple[Any, Any]] | None = None,
        show_compile_output: bool = False,
        backend: str = "cython",
        eom_bounds: Mapping[int, tuple[float, float]] | None = None,
    ) -> None:
        """Derive and compile the problem.

        Args:
            obj, obj_grad: objective and its gradient, functions of the free vector, or of the problem and the vector.
            equations_of_motion: see ``ConstraintCollocator``, also for the other arguments that are not here.
            bounds: pairs (lower, upper) by free state, input, parameter or time interval; numbers, or samples at nodes.
            eom_bounds: pairs (lower, upper) by index of an equation of motion, which is then no equality.

        Raises:
            ModelError: an argument is invalid; the message names it.
        """
        self.collocator = ConstraintCollocator(
            equations_of_motion, state_symbols, num_collocation_nodes, node_time_interval, known_parameter_map,
            known_trajectory_map, instance_constraints, time_symbol, tmp_dir, integration_method, parallel,
            show_compile_output, backend,
        )  # fmt: skip
        self.layout = self.collocator.layout
        self.obj, self.obj_grad = obj, obj_grad
        self._objective, self._gradient = (_of_free(self, f, who) for f, who in ((obj, "obj"), (obj_grad, "obj_grad")))
        self.con, self.con_jac = (
            self.collocator.generate_constraint_function(), self.collocator.generate_jacobian_function(),
        )  # fmt: skip
        self.con_jac_rows, self.con_jac_cols = self.collocator.jacobian_indices()
        self.num_free, self.num_constraints = self.collocator.num_free, self.collocator.num_constraints
        self.bounds, self.eom_bounds = bounds, eom_bounds
        self._limits = self._read_bounds()
        self.lower_bound, self.upper_bound = self._limits.least, self._limits.most
        self.obj_value: list[float] = []
        self._options: dict[str, float | int | str] = {}

    def objective(self, free: Any) -> float:
        """Return the objective."""
        return float(self._objective(free))

    def gradient(self, free: Any) -> Vector:
        """Return the gradient of the objective, (num_free,)."""
        return np.asarray(self._gradient(free), dtype=float)

    def constraints(self, free: Any) -> Vector:
        """Return the constraints, (num_constraints,)."""
        return self.con(free)

    def jacobian(self, free: Any) -> Vector:
        """Return the entries of the Jacobian of the constraints."""
        return self.con_jac(free)

    def jacobianstructure(self) -> tuple[Indices, Indices]:
        """Return row and column of each entry of the Jacobian."""
        return self.con_jac_rows, self.con_jac_cols

    def add_option(self, name: str, value: float | int | str) -> None:
        """Set an option of Ipopt.

        Raises:
            ModelError: Ipopt does not know the option, or refuses its value.
        """
        if isinstance(name, bytes):
            name = name.decode()
        if isinstance(value, bytes):
            value = value.decode()
        check_option(name, value)
        self._options[name] = value

    def solve(
        self, free: Any, lagrange: Any = (), zl: Any = (), zu: Any = (), respect_bounds: bool = False
    ) -> tuple[Vector, dict[str, Any]]:
        """Solve the problem by Ipopt.

        Args:
            free: first guess, (num_free,).
            lagrange, zl, zu: multipliers of the constraints and of lower and upper bounds, for a warm start.
            respect_bounds: whether to check the guess by ``check_bounds_conflict``.

        Returns:
            The last iterate, and a dict with x, g, obj_val, mult_g, mult_x_L, mult_x_U, status (0: solved) and
            status_msg (in words). Ctrl-C ends the iterations.

        Raises:
            ModelError: a vector has the wrong length.
            CompileError: Ipopt is missing; it comes with the package casadi.
        """
        z = self.layout.checked(free).copy()
        if respect_bounds:
            self.check_bounds_conflict(z)
        multipliers, lower, upper = (
            _of_length(x, count, who)
            for x, count, who in (
                (lagrange, self.num_constraints, "lagrange"), (zl, self.num_free, "zl"), (zu, self.num_free, "zu"),
            )
        )  # fmt: skip
        program = _IpoptProgram(self)
        options = self._options if program.exact else {"hessian_approximation": "limited-memory", **self._options}
        self.obj_value = []

        def told(step: Iteration) -> None:
            self.obj_value.append(step.objective)

        found = solve_by_ipopt(program, self._limits, Solution(z, multipliers, upper - lower), options, told)
        message = RESULTS.get(found.result, f"failed with result {found.result} of Ipopt")
        return found.z, {
            "x": found.z,
            "g": self.constraints(found.z),
            "obj_val": self.objective(found.z),
            "mult_g": found.multipliers,
            "mult_x_L": np.maximum(-found.at_bounds, 0.0),
            "mult_x_U": np.maximum(found.at_bounds, 0.0),
            "status": found.result,
            "status_msg": message.encode(),
        }

    def parse_free(self, free: Any) -> tuple[Any, ...]:
        """Return states, unknown inputs, unknown parameters and, if free, the time interval; see ``parse_free``."""
        c = self.collocator
        n, q = len(c.state_symbols), len(c.unknown_input_trajectories)
        return parse_free(self.layout.checked(free), n, q, c.num_collocation_nodes, self.layout.variable)

    def time_vector(self, solution: Any = None, start_time: float = 0.0) -> Vector:
        """Return the times of the nodes [s], (nodes,).

        Raises:
            ModelError: the time interval is free and there is no solution.
        """
        return self.layout.times(solution) + start_time

    def extract_values(self, free: Any, *variables: Any) -> Vector:
        """Return the values of free variables, one after the other.

        Raises:
            ModelError: a variable is not free.
        """
        z = self.layout.checked(free)
        return np.concatenate([z[self.layout.of(x)] for x in variables])

    def fill_free(self, free: Any, values: Any, *variables: Any) -> None:
        """Write the values of free variables, one after the other, to a free vector.

        Raises:
            ModelError: a variable is not free, or the number of values is wrong.
        """
        places = np.concatenate([self.layout.of(x) for x in variables])
        given = np.ravel(numbers(values, "the values are numbers"))
        if given.size not in (1, places.size):
            raise ModelError(f"fill_free got {given.size} values for {places.size} free variables; give as many")
        free[places] = given

    def create_linear_initial_guess(self, end_time: float = 1.0) -> Vector:
        """Return a guess: states are linear in time between instance constraints of the form a x(t1) + b.

        Inputs, parameters and the time interval are in the middle of their bounds, at the only finite bound, or zero.
        Without bounds, a free time interval is ``end_time`` divided by the number of intervals.
        """
        bounds = self.lower_bound, self.upper_bound
        return linear_guess(self.layout, bounds, self.collocator, number(end_time, "end_time", "seconds"))

    def check_bounds_conflict(self, free: Any) -> None:
        """Check that a free vector satisfies the bounds.

        Raises:
            ModelError: the message names the variables that do not.
        """
        z = self.layout.checked(free)
        wrong = (z < self.lower_bound) | (z > self.upper_bound)
        names = [str(x) for x, places in self.layout.places.items() if wrong[places].any()]
        if names:
            raise ModelError(f"the guess of {list_names(names)} is outside of its bounds; change one of them")

    def _read_bounds(self) -> Bounds:
        """Return the bounds of the free vector and of the constraints."""
        c = self.collocator
        least, most = np.full(self.num_free, -INFINITY), np.full(self.num_free, INFINITY)
        for x, given in _items(self.bounds, "bounds"):
            places = self.layout.of(x)
            least[places], most[places] = _limits(given, f"bounds of {x}", len(places))
        lower, upper = np.zeros(self.num_constraints), np.zeros(self.num_constraints)
        for k, given in _items(self.eom_bounds, "eom_bounds"):
            if k not in range(c.num_eom):
                raise ModelError(f"eom_bounds has {shown(k)}; give indices from 0 to {c.num_eom - 1}")
            rows = np.arange(c.num_collocation_nodes - 1) + k * (c.num_collocation_nodes - 1)
            lower[rows], upper[rows] = _limits(given, f"eom_bounds of {k}", len(rows))
        return Bounds(least, most, lower, upper)


class _IpoptProgram:
    """A problem as Ipopt calls it, see ``ipopt.SparseProgram``: without the zeros of opty's Jacobian."""

    def __init__(self, problem: OptyProblem) -> None:
        self._problem, self._rows = problem, problem.collocator.program
        owner: Any = getattr(problem.obj, "__self__", None)
        fixed = all(not x.args[0].args for x in problem.collocator.known_input_trajectories)
        self.exact = isinstance(owner, ObjectiveFunction) and owner.is_linear and fixed
        self._owner = owner
        motion, *others = self._rows.elements
        self._kept = np.tile(problem.collocator.varying, len(motion.variables))
        count = sum(x.slope_places[0].size for x in others)
        self._kept = np.append(self._kept, np.ones(count, dtype=bool))
        rows, columns = self._rows.jacobian_places
        self.jacobian_places = rows[self._kept], columns[self._kept]
        self.hessian_places = NO_PLACES
        if self.exact:
            own, of_objective = self._rows.hessian_places, owner.hessian_places
            self.hessian_places = np.append(own[0], of_objective[0]), np.append(own[1], of_objective[1])

    def objective(self, z: Vector) -> float:
        """Return the objective."""
        return self._problem.objective(z)

    def objective_gradient(self, z: Vector) -> Vector:
        """Return its gradient."""
        return self._problem.gradient(z)

    def constraints(self, z: Vector) -> Vector:
        """Return the constraints."""
        return self._rows.constraints(self._problem.collocator.at(z))

    def jacobian(self, z: Vector) -> Vector:
        """Return the entries of their Jacobian."""
        return self._rows.jacobian(self._problem.collocator.at(z))[self._kept]

    def hessian(self, z: Vector, weight: float, multipliers: Vector) -> Vector:
        """Return the entries of the Hessian of the Lagrangian."""
        z = self._problem.collocator.at(z)
        return np.append(self._rows.hessian(z, 0.0, multipliers), weight * self._owner.hessian(z))


def _of_free(problem: OptyProblem, f: Any, who: str) -> Callable[[Any], Any]:
    """Return a function of the free vector alone."""
    if not callable(f):
        raise ModelError(f"{who} is {shown(f)}; give a function of the free vector")
    try:
        given = inspect.signature(f).parameters.values()
        required = sum(p.default is p.empty and p.kind < p.VAR_POSITIONAL for p in given)
    except (TypeError, ValueError):  # a builtin without a signature
        required = 1
    if required > 2:
        raise ModelError(f"{who} takes {required} arguments; give a function of the free vector")
    return (lambda free: f(problem, free)) if required == 2 else f


def _items(given: Any, who: str) -> list[tuple[Any, Any]]:
    if given is not None and not isinstance(given, Mapping):
        raise ModelError(f"{who} is {shown(given)}; give a dict to pairs (lower, upper)")
    return list((given or {}).items())


def _limits(given: Any, who: str, count: int) -> tuple[Any, Any]:
    """Return lower and upper limits, numbers or arrays."""
    try:
        lower, upper = (numbers(x, f"{who} are numbers") for x in given)
    except (TypeError, ValueError):
        raise ModelError(f"{who} is {shown(given)}; give a pair of numbers (lower, upper)") from None
    for x in (lower, upper):
        if np.shape(x) not in ((), (count,)):
            raise ModelError(f"{who} has a limit of shape {np.shape(x)}; give a number or {count} numbers")
    if (np.asarray(lower) > upper).any():
        raise ModelError(f"{who}: the lower limit {lower} is above the upper limit {upper}; exchange them")
    return lower, upper


def _of_length(given: Any, count: int, who: str) -> Vector:
    """Return multipliers; zeros if none are given."""
    found = np.asarray(given, dtype=float)
    if not found.size:
        return np.zeros(count)
    if found.shape != (count,):
        raise ModelError(f"{who} has the shape {found.shape}; give {count} numbers")
    return found
