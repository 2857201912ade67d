"""The guard of all tests against code that reads what it has not written."""

import numpy as np
import pytest


@pytest.mark.parametrize("size", [1, 9, 1_000, 1_000_000])
def test_new_arrays_hold_no_numbers_whatever_was_in_their_memory(size):
    for _ in range(20):
        made = np.empty(size)
        assert np.isnan(made).all()
        made[:] = 1.0
    assert (np.empty(size, dtype=np.int64) == -1).all()
    assert not np.zeros(size).any()


def test_arrays_that_grow_and_shrink_keep_what_they_hold():
    x = np.arange(5.0)
    x.resize(50_000, refcheck=False)
    x.resize(3, refcheck=False)
    assert x.tolist() == [0.0, 1.0, 2.0]
