"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mode:
    """What a run of the benchmarks covers.

    Attributes:
        quick: the arms and short chains only.
        batches: samples per figure.
        processes: samples per figure where each takes a process of its own.
    """

    quick: bool
    batches: int
    processes: int


FULL = Mode(quick=False, batches=9, processes=3)
QUICK = Mode(quick=True, batches=7, processes=2)
