"""The source of kane as syntax trees, read once."""

from __future__ import annotations

import pytest

from benchmarks import structure


@pytest.fixture(scope="session")
def sources() -> list[structure.Source]:
    """Every file of src/kane."""
    found = structure.sources()
    assert len(found) > 20, f"hardly any source was found in {structure.PACKAGE}"
    return found


@pytest.fixture(scope="session")
def source_of():
    """source_of(path, text): a made-up file, to see that a check can fail."""
    return structure.read
