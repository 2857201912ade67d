"""Quantities other than accelerations under numerically embedded constraints, computed with R of each state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from kane.codegen.jit.function import ArrayFunction
from kane.codegen.jit.python_call import Single
from kane.deferred import NamedTuple
from kane.engine.memory.views import embedding_terms_at
from kane.expression.node import Expr
from kane.formulation.quantities.programs import lower_triangle


class Embedded(NamedTuple):
    """Embedding at states: u = R u + e and udot = R udot + e_t, where R multiplies only independent speeds.

    Attributes:
        conditioning: smallest pivot of the dependent columns, relative to the largest of all selections, (...).
        independent: whether each speed is independent, (..., n).
        u: all speeds, the dependent ones computed from the independent ones, (..., n).
        e_t: (..., n).
        R: (..., n, n), zero in the columns of dependent speeds.
    """

    conditioning: np.ndarray
    independent: np.ndarray
    u: np.ndarray
    e_t: np.ndarray
    R: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, n: int) -> Embedded:
        """Unpack the outputs of the program "embedding"."""
        found = embedding_terms_at(values, 0, n)
        return cls(found.conditioning[..., 0], found.independent == 1.0, found.u, found.e_t, found.R)

    def accelerations(self, udot: np.ndarray) -> np.ndarray:
        """Return all accelerations, computed from those of the independent speeds."""
        return np.einsum("...ij,...j->...i", self.R, udot) + self.e_t

    def forces(self, free: np.ndarray) -> np.ndarray:
        """Return the generalized forces R^T f, which are zero at dependent speeds."""
        return np.einsum("...ji,...j->...i", self.R, free)


if TYPE_CHECKING:
    from kane.dynamics.embedded.constrained_function import ConstrainedFunction


def symmetric(lower: np.ndarray, n: int) -> np.ndarray:
    """Return symmetric matrices (..., n, n) from their lower triangles, (..., n (n + 1) / 2)."""
    return lower.take(_places_in_lower(n), axis=-1)


@functools.cache
def _places_in_lower(n: int) -> np.ndarray:
    """Return the index, in the lower triangle, of each entry of a symmetric matrix, (n, n)."""
    i, j = np.indices((n, n))
    return np.maximum(i, j) * (np.maximum(i, j) + 1) // 2 + np.minimum(i, j)


# Rule by which a quantity is computed. Arguments: the embedding; a function of ``rest`` (inputs or udot) that evaluates
# a program of the unconstrained equations at all speeds u; the user's ``rest``.
Rule = Callable[[Embedded, Callable[[Any], np.ndarray], np.ndarray], np.ndarray]


def _inverse(at: Embedded, free: Callable[[Any], np.ndarray], udot: np.ndarray) -> np.ndarray:
    return at.forces(free(at.accelerations(udot)))


def _bias(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    return at.forces(free(at.e_t))


def _mass_matrix(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    n = at.R.shape[-1]
    rows, columns = np.array(lower_triangle(n), int).reshape(-1, 2).T
    return _independent(at, symmetric(free(()), n) @ at.R)[..., rows, columns]


def _whole_mass_matrix(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    flat, n = free(()), at.R.shape[-1]
    return _independent(at, flat.reshape(*flat.shape[:-1], n, n) @ at.R).reshape(flat.shape)


def _input_matrix(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    flat, n = free(()), at.R.shape[-1]
    return _independent(at, flat.reshape(*flat.shape[:-1], n, flat.shape[-1] // n)).reshape(flat.shape)


def _independent(at: Embedded, columns: np.ndarray) -> np.ndarray:
    """Return R^T times the columns."""
    return np.swapaxes(at.R, -1, -2) @ columns


def _of_speeds(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    return free(())


# For each quantity, the program of the unconstrained equations that it needs, and its rule.
RULES: dict[str, tuple[str, Rule]] = {
    "inverse": ("inverse", _inverse),
    "bias": ("inverse", _bias),
    "mass_matrix": ("mass_matrix", _mass_matrix),
    "whole_mass_matrix": ("whole_mass_matrix", _whole_mass_matrix),
    "input_matrix": ("input_matrix", _input_matrix),
    "kinematics": ("kinematics", _of_speeds),
    "energy": ("energy", _of_speeds),
    "momentum": ("momentum", _of_speeds),
}


@final
class EmbeddedQuantity(ArrayFunction):
    """Quantity that is computed by NumPy from the embedding and a program of the unconstrained equations."""

    program, address, n_work = None, 0, 0

    def __init__(self, name: str, embedding: ConstrainedFunction, free: ArrayFunction) -> None:
        """Combine the embedding and a program of the unconstrained equations by the rule of this name in RULES."""
        self.name, self._embedding, self._free, self._rule = name, embedding, free, RULES[name][1]
        self.n_state, self.n_parameters, self.n_out = free.n_state, free.n_parameters, free.n_out
        self.n_rest = free.n_rest if name == RULES[name][0] else 0
        self.n_stage, self.threads = embedding.n_stage + free.n_stage, free.threads

    @property
    def roots(self) -> tuple[Expr, ...]:
        return (*self._embedding.roots, *self._free.roots)

    @functools.cached_property
    def reads(self) -> frozenset[Expr]:
        return self._embedding.reads | self._free.reads

    def stage(self, parameters: Any) -> np.ndarray:
        """Return the constants of both functions."""
        return np.concatenate([self._embedding.stage(parameters), self._free.stage(parameters)], axis=-1)

    def lanes(self, *, each: bool = False) -> None:
        """Return None: there is no native code."""

    def _require_own(self, stage: np.ndarray) -> None:
        """Do nothing: the embedding checks its own part of the stage array when it is called."""

    @functools.cached_property
    def _single(self) -> Single:
        return self._one

    def _one(self, stage: np.ndarray, out: np.ndarray, *arguments: np.ndarray) -> None:
        *parts, rest = (np.reshape(array, -1) for array in arguments)
        out[...] = self._values(parts, rest, stage.reshape(-1))

    def _many(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[...] = self._values(parts, rest, stage)
        return out

    def _values(self, parts: Sequence[np.ndarray], rest: np.ndarray, stage: np.ndarray) -> np.ndarray:
        n, split = len(self._embedding.parts.equations.u), self._embedding.n_stage
        at = Embedded.of(self._embedding.join(parts, np.zeros(self._embedding.n_rest), stage[..., :split]), n)
        before = [parts[0][..., : self.n_state - n]] if len(parts) == 1 else list(parts[:-1])
        return self._rule(at, lambda more: self._free.join((*before, at.u), more, stage[..., split:]), rest)
