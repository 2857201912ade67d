"""PyDy's compiled right-hand side of the equations that SymPy's KanesMethod has derived."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.toolchain import PeerMissingError


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


def right_hand_side(method: Any, efforts: Any, numbers: dict[Any, float]) -> Callable[[Any, Any], Any]:
    """Compiles PyDy's right-hand side: f(x, efforts) -> dx/dt with x = (q, u); `require_pydy` first.

    Args:
        method, efforts, numbers: what `sympy_arms.kanes_method` returns.
    """
    from pydy.codegen.ode_function_generators import generate_ode_function

    function = generate_ode_function(
        method.forcing_full,
        method.q,
        method.u,
        list(numbers),
        mass_matrix=method.mass_matrix_full,
        specifieds=efforts or None,
        generator="cython",
    )
    values = np.array(list(numbers.values()))
    return lambda x, tau: np.array(function(x, 0.0, *([tau] if efforts else []), values))
