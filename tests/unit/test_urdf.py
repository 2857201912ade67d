"""What a URDF becomes: bodies, joints, loads, frames; and what is refused, with the cure."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from kane.errors import ImportFileError, ImportFileWarning, ModelError
from kane.expression.interpret import interpret
from kane.formulation.formulate import formulate
from kane.importers.urdf.urdf import load_urdf
from kane.model.contacts import Coulomb
from kane.model.joints.free import Free
from kane.model.joints.planar import Planar
from kane.model.joints.prismatic import Prismatic
from kane.model.joints.revolute import Revolute
from kane.model.loads.damper import Damper
from kane.model.loads.motor import Motor
from kane.simulation.inputs.known_in_state import known_in_state

BALL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name: str, inside: str = BALL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = '<axis xyz="0 0 1"/>') -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def inertial(mass="1", inertia="1 1 1 0 0 0", origin="") -> str:
    words = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    entries = " ".join(f'{w}="{x}"' for w, x in zip(words, inertia.split(), strict=True))
    return f'<inertial>{origin}<mass value="{mass}"/><inertia {entries}/></inertial>'


def refusal(text: str, **options) -> str:
    with pytest.raises(ModelError) as caught:
        load_urdf(text, **options)
    return str(caught.value)


ARM = robot(link("base"), link("upper"), link("fore"), joint("j1", "base", "upper"), joint("j2", "upper", "fore"))


def test_coordinates_inputs_and_bodies_are_named_by_joints_and_links():
    model = load_urdf(ARM)
    assert [b.name for b in model.bodies] == ["ground", "upper", "fore"]
    assert [c.name for c in model.connections] == ["j1", "j2"]
    assert [c.q.name for c in model.connections] == ["j1", "j2"]
    assert list(model.inputs) == ["tau_j1", "tau_j2"]
    assert [type(load) for load in model.loads] == [Motor, Motor]


def test_order_is_depth_first_with_children_in_the_order_of_the_file():
    text = robot(
        *map(link, "abcdefg"),
        joint("z", "a", "b"),
        joint("y", "a", "c", "fixed", ""),
        joint("m", "a", "d"),
        joint("x", "c", "e"),
        joint("w", "b", "f"),
        joint("v", "b", "g"),
    )
    assert [c.name for c in load_urdf(text).connections] == ["z", "w", "v", "x", "m"]


def test_joint_types_become_joints():
    text = robot(
        *map(link, "abcde"),
        joint("r", "a", "b", "revolute", '<axis xyz="0 -2 0"/>'),
        joint("c", "b", "c", "continuous", ""),
        joint("p", "c", "d", "prismatic", '<axis xyz="0 3 4"/>'),
        joint("f", "d", "e", "floating", ""),
    )
    r, c, p, f = load_urdf(text).connections
    assert (r.joint, c.joint) == (Revolute("r", axis=(0.0, -1.0, 0.0)), Revolute("c", axis=(1.0, 0.0, 0.0)))
    assert isinstance(p.joint, Prismatic)
    assert p.joint.axis == pytest.approx((0.0, 0.6, 0.8), rel=1e-15)
    assert f.joint == Free("f")
    assert f.coordinate_names == ("f_qw", "f_qx", "f_qy", "f_qz", "f_x", "f_y", "f_z")


def test_origin_places_the_joint_frame_by_roll_pitch_yaw():
    text = robot(*map(link, "ab"), joint("j", "a", "b", inside='<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'))
    made = load_urdf(text).connections[0]
    assert made.p_PF == (1.0, 2.0, 3.0)
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (0.1, 0.2, 0.3))
    yaw = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    pitch = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    roll = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    # Products of three rotations: a few roundings of numbers below one.
    np.testing.assert_allclose(made.R_PF.as_numpy(), yaw @ pitch @ roll, atol=1e-15)


def test_angles_within_a_billionth_of_a_right_angle_are_right_angles_and_others_are_not():
    def rotation(text):
        parts = (*map(link, "ab"), joint("j", "a", "b", inside=f'<origin rpy="{text} 0 -{text}"/>'))
        return load_urdf(robot(*parts)).connections[0].R_PF.as_numpy()

    assert set(rotation("1.57079632679").ravel()) == {0.0, 1.0, -1.0}
    assert set(rotation("3.14159265359").ravel()) == {0.0, 1.0, -1.0}
    assert np.count_nonzero(rotation("1.5708")) == 8


def test_fixed_children_are_lumped_by_the_parallel_axis_theorem():
    # Two unit masses at x = -1 and x = 3 of the link: m = 2, com x = 1, Iyy = Izz = 2 * 2^2 on top of their own.
    offset = '<origin xyz="2 0 0" rpy="0 0 1.5707963267948966"/>'
    text = robot(
        link("base", ""),
        link("a", inertial(inertia="1 2 2.5 0 0 0", origin='<origin xyz="-1 0 0"/>')),
        link("b", inertial(inertia="2 1 2.5 0 0 0", origin='<origin xyz="0 -1 0"/>')),
        joint("j", "base", "a"),
        joint("weld", "a", "b", "fixed", offset),
    )
    model = load_urdf(text)
    (body,) = model.bodies[1:]
    assert (body.name, body.mass) == ("a", 2.0)
    np.testing.assert_allclose(body.com, (1.0, 0.0, 0.0), atol=1e-15)
    np.testing.assert_allclose(body.inertia, np.diag([2.0, 4.0 + 8.0, 5.0 + 8.0]), atol=1e-14)
    frame = model.frames["b"]
    assert frame.body is body
    assert frame.position == (2.0, 0.0, 0.0)
    np.testing.assert_array_equal(frame.orientation.as_numpy(), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_the_root_is_ground_unless_a_base_is_given():
    fixed, free = load_urdf(ARM), load_urdf(ARM, base=Free())
    assert fixed.frames["base"].body is fixed.ground
    assert [b.name for b in free.bodies] == ["ground", "base", "upper", "fore"]
    assert free.connections[0].joint == Free("base")
    assert free.connections[0].coordinate_names[0] == "base_qw"
    assert list(free.inputs) == ["tau_j1", "tau_j2"]
    assert not free.frames


def test_any_joint_may_be_the_base():
    model = load_urdf(ARM, base=Revolute("q0", axis="z"))
    assert [c.name for c in model.connections] == ["q0", "j1", "j2"]


def test_a_base_that_is_no_joint_is_refused():
    for base in ("free", Free, 3):
        assert "give a joint such as kane.Free()" in refusal(ARM, base=base)


def test_a_link_named_ground_is_renamed_and_noted():
    text = robot(
        link("world", ""), link("ground"), link("b"), joint("w", "world", "ground", "fixed"), joint("j", "ground", "b")
    )
    model = load_urdf(text)
    assert set(model.frames) == {"world", "ground_link"}
    assert "ground_link" in model.notes[0]
    assert [b.name for b in load_urdf(text.replace('"world"', '"w"'), base=Free()).bodies] == ["ground", "w", "b"]
    root = robot(link("ground"), link("b"), joint("j", "ground", "b"))
    assert [b.name for b in load_urdf(root, base=Free()).bodies] == ["ground", "ground_link", "b"]


def test_locked_joints_weld_at_zero_or_at_a_value():
    text = ARM.replace('<joint name="j2"', '<joint name="j2" ').replace("<child", '<origin xyz="1 0 0"/><child')
    at_zero, at_right = load_urdf(text, lock=["j2"]), load_urdf(text, lock={"j2": math.pi / 2})
    for model in (at_zero, at_right):
        assert [b.name for b in model.bodies] == ["ground", "upper"]
        assert model.bodies[1].mass == 4.0
        assert list(model.inputs) == ["tau_j1"]
        assert model.frames["fore"].position == (1.0, 0.0, 0.0)
    assert at_zero.frames["fore"].orientation.is_constant
    np.testing.assert_array_equal(at_right.frames["fore"].orientation.as_numpy(), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_a_prismatic_joint_locked_at_a_value_is_shifted():
    text = robot(*map(link, "abc"), joint("j", "a", "b"), joint("p", "b", "c", "prismatic", '<axis xyz="0 1 0"/>'))
    assert load_urdf(text, lock={"p": 0.25}).frames["c"].position == (0.0, 0.25, 0.0)


def test_wrong_locks_are_refused():
    assert "did you mean j1" in refusal(ARM, lock=["j11"])
    assert "finite number" in refusal(ARM, lock={"j1": math.nan})
    assert "finite number" in refusal(ARM, lock={"j1": "0"})
    assert "give a list" in refusal(ARM, lock="j1")
    floating = robot(*map(link, "ab"), joint("f", "a", "b", "floating", ""))
    assert "locked at 0 only" in refusal(floating, lock={"f": 1.0})
    assert len(load_urdf(floating, lock=["f"]).bodies) == 1


def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis_unless_locked():
    text = robot(*map(link, "ab"), joint("slide", "a", "b", "planar", '<axis xyz="0 2 0"/><dynamics damping="1"/>'))
    model = load_urdf(text)
    connection = model.connections[0]
    assert connection.joint == Planar("slide", (0.0, 1.0, 0.0))
    assert connection.coordinate_names == ("slide_x", "slide_y", "slide_angle")
    assert model.loads == []
    assert "damping 1.0 of a planar joint is left out" in model.notes[0]
    assert load_urdf(text, lock=["slide"]).frames["b"].body.name == "ground"


def mimic(other: str, multiplier: float = 1.0, offset: float = 0.0) -> str:
    return f'<axis xyz="0 0 1"/><mimic joint="{other}" multiplier="{multiplier}" offset="{offset}"/>'


def test_a_chain_of_mimic_joints_is_an_expression_of_the_one_that_moves():
    # q2 = 2 q1 + 1, q3 = -3 q2 + 0.5 = -6 q1 - 2.5; the leader comes last in the file and in the tree.
    text = robot(
        *map(link, "abcd"),
        joint("q3", "a", "b", "revolute", mimic("q2", -3, 0.5)),
        joint("q2", "b", "c", "prismatic", mimic("q1", 2, 1)),
        joint("q1", "c", "d"),
    )
    model = load_urdf(text)
    q3, q2, q1 = (c.q for c in model.connections)
    np.testing.assert_allclose(interpret([q1, q2, q3], {q1: 0.3}), [0.3, 1.6, -4.3], rtol=1e-15)
    assert list(model.inputs) == ["tau_q1"]


def test_mimic_of_a_locked_or_fixed_joint_stands_still_where_that_one_is():
    text = robot(
        *map(link, "abcd"),
        joint("m", "a", "b"),
        joint("s", "b", "c", "prismatic"),
        joint("t", "b", "d", "prismatic", mimic("s", 2, 0.5)),
    )
    assert load_urdf(text, lock={"s": 0.25}).frames["d"].position == (0.0, 0.0, 1.0)
    fixed = text.replace('name="s" type="prismatic"', 'name="s" type="fixed"')
    assert load_urdf(fixed).frames["d"].position == (0.0, 0.0, 0.5)


def test_wrong_mimics_are_refused():
    three = (*map(link, "abc"),)
    circle = robot(*three, joint("j", "a", "b", inside=mimic("k")), joint("k", "b", "c", inside=mimic("j")))
    assert "in a loop: 'j' -> 'k' -> 'j'" in refusal(circle)
    itself = robot(*map(link, "ab"), joint("j", "a", "b", inside=mimic("j")))
    assert "in a loop: 'j' -> 'j'" in refusal(itself)
    unknown = robot(*three, joint("jay", "a", "b"), joint("k", "b", "c", inside=mimic("jai")))
    assert "mimics 'jai', which does not exist; did you mean jay" in refusal(unknown)
    floating = robot(*three, joint("j", "a", "b", "floating", ""), joint("k", "b", "c", inside=mimic("j")))
    assert "has no single coordinate" in refusal(floating)
    follower = robot(*three, joint("j", "a", "b"), joint("k", "b", "c", "floating", mimic("j")))
    assert "cannot mimic" in refusal(follower)


def test_a_very_long_chain_of_mimics_is_no_problem():
    n = 400
    parts = [
        link("l0"),
        *(link(f"l{i}") + joint(f"j{i}", f"l{i - 1}", f"l{i}", inside=mimic(f"j{i + 1}")) for i in range(1, n)),
    ]
    model = load_urdf(robot(*parts, link(f"l{n}"), joint(f"j{n}", f"l{n - 1}", f"l{n}")))
    assert {c.q for c in model.connections} == {model.connections[-1].q}


def test_damping_becomes_a_damper_and_friction_a_note():
    text = robot(
        *map(link, "abc"), joint("j", "a", "b", inside='<dynamics damping="0.5" friction="0.2"/>'), joint("k", "b", "c")
    )
    model = load_urdf(text)
    (damper,) = (load for load in model.loads if isinstance(load, Damper))
    assert (damper.connection.name, damper.coefficient) == ("j", 0.5)
    (note,) = model.notes
    assert "'j': Coulomb friction 0.2 is left out; Model.stick(joint, static=0.2) adds it" in note
    assert "damping is -1.0" in refusal(text.replace('damping="0.5"', 'damping="-1"'))


def test_what_is_not_known_is_noted_and_what_is_left_out_on_purpose_is_not():
    inside = '<axis xyz="0 0 1"/><limit effort="1"/><safety_controller/><calibration/><dynamics mu="1"/><odd/>'
    text = robot(link("a", "<visual/><collision/><inertail/>"), link("b"), joint("j", "a", "b", inside=inside))
    text = text.replace("</robot>", "<material/><gazebo/><transmission/><extra/></robot>")
    assert load_urdf(text).notes == [
        "robot: <extra> is not known and is left out",
        "link 'a': <inertail> (did you mean inertial?) is not known and is left out",
        "joint 'j': <odd> is not known and is left out",
        "joint 'j': <dynamics> 'mu' is not URDF and is left out",
        "joint 'j': its limits (effort 1) are left out, it moves beyond them",
    ]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("revolute", "lower -1.5, upper 1.5, effort 150, velocity 3.15"),
        ("prismatic", "lower -1.5, upper 1.5, effort 150, velocity 3.15"),
        ("continuous", "effort 150, velocity 3.15"),  # has no others, whatever the file says
    ],
)
def test_limits_are_noted_where_a_joint_moves(kind, words):
    inside = '<axis xyz="0 0 1"/><limit lower="-1.5" upper="1.5" effort="150" velocity="3.15"/>'
    text = robot(*map(link, "ab"), joint("j", "a", "b", kind, inside))
    assert load_urdf(text).notes == [f"joint 'j': its limits ({words}) are left out, it moves beyond them"]
    if kind != "continuous":
        assert load_urdf(text, lock=["j"], base=Free()).notes == []


def test_massless_links_may_carry_others_but_not_end_a_branch():
    between = robot(link("a"), link("b", ""), link("c"), joint("j", "a", "b"), joint("k", "b", "c"))
    assert load_urdf(between).bodies[1].mass == 0.0
    leaf = robot(link("a"), link("b"), link("c", ""), joint("j", "a", "b"), joint("k", "b", "c"))
    message = refusal(leaf)
    assert "no mass moves with joint 'k'" in message
    assert "lock=['k']" in message
    assert load_urdf(leaf, lock=["k"]).frames["c"].body.name == "b"
    assert "no mass moves with joint 'base'" in refusal(robot(link("a", "")), base=Free())


def test_a_massless_link_may_move_where_its_leader_moves_mass():
    text = robot(link("a"), link("b"), link("c", ""), joint("j", "a", "b"), joint("k", "b", "c", inside=mimic("j")))
    assert [b.mass for b in load_urdf(text).bodies] == [0.0, 2.0, 0.0]


BAD = inertial(inertia="1 1 3 0 0 0")


def test_inertia_that_no_body_can_have_is_refused_with_the_nearest_valid_one():
    text = robot(link("a"), link("b", BAD), joint("j", "a", "b"))
    message = refusal(text)
    assert message.startswith("<text>:1:")
    assert "link 'b'" in message
    assert "triangle inequality" in message
    assert "nearest valid inertia is ((1.5, 0, 0), (0, 1.5, 0), (0, 0, 3))" in message
    assert "repair=['b']" in message
    np.testing.assert_allclose(load_urdf(text, repair=["b"]).bodies[1].inertia, np.diag([1.5, 1.5, 3.0]), rtol=1e-15)


def test_all_links_at_fault_are_named_at_once():
    text = robot(link("a"), link("b", BAD), link("c", BAD), joint("j", "a", "b"), joint("k", "b", "c"))
    assert "repair=['b', 'c']" in refusal(text)
    assert "repair=['b', 'c']" in refusal(text, repair=["b"])


def test_an_invalid_link_is_noted_where_the_lump_as_a_whole_is_valid():
    weld = joint("w", "b", "c", "fixed", '<origin xyz="0 0 5"/>')
    text = robot(link("a"), link("b"), link("c", BAD), joint("j", "a", "b"), weld)
    model = load_urdf(text)
    (note,) = model.notes
    assert "link 'c'" in note
    assert "'b' as a whole is valid" in note
    # Masses 2 and 1 at a distance of 5: 2/3 * 25 on two axes, on top of 1 + 1, 1 + 1 and 1 + 3.
    np.testing.assert_allclose(model.bodies[1].inertia, np.diag([2 + 50 / 3, 2 + 50 / 3, 4]), rtol=1e-14)


def test_the_inertia_of_what_is_welded_to_the_ground_does_not_matter():
    text = robot(link("a", BAD), link("b"), joint("j", "a", "b"))
    assert len(load_urdf(text).bodies) == 2
    assert "repair=['a']" in refusal(text, base=Free())


def test_repair_of_a_link_that_is_not_there_is_refused():
    assert "no link 'uper' to repair; did you mean upper" in refusal(ARM, repair=["uper"])


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<mass value="1"/>', "<inertial> lacks a <inertia>"),
        ('<inertia ixx="1"/>', "<inertial> lacks a <mass>"),
        ('<mass value="1"/><inertia ixx="1"/>', '<inertia> lacks iyy="..."'),
        ('<mass value="-1"/>', "mass -1.0 is negative"),
        ('<mass value="nan"/>', "'nan', which is not a number"),
        ('<mass value="inf"/>', "'inf', which is not a number"),
        ('<mass value="1e13"/>', "between -1e12 and 1e12"),
        ('<mass value="1e999"/>', "between -1e12 and 1e12"),
        ('<mass value="1_000"/>', "'1_000', which is not a number"),
        ('<mass value="1,5"/>', "'1,5', which is not a number"),
        ('<mass value="0x10"/>', "'0x10', which is not a number"),
        ('<mass value="\u0661"/>', "which is not a number"),
        ('<mass value="1 2"/>', "must be 1 number, not 2"),
        ('<mass value=""/>', '<mass> lacks value="..."'),
        ('<mass value="${m}"/>', "run `xacro"),
        ('<mass value="1"/><mass value="1"/>', "a second <mass>"),
        ('<origin xyz="1 2"/>', "must be 3 numbers, not 2"),
        ('<origin rpy="1 2 x"/>', "'x', which is not a number"),
    ],
)
def test_bad_numbers_are_refused_by_place_element_and_attribute(inside, words):
    tail = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>' if "<origin" in inside else ""
    message = refusal(robot("\n", link("a", f"<inertial>{inside}{tail}</inertial>")))
    assert words in message
    assert message.startswith("<text>:2:")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((link("a"), link("a")), "the name 'a' is taken by the link at <text>:1:"),
        ((link("a"), link("b"), joint("j", "a", "b"), joint("j", "b", "a")), "the name 'j' is taken by the joint"),
        ((link("a"), link("b")), "2 links are the child of no joint ('a', 'b')"),
        ((link("arm"), joint("j", "arm", "amr")), "no link is named 'amr' (child); did you mean arm"),
        ((link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), "loop without a root link"),
        ((link("a"), link("b"), joint("j", "b", "b")), "is in a closed loop of joints"),
        ((link("a"), link("b"), link("c"), joint("j", "a", "c"), joint("k", "b", "c")), "child of joint 'k' and 'j'"),
        ((link("a"), link("b"), joint("j", "a", "b", "hinge")), "has the type 'hinge'; known are fixed, revolute"),
        ((link("a"), link("b"), joint("j", "a", "b", inside='<axis xyz="0 0 0"/>')), "the axis is zero"),
        ((link("a"), link("b"), '<joint name="j" type="fixed"><child link="b"/></joint>'), "<joint> lacks a <parent>"),
        ((link("a"), '<joint type="fixed"/>'), '<joint> lacks name="..."'),
        ((link(" a"),), "has outer blanks"),
        ((link("a" * 201),), "more than 200"),
        ((), "has 0 links"),
        (("<xacro:include/>", link("a")), "run `xacro"),
        ((link("a", "<xacro:insert_block/>"),), "run `xacro"),
        ((link("${prefix}a"),), "run `xacro"),
        ((link("a"), link("b"), joint("t", "a", "b")), "the name 't' is already taken"),
    ],
)
def test_what_is_not_a_tree_of_named_links_is_refused(parts, words):
    message = refusal(robot(*parts))
    assert words in message
    assert message.startswith("<text>:")


def test_a_file_that_is_no_urdf_is_refused():
    assert "is <sdf>, not <robot>" in refusal("<sdf/>")
    assert '<robot> lacks name="..."' in refusal("<robot/>")


def test_too_many_links_are_refused():
    assert "6000 links" in refusal(robot(*(f'<link name="l{i}"/>' for i in range(6000))))


def test_errors_are_import_errors_where_the_file_is_at_fault():
    with pytest.raises(ImportFileError):
        load_urdf(robot(link("a"), link("b"), joint("t", "a", "b")))


def test_mass_and_products_of_inertia_keep_their_sign_and_axes():
    text = robot(
        link("a"), link("b", inertial("3", "2 3 4 0.1 0.2 0.3", '<origin xyz="1 2 3"/>')), joint("j", "a", "b")
    )
    body = load_urdf(text).bodies[1]
    assert (body.mass, body.com) == (3.0, (1.0, 2.0, 3.0))
    np.testing.assert_array_equal(body.inertia, [[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]])
    # A quarter turn about z puts x on y: Ixx and Iyy trade places, Ixy changes sign, Iyz = Ixz and Ixz = -Iyz.
    turned = load_urdf(text.replace('"1 2 3"/><mass', '"1 2 3" rpy="0 0 1.57079632679"/><mass')).bodies[1]
    np.testing.assert_allclose(turned.inertia, [[3, -0.1, -0.3], [-0.1, 2, 0.2], [-0.3, 0.2, 4]], atol=1e-15)


LIMIT = '<axis xyz="0 0 1"/><limit lower="-0.5" upper="1.5" effort="10" velocity="2"/>'


def collision(geometry: str, origin: str = "") -> str:
    return f"{BALL}<collision>{origin}<geometry>{geometry}</geometry></collision>"


def test_limits_become_stops_where_that_is_asked_for():
    text = robot(*map(link, "abc"), joint("j", "a", "b", inside=LIMIT), joint("k", "b", "c", "continuous"))
    assert load_urdf(text).intermittents == []
    model = load_urdf(text, stops=True)
    assert [c.name for c in model.intermittents] == ["stop of j: lower", "stop of j: upper"]
    gaps = [interpret([c.gap], {model.connections[0].q: 0.25})[0] for c in model.intermittents]
    assert gaps == pytest.approx([0.75, 1.25], rel=1e-15)
    assert model.notes == []


def test_limits_that_leave_nothing_make_no_stops():
    text = robot(*map(link, "ab"), joint("j", "a", "b", inside='<limit effort="1" velocity="1"/>'))
    model = load_urdf(text, stops=True)
    assert model.intermittents == []
    assert "its limits 0 and 0 leave no range" in model.notes[0]


PRIMITIVES = {
    "box": ('<box size="0.4 0.2 0.6"/>', 8),
    "sphere": ('<sphere radius="0.3"/>', 1),
    "cylinder": ('<cylinder radius="0.1" length="0.6"/>', 2),
    "capsule": ('<capsule radius="0.1" length="0.4"/>', 2),
}


@pytest.mark.parametrize(("geometry", "number"), PRIMITIVES.values(), ids=PRIMITIVES)
def test_collision_primitives_come_into_contact_with_a_floor_that_is_asked_for(geometry, number):
    """All reach 0.3 below their centre but the cylinder, which leans, for upright it has no lowest point.

    Who vouches: the distance to the floor in the configuration of the file, by hand.
    """
    lean = 0.2 if "cylinder" in geometry else 0.0
    shape = collision(geometry, f'<origin xyz="0 0 0.5" rpy="{lean} 0 0"/>')
    text = robot(link("a"), link("b", shape), joint("j", "a", "b", "prismatic"))
    model = load_urdf(text, floor=-1.0, friction=Coulomb(0.8))
    assert len(model.intermittents) == number
    assert {c.name.partition(":")[0] for c in model.intermittents} == {"b"}
    assert all(c.friction == Coulomb(0.8) for c in model.intermittents)
    gaps = known_in_state(formulate(model), {c.name: c.gap for c in model.intermittents}, {}, ())
    reach = 0.3 * math.cos(lean) + 0.1 * math.sin(lean)
    assert min(interpret(gaps, {model.connections[0].q: 0.0})) == pytest.approx(1.5 - reach, rel=1e-14)


def test_a_collision_mesh_is_left_out_with_a_warning():
    mesh, ball = collision('<mesh filename="b.stl"/>'), collision('<sphere radius="0.1"/>')
    text = robot(link("a"), link("b", mesh), link("c", ball), joint("j", "a", "b"), joint("k", "b", "c"))
    with pytest.warns(ImportFileWarning, match=r"contacts of meshes \(hulls=20 adds them\): link 'b'"):
        model = load_urdf(text, floor=0.0)
    assert [c.name for c in model.intermittents] == ["c"]
    assert any("a collision mesh is left out" in note for note in model.notes)


def warned(text, **options):
    """The text of the only warning at load time; empty without one."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        load_urdf(text, **options)
    assert len(found) <= 1
    if found:
        assert found[0].category is ImportFileWarning
        assert found[0].filename == __file__
    return str(found[0].message) if found else ""


