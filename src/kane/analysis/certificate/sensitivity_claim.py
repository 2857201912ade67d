"""Claim of a certificate about sensitivities: forward and adjoint derivatives agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kane.analysis.certificate.claims import Found, digits
from kane.analysis.certificate.contact_claims import METHOD, RUN_DURATION, ContactRuns
from kane.analysis.certificate.embedding_claims import Declared
from kane.analysis.sensitivities.sensitivities import sensitivities
from kane.deferred import dataclass
from kane.errors import KaneError, ModelError, SimulationError
from kane.model.named_vector import index_of_name
from kane.simulation.results.trajectory import Trajectory
from kane.simulation.simulate import simulate

OF_SENSITIVITIES = "sensitivities: forwards = backwards"


@dataclass(frozen=True, eq=False)
class Directions:
    """Forward and adjoint derivatives of a random cost at the end of runs from random states.

        c^T S = l^T:  c = d(cost)/dx,  S = dx/dp by forward steps,  l by transposed steps, backwards

    Attributes:
        declared: the model.
        names: names of the quantities that are varied.
    """

    declared: Declared
    names: tuple[str, ...]

    @classmethod
    def of(cls, declared: Declared, names: Sequence[str]) -> Directions:
        """Create the claim for these names.

        Raises:
            ModelError: a name is unknown.
        """
        e, given = declared.equations, tuple(names)
        known = [leaf.name for leaf in (*e.parameters, *e.q, *e.u, *e.inputs)]
        for name in given:
            index_of_name(name, known, "parameter, coordinate, speed or input")
        return cls(declared, given)

    def agree(self) -> Found:
        """Return the digits to which both derivatives agree in all runs that can be differentiated."""
        worst, refused, count = 16.0, list[str](), 0
        random = np.random.default_rng([self.declared.seed, 3])
        for run in self._runs():
            e = self.declared.equations
            weights = random.normal(size=len(e.q) + len(e.u))
            cost = sum((c * leaf for c, leaf in zip(weights.tolist(), (*e.q, *e.u), strict=True)), e.t.arena.zero)
            try:
                s = sensitivities(run, wrt=self.names)
                forwards, backwards = s.gradient(cost), s.adjoint(cost)
            except (ModelError, SimulationError) as error:
                refused.append(str(error))
                continue
            a, b = (np.array([[found[name] for name in self.names]]) for found in (forwards, backwards))
            size = np.array([np.abs(weights) @ np.abs(s[name]).max(axis=0) for name in self.names])
            worst, count = min(worst, digits(a, b, size)), count + 1
        remark = f"; {len(refused)} cannot be differentiated: {refused[0]}" if refused else ""
        return worst if count else None, f"by {', '.join(self.names)} in {count} runs of {RUN_DURATION:g} s{remark}"

    def _runs(self) -> Iterator[Trajectory]:
        """Yield a run for each random state; runs that end early are skipped."""
        if self.declared.equations.intermittents:
            yield from (found.run for found in ContactRuns(self.declared).runs if not found.ended)
            return
        for at in self.declared.balances:
            try:
                yield simulate(
                    self.declared.dyn,
                    start=at.t,
                    until=at.t + RUN_DURATION,
                    q=at.q,
                    u=at.u,
                    inputs=at.inputs,
                    integrator=METHOD,
                )
            except KaneError:
                continue
