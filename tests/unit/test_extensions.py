"""Extensions as a stranger writes them, outside the package and from ``kane.`` alone, as docs/extending.md describes.

Who vouches: members of kane that say the same in other words, closed forms, and order conditions by themselves.
"""

import copy
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import pi
from typing import ClassVar

import numpy as np
import pytest
from unit import test_joints as contract

import kane

ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Crank(kane.Joint):
    """M turns by q about an axis along z of F, at the distance r from it."""

    q: str
    r: float = 0.4
    coordinate_units: ClassVar[tuple[str, ...]] = ("rad",)
    speed_units: ClassVar[tuple[str, ...]] = ("rad/s",)

    @property
    def label(self):
        return self.q

    def coordinate_names(self, name):
        return (name,)

    def speed_names(self, name):
        return (f"{name}_dot",)

    def motion(self, q, u):
        R = kane.Rotation.about("z", q[0])
        p = (self.r * (kane.cos(q[0]) - 1.0), self.r * kane.sin(q[0]), 0.0)
        v, a = (0.0, self.r, 0.0), -self.r * u[0] * u[0]
        return kane.JointMotion(R, p, ((0.0, 0.0, 1.0),), (v,), ZERO, (a, 0.0, 0.0), (u[0],))


@dataclass(frozen=True)
class Table(kane.RateJoint):
    """M slides along x and z of F."""

    coordinate_units: ClassVar[tuple[str, ...]] = ("m", "m")
    endings: ClassVar[tuple[str, ...]] = ("x", "z")

    def motion(self, q, u):
        axes = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        return kane.JointMotion(kane.Rotation.identity(), (q[0], 0.0, q[1]), (ZERO, ZERO), axes, ZERO, ZERO, tuple(u))


@dataclass(frozen=True)
class Cubic(kane.Load):
    """Effort -k q^3 along a joint, with the potential energy k q^4 / 4."""

    joint: object
    k: object

    def effect(self):
        along = self.joint[self.joint.coordinate_names[0]]
        return kane.Effect(efforts=((along, -self.k * along.q**3),), potential=0.25 * self.k * along.q**4)


@dataclass(frozen=True)
class Level(kane.Constraint):
    """A point stays at a height."""

    P: object
    height: object

    @property
    def title(self):
        return "level"

    def rows(self) -> Sequence[kane.Row]:
        up = self.P.body.model.ground.z
        return [kane.Row("height", configuration=self.P.position.dot(up) - self.height)]


@dataclass(frozen=True)
class Cone(kane.Shape):
    """A slim solid: what pictures show of it is a cylinder."""

    centre: object
    radius: object

    @property
    def origin(self):
        return self.centre

    def parts(self):
        size = (self.radius, self.radius, 0.2)
        return (kane.Part("cylinder", size, self.centre.position_in_body, kane.Rotation.identity()),)


@dataclass(frozen=True)
class Heun3(kane.Explicit):
    """Heun's method of order three, whose class says nothing of its steps: they are fixed."""

    order: ClassVar[int] = 3

    @property
    def tableau(self):
        rows = ({}, {0: 1 / 3}, {1: 2 / 3}, {0: 1 / 4, 2: 3 / 4})
        return kane.Tableau(nodes=(0.0, 1 / 3, 2 / 3, 1.0), rows=rows, last=3)


@dataclass(frozen=True)
class Rubber(kane.Coulomb):
    """Friction by the hardness of a tyre."""

    static: object = field(init=False, default=0.0)
    kinetic: object = field(init=False, default=None)
    hardness: object = 60.0

    def __post_init__(self):
        object.__setattr__(self, "static", 1.2 - 0.01 * self.hardness)
        object.__setattr__(self, "kinetic", 0.9 * self.static)


def one(joint, **given):
    m = kane.Model("stranger's", gravity=(0.3, -1.0, -9.81))
    body = m.body("B", **{"mass": 1.3, "inertia": (0.2, 0.3, 0.25), "com": (0.1, 0.2, -0.1), **given})
    return m, body, m.connect(m.ground, body, joint)