def test_one_warning_names_all_that_changes_the_motion_and_is_not_in_the_model():
    names = [f"j{k}" for k in range(6)]
    rubbing = '<dynamics friction="0.2"/><limit lower="-1" upper="1" effort="9"/>'
    joints = [joint(name, f"l{k}", f"l{k + 1}", "revolute", rubbing) for k, name in enumerate(names)]
    said = warned(robot(*(link(f"l{k}") for k in range(7)), *joints))
    assert "Coulomb friction of joints (Model.stick adds it): 'j0', 'j1', 'j2', 'j3' and 2 more" in said
    assert "limits of joints (stops=True makes stops of them, stops=False leaves them out): 'j0', 'j1'" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("collision>", "collison>", "link 'b': <collison> (did you mean collision?)"),
        ("xyz=", "xzy=", "link 'b': <origin> 'xzy' (did you mean xyz?)"),
        ("<geometry>", "<geometri/><geometry>", "link 'b': <geometri> (did you mean geometry?)"),
        ("<inertial>", "<inertail/><inertial>", "link 'b': <inertail> (did you mean inertial?)"),
        ("<sphere", '<sphere mass="1"', "link 'b': <sphere> 'mass'"),
        ("damping=", "dampin=", "joint 'j': <dynamics> 'dampin' (did you mean damping?)"),
        ("</robot>", "<jont/></robot>", "robot: <jont> (did you mean joint?)"),
    ],
)
def test_unknown_elements_and_attributes_are_named_with_the_nearest_known_name(old, new, said):
    shape = collision('<sphere radius="0.1"/>', '<origin xyz="0 0 0.1"/>')
    text = robot(link("a"), link("b", shape), joint("j", "a", "b", "continuous", '<dynamics damping="0.1"/>'))
    assert warned(text) == ""
    found = warned(text.replace(old, new))
    assert "elements and attributes that are not URDF: " in found
    assert said in found


