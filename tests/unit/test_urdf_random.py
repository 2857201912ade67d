"""Random bytes and random damage to a valid URDF: only kane errors come out, quickly, whatever goes in."""

from __future__ import annotations

import math
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from kane.errors import KaneError
from kane.importers.urdf.urdf import load_urdf
from kane.model.joints.free import Free

INERTIAL = (
    '<inertial><origin xyz="0 0.1 0" rpy="0 0 1.57"/><mass value="2"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0.01"/></inertial>'
)
VALID = f"""<?xml version="1.0" encoding="utf-8"?>
<robot name="r">
  <link name="base"/><link name="a">{INERTIAL}</link><link name="b">{INERTIAL}</link><link name="tip"/>
  <joint name="j1" type="revolute"><origin xyz="0 0 1" rpy="0 0 0"/><parent link="base"/><child link="a"/>
    <axis xyz="0 0 1"/><limit effort="1" lower="-1" velocity="1"/><dynamics damping="0.1"/></joint>
  <joint name="j2" type="prismatic"><parent link="a"/><child link="b"/>
    <mimic joint="j1" multiplier="2" offset="1"/></joint>
  <joint name="w" type="fixed"><parent link="b"/><child link="tip"/></joint>
</robot>
""".encode()

MARKUP = (
    b"<!DOCTYPE a>|<!ENTITY x 'y'>|&x;|&#0;|<?p?>|\0|\xff|\"|<|>|</link>|<link name='a'/>|<mimic joint='w'/>|]]>|<!--"
)
VALUES = b"-1|1e400|nan|${x}|base|j1|tip|floating|planar|0"
HOSTILE = [*MARKUP.split(b"|"), *VALUES.split(b"|")]
SECONDS = 5.0  # a load takes milliseconds; anything near this is a hang


def attempt(text: bytes, **options) -> None:
    started = time.process_time()
    try:
        model = load_urdf(text, **options)
        for body in model.bodies[1:]:
            assert body.mass >= 0.0
            assert all(math.isfinite(x) for x in (body.mass, *body.com, *(x for row in body.inertia for x in row)))
    except KaneError as error:
        message = str(error)
        assert message.startswith("<text>")
        assert len(message) < 5000
    assert time.process_time() - started < SECONDS


def test_what_is_damaged_below_was_valid_before():
    model = load_urdf(VALID)
    assert [c.name for c in model.connections] == ["j1", "j2"]


@given(st.binary(max_size=400))
@settings(max_examples=200)
def test_random_bytes_are_refused_by_kane_errors(data):
    attempt(data)


@given(
    st.binary(max_size=60),
    st.sampled_from([b"<robot name='r'>", b"<?xml version='1.0'?>", b"\xff\xfe", b"\xef\xbb\xbf<"]),
)
@settings(max_examples=100)
def test_random_bytes_after_a_good_start_are_refused_by_kane_errors(data, start):
    attempt(start + data)


@given(st.text(max_size=200))
@settings(max_examples=100)
def test_random_text_is_refused_by_kane_errors(text):
    try:
        load_urdf("<" + text)
    except KaneError:
        return


damage = st.lists(
    st.tuples(
        st.integers(0, len(VALID)), st.integers(0, 30), st.one_of(st.sampled_from(HOSTILE), st.binary(max_size=4))
    ),
    min_size=1,
    max_size=4,
)


@given(damage, st.booleans())
@settings(max_examples=400)
def test_random_damage_gives_a_model_or_a_kane_error(changes, free):
    text = VALID
    for start, length, put in changes:
        text = text[:start] + put + text[start + length :]
    attempt(text, base=Free() if free else None)


words = sorted({*VALID.split(b'"')[1::2], *VALUES.split(b"|")})


@given(st.data())
@settings(max_examples=300)
def test_exchanged_attribute_values_give_a_model_or_a_kane_error(data):
    parts = VALID.split(b'"')
    for _ in range(data.draw(st.integers(1, 4))):
        place = 2 * data.draw(st.integers(0, len(parts) // 2 - 1)) + 1
        parts[place] = data.draw(st.sampled_from(words))
    attempt(b'"'.join(parts))
