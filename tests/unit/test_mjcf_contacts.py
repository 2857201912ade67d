"""Geoms of MJCF files that touch a floor, and limits that become stops, where that is asked for.

What vouches: MuJoCo's own distances between geoms, and the contacts that it finds in the pose in which a run ends.
"""

import math
import struct

import numpy as np
import pytest

import kane
from kane.dynamics.contacts.contact_functions import contact_functions
from kane.errors import ImportFileError, ModelError
from kane.simulation.modes.rows_at import RowsAt

mujoco = pytest.importorskip("mujoco")

SHAPES = """<mujoco model="shapes">
<default><default class="hidden"><geom group="3"/></default></default>
<worldbody><geom name="floor" type="plane" size="1 1 .1" pos="0 0 .2"/><geom name="post" type="box" size="1 1 1"/>
<body name="plinth" pos="3 0 0"><geom name="stone" type="sphere" size=".1"/></body>
<body name="a" pos="0 0 1"><freejoint name="a"/>
 <geom name="box" type="box" size=".1 .2 .3" pos=".1 0 0" euler="0 0 30"/>
 <geom name="ball" type="sphere" size=".1" class="hidden"/>
 <geom name="rod" type="capsule" size=".05" fromto="0 0 0 .5 .2 0"/>
 <geom name="egg" type="ellipsoid" size=".1 .2 .3" pos="0 .3 0"/>
 <geom name="look" type="sphere" size=".9" contype="0" conaffinity="0"/>
 <body name="b" pos="0 0 .5"><joint name="q2" axis="1 0 0" range="-30 45" limited="true"/>
  <geom name="inner" type="box" size=".1 .1 .4" pos="0 0 .2"/></body>
</body></worldbody></mujoco>"""


def test_what_touches_is_as_far_from_the_floor_as_mujoco_has_it():
    model = kane.load_mjcf(SHAPES, floor=0.2, friction=kane.Coulomb(0.5))
    dyn = kane.build(kane.formulate(model))
    names = [c.name for c in dyn.equations.intermittents]
    assert {name.split(":")[0] for name in names} == {"box", "ball", "rod", "egg", "inner"}
    m = mujoco.MjModel.from_xml_string(SHAPES)
    data, floor = mujoco.MjData(m), m.geom("floor").id
    random = np.random.default_rng(7)
    for _ in range(5):
        turn = random.normal(size=4)
        turn /= np.linalg.norm(turn)
        place, q2 = [0.3, -0.2, 2.0 + random.random()], random.uniform(-0.5, 0.7)
        data.qpos[:] = [*place, *turn, q2]
        mujoco.mj_forward(m, data)
        q = [*turn, *place, q2]
        found = {}
        for name, gap in zip(names, _gaps(dyn, q), strict=True):
            of = name.split(":")[0]
            found[of] = min(found.get(of, math.inf), gap)
        for name, gap in found.items():
            wanted = mujoco.mj_geomDistance(m, data, floor, m.geom(name).id, 10.0, None)
            assert gap == pytest.approx(wanted, abs=1e-9), name


def _gaps(dyn, q):
    """The gap of each candidate at coordinates."""
    state = np.array([[0.0, *q, *np.zeros(len(dyn.equations.u))]])
    return RowsAt(contact_functions(dyn), state, dyn.parameters).gaps.gap[0]


STOOL = """<mujoco model="stool"><option gravity="0 0 -9.81"/>
<worldbody><geom name="floor" type="plane" size="2 2 .1"/>
<body name="seat" pos="0 0 .8"><freejoint name="seat"/>
 <geom name="top" type="cylinder" size=".2 .02" mass="2"/>
 <geom name="left" type="sphere" size=".03" pos=".15 .1 -.4" mass=".3"/>
 <geom name="right" type="sphere" size=".03" pos=".15 -.1 -.4" mass=".3"/>
 <geom name="back" type="sphere" size=".03" pos="-.15 0 -.4" mass=".3"/>
</body></worldbody></mujoco>"""


