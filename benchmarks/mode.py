"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """What a run of the benchmarks covers.

    Attributes:
        quick: the arms and short chains only.
        batches: samples per figure.
    """

    quick: bool
    batches: int


FULL = Mode(quick=False, batches=9)
QUICK = Mode(quick=True, batches=7)
