import gzip
import os

import numpy as np
import pytest

from credo.data import (
    NETWORK_EXTENSIONS,
    NetworkFileError,
    OutputError,
    load_example_network,
    load_network,
    save_network,
)
from credo.graphs.factor import Factor
from credo.graphs.node.conditional_table import RoundedTableWarning
from credo.graphs.node.linear_gaussian import LinearGaussian
from credo.graphs.node.noisy import NoisyOr
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

TEXT_FORMATS = [".bif", ".xmlbif", ".bifxml", ".xml"]
A = "variable a { type discrete [ 2 ] { t, f }; }\n"
B = "variable b { type discrete [ 2 ] { t, f }; }\n"


def odd_network():
    rng = np.random.default_rng(0)
    states = {
        "a b": ("<5", ">=5", "5-12"),
        "x|y": ("Asy/Patch", "no, none", 'say "hi"', "it's; {so}"),
        "émile": ("(low]", "a\\b"),
        "n.o-1": ("1", "01", "1.0", "yes no"),
    }
    parents = {"a b": [], "x|y": ["a b"], "émile": ["x|y", "a b"], "n.o-1": ["émile", "a b"]}
    tables = {
        name: rng.dirichlet(
            np.ones(len(states[name])), size=tuple(len(states[p]) for p in parents[name])
        )
        for name in states
    }
    return BayesianNetwork(parents, tables, states)


def assert_same(left, right):
    assert list(left.variables) == list(right.variables)
    assert left.variables == right.variables
    for name, conditional in left.conditionals.items():
        assert right.conditionals[name].parents == conditional.parents
        np.testing.assert_array_equal(
            right.conditionals[name].probability, conditional.probability
        )


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("extension", [*TEXT_FORMATS, ".json"])
def test_odd_names_orders_and_digits_survive_every_format(extension, packed, tmp_path):
    path, net = tmp_path / f"odd.v1{extension}{packed}", odd_network()
    save_network(net, path)
    assert_same(net, load_network(path))
    assert os.listdir(tmp_path) == [path.name]
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(packed)


