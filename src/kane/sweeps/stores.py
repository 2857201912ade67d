"""Stores of sweeps: a folder in the format zarr 3 with a log of finished pieces, or arrays in memory."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kane.array_types import Array
from kane.errors import FileError, ImportFileError, ModelError, warn
from kane.files.given_path import given_path
from kane.files.lock import lock_folder
from kane.files.write_file import made_folder, write_whole
from kane.machine.memory import free_memory
from kane.sweeps.tally import Tally

STORE_FORMAT, STORE_VERSION = "kane sweep", 1
METADATA, PIECES_LOG, DRAFT = "zarr.json", "pieces.jsonl", ".kane."
NOT_COMPUTED, COMPUTED, FAILED = range(3)  # values of the variable "status"
STATUS = "status"
# Bytes that remain free on the disk for the log and other programs, per byte of arrays.
DISK_MARGIN = 1.05


class LogEntry(NamedTuple):
    """Log entry of a finished piece: runs first <= k < last.

    Attributes:
        first, last: first run, and run after the last.
        rows: hash of the values that vary, to recognize another study.
        tallies: statistics of each result.
        failures: reason by number of the run.
        checksum: of the arrays of the piece in files.
    """

    first: int
    last: int
    rows: str
    tallies: tuple[Tally, ...]
    failures: Mapping[int, str]
    checksum: int = 0

    def line(self) -> str:
        """Return the entry as one line of the log."""
        failures = {str(run): reason for run, reason in self.failures.items()}
        return json.dumps([*self[:4], failures, self.checksum]) + "\n"

    @classmethod
    def of_line(cls, raw: Sequence[Any]) -> LogEntry:
        """Return the entry of a line of the log."""
        first, last, rows, tallies, failures, checksum = raw
        reasons = {int(k): x for k, x in failures.items()}
        return cls(first, last, rows, tuple(Tally(*t) for t in tallies), reasons, checksum)


@dataclass
class SweepStore:
    """Arrays of a sweep in memory.

    Attributes:
        about: settings of the study; ``runs``, ``chunk`` and ``file_runs`` are the numbers of runs: of all, per chunk,
            and per file.
        shapes: shape of one run by name of the variable: () or (times,).
        entries: log of the finished pieces.
    """

    about: dict[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    entries: list[LogEntry]

    def __post_init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    @property
    def bytes(self) -> int:
        """Size of all arrays."""
        size = self.about["file_runs"]
        n = -(-self.about["runs"] // size) * size
        return n * sum(8 * math.prod(shape) for shape in self.shapes.values())

    @property
    def runs(self) -> int:
        """Number of runs, up to the run after which the study stopped."""
        return int(min(self.about["runs"], self.about.get("stopped") or self.about["runs"]))

    def begin(self) -> None:
        """Prepare for ``write``.

        Raises:
            FileError: the store does not fit in memory, or on its disk.
        """
        free = free_memory()
        if self.bytes > free:
            raise FileError(f"{self._needed(self.bytes, free, 'memory')}; give store= a folder, or fewer runs")

    def _needed(self, needed: float, free: float, where: str) -> str:
        n, names = self.about["runs"], len(self.shapes)
        return f"{n:,} runs with {names} variables need {_size(needed)}, and {where} has {_size(free)} free"

    def write(self, values: Mapping[str, Array], entry: LogEntry) -> None:
        """SweepStore the arrays of a piece, then its log entry."""
        for name, shape in self.shapes.items():
            if name not in self._arrays:
                self._arrays[name] = np.full((self.about["runs"], *shape), _fill(name))
            self._arrays[name][entry.first : entry.last] = values[name]
        self.entries.append(entry)

    def read(self, name: str) -> Array:
        """Return a variable of all runs, (runs, ...); NaN where a run is not computed."""
        found = self._arrays.get(name)
        return np.full((self.runs, *self.shapes[name]), _fill(name)) if found is None else found[: self.runs]

    def stop(self, runs: int | None) -> None:
        """End the study after a number of runs; None continues it."""
        self.about["stopped"] = runs

    @property
    def busy(self) -> bool:
        """Whether another process writes the store."""
        return False

    def close(self) -> None:
        """Release the store for other processes."""


class FolderStore(SweepStore):
    """Arrays in a folder that zarr and xarray read; a file has the runs of many chunks for one variable.

    A piece is written into its place of each file. It counts as computed when its line is in the log, written last.
    """

    def __init__(self, path: Any, about: dict[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
        super().__init__(about, shapes, [])
        self.path = given_path(path, "the store of a sweep")
        self._lock = -1
        self._log: Any = None
        self._files: dict[tuple[str, int], int] = {}

    @classmethod
    def opened(cls, path: Any) -> FolderStore | None:
        """Return the store at a path, for reading; None if there is nothing.

        Raises:
            ImportFileError: the folder is not a store of a sweep, or was written by a newer kane.
        """
        folder = given_path(path, "the store of a sweep")
        try:
            if not folder.exists() or (folder.is_dir() and all(x.name.startswith(DRAFT) for x in folder.iterdir())):
                return None
            content = json.loads((folder / METADATA).read_text("utf-8"))
            about = content["attributes"]["kane_sweep"]
            shapes = {name: tuple(shape) for name, shape in about.pop("shapes").items()}
            if about["format_version"] > STORE_VERSION:
                raise ImportFileError(f"{str(folder)!r} was written by a newer kane, {about['kane']}; use that version")
            found = cls(folder, about, shapes)
            found._read_log()
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, ImportFileError):
                raise
            raise ImportFileError(
                f"{str(folder)!r} is not a store of kane.sweep ({type(error).__name__}: {error}); give another path"
            ) from None
        return found

    def _read_log(self) -> int:
        """Read the log up to the last whole line; return its length in bytes."""
        path, whole, found = self.path / PIECES_LOG, 0, dict[int, LogEntry]()
        data = path.read_bytes() if path.exists() else b""
        for line in data.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break  # the process was killed within this line
            whole, raw = whole + len(line), json.loads(line)
            if isinstance(raw, dict):
                self.about["stopped"] = raw["stopped"]
            else:
                entry = LogEntry.of_line(raw)
                found[entry.first] = entry  # the last line of a piece that was computed again
        self.entries[:] = found.values()
        return whole

    def begin(self) -> None:
        """Create the folder, or continue it, and lock it for other processes.

        Raises:
            FileError: the disk is too small, another process writes the store, or the folder cannot be written.
        """
        if sys.platform == "win32":
            raise FileError("Windows has no locks of folders, which stores need; sweep without a store, in memory")
        made_folder(self.path)
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            lock_folder(self._lock)
            self._require_room()
            self._describe()
            whole = self._read_log()
            self._leave_damaged_pieces()
            self._log = open(self.path / PIECES_LOG, "ab", buffering=0)  # noqa: SIM115  # open until close()
            self._log.truncate(whole)
        except OSError as error:
            self.close()
            if isinstance(error, FileError):
                raise
            busy = error.errno in (errno.EAGAIN, errno.EACCES)
            reason = "is written by another process" if busy else f"cannot be written ({error.strerror or error})"
            raise FileError(f"the store {str(self.path)!r} {reason}; give another store") from None

    def _leave_damaged_pieces(self) -> None:
        """Remove pieces whose arrays are not as they were written, so that they are computed again; warn of them."""
        for name, shape in self.shapes.items():
            size = 8 * self.about["file_runs"] * math.prod(shape)
            for file in (self.path / name).rglob("*"):
                if file.is_file() and file.name != METADATA and file.stat().st_size != size:
                    file.unlink()
        whole = [entry for entry in self.entries if self._checksum(entry) == entry.checksum]
        all_runs, good = (sum(entry.last - entry.first for entry in entries) for entries in (self.entries, whole))
        if lost := all_runs - good:
            warn(f"{lost} runs of the store {str(self.path)!r} are damaged or missing; they are computed again")
        self.entries[:] = whole

    def _checksum(self, entry: LogEntry) -> int:
        """Return the checksum of the arrays of a piece in files; -1 if a file is missing."""
        found, (number, at) = 0, divmod(entry.first, self.about["file_runs"])
        for name, shape in self.shapes.items():
            path, size = self._file(name, number), 8 * math.prod(shape)
            if not path.exists():
                return -1
            with path.open("rb") as file:
                file.seek(size * at)
                found = zlib.crc32(file.read(size * (entry.last - entry.first)), found)
        return found

    def _require_room(self) -> None:
        known = sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())
        needed, free = DISK_MARGIN * self.bytes - known, shutil.disk_usage(self.path).free
        if needed > free:
            where = f"the disk of {str(self.path)!r}"
            raise FileError(f"{self._needed(needed, free, where)}; give another disk, fewer runs, outputs or times")

    def _describe(self) -> None:
        """Write the metadata of zarr for the group and each variable."""
        about = {**self.about, "shapes": {name: list(shape) for name, shape in self.shapes.items()}}
        size, n = self.about["file_runs"], self.runs
        along = {
            name: (("run", *["time"] * len(shape)), (n, *shape), (size, *shape)) for name, shape in self.shapes.items()
        }
        if any(self.shapes.values()):
            times = (len(self.about["times"]),)
            along["time"] = (("time",), times, times)
        nodes = {name: _node(*each, _fill(name), self.about["variables"].get(name, {})) for name, each in along.items()}
        group = {
            "zarr_format": 3,
            "node_type": "group",
            "attributes": {"kane_sweep": about},
            "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": nodes},
        }
        _write_json(self.path / METADATA, group)
        for name, node in nodes.items():
            _write_json(made_folder(self.path / name) / METADATA, node)
        if "time" in nodes:
            _replace(made_folder(self.path / "time" / "c") / "0", np.array(self.about["times"]))

    def _file(self, name: str, chunk: int) -> Path:
        return self.path / name / "c" / "/".join([str(chunk), *["0"] * len(self.shapes[name])])

    def write(self, values: Mapping[str, Array], entry: LogEntry) -> None:
        number, at = divmod(entry.first, self.about["file_runs"])
        for key in [key for key in self._files if key[1] < number - 1]:
            os.close(self._files.pop(key))
        checksum = 0
        try:
            for name, shape in self.shapes.items():
                data = values[name].astype("<f8").tobytes()
                checksum = zlib.crc32(data, checksum)
                if os.pwrite(self._opened_file(name, number), data, 8 * math.prod(shape) * at) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            entry = entry._replace(checksum=checksum)
            self._append(entry.line())
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(
                f"the store {str(self.path)!r} cannot be written ({error.strerror or error}); finished runs are kept: "
                "make room, and repeat the call"
            ) from error
        self.entries.append(entry)

    def _opened_file(self, name: str, number: int) -> int:
        """Return the descriptor of the file with the runs of a chunk; a new file is full of the fill value."""
        key = name, number
        if key not in self._files:
            path = self._file(name, number)
            if not path.exists():
                made_folder(path.parent)
                _replace(path, np.full((self.about["file_runs"], *self.shapes[name]), _fill(name)))
            self._files[key] = os.open(path, os.O_WRONLY)
        return self._files[key]

    def _append(self, line: str) -> None:
        data = line.encode()
        if self._log.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def read(self, name: str) -> Array:
        n, shape = self.runs, (self.about["file_runs"], *self.shapes[name])
        found = [np.empty((0, *shape[1:]))]
        for number in range(-(-n // shape[0])):
            path = self._file(name, number)
            values = np.fromfile(path, "<f8") if path.exists() else np.full(math.prod(shape), _fill(name))
            if len(values) != math.prod(shape):
                raise ImportFileError(f"{str(path)!r} is damaged; repeat the sweep with this store, which mends it")
            found.append(values.reshape(shape))
        return np.concatenate(found)[:n]

    def stop(self, runs: int | None) -> None:
        if self.about.get("stopped") != runs:
            self.about["stopped"] = runs
            self._append(json.dumps({"stopped": runs}) + "\n")
            self._describe()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
        while self._files:
            os.close(self._files.popitem()[1])
        if self._lock >= 0:
            os.close(self._lock)
        self._lock, self._log = -1, None

    @property
    def busy(self) -> bool:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            lock_folder(folder, shared=True)
        except OSError:
            return self._lock < 0
        finally:
            os.close(folder)
        return False


def _fill(name: str) -> float:
    """Return the value of runs that are not computed."""
    return float(NOT_COMPUTED) if name == STATUS else math.nan


def _node(
    along: Sequence[str], shape: Sequence[int], chunk: Sequence[int], fill: float, attributes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the metadata of an array in zarr 3: little-endian doubles without compression."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "NaN" if math.isnan(fill) else fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": dict(attributes),
        "dimension_names": list(along),
        "storage_transformers": [],
    }


def _replace(path: Path, data: Array) -> None:
    write_whole(path, lambda draft: draft.write_bytes(data.astype("<f8").tobytes()))


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=1)
    if not path.exists() or path.read_text("utf-8") != text:
        write_whole(path, lambda draft: draft.write_text(text, "utf-8"))


def _size(count: float) -> str:
    unit = int(min(max(np.log10(max(count, 1.0)) // 3, 0), 4))
    return f"{count / 1000.0**unit:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[unit]}"


def require_names(names: Sequence[str]) -> None:
    """Raise unless the names of variables are different and can be names of folders.

    Raises:
        ModelError: names the variable and the cure.
    """
    for name in names:
        if names.count(name) > 1 or name in ("run", "time"):
            raise ModelError(f"two variables of the sweep are called {name!r}; give the output or event another name")
        if not isinstance(name, str) or not name.strip() or name.startswith((".", "__")) or set(name) & set("/\0\\"):
            raise ModelError(f"{name!r} cannot be the name of a variable; give a word without / and dots at its start")
