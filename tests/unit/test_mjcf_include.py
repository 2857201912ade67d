"""Files that an MJCF file includes; MuJoCo, which opens them by itself, vouches for what they mean."""

import os

import numpy as np
import pytest

import kane
from kane.errors import ImportFileError
from kane.importers.mjcf import include as mjcf_include

mujoco = pytest.importorskip("mujoco")

MAIN = """<mujoco model="outer">
  <include file="parts/settings.xml"/>
  <worldbody>
    <include file="parts/arm.xml"/>
  </worldbody>
</mujoco>"""
SETTINGS = """<mujoco model="inner"><include file="parts/gravity.xml"/><compiler angle="radian"/></mujoco>"""
GRAVITY = """<mujocoinclude><option gravity="0 0 -3"/></mujocoinclude>"""
ARM = """<mujocoinclude>
  <body name="arm"><joint name="q1" axis="0 1 0" stiffness="2" springref="0.5"/>
    <geom size="0.1" mass="3" pos="0.4 0 0"/>
  </body>
</mujocoinclude>"""


@pytest.fixture
def folder(tmp_path):
    package = tmp_path / "package"
    (package / "parts").mkdir(parents=True)
    (package / "robot.xml").write_text(MAIN)
    for name, text in (("settings", SETTINGS), ("gravity", GRAVITY), ("arm", ARM)):
        (package / "parts" / f"{name}.xml").write_text(text)
    return package


def refused(path, words, **options):
    with pytest.raises(ImportFileError, match=words):
        kane.load_mjcf(path, **options)


def test_what_is_included_is_what_mujoco_includes(folder):
    model = kane.load_mjcf(folder / "robot.xml")
    assert model.name == "outer"
    dyn = kane.build(kane.formulate(model))
    theirs = mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = 0.3, 0.7
    mujoco.mj_forward(theirs, data)
    # One joint: a quotient of two sums of few terms, each rounded to 1e-16.
    np.testing.assert_allclose(dyn.forward([0.3], [0.7]), data.qacc, rtol=1e-12)


def test_the_same_is_found_from_any_working_folder_and_inside_a_larger_root(folder, monkeypatch):
    expected = kane.load_mjcf(folder / "robot.xml").bodies[1].mass
    monkeypatch.chdir(folder.parent)
    for path, root in (("package/robot.xml", None), ("package/robot.xml", "package"), ("package/robot.xml", ".")):
        assert kane.load_mjcf(path, root=root).bodies[1].mass == expected
    assert kane.load_mjcf(MAIN, root="package").bodies[1].mass == expected


def test_a_text_without_a_folder_includes_nothing():
    refused(MAIN, r"<text>:2:3: a text has no folder from which to include 'parts/settings.xml'; set root=")


@pytest.mark.parametrize("file", ["../secret.xml", "/etc/secret.xml", "parts/../../secret.xml", r"..\\secret.xml"])
def test_a_file_outside_of_the_root_is_not_opened(folder, file):
    (folder.parent / "secret.xml").write_text(GRAVITY)
    (folder / "robot.xml").write_text(f'<mujoco><include file="{file}"/></mujoco>')
    refused(folder / "robot.xml", "outside of the folder")


def test_a_link_that_leads_out_of_the_root_is_not_followed(folder):
    (folder.parent / "secret.xml").write_text(GRAVITY)
    os.symlink(folder.parent / "secret.xml", folder / "link.xml")
    os.symlink(folder.parent, folder / "up")
    for file in ("link.xml", "up/secret.xml"):
        (folder / "robot.xml").write_text(f'<mujoco><include file="{file}"/></mujoco>')
        refused(folder / "robot.xml", "outside of the folder")
        assert kane.load_mjcf(folder / "robot.xml", root=folder.parent).gravity[2] == -3.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<mujoco><include file="robot.xml"/></mujoco>', "'robot.xml' is included already"),
        ('<mujoco><include file="parts/gravity.xml"/><include file="./parts/gravity.xml"/></mujoco>', "already"),
        ('<mujoco><include file="parts/gravity.xml"><option/></include></mujoco>', "contain no elements"),
        ('<mujoco><include file="parts/missing.xml"/></mujoco>', "cannot be read"),
        ('<mujoco><include file="http://127.0.0.1/part.xml"/></mujoco>', "cannot be read"),
        ('<mujoco><include file="secret.txt"/></mujoco>', "ends with .xml or .mjcf"),
        ("<mujoco><include/></mujoco>", "must name a file"),
    ],
)
def test_what_cannot_be_included_is_refused_with_its_place(folder, text, words):
    (folder / "robot.xml").write_text(text)
    refused(folder / "robot.xml", words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', r"part\.xml:1:13: .*document type"),
        ("<mujoco>", r"part\.xml:1:9: not well-formed"),
        (
            '<mujoco><asset><model name="m" file="x.xml"/></asset></mujoco>',
            r"part\.xml:1:16: <model> loads another",
        ),
        ("<mujoco>" + "<body>" * 60 + "</body>" * 60 + "</mujoco>", "nested deeper"),
    ],
)
def test_an_included_file_is_judged_as_the_outermost_is(folder, text, words):
    (folder / "part.xml").write_text(text)
    (folder / "robot.xml").write_text(
        "<mujoco><worldbody><body><body><body><body>"
        '<include file="part.xml"/></body></body></body></body></worldbody></mujoco>'
    )
    refused(folder / "robot.xml", words)


