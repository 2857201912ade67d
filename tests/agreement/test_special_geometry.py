"""Axes that are parallel, opposite, perpendicular, crossing or nearly so, with offsets or without, as numbers and as
parameters: whatever computational frames are chosen for them, the dynamics are those of Pinocchio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.numbers import close, evaluated, input_matrix, mass_matrix, random_state
from oracles.pinocchio_twin import PinocchioTwin

import kane
from kane.model.joints import Free, Prismatic, Revolute, Spherical

# Some hundred products of numbers of order one in both programs; frames up to 100 times as far away as the joints (axes
# that are not quite parallel) cost another 4 digits of second moments at worst.
ROUNDING = 1e-11
# Constant angles within 1e-10 rad of a multiple of pi/2 are taken for it (Rotation.euler_zxz), some of them in a row.
SNAPPED = 1e-9

AXES = ("x", "y", "z", "-x", "-y", "-z", (1.0, 1.0, 0.0), (0.6, 0.0, -0.8), (0.3, -0.5, 0.7))
ANGLES = (0.0, 0.0, 0.0, math.pi / 2, -math.pi / 2, math.pi, math.pi / 4, 0.7)
LENGTHS = (0.0, 0.0, 0.0, 0.4, -0.3, 1.1)


class Drawer:
    """Draws models from special values, with equal chance."""

    def __init__(self, seed, *, symbolic=False, tilt=0.0):
        self.random = np.random.default_rng(seed)
        self.symbolic, self.tilt = symbolic, tilt
        self.model = kane.Model("special", gravity=(0.2, -0.5, -9.81))

    def pick(self, values):
        return values[int(self.random.integers(len(values)))]

    def length(self):
        value = self.pick(LENGTHS)
        if not self.symbolic or self.random.random() < 0.4:
            return value
        return self.model.parameter(f"L{len(self.model.parameters)}", value)

    def place(self):
        return [self.length() for _ in range(3)]

    def angle(self):
        value = self.pick(ANGLES)
        if not self.symbolic or self.random.random() < 0.7:
            return value
        return self.model.parameter(f"angle{len(self.model.parameters)}", value)

    def orientation(self):
        made = kane.Rotation.about(self.pick("xyz"), self.angle())
        if self.random.random() < 0.3:
            made = made @ kane.Rotation.about(self.pick("xyz"), self.pick(ANGLES))
        return made @ kane.Rotation.about(self.random.normal(size=3).tolist(), self.tilt) if self.tilt else made

    def body(self, name):
        moments = self.pick(((0.03, 0.04, 0.05), (0.03, 0.03, 0.04), (0.05, 0.05, 0.05)))
        inertia = self.pick((moments, (*moments, 0.003, -0.002, 0.001)))
        return self.model.body(name, mass=self.pick((1.0, 0.5)), inertia=inertia, com=self.place())

    def hang(self, parent, name, kinds):
        body = self.body(name)
        kind, axis = self.pick(kinds), self.pick(AXES)
        joint = kind(name) if kind in (Free, Spherical) else kind(name, axis=axis)
        keywords = dict(at=self.place(), orientation=self.orientation())
        if self.random.random() < 0.5:
            keywords |= dict(child_at=self.place(), child_orientation=self.orientation())
        connection = self.model.connect(parent, body, joint, **keywords, name=f"joint {name}")
        if joint.one_dof:
            self.model.load(kane.Motor(connection, self.model.input(f"tau {name}")))
        return body


def chain(drawer, n, kinds=(Revolute, Revolute, Prismatic)):
    parent = drawer.model.ground
    for k in range(n):
        parent = drawer.hang(parent, f"B{k}", kinds)
    return drawer.model


def tree(drawer, n):
    """The first joint any, then branches: every body hangs on one of the last three."""
    bodies = [drawer.hang(drawer.model.ground, "B0", (Revolute, Prismatic, Spherical, Free))]
    for k in range(1, n):
        bodies.append(drawer.hang(drawer.pick(bodies[-3:]), f"B{k}", (Revolute, Revolute, Prismatic, Spherical)))
    return drawer.model


def massless_mounts(drawer, n):
    """Every joint but the last of a cluster carries a body without mass, as the crosses of universal joints do."""
    parent = drawer.model.ground
    for k in range(n):
        for letter in "ab":
            mount = drawer.model.body(f"mount {k}{letter}", mass=0.0)
            joint = Revolute(f"q{k}{letter}", axis=drawer.pick(AXES[:3]) if letter == "a" else AXES[8])
            keywords = dict(at=drawer.place(), orientation=drawer.orientation())
            connection = drawer.model.connect(parent, mount, joint, **keywords)
            drawer.model.load(kane.Motor(connection, drawer.model.input(f"tau {k}{letter}")))
            parent = mount
        body = drawer.body(f"body {k}")
        drawer.model.connect(parent, body, kane.Weld(), at=drawer.place(), orientation=drawer.orientation())
        parent = body
    return drawer.model


def check(model, seed, tolerance=ROUNDING):
    equations = kane.formulate(model)
    twin, state = PinocchioTwin(model, equations), random_state(equations, np.random.default_rng(seed))
    M = twin.mass_matrix(state)
    close(mass_matrix(equations, state), M, tolerance)
    close(evaluated(equations, "inverse", state), twin.inverse(state), tolerance)
    expected = twin.forward(state, input_matrix(equations, state) @ state.inputs)
    close(evaluated(equations, "forward", state), expected, tolerance * np.linalg.cond(M))
    close(evaluated(equations, "energy", state), twin.energy(state), tolerance)
    poses = evaluated(equations, "poses", state).reshape(-1, 12)
    expected = [twin.pose(name, state) for name in equations.bodies[1:]]
    close(poses[:, :9].reshape(-1, 3, 3), np.array([x.rotation for x in expected]), tolerance)
    close(poses[:, 9:], np.array([x.translation for x in expected]), tolerance)


SEEDS = [pytest.param(s, marks=pytest.mark.slow if s >= 6 else ()) for s in range(60)]


@pytest.mark.parametrize("seed", SEEDS)
def test_chains_of_special_geometry_have_pinocchios_dynamics(seed):
    for part in range(12):
        check(chain(Drawer((seed, part)), 3 + part % 3), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_of_special_geometry_have_pinocchios_dynamics(seed):
    for part in range(6):
        check(tree(Drawer((100 + seed, part)), 4 + part % 3), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_chains_and_trees_with_parameters_for_lengths_have_pinocchios_dynamics(seed):
    for part in range(4):
        check(chain(Drawer((200 + seed, part), symbolic=True), 3 + part % 2), seed)
        check(tree(Drawer((300 + seed, part), symbolic=True), 4), seed)


@pytest.mark.parametrize("symbolic", [False, True], ids=["numbers", "parameters"])
@pytest.mark.parametrize("seed", range(6))
def test_massless_bodies_between_joints_have_pinocchios_dynamics(seed, symbolic):
    check(massless_mounts(Drawer((800 + seed, 0), symbolic=symbolic), 2), seed)


@pytest.mark.parametrize(
    "tilt", [1e-14, 1e-12, 3e-11, 2e-10, 1e-9, 3e-9, 1e-8, 1e-7, 3.67e-6, 1e-4, 9.9e-3, 1.01e-2, 0.03]
)
def test_axes_that_are_not_quite_parallel_lose_no_digits(tilt):
    for part in range(6):
        check(chain(Drawer((400, part), tilt=tilt), 4), part, SNAPPED if tilt < 1e-6 else ROUNDING)


def test_all_parallel_axes_slightly_tilted_lose_no_digits():
    """A file that writes 1.5708 for a right angle: every axis off by 3.67e-6 rad."""
    drawer = Drawer(500)
    parent = drawer.model.ground
    for k in range(6):
        body = drawer.body(f"B{k}")
        turned = kane.Rotation.rpy(1.5708 * (-1) ** k, 0.0, 3.67e-6 * k)
        axis = "z" if k % 2 else "y"
        c = drawer.model.connect(parent, body, Revolute(f"q{k}", axis=axis), at=(0.3, 0.1, 0.2), orientation=turned)
        drawer.model.load(kane.Motor(c, drawer.model.input(f"tau{k}")))
        parent = body
    check(drawer.model, 1)


@pytest.mark.parametrize("first", AXES)
@pytest.mark.parametrize("second", AXES)
def test_every_pair_of_axes_with_a_slide_after_it_has_pinocchios_dynamics(first, second):
    for symbolic in (False, True):
        drawer = Drawer((7, AXES.index(first), AXES.index(second)), symbolic=symbolic)
        m, parent = drawer.model, drawer.model.ground
        for k, joint in enumerate(
            (Revolute("q1", first), Revolute("q2", second), Prismatic("q3", first), Revolute("q4", second))
        ):
            body = drawer.body(f"B{k}")
            c = m.connect(parent, body, joint, at=drawer.place(), child_at=drawer.place())
            m.load(kane.Motor(c, m.input(f"tau{k}")))
            parent = body
        check(m, 3)


@pytest.mark.parametrize("child", [Revolute, Prismatic, Spherical, Free])
@pytest.mark.parametrize("parent", [Revolute, Prismatic, Spherical, Free])
def test_every_kind_of_joint_may_follow_every_other_and_have_three_children(parent, child):
    drawer = Drawer((8, len(parent.__name__), len(child.__name__)))
    root = drawer.hang(drawer.model.ground, "root", (parent,))
    for k in range(3):
        arm = drawer.hang(root, f"arm{k}", (child,))
        drawer.hang(arm, f"hand{k}", (Revolute,))
    check(drawer.model, 2)


def test_the_order_in_which_branches_are_declared_changes_nothing():
    found = []
    for order in ((0, 1, 2), (2, 0, 1)):
        m = kane.Model("order")
        root = m.body("root", mass=1.0, inertia=(0.1, 0.2, 0.25))
        m.connect(m.ground, root, Revolute("q9", axis="y"))
        for k in order:
            arm = m.body(f"arm{k}", mass=1.0 + k, inertia=(0.1, 0.1, 0.1), com=(0.1, 0.2, 0.3))
            m.connect(root, arm, Revolute(f"q{k}", axis="xyz"[k]), at=(0.1 * k, 0.2, 0.3))
        m.coordinates("q0", "q1", "q2", "q9")
        e = kane.formulate(m)
        state = random_state(e, np.random.default_rng(1))
        found.append(evaluated(e, "inverse", state))
    close(found[0], found[1], ROUNDING)


@pytest.mark.parametrize("offset", [1e-13, 1e-11, 2e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3])
def test_parallel_axes_that_nearly_coincide_lose_no_digits(offset):
    for part in range(4):
        drawer = Drawer((600, part))
        m, parent = drawer.model, drawer.model.ground
        axis = tuple(drawer.random.normal(size=3).tolist())
        along, across = np.array(axis), drawer.random.normal(size=3)
        for k in range(4):
            body = drawer.body(f"B{k}")
            at = (float(drawer.random.normal()) * along + offset * across).tolist()
            c = m.connect(parent, body, Revolute(f"q{k}", axis=axis), at=at)
            m.load(kane.Motor(c, m.input(f"tau{k}")))
            parent = body
        check(m, part)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_the_unit_of_length_does_not_matter(scale):
    for part in range(3):
        drawer = Drawer((700, part))
        place, body = drawer.place, drawer.model.body
        drawer.place = lambda place=place: [scale * x for x in place()]
        drawer.model.body = lambda name, *, inertia, body=body, **k: body(
            name, inertia=[scale**2 * x for x in inertia], **k
        )
        drawer.model.gravity = tuple(scale * g for g in drawer.model.gravity)
        check(chain(drawer, 5, (Revolute,)), part)


def point_mass_on_its_axis():
    m = kane.Model("point")
    m.connect(m.ground, m.body("point", mass=1.0), Revolute("q1"))
    return m


def repeated_joint(n):
    """Two joints about one axis with nothing between them, n times."""
    m = kane.Model("repeated")
    parent = m.ground
    for k in range(n):
        mount = m.body(f"mount{k}", mass=0.0)
        m.connect(parent, mount, Revolute(f"q{k}a", axis="x"), at=(0.1, 0.2, 0.3))
        parent = m.body(f"body{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.3, 0.1))
        m.connect(mount, parent, Revolute(f"q{k}b", axis="x"), at=(0.4, 0.0, 0.0))
    return m


@pytest.mark.parametrize("make", [point_mass_on_its_axis, lambda: repeated_joint(1), lambda: repeated_joint(40)])
def test_joints_that_can_move_without_inertia_moving_are_named_when_accelerations_are_asked_for(make):
    equations = kane.formulate(make())
    assert len(equations.inverse) == len(equations.u)
    with pytest.raises(kane.ModelError, match="inertia"):
        _ = equations.forward


@pytest.mark.parametrize("far", [1e3, 1e7, 1.5e11])
def test_a_mechanism_far_from_the_origin_keeps_its_small_lengths(far):
    found = []
    for distance in (0.0, far):
        m = kane.Model("far", gravity=(0.0, 0.0, 0.0))
        parent = m.ground
        for k in range(3):
            body = m.body(f"b{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0.01, 0.0, 0.002))
            at = (0.01, 0.003, 0.0) if k else (distance, 0.0, 0.0)
            m.connect(parent, body, Revolute(f"q{k}", axis="zxz"[k]), at=at)
            parent = body
        e = kane.formulate(m)
        found.append(mass_matrix(e, random_state(e, np.random.default_rng(1))))
    close(found[1], found[0], ROUNDING)


@pytest.mark.parametrize("length", [1.0, 100.0, 1e4])
def test_a_long_thin_body_keeps_its_moment_about_its_axis(length):
    m = kane.Model("tether")
    reel = m.body("reel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.connect(m.ground, reel, Revolute("q1", axis="x"))
    tether = m.body("tether", mass=1.0, inertia=(length**2 / 12, length**2 / 12, 1e-6), com=(0.0, 0.0, length / 2))
    m.connect(reel, tether, Revolute("q2", axis="z"))
    e = kane.formulate(m)
    M = mass_matrix(e, random_state(e, np.random.default_rng(1)))
    # The moment is half the difference of sums of second moments of the size of length^2.
    assert M[1, 1] == pytest.approx(1e-6, rel=1e-6, abs=4e-16 * length**2)
