"""Arrows: forces and torques on bodies over time, and the scales of their lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from kane.deferred import NamedTuple, dataclass
from kane.display.piece import Array

# Relative size below which a value counts as rounding; percentile of the forces that sets the scale, without spikes.
ARROW_ROUNDING, ARROW_PERCENTILE = 1e-9, 95


@dataclass(frozen=True)
class Arrow:
    """Force and torque over time.

    Attributes:
        name: label of the arrow.
        body: index of the body on which it is drawn; ``at`` is a point in its frame (3,) [m].
        arm: vector from ``at`` to the start of the arrow, in N, (times, 3) [m].
        force, torque: vectors in N, (times, 3) [N, N m].
    """

    name: str
    body: int
    at: Array
    arm: Array
    force: Array
    torque: Array


class DrawnArrow(NamedTuple):
    """Arrow of a picture, in N.

    Attributes:
        start, end: end points [m].
        number: index of the name, which selects the colour.
        heads: number of heads, 1 for forces and 2 for torques.
    """

    start: Array
    end: Array
    number: int
    heads: int


def without_rounding(arrow: Arrow, size: float) -> Arrow:
    """Return the arrow with its arm, force or torque set to zero if it is negligible."""
    force, torque, arm = (np.linalg.norm(x, axis=1).max(initial=0.0) for x in (arrow.force, arrow.torque, arrow.arm))
    return replace(
        arrow,
        arm=arrow.arm * (arm > ARROW_ROUNDING * size),
        force=arrow.force * (force * size > ARROW_ROUNDING * torque),
        torque=arrow.torque * (torque > ARROW_ROUNDING * force * size),
    )


def scales_of(arrows: Sequence[Arrow], size: float) -> dict[str, float]:
    """Return the lengths of arrows per force [m/N] and per torque [m/(N m)]; zero without forces or torques.

    The ARROW_PERCENTILE of the forces becomes half as long as the scene, the same percentile of the torques a third.
    """
    forces, torques = ([getattr(a, word) for a in arrows] for word in ("force", "torque"))
    return {"force": _scale(forces, size / 2), "torque": _scale(torques, size / 3)}


def _scale(vectors: Sequence[Array], length: float) -> float:
    sizes = np.concatenate([np.zeros(0), *(np.linalg.norm(x, axis=1) for x in vectors)])
    # The force per metre is rounded to two digits.
    return 1.0 / float(f"{np.percentile(sizes[sizes > 0.0], ARROW_PERCENTILE) / length:.1e}") if sizes.any() else 0.0


def drawn_arrows(
    arrows: Sequence[Arrow], k: int, pose: tuple[Array, Array], scales: dict[str, float]
) -> Iterator[DrawnArrow]:
    """Yield the arrows at time index k, for poses R_NP (frames, 3, 3) and p_NoPo (frames, 3)."""
    R, p = pose
    names = list(dict.fromkeys(arrow.name for arrow in arrows))
    for arrow in arrows:
        start = p[arrow.body] + R[arrow.body] @ arrow.at + arrow.arm[k]
        for heads, vector, scale in ((1, arrow.force[k], scales["force"]), (2, arrow.torque[k], scales["torque"])):
            if scale * np.linalg.norm(vector) > 0.0:
                yield DrawnArrow(start, start + scale * vector, names.index(arrow.name), heads)


def legend(arrows: Sequence[Arrow], scales: dict[str, float]) -> list[tuple[str, int | None]]:
    """Return the lines of the legend: names with their colour numbers, then the scale with None."""
    names = list(dict.fromkeys(arrow.name for arrow in arrows))
    lengths = [
        f"{float(f'{1.0 / scales[word]:.1e}'):g} {unit}"
        for word, unit in (("force", "N"), ("torque", "N m"))
        if scales[word]
    ]
    return [*((name, k) for k, name in enumerate(names)), *([(f"1 m: {', '.join(lengths)}", None)] if lengths else [])]
