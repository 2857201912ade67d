"""Stiff integrator: backward differentiation formulas of CVODE, by scikit-sundae (extra "stiff")."""

from __future__ import annotations

import ctypes
import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kane.codegen.jit.compiled import CompiledFunction
from kane.deferred import dataclass
from kane.engine.memory.loop_arguments import Vector
from kane.engine.memory.run_codes import RHS
from kane.engine.memory.run_memory import counts_of, notes_of
from kane.engine.step.state_equation import interpolate
from kane.engine.step.step_ends import begin_external, end_external, guard_external
from kane.engine.step.transitions import MOST_CUTS, is_full
from kane.engine.step.zeno import is_zeno, shortest_step
from kane.errors import ModelError, pip_install, shown
from kane.expression.number_arguments import positive
from kane.simulation.inputs.closed_loop import with_laws
from kane.simulation.integrator_state import IntegratorState, Status
from kane.simulation.integrators.integrator import Integrator
from kane.simulation.mode_table import stage_in_force

_PROTOTYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)
# The formulas have orders up to five: five values and the first one determine the polynomial of a step.
BDF_NODES = np.arange(1, 6) / 5.0
# Number of states from which a sparse linear solver is used.
SPARSE_FROM = 30
# The solver restarts from the projected state if its state violates the constraints by this many tolerances.
ASTRAY = 100.0


@dataclass(frozen=True)
class BDF(Integrator):
    """Backward differentiation formulas of orders one to five, with control of step size and order.

    For stiff motions: strong dampers, stiff contacts, fast controllers. The Jacobian is exact, derived symbolically,
    and sparse. In two cases it is only approximate, which costs steps but no accuracy. With numerically embedded
    constraints CVODE computes it by differences; and derivatives of inputs that are Python functions are omitted. Calls
    pass through Python, so that RK5 and RK8 are faster for motions that are not stiff.

    Records have normalized quaternions and satisfy the constraints; between records both hold within the tolerance. The
    method restarts if this error exceeds a hundred tolerances, or if other speeds become independent.

    Attributes:
        rtol, atol: the root mean square over components of error / (atol + rtol |x|) stays below one in each step.
        max_step: longest step [s].

    Raises:
        ModelError: a tolerance or step is not positive, or scikit-sundae is not installed.

    Source: Hindmarsh et al., SUNDIALS, ACM TOMS 31 (2005) 363.
    """

    rtol: float = 1e-6
    atol: float = 1e-8
    max_step: float = math.inf

    order: ClassVar[int] = 5
    fixed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for word in ("rtol", "atol", "max_step"):
            object.__setattr__(self, word, positive(getattr(self, word), f"{word} of BDF"))
        if self.rtol < 1e-14:
            raise ModelError(
                f"rtol = {shown(self.rtol)} of BDF is below the rounding of double precision; give 1e-14 or more"
            )

    @property
    def settings(self) -> dict[str, float]:
        return {"rtol": float(self.rtol), "atol": float(self.atol)}

    def advance(self, integration: IntegratorState, steps: int) -> Status:
        integration.make_room(steps, len(BDF_NODES))
        store, course = integration.store, integration.course
        for _ in range(steps):
            if integration.finished or is_full(integration.system, store):
                break
            t, stop = integration.time, float(course.stops[counts_of(store).stop[0]])
            if not counts_of(store).slope_known[0]:
                status = Status(
                    begin_external(integration.system, integration.tables, integration.watch, store, 0.5 * (t + stop))
                )
                if status is not Status.GOING:
                    return status
                integration.memory = _Session.in_mode(self, integration)
            status, t1 = integration.memory.step(stop)
            if status is not Status.GOING:
                return status
            t1, guarded = integration.memory.cut(t, t1)
            if math.isnan(t1):
                return Status.NO_GUARD
            if guarded and is_zeno(integration.course, store, len(integration.system.automaton.guards.out)):
                return Status.ENDLESS
            end_external(
                integration.system,
                integration.tables,
                course,
                integration.watch,
                store,
                BDF_INTERPOLANT,
                (t, t1 - t, t1),
            )
            at_stop = t1 == stop and t1 != course.until
            counts_of(store).stop[0] += at_stop
            jumps = at_stop and any(table.column.size for table in integration.tables[:2])
            counts_of(store).slope_known[0] = not (integration.memory.is_astray() or jumps or guarded)
        return Status.GOING


