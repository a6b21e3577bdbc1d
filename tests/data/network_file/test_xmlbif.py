import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.data import NetworkFileError, load_example_network
from credo.data.network_file.network_assembly import parts_of_network
from credo.data.network_file.network_part import NetworkParts, TablePart, VariablePart
from credo.data.network_file.xmlbif import read_xmlbif, xmlbif_text

# The example of the format's own description.
DOG = b"""<?xml version="1.0" encoding="US-ASCII"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<BIF VERSION="0.3"><NETWORK><NAME>Dog_Problem</NAME>
<VARIABLE TYPE="nature">
  <NAME>light-on</NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME>
  <PROPERTY>position = (73, 165)</PROPERTY></VARIABLE>
<VARIABLE TYPE="nature">
  <NAME>family-out</NAME><OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME></VARIABLE>
<DEFINITION><FOR>light-on</FOR><GIVEN>family-out</GIVEN>
  <TABLE>0.6 0.4 <!-- family is out -->
         0.05 0.95</TABLE></DEFINITION>
<DEFINITION><FOR>family-out</FOR><TABLE>0.15 0.85</TABLE></DEFINITION>
</NETWORK></BIF>
"""


def test_the_published_example_is_read():
    parts = read_xmlbif(DOG)
    assert [(v.name, v.states) for v in parts.variables] == [
        ("light-on", ("true", "false")),
        ("family-out", ("true", "false")),
    ]
    assert parts.tables[0].parents == ("family-out",)
    assert parts.tables[0].values.tolist() == [[0.6, 0.4], [0.05, 0.95]]
    assert parts.tables[1].values.tolist() == [0.15, 0.85]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"OUTCOME>", b"VALUE>"),
        (b"DEFINITION>", b"PROBABILITY>"),
        (b"NAME>", b"name>"),
        (b' TYPE="nature"', b""),
        (b"0.6 0.4 <", b"0.6 0.05 <"),
    ],
)
def test_dialects_are_the_same_network(old, new):
    text = DOG.replace(old, new)
    if b"0.6 0.05" in new:
        text = text.replace(b"0.05 0.95", b"0.4 0.95")
    for left, right in zip(read_xmlbif(text).tables, read_xmlbif(DOG).tables, strict=True):
        assert (left.child, left.parents) == (right.child, right.parents)
        np.testing.assert_array_equal(left.values, right.values)


def test_states_with_bare_signs_are_read_as_they_were_meant():
    text = DOG.replace(b"<OUTCOME>true<", b"<OUTCOME><5 & more<")
    assert read_xmlbif(text).variables[0].states == ("<5 & more", "false")


def test_the_first_parent_is_slowest():
    text = DOG.replace(b"<GIVEN>", b"<GIVEN>third</GIVEN><GIVEN>")
    text = text.replace(
        b"</NETWORK>",
        b"<VARIABLE><NAME>third</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME>"
        b"<OUTCOME>c</OUTCOME></VARIABLE>"
        b"<DEFINITION><FOR>third</FOR><TABLE>.2 .3 .5</TABLE></DEFINITION></NETWORK>",
    ).replace(b"0.05 0.95<", b"0.05 0.95 .1 .9 .2 .8 .3 .7 .11 .89<")
    table = read_xmlbif(text).tables[0]
    assert table.parents == ("third", "family-out")
    assert table.values[2].tolist() == [[0.3, 0.7], [0.11, 0.89]]
    assert table.values[:, 1, 0].tolist() == [0.05, 0.2, 0.11]


# XML has no control characters, and ends of names are taken as layout.
names = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Cn"), min_codepoint=32), max_size=8
).map(str.strip)


@given(st.lists(names, min_size=2, max_size=4, unique=True), st.floats(0, 1))
def test_names_and_digits_come_back(states, p):
    parts = NetworkParts(
        (VariablePart(states[0], tuple(states)),),
        (TablePart(states[0], (), np.array([p, *[0.1] * (len(states) - 1)])),),
    )
    back = read_xmlbif(xmlbif_text(parts).encode())
    assert (back.variables[0].name, back.variables[0].states) == (states[0], tuple(states))
    np.testing.assert_array_equal(back.tables[0].values, parts.tables[0].values)


@pytest.mark.parametrize("state", [" yes", "yes ", "\tyes", "a\rb", "a\x01b", "\ud800"])
def test_text_that_xml_readers_would_change_is_refused(state):
    table = TablePart("a", (), np.array([0.5, 0.5]))
    with pytest.raises(NetworkFileError, match=r"names and states must .* as \.bif or \.json"):
        xmlbif_text(NetworkParts((VariablePart("a", (state, "no")),), (table,)))
    named = (VariablePart(state, ("yes", "no")),)
    table = TablePart(state, (), np.array([0.5, 0.5]))
    with pytest.raises(NetworkFileError, match="names and states must"):
        xmlbif_text(NetworkParts(named, (table,)))


def test_alarm_comes_back_with_every_digit():
    parts = parts_of_network(load_example_network("alarm"))
    back = read_xmlbif(xmlbif_text(parts).encode())
    assert [(v.name, v.states) for v in back.variables] == [
        (v.name, v.states) for v in parts.variables
    ]
    for left, right in zip(back.tables, parts.tables, strict=True):
        assert (left.child, left.parents) == (right.child, right.parents)
        np.testing.assert_array_equal(left.values, right.values)


def test_a_document_cut_anywhere_is_an_error():
    whole = DOG.rstrip()
    for end in range(1, len(whole), 7):
        with pytest.raises(NetworkFileError, match=r"^line \d+: .* found .* while reading"):
            read_xmlbif(whole[:end])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"0.15 0.85", b"0.15", r"line 12: .*'family-out' must have 2 entries; found 1"),
        (b"0.15 0.85", b"0.15 -0.85", r"line 12: .* not negative; found -0.85"),
        (b"<FOR>family-out", b"<FOR>familyout", r"line 12: .*'familyout'\..*'family-out'\?"),
        (b"<NAME>family-out", b"<NAME>light-on", r"line 7: .*'light-on' again \(.* line 4"),
        (b"<OUTCOME>true</OUTCOME><OUTCOME>false</OUTCOME></V", b"</V", r"line 7: .* states"),
        (b'"nature">\n  <NAME>f', b'"utility">\n  <NAME>f', r"line 7: .* found utility"),
        (b"<!ELEMENT", b'<!ENTITY a "b"><!ELEMENT', r"must not define entities"),
        (b"</NETWORK>", b"", r"line 13: .* mismatched tag"),
    ],
)
def test_what_no_network_can_be_is_refused_with_its_line(old, new, message):
    with pytest.raises(NetworkFileError, match=message):
        read_xmlbif(DOG.replace(old, new))


@pytest.mark.parametrize("encoding", ["UTF-99", "rot13", "zlib", "utf-7"])
def test_encodings_that_xml_readers_do_not_know_are_refused(encoding):
    with pytest.raises(NetworkFileError, match="must be in an encoding that XML readers know"):
        read_xmlbif(f'<?xml version="1.0" encoding="{encoding}"?><BIF/>'.encode())
