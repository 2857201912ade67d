"""Operation counts grow linearly with the number of joints; general chains cost less than Angeles' count."""

from __future__ import annotations

import pytest
from oracles.general_arm import general_arm

import kane
from kane.expression.operations import PARAMETER
from kane.expression.traverse import count_operations
from kane.library import chain

# The axes of the chain repeat after three joints: three joints more cost the same wherever they are added.
LENGTHS = (10, 31, 100, 301)
KINDS = ("mul", "add", "div", "trig")


def totals(expressions):
    found = count_operations(expressions, free=(PARAMETER,))
    return {kind: found[kind] for kind in KINDS}


def inverse(n):
    e = kane.formulate(chain(n))
    return totals(e.inverse)


def articulated(n):
    e = kane.formulate(chain(n))
    return totals(e.route.articulated())


@pytest.mark.parametrize("what", [inverse, articulated])
def test_three_more_joints_cost_the_same_at_any_length(what):
    rows = [what(n) for n in LENGTHS]
    for kind in KINDS:
        slopes = {
            (after[kind] - before[kind]) * 3 / (m - n)
            for before, after, n, m in zip(rows, rows[1:], LENGTHS, LENGTHS[1:], strict=False)
        }
        assert len(slopes) == 1, (kind, slopes)


def test_forward_dynamics_of_long_chains_take_the_linear_route():
    for n in (100, 301):
        e = kane.formulate(chain(n))
        assert totals(e.forward) == articulated(n)


@pytest.mark.parametrize("n", range(3, 13))
def test_general_chains_need_fewer_operations_than_angeles_ma_and_rojas(n):
    """105 n - 109 multiplications and 90 n - 105 additions (Angeles, Ma & Rojas 1988, Table 1)."""
    row = kane.formulate(general_arm(n)).count()["inverse"]
    assert row["mul"] < 105 * n - 109
    assert row["add"] < 90 * n - 105


def test_a_general_arm_with_a_vertical_first_axis_needs_fewer_operations_than_theirs():
    row = kane.formulate(general_arm(6, vertical=True)).count()["inverse"]
    assert row["mul"] < 513
    assert row["add"] < 432


@pytest.mark.parametrize("n", range(3, 13))
def test_general_chains_need_fewer_operations_than_with_base_parameters_by_hand(n):
    """92 n - 127 and 81 n - 117 (Khalil & Kleinfinger 1987), the stretch of the architecture's section 5."""
    row = kane.formulate(general_arm(n)).count()["inverse"]
    assert row["mul"] < 92 * n - 127
    assert row["add"] < 81 * n - 117