def test_what_does_not_change_the_motion_is_a_note_without_a_warning():
    visual = '<visual><orgin/><geometry><box size="1 1 1"/></geometry></visual>'
    limit = '<axis xyz="0 0 1"/><limit effort="1" velocity="2"/>'
    text = robot(link("a"), link("b", BALL + visual), joint("j", "a", "b", "continuous", limit))
    text = text.replace("</robot>", '<material/><gazebo reference="a"/><drake:x/><transmission/></robot>')
    text = text.replace("<robot", '<robot xmlns:drake="d"', 1)
    assert warned(text) == ""
    assert len(load_urdf(text).notes) == 2
    revolute = robot(*map(link, "ab"), joint("j", "a", "b", inside=LIMIT))
    assert warned(revolute, stops=False) == warned(revolute, stops=True) == ""


@pytest.mark.parametrize("shape", ["", collision('<mesh filename="b.stl"/>')], ids=["no shape", "a mesh"])
def test_a_floor_that_nothing_can_touch_is_an_error(shape):
    text = robot(link("a", collision('<sphere radius="1"/>')), link("b", shape or BALL), joint("j", "a", "b"))
    with pytest.raises(ImportFileError, match=r"nothing of the model can touch anything; .*hulls=20"):
        load_urdf(text, floor=0.0)


