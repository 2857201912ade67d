"""Animation of a mode shape."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kane.analysis.assembly.assemble import assemble
from kane.analysis.linear.linearization import Linearization, Mode
from kane.analysis.small_motions import SmallMotions, displacement_names
from kane.array_types import Array
from kane.deferred import dataclass
from kane.display.thinned_run import ShownRun, replay_page
from kane.dynamics.dynamics import Dynamics
from kane.errors import ModelError, shown
from kane.expression.number_arguments import number, positive, require

# Duration of the animation in periods, or in time constants if the mode does not oscillate; and number of frames.
PERIODS, FOLDS, PICTURES = 3.0, 3.0, 181
# Eigenvalues below this count as zero [1/s]; their modes are shown for one second.
ZERO_EIGENVALUE = 1e-6
# Largest amplitude; squares of larger ones overflow.
VAST = 1e100


@dataclass(frozen=True, eq=False)
class ModeMotion:
    """Animation of one mode of a linear system about a configuration.

        motion = kane.mode_motion(lin, lin.modes()[0], amplitude=0.3)
        motion.save_html("weave.html")
        kane.draw3d(dyn, q=motion.q[0])

    Attributes:
        mode: the mode.
        time: (times,) [s].
        q: coordinates (times, nq), which satisfy the configuration constraints for any amplitude.
    """

    mode: Mode
    time: Array
    q: Array
    _dyn: Dynamics
    _parameters: Mapping[str, float]

    def save_html(self, path: str | os.PathLike[str], *, traces: Sequence[Any] = ()) -> Path:
        """Write a self-contained page that plays the mode.

        Args:
            path: path of the file, which is replaced if it exists.
            traces: points, bodies or names of frames whose paths are drawn.

        Raises:
            ModelError: the model has nothing to draw, or a trace is not a point, body or frame.
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
    """Return an animation of a mode, x = Re(shape e^(eigenvalue t)), scaled to an amplitude.

    It lasts three periods, or three time constants if the mode does not oscillate. Modes of a steady motion are shown
    in the moving system.

    Args:
        lin: from ``kane.linearize``, or a part of it; coordinates that the part omits do not move.
        mode: one of ``lin.modes()``.
        amplitude: largest displacement during the animation [m or rad].

    Raises:
        ModelError: the mode belongs to another system, or displaces no coordinate.
    """
    require(lin, Linearization, "mode_motion takes the result of kane.linearize")
    if not isinstance(mode, Mode) or len(mode.shape) != len(lin.states):
        raise ModelError(f"{shown(mode)} is not a mode of this system; give one of lin.modes()")
    about, dyn, amplitude = lin.about, lin.about.dyn, number(positive(amplitude, "amplitude"), "amplitude", "m or rad")
    if amplitude > VAST:
        raise ModelError(f"amplitude is {amplitude:g}, whose square overflows; give a smaller one, such as 0.1")
    names, states = displacement_names(dyn), lin.states
    free = [names[i] for i in about.free_displacements]
    shape = np.array([mode.shape[states.index(name)] if name in states else 0.0 for name in free], dtype=complex)
    displaced = about.allowed @ shape
    if not np.abs(displaced).max(initial=0.0) > ZERO_EIGENVALUE:
        raise ModelError(f"the mode of eigenvalue {mode.eigenvalue:.4g} displaces no coordinate")
    swing, growth = abs(mode.eigenvalue.imag), abs(mode.eigenvalue.real)
    length = (
        2.0 * np.pi * PERIODS / swing
        if swing > ZERO_EIGENVALUE
        else FOLDS / growth
        if growth > ZERO_EIGENVALUE
        else 1.0
    )
    time = np.linspace(0.0, length, PICTURES)
    course = np.real(np.exp(mode.eigenvalue * time)[:, None] * displaced)
    course *= amplitude / np.abs(course).max()
    q = np.array([_displaced(about, s) for s in course])
    values = dyn.parameter_values(about.parameters).tolist()
    parameters = dict(zip((leaf.name for leaf in dyn.equations.parameters), values, strict=True))
    return ModeMotion(mode, time, q, dyn, parameters)


def _displaced(about: SmallMotions, s: Array) -> Array:
    """Return the configuration displaced by s, projected onto the constraints."""
    q, dyn = about.q + about.Y @ s, about.dyn
    q = about.terms.normalised(q)
    if not dyn.equations.closing:
        return q
    return assemble(dyn, q=q, t=about.t, parameters=about.parameters).q
