"""MJCF import: what is refused, what is listed as left out, and how things are named."""

from __future__ import annotations

import sys
import warnings

import mujoco
import pytest

import kane
from kane.errors import ImportFileError, ModelError
from kane.importers.mjcf.mjcf import load_mjcf
from kane.importers.mjcf.source import MJCF_PART_KINDS, safe_text
from kane.importers.touching import Wanted

PENDULUM = (
    '<body name="rod"><joint name="q1" axis="0 1 0"/>'
    '<inertial mass="1" pos="0 0 -1" diaginertia="1 1 1"/>{inside}</body>'
)


def file(*sections, inside="", world=""):
    return f"<mujoco>{''.join(sections)}<worldbody>{world}{PENDULUM.format(inside=inside)}</worldbody></mujoco>"


def refused(text, match, **options):
    with pytest.raises(ImportFileError, match=match) as found:
        load_mjcf(text, **options)
    return str(found.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (file('<include file="/etc/hostname"/>'), "must name a file that ends with .xml or .mjcf"),
        (file(inside='<include file="part.xml"/>'), "a text has no folder from which to include 'part.xml'; set root="),
        (file('<asset><model name="m" file="other.xml"/></asset>'), "<model> loads another file"),
        (file(inside='<attach model="m" prefix="p"/>'), "<attach> loads another file"),
        ('<!DOCTYPE mujoco SYSTEM "http://x/y">' + file(), "document type"),
        ('<!DOCTYPE m [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + file(), "document type"),
        ("<?php x ?>" + file(), "processing instruction"),
        ('<robot name="r"/>', "not <mujoco>"),
        ("<mujoco>", "not well-formed"),
        (file("<unknown/>"), "not a part of MJCF"),
        (file(world='<replicate count="100"><replicate count="101"/></replicate>'), "more than 10000 copies"),
        (file(world='<replicate count="1e9"/>'), "not a whole number"),
        (file(inside="<body>" * 70 + "</body>" * 70), "nested deeper"),
    ],
)
def test_what_is_hostile_or_no_mjcf_is_refused_before_mujoco_sees_it(monkeypatch, text, words):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    refused(text, words)


@pytest.mark.parametrize(
    "section",
    [
        '<asset><texture name="t" type="2d" file="/etc/hostname"/><material name="m" texture="t"/></asset>',
        '<asset><hfield name="h" file="/etc/hostname" size="1 1 1 1"/><mesh name="m" file="/etc/x.stl"/></asset>',
        '<asset><skin name="s" file="/etc/hostname"/></asset>',
        '<visual><global fovy="3"/></visual><custom><text name="a" data="b"/></custom><statistic extent="1"/>',
        '<compiler meshdir="/etc" texturedir="/etc" assetdir="/etc"/>',
        '<extension><plugin plugin="/tmp/evil.so"/></extension>',
    ],
)
def test_files_that_dynamics_does_not_need_are_never_named_to_mujoco(section):
    text = file(section, inside='<geom type="mesh" mesh="m" material="m"/><light/><camera/>')
    handed_over = safe_text(kane.files.source_file.source_of_text(text), None, Collecting(), Wanted())
    assert not any(word in handed_over.text for word in ("file=", "dir=", "/etc", "/tmp", "material", "<geom"))
    assert load_mjcf(text).name == "MuJoCo Model"


class Collecting(kane.importers.left_out.LeftOut):
    def __init__(self):
        super().__init__(MJCF_PART_KINDS, ())


