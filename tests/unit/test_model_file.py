"""Models and equations as files: without loss, without risk, and refused by name where they cannot be.

What a round trip keeps is vouched for by the listing of the equations, by operation counts and by the bits of native
code; what the loader refuses, by damage done to files at random and by hand.
"""

import copy
import json
import re
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from inspect import isabstract

import numpy as np
import pytest
from oracles.robots import talos

import kane
from kane import library
from kane.deferred import exports
from kane.files.json_file import _checksum
from kane.library.random_tree import JOINT_MAKERS, random_tree
from kane.model import joints, loads
from kane.model.joints import Joint
from kane.model.loads.load import Effect, Load
from kane.model.model_form import known_classes

MODELS = {
    **{name: getattr(library, name) for name in library.__all__},
    "chain": lambda: library.chain(8),
    "n_four_bar": lambda: library.n_four_bar(2),
    "n_link_pendulum": lambda: library.n_link_pendulum(3),
    **{
        f"tree of joint {k}": (lambda k=k: random_tree(k, 4, joints=JOINT_MAKERS[k : k + 1]))
        for k in range(len(JOINT_MAKERS))
    },
    "large tree": lambda: random_tree(3, 25),
    "Talos": talos,
}


def made(name):
    """A model by its name; None for what the library exports besides models."""
    try:
        found = MODELS[name]()
    except TypeError:
        return None
    return found if isinstance(found, kane.Model) else None


MODELS = {name: make for name, make in MODELS.items() if made(name) is not None}


def rich():
    """A model with everything that the library's models do not have."""
    m = kane.Model("rich", gravity=(0.0, 0.1, -9.81))
    k, push = m.parameter("k", 2.0), m.input("push", 0.25)
    A, B = m.body("A", mass=1.0, inertia=(1, 1, 1)), m.body("B", mass=k, com=(0.1, 0, 0), inertia=(1, 2, 2))
    slide = m.connect(m.ground, A, kane.Cylindrical("c", "z"))
    m.connect(A, B, kane.Gimbal("g", "zxz", speeds=kane.MeasureNumbers()), at=(k, 0, 0), name="neck")
    first = slide[slide.coordinate_names[0]]
    m.load(kane.Force(A.point((0, 0, 1)), [push, 0, 1.0], B, reaction=B.point((k, 0, 0))))
    m.load(kane.Spring(first, 3, rest=0.5))
    m.load(kane.Damper(first, np.float64(0.1)))
    m.load(kane.PointSpring(m.ground.point(), B.point((0.3, 0.1, 1)), k, 0.1))
    m.load(kane.PointDamper(m.ground.point(), B.point((0.3, 0.1, 1)), k))
    m.load(kane.Torque(B, np.array([0.0, 0.1, 0.2])))
    m.load(kane.Motor(first, kane.spline(first.q, [0, 1, 2], [0, 1, 4]) + kane.select(m.time < 1, 1.0, push)))
    m.load(kane.Motor(first, -kane.sign(A.angular_velocity.dot(B.x)) * A.point((0, 0, k)).velocity.dot(A.y)))
    m.frame("tool", B, at=(0, 0, 1), orientation=kane.Rotation.about((1, 2, 3), 0.3))
    m.coordinates(*slide.coordinate_names[::-1])
    m.notes.append("no wind")
    return m


def at_unit_length(equations, q):
    """Coordinates whose quaternions have length one."""
    for start in equations.quaternions:
        q[:, start : start + 4] /= np.linalg.norm(q[:, start : start + 4], axis=1, keepdims=True)
    return q


def listing(equations):
    """Everything that forward dynamics is made of, as text."""
    numerical = equations.embedding.numerical
    return equations.listing("constraints") + equations.listing("unconstrained") if numerical else equations.listing()


