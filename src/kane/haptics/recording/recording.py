"""Files of sessions: samples and commands of each tick, so that a session can be run again bit for bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from kane.deferred import NamedTuple
from kane.engine.memory.loop_arguments import Matrix
from kane.engine.memory.views import device_sample_at, log_row_at, log_row_size
from kane.errors import ImportFileError
from kane.files.given_path import given_path, readable_path
from kane.files.write_file import write_whole

SESSION_FORMAT, SESSION_VERSION = "kane haptic session", 3
BEFORE_ADMITTANCE = 2  # version without devices that measure force
ARRAYS = ("log", "commands", "states")
# Largest count of numbers that a file may declare.
MAX_FILE_NUMBERS = 2**30


class Recording(NamedTuple):
    """Content of a file of a session.

    Attributes:
        head: names in the model, values and start, settings of coupler, safety and device, lengths of runs, method.
        log: rows ``LogRow``, one per tick.
        commands: rows ``TakenCommand``.
        states: [t, q, u] at the start and after each tick.
    """

    head: Mapping[str, Any]
    log: Matrix
    commands: Matrix
    states: Matrix


def write_recording(path: Any, recording: Recording) -> None:
    """Write a file: a line of JSON, then the numbers, in the order of ARRAYS, as little-endian doubles.

    Raises:
        FileError: the file cannot be written.
    """
    arrays = [np.ascontiguousarray(getattr(recording, name), dtype="<f8") for name in ARRAYS]
    body = b"".join(array.tobytes() for array in arrays)
    head = {
        "format": SESSION_FORMAT,
        "version": SESSION_VERSION,
        "sha256": hashlib.sha256(body).hexdigest(),
        "shapes": [list(array.shape) for array in arrays],
        **recording.head,
    }
    text = json.dumps(head).encode() + b"\n"
    write_whole(given_path(path, "the file of a session"), lambda draft: draft.write_bytes(text + body))


def read_recording(path: Any) -> Recording:
    """Read a file.

    Raises:
        FileError: the file does not exist or cannot be read.
        ImportFileError: the file is not a session, has another version, or is damaged.
    """
    text, _, body = readable_path(path, "the file of a session").read_bytes().partition(b"\n")
    try:
        head = json.loads(text)
        known = head["format"] == SESSION_FORMAT
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise ImportFileError(f"{str(path)!r} is not the file of a haptic session; give one that Session.save wrote")
    if head.get("version") not in (BEFORE_ADMITTANCE, SESSION_VERSION):
        raise ImportFileError(
            f"{str(path)!r} is of version {head.get('version')!r}, and this kane reads versions {BEFORE_ADMITTANCE} "
            f"and {SESSION_VERSION}; replay it with the kane that wrote it"
        )
    shapes = head.get("shapes")
    sound = isinstance(shapes, list) and len(shapes) == len(ARRAYS) and all(_is_shape(shape) for shape in shapes)
    sizes = [shape[0] * shape[1] for shape in shapes] if sound else []
    if not sound or sum(sizes) * 8 != len(body) or head.get("sha256") != hashlib.sha256(body).hexdigest():
        raise ImportFileError(f"{str(path)!r} is damaged; take another copy, or record the session again")
    places = np.cumsum([0, *sizes])
    numbers = np.frombuffer(body, dtype="<f8").astype(float)
    log, *others = (numbers[places[k] : places[k + 1]].reshape(shapes[k]) for k in range(len(ARRAYS)))
    log = log if head["version"] == SESSION_VERSION else _without_admittance(log)
    if log.shape[1] != log_row_size():
        raise ImportFileError(f"{str(path)!r} is damaged: its ticks have {shapes[0][1]} numbers each")
    return Recording(head, log, *others)


def _without_admittance(log: Matrix) -> Matrix:
    """Return rows of BEFORE_ADMITTANCE as ``LogRow``, with zeros for measured forces and commanded positions."""
    row = log_row_at(np.zeros((1, log_row_size())), 0)
    sample = device_sample_at(np.zeros((1, log_row_size())), row.sample)
    first = row.energies - row.moves.shape[1] - row.position.shape[1]
    commands, forces = (np.zeros((len(log), n)) for n in (row.energies - first, sample.force.shape[1]))
    return np.hstack([log[:, :first], commands, log[:, first:], forces])


def _is_shape(shape: Any) -> bool:
    whole = isinstance(shape, list) and len(shape) == 2 and all(type(n) is int and n >= 0 for n in shape)
    return whole and shape[0] * shape[1] < MAX_FILE_NUMBERS
