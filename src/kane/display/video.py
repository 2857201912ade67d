"""Videos: sequences of pictures, as GIF or by the program ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kane.errors import FileError
from kane.files.given_path import given_path
from kane.files.write_file import write_whole

Image = NDArray[np.uint8]
FILMS = (".mp4", ".gif", ".webm")
# Largest frame rate of a GIF [1/s]: delays are whole hundredths of a second, and browsers show at least two of them.
MOST_OF_GIF = 50.0


def film_kind(path: object) -> str:
    """Return the kind of video by the suffix of a path: ".mp4", ".webm" or ".gif".

    Raises:
        FileError: the path has another suffix, or ffmpeg is required and not installed.
    """
    kind = given_path(path, "the file of a video").suffix.lower()
    if kind not in FILMS:
        raise FileError(f"{str(path)!r} is no video; give a file that ends with {', '.join(FILMS)}")
    if kind != ".gif" and shutil.which("ffmpeg") is None:
        raise FileError(
            f"{str(path)!r} needs the program ffmpeg, which is not installed; install it (apt-get install ffmpeg), or "
            "write a .gif"
        )
    return kind


def save_film(path: object, kind: str, frames: Callable[[], Iterator[Image]], fps: float) -> None:
    """Write a video.

    Args:
        path: path of the file.
        kind: result of ``film_kind``.
        frames: function that yields the pictures, (height, width, 3).
        fps: pictures per second.

    Raises:
        FileError: the file cannot be written.
    """
    if kind == ".gif":
        write_whole(path, lambda draft: _gif(draft, frames(), fps))
    else:
        write_whole(path, lambda draft: _by_ffmpeg(draft, frames(), fps, kind))


def _gif(draft: Path, frames: Iterator[Image], fps: float) -> None:
    from PIL import Image as Pictures  # comes with matplotlib

    images = [Pictures.fromarray(frame).quantize(128) for frame in frames]
    delay = round(100.0 / fps) * 10
    with open(draft, "wb") as file:
        images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=delay, loop=0)


def _by_ffmpeg(draft: Path, frames: Iterator[Image], fps: float, kind: str) -> None:
    first = next(frames)
    height, width, _ = first.shape
    codec = ("libx264", "mp4") if kind == ".mp4" else ("libvpx-vp9", "webm")
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    made = ["-c:v", codec[0], "-pix_fmt", "yuv420p", "-crf", "20", "-f", codec[1], str(draft)]
    command = ["ffmpeg", "-y", "-loglevel", "error", *given, *made]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            process.stdin.write(first.tobytes())
            for frame in frames:
                process.stdin.write(frame.tobytes())
        except BrokenPipeError:  # ffmpeg has stopped; its message is read below
            pass
        message = process.communicate()[1].decode(errors="replace").strip()
    if process.returncode:
        raise FileError(f"ffmpeg could not write the video: {message[-300:]}; try another kind of file, such as .gif")