NAMELESS = """<mujoco><worldbody>
<body name="foot" pos="0 0 1"><freejoint/><geom type="sphere" size=".1"/></body>
<body name="arm" pos="0 1 1"><freejoint/><geom name="foot" type="sphere" size=".1"/><geom type="sphere" size=".2"/>
 <geom type="sphere" size=".2"/><geom name="arm 4" type="sphere" size=".1"/><geom type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>"""


def test_geoms_without_names_are_called_by_their_bodies_and_none_twice():
    names = [c.name.split(":")[0] for c in kane.load_mjcf(NAMELESS, floor=0.0).intermittents]
    assert list(dict.fromkeys(names)) == ["foot 1", "foot", "arm 2", "arm 3", "arm 4", "arm 5"]


def test_what_comes_to_rest_touches_where_mujoco_finds_contacts():
    dyn = kane.build(kane.formulate(kane.load_mjcf(STOOL, floor=0.0, friction=kane.Coulomb(0.6))))
    run = kane.simulate(dyn, until=2.0, q={"seat_x": 0.1, "seat_z": 0.5}, u={"seat_vx": 0.2})
    assert np.abs(run.u[-1]).max() < 1e-9
    active = {c.name for c in dyn.equations.intermittents if run.active(c.name)[-1]}
    m = mujoco.MjModel.from_xml_string(STOOL)
    data = mujoco.MjData(m)
    data.qpos[:] = [run[f"seat_{name}"][-1] for name in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    data.qpos[2] -= 1e-7  # MuJoCo lists what is inside
    mujoco.mj_forward(m, data)
    found = {m.geom(c.geom2).name: c for c in data.contact}
    assert set(found) == active == {"left", "right", "back"}
    for c in found.values():
        assert c.dist == pytest.approx(-1e-7, abs=1e-9)


def test_limits_become_stops_where_they_are_asked_for():
    model = kane.load_mjcf(SHAPES, stops=True)
    assert [c.name for c in model.intermittents] == ["stop of q2: lower", "stop of q2: upper"]
    dyn = kane.build(kane.formulate(model))
    low, high = (_gaps(dyn, [1, 0, 0, 0, 0, 0, 3, x]) for x in (math.radians(-30), math.radians(45)))
    assert low == pytest.approx([0.0, math.radians(75)], abs=1e-15)
    assert high == pytest.approx([math.radians(75), 0.0], abs=1e-15)
    assert not [note for note in model.notes if "limits" in note]
    assert any(
        "'q2': its limits are left out" in note and "stops=True" in note for note in kane.load_mjcf(SHAPES).notes
    )


def test_contacts_that_are_left_out_are_told():
    with pytest.warns(kane.ImportFileWarning, match=r"contacts: \d+ geoms \(floor=0 makes them touch a floor\)"):
        without = kane.load_mjcf(SHAPES)
    with pytest.warns(kane.ImportFileWarning, match=r"contacts: \d+ geoms(;|$)"):
        floor = kane.load_mjcf(SHAPES, floor=0.0)
    assert any("each other and through the floor; floor=0" in note for note in without.notes)
    assert any(note.endswith('through each other; contacts="all" makes them touch each other') for note in floor.notes)
    assert not without.intermittents


def test_hulls_of_meshes_touch_where_they_are_asked_for(tmp_path):
    corners = 0.1 * np.array([[-1, -1, -1], [1, -1, -1], [0, 1, -1], [0, 0, 1]], float)
    faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
    data = b"\0" * 80 + struct.pack("<I", len(faces))
    for face in faces:
        data += struct.pack("<12fH", 0, 0, 0, *np.ravel(corners[face]), 0)
    (tmp_path / "part.stl").write_bytes(data)
    text = """<mujoco><asset><mesh name="part" file="part.stl" scale="2 2 2"/></asset><worldbody>
    <body name="a" pos="0 0 1"><freejoint name="a"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="part" pos="0 0 .3"/></body></worldbody></mujoco>"""
    (tmp_path / "m.xml").write_text(text)
    model = kane.load_mjcf(tmp_path / "m.xml", floor=0.0, hulls=8)
    dyn = kane.build(kane.formulate(model))
    assert min(_gaps(dyn, [1, 0, 0, 0, 0, 0, 1])) == pytest.approx(1.0 + 0.3 - 0.2, abs=1e-6)  # floats in the file
    assert any("touches by a hull of 4 corners" in note for note in model.notes)
    with (
        pytest.warns(kane.ImportFileWarning, match=r"contacts of meshes \(hulls=20 adds them\): body 'a'"),
        pytest.raises(ImportFileError, match="nothing of the model can touch anything"),
    ):
        kane.load_mjcf(tmp_path / "m.xml", floor=0.0)
    (tmp_path / "part.stl").unlink()
    with pytest.raises(ImportFileError, match=r"body 'a'.*part\.stl"):
        kane.load_mjcf(tmp_path / "m.xml", floor=0.0, hulls=8)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"floor": math.nan}, "floor= is nan"),
        ({"hulls": 20}, "belong to contacts, but there are none; give floor="),
        ({"friction": kane.Coulomb(0.5)}, "belong to contacts, but there are none"),
        ({"floor": 0.0, "hulls": 3}, "hulls="),
        ({"stops": 1}, "stops="),
        ({"contacts": np.ones(2)}, "contacts= is array"),
    ],
)
def test_what_is_asked_for_in_a_wrong_way_is_refused(options, words):
    with pytest.raises(ModelError, match=words):
        kane.load_mjcf(SHAPES, **options)


