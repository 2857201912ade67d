"""Bad values for arguments of kane, and a small mechanism that provides valid ones."""

import io
import math
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import kane

URDF = """<robot name="arm"><link name="base"/><link name="upper"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit effort="1" velocity="1" lower="-1" upper="1"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="upper"><joint name="shoulder" axis="0 1 0"/>
<geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""


# JSON texts that are not finite numbers, although Python may read them as a number, infinity or an OverflowError.
NO_NUMBERS = (400 * "9", "1e400", "-1e400", "Infinity", "-Infinity", "NaN", "true", "null", '"1"', '"1_0"', "[1]", "{}")


class Scene:
    """Mechanism with a revolute, a prismatic and a spherical joint, and the objects that kane builds from it."""

    def __init__(self):
        m = self.model = kane.Model("scene")
        self.m1, self.tau = m.parameter("m1", 1.0), m.input("tau", 0.5)
        self.A = m.body("A", mass=self.m1, inertia=(0.1, 0.1, 0.1), com=(0.0, 0.0, -0.5))
        self.B = m.body("B", mass=1.0, inertia=(0.1, 0.2, 0.2))
        self.C = m.body("C", mass=2.0, inertia=(0.1, 0.1, 0.1))
        self.joint = m.connect(m.ground, self.A, kane.Revolute("q1", axis="y"))
        self.slide = m.connect(self.A, self.B, kane.Prismatic("q2", axis="x"), at=(0.0, 0.0, -1.0))
        self.ball = m.connect(self.B, self.C, kane.Spherical("ball"))
        self.frame = m.frame("tool", self.B, at=(0.1, 0.0, 0.0))
        m.load(kane.Motor(self.joint, self.tau))
        self.q1, self.q2 = self.joint.q, self.slide.q
        self.point, self.far = self.A.point((0.1, 0.0, 0.0)), self.C.point((0.0, 0.2, 0.0))
        self.direction = self.A.x
        self.rotation = kane.Rotation.about("x", 0.3)
        self.q = [0.1, 0.2, 1.0, 0.0, 0.0, 0.0]
        self.u = [0.1, 0.2, 0.3, 0.4, 0.5]

    def new_body(self):
        return self.model.body("new", mass=1.0, inertia=(1.0, 1.0, 1.0))

    @cached_property
    def equations(self):
        return kane.formulate(self.model)

    @cached_property
    def dyn(self):
        return kane.build(self.equations)

    @cached_property
    def loop(self):
        return kane.build(kane.formulate(kane.library.four_bar()))

    @cached_property
    def function(self):
        return self.dyn.function("forward")

    @cached_property
    def run(self):
        return kane.simulate(self.dyn, until=0.02, q=self.q, u=self.u, times=[0.01])

    @cached_property
    def ensemble(self):
        return kane.simulate_many(self.dyn, until=0.02, u=[self.u, self.u])

    @cached_property
    def followed(self):
        held = dict(zip([x.name for x in self.equations.q], self.q, strict=True))
        return kane.follow(self.dyn, q=held | {"q1": lambda t: 0.1 * t}, times=[0.0, 0.1])

    @cached_property
    def reactions(self):
        return kane.reveal_reactions(self.equations, "q1")

    @cached_property
    def force(self):
        return kane.RevealedReactions(self.dyn, self.reactions)

    @cached_property
    def ledger(self):
        return kane.power_ledger(self.model)

    @cached_property
    def explicit(self):
        return kane.explicit(self.model)

    @cached_property
    def lagrange(self):
        return kane.lagrange(self.model)

    @cached_property
    def tables(self):
        return kane.path_tables(self.model)

    @cached_property
    def derivatives(self):
        return self.dyn.derivatives("forward", wrt=("q", "u", "inputs", "m1"))

    @cached_property
    def linearization(self):
        return kane.linearize(self.dyn, tolerance=float("inf"))

    @cached_property
    def sensitivities(self):
        return kane.sensitivities(self.run, wrt=["m1", "q1"])

    @cached_property
    def assembly(self):
        return kane.assemble(self.loop)

    @cached_property
    def certificate(self):
        return kane.certify(self.model, states=1)


OTHER = Scene()  # another model, whose objects must be refused


def _nested(depth):
    value = 1.0
    for _ in range(depth):
        value = [value]
    return value


def _cyclic():
    value = [1.0]
    value.append(value)
    return value


class Liar(float):
    """Number whose conversion to float fails."""

    def __float__(self):
        raise ValueError("no")


class Mute:
    """Object without attributes whose repr fails."""

    def __repr__(self):
        raise RuntimeError("no text")


class Endless:
    """Object with a length and without items."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        raise IndexError(index)


class Loadless(kane.Constraint):
    """Constraint whose rows are not Row objects."""

    title = "odd"

    def rows(self):
        return [3]


class Subclassed(str):
    """Instance of a subclass of str."""


