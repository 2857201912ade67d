"""root_locus: eigenvalues as functions of a parameter, a speed or a gain, and the values at which stability changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.linear.linearization import Linearization
from kane.array_types import Array
from kane.engine.memory.loop_arguments import Matrix
from kane.errors import ModelError, shown
from kane.expression.number_arguments import numbers, takes, text, whole
from kane.files.scipy import load_scipy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Error of A relative to its norm: derivatives and least-squares solutions err by a few hundred units of round-off.
MATRIX_ERROR = 1e-13
# Relative singular value below which it counts as zero: ten times the error of A.
ZERO_SINGULAR_VALUE = 1e-12
# Two parameter values are equal if their distance, relative to that of two samples, is below this.
EQUAL_VALUE_TOLERANCE = 1e-12
# Distances from the crossing at which an eigenvalue is tested on both sides, relative to the distance of two samples.
TEST_DISTANCES = tuple(10.0**k for k in range(-11, -1))


@dataclass(frozen=True, eq=False)
class RootLocus:
    """Eigenvalues of a linear system as functions of a value.

    Attributes:
        name: name of the value, for plots.
        values: samples, (m,).
        eigenvalues: (m, states) [1/s]; each column is one eigenvalue followed over the samples.
        linearization: the given function of a value.
    """

    name: str
    values: Array
    eigenvalues: NDArray[np.complex128]
    linearization: Callable[[float], Any]

    def crossings(self, ignoring: int = 0) -> list[float]:
        """Return the values at which the motion becomes stable or unstable: the largest real part passes zero.

        Eigenvalues on the imaginary axis count as stable, within their errors: pairs of conservative systems, and zeros
        of coordinates without influence. A change is found if neighbouring samples differ in stability; two
        changes between neighbouring samples are missed.

        Args:
            ignoring: number of eigenvalues nearest to zero that are ignored.

        Raises:
            ModelError: ``ignoring`` is not a whole number >= 0.
        """
        whole(ignoring, "ignoring=", 0)
        values = [float(value) for value in self.values]
        return stability_changes(lambda value: _matrix(self.linearization, value), values, ignoring)

    def plot(self) -> Figure:
        """Plot real and imaginary parts over the value, and the paths in the complex plane."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.0, 4.0), layout="constrained")
        over, plane = figure.subplots(1, 2)
        for k, path in enumerate(self.eigenvalues.T):
            colour = f"C{k % 10}"
            over.plot(self.values, path.real, color=colour)
            over.plot(self.values, path.imag, color=colour, linewidth=0.7, linestyle="--")
            plane.plot(path.real, path.imag, color=colour)
            plane.plot(path[:1].real, path[:1].imag, "x", color=colour)
        over.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
        plane.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
        over.set(xlabel=self.name, ylabel="real (dashed: imaginary) part [1/s]")
        plane.set(xlabel="real part [1/s]", ylabel="imaginary part [1/s]", title=f"x: {self.name} = {self.values[0]:g}")
        return figure

    def __repr__(self) -> str:
        return (
            f"<RootLocus of {self.eigenvalues.shape[1]} eigenvalues over {self.name} from {self.values[0]:.6g} to "
            f"{self.values[-1]:.6g}>"
        )


def root_locus(
    linearization: Callable[[float], Linearization | Array], values: Any, *, name: str = "value"
) -> RootLocus:
    """Compute the eigenvalues of a linear system as functions of a value.

        def ride(v):
            return kane.linearize(dyn, q=upright, u={"x_dot": v, "rear_dot": -v / 0.3, "front_dot": -v / 0.35})

        locus = kane.root_locus(ride, np.linspace(0, 10, 101), name="v [m/s]")
        locus.crossings(), locus.plot()

    For a parameter use ``lambda L: kane.linearize(dyn, parameters={"L": L})``, for a gain ``lambda k: lin.A - k * lin.B
    @ K``.

    Args:
        linearization: function of a number that returns the linear system, or its matrix A.
        values: values of the number, (m,), in order.
        name: name of the value, for plots.

    Raises:
        ModelError: ``linearization`` is not a function of a number, there are fewer than two values, or the number of
            states changes.
    """
    if not takes(linearization, 1):
        raise ModelError(f"root_locus takes a function of a number, not {shown(linearization)}")
    given = numbers(values, "the values of a root locus must be numbers")
    if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all():
        raise ModelError(f"the values of a root locus have shape {given.shape}; give at least two finite numbers")
    paths: list[NDArray[np.complex128]] = []
    for value in given:
        found = _eigenvalues(linearization, float(value))
        if paths and len(found) != len(paths[0]):
            raise ModelError(
                f"there are {len(paths[0])} states at {given[0]:.6g} and {len(found)} at {value:.6g}; select the same "
                "states at all values (lin.part)"
            )
        paths.append(_followed(paths, found))
    return RootLocus(text(name, "name"), given, np.array(paths), linearization)


def _eigenvalues(linearization: Callable[[float], Any], value: float) -> NDArray[np.complex128]:
    """Return the eigenvalues at a value, in order of decreasing real part."""
    eigenvalues = np.linalg.eigvals(_matrix(linearization, value)).astype(complex)
    return eigenvalues[np.lexsort((eigenvalues.imag, -eigenvalues.real))]


def _matrix(linearization: Callable[[float], Any], value: float) -> Array:
    """Return A of the linear system at a value.

    Raises:
        ModelError: the function does not return a linear system or a finite square matrix.
    """
    found = linearization(value)
    if isinstance(found, Linearization):
        return found.A
    A = numbers(found, "the function of root_locus must return the result of kane.linearize, or a matrix A")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all():
        raise ModelError(f"the matrix A at {value:.6g} has shape {A.shape}; give a square matrix of finite numbers")
    return A


