"""What a certificate claims of the sensitivities that are asked for: both directions find the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kane.analysis.certificate.claims import Found, digits
from kane.analysis.certificate.contacts import LENGTH, METHOD, ContactRuns
from kane.analysis.certificate.embedding import Declared
from kane.analysis.sensitivities.sensitivities import sensitivities
from kane.errors import KaneError, ModelError, SimulationError
from kane.model.named_vector import position
from kane.simulation.recorded.trajectory import Trajectory
from kane.simulation.simulate import simulate

OF_SENSITIVITIES = "sensitivities: forwards = backwards"


@dataclass(frozen=True, eq=False)
class Directions:
    """Derivatives of a random cost at the end of runs from random states, forwards and backwards.

        c^T S = l^T: c of the cost, S = dx/dp carried on from step to step, l carried back by the transposed steps

    Attributes:
        declared: the model.
        names: of what is varied.
    """

    declared: Declared
    names: tuple[str, ...]

    @classmethod
    def of(cls, declared: Declared, names: Sequence[str]) -> Directions:
        """By names.

        Raises:
            ModelError: an unknown one.
        """
        e, given = declared.equations, tuple(names)
        known = [leaf.name for leaf in (*e.parameters, *e.q, *e.u, *e.inputs)]
        for name in given:
            position(name, known, "parameter, coordinate, speed or input")
        return cls(declared, given)

    def agree(self) -> Found:
        """To how many digits, in all runs that can be derived."""
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
        remark = f"; {len(refused)} are not derived: {refused[0]}" if refused else ""
        return worst if count else None, f"by {', '.join(self.names)} in {count} runs of {LENGTH:g} s{remark}"

    def _runs(self) -> Iterator[Trajectory]:
        """As many as states were asked for; those that come to no end are left out."""
        if self.declared.equations.candidates:
            yield from (found.run for found in ContactRuns(self.declared).runs if not found.ended)
            return
        for at in self.declared.balances:
            try:
                yield simulate(
                    self.declared.dyn,
                    start=at.t,
                    until=at.t + LENGTH,
                    q=at.q,
                    u=at.u,
                    inputs=at.inputs,
                    integrator=METHOD,
                )
            except KaneError:
                continue
