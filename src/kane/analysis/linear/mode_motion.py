"""A mode as a motion that can be seen."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kane.analysis.assembly.assemble import assemble
from kane.analysis.linear.linearization import Linearization, Mode
from kane.analysis.small_motions import SmallMotions, displacement_names
from kane.display.replay import ShownRun, replay_page
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.arguments import number, positive, require

Array = NDArray[np.float64]
# Of an oscillation so many periods are shown, of a motion without so many times in which it grows or falls e-fold.
PERIODS, FOLDS, PICTURES = 3.0, 3.0, 181
# Eigenvalues below this are zero: what neither grows nor swings is shown for a second.
STILL = 1e-6
# Amplitudes beyond this have no square.
VAST = 1e100


@dataclass(frozen=True, eq=False)
class ModeMotion:
    """A mode of a linear system about a configuration, as a motion in the moving system.

        motion = kane.mode_motion(lin, lin.modes()[0], amplitude=0.3)
        motion.save_html("weave.html")
        kane.draw3d(dyn, q=motion.q[0])

    Attributes:
        mode: which.
        time: (times,) [s].
        q: (times, nq): on the configuration constraints, whatever the amplitude.
    """

    mode: Mode
    time: Array
    q: Array
    _dyn: Dynamics
    _parameters: Mapping[str, float]

    def save_html(self, path: str | os.PathLike[str], *, traces: Sequence[Any] = ()) -> Path:
        """Write a page that plays the mode, as one file that asks no network.

        Args:
            path: of the file; replaced if it is there.
            traces: points, bodies or names of frames whose paths are drawn.

        Raises:
            ModelError: there is nothing to see, or a trace is neither a point nor a body or frame.
            FileError: the file cannot be written.
        """
        equations, value = self._dyn.equations, self.mode.eigenvalue
        name = f"mode {value.real:.4g}{value.imag:+.4g}j"
        series = {leaf.name: column for leaf, column in zip(equations.q, self.q.T, strict=True)}
        shown = ShownRun(name, self.time, self.q, series)
        return replay_page(equations, [shown], parameters=self._parameters, traces=traces).save(path)

    def __repr__(self) -> str:
        value = self.mode.eigenvalue
        return f"<ModeMotion of eigenvalue {value:.4g} 1/s, {self.time[-1]:.4g} s>"


def mode_motion(lin: Linearization, mode: Mode, *, amplitude: float = 0.2) -> ModeMotion:
    """A mode of a linear system as a motion that can be seen: x = Re(shape e^(eigenvalue t)), enlarged.

    Three periods, or where nothing swings the time in which it grows or falls three times e-fold. In a steady motion it
    is shown in the system that moves with it.

    Args:
        lin: from ``kane.linearize``, or a part of it: coordinates that the part leaves out stay where they are.
        mode: one of ``lin.modes()``.
        amplitude: largest displacement in all the time [m or rad].

    Raises:
        ModelError: the mode is of another system, or displaces no coordinate.
    """
    require(lin, Linearization, "mode_motion takes what kane.linearize returned")
    if not isinstance(mode, Mode) or len(mode.shape) != len(lin.states):
        raise ModelError(f"{shown(mode)} is no mode of this system; give one of lin.modes()")
    about, dyn, amplitude = lin.about, lin.about.dyn, number(positive(amplitude, "amplitude"), "amplitude", "m or rad")
    if amplitude > VAST:
        raise ModelError(f"amplitude is {amplitude:g}; give one whose square is a number, such as 0.1")
    names, states = displacement_names(dyn), lin.states
    free = [names[i] for i in about.free_displacements]
    shape = np.array([mode.shape[states.index(name)] if name in states else 0.0 for name in free], dtype=complex)
    displaced = about.allowed @ shape
    if not np.abs(displaced).max(initial=0.0) > STILL:
        raise ModelError(f"the mode of eigenvalue {mode.eigenvalue:.4g} displaces nothing that can be seen")
    swing, growth = abs(mode.eigenvalue.imag), abs(mode.eigenvalue.real)
    length = 2.0 * np.pi * PERIODS / swing if swing > STILL else FOLDS / growth if growth > STILL else 1.0
    time = np.linspace(0.0, length, PICTURES)
    course = np.real(np.exp(mode.eigenvalue * time)[:, None] * displaced)
    course *= amplitude / np.abs(course).max()
    q = np.array([_displaced(about, s) for s in course])
    values = dyn.parameter_values(about.parameters).tolist()
    parameters = dict(zip((leaf.name for leaf in dyn.equations.parameters), values, strict=True))
    return ModeMotion(mode, time, q, dyn, parameters)


def _displaced(about: SmallMotions, s: Array) -> Array:
    """The configuration displaced by s, put onto the constraints where the straight way leaves them."""
    q, dyn = about.q + about.Y @ s, about.dyn
    q = about.terms.normalised(q)
    if not dyn.equations.closing:
        return q
    return assemble(dyn, q=q, t=about.t, parameters=about.parameters).q
