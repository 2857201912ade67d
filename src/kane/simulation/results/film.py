"""Videos of runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from kane.display.arrows import Arrow, DrawnArrow, drawn_arrows, legend, scales_of, without_rounding
from kane.display.live_motion import looked_at
from kane.display.scene import Numbers, scene_of
from kane.display.solid_picture import SolidPicture
from kane.display.video import MOST_OF_GIF, Image, film_kind, save_film
from kane.errors import ModelError, shown
from kane.expression.number_arguments import positive, words
from kane.geometry.quaternion import normalise_quaternions
from kane.simulation.results.force_arrows import arrows_of
from kane.simulation.results.run_model import dynamics_of, parameters_of

DOTS = 100  # pixels per inch
# Number of poses that determine the extent of the picture, and the largest number of frames.
EXTENT_POSES, MOST_FRAMES = 60, 20_000


def save_video(run: Any, path: Any, *, fps: float, speed: float, size: Any, arrows: Any) -> Path:
    """Write a video; see ``Replayed.save_video``."""
    kind = film_kind(path)
    rate, pace = positive(fps, "fps"), positive(speed, "speed")
    if kind == ".gif" and rate > MOST_OF_GIF:
        raise ModelError(
            f"fps is {rate:g}, but a GIF shows at most {MOST_OF_GIF:g} frames per second; give that, or write .mp4"
        )
    width, height = _pixels(size)
    record: Any = run
    duration = abs(float(record.time[-1] - record.time[0])) / pace
    count = int(duration * rate * (1.0 + 1e-9)) + 1
    if count > MOST_FRAMES:
        raise ModelError(f"the video would have {count} frames; give a smaller fps=, or speed= above 1")
    times = record.time[0] + np.sign(record.time[-1] - record.time[0]) * pace / rate * np.arange(count)
    dyn, values = dynamics_of(run), parameters_of(run)
    eqs, numbers = dyn.equations, Numbers(dyn.equations, values)
    scene = scene_of(eqs, parameters=values, q=record.q[0])
    picture = SolidPicture(scene, looked_at(eqs, scene, [record.time[0], *record.q[0], *record.u[0]], numbers))
    R, p = _poses(dyn, times, _states_at(record, times, eqs.quaternions), values)
    acting, scales = _arrows_at(run, dyn, (times, scene.size), words(arrows, "arrows", "names"))

    def shown_arrows(k: int) -> list[DrawnArrow]:
        return list(drawn_arrows(acting, k, (R[k], p[k]), scales))

    looks = np.unique(np.linspace(0, count - 1, EXTENT_POSES).astype(int))
    extent = picture.extent([(R[k], p[k]) for k in looks], [a.end for k in looks for a in shown_arrows(k)])

    def frames() -> Iterator[Image]:
        for k in range(count):
            figure, axes = picture.figure(extent, (width / DOTS, height / DOTS))
            figure.set_dpi(DOTS)
            canvas = FigureCanvasAgg(figure)
            picture.draw(axes, (R[k], p[k]), extent[2], shown_arrows(k))
            picture.write_legend(axes, legend(acting, scales))
            canvas.draw()
            yield np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])

    save_film(path, kind, frames, rate)
    return Path(path)


def _arrows_at(
    run: Any, dyn: Any, seen: tuple[np.ndarray, float], names: list[str]
) -> tuple[list[Arrow], dict[str, float]]:
    """Return the arrows of a run at times, interpolated linearly between the records, and their scales."""
    times, size = seen
    order = np.argsort(run.time)

    def at_times(values: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(times, run.time[order], x) for x in values[order].T], axis=1)

    found = [without_rounding(arrow, size) for arrow in arrows_of(run, dyn, names)]
    shown_at = [replace(a, arm=at_times(a.arm), force=at_times(a.force), torque=at_times(a.torque)) for a in found]
    return shown_at, scales_of(found, size)


def _pixels(size: Any) -> tuple[int, int]:
    """Return width and height, which codecs need to be even."""
    whole = isinstance(size, tuple | list) and len(size) == 2 and all(type(s) is int and 16 <= s <= 8192 for s in size)
    if not whole or size[0] % 2 or size[1] % 2:
        raise ModelError(
            f"the size of a video is {shown(size)}; give width and height in pixels, even numbers from 16 to 8192"
        )
    return int(size[0]), int(size[1])


def _states_at(record: Any, times: np.ndarray, quaternions: tuple[int, ...]) -> np.ndarray:
    """Interpolate the coordinates linearly between the records, and normalize quaternions."""
    order = np.argsort(record.time)
    q = record.q[order].copy()
    for start in quaternions:
        block = q[:, start : start + 4]
        flips = np.cumprod(np.where(np.einsum("ij,ij->i", block[1:], block[:-1]) < 0.0, -1.0, 1.0))
        block[1:] *= flips[:, None]
    found = np.stack([np.interp(times, record.time[order], column) for column in q.T], axis=1)
    normalise_quaternions(found, quaternions)
    return found


def _poses(dyn: Any, times: np.ndarray, q: np.ndarray, parameters: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return R_NP (times, frames, 3, 3) and p_NoPo (times, frames, 3) of the ground and of all posed frames."""
    found = dyn.poses(q, times, parameters=parameters).values()
    still = np.broadcast_to(np.eye(3), (len(times), 3, 3)), np.zeros((len(times), 3))
    R = np.stack([still[0], *(np.broadcast_to(pose.orientation, still[0].shape) for pose in found)], axis=1)
    p = np.stack([still[1], *(np.broadcast_to(pose.position, still[1].shape) for pose in found)], axis=1)
    return R, p
