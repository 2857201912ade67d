"""Result of identify: values with standard errors, and the parameters that the data do not determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from kane.analysis.identification.base_parameters import combination_text
from kane.analysis.identification.physical_consistency import Consistent, nearest_physical
from kane.array_types import Array
from kane.deferred import dataclass

# Largest number of characters of a base parameter in tables.
WIDEST = 70


@dataclass(frozen=True)
class ParameterCombination:
    """Base parameter: a linear combination of parameters that the data determine.

    Attributes:
        terms: coefficients by parameter name.
        value: value of the combination.
        standard_error: standard error of the value.
    """

    terms: Mapping[str, float]
    value: float
    standard_error: float

    def __str__(self) -> str:
        return combination_text(self.terms)


@dataclass(frozen=True)
class Undetermined:
    """Parameters that cannot be distinguished, or that have no effect; prints as a sentence.

    Attributes:
        names: names of the parameters.
        terms: coefficients of the only combination that has an effect; empty for parameters without any effect.
        reason: reason, as text.
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
    """All parameters that cannot be identified; prints one sentence per line. ``name in ...`` tests one parameter."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters that are not determined individually."""
        return tuple(dict.fromkeys(name for found in self for name in found.names))

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "nothing: every parameter has a value of its own"


@dataclass(frozen=True, eq=False)
class Identification:
    """Identified parameters of a measured motion; prints as a table.

    If parameters cannot be distinguished, all but the first keep their defaults in ``values``. The first has the value
    with which their base parameter equals its measured value. The whole set reproduces the measured motion
    (``kane.simulate(dyn, parameters=fit.values)``); single values of these parameters have no meaning.

    Attributes:
        values: by name.
        standard_errors: by name; infinite for parameters that are not determined individually.
        base_parameters: independent combinations, which the data determine; single parameters included.
        covariance: covariance of the base parameters, (b, b): the inverse of the Fisher information.
        unidentifiable: parameters that the data do not determine, with reasons.
        residuals: residuals of each channel, (k, channels).
        channels: names: speeds if forces are compared [N m or N]; coordinates and speeds if motions are compared.
        noise: standard deviation of each channel, given or estimated from the residuals.
        condition: condition number of the slopes in units of the noise, with columns of unit length. Values above 100
            indicate a poor motion.
        states: number of measured states.
        model: name of the model.
        start: initial values of the search by name.
        bodies: names of the ten inertial parameters, by body, for each body with all ten among the identified ones.
    """

    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    base_parameters: Sequence[ParameterCombination]
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
        """Matrix of the base parameters, (b, parameters): base parameters = B p."""
        names = list(self.values)
        rows = np.zeros((len(self.base_parameters), len(names)))
        for row, found in zip(rows, self.base_parameters, strict=True):
            for name, coefficient in found.terms.items():
                row[names.index(name)] = coefficient
        return rows

    def physically_consistent(self) -> Consistent:
        """Return a full set of parameters with which every body is physically consistent.

        The result minimizes the error of the measured base parameters plus the distance from ``start``. The distance
        determines the combinations of parameters that the data do not determine.

        Raises:
            ModelError: no body has all of its ten inertial parameters among the identified ones.
        """
        sums = np.array([found.value for found in self.base_parameters])
        return nearest_physical(self.start, list(self.bodies.values()), (self.B, sums, self.covariance))

    def __repr__(self) -> str:
        shown = [_short(str(found)) for found in self.base_parameters]
        width = max(map(len, shown))
        rows = [
            f"{self.model!r}: {len(shown)} combinations of {len(self.values)} parameters from {self.states} states, "
            f"condition number {self.condition:.3g}",
            f"{'':{width}}  {'value':>12}  standard error",
        ]
        for text, found in zip(shown, self.base_parameters, strict=True):
            rows.append(f"{text:{width}}  {found.value:12.6g}  {found.standard_error:.2g}")
        left = ", ".join(f"{name} {size:.3g}" for name, size in zip(self.channels, self.noise, strict=True))
        rows.append(f"noise: {left}")
        if self.unidentifiable:
            rows.append(f"{len(self.unidentifiable.names)} parameters have no value of their own (fit.unidentifiable)")
        return "\n".join(rows)


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else text[: WIDEST - 4] + " ..."
