"""A linear system of small motions: its matrices, eigenvalues and modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.small_motions import SmallMotions
from kane.errors import ModelError
from kane.expression.arguments import words
from kane.model.checks import near

Array = NDArray[np.float64]
# States whose influence on the others is below this share of the largest entry of A do not drive them.
NEGLIGIBLE = 1e-9


class Mode(NamedTuple):
    """A motion x = Re(shape e^(eigenvalue t)).

    Attributes:
        eigenvalue: [1/s].
        shape: by state, its largest entry one.
    """

    eigenvalue: complex
    shape: NDArray[np.complex128]

    @property
    def frequency(self) -> float:
        """|Im eigenvalue| / 2 pi [Hz]."""
        return abs(self.eigenvalue.imag) / (2.0 * np.pi)

    @property
    def damping(self) -> float:
        """-Re eigenvalue / |eigenvalue|: 1 for what dies out without swinging, negative for what grows."""
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size if size else 0.0


@dataclass(frozen=True, eq=False)
class Linearization:
    """dx/dt = A x + B v, y = C x + D v of small deviations x, v, y from a motion; prints as a table.

    x are the free displacements, then the deviations of the independent speeds. A displacement is the change of a
    coordinate whose rate is a speed, and carries its name; else, for a quaternion say, it is the small motion along one
    of the joint's own speeds, "NAME dt".

    Attributes:
        A, B, C, D: (states, states), (states, inputs), (outputs, states), (outputs, inputs).
        states, inputs, outputs: names.
        q, u, at_inputs, t: the motion about which it was made, at this time.
        residual: largest acceleration there, and largest rate of one [rad/s^2 or m/s^2, and per second]; of a true
            equilibrium or steady motion both are round-off.
        about: small motions about it, by which modes are shown (``kane.mode_motion``).
    """

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    q: Array
    u: Array
    at_inputs: Array
    t: float
    residual: float
    about: SmallMotions

    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of A, those of the largest real part first [1/s]."""
        found = np.linalg.eigvals(self.A).astype(complex)
        return found[np.lexsort((found.imag, -found.real))]

    def modes(self) -> list[Mode]:
        """Eigenvalues with their shapes; of a conjugate pair the one with positive imaginary part."""
        values, vectors = np.linalg.eig(self.A)
        found = []
        for k in np.lexsort((values.imag, -values.real)):
            if values[k].imag >= 0.0:
                shape = vectors[:, k].astype(complex)
                found.append(Mode(complex(values[k]), shape / shape[np.argmax(np.abs(shape))]))
        return found

    def part(self, states: Sequence[str]) -> Linearization:
        """The system of some of the states, which the others do not drive: without coordinates that nothing depends on.

        Raises:
            ModelError: unknown names, or a state that is left out drives one that is kept.
        """
        kept = [self._place(name) for name in words(states, "states", "names")]
        left = [i for i in range(len(self.states)) if i not in kept]
        size = NEGLIGIBLE * max(1.0, float(np.abs(self.A).max(initial=0.0)))
        for i in left:
            driven = [j for j in kept if abs(self.A[j, i]) > size]
            if driven:
                raise ModelError(
                    f"{self.states[driven[0]]!r} depends on {self.states[i]!r}, which is left out; name it too"
                )
        free = [k for k, row in enumerate(self.C) if np.abs(row[left]).max(initial=0.0) <= size]
        return replace(
            self,
            A=self.A[np.ix_(kept, kept)],
            B=self.B[kept],
            C=self.C[np.ix_(free, kept)],
            D=self.D[free],
            states=tuple(self.states[i] for i in kept),
            outputs=tuple(self.outputs[k] for k in free),
        )

    def to_scipy(self) -> Any:
        """The system as ``scipy.signal.StateSpace``."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """The system as python-control's ``control.ss``, with its names.

        Raises:
            ModelError: python-control is not installed.
        """
        from kane.analysis.linear.control import state_space

        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return state_space((self.A, self.B, self.C, self.D), names)

    def _place(self, name: str) -> int:
        if name not in self.states:
            raise ModelError(f"there is no state {name!r}; {near(name, list(self.states))}")
        return self.states.index(name)

    def __repr__(self) -> str:
        values = ", ".join(f"{x:.6g}" for x in self.eigenvalues())
        rows = [
            f"states: {', '.join(self.states)}",
            f"inputs: {', '.join(self.inputs) or 'none'}; outputs: {', '.join(self.outputs)}",
            f"eigenvalues: {values}",
            f"residual of the motion: {self.residual:.1e}",
        ]
        return "\n".join(rows)
