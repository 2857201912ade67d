"""``ConstraintCollocator``: constraints of a direct collocation and their sparse Jacobian, with opty's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.optimal_control.element import ProgramElement
from kane.analysis.optimal_control.nonlinear_program import ElementProgram
from kane.array_types import Array
from kane.compat.opty.free_vector import FreeLayout
from kane.compat.opty.instance_constraints import instance_element
from kane.compat.opty.node_equations import BACKWARD_EULER, NodeEquations, checked_mesh, slope_key
from kane.compat.opty.opty_symbols import OptySymbols, by_name, flat_expressions, plain, require_no_equation
from kane.engine.memory.loop_arguments import Indices, Vector
from kane.errors import ModelError, UnknownNameError, shown
from kane.expression.number_arguments import number, numbers
from kane.model.checks import require_known

# Names of opty's collocator that this one lacks, because it holds no discretized SymPy expressions.
LACKING = ("discrete_eom", "discrete_specified_symbols", "discrete_state_symbols")


class ConstraintCollocator:
    """Constraints of a direct collocation as functions of the vector of free variables.

        free = [states (n N), unknown inputs (q N), unknown parameters (r), time interval (0 or 1)]
        constraints = [equations of motion (M (N - 1)), instance constraints (o)]

    Each state and input has its N node values in a row; each equation of motion has its N - 1 rows. The Jacobian has
    an entry for each equation and each unknown of its interval, as opty's.

    Attributes:
        eom: the given equations of motion.
        state_symbols, time_symbol, time_interval_symbol, integration_method, instance_constraints: as given.
        state_derivative_symbols: time derivatives of the states.
        unknown_input_trajectories, known_input_trajectories, input_trajectories: functions that are no states.
        unknown_parameters, known_parameters, parameters: symbols.
        known_parameter_map, known_trajectory_map: as given.
        num_collocation_nodes, num_states, num_eom, num_instance_constraints, num_free, num_constraints: lengths.
        program: compiled constraints.
        layout: places of the free variables.
    """

    def __init__(
        self,
        equations_of_motion: Any,
        state_symbols: Any,
        num_collocation_nodes: int,
        node_time_interval: Any,
        known_parameter_map: Mapping[Any, float] | None = None,
        known_trajectory_map: Mapping[Any, Any] | None = None,
        instance_constraints: Any = None,
        time_symbol: Any = None,
        tmp_dir: Any = None,
        integration_method: str = BACKWARD_EULER,
        parallel: bool = False,
        show_compile_output: bool = False,
        backend: str = "cython",
    ) -> None:
        """Read the equations of motion.

        Args:
            equations_of_motion: SymPy expressions that vanish, of states, their first derivatives, trajectories and
                parameters.
            state_symbols: functions of time.
            num_collocation_nodes: number N of nodes.
            node_time_interval: time between nodes [s]; a symbol makes it free.
            known_parameter_map: numbers by symbol; other parameters are free.
            known_trajectory_map: samples at the nodes, or functions of the free vector that return them, by function of
                time; other trajectories are free. A function r(x(t)) of a state needs its slope r(x(t)).diff(x(t)) too.
            instance_constraints: expressions of states at given times that vanish, such as x(0) - 1.
            time_symbol: symbol of time; default is the argument of the first state.
            integration_method: "backward euler" or "midpoint".
            tmp_dir, parallel, show_compile_output, backend: accepted and ignored, because kane compiles by LLVM.

        Raises:
            ModelError: an argument is invalid; the message names it.
        """
        self.num_collocation_nodes, node_time_interval = checked_mesh(
            num_collocation_nodes, node_time_interval, integration_method
        )
        self.integration_method = integration_method
        self.node_time_interval = self.time_interval_symbol = node_time_interval
        symbols = OptySymbols(state_symbols, time_symbol, node_time_interval)
        self.eom = equations_of_motion
        equations = self._read(symbols)
        self.known_parameter_map = _numbers_by_symbol(known_parameter_map)
        self.known_trajectory_map = {} if known_trajectory_map is None else dict(known_trajectory_map)
        self._sort(symbols)
        self.layout = FreeLayout(
            self.num_collocation_nodes, self.state_symbols, self.unknown_input_trajectories, self.unknown_parameters,
            node_time_interval,
        )  # fmt: skip
        self.num_free = self.layout.length
        self._equations = NodeEquations(
            symbols, equations, integration_method, self.unknown_input_trajectories, self.known_input_trajectories,
            self.unknown_parameters, self.known_parameters,
        )  # fmt: skip
        self._check_known_trajectories()
        self._set_up(symbols, instance_constraints)

    def __getattr__(self, name: str) -> Any:
        if name.endswith(LACKING):
            raise UnknownNameError(
                f"the collocator of kane.compat.opty has no {name!r}, because it discretizes expressions of kane; read "
                "eom, state_symbols and input_trajectories"
            )
        raise UnknownNameError(f"the collocator of kane.compat.opty has no {name!r}")

    def _read(self, symbols: OptySymbols) -> list[Any]:
        """Return the equations of motion as expressions of the leaves of the symbols."""
        given = flat_expressions(self.eom, "equations_of_motion")
        if not given:
            raise ModelError("equations_of_motion is empty; give expressions that vanish")
        for k, x in enumerate(given):
            require_no_equation(x, f"equation of motion {k}")
        self.time_symbol, self.state_symbols = symbols.time, symbols.states
        self.state_derivative_symbols = tuple(x.diff(symbols.time) for x in symbols.states)
        found = [symbols.read(x, f"equation of motion {k}") for k, x in enumerate(given)]
        self.num_eom, self.num_states = len(found), len(self.state_symbols)
        return found

    def _sort(self, symbols: OptySymbols) -> None:
        """Divide trajectories and parameters into known and unknown ones."""
        known = [x for x in self.known_trajectory_map if x.__class__.__name__ != "Derivative"]
        for x in known:
            require_known(str(x), [str(y) for y in symbols.inputs], "trajectory of the equations of motion")
        given = set(known)
        self.known_input_trajectories = tuple(x for x in known if x in symbols.inputs)
        self.unknown_input_trajectories = by_name(x for x in symbols.inputs if x not in given)
        for x in self.unknown_input_trajectories:
            if slope_key(x):
                raise ModelError(f"{x} is a function of a state; give it and {slope_key(x)[0]} in known_trajectory_map")
        self.input_trajectories = self.known_input_trajectories + self.unknown_input_trajectories
        for p in self.known_parameter_map:
            symbols.read(p, "known_parameter_map")
        self.known_parameters = tuple(self.known_parameter_map)
        self.unknown_parameters = by_name(p for p in symbols.parameters if p not in self.known_parameter_map)
        self.parameters = self.known_parameters + self.unknown_parameters

    def _set_up(self, symbols: OptySymbols, instance_constraints: Any) -> None:
        """Make the compiled constraints."""
        intervals, functions = self.num_collocation_nodes - 1, self._equations.functions
        rows = np.arange(self.num_eom) * intervals + np.arange(intervals)[:, None]
        known = [self.known_parameter_map[p] for p in self.known_parameters]
        if self.time_interval_symbol not in symbols.leaves:
            known.append(self.time_interval_symbol)
        self._data = np.zeros((intervals, len(functions.data)))
        variables = self._equations.variables(self.num_collocation_nodes)
        elements = [ProgramElement(functions, variables, rows, self._data, np.array(known))]
        first = self.num_eom * intervals
        self.instance_constraints = instance_constraints
        given = [] if instance_constraints is None else flat_expressions(instance_constraints, "instance_constraints")
        self.num_instance_constraints = len(given)
        if given:
            elements.append(instance_element(self.layout, symbols, given, (self.known_parameter_map, first)))
        self.num_constraints = first + len(given)
        self.program = ElementProgram(elements, self.num_constraints, self.num_free)
        self._varying = bool(self._data.size)

    def _check_known_trajectories(self) -> None:
        """Raise ModelError unless every known trajectory has one sample for each node."""
        for x in self.known_input_trajectories:
            for key in (x, *slope_key(x)[:1]):
                if key not in self.known_trajectory_map:
                    raise ModelError(f"known_trajectory_map has {x}, a function of a state; give {key} too")
                self.samples(key, np.ones(self.num_free))

    def samples(self, x: Any, free: Vector) -> Vector:
        """Return the samples of a known trajectory at the nodes, (nodes,).

        Raises:
            ModelError: it has another length.
        """
        given = self.known_trajectory_map[x]
        found = np.asarray(numbers(given(free) if callable(given) else given, f"the samples of {x} are numbers"))
        if found.shape != (self.num_collocation_nodes,):
            raise ModelError(
                f"known_trajectory_map of {x} has samples of shape {found.shape}; give {self.num_collocation_nodes}, "
                "one for each node"
            )
        return found

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Whether entries of the Jacobian of an interval are no zeros, (entries,)."""
        return self._equations.functions.varying

    def at(self, free: Any) -> Vector:
        """Return the free vector as an array, after the known trajectories have been evaluated at it.

        Raises:
            ModelError: its length is not ``num_free``.
        """
        z = self.layout.checked(free)
        if self._varying:
            samples: dict[Any, Array] = dict(zip(self.state_symbols, self.layout.states(z), strict=True))
            for x in self.known_input_trajectories:
                samples |= {key: self.samples(key, z) for key in (x, *slope_key(x)[:1])}
            self._data[:] = self._equations.data(samples, self.num_collocation_nodes)
        return z

    def generate_constraint_function(self) -> Callable[[Any], Vector]:
        """Return the function from the free vector to the constraints, (num_constraints,)."""
        motion, *others = self.program.elements

        def constraint_function(free: Any) -> Vector:
            z = self.at(free)
            return np.concatenate([motion.values(z).T.ravel(), *(x.values(z).ravel() for x in others)])

        return constraint_function

    def generate_jacobian_function(self) -> Callable[[Any], Vector]:
        """Return the function from the free vector to the entries of the Jacobian, in the order of opty's."""
        motion, *others = self.program.elements
        native, shape = motion.functions.slopes, motion.slope_places[0].shape
        constants, first = native.stage(motion.constants), shape[0] * shape[1]
        length = len(self.program.jacobian_places[0])

        def jacobian_function(free: Any) -> Vector:
            z, found = self.at(free), np.empty(length)  # one array: a copy would take longer than the entries
            native(z[motion.variables], motion.data, constants, out=found[:first].reshape(shape))
            for x in others:
                found[first:] = x.slopes(z).ravel()
            return found

        return jacobian_function

    def jacobian_indices(self) -> tuple[Indices, Indices]:
        """Return row and column of each entry of the Jacobian."""
        return self.program.jacobian_places


def _numbers_by_symbol(given: Any) -> dict[Any, float]:
    """Return the values of known parameters."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ModelError(f"known_parameter_map is {shown(given)}; give a dict from symbols to numbers")
    return {p: number(plain(x), f"known_parameter_map of {p}") for p, x in given.items()}
