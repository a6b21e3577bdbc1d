import gzip
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.data import NetworkFileError, load_network
from credo.data.network_file.bif import bif_text, read_bif, shielded
from credo.data.network_file.network_part import NetworkParts, TablePart, VariablePart
from naive import published_file, published_networks

FOLDER = published_networks()
NAMES = sorted(path.name.removesuffix(".bif.gz") for path in FOLDER.glob("*.bif.gz"))

TWO = """network x { }
variable a { type discrete [ 2 ] { t, f }; }
variable b { type discrete [ 3 ] { low, mid, high }; }
probability ( a ) { table 0.2, 0.8; }
"""


def text_of(name):
    return gzip.decompress(published_file(f"{name}.bif.gz").read_bytes()).decode()


def table_of(parts, child):
    return next(table for table in parts.tables if table.child == child)


def same(left, right):
    return (
        [(v.name, v.states) for v in left.variables]
        == [(v.name, v.states) for v in right.variables]
        and [(t.child, t.parents) for t in left.tables]
        == [(t.child, t.parents) for t in right.tables]
        and all(
            np.array_equal(a.values, b.values)
            for a, b in zip(left.tables, right.tables, strict=True)
        )
    )


@pytest.mark.comparison
def test_all_24_published_networks_are_there():
    published_file("asia.bif.gz")
    assert len(NAMES) == 24


# Numbers of nodes, arcs and entries as published with the repository of networks.
SIZES = {
    "asia": (8, 8, 36),
    "alarm": (37, 46, 752),
    "win95pts": (76, 112, 1148),
    "hepar2": (70, 123, 2139),
    "hailfinder": (56, 66, 3741),
    "insurance": (27, 52, 1419),
    "andes": (223, 338, 2314),
    "pigs": (441, 592, 8427),
    "water": (32, 66, 13484),
    "link": (724, 1125, 20502),
    "munin1": (186, 273, 19226),
}


@pytest.mark.comparison
@pytest.mark.parametrize("name", SIZES)
def test_published_networks_have_their_published_sizes(name):
    parts = read_bif(text_of(name))
    n_arcs = sum(len(table.parents) for table in parts.tables)
    n_entries = sum(table.values.size for table in parts.tables)
    assert (len(parts.variables), n_arcs, n_entries) == SIZES[name]


@pytest.mark.comparison
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_published_networks_sum_to_one_up_to_their_rounding(name):
    for table in read_bif(text_of(name)).tables:
        assert np.abs(table.values.sum(axis=-1) - 1).max() < 4e-7


@pytest.mark.comparison
@pytest.mark.parametrize("name", ["child", "sachs", "insurance", "munin1", "mildew"])
def test_writing_keeps_orders_and_every_digit(name):
    parts = read_bif(text_of(name))
    assert same(parts, read_bif(bif_text(parts)))


@pytest.mark.comparison
def test_states_of_child_keep_their_odd_characters():
    states = {v.name: v.states for v in read_bif(text_of("child")).variables}
    assert states["ChestXray"][-1] == "Asy/Patch"
    assert states["CO2Report"] == ("<7.5", ">=7.5")
    assert states["CardiacMixing"][-1] == "Transp."
    assert states["LowerBodyO2"] == ("<5", "5-12", "12+")


ROWS = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])


@pytest.mark.parametrize(
    "body",
    [
        "( t ) 0.1, 0.2, 0.7; ( f ) 0.3, 0.3, 0.4;",
        "(f) 0.3 0.3 0.4;\n (t) 0.1 0.2 0.7;",
        "table 0.1 0.3 0.2 0.3 0.7 0.4;",
        "property note = 5 ; table 0.1, 0.3, 0.2, 0.3, 0.7, 0.4 ;",
        "default 0.1 0.2 0.7; (f) 3e-1 .3 4.0E-1;",
        "(f) 0.3, 0.3, 0.4; default 0.1, 0.2, 0.7; // the rest",
        "TABLE 0.1 0.3 0.2 0.3 0.7 0.4;",
        "(t) 0.1 0.2 0.7 /* low mid high */; (f) 0.3 0.3 0.4",
    ],
)
@pytest.mark.parametrize("head", ["( b | a )", "(b|a)", "( b a )", "(b, a)", "( b|a, )"])
def test_every_dialect_of_a_table_is_the_same_table(head, body):
    parts = read_bif(f"{TWO}probability {head} {{ {body}\n}}")
    assert table_of(parts, "b").parents == ("a",)
    np.testing.assert_array_equal(table_of(parts, "b").values, ROWS)


def test_a_table_with_the_child_quickest_is_told_by_its_sums():
    parts = read_bif(TWO + "probability ( b | a ) { table 0.1 0.2 0.7 0.3 0.3 0.4; }")
    np.testing.assert_array_equal(table_of(parts, "b").values, ROWS)


