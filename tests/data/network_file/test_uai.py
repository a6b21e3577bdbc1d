import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from credo.data import (
    NetworkFileError,
    load_example_network,
    load_network,
    load_uai_findings,
    save_network,
)
from credo.data.network_file.uai import read_uai, read_uai_findings
from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

FOLDER = Path(__file__).with_name("uai")
_LINES = (FOLDER / "index.csv").read_text().splitlines()
INDEX = {row["name"]: row for row in csv.DictReader(_LINES)}

# The example of the format's description.
EXAMPLE = """MARKOV
3
2 2 3
2
2 0 1
2 1 2

4
 4.000 2.400
 1.000 0.000

6
 2.2500 3.2500 3.7500
 0.0000 0.0000 10.0000
"""


def test_the_last_variable_of_a_scope_is_quickest():
    first, second = read_uai(EXAMPLE).tables
    assert first.values.tolist() == [[4.0, 2.4], [1.0, 0.0]]
    assert second.scope == ("1", "2")
    assert second.values.tolist() == [[2.25, 3.25, 3.75], [0.0, 0.0, 10.0]]


@pytest.mark.parametrize("name", INDEX)
def test_instances_of_the_competition_have_their_published_sizes(name):
    net = load_network(FOLDER / f"{name}.uai.gz")
    row = INDEX[name]
    assert isinstance(net, MarkovRandomField)
    assert len(net.variables) == int(row["n_vars"])
    assert len(net.factors) == int(row["n_factors"])
    assert max(v.n_states for v in net.variables.values()) == int(row["max_card"])
    assert [v.states[:2] for v in net.variables.values()] == [(0, 1)] * len(net.variables)
    (case,) = load_uai_findings(FOLDER / f"{name}.uai.evid")
    assert len(case) == int(row["n_evidence"])


@pytest.mark.parametrize("name", INDEX)
def test_reference_assignments_have_their_known_value(name):
    # A transposed table would give another value: this checks the order of axes.
    net = load_network(FOLDER / f"{name}.uai.gz")
    words = (FOLDER / f"{name}.uai.MAP").read_text().split()
    states = dict(zip(net.variables, map(int, words[2:]), strict=True))
    total = 0.0
    for factor in net.factors:
        cell = tuple(v.index(states[v.name]) for v in factor.variables)
        total += factor.log_table()[cell] / np.log(10)
    expected = float(INDEX[name]["MAP_log10_of_reference_assignment"])
    assert total == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["Pedigree_11", "DBN_11"])
def test_fields_come_back_from_a_file(name, tmp_path):
    net = load_network(FOLDER / f"{name}.uai.gz")
    save_network(net, tmp_path / "x.uai")
    back = load_network(tmp_path / "x.uai")
    assert list(back.variables) == list(net.variables)
    for left, right in zip(back.factors, net.factors, strict=True):
        assert left.variables == right.variables
        np.testing.assert_allclose(left.table(), right.table(), rtol=1e-15)


def test_a_bayesian_network_comes_back_with_every_digit(tmp_path):
    net = load_example_network("alarm")
    save_network(net, tmp_path / "alarm.uai")
    back = load_network(tmp_path / "alarm.uai")
    assert isinstance(back, BayesianNetwork)
    place = {name: str(i) for i, name in enumerate(net.variables)}
    for name, conditional in net.conditionals.items():
        found = back.conditionals[place[name]]
        assert back.graph.parents(place[name]) == tuple(
            place[p.name] for p in conditional.parents
        )
        assert found.child.states == tuple(range(conditional.child.n_states))
        np.testing.assert_array_equal(found.probability, conditional.probability)


def test_tables_with_the_first_variable_quickest_are_told_by_their_sums():
    spec = "BAYES 3 2 2 3 3 1 0 1 1 3 0 1 2 2 .1 .9 2 .2 .8 12 {}"
    table = np.random.default_rng(0).dirichlet([1, 1, 1], size=(2, 2))
    for order in (table, table.T):
        numbers = " ".join(map(repr, order.ravel().tolist()))
        np.testing.assert_array_equal(read_uai(spec.format(numbers)).tables[2].values, table)


def test_comments_and_constants_and_idle_variables_are_read(tmp_path):
    path = tmp_path / "x.uai"
    path.write_text("MARKOV\n2\n2 3 # sizes\n2\n1 0 # a\n0\n2 0.5 0.25 # a\n1 7.0\n")
    net = load_network(path)
    assert [v.n_states for v in net.variables.values()] == [2, 3]
    assert net.factors[0].table().tolist() == [0.5, 0.25]
    assert net.factors[1].table().item() == pytest.approx(7.0)
    save_network(net, path)
    assert list(load_network(path).variables) == ["0", "1"]


