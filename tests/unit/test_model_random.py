"""Random malformed models: whatever is thrown at a model, only errors of kane come out, and quickly."""

import math
import time
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import kane
import kane.library
from kane import (
    Damper,
    Force,
    Free,
    KaneError,
    Model,
    Motor,
    Prismatic,
    Revolute,
    Rotation,
    Spherical,
    Spring,
    Torque,
    Weld,
)
from kane.expression.node import Expr

OTHER = kane.library.chain(1)
OTHER_THINGS = (OTHER.bodies[1], OTHER.ground, OTHER.connections[0], OTHER.connections[0].q, OTHER.loads[0], OTHER)

NUMBERS = st.one_of(
    st.sampled_from((0, 1, -1, 2.5, 1e-3, math.nan, math.inf, -math.inf, 1e308, 5e-324, 10**400, True, 1j)),
    st.floats(width=32),
    st.integers(-3, 3),
)
WORDS = st.sampled_from(
    ("A", "B", "C", "q1", "q2", "u1", "t", "ground", "L", "tau", "x", "-y", "", " ", "w", "base", "🦾")
)
JUNK = st.one_of(
    NUMBERS,
    WORDS,
    st.none(),
    st.sampled_from(
        (b"A", {}, {1: 2}, set(), object(), Revolute, len, np.zeros(3), np.eye(3), np.zeros((0, 3)), range(3))
    ),
    st.sampled_from(OTHER_THINGS),
    st.lists(NUMBERS, max_size=7),
    st.lists(st.lists(NUMBERS, max_size=4), max_size=4),
)


def mostly(sane, odd=JUNK):
    """Sane in nine cases of ten, so that models grow before they break."""
    return st.integers(0, 9).flatmap(lambda k: odd if k == 0 else sane)


def pick(kind):
    """Stands for one of the bodies, joints, expressions or points that the model under attack has given out so far."""
    return st.builds(lambda k: Pick(kind, k), st.integers(0, 30))


@dataclass(frozen=True)
class Pick:
    kind: str
    place: int


SANE = st.sampled_from((1.0, 2.0, 0.5))
BODIES, JOINTS, SCALARS, POINTS = (pick(kind) for kind in ("bodies", "joints", "scalars", "points"))
NAMES = mostly(st.just("new"), st.one_of(WORDS, JUNK))
NUMBER = mostly(SANE, st.one_of(SCALARS, JUNK))
TRIPLES = mostly(st.tuples(SANE, SANE, SANE), st.one_of(st.tuples(NUMBER, SANE, NUMBER), JUNK))
VECTORS = mostly(st.tuples(SCALARS, SANE, SCALARS))
ROTATIONS = mostly(st.one_of(st.none(), st.just(Rotation.about("x", 0.3))), st.one_of(BODIES, JUNK))
KINDS = st.sampled_from(("revolute", "prismatic", "weld", "free", "spherical", "junk"))
LABELS = mostly(st.just("new"), st.one_of(SCALARS, SCALARS, WORDS, JUNK))
AXES = mostly(st.sampled_from(("x", "-y", (1.0, 2.0, 3.0))))
ON_JOINTS, ON_POINTS = st.sampled_from(("motor", "spring", "damper")), st.sampled_from(("force", "torque"))

STEPS = st.one_of(
    st.tuples(st.just("body"), NAMES, NUMBER, TRIPLES, TRIPLES),
    st.tuples(st.just("connect"), mostly(BODIES), mostly(BODIES), KINDS, LABELS, AXES, TRIPLES, ROTATIONS),
    st.tuples(st.just("hang"), mostly(BODIES), KINDS, LABELS, AXES, TRIPLES, ROTATIONS),
    st.tuples(st.just("load"), ON_JOINTS, mostly(JOINTS), mostly(SCALARS), VECTORS, mostly(SANE)),
    st.tuples(st.just("load"), ON_POINTS, mostly(POINTS), mostly(BODIES), VECTORS, mostly(POINTS)),
    st.tuples(st.just("symbol"), st.sampled_from(("parameter", "input")), NAMES, mostly(SANE)),
    st.tuples(st.just("coordinates"), st.lists(st.one_of(WORDS, JUNK), max_size=3)),
    st.tuples(st.just("frame"), NAMES, mostly(BODIES), TRIPLES, ROTATIONS),
    st.tuples(st.just("gravity"), TRIPLES),
    st.tuples(st.just("measure"), BODIES, TRIPLES, BODIES, TRIPLES),
    st.tuples(st.just("arithmetic"), SCALARS, mostly(SCALARS)),
)