def test_a_collision_mesh_touches_the_floor_by_its_hull_where_that_is_asked_for(tmp_path):
    """An L of two boxes, which is not convex: what is between its arms is in the hull, and the notes say how far."""
    trimesh = pytest.importorskip("trimesh")
    parts = [trimesh.creation.box(x, trimesh.transformations.translation_matrix(p)) for x, p in L_OF_BOXES]
    trimesh.util.concatenate(parts).export(tmp_path / "b.stl")
    shape = collision('<mesh filename="b.stl" scale="2 2 2"/>', '<origin xyz="0 0 0.1"/>')
    path = tmp_path / "robot.urdf"
    path.write_text(robot(link("a"), link("b", shape), joint("j", "a", "b", kind="floating")))
    model = load_urdf(path, floor=-1.0, hulls=20, friction=Coulomb(0.5))
    assert {c.name.partition(":")[0] for c in model.intermittents} == {"b"}
    said = next(note for note in model.notes if "collision mesh" in note)
    assert "a hull of 10 corners" in said
    eqs = formulate(model)
    gaps = [c.numbers[0] for c in eqs.with_intermittent_rows.intermittents]
    values = dict.fromkeys(eqs.with_intermittent_rows.u, 0.0) | {eqs.t: 0.0}
    values |= dict(zip(eqs.with_intermittent_rows.q, eqs.neutral, strict=True))
    assert min(interpret(gaps, values)) == pytest.approx(1.0 + 0.1 - 0.1, abs=1e-6)
    path.write_text(path.read_text().replace("b.stl", "c.stl"))
    assert "c.stl" in refusal(path, floor=-1.0, hulls=20)


