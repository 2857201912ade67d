"""Configurations in which nothing is inside of anything: gaps of contacts, stops and latches beside the constraints."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kane.dynamics.build import build
from kane.dynamics.constraint_terms import Array, ConstraintTerms


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
