"""The contract that every device fulfils."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from kane.errors import ModelError
from kane.expression.arguments import number


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What is known of a device, as far as a coupler depends on it.

    Attributes:
        rate: samples a second [Hz].
        mass: of the handle as it is felt [kg].
        damping: of the handle, viscous [N s/m].
        friction: of the handle, Coulomb's [N].
        quantum: one step of its encoders as the handle sees it [m].
        delay: from the position that is read to the force that answers, beyond the hold of one sample [s].
        force: the largest it can give [N].
    """

    rate: float
    mass: float
    damping: float = 0.0
    friction: float = 0.0
    quantum: float = 0.0
    delay: float = 0.0
    force: float

    def __post_init__(self) -> None:
        for word in ("rate", "mass", "force"):
            if not number(getattr(self, word), f"{word} of a device") > 0.0:
                raise ModelError(f"{word} of a device must be positive, not {getattr(self, word)!r}")
        for word in ("damping", "friction", "quantum", "delay"):
            if not number(getattr(self, word), f"{word} of a device") >= 0.0:
                raise ModelError(f"{word} of a device must not be negative: {getattr(self, word)!r}")

    @property
    def period(self) -> float:
        """Of its samples [s]."""
        return 1.0 / self.rate


class Device(ABC):
    """A haptic device: it says where its handle is, and applies a force to it (impedance display)."""

    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What is known of it."""