def test_numbers_beyond_doubles_are_refused_before_writing(tmp_path):
    net = MarkovRandomField([Factor([Variable("a", (0, 1))], [1.0, 0.5], 1000.0)])
    with pytest.raises(NetworkFileError, match=r"below 1e308 .* exp\(1000\)\. .*\.json"):
        save_network(net, tmp_path / "x.uai")
    assert not (tmp_path / "x.uai").exists()


def test_a_text_cut_between_words_is_an_error():
    words = EXAMPLE.split()
    for n in range(1, len(words)):
        with pytest.raises(NetworkFileError, match=r"line 1: the file must go on with .* cut"):
            read_uai(" ".join(words[:n]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MARKOV", "MARKOW", r"line 1: .* MARKOV or BAYES; found 'MARKOW'"),
        ("2 2 3", "2 2 0", r"variable '2' must list its states; found none"),
        ("2 2 3", "2 x 3", r"line 3: .* whole numbers; found 'x'"),
        ("2 1 2", "2 1 7", r"line 6: .* declared variables; found '7'"),
        ("2 1 2", "2 1 1", r"line 6: .* once; found '1' twice"),
        ("\n4\n", "\n6\n", r"line 8: table 0 must have 4 entries, .*; found 6 announced"),
        ("2.400", "-2.400", r"line 8: table 0 .* not negative; found -2.400"),
        ("10.0000", "1O.0000", r"line 12: table 1 must hold numbers; found '1O.0000'"),
        ("10.0000", "10.0000 5", r"line 14: .* end after its 2 tables; found '5'"),
    ],
)
def test_what_no_network_can_be_is_refused_with_its_line(old, new, message):
    with pytest.raises(NetworkFileError, match=message):
        read_uai(EXAMPLE.replace(old, new))


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        ("", [{}]),
        ("0", [{}]),
        ("2 1 0 5 2", [{"1": 0, "5": 2}]),
        ("1\n2 1 0 5 2\n", [{"1": 0, "5": 2}]),
        ("2\n1 3 1\n2 1 0 5 2", [{"3": 1}, {"1": 0, "5": 2}]),
        ("1\n0\n", [{}]),
    ],
)
def test_findings_are_read_in_both_dialects(text, cases):
    assert read_uai_findings(text) == cases


@pytest.mark.parametrize("text", ["2 1 0 5", "3 1 0", "1 2 0 1 5", "1 0 1 4"])
def test_findings_that_do_not_add_up_are_refused(text):
    with pytest.raises(NetworkFileError, match=r"findings must be .* found \d words .* cut"):
        read_uai_findings(text)


def test_findings_name_their_file(tmp_path):
    path = tmp_path / "x.evid.gz"
    path.write_bytes(gzip.compress(b"1 0 yes"))
    with pytest.raises(NetworkFileError, match=r"^x\.evid\.gz: line 1: .* found 'yes'"):
        load_uai_findings(path)
    path.write_bytes(gzip.compress(b"1 0 1"))
    assert load_uai_findings(path) == [{"0": 1}]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("MARKOV 1 300000000 0", "at most 4,194,304 states in all; found 300,000,000"),
        ("MARKOV 3 2000000 2000000 2000000 0", "states in all; found 6,000,000"),
        (f"MARKOV 1 1{'0' * 30} 0", "whole numbers of at most 15 digits"),
        (f"MARKOV {'9' * 5000} 1 0", "whole numbers of at most 15 digits"),
    ],
)
def test_counts_that_no_memory_holds_are_refused_before_anything_is_made(text, part):
    with pytest.raises(NetworkFileError, match=part) as caught:
        read_uai(text)
    assert len(str(caught.value)) < 300


def test_tables_that_are_too_large_together_are_refused_before_they_are_read():
    scopes = " ".join("27 " + " ".join(map(str, range(27))) for _ in range(3))
    with pytest.raises(
        NetworkFileError, match="at most 268,435,456 entries in all; found 402,"
    ):
        read_uai(f"MARKOV 27 {'2 ' * 27} 3 {scopes}")


@pytest.mark.parametrize("text", ["99999999999 0", "100000 1 0", "3 0"])
def test_more_cases_announced_than_words_are_refused(text):
    with pytest.raises(NetworkFileError, match="findings must be a number of variables"):
        read_uai_findings(text)
