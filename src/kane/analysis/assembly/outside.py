"""Configurations in which nothing is inside of anything: gaps of contacts, stops and latches beside the constraints."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kane.analysis.small_motions import SmallMotions
from kane.dynamics.build import build
from kane.dynamics.constraint_terms import Array, ConstraintTerms
from kane.dynamics.contacts.gaps import gap_function
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, listed

# A gap this much below zero is what a search leaves of one that closes exactly there [m or rad].
TOUCHING = 1e-6


class TermsOutside(ConstraintTerms):
    """Constraints at states, and gaps, which count as residuals as far as they are negative:

    phi = [phi of the constraints, min(gap, 0)],   J and A with zeros in the rows of gaps that are open.
    """

    @property
    def names(self) -> tuple[str, ...]:
        gaps = {c.normal.name: f"gap of {c.name}" for c in self.equations.candidates if c.normal is not None}
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
        """Which closing rows are gaps that are not negative."""
        rows = sum(len(c.rows) for c in self.equations.candidates)
        permanent = len(self.equations.constraints) - rows
        gaps = np.array(self.closing, dtype=int) >= permanent
        return np.asarray(gaps & (super().phi >= 0.0))


def outside(terms: ConstraintTerms) -> ConstraintTerms:
    """The terms with the gaps of what comes and goes, where there are such; at rest."""
    dyn = terms.dyn
    if not dyn.equations.candidates:
        return terms
    beside = dyn.derived("with candidates", lambda: build(dyn.equations.with_candidates, target=dyn))
    return TermsOutside.of(beside, terms.q, t=terms.t, parameters=terms.parameters)


def require_apart(at: SmallMotions, found: str, cure: str) -> None:
    """Refuse a state inside a contact or beyond a stop, of which equations without them say nothing.

    Args:
        at: the state.
        found: what it is, with its verb.
        cure: what to do.

    Raises:
        ModelError: which, and how deep.
    """
    names, gaps = gaps_at(at.dyn, at.q, at.t, at.parameters)
    if gaps.min(initial=0.0) < -TOUCHING:
        deepest = int(np.argmin(gaps))
        raise ModelError(f"{found} {-gaps[deepest]:.6g} beyond {names[deepest]!r}: {cure}")


def gaps_at(dyn: Dynamics, q: Array, t: Any, parameters: Any) -> tuple[list[str], Array]:
    """Names of the contacts, stops and latches, and their gaps at configurations q (..., nq), (..., gaps) [m or rad].

    Args:
        dyn: native code of the equations.
        q: where.
        t: times [s], (...).
        parameters: values by name; None for the defaults.
    """
    e = dyn.equations
    if not any(c.normal is not None for c in e.candidates):
        return [], np.zeros((*np.shape(q)[:-1], 0))
    names, function = gap_function(dyn)
    inputs = [e.defaults[leaf.name] for leaf in e.inputs]
    return names, dyn.evaluate(function, q, np.zeros(len(e.u)), inputs, t, parameters=parameters)


def not_in_force(dyn: Dynamics) -> str:
    """What else may hold a state at rest, in words; none where nothing comes and goes."""
    if not dyn.equations.candidates:
        return ""
    names = [c.name for c in dyn.equations.candidates]
    return (
        f"; constraints that come and go ({listed(names, 3)}) are not in force here: replace what shall hold by a "
        "constraint of the model (kane.Prescribed, kane.Coincidence)"
    )
