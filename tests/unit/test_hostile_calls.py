"""Whatever is called with whatever: an answer or an error of kane's, never another exception, a crash or a hang.

The generator in ``tests/oracles/hostile_calls.py`` vouches: it knows what is public, and nothing of how it is made.
"""

import pytest

from tests.oracles.hostile_calls import Call, findings


def test_hostile_calls_raise_no_error_but_kanes():
    assert findings(seed=1, count=700) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_hostile_calls_raise_no_error_but_kanes(seed):
    assert findings(seed=f"slow {seed}", count=10_000) == []


def test_a_call_is_made_again_by_its_seed_and_number():
    first, second = Call(3, 14), Call(3, 14)
    assert first.told() == second.told()
    assert (first.where, first.name) == (second.where, second.name)
