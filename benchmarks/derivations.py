"""What is derived by kane and by SymPy alike, and how their coordinates correspond."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import kane
from benchmarks.peers import sympy_arms, sympy_pendulum
from benchmarks.robots import PANDA, STANFORD, Robot
from kane.library import n_link_pendulum, n_link_pendulum_to_vertical, stanford_arm

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Derivation:
    """One mechanism, described to both.

    Attributes:
        title: for the first column.
        model: described to kane.
        method: SymPy's KanesMethod with its equations formed; the symbols of the efforts; the values of the others.
        same: T with q_SymPy = T q_kane, of shape (n, n), from the names of kane's coordinates; likewise for u.
        batches: runs of every side, at most.
        quick: whether a quick run covers it.
    """

    title: str
    model: Callable[[], kane.Model]
    method: Callable[[], tuple[Any, Any, dict[Any, float]]]
    same: Callable[[list[str]], Array]
    batches: int = 5
    quick: bool = True


def _pendulum(n: int, *, relative: bool = False, **options: Any) -> Derivation:
    angles = "to the link before" if relative else "to the vertical"
    return Derivation(
        title=f"{n}-link pendulum, angles {angles}",
        model=lambda: (n_link_pendulum if relative else n_link_pendulum_to_vertical)(n),
        method=lambda: sympy_pendulum.kanes_method(n, relative=relative),
        same=lambda names: np.eye(len(names)),
        **options,
    )


def _arm(title: str, model: Callable[[], kane.Model], peer: Robot, **options: Any) -> Derivation:
    def same(names: list[str]) -> Array:
        return np.array([[float(link.name == name) for name in names] for link in peer.numbers().links])

    return Derivation(title, model, lambda: sympy_arms.kanes_method(peer.numbers()), same, **options)


DERIVATIONS: dict[str, Derivation] = {
    "stanford": _arm("Stanford Arm", stanford_arm, STANFORD),
    "pendulum-5": _pendulum(5),
    "pendulum-10": _pendulum(10, quick=False),
    "pendulum-20": _pendulum(20, batches=3, quick=False),
    "pendulum-5-relative": _pendulum(5, relative=True),
    "pendulum-10-relative": _pendulum(10, relative=True, batches=3, quick=False),
    "panda": _arm("Panda 7R", PANDA.model, PANDA, batches=3, quick=False),
}
