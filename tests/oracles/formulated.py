"""Models that are formulated and built once in each process, for all tests that only read their equations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import kane


@cache
def formulated(make: Callable[[], kane.Model]) -> kane.Equations:
    """Return the equations of a model. They take seconds for a bicycle, and several files test it."""
    return kane.formulate(make())


@cache
def built(make: Callable[[], kane.Model]) -> kane.Dynamics:
    """Return the dynamics of a model."""
    return kane.build(formulated(make))
