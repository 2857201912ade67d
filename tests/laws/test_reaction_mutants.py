"""Reactions that are wrong anywhere have no certificate: the file that reveals them is mutated, a change at a time.

What a certificate does not look at (sums of reactions, points of bodies, expressions for events) is vouched for by the
tests of reactions named in ``TESTS``.
"""

from __future__ import annotations

from functools import cache, partial

import pytest
from agreement import test_reaction_loads, test_reactions
from laws.test_certificate_embedding import loop, sleigh
from oracles.source_mutants import mutants, survivors
from unit import test_reactions_with_contacts

import kane
from kane.analysis.certificate.embedding_claims import Declared
from kane.analysis.certificate.reaction_claims import OF_JOINTS, OF_REACTIONS
from kane.formulation.read_model import snapshot

MODULE = "kane.formulation.reactions.reactions"
# Mutants that are right too, or that only move a threshold.
EQUIVALENT = {
    "Reactions.summed: dot(row, self.needed[n:]) -> dot(self.needed[n:], row)": "a dot product commutes",
    "Reactions.summed: dot(w, [row.get(n + j, 0.0) for j in range(k)]) -> "
    "dot([row.get(n + j, 0.0) for j in range(k)], w)": "a dot product commutes",
    "Reactions._elimination: 0.0 -> 1.0": "the rest of a row is not read",
    "_auxiliary: R_LB.apply(e) -> R_LB.apply_inverse(e)": "a body whose reaction is asked for is the first of its link",
    "_null_rows: 1.0 -> 2.0": "from where on singular values are nothing",
}
NULL_ROWS = test_reactions.test_combinations_that_vanish_are_in_reduced_form
REFUSED = test_reactions.test_what_has_no_reaction_is_refused
NO_SUMS = test_reactions.test_what_is_no_sum_of_reactions_is_refused


def welded():
    """A gimbal with measure numbers, a motor, a weld, a load on the welded body."""
    model = kane.Model("welded", gravity=(1.0, -2.0, -9.0))
    A = model.body("A", mass=1.3, inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), com=(0.1, 0.2, 0.3))
    B = model.body("B", mass=0.9, inertia=(0.5, 0.35, 0.4, 0.03, -0.02, 0.05), com=(-0.3, 0.2, 0.4))
    turn = kane.Rotation.euler("xyz", 0.3, 0.4, 0.5)
    model.connect(model.ground, A, kane.Gimbal("g", "zxz", speeds=kane.MeasureNumbers()), at=(0.3, 0.0, 0.1), name="g")
    model.connect(A, B, kane.Weld(), at=(0.4, -0.3, 0.2), orientation=turn, child_at=(0.1, 0.2, -0.1), name="weld")
    C = model.body("C", mass=0.7, inertia=(0.2, 0.15, 0.1), com=(0.1, 0.0, 0.2))
    hinge = model.connect(B, C, kane.Revolute("q", axis=(1.0, 2.0, -0.5)), at=(0.1, 0.2, 0.0), child_at=(0.0, 0.1, 0.1))
    model.load(kane.Motor(hinge, model.input("tau", 0.4)))
    model.load(kane.Force(B.point((0.1, 0.0, 0.2)), (0.3, model.input("push", 0.5), 0.0), B))
    return model


def held():
    """The same, a point of its end on a sphere, in a slot."""
    model = welded()
    end = model.bodies[3].point((0.3, 0.1, 0.2))
    model.constrain(end.position.dot(model.ground.x) - 0.4, name="slot")
    return model


def rubbing():
    return test_reaction_loads.sliding_rod(lambda N, mu: -mu * N)


@cache
def subjects():
    """Models whose certificates together see every part of the file, read before anything is mutated."""
    found = []
    for model in (welded(), held(), sleigh(dependent=["u2"]), loop(), rubbing(), kane.library.stanford_arm()):
        bare = snapshot(model)
        bare.speeds()
        declared = Declared(kane.formulate(model), kane.formulate(bare).unconstrained, 2, 0)
        claims = [*OF_JOINTS.values()]
        if model.constraints:
            claims += OF_REACTIONS.values()
            assert declared.balances
        found.append((declared, claims))
    return found


def uncertified():
    for declared, claims in subjects():
        for claim in claims:
            try:
                digits, _ = claim(declared)
            except Exception:
                return True
            if digits is not None and digits < 8.0:
                return True
    return False


def bar():
    equations = kane.formulate(test_reactions.four_bar())
    return kane.build(equations), kane.reveal_reactions(equations, "q1", "q2", "q3", "q4", "closure of q4")


def parameters_of(test):
    """The arguments with which pytest calls a parametrized test."""
    (mark,) = [m for m in test.pytestmark if m.name == "parametrize"]
    return mark.args[1]


TESTS = (
    lambda: test_reactions.test_what_a_planar_loop_of_hinges_shares_is_nan_and_its_determinate_sums_are_named(bar()),
    test_reactions.test_a_weld_inside_a_link_and_a_point_of_a_body_have_reactions,
    test_reactions.test_the_wrench_on_a_point_of_a_body_is_that_of_its_joint_moved_there,
    test_reactions.test_sums_of_shared_reactions_have_the_value_that_balance_gives_them,
    *(partial(test_reactions.test_combinations_that_vanish_are_in_reduced_form, *p) for p in parameters_of(NULL_ROWS)),
    *(partial(REFUSED, *p) for p in parameters_of(REFUSED)),
    *(partial(NO_SUMS, *p) for p in parameters_of(NO_SUMS)),
    test_reactions.test_reactions_of_a_model_that_is_not_formulated_are_refused,
    test_reactions.test_reactions_of_turns_are_torques,
    lambda: test_reaction_loads.test_a_rod_that_slides_with_coulomb_friction_moves_as_newton_and_euler_say(1.2, 0.3),
    test_reaction_loads.test_a_load_that_depends_on_what_redundant_constraints_share_is_refused,
    test_reactions_with_contacts.test_beside_permanent_constraints_reactions_are_those_with_a_lock_for_what_was_imposed,
)


def noticed():
    if uncertified():
        return True
    for test in TESTS:
        try:
            test()
        except BaseException:
            return True
    return False


def test_without_a_mutation_reactions_are_certified_and_tested():
    assert not noticed()


@pytest.mark.parametrize("every", [40, pytest.param(10, marks=pytest.mark.slow)])
def test_reactions_with_one_thing_wrong_are_noticed(every):
    assert survivors(mutants(MODULE)[::every], noticed, EQUIVALENT) == []


@pytest.mark.slow
def test_of_all_mutants_of_reactions_none_goes_unnoticed():
    assert survivors(mutants(MODULE), noticed, EQUIVALENT) == []
