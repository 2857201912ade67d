"""Linear system of small motions: matrices, eigenvalues and mode shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kane.analysis.small_motions import SmallMotions
from kane.array_types import Array
from kane.errors import ModelError
from kane.expression.number_arguments import words
from kane.files.scipy import load_scipy
from kane.model.named_vector import index_of_name

# Relative size of entries of A, compared with the largest, below which a state does not influence another.
NO_INFLUENCE_TOLERANCE = 1e-9


class Mode(NamedTuple):
    """Motion x = Re(shape e^(eigenvalue t)).

    Attributes:
        eigenvalue: [1/s].
        shape: complex amplitude of each state; the largest is one.
    """

    eigenvalue: complex
    shape: NDArray[np.complex128]

    @property
    def frequency(self) -> float:
        """|Im eigenvalue| / 2 pi [Hz]."""
        return abs(self.eigenvalue.imag) / (2.0 * np.pi)

    @property
    def damping(self) -> float:
        """Damping ratio -Re eigenvalue / |eigenvalue|: 1 for decay without oscillation, negative for growth."""
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size if size else 0.0


@dataclass(frozen=True, eq=False)
class Linearization:
    """dx/dt = A x + B v, y = C x + D v for small deviations x, v, y from a motion; prints as a table.

    The states x are the free displacements, then the deviations of the independent speeds. A displacement has the name
    of a coordinate whose rate is a speed. Otherwise, for example for a quaternion, it is the small motion along one of
    the joint's own speeds, "NAME dt".

    Attributes:
        A, B, C, D: (states, states), (states, inputs), (outputs, states), (outputs, inputs).
        states, inputs, outputs: names.
        q, u, at_inputs, t: reference motion at time t [s].
        residual: largest |udot| [rad/s^2 or m/s^2] or |d udot/dt| [rad/s^3 or m/s^3] of the reference motion; round-off
            for a true equilibrium or steady motion.
        about: small motions about the reference, used by ``kane.mode_motion``.
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
        """Return the eigenvalues of A [1/s], in order of decreasing real part."""
        found = np.linalg.eigvals(self.A).astype(complex)
        return found[np.lexsort((found.imag, -found.real))]

    def modes(self) -> list[Mode]:
        """Return eigenvalues and mode shapes; of a conjugate pair, the one with positive imaginary part."""
        values, vectors = np.linalg.eig(self.A)
        found = []
        for k in np.lexsort((values.imag, -values.real)):
            if values[k].imag >= 0.0:
                shape = vectors[:, k].astype(complex)
                found.append(Mode(complex(values[k]), shape / shape[np.argmax(np.abs(shape))]))
        return found

    def part(self, states: Sequence[str]) -> Linearization:
        """Return the subsystem of some states, which must not depend on the other states.

        It omits, for example, coordinates that nothing depends on. Outputs that depend on omitted states are omitted
        too.

        Raises:
            ModelError: a name is unknown, or a kept state depends on an omitted one.
        """
        kept = [index_of_name(name, self.states, "state") for name in words(states, "states", "names")]
        left = [i for i in range(len(self.states)) if i not in kept]
        size = NO_INFLUENCE_TOLERANCE * max(1.0, float(np.abs(self.A).max(initial=0.0)))
        for i in left:
            driven = [j for j in kept if abs(self.A[j, i]) > size]
            if driven:
                raise ModelError(
                    f"{self.states[driven[0]]!r} depends on {self.states[i]!r}, which is left out; add it to the names"
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
        """Return the system as ``scipy.signal.StateSpace``."""
        return load_scipy("signal").StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """Return the system as python-control's ``control.ss``, with its names.

        Raises:
            ModelError: python-control is not installed.
        """
        from kane.analysis.linear.control import state_space

        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        return state_space((self.A, self.B, self.C, self.D), names)

    def __repr__(self) -> str:
        values = ", ".join(f"{x:.6g}" for x in self.eigenvalues())
        rows = [
            f"states: {', '.join(self.states)}",
            f"inputs: {', '.join(self.inputs) or 'none'}; outputs: {', '.join(self.outputs)}",
            f"eigenvalues: {values}",
            f"residual of the motion: {self.residual:.1e}",
        ]
        return "\n".join(rows)
