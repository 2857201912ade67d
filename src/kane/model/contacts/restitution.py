"""Laws of restitution: what the coefficient of an impact means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Poisson:
    """The normal impulse of expansion is e times that of compression, P_e = e P_c.

    The default: with friction it never makes energy in one impact, and without friction it says what ``Newton`` says.

    Source: Poisson, Traite de mecanique, 1838; Gillespie 2003, section 4.
    """


@dataclass(frozen=True)
class Newton:
    """The normal velocity of departure is e times that of approach, v+ = -e v-.

    With friction that stops or reverses the slip it can make energy, which Kane's paradox shows: such an impact stops
    a run with an error.

    Source: Newton, Principia, 1687; Kane & Levinson 1985, Dynamics: Theory and Applications, problem 14.6.
    """