def test_included_files_have_the_ceilings_of_one_file(folder, monkeypatch):
    monkeypatch.setattr(mjcf_include, "MOST_FILES", 3)
    refused(folder / "robot.xml", "more than 3 files")
    monkeypatch.setattr(mjcf_include, "MOST_FILES", 4)
    monkeypatch.setattr(mjcf_include, "MAXIMUM_BYTES", 300)
    refused(folder / "robot.xml", "are included; include fewer")
    monkeypatch.setattr(mjcf_include, "MAXIMUM_BYTES", 1000)
    monkeypatch.setattr(mjcf_include, "MAXIMUM_ELEMENTS", 5)
    refused(folder / "robot.xml", "more than 5 elements")


def test_messages_of_mujoco_name_the_included_file_and_its_line(folder):
    (folder / "parts" / "arm.xml").write_text(ARM.replace('stiffness="2"', 'type="bad"'))
    refused(folder / "robot.xml", r"invalid keyword: 'bad' .*line 2 of .*parts/arm\.xml")
    (folder / "robot.xml").write_text(MAIN.replace("</worldbody>", '<body><joint type="worse"/></body></worldbody>'))
    (folder / "parts" / "arm.xml").write_text(ARM)
    refused(folder / "robot.xml", r"invalid keyword: 'worse' .*line 5 of .*robot\.xml")


def twin(path):
    """Names of joints, and masses of bodies, by MuJoCo and by kane."""
    theirs, ours = mujoco.MjModel.from_xml_path(str(path)), kane.load_mjcf(path)
    names = [theirs.joint(i).name for i in range(theirs.njnt)], [c.name for c in ours.connections]
    masses = [theirs.body_mass[1:], [body.mass for body in ours.bodies[1:]]]
    return names, masses


def hinge(name):
    return f'<mujoco><body><joint name="{name}"/><geom size="0.1"/></body></mujoco>'


@pytest.mark.parametrize("places", [("parts/deep",), ("parts/deep", "."), ("parts/deep", "parts", ".")])
def test_an_included_file_finds_what_lies_beside_it_unless_it_lies_beside_the_outermost(folder, places):
    (folder / "parts" / "deep").mkdir()
    (folder / "robot.xml").write_text('<mujoco><worldbody><include file="parts/a.xml"/></worldbody></mujoco>')
    (folder / "parts" / "a.xml").write_text('<mujoco><include file="deep/b.xml"/></mujoco>')
    (folder / "parts" / "deep" / "b.xml").write_text('<mujoco><include file="c.xml"/></mujoco>')
    for place in places:
        (folder / place / "c.xml").write_text(hinge(f"in {place}"))
    (theirs, ours), _ = twin(folder / "robot.xml")
    assert ours == theirs == [f"in {places[-1]}"]


def test_an_included_file_finds_nothing_beside_the_file_that_includes_it(folder):
    (folder / "parts" / "deep").mkdir()
    (folder / "robot.xml").write_text('<mujoco><worldbody><include file="parts/a.xml"/></worldbody></mujoco>')
    (folder / "parts" / "a.xml").write_text('<mujoco><include file="deep/b.xml"/></mujoco>')
    (folder / "parts" / "deep" / "b.xml").write_text('<mujoco><include file="c.xml"/></mujoco>')
    (folder / "parts" / "c.xml").write_text(hinge("c"))
    with pytest.raises(ValueError, match=r"c\.xml"):
        mujoco.MjModel.from_xml_path(str(folder / "robot.xml"))
    refused(folder / "robot.xml", r"c\.xml: cannot be read")


def test_what_lies_beside_an_included_file_is_not_opened_outside_of_the_root(folder):
    (folder.parent / "secret.xml").write_text(hinge("secret"))
    (folder / "robot.xml").write_text('<mujoco><worldbody><include file="parts/a.xml"/></worldbody></mujoco>')
    (folder / "parts" / "a.xml").write_text('<mujoco><include file="../../secret.xml"/></mujoco>')
    refused(folder / "robot.xml", "outside of the folder")


@pytest.mark.parametrize("places", [("parts",), ("parts", ".")])
def test_a_mesh_is_found_beside_the_included_file_that_names_it(folder, places):
    geom = '<geom type="mesh" mesh="t"/>'
    text = f'<mujoco><include file="parts/m.xml"/><worldbody><body><joint/>{geom}</body></worldbody></mujoco>'
    (folder / "robot.xml").write_text(text)
    (folder / "parts" / "m.xml").write_text('<mujoco><asset><mesh name="t" file="t.obj"/></asset></mujoco>')
    for size, place in enumerate(places, start=1):
        corners = f"v 0 0 0\nv {size} 0 0\nv 0 {size} 0\nv 0 0 {size}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
        (folder / place / "t.obj").write_text(corners)
    _, (theirs, ours) = twin(folder / "robot.xml")
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert kane.load_mjcf(folder / "robot.xml").shapes[0].path == str(folder / places[-1] / "t.obj")
