"""Progress reports of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kane.errors import ModelError, shown
from kane.expression.number_arguments import takes
from kane.progress import ProgressBar


def told(progress: Any, bar: ProgressBar) -> Callable[[float], None]:
    """Return the function that receives the completed fraction: the user's, or else the progress bar.

    Raises:
        ModelError: ``progress`` is not a function of one argument.
    """
    if progress is not None and not takes(progress, 1):
        raise ModelError(f"progress is {shown(progress)}; give a function of the fraction done")
    return bar if progress is None else progress