def test_a_table_that_could_be_in_either_order_has_the_child_slowest():
    text = TWO.replace("[ 3 ] { low, mid, high }", "[ 2 ] { t, f }")
    parts = read_bif(text + "probability ( b | a ) { table 0.4 0.6 0.6 0.4; }")
    np.testing.assert_array_equal(table_of(parts, "b").values, [[0.4, 0.6], [0.6, 0.4]])
    parts = read_bif(text + "probability ( b | a ) { table 0.6 0.05 0.4 0.95; }")
    np.testing.assert_array_equal(table_of(parts, "b").values, [[0.6, 0.4], [0.05, 0.95]])


def test_the_dialect_of_javabayes_is_read():
    text = """// Bayesian network
    network "Dog-Problem" { //5 variables and 5 probability distributions
        property "credal-set constant-density-bounded 1.1" ; }
    variable  "light-on" { //2 values
        type discrete[2] {  "true"  "false" };
        property "position = (218, 195)" ; }
    variable  "family-out" { type discrete[2] { "true""false" }; }
    probability (  "light-on"  "family-out" ) { //2 variable(s) and 4 values
        table 0.6 0.05 0.4 0.95 ; }
    probability (  "family-out" ) { table 0.15 0.85 ; }"""
    parts = read_bif(text)
    assert parts.variables[1].states == ("true", "false")
    assert table_of(parts, "light-on").parents == ("family-out",)
    assert table_of(parts, "light-on").values.tolist() == [[0.6, 0.4], [0.05, 0.95]]


def test_quotes_protect_what_has_a_meaning():
    text = """variable "a; b" { type discrete [ 2 ] { "x, y", "} //" }; }
    variable c { type discrete [ 2 ] { "(1|2)", " " }; }
    probability ( "a; b" ) { table 0.25 0.75; }
    probability ( c | "a; b" ) { ("x, y") 0.5 0.5; ("} //") 0.125 0.875; }"""
    parts = read_bif(text)
    assert parts.variables[0] == VariablePart("a; b", ("x, y", "} //"), 1)
    assert parts.variables[1].states == ("(1|2)", " ")
    assert table_of(parts, "c").values.tolist() == [[0.5, 0.5], [0.125, 0.875]]


def test_private_characters_stay_what_they_are():
    for name in ("\ue000", "a\ue01eb", "\ue0ff", "\ue020 x"):
        states = (name, "no")
        table = TablePart(name, (), np.array([0.25, 0.75]))
        back = read_bif(bif_text(NetworkParts((VariablePart(name, states),), (table,))))
        assert (back.variables[0].name, back.variables[0].states) == (name, states)


def test_intervals_and_blanks_in_states_are_read_without_quotes():
    text = """variable a { type discrete [ 2 ] { [0,5), [5,9] }; }
    variable b { type discrete [ 2 ] { very low, high }; }
    probability ( a ) { table 0.25 0.75; }
    probability ( b | a ) { ([5,9]) 0.5 0.5; ([0,5)) 0.1 0.9; }"""
    parts = read_bif(text)
    assert parts.variables[0].states == ("[0,5)", "[5,9]")
    assert parts.variables[1].states == ("very low", "high")
    assert table_of(parts, "b").values.tolist() == [[0.1, 0.9], [0.5, 0.5]]


def test_tables_may_come_before_variables():
    text = "probability ( a ) { table 0.25 0.75; } variable a { type discrete { x, y }; }"
    assert read_bif(text).tables[0].values.tolist() == [0.25, 0.75]


words = st.text(
    st.characters(blacklist_categories=("Cs", "Co"), blacklist_characters="\r"), max_size=8
)


@given(st.lists(words, min_size=2, max_size=2, unique=True), st.data())
def test_any_names_and_numbers_come_back(names, data):
    states = [
        tuple(data.draw(st.lists(words, min_size=2, max_size=3, unique=True))) for _ in names
    ]
    chance = st.floats(0, 1, allow_subnormal=True)
    p = np.array([[data.draw(chance) for _ in states[0]]])[0]
    q = np.array([data.draw(chance) for _ in product(*states)]).reshape(len(states[0]), -1)
    parts = NetworkParts(
        tuple(map(VariablePart, names, states)),
        (TablePart(names[0], (), p), TablePart(names[1], (names[0],), q)),
    )
    assert same(parts, read_bif(bif_text(parts)))


@pytest.mark.comparison
@pytest.mark.parametrize("name", ["asia", "child"])
def test_a_file_cut_anywhere_is_an_error_that_names_a_line(name):
    text = text_of(name).rstrip()
    for end in range(40, len(text), 17):
        with pytest.raises(NetworkFileError, match=r"^line \d+: .*; found .*\. \S"):
            read_bif(text[:end])


