"""Types of NumPy arrays in annotations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
# Coordinates, speeds or other values of a state: all of them in order, or some of them by name.
StateLike = Mapping[str, float] | ArrayLike