@pytest.mark.parametrize("extension", NETWORK_EXTENSIONS)
def test_writing_twice_gives_the_same_bytes(extension, tmp_path):
    first, second = tmp_path / f"a{extension}.gz", tmp_path / f"b{extension}.gz"
    save_network(odd_network(), first)
    save_network(load_network(first), second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("extension", TEXT_FORMATS)
def test_states_stay_text_in_text_formats(extension, tmp_path):
    net = BayesianNetwork("a -> b", {"a": [0.25, 0.75], "b": [[0.5, 0.5], [0.1, 0.9]]})
    save_network(net, tmp_path / f"x{extension}")
    assert load_network(tmp_path / f"x{extension}").variables["b"].states == ("False", "True")


@pytest.mark.parametrize("extension", [".bif", ".xml", ".uai"])
def test_compact_nodes_are_written_as_whole_tables(extension, tmp_path):
    node = NoisyOr({"a": 0.5, "b": 0.25}, leak=0.125)
    net = BayesianNetwork("a, b -> c", {"a": [0.5, 0.5], "b": [0.25, 0.75], "c": node})
    save_network(net, tmp_path / f"x{extension}")
    found = list(load_network(tmp_path / f"x{extension}").conditionals.values())[2]
    expected = 1 - 0.875 * np.outer([1, 0.5], [1, 0.75])
    np.testing.assert_allclose(found.probability[..., 1], expected, rtol=1e-15)


@pytest.mark.parametrize("extension", TEXT_FORMATS)
def test_what_a_text_format_cannot_hold_is_refused_before_writing(extension, tmp_path):
    path = tmp_path / f"x{extension}"
    real = BayesianNetwork({"a": []}, {"a": LinearGaussian()})
    field = MarkovRandomField([Factor([Variable("a", (0, 1))], [1.0, 2.0])])
    twins = BayesianNetwork({"a": []}, {"a": [0.5, 0.5]}, {"a": (1, "1")})
    bare = BayesianNetwork("a -> b")
    for net, message in [
        (real, r"must be given tables; found that 'a' is a GaussianNode\. .*\.json"),
        (field, r"BayesianNetwork; found a MarkovRandomField\. Save it as \.uai or \.json"),
        (twins, r"states of 'a' must be distinct; found '1' twice"),
        (bare, r"tables; found a network that knows its structure only"),
    ]:
        with pytest.raises(NetworkFileError, match=rf"^{path.name}: .*{message}"):
            save_network(net, path)
    assert os.listdir(tmp_path) == []


def test_an_unknown_extension_names_the_known_ones(tmp_path):
    for use in (load_network, lambda path: save_network(odd_network(), path)):
        with pytest.raises(NetworkFileError, match=r"\.bif, .*\.uai, \.json .*found '\.biff'"):
            use(tmp_path / "x.biff")
        with pytest.raises(NetworkFileError, match="found 'no extension'"):
            use(tmp_path / "x")


@pytest.mark.parametrize("extension", NETWORK_EXTENSIONS)
def test_only_networks_are_written(extension, tmp_path):
    with pytest.raises(TypeError, match=r"BayesianNetwork, .*; found dict\."):
        save_network({"a": [0.5, 0.5]}, tmp_path / f"x{extension}")


@pytest.mark.parametrize("extension", NETWORK_EXTENSIONS)
def test_an_empty_file_says_so(extension, tmp_path):
    path = tmp_path / f"x{extension}"
    path.write_bytes(b" \n")
    with pytest.raises(NetworkFileError, match=rf"^x{extension}: .*; found it empty\."):
        load_network(path)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(NetworkFileError, match=r"^none\.bif: the file must be there"):
        load_network(tmp_path / "none.bif")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(NetworkFileError, match=r"^folder\.bif: .* found a folder"):
        load_network(tmp_path / "folder.bif")
    with pytest.raises(OutputError, match=r"found no folder"):
        save_network(odd_network(), tmp_path / "no" / "x.bif")


@pytest.mark.parametrize(
    "content",
    [b"network x {", gzip.compress(b"network " * 50, mtime=0)[:-12]],
    ids=["plain", "cut"],
)
def test_a_compressed_file_that_is_cut_or_plain_says_so(content, tmp_path):
    path = tmp_path / "x.bif.gz"
    path.write_bytes(content)
    with pytest.raises(NetworkFileError, match=r"^x\.bif\.gz: .* whole and compressed by gzip"):
        load_network(path)


def test_old_encodings_and_byte_order_marks_are_read(tmp_path):
    path = tmp_path / "x.bif"
    text = A.replace("{ t,", "{ é,") + "probability ( a ) { table 0.5 0.5; }"
    for content in (text.encode("latin-1"), text.encode("utf-8-sig"), text.encode()):
        path.write_bytes(content)
        assert load_network(path).variables["a"].states == ("é", "f")


def test_a_cycle_is_shown_with_the_file(tmp_path):
    path = tmp_path / "x.bif"
    row = "{ (t) 0.1 0.9; (f) 0.2 0.8; }\n"
    path.write_text(f"{A}{B}probability ( a | b ) {row}probability ( b | a ) {row}")
    with pytest.raises(
        NetworkFileError, match=r"^x\.bif: line [34]: .*no cycle; found"
    ) as caught:
        load_network(path)
    assert "a -> b -> a" in str(caught.value) or "b -> a -> b" in str(caught.value)


def test_rows_that_do_not_sum_to_one_name_line_and_setting(tmp_path):
    path = tmp_path / "x.bif"
    text = A + B + "probability ( a ) { table 0.5 0.5; }\nprobability ( b | a ) { %s }"
    path.write_text(text % "(t) 0.1 0.9; (f) 0.2 0.7;")
    with pytest.raises(NetworkFileError, match=r"^x\.bif: line 4: .* found 0\.9 given a='f'"):
        load_network(path)
    path.write_text(text % "(t) 0.1 0.9; (f) 0.333 0.666;")
    with pytest.warns(RoundedTableWarning, match=r"of b must sum to one; found 0\.999 given"):
        net = load_network(path)
    np.testing.assert_allclose(net.conditionals["b"].probability[1], [1 / 3, 2 / 3])


def test_tiny_rounding_is_repaired_in_silence_and_then_stays(tmp_path):
    path = tmp_path / "x.bif"
    path.write_text(A + "probability ( a ) { table 0.3333333, 0.6666664; }")
    net = load_network(path)
    assert net.conditionals["a"].probability.sum() == pytest.approx(1, abs=1e-15)
    save_network(net, path)
    assert_same(net, load_network(path))


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.bif"
    save_network(load_example_network("asia"), path)
    before = path.read_bytes()
    with pytest.raises(NetworkFileError):
        save_network(BayesianNetwork({"a": []}, {"a": LinearGaussian()}), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("x"), OverflowError("x"), MemoryError(), RecursionError("x")]
)
def test_whatever_a_reader_raises_is_told_as_a_network_file_error(error, tmp_path, monkeypatch):
    def fail(text):
        raise error

    monkeypatch.setattr("credo.data.network_file.bif.read_bif", fail)
    (tmp_path / "x.bif").write_text("network x { }")
    with pytest.raises(NetworkFileError, match=rf"^x\.bif: .*{type(error).__name__}"):
        load_network(tmp_path / "x.bif")


def test_a_packed_network_is_unpacked_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("credo.data.network_file.network_content.LARGEST_CONTENT", 1000)
    (tmp_path / "x.bif.gz").write_bytes(gzip.compress(b" " * 1001))
    with pytest.raises(NetworkFileError, match="must unpack to at most 1,000 bytes"):
        load_network(tmp_path / "x.bif.gz")