def test_geoms_that_cannot_be_read_are_an_error_where_they_are_to_touch():
    text = STOOL.replace('type="sphere" size=".03" pos="-.15', 'type="mesh" mesh="nowhere" pos="-.15').replace(
        '<geom name="top"', '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom name="top"'
    )
    assert kane.load_mjcf(text).bodies
    with pytest.raises(ImportFileError, match="its geoms, which should touch something, cannot be read"):
        kane.load_mjcf(text, floor=0.0)


CROWD = """<mujoco model="crowd">{option}
<worldbody>
<geom name="table" type="plane" size="3 3 .1"/><geom name="post" type="sphere" size="2" contype="2"/>
<body name="plate"><geom name="plate" type="box" size="2 2 2"/>
 <body name="arm"><joint name="q1" axis="0 0 1"/><geom name="arm" type="capsule" size="1 1"/>
  <body name="cap"><geom name="cap" type="sphere" size="1"/>
   <body name="hand"><joint name="q2" axis="1 0 0"/><geom name="hand" type="sphere" size="1.5"/>
    <body name="tip"><joint name="q3" axis="0 1 0"/>
     <geom name="tip" type="box" size="1 1 1" contype="2" conaffinity="3"/></body></body></body></body></body>
<body name="a"><freejoint name="a"/><geom name="a" type="sphere" size="1" contype="4" conaffinity="1"/></body>
<body name="b"><freejoint name="b"/><geom name="b1" type="capsule" size="1 1"/><geom name="b2" type="box" size="1 1 1"/>
</body>
<body name="c"><freejoint name="c"/><geom name="c" type="sphere" size="1" contype="0" conaffinity="0"/></body>
</worldbody>
<contact><exclude body1="b" body2="a"/><pair geom1="c" geom2="hand"/><pair geom1="a" geom2="b2"/></contact></mujoco>"""


@pytest.mark.parametrize("option", ["", '<option><flag filterparent="disable"/></option>'])
def test_geoms_touch_each_other_if_mujoco_lets_them(option):
    """All geoms overlap, so that MuJoCo finds a contact of each pair that it does not leave out."""
    text = CROWD.format(option=option)
    model = kane.load_mjcf(text, contacts="all")
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    wanted = {frozenset(m.geom(int(g)).name for g in pair) for pair in data.contact.geom}
    found = {frozenset(c.name.split(":")[0].split(" on ")) for c in model.intermittents}
    assert found == wanted
    assert len(wanted) > 15


