"""Replay of sessions from their files."""

from __future__ import annotations

from typing import Any

import numpy as np

from kane.dynamics.dynamics import Dynamics
from kane.engine.memory.views import device_sample_at, log_row_at
from kane.errors import ImportFileError, SimulationError, shown
from kane.expression.number_arguments import require
from kane.haptics.coupling.admittance_coupler import AdmittanceCoupler
from kane.haptics.coupling.coupler import Coupler
from kane.haptics.coupling.inverse_dynamics import InverseDynamics
from kane.haptics.coupling.passive_midpoint import PassiveMidpoint
from kane.haptics.coupling.rigid_coupler import RigidCoupler
from kane.haptics.devices.device import Traits
from kane.haptics.devices.recorded_device import RecordedDevice
from kane.haptics.recording.recording import Recording, read_recording
from kane.haptics.safety.force_limits import Safety
from kane.haptics.session import Session
from kane.simulation import integrators

# Methods that only sessions have.
METHODS = {"PassiveMidpoint": PassiveMidpoint(), InverseDynamics.name: None}


def replay(path: Any, dyn: Dynamics) -> Session:
    """Run a session again from a file of ``Session.save``, with the recorded samples and commands, bit for bit.

    Args:
        path: path of the file.
        dyn: dynamics of the recorded model.

    Returns:
        The closed session, with the same ``trajectory``, ``report`` and ``log`` as the recorded one.

    Raises:
        FileError: the file does not exist or cannot be read.
        ImportFileError: the file is not a session, has another version or model, or is damaged.
        SimulationError: the motion differs from the recorded one; the message has the first different tick.
    """
    require(dyn, Dynamics, "replay needs Dynamics, as kane.build(equations) makes them")
    recording = read_recording(path)
    try:
        session = _session(recording, dyn)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ImportFileError(f"{str(path)!r} does not fit the model {dyn.equations.name!r}: {error}") from error
    with session:
        session.run_recorded(recording)
    then, now = recording.states, session.states
    if then.shape != now.shape or not np.array_equal(then, now, equal_nan=True):
        n = min(len(then), len(now))
        first = int(np.argmax(np.append((then[:n] != now[:n]).any(axis=1), True)))
        raise SimulationError(
            f"the replay of {str(path)!r} differs from the recording from tick {first} on, because the model, kane or "
            "the processor has changed"
        )
    return session


def _session(recording: Recording, dyn: Dynamics) -> Session:
    head, e = recording.head, dyn.equations
    coordinates, speeds = [x.name for x in e.q], [x.name for x in e.u]
    names = {"model": ("is", e.name), "coordinates": ("are", coordinates), "speeds": ("are", speeds)}
    for word, (verb, found) in names.items():
        if head[word] != found:
            raise ImportFileError(
                f"its {word} {verb} {shown(head[word])}, not {shown(found)}; give the Dynamics that were recorded"
            )
    (body,) = (body for body in e.model.bodies if body.name == head["handle"][0])
    kind: Any = RigidCoupler if head["method"] == InverseDynamics.name else Coupler
    kind = AdmittanceCoupler if head["device"].get("measures_force", False) else kind
    coupler = kind(body.point(head["handle"][1]), **head["coupler"])
    samples = device_sample_at(recording.log, log_row_at(recording.log, 0).sample).whole
    return Session(
        dyn,
        RecordedDevice(Traits(**head["device"]), samples),
        coupler,
        q=head["q"],
        u=head["u"],
        inputs=head["inputs"],
        parameters=head["parameters"],
        integrator=METHODS[head["method"]] if head["method"] in METHODS else getattr(integrators, head["method"])(),
        safety=Safety(**head["safety"]),
        predict=head.get("predict", False),
    )