def through(tmp_path, model):
    kane.save_model(model, tmp_path / "m.json")
    return kane.load_model(tmp_path / "m.json")


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_with_the_same_equations(tmp_path, name):
    model = made(name)
    back = through(tmp_path, model)
    assert listing(kane.formulate(back)) == listing(kane.formulate(model))
    text = (tmp_path / "m.json").read_bytes()
    kane.save_model(back, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == text


@pytest.mark.parametrize("name", ["stanford_arm", "rolling_coin", pytest.param("large tree", marks=pytest.mark.slow)])
def test_native_code_of_a_loaded_model_gives_the_same_bits_at_the_same_cost(tmp_path, name):
    model = made(name)
    eqs = [kane.formulate(m) for m in (model, through(tmp_path, model))]
    assert str(eqs[0].count()) == str(eqs[1].count())
    ours, theirs = (kane.build(e) for e in eqs)
    random = np.random.default_rng(0)
    n = len(eqs[0].u)
    q = at_unit_length(eqs[0], random.normal(size=(20, len(eqs[0].q))))
    u, udot = random.normal(size=(2, 20, n))
    inputs = random.normal(size=len(eqs[0].inputs))
    assert (ours.forward(q, u, inputs) == theirs.forward(q, u, inputs)).all()
    assert (ours.inverse(q, u, udot) == theirs.inverse(q, u, udot)).all()


def test_everything_that_can_be_declared_comes_back(tmp_path):
    model = rich()
    back = through(tmp_path, model)
    for word in ("name", "parameters", "inputs", "notes", "coordinate_order"):
        assert getattr(back, word) == getattr(model, word)
    assert list(back.frames) == ["tool"]
    assert [c.name for c in back.connections] == [c.name for c in model.connections]
    assert [type(load) for load in back.loads] == [type(load) for load in model.loads]
    assert listing(kane.formulate(back)) == listing(kane.formulate(model))


def test_every_joint_and_load_of_kane_is_known_to_files():
    members = [x for family in (joints, loads) for x in exports(family) if isinstance(x, type)]
    members = [x for x in members if issubclass(x, Joint | Load) and not isabstract(x)]
    assert len(members) >= 18
    assert all(is_dataclass(x) and known_classes()[x.__name__] is x for x in members)


def test_what_was_derived_before_a_model_is_saved_is_not_in_its_file(tmp_path):
    fresh, used = library.stanford_arm(), library.stanford_arm()
    _ = kane.formulate(used).forward
    for model, name in ((fresh, "fresh"), (used, "used")):
        kane.save_model(model, tmp_path / name)
    assert (tmp_path / "fresh").read_bytes() == (tmp_path / "used").read_bytes()


def test_a_loaded_model_is_a_model_like_any_other(tmp_path):
    back = through(tmp_path, rich())
    C = back.body("C", mass=1.0, inertia=(1, 1, 1))
    back.connect(back.bodies[2], C, kane.Revolute("late"))
    assert [leaf.name for leaf in kane.formulate(back).q].count("late") == 1
    with pytest.raises(kane.ModelError, match="already taken"):
        back.parameter("k", 1.0)


@pytest.mark.parametrize("change", ["as formulated", "substituted", "explicit", "constrained", "with a reaction"])
def test_equations_come_back_with_what_was_substituted(tmp_path, change):
    model = random_tree(1, 5, joints=JOINT_MAKERS[:2])
    if change == "with a reaction":
        joint = model.connections[0]
        model.load(kane.Motor(model.connections[1], 0.1 * joint.reaction_force.dot(model.ground.x)))
    gain = model.parameter("gain", 3.0)
    eqs = kane.formulate(model)
    if change in ("substituted", "constrained"):
        eqs = kane.substitute(eqs, tau1=gain * eqs.inputs[1], gain=2.5)
        eqs = kane.substitute(eqs, tau2=-model.connections[0].speeds[0])
    if change == "constrained":
        eqs = kane.constrain(eqs, model.connections[2].q - kane.sin(model.time))
    if change == "explicit":
        eqs = kane.explicit(eqs)
    kane.save_equations(eqs, tmp_path / "e.json")
    back = kane.load_equations(tmp_path / "e.json")
    assert type(back) is type(eqs)
    assert [x.name for x in (*back.inputs, *back.parameters)] == [x.name for x in (*eqs.inputs, *eqs.parameters)]
    assert listing(back) == listing(eqs)
    kane.build(back).function("rhs")


def test_an_input_whose_controller_uses_another_input_can_be_constrained_after_that_one_is_substituted_too():
    # The earlier controller kept the later input, which the equations no longer have.
    model = random_tree(1, 3, joints=JOINT_MAKERS[:1])
    eqs = kane.formulate(model)
    eqs = kane.substitute(kane.substitute(eqs, tau1=2 * eqs.inputs[1]), tau2=5.0)
    held = kane.constrain(eqs, model.connections[2].q - 0.1)
    assert [i.name for i in held.inputs] == ["tau3"]
    kane.build(held).function("rhs")


def test_equations_of_a_part_are_refused_when_they_are_read(tmp_path):
    eqs = kane.formulate(library.rolling_disk())
    kane.save_equations(eqs.unconstrained, tmp_path / "e.json")
    with pytest.raises(kane.ImportFileError, match="equations of a part"):
        kane.load_equations(tmp_path / "e.json")


@dataclass(frozen=True)
class Wind(Load):
    """A load of a user's own."""

    strength: float

    def effect(self):
        return Effect()


class Hinge(kane.Revolute):
    """A joint of a user's own."""


@pytest.mark.parametrize(
    ("add", "member"),
    [
        (lambda m: m.load(Wind(2.0)), r"load 1 holds Wind\(strength=2.0\)"),
        (lambda m: m.connect(m.ground, m.body("b", mass=1.0), Hinge("own")), "joint 'own' holds Hinge"),
    ],
)
def test_members_of_a_users_own_are_refused_by_name_and_nothing_is_written(tmp_path, add, member):
    model = kane.Model("own")
    add(model)
    with pytest.raises(kane.FileError, match=f"{member}.*test_model_file.*kane.CustomJoint"):
        kane.save_model(model, tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_a_custom_joint_comes_back_with_its_pose_and_without_its_functions(tmp_path):
    m = kane.Model("door")
    turn = m.connect(m.ground, m.body("A", mass=1.0, inertia=(1, 1, 1)), kane.Revolute("angle"))
    door = kane.CustomJoint(2 * turn.q, lambda q: kane.Rotation.about("z", q), lambda q: (0, 0, 0.02 * q * q))
    m.connect(m.bodies[1], m.body("B", mass=1.0, com=(0.3, 0, 0), inertia=(1, 1, 1)), door, name="door")
    back = through(tmp_path, m)
    assert listing(kane.formulate(back)) == listing(kane.formulate(m))
    assert listing(kane.formulate(through(tmp_path, back))) == listing(kane.formulate(m))


def test_only_models_and_equations_are_saved(tmp_path):
    with pytest.raises(kane.ModelError, match=r"save_model takes a kane\.Model"):
        kane.save_model(3, tmp_path / "m.json")
    with pytest.raises(kane.ModelError, match="save_equations takes Equations"):
        kane.save_equations(rich(), tmp_path / "m.json")


# --- damage


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "m.json"
    kane.save_model(rich(), path)
    return path.read_bytes()


def refused(tmp_path, data, load=kane.load_model):
    """The message with which a file of this content is refused."""
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(kane.ImportFileError, match=r"bad\.json") as error:
        load(path)
    return str(error.value)


def forged(text, change):
    """The file after a change by someone who knows how to write checksums."""
    content = json.loads(text)
    header = {key: content.pop(key) for key in ("format", "version")}
    del content["sha256"]
    change(content)
    return json.dumps({**header, "sha256": _checksum(content), **content}).encode()


def test_every_flipped_bit_and_every_truncation_is_refused_or_harmless(tmp_path, text):
    whole = json.loads(text)
    random = np.random.default_rng(0)
    for place in random.integers(0, 8 * len(text), size=300):
        data = bytearray(text)
        data[place // 8] ^= 1 << (place % 8)
        (tmp_path / "m.json").write_bytes(data)
        try:
            kane.load_model(tmp_path / "m.json")
        except kane.ImportFileError:
            continue
        assert json.loads(bytes(data)) == whole  # white space, or the last digit of a double in more than it has
    for length in random.integers(0, len(text) - 3, size=50):
        refused(tmp_path, text[:length])


def test_a_newer_version_another_format_and_other_content_are_refused_with_the_cure(tmp_path, text):
    assert "version is 2, and this kane reads up to 1; use a newer kane" in refused(
        tmp_path, text.replace(b'"version": 1', b'"version": 2')
    )
    older = refused(tmp_path, text.replace(b'"version": 1', b'"version": 0'))
    assert "version is 0, and this kane reads up to 1; take another copy, or save it again" in older
    assert "format is 'kane model'" in refused(tmp_path, text, kane.load_equations)
    assert "damaged, or edited" in refused(tmp_path, text.replace(b'"push"', b'"pull"'))
    assert "format is 'list'" in refused(tmp_path, b"[1, 2]")
    refused(tmp_path, b"[" * 100_000)
    refused(tmp_path, b"\xff\xfe")
    refused(tmp_path, b'{"a": NaN}')
    refused(tmp_path, b'{"a": 1' + b"0" * 10_000 + b"}")


def test_too_many_members_are_refused_before_their_names_are_compared(tmp_path, text):
    # A million bodies, each name compared with all before it, would take hours.
    bodies = [{"name": f"b{k}", "mass": 0.0, "com": [0, 0, 0], "inertia": [0, 0, 0]} for k in range(20_000)]
    data = forged(text, lambda content: content.update(bodies=bodies))
    assert "too many bodies; more than 10000 take too long" in refused(tmp_path, data)
    model = kane.Model("crowd")
    model.notes += ["note"] * 20_000
    with pytest.raises(kane.FileError, match="'crowd' would have 20000 notes, but kane reads at most 64 MiB and 10000"):
        kane.save_model(model, tmp_path / "m.json")


def test_missing_files_folders_and_what_is_no_path_are_refused(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path, 3, None, "a\0b", "a" * 9999):
        for load in (kane.load_model, kane.load_equations):
            with pytest.raises(kane.ImportFileError):
                load(path)


NO_ROTATION = [[2, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["nodes"].__setitem__(3, ["sin", 900]), "900 is not the place of one"),
        (lambda c: c["nodes"].__setitem__(3, ["sin", 5]), "5 is not the place of one of the 5 earlier nodes"),
        (lambda c: c["nodes"].__setitem__(3, ["eval", 0]), "an operation that is unknown to this kane"),
        (lambda c: c["nodes"].__setitem__(3, ["sin", 0, 1]), "too many or too few"),
        (lambda c: c["nodes"].__setitem__(3, ["constant", 10**400]), "is not finite"),
        (lambda c: c["nodes"].__setitem__(3, ["constant", 0]), "repeats an earlier one"),
        (lambda c: c["bodies"][0].update(mass=-1.0), "mass"),
        (lambda c: c["bodies"][1].update(name="A"), "already a body"),
        (lambda c: c["connections"][0].update(parent="B"), "loop|hangs"),
        (lambda c: c["connections"][0].update(joint={"is": "os.system"}), "this kane has no class 'os.system'"),
        (lambda c: c["connections"][0].update(joint={"is": 0}), "is not the index of an object sent by pickle"),
        (lambda c: c["connections"][0].update(joint={"foreign": 0}), "is not the index of an object sent by pickle"),
        (
            lambda c: c["connections"][0].update(orientation={"rotation": [NO_ROTATION]}),
            "orthogonal",
        ),
        (lambda c: c["loads"].append(3), "3 is not a load"),
        (lambda c: c.pop("loads"), "'loads' is missing"),
        (lambda c: c.update(name=3), "'name' is missing or is not a word"),
    ],
)
def test_forged_content_is_refused_with_what_is_wrong(tmp_path, text, change, message):
    assert re.search(message, refused(tmp_path, forged(text, change)))


JUNK = (None, True, -1, 0, 10**30, 1e308, "", "x", [], {}, {"node": 5}, {"body": "A"}, {"joint": "neck"}, [1, 2, 3])


def places(content, path=()):
    """The paths to everything in a document."""
    yield path
    for key in content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ():
        yield from places(content[key], (*path, key))


def test_content_forged_at_random_is_refused_by_name_or_means_something(tmp_path, text):
    original = json.loads(text)
    known = [p for p in places(original) if p and p[0] not in ("format", "version", "sha256")]
    random = np.random.default_rng(1)
    read = 0
    for _ in range(400):
        place, other = (known[int(random.integers(len(known)))] for _ in range(2))

        def change(content, place=place, other=other):
            at, value = content, content
            for key in place[:-1]:
                at = at[key]
            for key in other:
                value = value[key]
            junk = JUNK[int(random.integers(len(JUNK)))]
            at[place[-1]] = copy.deepcopy(value) if random.integers(2) else junk

        (tmp_path / "m.json").write_bytes(forged(text, change))
        try:
            _ = kane.formulate(kane.load_model(tmp_path / "m.json")).forward
            read += 1
        except kane.KaneError:
            pass
    assert 0 < read < 200  # a forged name is still a name; most is refused


@pytest.mark.parametrize("gap", ["a fraction that rounds to a known constant", "a race of two threads for one node"])
def test_a_model_whose_ids_have_gaps_comes_back(tmp_path, gap):
    """Files and pickle count nodes by place: an id that stays unused shifts all ids behind it."""
    m = kane.Model("gap", gravity=(0, 0, -9.81))
    body, k = m.body("b", mass=1.0, inertia=(1, 1, 1)), m.parameter("k", 2.0)
    joint = m.connect(m.ground, body, kane.Revolute("q1", axis="x"))
    force = joint.q + 1 / 3
    if "fraction" in gap:
        assert joint.q + Fraction(1, 3) is force
    else:
        next(m.arena._ids)  # the thread that comes second has drawn an id, and takes the node of the first one
    force = force + k * kane.sin(joint.q)
    m.load(kane.Motor(joint, force))
    kane.save_model(m, tmp_path / "m.json")
    q, u = np.array([0.7]), np.array([0.1])
    found = [
        kane.build(kane.formulate(x)).forward(q, u) for x in (m, kane.load_model(tmp_path / "m.json"), copy.deepcopy(m))
    ]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    assert repr(copy.deepcopy(force)) == repr(force)