class _Session:
    """Run of CVODE in one mode: its solver, and the native functions that it calls."""

    @classmethod
    def in_mode(cls, settings: BDF, integration: IntegratorState) -> _Session:
        """Return the session of the active mode, restarted at the current state of the run."""
        known = integration.memory
        same = known is not None and known.key == integration.mode.key[0] and known.stages is integration.system.stages
        session = known if same else cls(settings, integration)
        session._solver.init_step(integration.time, integration.x.copy())
        return session

    def __init__(self, settings: BDF, integration: IntegratorState) -> None:
        self._integration, self._settings = integration, settings
        self._switches = float(integration.system.projection.notes[-1:].sum())
        self.key, self.stages = int(integration.mode.key[0]), integration.system.stages
        rhs = integration.problem.rhs
        self._call = _caller(
            int(integration.mode.addresses[RHS]),
            integration,
            len(integration.x),
            stage_in_force(integration.system, RHS, rhs),
        )
        options: dict[str, Any] = {"rtol": settings.rtol, "atol": settings.atol}
        if math.isfinite(settings.max_step):
            options["max_step"] = settings.max_step
        if rhs.program:
            options |= self._exact_jacobian()
        with warnings.catch_warnings():  # the solver warns of a sparsity pattern, because the Jacobian is exact
            warnings.filterwarnings("ignore", message="Custom sparse Jacobian")
            self._solver = _solver()(self._rates, **options)

    def _exact_jacobian(self) -> dict[str, Any]:
        """Return the CVODE options for the exact Jacobian."""
        integration, n = self._integration, len(self._integration.x)
        self._jacobian, places = _jacobian(integration)
        rows, columns, self._chosen = places.T
        stage = self._jacobian.stage(integration.problem.parameters)
        self._slopes = _caller(self._jacobian.address, integration, self._jacobian.n_out, stage, self._jacobian.n_work)
        self._places = (rows, columns)
        if n < SPARSE_FROM:
            return {"jacfn": self._fill_dense}
        pattern = np.zeros((n, n))
        pattern[rows, columns] = 1.0
        return {"linsolver": "sparse", "sparsity": pattern, "jacfn": self._fill_sparse}

    def is_astray(self) -> bool:
        """Check whether the solver has left the constraints, or projection selected other independent speeds."""
        projection, x, settings = self._integration.system.projection, self._integration.x, self._settings
        if not projection.notes.size:
            return False
        notes = notes_of(projection)
        tolerance = settings.atol + settings.rtol * max(1.0, float(np.abs(x).max()))
        switched, self._switches = notes.switches[0] != self._switches, float(notes.switches[0])
        return bool(switched or max(notes.configuration[0], notes.motion[0]) > ASTRAY * tolerance)

    def step(self, stop: float) -> tuple[Status, float]:
        """Take one step towards a stop; store y, and the polynomial of the step as increments at BDF_NODES."""
        store, t = self._integration.store, self._integration.time
        try:
            done = self._solver.step(stop, method="onestep", tstop=stop)
        except RuntimeError:
            return Status.STUCK, t
        t1 = float(done.t)
        if not done.success or t1 == t:
            return Status.STUCK, t
        if not np.isfinite(done.y).all():
            return Status.NOT_FINITE, t
        store.y[:] = done.y
        self._look(t, t1)
        return Status.GOING, t1

    def _look(self, t: float, t1: float) -> Vector:
        """Store the polynomial from t to t1 as increments at BDF_NODES; return the state at t1."""
        store = self._integration.store
        for row, node in zip(store.slopes, BDF_NODES, strict=False):
            # Evaluate the end of the step last, because the solver continues from the last evaluation.
            found = self._solver.step(t1 if node == 1.0 else t + node * (t1 - t)).y
            row[:] = (found - store.x) / (t1 - t)
        return np.asarray(found)

    def cut(self, t: float, t1: float) -> tuple[float, bool]:
        """Return the end of a step at the first negative guard, or else its own end, and whether a guard was negative.

        The end is NaN if a guard is NaN.
        """
        integration, counts = self._integration, self._integration.counts
        if not len(integration.system.automaton.guards.out):
            return t1, False
        end, found = t1, False
        for _ in range(MOST_CUTS):  # sample the shortened step again, because its samples are closer together
            part = guard_external(
                integration.system, integration.tables, integration.store, BDF_INTERPOLANT, (t, end - t, end)
            )
            if part > 1.0:
                break
            found, length = True, part * abs(end - t) + shortest_step(integration.course, counts)
            if not length < abs(end - t):
                end = end if part == part else math.nan
                break
            end = t + math.copysign(length, end - t)
            integration.store.y[:] = self._look(t, end)
        counts.missed[0] = counts.missed[0] + 1 if found else 0
        return end, found

    def _rates(self, t: float, y: Vector, yp: Vector) -> None:
        self._integration.counts.evaluations[0] += 1
        yp[:] = self._call(t, y)

    def _fill_dense(self, t: float, y: Vector, yp: Vector, jacobian: Any) -> None:
        jacobian[self._places] = self._slopes(t, y)[self._chosen]

    def _fill_sparse(self, t: float, y: Vector, yp: Vector, jacobian: Any) -> None:
        jacobian[:] = self._slopes(t, y)[self._chosen]


def _caller(
    address: int, integration: IntegratorState, n_out: int, stage: Vector, n_work: int | None = None
) -> Callable[[float, Vector], Vector]:
    """Return a Python function of (t, x) that calls native code with the inputs of the run."""
    system = integration.system
    work = system.work if n_work is None else np.zeros(n_work)
    function, out, interpolated = _PROTOTYPE(address), np.empty(n_out), integration.tables[1]

    def call(t: float, x: Vector) -> Vector:
        interpolate(interpolated, t, system.inputs)
        system.state[0], system.state[1:] = t, x
        function(*(a.ctypes.data for a in (system.state, system.inputs, stage, out, work)))
        return out

    return call


def _jacobian(integration: IntegratorState) -> tuple[CompiledFunction, NDArray[np.intp]]:
    """Return a native program of df/dx, and (row, column, output) of each entry in CVODE's order."""
    dyn, laws = integration.problem.dyn, integration.problem.plan.expressions
    d = (with_laws(dyn, laws) if laws else dyn).derivatives("rhs", wrt=("coordinates", "u"))
    assert d.program is not None
    places = np.array([(i, j, len(d.outputs) + k) for k, (i, j) in enumerate(d.places)], dtype=np.intp).reshape(-1, 3)
    return dyn.compile(d.program), places[np.lexsort(places.T[:2])]


def _solver() -> Any:
    try:
        from sksundae.cvode import CVODE
    except ImportError:
        raise ModelError(f"BDF needs the package scikit-sundae; {pip_install('stiff')}") from None
    return CVODE


def _lagrange() -> Any:
    """Return the interpolant of ``state.between`` through the start and the values at BDF_NODES."""
    powers = np.vander(BDF_NODES, len(BDF_NODES) + 1, increasing=True)[:, 1:]
    return np.ascontiguousarray(np.linalg.inv(powers).T)


BDF_INTERPOLANT = _lagrange()