L_OF_BOXES = [((0.4, 0.1, 0.1), (0.15, 0, 0)), ((0.1, 0.1, 0.3), (0, 0, 0.1))]


def test_what_is_wrong_with_a_floor_or_a_collision_is_said():
    for given in ({"friction": Coulomb(0.5)}, {"restitution": 0.5}, {"restitution": np.zeros(3)}, {"hulls": 20}):
        assert "friction=, restitution= and hulls= belong to contacts" in refusal(ARM, **given)
    assert "floor= is nan" in refusal(ARM, floor=math.nan)
    assert "stops= tells whether" in refusal(ARM, stops=1)
    for hulls in (3, 4.5, "all"):
        assert "hulls=" in refusal(ARM, floor=0.0, hulls=hulls)
    text = robot(link("a"), link("b", collision("<torus/>")), joint("j", "a", "b"))
    assert "needs a <geometry> with one of box, sphere" in refusal(text, floor=0.0)
    load_urdf(text)  # nobody asked


def test_a_collision_mesh_that_is_flat_is_refused_by_its_link_and_file(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.Trimesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]).export(tmp_path / "b.stl")
    path = tmp_path / "robot.urdf"
    shape = collision('<mesh filename="b.stl"/>')
    path.write_text(robot(link("a"), link("b", shape), joint("j", "a", "b", kind="floating")))
    said = refusal(path, floor=-1.0, hulls=20)
    assert 'link "b"' in said or "link 'b'" in said
    assert "b.stl is flat" in said
    assert "give it a thickness" in said


