"""The examples of this folder are also examples without contradictory units."""

from collections.abc import Iterator

import pytest

import kane


@pytest.fixture(scope="module", autouse=True)
def units_without_contradiction() -> Iterator[None]:
    """Infer the units of all equations that examples formulate; a false alarm fails the test."""
    formulate = kane.formulate

    def checked(model: kane.Model, **options: object) -> kane.Equations:
        found = formulate(model, **options)
        kane.units(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kane, "formulate", checked)
        yield
