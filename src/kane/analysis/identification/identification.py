"""What identify returns: values with their errors, and what the data do not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from kane.analysis.identification.combinations import combination_text
from kane.analysis.identification.consistent import Consistent, consistent

Array = NDArray[np.float64]
# Combinations are written out up to so many characters in tables.
WIDEST = 70


@dataclass(frozen=True)
class Combination:
    """A sum of parameters that the data determine, whatever its terms are.

    Attributes:
        terms: coefficient by name of the parameter.
        value: of the sum.
        standard_error: of its value.
    """

    terms: Mapping[str, float]
    value: float
    standard_error: float

    def __str__(self) -> str:
        return combination_text(self.terms)


@dataclass(frozen=True)
class Undetermined:
    """Parameters that cannot be told apart, or one that has no effect; prints as a sentence.

    Attributes:
        names: of the parameters.
        terms: of the only combination of them that appears; empty where a parameter has no effect at all.
        reason: in words.
    """

    names: tuple[str, ...]
    terms: Mapping[str, float]
    reason: str

    def __str__(self) -> str:
        if not self.terms:
            return f"{', '.join(self.names)} cannot be identified: {self.reason}"
        return (
            f"{', '.join(self.names)}: only {combination_text(self.terms)} appears{self.reason and f' {self.reason}'}"
        )


@final
class Unidentifiable(tuple[Undetermined, ...]):
    """All that cannot be identified; prints as one sentence a line. ``name in ...`` asks for one parameter."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters of which no value is known by itself."""
        return tuple(dict.fromkeys(name for found in self for name in found.names))

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "nothing: every parameter has a value of its own"


@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters as a measured motion has them; prints as a table.

    Where parameters cannot be told apart, those after the first keep their defaults in ``values``, and the first is
    such that the combination is right: ``values`` as a whole gives the motion that was measured
    (``kane.simulate(dyn, parameters=fit.values)``), and single ones of these parameters mean nothing.

    Attributes:
        values: by name.
        standard_errors: by name; infinite where there is none of the parameter by itself.
        combinations: what the data determine, single parameters included.
        covariance: of the combinations, (b, b): the inverse of the Fisher information.
        unidentifiable: what they do not determine, in words.
        residuals: what is left: along each channel, (k, channels).
        channels: names; the speeds, where forces are compared [N m or N]; coordinates and speeds, where motions are.
        noise: standard deviation of each channel, as given or as the residuals have it.
        condition: condition number of the slopes in units of the noise, each column of unit length; above some 100 the
            motion was a poor one.
        states: how many were measured.
        model: its name.
        start: values by name from which the search began.
        bodies: the ten inertial parameters of each body of which all are among these, by its name.
    """

    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    combinations: Sequence[Combination]
    covariance: Array
    unidentifiable: Unidentifiable
    residuals: Array
    channels: tuple[str, ...]
    noise: Array
    condition: float
    states: int
    model: str
    start: Mapping[str, float]
    bodies: Mapping[str, Sequence[str]]

    @property
    def B(self) -> Array:
        """The combinations as a matrix, (b, parameters): combinations = B p."""
        names = list(self.values)
        rows = np.zeros((len(self.combinations), len(names)))
        for row, found in zip(rows, self.combinations, strict=True):
            for name, coefficient in found.terms.items():
                row[names.index(name)] = coefficient
        return rows

    def consistent(self) -> Consistent:
        """A full set of parameters, with which every body has the mass properties of one.

        What the data do not say is taken from ``start``: of all distributions of mass that have the measured
        combinations the nearest to it.

        Raises:
            ModelError: no body has all of its ten inertial parameters among these.
        """
        sums = np.array([found.value for found in self.combinations])
        return consistent(self.start, list(self.bodies.values()), (self.B, sums, self.covariance))

    def __repr__(self) -> str:
        shown = [_short(str(found)) for found in self.combinations]
        width = max(map(len, shown))
        rows = [
            f"{self.model!r}: {len(shown)} combinations of {len(self.values)} parameters from {self.states} states, "
            f"condition number {self.condition:.3g}",
            f"{'':{width}}  {'value':>12}  standard error",
        ]
        for text, found in zip(shown, self.combinations, strict=True):
            rows.append(f"{text:{width}}  {found.value:12.6g}  {found.standard_error:.2g}")
        left = ", ".join(f"{name} {size:.3g}" for name, size in zip(self.channels, self.noise, strict=True))
        rows.append(f"noise: {left}")
        if self.unidentifiable:
            rows.append(f"{len(self.unidentifiable.names)} parameters have no value of their own (fit.unidentifiable)")
        return "\n".join(rows)


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 4] + " ..."
