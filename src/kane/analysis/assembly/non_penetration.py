"""Configurations without penetration: gaps of contacts, stops and latches as additional residuals."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.small_motions import SmallMotions
from kane.array_types import Array
from kane.dynamics.build import build
from kane.dynamics.constraint_terms import ConstraintTerms
from kane.dynamics.contacts.gaps import gap_function
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, list_names

# Gap tolerance [m or rad]: error of a search that ends at a gap of zero.
SEARCH_GAP_TOLERANCE = 1e-6


class TermsWithGaps(ConstraintTerms):
    """Constraint terms with negative gaps as additional residuals:

    phi = [phi of the constraints, min(gap, 0)],   J and A with zeros in the rows of gaps that are open.
    """

    @property
    def names(self) -> tuple[str, ...]:
        gaps = {c.normal.name: f"gap of {c.name}" for c in self.equations.intermittents if c.normal is not None}
        return tuple(gaps.get(name, name) for name in super().names)

    @property
    def phi(self) -> Array:
        found = np.array(super().phi)
        found[self._open] = 0.0
        return found

    @property
    def J(self) -> Array:
        found = np.array(super().J)
        found[self._open] = 0.0
        return found

    @property
    def A(self) -> Array:
        found = np.array(super().A)
        found[np.array(self.closing, dtype=int)[self._open]] = 0.0
        return found

    @cached_property
    def _open(self) -> Array:
        """Mask of the closing rows that are gaps >= 0."""
        gaps = np.array(self.closing, dtype=int) >= len(self.equations.permanent)
        return np.asarray(gaps & (super().phi >= 0.0))


def terms_with_gaps(terms: ConstraintTerms) -> ConstraintTerms:
    """Return the terms at rest, with gaps of intermittent constraints if the model has any."""
    dyn = terms.dyn
    if not dyn.equations.intermittents:
        return terms
    beside = dyn.derived("with candidates", lambda: build(dyn.equations.with_intermittent_rows, target=dyn))
    return TermsWithGaps.of(beside, terms.q, t=terms.t, parameters=terms.parameters)


def require_apart(at: SmallMotions, found: str, cure: str) -> None:
    """Raise if a state penetrates a contact or exceeds a stop; equations without active contacts ignore this.

    Args:
        at: the state.
        found: start of the message, such as "this state is".
        cure: the cure, for the message.

    Raises:
        ModelError: a gap is negative; the message names the deepest one and its depth.
    """
    names, gaps = gap_terms_at(at.dyn, at.q, at.t, at.parameters)
    if gaps.min(initial=0.0) < -SEARCH_GAP_TOLERANCE:
        deepest = int(np.argmin(gaps))
        raise ModelError(f"{found} {-gaps[deepest]:.6g} beyond {names[deepest]!r}: {cure}")


def gap_terms_at(dyn: Dynamics, q: Array, t: Any, parameters: Any) -> tuple[list[str], Array]:
    """Return the names of contacts, stops and latches, and their gaps at configurations q, (..., gaps) [m or rad].

    Args:
        dyn: compiled equations.
        q: coordinates, (..., nq).
        t: times [s], (...).
        parameters: values by name; None for the defaults.
    """
    e = dyn.equations
    if not any(c.normal is not None for c in e.intermittents):
        return [], np.zeros((*np.shape(q)[:-1], 0))
    names, function = gap_function(dyn)
    inputs = [e.defaults[leaf.name] for leaf in e.inputs]
    return names, dyn.evaluate(function, q, np.zeros(len(e.u)), inputs, t, parameters=parameters)


def not_active_hint(dyn: Dynamics) -> str:
    """Return a hint for messages: intermittent constraints that might hold the state; empty if there are none."""
    if not dyn.equations.intermittents:
        return ""
    names = [c.name for c in dyn.equations.intermittents]
    return (
        f"; intermittent constraints ({list_names(names, 3)}) are not active here: replace those that should hold by "
        "permanent constraints (kane.Prescribed, kane.Coincidence)"
    )
