"""The certificate holds for every model there is, says why a claim does not apply, and fails for what is wrong."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from oracles.loaded_tree import EVERY_JOINT, loaded_tree

import kane
from kane.analysis.certificate.claims import CLAIMS, common_digits
from kane.analysis.random_states import LEAST_SINGULARITY_DISTANCE, RandomStates
from kane.library import random_tree
from kane.library.random_tree import JOINT_MAKERS

ENERGY, MOMENTUM, ARTICULATED, ADVANCE = (
    next(claim for claim in CLAIMS if word in claim) for word in ("energy", "momentum", "articulated", "advance")
)
LIBRARY = {
    **{name: getattr(kane.library, name) for name in ("stanford_arm", "stanford_arm_dh", "six_axis_arm")},
    "spacecraft_tree": kane.library.spacecraft_tree,
    "chain": lambda: kane.library.chain(4),
    "n_link_pendulum": lambda: kane.library.n_link_pendulum(3),
    "n_link_pendulum_to_vertical": lambda: kane.library.n_link_pendulum_to_vertical(3),
    "n_four_bar": lambda: kane.library.n_four_bar(2),
    **{
        name: getattr(kane.library, name)
        for name in ("wrist", "wrist_measure_numbers", "sliding_disk", "rolling_disk", "shopping_cart")
    },
    **{name: getattr(kane.library, name) for name in ("stuck_shopping_cart", "rolling_coin", "chaplygin_sleigh")},
    **{name: getattr(kane.library, name) for name in ("four_bar", "slider_crank", "andrews_squeezer", "bricard")},
    **{name: getattr(kane.library, name) for name in ("flyball_governor", "stiff_flyball_governor")},
    **{name: getattr(kane.library, name) for name in ("stewart_platform", "mobile_manipulator", "whipple_bicycle")},
}
NOT_MODELS = {"stanford_arm_feedback", "lock_steering", "platform_wheels", "tanner_speeds"}


def gimbal(axes):
    return lambda name, axis: kane.Gimbal(name, axes, speeds=kane.MeasureNumbers())


KINDS = {
    **{f"library {k}": joint for k, joint in enumerate(JOINT_MAKERS)},
    **{f"tests {k}": joint for k, joint in enumerate(EVERY_JOINT[4:])},
    "gimbal zxz, rates": lambda name, axis: kane.Gimbal(name, "zxz"),
    **{f"gimbal {axes}, measure numbers": gimbal(axes) for axes in ("131", "32", "yx", "z")},
}


def failing(certificate):
    return [f"{f.claim} ({f.remark})" for f in certificate if not f.holds]


def require(model, **options):
    certificate = kane.certify(model, **options)
    assert certificate.holds, f"{model.name}, {options}:\n{certificate}"
    return {finding.claim: finding for finding in certificate}


def test_every_library_model_is_among_those_certified():
    assert {*LIBRARY, "random_tree", *NOT_MODELS} == set(kane.library.__all__)


# Long ones, of kinds that shorter ones have too: closed loops, many of them, wheels that roll.
LONG = ("bricard", "mobile_manipulator", "n_four_bar", "spacecraft_tree", "stewart_platform", "whipple_bicycle")


@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.slow) if x in LONG else x for x in LIBRARY])
def test_every_library_model_has_its_certificate(name):
    require(LIBRARY[name]())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_has_its_certificate_on_a_tree(kind):
    revolute = JOINT_MAKERS[0]
    kinds = iter([revolute, KINDS[kind], KINDS[kind]])
    model = random_tree(1, 3, joints=(lambda name, axis: next(kinds)(name, axis),))
    assert require(model, seed=1)[ENERGY].digits is not None


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), 2, 3])
def test_random_trees_of_every_joint_have_their_certificate(seed):
    require(random_tree(seed, 5), seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_random_trees_have_their_certificate(seed):
    require(random_tree(seed, 2 + seed % 9), seed=seed)
    require(loaded_tree(seed, 3, joints=EVERY_JOINT), seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_followers_prescribed_motion_welds_and_every_load_have_a_certificate(seed):
    found = require(loaded_tree(seed, 3, joints=EVERY_JOINT), seed=seed)
    assert "prescribed in time" in found[ENERGY].remark
    assert "prescribed in time" in found[MOMENTUM].remark
    assert "depend on others" in found[ARTICULATED].remark


def geared():
    """Loads of every kind, parameters and a gear, in a floating system: nothing is prescribed."""
    m = kane.Model("geared", gravity=(0.0, -1.0, -9.81))
    length = m.parameter("length", 0.4)
    a = m.body("A", mass=m.parameter("mass", 2.0), inertia=(1.0, 2.0, 2.5), com=(0.1, 0.0, length))
    b = m.body("B", mass=1.0, inertia=(0.3, 0.4, 0.5), com=(0.0, 0.3, 0.0))
    c = m.body("C", mass=0.5, inertia=(0.03, 0.04, 0.05), com=(0.1, 0.0, 0.0))
    m.connect(m.ground, a, kane.Free("base"))
    hinge = m.connect(a, b, kane.Revolute("q1", axis=(1.0, 2.0, 3.0)), at=(length, 0.0, 0.0))
    m.connect(b, c, kane.Revolute(3.0 * hinge.q, axis="y"), at=(0.0, 0.6, 0.0), name="gear")
    m.load(kane.Motor(hinge, m.input("tau")))
    m.load(kane.Spring(hinge, m.parameter("k", 5.0), rest=0.1))
    m.load(kane.Damper(hinge, 0.3))
    tip = c.point((0.2, 0.0, 0.0))
    m.load(kane.Force(tip, (0.3, -0.2 * tip.velocity.dot(m.ground.y), 0.1)))
    m.load(kane.Force(b.point((0.0, 0.1, 0.0)), (m.input("pull"), 0.0, 0.0), reaction=a.point((0.0, 0.0, 0.1))))
    m.load(kane.Torque(b, (0.1, 0.2, m.input("twist")), c))
    return m


def test_a_floating_geared_system_under_every_load_keeps_the_laws_of_energy_and_momentum():
    found = require(geared())
    assert found[ENERGY].remark == "6 loads"
    assert found[MOMENTUM].digits > 12.0
    assert {finding.claim for finding in found.values() if finding.digits is None} == {ARTICULATED}


def test_a_claim_that_does_not_apply_says_why():
    found = require(kane.library.stanford_arm())
    assert found[MOMENTUM].digits is None
    assert found[MOMENTUM].verdict == "n/a"
    assert "joints hold bodies" in found[MOMENTUM].remark
    assert all(f.remark for f in found.values() if f.digits is None)


@pytest.mark.slow
def test_twenty_bodies_with_every_joint_are_certified():
    model = random_tree(7, 20, joints=iter_all(20))
    started = time.perf_counter()
    require(model)
    print(f"\ncertificate of 20 bodies with every joint: {time.perf_counter() - started:.2f} s")


def iter_all(bodies):
    """One maker that goes through every kind in turn."""
    kinds = iter([JOINT_MAKERS[k % len(JOINT_MAKERS)] for k in range(bodies)])
    return (lambda name, axis: next(kinds)(name, axis),)


def hinged(kind=kane.Revolute, inertia=(0.1, 0.2, 0.25)):
    m = kane.Model("hinged")
    b = m.body("B", mass=1.0, inertia=inertia, com=(0.2, 0.0, 0.0))
    hinge = m.connect(m.ground, b, kind("q1", axis="x"))
    m.load(kane.Motor(hinge, 0.4))
    return m


def test_what_cannot_move_freely_has_no_certificate():
    certificate = kane.certify(hinged(inertia=(0.0, 0.0, 0.0)))
    assert not certificate.holds
    assert any("singular" in line for line in failing(certificate))
    assert "FAILS" in str(certificate)


def test_a_route_that_raises_is_a_claim_that_fails():
    class Stuck(kane.Revolute):
        def integrate(self, q, du):
            raise RuntimeError("the hinge is stuck")

    (line,) = failing(kane.certify(hinged(Stuck)))
    assert line == f"{ADVANCE} (RuntimeError: the hinge is stuck)"


def test_states_keep_away_from_the_singularities_of_gimbals():
    model = random_tree(3, 2, joints=(lambda name, axis: kane.Gimbal(name, "zxz"),))
    equations = kane.formulate(model)
    q = RandomStates(equations, 200, 0).q
    assert np.abs(np.sin(q[[1, 4]])).min() > np.sin(LEAST_SINGULARITY_DISTANCE)


def test_the_same_seed_gives_the_same_certificate_and_another_another():
    model = random_tree(4, 3)
    assert kane.certify(model, seed=1) == kane.certify(model, seed=1)
    assert kane.certify(model, seed=1) != kane.certify(model, seed=2)


def test_digits_count_how_far_numbers_agree():
    one = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert common_digits(one, one) == 16.0
    # The round-off of 1 + 1e-9 is 1e-7 of 1e-9.
    assert common_digits(one * (1.0 + 1e-9), one) == pytest.approx(9.0, abs=1e-6)
    assert common_digits(one, -one) == 0.0
    for a, b in ((one * np.nan, one), (one, one * np.nan), (one * np.inf, one)):
        assert common_digits(a, b) == 0.0


def test_a_joint_whose_coordinates_advance_another_way_is_found():
    class Drifting(kane.Revolute):
        def integrate(self, q, du):
            return q + 1.01 * du

    (line,) = failing(kane.certify(hinged(Drifting)))
    assert line.startswith(ADVANCE)


def test_a_wrong_velocity_map_is_found_by_lagrange_alone_among_the_routes():
    class Slanted(kane.Prismatic):
        def motion(self, q, u):
            return replace(super().motion(q, u), v_FM_u=((0.0, 0.6, 0.8),))

    lines = failing(kane.certify(hinged(Slanted)))
    assert any("Lagrange" in line for line in lines)
    assert not any("explicit" in line or "path tables" in line for line in lines)


@pytest.mark.parametrize("options", [{"states": 0}, {"states": 1.5}, {"seed": -1}])
def test_wrong_options_are_named(options):
    with pytest.raises(kane.ModelError, match=next(iter(options))):
        kane.certify(kane.library.chain(1), **options)


def test_a_model_without_freedom_has_nothing_to_certify():
    m = kane.Model("still")
    m.connect(m.ground, m.body("B", mass=1.0), kane.Weld())
    with pytest.raises(kane.ModelError, match="nothing to certify"):
        kane.certify(m)
