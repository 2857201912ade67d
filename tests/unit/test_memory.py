"""Regions of memory: views cover each region once, generated files are up to date, regions are filled by name."""

import re
from pathlib import Path

import numpy as np
import pytest

import kane.engine
from kane.engine.memory import generate, views
from kane.engine.memory.constants import CONTACT_STATE
from kane.engine.memory.declare import CONSTANT, DOUBLES, SIZES, MemoryArray
from kane.engine.memory.fill import filled

REGIONS = generate.all_regions()
NATIVE = Path(kane.engine.__file__).parent


def placed(region, sizes, start=5):
    """The view of a region over its own indices, and the number of doubles of the region."""
    size = getattr(views, f"{region.function}_size")(*sizes)
    return getattr(views, f"{region.function}_at")(np.arange(start + size), start, *sizes), size


def drawn_sizes(region, rng):
    """A number for each size of a region; none is as large as another."""
    return [int(x) for x in rng.permutation(np.arange(2, 2 + len(region.sizes)))]


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_the_arrays_of_a_region_cover_it_once(region):
    rng = np.random.default_rng(len(region.name))
    for _ in range(3):
        sizes = drawn_sizes(region, rng)
        view, size = placed(region, sizes)
        seen = []
        for field in region.fields:
            value = getattr(view, field.name)
            if isinstance(field, MemoryArray):
                seen += np.ravel(value).tolist()
            else:
                inner = [eval(x, {}, dict(zip(region.sizes, sizes, strict=True))) for x in field.sizes]
                seen += range(value, value + getattr(views, f"{field.region.function}_size")(*inner))
        assert seen == list(range(5, 5 + size))
        assert view.end == 5 + size
        if region.whole:
            assert view.whole.tolist() == seen


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_every_array_of_a_batch_of_regions_has_its_leading_axes(region):
    """Reserved memory and constants have none: they are the same in the whole batch."""
    sizes = drawn_sizes(region, np.random.default_rng(1))
    size = getattr(views, f"{region.function}_size")(*sizes)
    memory = np.zeros((3, 4, size))
    view = getattr(views, f"{region.function}_at")(memory, 0, *sizes)
    for field in region.fields:
        if isinstance(field, MemoryArray) and field.kind != CONSTANT:
            value = getattr(view, field.name)
            assert value.shape[:2] == (3, 4)
            assert value.dtype == (np.float64 if field.kind == DOUBLES else np.int64)
            assert np.shares_memory(value, memory) or not value.size


def test_the_generated_files_are_up_to_date():
    """Else run ``python -m kane.engine.memory.generate``."""
    assert generate.VIEWS.read_text() == generate.source()
    assert generate.PAGE.read_text() == generate.page()


def test_every_array_has_a_writer_a_unit_and_a_meaning_and_every_size_is_explained():
    for region in REGIONS:
        assert set(region.sizes) <= set(SIZES)
        names = [field.name for field in region.fields]
        assert len(names) == len(set(names))
        for array in region.arrays:
            assert array.writer
            assert array.unit
            assert array.meaning


def test_no_kernel_computes_the_place_of_an_array():
    """Kernels read arrays by name: no multiple of a length in capitals is added to an index."""
    offset = re.compile(r"\[[^\]]*\* [A-Z][A-Z_]+ \+|_places\b")
    found = [
        f"{path.relative_to(NATIVE)}: {line.strip()}"
        for path in sorted(NATIVE.rglob("*.py"))
        for line in path.read_text().splitlines()
        if offset.search(line) and "haptics" not in path.parts
    ]
    assert found == []


def test_a_region_is_filled_by_name_and_doubles_keep_their_bits():
    memory = filled(CONTACT_STATE, status=[1, 2], armed=[1, 0], along=[[0.6, 0.8], [np.nan, -0.0]], begun=[1e-9, 3.0])
    state = views.contact_state_at(memory.view(np.float64), 0, 2)
    assert state.status.tolist() == [1, 2]
    assert state.armed.tolist() == [1, 0]
    assert state.along[0].tolist() == [0.6, 0.8]
    assert np.isnan(state.along[1, 0])
    assert np.signbit(state.along[1, 1])
    assert state.begun.tolist() == [1e-9, 3.0]


def test_an_array_that_is_missing_or_unknown_is_named():
    with pytest.raises(TypeError, match=r"ContactState has the arrays status, armed, along, begun.*: begun, speed"):
        filled(CONTACT_STATE, status=[0], armed=[1], along=[[0, 0]], speed=[1.0])