CONTRACT = {
    name: test for name, test in vars(contract).items() if name.startswith("test_") and hasattr(test, "pytestmark")
}
PROMISES = [
    name
    for name, test in CONTRACT.items()
    if [mark.args[0] for mark in test.pytestmark if mark.name == "parametrize"] == ["joint"]
]


@pytest.mark.parametrize("kind", [Crank, Table])
@pytest.mark.parametrize("promise", PROMISES)
def test_a_joint_of_a_strangers_own_passes_the_tests_of_the_family(kind, promise):
    with contract.mpmath.workdps(40):
        for joint in kind.examples("j1", (1.0, -2.0, 0.5)):
            CONTRACT[promise](joint)


def test_a_joint_of_a_strangers_own_moves_as_one_of_kane_that_says_the_same():
    runs = []
    for joint, at in ((Crank("q"), ZERO), (kane.Revolute("q", axis="z"), (-0.4, 0, 0))):
        m = kane.Model("arm", gravity=(0.3, -1.0, -9.81))
        body = m.body("B", mass=1.3, inertia=(0.2, 0.3, 0.25), com=(0.1, 0.2, -0.1))
        m.connect(m.ground, body, joint, at=at, child_at=at)
        dyn = kane.build(kane.formulate(m))
        assert kane.certify(m, states=2).holds
        runs.append(kane.simulate(dyn, until=1.0, q=[0.3], u=[2.0]).q)
    assert runs[0][-1] == pytest.approx(runs[1][-1], rel=1e-8)


def test_joints_of_several_coordinates_need_names_alone():
    m, _, joint = one(Table("desk"))
    assert joint.coordinate_names == ("desk_x", "desk_z")
    run = kane.simulate(kane.build(kane.formulate(m)), until=1.0)
    assert run["desk_z"][-1] == pytest.approx(-9.81 / 2, rel=1e-9)
    assert run["desk_x"][-1] == pytest.approx(0.3 / 2, rel=1e-9)


def test_a_load_of_a_strangers_own_acts_and_keeps_its_energy():
    m, _, joint = one(kane.Prismatic("x", axis="y"))
    m.load(Cubic(joint, m.parameter("k", 3.0)))
    dyn = kane.build(kane.formulate(m))
    assert dyn.forward([0.5], [0.0]) == pytest.approx([(-1.3 - 3.0 * 0.125) / 1.3], rel=1e-12)
    run = kane.simulate(dyn, until=2.0, q=[0.5])
    assert np.ptp(run.energy) < 1e-8


def test_a_constraint_of_a_strangers_own_holds():
    m, body, _ = one(kane.Free("f"))
    m.constrain(Level(body.point((0, 0, -0.1)), -0.1))
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.5, u={"f_wx": 1.0})
    assert run.residuals["configuration_residual"].max() < 1e-12
    assert abs(run["f_x"][-1]) > 1e-3


def test_a_shape_of_a_strangers_own_is_drawn(tmp_path):
    m, body, _ = one(kane.Revolute("q", axis="z"))
    body.shape(Cone(body.point(), 0.1))
    kane.build(kane.formulate(m)).save_html(tmp_path / "cone.html")
    assert (tmp_path / "cone.html").stat().st_size > 1000


@pytest.fixture(scope="module")
def oscillator():
    m = kane.Model("oscillator", gravity=(0, 0, 0))
    joint = m.connect(m.ground, m.body("B", mass=m.parameter("m", 1.0)), kane.Prismatic("x", axis="x"))
    m.load(kane.Spring(joint, 4.0 * pi**2))
    return kane.build(kane.formulate(m))