# Makers of bad values, by their names in reported defects.
HOSTILE = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "5e-324": lambda: 5e-324,
    "-0.0": lambda: -0.0,
    "0": lambda: 0,
    "-1": lambda: -1,
    "3": lambda: 3,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "2**63": lambda: 2**63,
    "1j": lambda: 1j,
    "nan+1j": lambda: complex(math.nan, 1.0),
    "Fraction": lambda: Fraction(1, 3),
    "np.nan32": lambda: np.float32("nan"),
    "np.int8": lambda: np.int8(3),
    "np.bool": lambda: np.True_,
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "Liar": lambda: Liar(1.0),
    "Mute": Mute,
    "Endless": Endless,
    "Loadless": Loadless,
    "object": object,
    "class": lambda: object,
    "Model class": lambda: kane.Model,
    "lambda": lambda: lambda: None,
    "raises": lambda: lambda *a: 1 / 0,
    "returns text": lambda: lambda *a: "text",
    "namespace": lambda: SimpleNamespace(model=None, name="A", q=None, body=None),
    "''": str,
    "' '": lambda: " ",
    "'1'": lambda: "1",
    "'nan'": lambda: "nan",
    "'q1'": lambda: "q1",
    "'A'": lambda: "A",
    "'ground'": lambda: "ground",
    "'x'": lambda: "x",
    "'xyz'": lambda: "xyz",
    "'t'": lambda: "t",
    "'a b'": lambda: "a b",
    "unicode": lambda: "\u03c9\u0301\U0001f680",
    "surrogate": lambda: "\ud800",
    "nul": lambda: "a\0b",
    "long text": lambda: "y" * 10000,
    "lines": lambda: "a\nb\x1b[31m",
    "Subclassed": lambda: Subclassed("q1"),
    "bytes": lambda: b"q1",
    "urdf": lambda: URDF,
    "mjcf": lambda: MJCF,
    "markup": lambda: "<robot",
    "bytearray": lambda: bytearray(b"abc"),
    "path": lambda: Path("no/such/place.xml"),
    "folder": lambda: Path(),
    "stream": lambda: io.StringIO("text"),
    "()": tuple,
    "[]": list,
    "{}": dict,
    "set": lambda: {1.0, 2.0},
    "[None]": lambda: [None],
    "[1]": lambda: [1.0],
    "[1,2,3]": lambda: [1.0, 2.0, 3.0],
    "[0,0,0]": lambda: [0.0, 0.0, 0.0],
    "[nan]*3": lambda: [math.nan] * 3,
    "[1e308]*3": lambda: [1e308] * 3,
    "[10**400]*3": lambda: [10**400] * 3,
    "[5e-324]*3": lambda: [5e-324] * 3,
    "[True]*3": lambda: [True] * 3,
    "['1']*3": lambda: ["1"] * 3,
    "[1j]*3": lambda: [1j] * 3,
    "[None]*3": lambda: [None] * 3,
    "[Mute]*3": lambda: [Mute()] * 3,
    "[[]]": lambda: [[]],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "quaternion of 5": lambda: [5.0, 0.0, 0.0, 0.0],
    "nested": lambda: _nested(100),
    "very nested": lambda: _nested(5000),
    "cyclic": _cyclic,
    "generator": lambda: (float(i) for i in range(3)),
    "range": lambda: range(3),
    "{'q1': None}": lambda: {"q1": None},
    "{'q1': 10**400}": lambda: {"q1": 10**400},
    "{'no': 1}": lambda: {"no": 1.0},
    "{1: 2}": lambda: {1: 2.0},
    "{Mute: 1}": lambda: {Mute(): 1.0},
    "{'tau': nan}": lambda: {"tau": math.nan},
    "{'tau': Expr}": lambda: {"tau": OTHER.q1},
    "{'tau': raises}": lambda: {"tau": lambda *a: 1 / 0},
    "{'tau': text}": lambda: {"tau": lambda *a: "text"},
    "{'tau': samples}": lambda: {"tau": ([0.0, 0.0], [1.0, 1.0])},
    "{'m1': -1}": lambda: {"m1": -1.0},
    "np.array(())": lambda: np.array(()),
    "np.array(1)": lambda: np.array(1.0),
    "np.array('x')": lambda: np.array("x"),
    "np.array(None)": lambda: np.array(None),
    "np.zeros(3)": lambda: np.zeros(3),
    "np.zeros(6)": lambda: np.zeros(6),
    "np.zeros((3,3))": lambda: np.zeros((3, 3)),
    "np.eye(3)": lambda: np.eye(3),
    "np.eye(4)": lambda: np.eye(4),
    "np.zeros((0,6))": lambda: np.zeros((0, 6)),
    "np.zeros((2,6))": lambda: np.zeros((2, 6)),
    "np.zeros((2,5))": lambda: np.zeros((2, 5)),
    "np.ones((2,3,6))": lambda: np.ones((2, 3, 6)),
    "np.full((3,3),nan)": lambda: np.full((3, 3), math.nan),
    "np.full((3,3),1e308)": lambda: np.full((3, 3), 1e308),
    "np.full(6,nan)": lambda: np.full(6, math.nan),
    "np.full(5,1e308)": lambda: np.full(5, 1e308),
    "complex array": lambda: np.ones(6, complex),
    "object array": lambda: np.array([None] * 6, dtype=object),
    "array of Expr": lambda: np.array([OTHER.q1] * 6, dtype=object),
    "structured": lambda: np.zeros(3, dtype=[("a", float)]),
    "text array": lambda: np.array(["1", "2", "3"]),
    "masked": lambda: np.ma.masked_all(6),
    "read-only": lambda: np.broadcast_to(0.0, (6,)),
    "1000 numbers": lambda: list(range(1000)),
    "Expr of another": lambda: OTHER.q1,
    "[Expr of another]*3": lambda: [OTHER.q1] * 3,
    "body of another": lambda: OTHER.A,
    "joint of another": lambda: OTHER.joint,
    "point of another": lambda: OTHER.point,
    "direction of another": lambda: OTHER.direction,
    "model of another": lambda: OTHER.model,
    "event of another": lambda: [kane.Event(OTHER.q1)],
    "rotation of another": lambda: kane.Rotation.about("x", OTHER.q1),
}