PAIR = """<mujoco><worldbody>
<body name="a" pos="0 0 3"><freejoint name="a"/><geom name="a" type="{}" size="{}" pos=".1 0 .2" euler="20 0 0"/></body>
<body name="b"><freejoint name="b"/><geom name="b" type="{}" size="{}" pos="0 .2 0"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("first", ["sphere", "capsule", "box"])
@pytest.mark.parametrize("second", ["sphere", "capsule"])
def test_geoms_are_as_far_from_each_other_as_mujoco_has_it(first, second):
    sizes = {"sphere": ".3", "capsule": ".2 .4", "box": ".2 .3 .4"}
    text = PAIR.format(first, sizes[first], second, sizes[second])
    dyn = kane.build(kane.formulate(kane.load_mjcf(text, contacts="all", friction=kane.Coulomb(0.5))))
    m = mujoco.MjModel.from_xml_string(text)
    data, random = mujoco.MjData(m), np.random.default_rng(3)
    compared = 0
    for _ in range(20):
        turns = random.normal(size=(2, 4))
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        places = random.normal(size=(2, 3))
        data.qpos[:] = np.concatenate([np.concatenate(x) for x in zip(places, turns, strict=True)])
        mujoco.mj_forward(m, data)
        wanted = mujoco.mj_geomDistance(m, data, 0, 1, 10.0, None)
        gaps = _gaps(dyn, np.concatenate([np.concatenate(x) for x in zip(turns, places, strict=True)]))
        nearest = min(gaps)
        if wanted > 0.05:
            assert nearest == pytest.approx(wanted, abs=1e-6)
            compared += 1
    assert compared > 5


def test_a_ball_rests_on_the_plane_of_the_file():
    text = """<mujoco><worldbody><geom type="plane" size="1 1 .1" pos="0 0 .4"/>
    <body name="ball" pos="0 0 1"><freejoint name="ball"/><geom name="ball" type="sphere" size=".1"/></body>
    </worldbody></mujoco>"""
    dyn = kane.build(kane.formulate(kane.load_mjcf(text, contacts="all")))
    run = kane.simulate(dyn, until=1.0, q={"ball_z": 1.0, "ball_qw": 1.0})
    assert run["ball_z"][-1] == pytest.approx(0.5, abs=1e-9)


def test_pairs_without_a_rule_height_fields_and_disabled_contacts_are_told():
    body = '<body name="{0}"><freejoint name="{0}"/><geom name="{0}" type="{1}" size=".1 .2 .3"/></body>'
    bodies = "".join(body.format(*x) for x in (("a", "ellipsoid"), ("b", "box"), ("c", "sphere")))
    text = f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"
    with pytest.warns(kane.ImportFileWarning, match="contacts of pairs: a and b"):
        model = kane.load_mjcf(text, contacts="all")
    assert {c.name.split(":")[0] for c in model.intermittents} == {"a on c", "b on c"}
    said = "a and b pass through each other: kane has no contact rule for Ellipsoid and Box; give"
    assert any(note.startswith(said) for note in model.notes)
    disabled = text.replace("<worldbody>", '<option><flag contact="disable"/></option><worldbody>')
    with pytest.raises(ImportFileError, match=r'the file disables contacts by <flag contact="disable"/>; remove'):
        kane.load_mjcf(disabled, contacts="all")
    forbidden = text.replace("<worldbody>", "<default><geom contype='0'/></default><worldbody>")
    with pytest.raises(ImportFileError, match=r"can touch anything; .*correct contype, conaffinity and <exclude>"):
        kane.load_mjcf(forbidden, contacts="all")
    static = '<body name="table"><geom type="plane" size="1 1 .1"/></body>'
    model = kane.load_mjcf(
        f"<mujoco><worldbody>{static}{body.format('c', 'sphere')}</worldbody></mujoco>", contacts="all"
    )
    assert [c.name for c in model.intermittents] == ["c on table"]
    field = '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
    geom = '<geom name="field" type="hfield" hfield="h"/>'
    fielded = text.replace("<worldbody>", f"{field}<worldbody>{geom}")
    with pytest.warns(kane.ImportFileWarning, match="1 height fields"):
        kane.load_mjcf(fielded, contacts="all")
    with pytest.raises(ModelError, match="contacts= is 'some'; give \"all\""):
        kane.load_mjcf(text, contacts="some")