def test_a_method_that_is_a_table_alone_has_fixed_steps_and_its_order(oscillator):
    assert Heun3().fixed
    found = [kane.simulate(oscillator, until=1.0, q=[1.0], integrator=Heun3(), dt=h) for h in (0.01, 0.005)]
    errors = [np.hypot(run.q[-1, 0] - 1.0, run.u[-1, 0] / (2 * pi)) for run in found]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3.0, abs=0.05)
    assert found[0].to_xarray().attrs["integrator"] == "Heun3"


def test_sensitivities_take_the_steps_of_the_method_that_made_the_run(oscillator):
    """With steps of 0.1 s the derivative is that of Heun's steps, far from that of the motion itself."""
    h, n = 0.1, 10

    def end(m):
        """The steps written down: x' = A x, the polynomial of order three of exp(A h), taken n times."""
        A = np.array([[0.0, 1.0], [-4.0 * pi**2 / m, 0.0]]) * h
        return np.linalg.matrix_power(np.eye(2) + A + A @ A / 2 + A @ A @ A / 6, n) @ [1.0, 0.0]

    run = kane.simulate(oscillator, until=1.0, q=[1.0], integrator=Heun3(), dt=h)
    assert run.q[-1, 0] == pytest.approx(end(1.0)[0], rel=1e-13)
    found = kane.sensitivities(run, wrt=["m"])
    wanted = end(1.0 + 1e-30j).imag / 1e-30
    assert found.final["m"] == pytest.approx(wanted, rel=1e-11)


def test_a_run_from_a_file_by_a_method_that_kane_does_not_have_says_so(oscillator, tmp_path):
    kane.simulate(oscillator, until=0.2, q=[1.0], integrator=Heun3(), dt=0.1).save(tmp_path / "run.nc")
    back = kane.Trajectory.load(tmp_path / "run.nc")
    with pytest.raises(kane.ModelError, match="Heun3"):
        kane.sensitivities(back, wrt=["m"])


def test_a_law_of_friction_keeps_its_own_fields():
    m = kane.Model("block", gravity=(0, 0, -9.81))
    block = m.body("B", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, block, kane.Free("b"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    (constraint,) = m.contact(block.point(), floor, friction=Rubber(hardness=70.0), name="c")
    assert constraint.friction == Rubber(hardness=70.0)
    assert constraint.friction.hardness == 70.0
    run = kane.simulate(kane.build(kane.formulate(m)), until=0.1, u={"b_vx": 2.0})
    assert run.u[-1, 3] == pytest.approx(2.0 - 0.9 * 0.5 * 9.81 * 0.1, rel=1e-6)
    for again in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert again.intermittents[0].friction == Rubber(hardness=70.0)


def test_a_law_of_restitution_keeps_its_own_fields():
    @dataclass(frozen=True)
    class Rated(kane.Newton):
        note: str = ""

    m = kane.Model("ball")
    ball = m.body("B", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, ball, kane.Prismatic("z", axis="z"))
    floor = kane.Plane(m.ground.point(), m.ground.z)
    (constraint,) = m.contact(ball.point(), floor, restitution=Rated(0.5, "measured"), name="c")
    assert constraint.restitution.note == "measured"


@pytest.mark.parametrize("made", [Crank("q"), Table("desk")])
def test_a_model_with_a_strangers_joint_is_sent_and_its_file_is_refused_with_the_cure(made, tmp_path):
    m, _, _ = one(made)
    again = pickle.loads(pickle.dumps(m))
    assert again.connections[0].joint == made
    with pytest.raises(kane.FileError, match="CustomJoint"):
        kane.save_model(m, tmp_path / "m.json")
    assert not (tmp_path / "m.json").exists()


def test_contracts_are_in_the_vocabulary():
    model = "Joint JointMotion RateJoint Load Effect Wrench Constraint Row Shape Part Intermittent"
    for name in (*model.split(), "IntermittentConstraint", "Integrator", "Explicit", "Adaptive", "Implicit", "Tableau"):
        assert isinstance(getattr(kane, name), type)
