"""Quantities of equations whose constraints are embedded in numbers, other than accelerations: by R of each state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kane.codegen.jit.compiled import CompiledFunction, result_array
from kane.dynamics.constrained_function import ConstrainedFunction
from kane.expression.node import Expr
from kane.formulation.quantities.programs import lower_triangle


class Embedded(NamedTuple):
    """The embedding at states: u = R u + e, udot = R udot + e_t, of which R reads the independent ones only.

    Attributes:
        conditioning: smallest pivot of the dependent columns over the largest of any choice, (...).
        independent: which speeds are, (..., n).
        u: speeds, the dependent ones from the others, (..., n).
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
        """From what the program "embedding" gives."""
        vectors = values[..., 1 : 1 + 3 * n].reshape(*values.shape[:-1], 3, n)
        R = values[..., 1 + 3 * n :].reshape(*values.shape[:-1], n, n)
        return cls(values[..., 0], vectors[..., 0, :] == 1.0, vectors[..., 1, :], vectors[..., 2, :], R)

    def accelerations(self, udot: np.ndarray) -> np.ndarray:
        """All accelerations, from those of the independent speeds."""
        return np.einsum("...ij,...j->...i", self.R, udot) + self.e_t

    def forces(self, free: np.ndarray) -> np.ndarray:
        """R^T f, zero at dependent speeds."""
        return np.einsum("...ji,...j->...i", self.R, free)


# What a quantity computes from the embedding, the program "inverse" or its own of the unconstrained equations as a
# function of u and rest, and its own rest.
Rule = Callable[[Embedded, Callable[[Any], np.ndarray], np.ndarray], np.ndarray]


def _inverse(at: Embedded, free: Callable[[Any], np.ndarray], udot: np.ndarray) -> np.ndarray:
    return at.forces(free(at.accelerations(udot)))


def _bias(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    return at.forces(free(at.e_t))


def _mass_matrix(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    lower, n = free(()), at.R.shape[-1]
    rows, columns = np.array(lower_triangle(n), int).reshape(-1, 2).T
    M = np.zeros((*lower.shape[:-1], n, n))
    M[..., rows, columns] = M[..., columns, rows] = lower
    return (np.swapaxes(at.R, -1, -2) @ M @ at.R)[..., rows, columns]


def _input_matrix(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    flat, n = free(()), at.R.shape[-1]
    B = flat.reshape(*flat.shape[:-1], n, flat.shape[-1] // n)
    return (np.swapaxes(at.R, -1, -2) @ B).reshape(flat.shape)


def _of_speeds(at: Embedded, free: Callable[[Any], np.ndarray], _: np.ndarray) -> np.ndarray:
    return free(())


# The program of the unconstrained equations that a quantity needs, and its rule.
RULES: dict[str, tuple[str, Rule]] = {
    "inverse": ("inverse", _inverse),
    "bias": ("inverse", _bias),
    "mass_matrix": ("mass_matrix", _mass_matrix),
    "input_matrix": ("input_matrix", _input_matrix),
    "kinematics": ("kinematics", _of_speeds),
    "energy": ("energy", _of_speeds),
    "momentum": ("momentum", _of_speeds),
}


class EmbeddedQuantity(CompiledFunction):
    """A CompiledFunction by array arithmetic on two others, without an address of its own.

    ``program`` is that of the unconstrained equations.
    """

    def __init__(self, name: str, embedding: ConstrainedFunction, free: CompiledFunction) -> None:
        """Combine the embedding and a program of the unconstrained equations as RULES say of the name."""
        self.program = free.program
        self._embedding, self._free, self._rule = embedding, free, RULES[name][1]
        self.n_state, self.n_parameters, self.n_out = free.n_state, free.n_parameters, free.n_out
        self.n_rest = free.n_rest if name == RULES[name][0] else 0
        self.n_stage = embedding.n_stage + free.n_stage

    @cached_property
    def reads(self) -> frozenset[Expr]:
        """The leaves on which the outputs depend."""
        return self._embedding.reads | self._free.reads

    def stage(self, parameters: Any) -> np.ndarray:
        """The stages of both, (..., n_stage).

        Raises:
            ModelError: the shape is another.
        """
        return np.concatenate([self._embedding.stage(parameters), self._free.stage(parameters)], axis=-1)

    def lanes(self, *, each: bool = False) -> None:
        """None: there is no native code."""

    def join(self, parts: Sequence[np.ndarray], rest: Any, stage: Any, *, out: np.ndarray | None = None) -> np.ndarray:
        """The outputs for a state in parts; as of any CompiledFunction.

        Raises:
            ModelError: a shape is another, or the batches do not broadcast.
        """
        rest, stage = self._array(rest, "rest", self.n_rest), self._array(stage, "stage", self.n_stage)
        given = np.zeros(self._embedding.n_rest)
        n = len(self._embedding.parts.equations.u)
        own, of_free = stage[..., : self._embedding.n_stage], stage[..., self._embedding.n_stage :]
        at = Embedded.of(self._embedding.join(parts, given, own), n)
        state = parts[0] if len(parts) == 1 else None
        before = [state[..., : self.n_state - n]] if state is not None else list(parts[:-1])
        values = self._rule(at, lambda more: self._free.join((*before, at.u), more, of_free), rest)
        if out is None:
            return values
        result = result_array(out, values.shape, self.program.name)
        result[...] = values
        return result