def test_a_convex_collision_mesh_is_no_negative_distance_inside_its_hull(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.icosphere(1, 0.1).export(tmp_path / "b.stl")
    path = tmp_path / "robot.urdf"
    shape = collision('<mesh filename="b.stl"/>')
    path.write_text(robot(link("a"), link("b", shape), joint("j", "a", "b", kind="floating")))
    said = next(note for note in load_urdf(path, floor=-1.0, hulls=60).notes if "collision mesh" in note)
    assert "up to 0 m inside" in said


def test_links_touch_each_other_but_not_their_neighbours():
    """A chain of five links, the third fixed to the second, and the first fixed to the ground."""
    links = [link(name, collision('<sphere radius="0.1"/>')) for name in "abcde"]
    joints = [joint("j1", "a", "b"), joint("j2", "b", "c", "fixed"), joint("j3", "c", "d"), joint("j4", "d", "e")]
    model = load_urdf(robot(*links, *joints), contacts="all", friction=Coulomb(0.5))
    found = {frozenset(c.name.split(" on ")) for c in model.intermittents}
    assert found == {frozenset(x) for x in ("ad", "ae", "be", "ce")}
    free = load_urdf(robot(*links, *joints), contacts="all", base=Free("base"), floor=0.0)
    assert len(free.intermittents) == 4 + 5
    with pytest.raises(ModelError, match='contacts= is True; give "all"'):
        load_urdf(robot(*links, *joints), contacts=True)
    with pytest.raises(ImportFileError, match="restitution"):
        load_urdf(robot(*links, *joints), contacts="all", restitution=-1.0)
