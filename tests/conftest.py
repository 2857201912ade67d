"""What every test shares: pictures without a screen, and hypothesis set for a shared machine."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")
# Tests compile what they test, and leave the user's cache alone; those of the cache have folders of their own.
os.environ["KANE_CACHE"] = "off"

# No deadlines: native code is compiled on first use, on machines shared with others. A failure prints its seed.
settings.register_profile(
    "kane", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
settings.load_profile("kane")


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parents[1]
