"""Still pictures of scenes with matplotlib: filled triangles, from back to front, in parallel projection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from kane.display.arrows import DrawnArrow
from kane.display.piece import Array, DrawnPiece
from kane.display.scene import Scene
from kane.model.shapes.part import SQUARE_FORM

# Colours of bodies, as on the page.
PALETTE = ("#4878cf", "#e8853a", "#4fa866", "#c8504b", "#8d6cbc", "#b88a5a", "#d77fb4", "#7a8594", "#b3a33a", "#35a5b5")
GROUND, SHADOW, FAINT = "#9ea3ab", "#dfe2e7", "#5d6878"
# View direction: angle about the vertical axis and above the horizontal plane [rad]; the same for flat mechanisms.
VIEW_AZIMUTH, VIEW_ELEVATION, FLAT_VIEW_AZIMUTH, FLAT_VIEW_ELEVATION = -1.05, 0.38, -0.25, 0.12
DARKEST_SHADE, SOLID_PICTURE_MARGIN = 0.45, 0.04
# Arrows: index of the first colour, length of a head relative to the scene, half its width relative to its length.
FIRST_OF_ARROWS, ARROW_HEAD_LENGTH, ARROW_HALF_WIDTH = 3, 0.06, 0.32
# Squares of planes are not drawn: sorted by depth of their centres, they would hide objects on them.
FLOORS = (SQUARE_FORM,)


class SolidPicture:
    """Scene seen from one direction; each pose is drawn as filled triangles in the picture plane."""

    def __init__(self, scene: Scene, flat: Sequence[float] | None) -> None:
        """Set the view direction; for mechanisms in a vertical plane, ``flat`` is the normal of the plane."""
        self.scene = scene
        self.up = np.array(scene.up)
        first = np.cross([0.0, 0.0, 1.0] if abs(self.up[1]) > 0.9 else [0.0, 1.0, 0.0], self.up)
        first /= np.linalg.norm(first)
        second = np.cross(self.up, first)
        turn, above = VIEW_AZIMUTH, VIEW_ELEVATION
        if flat is not None:
            turn, above = float(np.arctan2(second @ flat, first @ flat)) + FLAT_VIEW_AZIMUTH, FLAT_VIEW_ELEVATION
        level = np.cos(turn) * first + np.sin(turn) * second
        self.towards = np.cos(above) * level + np.sin(above) * self.up
        self.right = np.cross(self.up, self.towards)
        self.right /= np.linalg.norm(self.right)
        self.plane = np.stack([self.right, np.cross(self.towards, self.right)])
        sun = self.up + 0.45 * first - 0.6 * second
        self.sun = sun / np.linalg.norm(sun)
        self.corners = [self._corners(piece) for piece in scene.pieces]

    def _corners(self, piece: DrawnPiece) -> Array:
        """Return the triangles of a piece in the frame of its body, (m, 3 corners, 3)."""
        form = self.scene.forms[piece.form]
        return (form.points @ piece.stretch.T + piece.position)[form.faces]

    def triangles(self, R: Array, p: Array) -> Iterator[tuple[DrawnPiece, Array]]:
        """Yield the pieces with their triangles in N, for poses R_NP (frames, 3, 3) and p_NoPo (frames, 3)."""
        for piece, corners in zip(self.scene.pieces, self.corners, strict=True):
            yield piece, corners @ R[piece.body].T + p[piece.body]

    def extent(self, poses: Sequence[tuple[Array, Array]], more: Sequence[Array] = ()) -> tuple[Array, Array, float]:
        """Return lower and upper bounds in the picture plane and the height of the ground, over several poses.

        The bounds include shadows and the points ``more``.
        """
        found = [x.reshape(-1, 3) for R, p in poses for piece, x in self.triangles(R, p) if piece.form not in FLOORS]
        points = np.concatenate(found)
        height = float((points @ self.up).min()) - 0.01 * self.scene.size
        flat = np.concatenate([points, self._on_ground(points, height), *(x[None] for x in more)]) @ self.plane.T
        return flat.min(axis=0), flat.max(axis=0), height

    def _on_ground(self, points: Array, height: float) -> Array:
        """Return the shadows of points on the ground."""
        ratio = (points @ self.up - height) / (self.sun @ self.up)
        return points - ratio[..., None] * self.sun

    def draw(self, axes: Axes, pose: tuple[Array, Array], height: float, arrows: Iterable[DrawnArrow] = ()) -> None:
        """Draw one pose, and arrows above it."""
        R, p = pose
        solids = [(piece, x) for piece, x in self.triangles(R, p) if piece.form not in FLOORS]
        everything = np.concatenate([x for _, x in solids])
        shadow = self._on_ground(everything, height) @ self.plane.T
        axes.add_collection(PolyCollection(shadow, facecolors=SHADOW, edgecolors=SHADOW, linewidths=0.4))
        colours = np.concatenate([np.tile(self._colour(piece), (len(x), 1)) for piece, x in solids])
        normals = np.cross(everything[:, 1] - everything[:, 0], everything[:, 2] - everything[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        seen = normals @ self.towards
        normals *= np.where(seen < 0.0, -1.0, 1.0)[:, None]
        shade = DARKEST_SHADE + (1.0 - DARKEST_SHADE) * np.clip(0.25 + 0.75 * (normals @ self.sun), 0.0, 1.0)
        order = np.argsort(everything.mean(axis=1) @ self.towards)
        filled = np.clip(colours * shade[:, None], 0.0, 1.0)[order]
        flat = (everything @ self.plane.T)[order]
        axes.add_collection(PolyCollection(flat, facecolors=filled, edgecolors=filled, linewidths=0.25))
        lines = [
            np.stack([R[b] @ x + p[b] for b, x in zip(tie.bodies, tie.points, strict=True)]) @ self.plane.T
            for tie in self.scene.ties
        ]
        axes.add_collection(LineCollection(lines, colors="#3a4250", linewidths=1.0, zorder=0.9))
        self._draw_arrows(axes, list(arrows))

    def _draw_arrows(self, axes: Axes, arrows: Sequence[DrawnArrow]) -> None:
        """Draw shafts and heads, whose size does not depend on the view direction; torques have two heads."""
        shafts = [np.stack([arrow.start, arrow.end]) @ self.plane.T for arrow in arrows]
        colours = [PALETTE[(arrow.number + FIRST_OF_ARROWS) % len(PALETTE)] for arrow in arrows]
        axes.add_collection(LineCollection(shafts, colors=colours, linewidths=1.8, zorder=3))
        heads, filled = [], []
        for arrow, shaft, colour in zip(arrows, shafts, colours, strict=True):
            along = shaft[1] - shaft[0]
            length = min(ARROW_HEAD_LENGTH * self.scene.size, 0.5 * float(np.linalg.norm(arrow.end - arrow.start)))
            along = along / max(float(np.linalg.norm(along)), 1e-300)
            across = np.array([-along[1], along[0]])
            for k in range(arrow.heads):
                tip = shaft[1] - 0.7 * k * length * along
                wide = ARROW_HALF_WIDTH * across
                heads.append([tip, *(tip - length * (along + side * wide) for side in (1.0, -1.0))])
                filled.append(colour)
        axes.add_collection(PolyCollection(heads, facecolors=filled, edgecolors=filled, linewidths=0.5, zorder=3))

    def _colour(self, piece: DrawnPiece) -> tuple[float, float, float]:
        return to_rgb(GROUND if piece.look == "ground" else PALETTE[(piece.body - 1) % len(PALETTE)])

    @staticmethod
    def write_legend(axes: Axes, lines: Sequence[tuple[str, int | None]]) -> None:
        """Write the legend in the lower left corner, in the colours of the arrows."""
        for k, (text, number) in enumerate(reversed(lines)):
            colour = FAINT if number is None else PALETTE[(number + FIRST_OF_ARROWS) % len(PALETTE)]
            place = (4.0, 4.0 + 9.0 * k)
            axes.annotate(text, (0.0, 0.0), place, "axes fraction", "offset points", color=colour, fontsize=7)

    def figure(self, extent: tuple[Array, Array, float], size: tuple[float, float]) -> tuple[Figure, Axes]:
        """Return an empty figure of this size [inches] that shows the whole extent."""
        low, high, _ = extent
        figure = Figure(figsize=size)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        middle, half = 0.5 * (low + high), (0.5 + SOLID_PICTURE_MARGIN) * np.maximum(high - low, 1e-9)
        half = (
            half[1] * np.array([size[0] / size[1], 1.0])
            if half[0] / half[1] < size[0] / size[1]
            else (half[0] * np.array([1.0, size[1] / size[0]]))
        )
        axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
        axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
        axes.set_aspect("equal")
        return figure, axes
