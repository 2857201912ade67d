"""Reactions in numbers, by three routes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError
from kane.formulation.reactions import Reactions

Array = NDArray[np.float64]
# Of constraint rows and their right-hand sides: singular values, and residuals, below this part of the largest are zero.
RANK = 1e-10


class AuxiliarySpeeds:
    """R = needed_k + D^T needed, A D = -A_k: what the auxiliary motion does, the constraints kept (Kane)."""

    def reactions(self, needed: Array, A: Array, own: int) -> Array:
        """R, shape (..., k)."""
        D = -_least(A[..., :own], A[..., own:])
        return needed[..., own:] + np.einsum("...nk,...n->...k", D, needed[..., :own])


class OrthogonalComplement:
    """R = needed_k - A_k^T lambda, A^T lambda = needed: the kinetostatic equations, along what the constraints forbid."""

    def reactions(self, needed: Array, A: Array, own: int) -> Array:
        """R, shape (..., k)."""
        forces = _least(np.swapaxes(A[..., :own], -1, -2), needed[..., :own, None])[..., 0]
        return needed[..., own:] - np.einsum("...mk,...m->...k", A[..., own:], forces)


class Multipliers:
    """R = needed_k - A_k^T lambda, lambda beside udot from M udot + h = A^T lambda, A udot + remainder = 0."""

    def reactions(self, needed: Array, A: Array, own: int) -> Array:
        """R, shape (..., k)."""
        raise NotImplementedError


class RevealedReactions:
    """Native code of revealed reactions.

    Args:
        dyn: of the equations from which they were revealed.
        revealed: from ``reveal_reactions``.
        route: AuxiliarySpeeds() or OrthogonalComplement(); the results are the same.

    Raises:
        ModelError: they were revealed from other equations.
    """

    def __init__(
        self, dyn: Dynamics, revealed: Reactions, *, route: AuxiliarySpeeds | OrthogonalComplement | None = None
    ) -> None:
        if not isinstance(dyn, Dynamics) or not isinstance(revealed, Reactions):
            raise ModelError("RevealedReactions takes Dynamics, from kane.build, and what kane.reveal_reactions returns")
        if dyn.equations is not revealed.equations:
            raise ModelError("the reactions were revealed from other equations than these dynamics were built from")
        self._dyn, self._revealed = dyn, revealed
        self._route = route or AuxiliarySpeeds()
        self._function = dyn.compile(revealed.program())

    @property
    def names(self) -> tuple[str, ...]:
        """Of the reactions, in the order of the values."""
        return self._revealed.names

    def __call__(self, q: Any, u: Any, inputs: Any = None, t: Any = 0.0, *, parameters: Any = None) -> Array:
        """The reactions, shape (..., k) [N, N m]; NaN where redundant constraints share one.

        Raises:
            ModelError: as from ``Dynamics.forward``.
        """
        needed, A = self.parts(q, u, inputs, t, parameters=parameters)
        own = self._revealed.own
        found = self._route.reactions(needed, A, own)
        return np.where(self._shared(A), np.nan, found)

    def parts(
        self, q: Any, u: Any, inputs: Any = None, t: Any = 0.0, *, parameters: Any = None
    ) -> tuple[Array, Array]:
        """-(F_r + F*_r) of the joints' own speeds and then of the auxiliary ones, shape (..., n + k), and A, shape
        (..., m, n + k).
        """
        dyn, width = self._dyn, self._revealed.own + len(self.names)
        udot = dyn.forward(q, u, inputs, t, parameters=parameters)
        defaults = [dyn.equations.defaults[i.name] for i in dyn.equations.inputs]
        given = np.asarray(defaults if inputs is None else inputs, float)
        given = np.broadcast_to(given, (*udot.shape[:-1], given.shape[-1]))
        rest = np.concatenate([udot, given], axis=-1)
        values = dyn.evaluate(self._function, q, u, rest, t, parameters=parameters)
        A = values[..., width:].reshape(*values.shape[:-1], len(self._revealed.rows), width)
        return values[..., :width], A

    def _shared(self, A: Array) -> NDArray[np.bool_]:
        """Which reactions constraints share that imply each other, shape (..., k): those that no motion balances."""
        own = self._revealed.own
        D = _least(A[..., :own], A[..., own:])
        left = A[..., own:] - A[..., :own] @ D
        return np.asarray(np.abs(left).max(axis=-2, initial=0.0) > RANK * np.abs(A).max(axis=(-1, -2), initial=1.0)[..., None])
