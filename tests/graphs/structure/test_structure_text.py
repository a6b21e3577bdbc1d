import pytest

from credo.graphs.structure.structure_text import parse_structure


def test_groups_on_both_sides_of_an_arrow_are_joined_pair_by_pair():
    parents, states = parse_structure("cloud -> sprinkler, rain; sprinkler, rain -> wet")
    assert parents == {
        "cloud": (),
        "sprinkler": ("cloud",),
        "rain": ("cloud",),
        "wet": ("sprinkler", "rain"),
    }
    assert list(parents) == ["cloud", "sprinkler", "rain", "wet"]
    assert states == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a -> b -> c", {"a": (), "b": ("a",), "c": ("b",)}),
        ("a <- b", {"a": ("b",), "b": ()}),
        ("a -> b <- c", {"a": (), "b": ("a", "c"), "c": ()}),
        ("a->b<-c", {"a": (), "b": ("a", "c"), "c": ()}),
        ("a, b -> c, d", {"a": (), "b": (), "c": ("a", "b"), "d": ("a", "b")}),
        ("d", {"d": ()}),
        ("a; b -> a\n\n c -> a;", {"a": ("b", "c"), "b": (), "c": ()}),
        ("a -> b; a -> b", {"a": (), "b": ("a",)}),
        ("chest pain -> X-ray_2", {"chest pain": (), "X-ray_2": ("chest pain",)}),
        ("", {}),
    ],
)
def test_each_form_gives_these_parents(text, expected):
    assert parse_structure(text)[0] == expected


def test_states_stay_text_and_may_hold_what_divides_names():
    parents, states = parse_structure("a{0|1} -> b{x, y|z; w|->}; a -> c")
    assert states == {"a": ("0", "1"), "b": ("x, y", "z; w", "->")}
    assert parents == {"a": (), "b": ("a",), "c": ("a",)}


@pytest.mark.parametrize(
    "text",
    [
        "a -> ",
        "-> b",
        "a -> , b",
        "a, , b -> c",
        "a - b",
        "a --> b",
        "a => b",
        "a <-> b",
        "a{x",
    ],
)
def test_what_is_no_name_is_shown_with_a_way_to_write_it(text):
    with pytest.raises(ValueError, match=r"where a name should be.*Write for example"):
        parse_structure(text)


@pytest.mark.parametrize("text", ["a{x|x}", "a{x||y}", "a{}"])
def test_states_must_be_distinct_words(text):
    with pytest.raises(ValueError, match="states of a must be distinct words"):
        parse_structure(text)


def test_states_given_twice_must_agree():
    assert parse_structure("a{x|y} -> b; a{x|y} -> c")[1] == {"a": ("x", "y")}
    with pytest.raises(ValueError, match="given once"):
        parse_structure("a{x|y} -> b; a{y|x} -> c")


@pytest.mark.parametrize(
    "text", ["a -> b, a -> c", "x -> y; a -> b, c -> d, a -> e", "b <- a, c <- b"]
)
def test_commas_between_statements_are_told_from_cycles(text):
    with pytest.raises(ValueError, match=r"name each node once.*Divide statements by semi"):
        parse_structure(text)


@pytest.mark.parametrize("text", ["a -> b, c -> d", "a -> b, c <- a", "a -> b <- a", "a -> a"])
def test_what_may_be_meant_is_left_alone(text):
    assert set(parse_structure(text)[0]) == set(text) - set(" ,-<>")


def test_long_structures_are_read_in_time_that_grows_with_their_length():
    n = 20_000
    parents, _ = parse_structure("; ".join(f"a{i} -> b{i}" for i in range(n)))
    assert len(parents) == 2 * n
    parents, _ = parse_structure(", ".join(f"a{i}" for i in range(n)) + " -> b")
    assert len(parents["b"]) == n
    with pytest.raises(ValueError, match="where a name should be"):
        parse_structure("a" + " " * 200_000 + "<")