def _followed(paths: Sequence[NDArray[np.complex128]], found: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return the eigenvalues in the order of the previous ones, extrapolated linearly from the last two."""
    if not paths:
        return found
    with np.errstate(over="ignore", invalid="ignore"):  # for overflowing numbers any order will do
        ahead = 2.0 * paths[-1] - paths[-2] if len(paths) > 1 else paths[-1]
        distances = np.nan_to_num(np.abs(ahead[:, None] - found))
    _, order = load_scipy("optimize").linear_sum_assignment(distances)
    return found[order]


def stability_changes(matrix: Callable[[float], Matrix], values: Sequence[float], ignoring: int) -> list[float]:
    """Return the parameter values at which the largest real part passes zero, each between two samples.

    Coordinates without influence give A zero eigenvalues at all samples, which are deflated with their Jordan chains.
    An eigenvalue is unstable if its real part exceeds its error MATRIX_ERROR |A| / |y . x|; y, x are its left and right
    eigenvectors of length one. Pairs of conservative systems stay on the imaginary axis within this error, which grows
    where two pairs meet, because y and x become orthogonal there. Bisection finds where the first eigenvalue leaves the
    axis. If it comes from the left half-plane, the zero of its real part is computed.

    Args:
        matrix: function that returns A at a value.
        values: samples, in order.
        ignoring: number of eigenvalues that are ignored, those nearest to zero.

    Source: Wilkinson 1965, The Algebraic Eigenvalue Problem, ch. 2, for errors of eigenvalues; Kublanovskaya 1966 for
    the deflation.
    """
    zeros = min(_deflated(matrix(value))[1] for value in values)

    def left(value: float) -> Matrix:
        return _deflated(matrix(value), zeros)[0]

    ignoring = max(0, ignoring - zeros)
    unstable = [_unstable(left(value), ignoring) is not None for value in values]
    ends = [(values[k + unstable[k]], values[k + unstable[k + 1]], k) for k in range(len(values) - 1)]
    return [_change(left, (a, b), ignoring) for a, b, k in ends if unstable[k] != unstable[k + 1]]


def _deflated(A: Matrix, zeros: int | None = None) -> tuple[Matrix, int]:
    """Deflate zero eigenvalues of A: its null space, then the null space of the remaining matrix, and so on.

    Args:
        A: a square matrix.
        zeros: number of zeros to deflate; all by default.

    Returns:
        The remaining matrix, which has the other eigenvalues of A, and the number of deflated zeros.
    """
    taken, negligible = 0, ZERO_SINGULAR_VALUE * float(np.linalg.norm(A, 2)) if A.size else 0.0
    while A.size and taken != zeros:
        _, sizes, rows = np.linalg.svd(A)
        count = int((sizes <= negligible).sum())
        if zeros is not None:
            count = min(max(count, 1), zeros - taken)
        if not count:
            break
        kept = rows[: len(A) - count]
        A, taken = kept @ A @ kept.T, taken + count
    return A, taken


def _errors(A: Matrix) -> tuple[NDArray[np.complex128], Matrix]:
    """Return the eigenvalues and the largest first-order error of each."""
    if not A.size:
        return np.zeros(0, complex), np.zeros(0)
    found, left, right = load_scipy("linalg").eig(A, left=True, right=True)
    cosines = np.abs((left.conj() * right).sum(axis=0))
    with np.errstate(over="ignore", divide="ignore"):
        return found, MATRIX_ERROR * np.linalg.norm(A, 2) / cosines


def _unstable(A: Matrix, ignoring: int) -> complex | None:
    """Return the unstable eigenvalue with the largest real part; None if no eigenvalue is unstable."""
    found, errors = _errors(A)
    order = np.argsort(np.abs(found))[ignoring:]
    right = [found[k] for k in order if found[k].real > errors[k]]
    return max(right, key=lambda x: float(x.real), default=None)


def _change(matrix: Callable[[float], Matrix], ends: tuple[float, float], ignoring: int) -> float:
    """Return the value between a stable and an unstable value at which stability changes."""
    (stable, unstable), distance = ends, abs(ends[1] - ends[0])
    first = _unstable(matrix(unstable), ignoring)
    while abs(unstable - stable) > EQUAL_VALUE_TOLERANCE * distance:
        middle = 0.5 * (stable + unstable)
        if middle in (stable, unstable):
            break
        found = _unstable(matrix(middle), ignoring)
        stable, unstable, first = (middle, unstable, first) if found is None else (stable, middle, found)
    assert first is not None
    return _passage(matrix, first, unstable, (ends[1] - ends[0]))


def _passage(matrix: Callable[[float], Matrix], at: complex, near: float, way: float) -> float:
    """Return where the real part of an eigenvalue passes zero; ``near`` if the eigenvalue leaves the axis there."""
    brentq = load_scipy("optimize").brentq

    def nearest(value: float) -> tuple[float, float]:
        found, errors = _errors(matrix(value))
        k = int(np.argmin(np.abs(found - at)))
        return float(found[k].real), float(errors[k])

    for ratio in TEST_DISTANCES:
        (left, less), (right, more) = nearest(near - ratio * way), nearest(near + ratio * way)
        if left < -less and right > more:
            step: Any = abs(ratio * way)
            return float(
                brentq(lambda x: nearest(x)[0], near - step, near + step, xtol=EQUAL_VALUE_TOLERANCE * abs(way))
            )
    return near
