"""Arrows: forces and torques on bodies over time, and how long they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kane.array_types import Array

# What is less than this beside its equals is rounding; which percentile of forces fills the scene, spikes left out.
ARROW_ROUNDING, ARROW_PERCENTILE = 1e-9, 95


@dataclass(frozen=True)
class Arrow:
    """A force and a torque over time.

    Attributes:
        name: what is shown.
        body: index of the body on which it is drawn; ``at`` a point in its frame (3,) [m].
        arm: from there to where it is drawn, in N, (times, 3) [m].
        force, torque: in N, (times, 3) [N, N m].
    """

    name: str
    body: int
    at: Array
    arm: Array
    force: Array
    torque: Array


class DrawnArrow(NamedTuple):
    """An arrow in N, of a picture.

    Attributes:
        start, end: [m].
        number: of what it is of, for its colour.
        heads: two of torques.
    """

    start: Array
    end: Array
    number: int
    heads: int


def without_rounding(arrow: Arrow, size: float) -> Arrow:
    """An arrow whose torque, force or arm is zero where it is nothing beside the others."""
    force, torque, arm = (np.linalg.norm(x, axis=1).max(initial=0.0) for x in (arrow.force, arrow.torque, arrow.arm))
    return replace(
        arrow,
        arm=arrow.arm * (arm > ARROW_ROUNDING * size),
        force=arrow.force * (force * size > ARROW_ROUNDING * torque),
        torque=arrow.torque * (torque > ARROW_ROUNDING * force * size),
    )


def scales_of(arrows: Sequence[Arrow], size: float) -> dict[str, float]:
    """Metres for a newton and for a newton metre: what is seldom exceeded is half as long as the scene, of torques a
    third; 0 where there are none.
    """
    forces, torques = ([getattr(a, word) for a in arrows] for word in ("force", "torque"))
    return {"force": _scale(forces, size / 2), "torque": _scale(torques, size / 3)}


def _scale(vectors: Sequence[Array], length: float) -> float:
    sizes = np.concatenate([np.zeros(0), *(np.linalg.norm(x, axis=1) for x in vectors)])
    # One metre stands for a force of two digits.
    return 1.0 / float(f"{np.percentile(sizes[sizes > 0.0], ARROW_PERCENTILE) / length:.1e}") if sizes.any() else 0.0


def drawn_arrows(
    arrows: Sequence[Arrow], k: int, pose: tuple[Array, Array], scales: dict[str, float]
) -> Iterator[DrawnArrow]:
    """The arrows at time k, bodies at R_NP (frames, 3, 3) and p_NoPo (frames, 3)."""
    R, p = pose
    names = list(dict.fromkeys(arrow.name for arrow in arrows))
    for arrow in arrows:
        start = p[arrow.body] + R[arrow.body] @ arrow.at + arrow.arm[k]
        for heads, vector, scale in ((1, arrow.force[k], scales["force"]), (2, arrow.torque[k], scales["torque"])):
            if scale * np.linalg.norm(vector) > 0.0:
                yield DrawnArrow(start, start + scale * vector, names.index(arrow.name), heads)


def legend(arrows: Sequence[Arrow], scales: dict[str, float]) -> list[tuple[str, int | None]]:
    """What stands beside arrows: the names of what they are of with their numbers, then how long they are."""
    names = list(dict.fromkeys(arrow.name for arrow in arrows))
    lengths = [
        f"{float(f'{1.0 / scales[word]:.1e}'):g} {unit}"
        for word, unit in (("force", "N"), ("torque", "N m"))
        if scales[word]
    ]
    return [*((name, k) for k, name in enumerate(names)), *([(f"1 m: {', '.join(lengths)}", None)] if lengths else [])]
