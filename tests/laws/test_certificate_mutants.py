"""A joint that is wrong anywhere has no certificate: every file of joints is mutated, a change at a time.

A mutant is left out where it cannot run (an index out of range), or where nothing about the motion has changed. Those
that are another right joint are listed below, each with its reason.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache, partial
from inspect import isabstract

import numpy as np
import pytest
from oracles.joint_mutants import FILES, PACKAGE, QUATERNION, SOURCES, Sandbox, mutants

import kane
from kane.analysis.certificate.certificate import DIGITS
from kane.analysis.certificate.claims import coordinates_advance, explicit_agrees, lagrange_agrees
from kane.analysis.random_states import RandomStates
from kane.deferred import exports
from kane.expression.functions import cos, sin
from kane.expression.interpret import interpret
from kane.expression.operations import COORDINATE, SPEED
from kane.model import joints

STATES = 2  # of a certificate
AXIS, NORMAL = (1.0, 2.0, -0.5), (2.0, -1.0, 0.0)
# What cannot run as Python, rather than what a joint may not be.
CANNOT_RUN = (TypeError, IndexError, ValueError, AttributeError, ZeroDivisionError)
# Mutants that are right joints of another kind. No derivation can tell them from what was meant: unit tests do.
EQUIVALENT = {
    "planar.directions: e1 - e1 @ n * n -> e1 + e1 @ n * n": "x points elsewhere, in pose and velocities alike",
    "planar.directions: -1 -> 1": "x points elsewhere, in pose and velocities alike",
    "planar.directions: np.cross(n, e1) -> np.cross(e1, n)": "y points back, in pose and velocities alike",
    "planar.motion: e1, e2, axis = self.directions() -> e2, e1, axis = self.directions()": "x and y change names",
    "custom.pose: Rotation.identity() if self.orientation is None else self.orientation(*q) -> "
    "self.orientation(*q) if self.orientation is None else Rotation.identity()": "the joint of another pose",
}


def knee(J, name):
    def turn(a, b):
        return kane.Rotation.about("x", 0.3 * a) @ kane.Rotation.matrix(
            [[cos(a + b), 0, sin(a + b)], [0, 1, 0], [-sin(a + b), 0, cos(a + b)]]
        )

    return J.CustomJoint(
        (f"{name}_1", f"{name}_2"), turn, lambda a, b: (0.2 * cos(a), 0.1 * a * b, b * b + b), ("rad", "m")
    )


def cam(J, q):
    return J.CustomJoint(q, lambda a: kane.Rotation.about(AXIS, a), lambda a: (0.2 * cos(a), 0.1 * a, 0.0))


def gimbals(J, name, speeds):
    return [J.Gimbal(name, axes, speeds=speeds) for axes in ("zxz", "213", "xy", "yx", "z")]


# The joints that a file makes move; a function makes one that follows the coordinate of another joint.
SUBJECTS = {
    "revolute": lambda J, n: [J.Revolute(n, axis=AXIS)],
    "prismatic": lambda J, n: [J.Prismatic(n, axis=AXIS)],
    "cylindrical": lambda J, n: [J.Cylindrical(n, AXIS)],
    "screw": lambda J, n: [J.Screw(n, AXIS, metres_per_radian=0.4)],
    "planar": lambda J, n: [J.Planar(n, AXIS), J.Planar(n, "z")],
    "universal": lambda J, n: [J.Universal(n, AXIS, NORMAL)],
    "spherical": lambda J, n: [J.Spherical(n)],
    "free": lambda J, n: [J.Free(n)],
    "quaternion": lambda J, n: [J.Free(n), J.Spherical(n)],
    "weld": lambda J, n: [J.Weld()],
    "gimbal.gimbal": lambda J, n: [*gimbals(J, n, J.AngleRates()), *gimbals(J, n, J.MeasureNumbers())],
    "gimbal.gimbal_speeds": lambda J, n: [*gimbals(J, n, J.AngleRates()), *gimbals(J, n, J.MeasureNumbers())],
    "measure_numbers": lambda J, n: gimbals(J, n, J.MeasureNumbers()),
    "gimbal.angles": lambda J, n: gimbals(J, n, J.MeasureNumbers()),
    "custom": lambda J, n: [knee(J, n), lambda p: cam(J, 2.0 * p + 0.3)],
    "pose_motion": lambda J, n: [J.Gimbal(n, "zxz"), knee(J, n), lambda p: cam(J, 2.0 * p + 0.3)],
    "pose_check": lambda J, n: [],  # refuses joints, moves none
    "rate_joint": lambda J, n: [],  # names
    "axis_joint": lambda J, n: [],  # names
    "chart": lambda J, n: [],  # other angles of the same motion: tests/agreement/test_charts.py
    "gimbal.gimbal_chart": lambda J, n: [],  # likewise
    "recorded_pose": lambda J, n: [],  # a custom joint from a file: tests/unit/test_model_file.py
}
# A file that nobody has listed is spoiled as its joint's own examples have it.
for kind in exports(joints):
    if isinstance(kind, type) and issubclass(kind, joints.Joint) and not isabstract(kind):
        values = [{f.name: getattr(x, f.name) for f in fields(x) if f.init} for x in kind.examples("j", AXIS)]
        made = partial(lambda name, given, J, n: [getattr(J, name)(**x) for x in given], kind.__name__, values)
        SUBJECTS.setdefault(kind.__module__.removeprefix(PACKAGE), made)
STILL = ("pose_check", "rate_joint", "axis_joint", "chart", "gimbal.gimbal_chart", "recorded_pose")
MOVING_FILES = [stem for stem in SUBJECTS if stem not in STILL]
# Of the longer files one mutant of so many is tried; all of them in the slow tests.
QUICK = {"measure_numbers": 12, "quaternion": 12, "free": 10, "pose_motion": 10, "planar": 8, "cylindrical": 8}
QUICK |= {"universal": 6, "prismatic": 6, "screw": 6, "gimbal.gimbal_speeds": 3}


def tree(joint):
    """A body on a pivot, and one on it by a joint, in general positions."""
    m = kane.Model("tree", gravity=(1.0, -2.0, -9.0))
    a = m.body("A", mass=1.3, inertia=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03), com=(0.1, 0.2, 0.3))
    b = m.body("B", mass=0.9, inertia=(0.5, 0.35, 0.4, 0.03, -0.02, 0.05), com=(-0.3, 0.2, 0.4))
    pivot = m.connect(m.ground, a, kane.Revolute("p", axis=(2.0, 1.0, -1.0)), name="pivot")
    joint = joint(pivot.q) if callable(joint) else joint
    turn = kane.Rotation.euler("xyz", 0.3, 0.4, 0.5)
    m.connect(a, b, joint, at=(0.4, -0.3, 0.2), orientation=turn, child_at=(0.1, 0.2, -0.1), name="joint")
    return m


def motion(joint):
    """Numbers that tell one motion from another."""
    arena, random = kane.Model("numbers").arena, np.random.default_rng(0)
    following = callable(joint)
    leaf = arena.leaf(COORDINATE, "q0")
    joint = joint(leaf) if following else joint
    q = (leaf, *(arena.leaf(COORDINATE, f"q{k}") for k in range(1, joint.nq)))[: joint.nq]
    u = tuple(arena.leaf(SPEED, f"u{k}") for k in range(joint.nu))
    M = joint.motion((joint.q,) if following else q, u)
    rows = [*M.R_FM.entries, M.p_FM, *M.w_FM_u, *M.v_FM_u, M.alpha_t, M.a_t, M.kinematics]
    at, du = random.normal(size=(5, joint.nq)), random.normal(size=(5, joint.nu))
    if joint.quaternion_at is not None:
        at[:, :4] /= np.linalg.norm(at[:, :4], axis=1, keepdims=True)
    values = dict(zip((*q, *u), (*at.T, *du.T), strict=True))
    found = interpret([arena.lift(x) for row in rows for x in row], values)
    there = joint.integrate(at, 0.1 * du)
    return np.concatenate([*(np.broadcast_to(x, 5) for x in found), there.ravel(), joint.difference(at, there).ravel()])


RIGHT = Sandbox({})


def changed(subject, right):
    """Whether a mutant moves in another way, or says that it cannot; None where it cannot run."""
    try:
        a, b = motion(subject), motion(right)
    except kane.KaneError:
        return True
    except CANNOT_RUN:
        return None
    return a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


def caught(joint):
    try:
        return fails_first_claims(tree(joint)) or not kane.certify(tree(joint), states=STATES).holds
    except kane.KaneError:
        return True


def fails_first_claims(model):
    """Check the claims that find most mutants, at the states of the certificate, up to the first that fails.

    A certificate goes on after a claim that fails: it takes four times as long. These models have neither constraints
    nor chosen speeds, so that their equations are the ones in the joints' own speeds.
    """
    equations = kane.formulate(model)
    at = RandomStates(equations, STATES, 0)
    with np.errstate(all="ignore"):
        for claim in (coordinates_advance, lagrange_agrees, explicit_agrees):
            try:
                digits, _ = claim(equations.model, equations, at)
            except Exception:
                return True
            if digits < DIGITS:
                return True
    return False


@cache
def certificate_of(joint):
    """Certificate of a right joint. Joints are values, and several files have the same ones as subjects."""
    return kane.certify(tree(joint), states=STATES)


def different(mutant, stem):
    """The joints that move otherwise with a mutant; none where it cannot run."""
    try:
        subjects = SUBJECTS[stem](mutant.load(), "j")
    except (kane.KaneError, *CANNOT_RUN):
        return []
    return [s for s, r in zip(subjects, SUBJECTS[stem](RIGHT, "j"), strict=True) if changed(s, r)]


def escaped(stem, part):
    """Names of mutants of a file that move otherwise and keep their certificate; and how many there are in all."""
    module = QUATERNION if stem == "quaternion" else PACKAGE + stem
    tried = [(mutant.name, joints) for mutant in [*mutants(module)][part] if (joints := different(mutant, stem))]
    lost = [name for name, joints in tried if name not in EQUIVALENT and not any(map(caught, joints))]
    print(f"\n{stem}: {len(tried)} mutants")
    return lost, len(tried)


def test_every_file_of_joints_is_mutated():
    assert set(SUBJECTS) == {*FILES, "quaternion"}
    assert set(FILES) == {name.removeprefix(PACKAGE) for name in SOURCES if name.startswith(PACKAGE)}


@pytest.mark.parametrize("stem", MOVING_FILES)
def test_a_joint_with_one_thing_wrong_has_no_certificate(stem):
    lost, tried = escaped(stem, slice(None, None, QUICK.get(stem, 1)))
    assert lost == []
    assert tried


@pytest.mark.slow
@pytest.mark.parametrize("stem", QUICK)
def test_of_all_mutants_of_the_longer_files_none_has_a_certificate(stem):
    assert escaped(stem, slice(None))[0] == []


@pytest.mark.parametrize("stem", SUBJECTS)
def test_without_a_mutation_the_same_joints_have_their_certificate(stem):
    for joint in SUBJECTS[stem](RIGHT, "j"):
        certificate = certificate_of(joint)
        assert certificate.holds, certificate


def test_every_mutant_that_is_a_right_joint_of_another_kind_is_still_one():
    """A reason that is no longer needed goes."""
    for name in EQUIVALENT:
        stem = name.split(".")[0]
        (mutant,) = [m for m in mutants(PACKAGE + stem) if m.name == name]
        assert not any(map(caught, different(mutant, stem))), name