@pytest.mark.comparison
def test_a_cut_file_says_what_was_being_read_and_where():
    text = text_of("asia")
    start = text.index("probability ( lung")
    line = text.count("\n", 0, start) + 1
    with pytest.raises(NetworkFileError) as caught:
        read_bif(text[: start + 40])
    assert str(caught.value) == (
        f"line {line}: a block must end in '}}'; found the end of the file while reading "
        "'probability ( lung | smoke )'. The file is cut: copy it again."
    )


B = "probability ( b | a ) {\n (t) 0.1 0.2 0.7;\n (f) 0.3 0.3 0.4;\n}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWO + B.replace("0.3 0.4", "0.4"), r"line 7: a row of 'b' must have 3 .* found 2"),
        (TWO + B.replace("(f)", "(F)"), r"line 7: .* of 'a', .*'t', 'f'.* found 'F'.*'f'\?"),
        (TWO + B.replace("(f)", "(f, f)"), r"line 7: .* one state for each of its 1 parents"),
        (TWO + B.replace("(f)", "(t)"), r"line 7: .* each row once; found \(t\) twice"),
        (TWO + B.replace("0.7", "-0.7"), r"line 6: .* not negative; found -0.7\."),
        (TWO + B.replace("0.7", "nan"), r"line 6: .* not negative; found nan\."),
        (TWO + B.replace("0.7", "O.7"), r"line 6: .* numbers; found 'O.7'\."),
        (TWO + B.replace(" (f) 0.3 0.3 0.4;\n", ""), r"line 5: .* 2 rows; found 1.* a = f"),
        (TWO + B.replace("| a", "| aa"), r"line 5: .* declared variables; found 'aa'.*'a'\?"),
        (TWO + B.replace("| a", "| a, a"), r"line 5: .* each variable once; found 'a' twice"),
        (TWO + B + B, r"line 8: 'b' must have one table; .* first is at line 5"),
        (TWO, r"line 3: every variable must have a table; found none for 'b'"),
        (TWO + TWO.splitlines()[1], r"line 5: .* declared once; found 'a' again \(.* line 2"),
        (TWO.replace("{ t, f }", "{ t, t }"), r"line 2: .* distinct; found 't' twice"),
        (TWO.replace("{ t, f }", "{ t }"), r"line 2: .* announces, 2; found 1\."),
        (TWO.replace("[ 2 ] { t, f }", "{ }"), r"line 2: .* list its states; found none"),
        (TWO.replace("type discrete [ 2 ] { t, f };", ""), r"line 2: .* found no states"),
        (TWO.replace("discrete [ 2 ]", "real"), r"line 2: .* discrete .* found type real"),
        (TWO.replace("0.2, 0.8", "0.2, 0.7, 0.1"), r"line 4: .* 2 entries; found 3\."),
        (TWO.replace("table 0.2", "tabel 0.2"), r"line 4: .*; found 'tabel'\..*'table'\?"),
        (TWO.replace("( a )", "a"), r"line 4: .* in parentheses; found 'a'"),
        (TWO.replace("variable b", "varible b"), r"line 3: .* found 'varible'.*'variable'\?"),
        (TWO + B[:-1] + TWO[14:], r"line 5: a block must end in '}'"),
        ("<html> no network </html>", r"line 1: a block must be one of .* found '<html>'"),
        ("a" * 100_000, r"line 1: a block must be one of .* found 'a{40}'"),
        (TWO + "/* " * 10_000, r"line 3: every variable must have a table"),
        ("network x { }", r"^the file must declare variables; found none"),
    ],
)
def test_what_no_network_can_be_is_refused_with_its_line(text, message):
    with pytest.raises(NetworkFileError, match=message):
        read_bif(text)


def test_tables_that_defaults_make_too_large_together_are_refused_before_they_are_made():
    names = [f"v{i}" for i in range(30)]
    lines = [f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}" for name in names]
    lines += [f"probability ( {name} ) {{ table 0.5, 0.5; }}" for name in names[:26]]
    above = ", ".join(names[:26])
    lines += [f"probability ( {name} | {above} ) {{ default 1, 0; }}" for name in names[26:]]
    with pytest.raises(
        NetworkFileError, match="at most 268,435,456 entries in all; found 536,"
    ):
        read_bif("\n".join(lines))


@pytest.mark.parametrize("piece", ['"\\', '"', "/*", "//", '\\"', "type a ", "[a,", "(", "{ "])
def test_hostile_text_is_read_in_time_that_grows_with_its_length(piece, tmp_path):
    text = "network unknown { }\nvariable a { type discrete [ 2 ] { " + piece * 100_000
    path = tmp_path / "hostile.bif"
    path.write_text(text + " " * 100_000)
    with pytest.raises(NetworkFileError):
        load_network(path)


def test_a_quote_that_is_never_closed_hides_no_comment():
    assert shielded('a "b // c\nd').split() == ["a", '"b', "d"]
