"""Hostile and broken files: each is refused by a kane error that names the place and the cure."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kane.errors import ImportFileError
from kane.files.source_file import MAXIMUM_BYTES, read_source, source_of_text
from kane.importers.urdf.urdf import load_urdf
from kane.importers.xml_reader import (
    MAXIMUM_ATTRIBUTES,
    MAXIMUM_DEPTH,
    MAXIMUM_ELEMENTS,
    MAXIMUM_LENGTH,
    read_xml,
)

ROBOT = '<robot name="r"><link name="a"/></robot>'


def refusal(text: str | bytes) -> str:
    """The message with which a text is refused."""
    with pytest.raises(ImportFileError) as caught:
        read_xml(source_of_text(text))
    return str(caught.value)


def test_elements_keep_their_order_attributes_and_place():
    root = read_xml(source_of_text('<?xml version="1.0"?>\n<!-- c -->\n<a x="1">\n  <b/>text<c y="2"/></a>'))
    assert (root.tag, root.attributes, root.place) == ("a", {"x": "1"}, "<text>:3:1")
    assert [(c.tag, c.attributes, c.place) for c in root.children] == [
        ("b", {}, "<text>:4:3"),
        ("c", {"y": "2"}, "<text>:4:11"),
    ]


def test_a_document_type_is_refused_before_anything_in_it_is_read():
    assert "<text>:1:" in (message := refusal("<!DOCTYPE robot><robot/>"))
    assert "document type" in message
    assert "remove it" in message


def test_billion_laughs_are_refused_at_once():
    lines = ['<!ENTITY l0 "lol">'] + [f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10)]
    started = time.process_time()
    message = refusal(f"<!DOCTYPE robot [{''.join(lines)}]><robot>&l9;</robot>")
    assert "document type" in message
    # Expanded it would be 3 GB; refused it takes microseconds, and a second is far from both.
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % x SYSTEM "http://example.org/x.dtd"> %x;',
        '<!ENTITY x PUBLIC "-//x//" "http://example.org/">',
    ],
)
def test_external_entities_are_refused_without_opening_anything(declaration):
    assert "document type" in refusal(f"<!DOCTYPE robot [{declaration}]><robot>&x;</robot>")


def test_an_external_document_type_is_refused():
    assert "document type" in refusal('<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot/>')


def test_an_undeclared_entity_is_malformed():
    assert "undefined entity" in refusal("<robot>&x;</robot>")


def test_the_five_entities_of_xml_itself_are_read():
    assert read_xml(source_of_text('<a x="&lt;&amp;&#65;"/>')).attributes["x"] == "<&A"


def test_processing_instructions_are_refused():
    message = refusal('<?xml-stylesheet href="x.xsl"?><robot/>')
    assert "processing instruction" in message
    assert "xml-stylesheet" in message


def test_nesting_has_a_ceiling():
    deepest = "<a>" * MAXIMUM_DEPTH + "</a>" * MAXIMUM_DEPTH
    assert read_xml(source_of_text(deepest)).tag == "a"
    assert "nested deeper than 64" in refusal("<a>" * 100_000)


def test_the_number_of_elements_has_a_ceiling():
    assert "elements" in refusal("<a>" + "<b/>" * (MAXIMUM_ELEMENTS + 1) + "</a>")


def test_attributes_have_ceilings():
    many = " ".join(f'x{i}="1"' for i in range(MAXIMUM_ATTRIBUTES + 1))
    assert "attributes" in refusal(f"<a {many}/>")
    assert "longer than" in refusal(f'<a x="{"1" * (MAXIMUM_LENGTH + 1)}"/>')
    assert "longer than" in refusal(f'<a {"x" * (MAXIMUM_LENGTH + 1)}="1"/>')
    assert "duplicate attribute" in refusal('<a x="1" x="2"/>')


@pytest.mark.parametrize(
    "text", ["", "   \n", "<", "<robot", "<robot>", ROBOT[:-3], ROBOT + "x", "\0", "<a>\0</a>", "{}"]
)
def test_malformed_text_is_refused_with_line_column_and_cure(text):
    message = refusal(text)
    assert message.startswith("<text>:")
    assert "not well-formed" in message
    assert "check that the file is complete" in message


def test_the_place_of_a_malformation_is_right():
    assert refusal("<robot>\n  <a></b>\n</robot>").startswith("<text>:2:8: ")


def test_bytes_that_are_not_utf8_are_refused():
    assert "not well-formed" in refusal(b'<robot name="\xff\xfe"/>')


def test_a_lone_surrogate_is_refused():
    assert "surrogate" in refusal("<robot \ud800/>")


@pytest.mark.parametrize("encoding", ["hex", "utf-7", "idna", "no-such-codec", "cp037"])
def test_unusual_encodings_are_refused_by_name(encoding):
    message = refusal(f'<?xml version="1.0" encoding="{encoding}"?><robot/>'.encode())
    assert repr(encoding) in message
    assert "UTF-8" in message


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
def test_usual_encodings_are_read(encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><robot name="\xe9"/>'
    assert read_xml(source_of_text(text.encode(encoding))).attributes["name"] == "\xe9"


def test_a_text_in_memory_is_taken_as_it_is_whatever_encoding_it_declares():
    text = '<?xml version="1.0" encoding="iso-8859-1"?><robot name="\xe9\u0416"/>'
    assert read_xml(source_of_text(text)).attributes["name"] == "\xe9\u0416"


def test_a_message_does_not_repeat_hostile_text_at_length_or_raw():
    message = refusal(f"<?{'x' * 10_000} y?><a/>")
    assert len(message) < 400
    with pytest.raises(ImportFileError) as caught:
        load_urdf('<robot name="r"><link name="a&#10;\u202eFAKE"/></robot>')
    assert "\u202e" not in str(caught.value)
    assert "\n" not in str(caught.value)


def write(folder: Path, name: str = "r.urdf", text: str = ROBOT) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_is_read_from_its_own_folder_or_an_explicit_root(tmp_path, monkeypatch):
    path = write(tmp_path)
    assert read_source(path).data == ROBOT.encode()
    assert read_source(str(path), tmp_path).data == ROBOT.encode()
    monkeypatch.chdir(tmp_path)
    assert read_source("r.urdf").data == ROBOT.encode()
    assert read_source("r.urdf", tmp_path).data == ROBOT.encode()


def test_a_path_is_relative_to_the_working_folder_whatever_the_root(tmp_path, monkeypatch):
    (tmp_path / "robots" / "arm").mkdir(parents=True)
    write(tmp_path / "robots" / "arm")
    monkeypatch.chdir(tmp_path)
    for root in (None, "robots", "robots/arm", ".", tmp_path):
        assert read_source("robots/arm/r.urdf", root).data == ROBOT.encode()


def test_a_path_that_leads_outside_the_root_is_refused(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = write(tmp_path)
    for path in (outside, "../r.urdf", "/etc/passwd"):
        with pytest.raises(ImportFileError, match=r"outside of the folder .*give the real path"):
            read_source(path, inside)


def test_a_symbolic_link_may_lead_within_the_root_but_not_out_of_it(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    os.symlink(write(tmp_path), inside / "out.urdf")
    os.symlink(write(inside), inside / "in.urdf")
    assert read_source(inside / "in.urdf").data == ROBOT.encode()
    with pytest.raises(ImportFileError, match="outside of the folder"):
        read_source(inside / "out.urdf")
    assert read_source(inside / "out.urdf", tmp_path).data == ROBOT.encode()


def test_links_in_a_circle_folders_and_missing_files_are_refused(tmp_path):
    os.symlink(tmp_path / "loop", tmp_path / "loop")
    for path in (tmp_path / "loop", tmp_path / "missing.urdf", tmp_path, "", "x" * 5000, "a\0b"):
        with pytest.raises(ImportFileError, match=r"cannot be read|not a file|not a usable path"):
            read_source(path)


def test_devices_and_pipes_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ImportFileError, match="is a pipe, not a file"):
        read_source(tmp_path / "pipe")
    with pytest.raises(ImportFileError, match="is a device, not a file"):
        read_source("/dev/zero")


def test_a_huge_file_is_refused_without_reading_it(tmp_path):
    path = tmp_path / "huge.urdf"
    with open(path, "wb") as file:
        file.truncate(MAXIMUM_BYTES + 1)
    with pytest.raises(ImportFileError, match="larger than 64 MiB"):
        read_source(path)
    with pytest.raises(ImportFileError, match="larger than 64 MiB"):
        source_of_text(b" " * (MAXIMUM_BYTES + 1))


def test_errors_in_a_file_carry_its_path(tmp_path):
    path = write(tmp_path, text='<robot name="r">\n<link/>\n</robot>')
    with pytest.raises(ImportFileError) as caught:
        load_urdf(path)
    assert str(caught.value).startswith(f"{path}:2:1: <link> lacks name=")


@pytest.mark.parametrize("source", [None, 3, ["r.urdf"], object()])
def test_what_is_neither_path_nor_text_is_refused(source):
    with pytest.raises(ImportFileError, match="neither a path nor a text"):
        load_urdf(source)


def test_meshes_are_not_opened(tmp_path):
    mesh = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
    names = ("package://x/y.stl", "file:///etc/passwd", "../../secret.stl", "http://example.org/x.stl")
    text = f'<robot name="r"><link name="a">{"".join(map(mesh.format, names))}</link></robot>'
    assert load_urdf(write(tmp_path, text=text)).name == "r"