MESH = """<mujoco><compiler meshdir="{folder}"/><asset><mesh name="m" file="{file}"/></asset>
<worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("folder", "name"), [("..", "secret.obj"), ("", "../secret.obj"), ("/etc", "hostname.obj")])
def test_a_mesh_outside_the_root_is_refused(tmp_path, folder, name):
    (tmp_path / "secret.obj").write_text("v 0 0 0")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "model.xml").write_text(MESH.format(folder=folder, file=name))
    refused(inner / "model.xml", "inertia is inferred from a mesh, but: .* outside of the folder")


def test_a_mesh_behind_a_link_that_leads_out_is_refused(tmp_path):
    (tmp_path / "secret.obj").write_text("v 0 0 0")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.obj").symlink_to(tmp_path / "secret.obj")
    (inner / "model.xml").write_text(MESH.format(folder="", file="link.obj"))
    refused(inner / "model.xml", "outside of the folder")


def test_a_text_has_no_folder_for_meshes():
    refused(MESH.format(folder="", file="m.obj"), "a text has no folder; set root=")


def test_what_mujoco_warns_of_is_a_note_and_not_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kane.importers.mjcf.mjcf, "_parser", lambda name: Warner(mujoco))
    assert "MuJoCo says: something is deprecated" in load_mjcf(file()).notes
    assert mujoco.get_mju_user_warning() is None
    assert not list(tmp_path.iterdir())


class Warner:
    """MuJoCo, whose parser warns; which attributes are deprecated depends on the version."""

    def __init__(self, mujoco):
        self._mujoco = mujoco
        self.MjModel = self

    def __getattr__(self, name):
        return getattr(self._mujoco, name)

    def from_xml_string(self, text, assets):
        self._mujoco.get_mju_user_warning()("something\nis deprecated")
        return self._mujoco.MjModel.from_xml_string(text, assets)


def test_meshes_of_what_stands_still_are_not_opened():
    standing = '<body name="table"><geom type="mesh" mesh="m"/><body><geom type="mesh" mesh="m"/></body></body>'
    model = load_mjcf(file('<asset><mesh name="m" file="missing.obj"/></asset>', world=standing))
    assert [c.name for c in model.connections] == ["table_weld", "body2_weld", "q1"]
    refused(
        file(
            '<asset><mesh name="m" file="missing.obj"/></asset>', inside=standing.replace("<geom", "<joint/><geom", 1)
        ),
        "a text has no folder",
    )


def test_what_mujoco_refuses_is_an_error_that_names_the_line_of_the_file():
    text = "<mujoco>\n\n<worldbody>\n<body>\n\n<joint type='foo'/></body></worldbody></mujoco>"
    assert "line 6" in refused(text, "MuJoCo does not accept it: .*invalid keyword")


@pytest.mark.parametrize("number", ["inf", "nan", "-Infinity", "1e400"])
def test_numbers_that_are_not_finite_are_refused_and_no_log_is_written(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(file().replace('mass="1"', f'mass="{number}"'), r"finite|MuJoCo does not accept it")
    refused(file().replace('pos="0 0 -1"', f'pos="0 {number} -1"'), r"finite|MuJoCo does not accept it")
    assert not list(tmp_path.iterdir())
    assert load_mjcf(file().replace("rod", "nan")).bodies[1].name == "nan"


def test_without_mujoco_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    refused(file(), r"pip install 'mujoco>=")


LEFT_OUT = {
    "contact": file(inside='<geom size="0.1"/>'),
    "equality": file('<equality><joint joint1="q1"/></equality>'),
    "tendon": file('<tendon><fixed name="t"><joint joint="q1" coef="1"/></fixed></tendon>'),
    "friction": file().replace('axis="0 1 0"', 'axis="0 1 0" frictionloss="0.3"'),
    "limit": file().replace('axis="0 1 0"', 'axis="0 1 0" range="-1 1"'),
    "actuator": file('<actuator><muscle joint="q1"/></actuator>'),
    "spring": file(inside='<body name="b"><joint type="ball" stiffness="2"/><geom size="0.1"/></body>'),
    "armature": file(inside='<body name="b"><joint type="ball" armature="2"/><geom size="0.1"/></body>'),
    "fluid": file('<option density="1.2"/>'),
    "plugin": file('<extension><plugin plugin="p"/></extension>'),
    "mocap": file(world='<body name="m" mocap="true"/>'),
    "keyframe": file('<keyframe><key name="k" qpos="1"/></keyframe>'),
    "sensor": file('<sensor><jointpos joint="q1"/></sensor>'),
}


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_what_is_left_out_is_listed_or_refused_where_it_is_essential(kind):
    assert load_mjcf(file()).notes == []
    assert load_mjcf(LEFT_OUT[kind]).notes
    refused(
        LEFT_OUT[kind], r"declared essential; to import the model without them give essential=\(\)", essential=[kind]
    )
    assert kane.formulate(load_mjcf(LEFT_OUT[kind])).u


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_one_warning_names_what_changes_the_motion(kind):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        load_mjcf(LEFT_OUT[kind])
    said = [str(w.message) for w in found if w.category is kane.ImportFileWarning]
    assert len(said) == (kind not in ("keyframe", "sensor"))
    assert all(MJCF_PART_KINDS[kind] in words for words in said)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (file(inside='<gem size="1"/>'), "unrecognized element Element 'gem', .*; did you mean geom"),
        (file(inside='<site sze="1"/>'), "unrecognized attribute: 'sze' .*; did you mean size"),
        ("<mujoco><woldbody/></mujoco>", "<woldbody> is not a part of MJCF; did you mean worldbody"),
    ],
)
def test_unknown_elements_and_attributes_are_named_with_the_nearest_known_name(text, words):
    refused(text, words)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("pair", file('<contact><pair geom1="a" geom2="b"/></contact>', inside='<geom name="a" size="1"/>')),
        ("flexible", file(inside='<flexcomp name="f" type="grid" count="3 3 1" spacing="1 1 1"/>')),
        ("flexible", file("<deformable><flex name='f'/></deformable>")),
    ],
)
def test_pairs_that_are_listed_and_flexible_bodies_are_essential_unless_said_otherwise(kind, text):
    refused(text, r"<text>:1:\d+: .*declared essential")
    assert load_mjcf(text, essential=()).notes


def test_every_kind_that_can_be_left_out_is_tried():
    assert set(LEFT_OUT) | {"pair", "flexible"} == set(MJCF_PART_KINDS)


def test_an_unknown_essential_kind_is_an_error():
    with pytest.raises(ModelError, match="essential= has 'contacts', which is no kind of part; did you mean contact"):
        load_mjcf(file(), essential=["contacts"])


def test_names_that_clash_in_kane_are_made_different():
    text = file(
        '<actuator><motor name="q1" joint="q1"/><motor name="q1_dot" joint="q1"/><motor joint="q1"/></actuator>',
        inside='<site name="rod"/><body name="ground"><joint/><geom size="0.1"/></body>',
    ).replace("u1", "q1_dot")
    model = load_mjcf(text)
    assert list(model.inputs) == ["q1_control", "q1_dot", "control_q1"]
    assert [b.name for b in model.bodies] == ["ground", "rod", "ground_body"]
    assert list(model.frames) == ["rod_site"]
    assert [c.name for c in model.connections] == ["q1", "ground_body_hinge"]


def test_a_range_of_force_holds_and_springs_and_actuators_can_be_switched_off_in_the_file():
    motor = '<actuator><motor name="m" joint="q1" forcelimited="true" forcerange="-2 3"/></actuator>'
    dynamics = kane.build(kane.formulate(load_mjcf(file(motor))))
    at_rest = [float(dynamics.forward([0.0], [0.0], [m])[0]) for m in (-9.0, 1.0, 9.0)]
    assert at_rest == pytest.approx([-1.0, 0.5, 1.5])  # the moment of inertia about the joint is 2 kg m^2
    off = load_mjcf(file('<option><flag actuation="disable"/></option>', motor))
    assert (off.inputs, len(off.loads)) == ({}, 0)
    assert "switches actuators off" in off.notes[0]
