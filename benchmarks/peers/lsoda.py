"""scipy's solvers on right-hand sides in Python: LSODA (`odeint`) as a contestant, DOP853 as the reference of all."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.pinocchio_models import pinocchio
from benchmarks.peers.toolchain import PeerMissingError

Array = npt.NDArray[np.float64]
Slope = Callable[[Array], Any]  # x = (q, v) -> dx/dt
MOST_STEPS = 1_000_000


def damped_aba(model: Any, damping: float) -> Slope:
    """dx/dt by Pinocchio's aba called from Python, motors off, every joint damped [N m s/rad]; joints without q' != v.

    Raises:
        PeerMissingError: Pinocchio is not installed.
    """
    pin, data, n = pinocchio(), model.createData(), model.nv

    def slope(x: Array) -> Array:
        v = x[n:]
        return np.concatenate([v, pin.aba(model, data, x[:n], v, -damping * v)])

    return slope


def odeint(slope: Slope, x: Array, span: float, tolerance: float) -> Array:
    """The state after ``span`` seconds by LSODA with rtol = atol = tolerance.

    Raises:
        PeerMissingError: scipy is not installed.
    """
    try:
        from scipy.integrate import odeint as lsoda
    except ImportError as error:
        raise PeerMissingError("scipy is not installed (pip install '.[bench]')") from error
    times = np.array([0.0, span])
    found = lsoda(lambda x, t: slope(x), x, times, rtol=tolerance, atol=tolerance, mxstep=MOST_STEPS)
    return np.asarray(found[-1])


def reference(slope: Slope, x: Array, span: float) -> Array:
    """The state after ``span`` seconds to all digits that double precision gives, by Dormand & Prince's order 8.

    Raises:
        PeerMissingError: scipy is not installed.
    """
    try:
        from scipy.integrate import solve_ivp
    except ImportError as error:
        raise PeerMissingError("scipy is not installed (pip install '.[bench]')") from error
    done = solve_ivp(lambda t, x: slope(x), (0.0, span), x, method="DOP853", rtol=1e-13, atol=1e-15)
    return np.asarray(done.y[:, -1])