class Attack:
    """A model, what it has given out, and the steps that are thrown at it."""

    def __init__(self):
        self.model = Model()
        A = self.model.body("A", mass=1.0, inertia=(1.0, 1.0, 1.0))
        joint = self.model.connect(self.model.ground, A, Revolute("q0"))
        self.things = {
            "bodies": [A, self.model.ground],
            "joints": [joint],
            "scalars": [joint.q, joint.qdot, self.model.time, self.model.parameter("p", 1.0), self.model.input("f")],
            "points": [A.point(), A],
        }
        self.count = 0

    def meant(self, value):
        if isinstance(value, Pick):
            things = self.things[value.kind]
            return things[value.place % len(things)]
        if type(value) is str and value == "new":
            self.count += 1
            return f"new{self.count}"
        return tuple(self.meant(v) for v in value) if isinstance(value, tuple) else value

    def throw(self, step):
        verb, *arguments = step
        getattr(self, verb)(*map(self.meant, arguments))

    def body(self, name, mass, inertia, com):
        self.things["bodies"].append(self.model.body(name, mass=mass, inertia=inertia, com=com))

    def hang(self, parent, *how):
        body = self.model.body(self.meant("new"), mass=1.0, inertia=(1.0, 1.0, 1.0), com=(0.1, 0.2, 0.3))
        self.things["bodies"].append(body)
        try:
            self.connect(parent, body, *how)
        except KaneError:
            self.model.connect(self.model.ground, body, Weld())

    def connect(self, parent, child, kind, label, axis, at, orientation):
        joint = {
            "revolute": lambda: Revolute(label, axis),
            "prismatic": lambda: Prismatic(label, axis),
            "weld": Weld,
            "free": lambda: Free(label),
            "spherical": lambda: Spherical(label),
            "junk": lambda: label,
        }[kind]()
        made = self.model.connect(parent, child, joint, at=at, orientation=orientation, child_at=at)
        self.things["joints"].append(made)
        self.things["scalars"] += made.q if isinstance(made.q, tuple) else (made.q, made.qdot)

    def load(self, kind, on, value, components, other):
        load = {
            "motor": lambda: Motor(on, value),
            "spring": lambda: Spring(on, value, other),
            "damper": lambda: Damper(on, value),
            "force": lambda: Force(on, components, value, other),
            "torque": lambda: Torque(on, components, value, other),
        }[kind]()
        self.model.load(load)

    def symbol(self, kind, name, default):
        self.things["scalars"].append(getattr(self.model, kind)(name, default))

    def coordinates(self, names):
        self.model.coordinates(*names)

    def frame(self, name, body, at, orientation):
        self.model.frame(name, body, at=at, orientation=orientation)

    def gravity(self, value):
        self.model.gravity = value

    def measure(self, body, position, other, components):
        point = body.point(position)
        self.things["points"].append(point)
        self.things["scalars"] += [point.velocity.dot(other.direction(components)), body.angular_velocity.dot(other.x)]

    def arithmetic(self, a, b):
        if isinstance(b, (Expr, int, float)):
            self.things["scalars"] += [a * b + 1, kane.sin(a) - b, a / b]

    def finish(self):
        """Everything that is derived from the model, each quantity on its own."""
        equations = kane.formulate(self.model)
        for word in ("kinematics", "mass_matrix", "bias", "inverse", "forward", "input_matrix"):
            survived(lambda word=word: getattr(equations, word))


def survived(attempt):
    """Whether an attempt succeeded; it may fail with an error of kane that has something to say."""
    try:
        attempt()
    except KaneError as error:
        assert len(str(error)) > 10  # noqa: PT017
        return False
    return True


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=12))
def test_random_malformed_models_give_errors_of_kane_and_nothing_else(steps):
    attack = Attack()
    started = time.process_time()
    for step in steps:
        survived(lambda step=step: attack.throw(step))
    survived(attack.finish)
    assert time.process_time() - started < 10.0  # a model of a dozen steps takes milliseconds


@settings(max_examples=100)
@given(st.lists(STEPS, max_size=8))
def test_a_refused_step_leaves_the_model_as_it_was(steps):
    attack = Attack()
    model = attack.model

    def told():
        return (
            [*model.bodies],
            [*model.connections],
            [*model.loads],
            {**model.frames},
            {**model.parameters},
            {**model.inputs},
            model.gravity,
            [*model.ordered_connections],
        )

    for step in steps:
        before = told()
        if not survived(lambda step=step: attack.throw(step)):
            assert told() == before


@settings(max_examples=200)
@given(
    st.sampled_from(("forward", "inverse", "mass_matrix", "bias", "energy", "poses", "jacobian", "rhs", "inputs_for")),
    st.lists(JUNK, min_size=1, max_size=4),
    st.one_of(st.none(), st.dictionaries(WORDS, JUNK, max_size=2), JUNK),
)
def test_random_arguments_of_dynamics_give_errors_of_kane_and_nothing_else(name, arguments, parameters):
    method = getattr(DYNAMICS, name)
    named = {} if name == "rhs" else {"parameters": parameters}
    try:
        method(*arguments, **named)
    except KaneError as error:
        assert len(str(error)) > 10  # noqa: PT017
    except TypeError as error:
        assert "argument" in str(error)  # noqa: PT017 - too few or too many of them: Python's own message


# One pendulum on a cart, compiled once.
DYNAMICS = kane.build(kane.formulate(kane.library.n_link_pendulum(1)))
