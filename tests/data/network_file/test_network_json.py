import json
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.data import NetworkFileError, load_example_network, load_network, save_network
from credo.data.network_file.network_json import json_text, node_classes, read_json
from credo.distributions import Gamma, Mixture, Normal, Poisson
from credo.graphs.factor import Factor
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.node.deterministic import Deterministic
from credo.graphs.node.distribution_node import DistributionNode
from credo.graphs.node.linear_gaussian import ConditionalLinearGaussian, LinearGaussian
from credo.graphs.node.noisy import NoisyMax, NoisyOr
from credo.graphs.node.threshold import ConditionalThreshold, Logit, Probit
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField

WRITTEN = Path(__file__).parent / "written" / "every_kind.json"
TWO_PEAKS = Mixture([0.3, 0.7], [Normal(0.0, 1.0), Normal(4.0, 0.5)])


def every_kind():
    """A network with every kind of node that a file can hold."""
    return BayesianNetwork(
        {
            "flu": [],
            "cold": [],
            "fever": ["flu", "cold"],
            "pain": ["flu"],
            "ill": ["cold", "flu", "fever"],
            "dose": [],
            "effect": ["dose"],
            "weight": ["flu", "dose", "cold"],
            "cured": ["effect"],
            "grade": ["effect", "weight"],
            "back": ["weight", "flu"],
            "delay": [],
        },
        cpts={
            "flu": [0.1, 0.9],
            "cold": [1 / 3, 2 / 3],
            "fever": NoisyOr({"flu": 0.8, "cold": 0.4}, leak=0.01),
            "pain": NoisyMax({"flu": [[1, 0, 0], [0.2, 0.5, 0.3]]}, leak=[0.9, 0.1, 0]),
            "ill": Deterministic("or"),
            "dose": LinearGaussian(1.5, {}, 0.3),
            "effect": LinearGaussian(0.1, {"dose": 2.0}, 0.5),
            "weight": ConditionalLinearGaussian(
                {
                    (a, b): LinearGaussian(a + 0.1, {"dose": b - 0.7}, 1 + a)
                    for a in (False, True)
                    for b in (False, True)
                }
            ),
            "cured": Probit(2.0, 0.7, below=True),
            "grade": Logit([-1.0, 0.5], 0.2, {"effect": 1.0, "weight": -0.5}),
            "delay": DistributionNode(Gamma(2.0, 1.5)),
            "back": ConditionalThreshold(
                {True: Logit(0.1, 2.0, below=True), False: Logit(0.3, 1.0, below=True)}
            ),
        },
        states={"pain": ("none", "some", "much"), "grade": ("c", "b", "a")},
    )


def columns(net, n=200):
    rng, values = np.random.default_rng(0), {}
    for name in net.graph.order():
        values[name] = net.conditionals[name].sample(values, n, rng)
    return values


def test_every_kind_of_node_comes_back_as_the_same_distribution():
    net = every_kind()
    back = read_json(json_text(net))
    assert back.variables == net.variables
    assert list(back.variables) == list(net.variables)
    values = columns(net)
    for name, conditional in net.conditionals.items():
        found = back.conditionals[name]
        assert type(found) is type(conditional)
        assert found.parents == conditional.parents
        np.testing.assert_array_equal(found.log_prob(values), conditional.log_prob(values))


def test_writing_what_was_read_gives_the_same_bytes():
    text = json_text(every_kind())
    assert json_text(read_json(text)) == text


def test_a_file_of_every_kind_written_by_an_earlier_version_comes_back_byte_by_byte():
    text = WRITTEN.read_text()
    net = read_json(text)
    assert json_text(net) == text
    values = columns(net)
    for name, conditional in every_kind().conditionals.items():
        found = net.conditionals[name]
        assert type(found) is type(conditional)
        if name != "flu":
            np.testing.assert_array_equal(found.log_prob(values), conditional.log_prob(values))
    assert net.conditionals["flu"].counts.tolist() == [4.0, 6.0]


def test_every_class_of_nodes_has_a_word_of_its_own():
    names = {kind: cls.__name__ for kind, cls in node_classes().items()}
    words = {
        "table": "ConditionalTable",
        "function": "FunctionOfParents",
        "fixed": "BoundDistribution",
        "gaussian": "GaussianNode",
        "noisy": "LargestEffect",
        "threshold": "ThresholdNode",
    }
    assert words.items() <= names.items()


@pytest.mark.parametrize(
    "states", [(0, 1), (0.0, 1.5), ("0", "1"), (True, False), ("x", 3), (2, 1.5, "1.5", None)]
)
def test_states_keep_their_types(states):
    net = BayesianNetwork(
        {"a": []}, {"a": np.full(len(states), 1 / len(states))}, {"a": states}
    )
    found = read_json(json_text(net)).variables["a"].states
    assert found == states
    assert [type(state) for state in found] == [type(state) for state in states]


def test_numpy_labels_become_plain_ones():
    net = BayesianNetwork({"a": []}, {"a": [0.5, 0.5]}, {"a": tuple(np.array([3, 4]))})
    assert [type(s) for s in read_json(json_text(net)).variables["a"].states] == [int, int]


def test_dirichlet_counts_come_back():
    a, b = Variable("a", ("x", "y")), Variable("b", (0, 1, 2))
    counts = np.random.default_rng(1).gamma(2.0, size=(2, 3))
    net = BayesianNetwork(
        {"a": [], "b": ["a"]},
        {
            "a": ConditionalTable(a, [], [0.1, 0.9]),
            "b": ConditionalTable.from_counts(b, [a], counts, 0.1),
        },
    )
    back = read_json(json_text(net)).conditionals
    np.testing.assert_array_equal(back["b"].counts, net.conditionals["b"].counts)
    np.testing.assert_array_equal(back["b"].probability, net.conditionals["b"].probability)
    assert back["a"].counts is None


def test_a_published_network_keeps_every_digit(tmp_path):
    net = load_example_network("alarm")
    save_network(net, tmp_path / "alarm.json.gz")
    back = load_network(tmp_path / "alarm.json.gz")
    for name, conditional in net.conditionals.items():
        assert back.conditionals[name].parents == conditional.parents
        np.testing.assert_array_equal(
            back.conditionals[name].probability, conditional.probability
        )


def test_a_network_of_structure_only_comes_back():
    net = BayesianNetwork("a{x|y|z} -> b; c")
    back = read_json(json_text(net))
    assert back.graph.edges == (("a", "b"),)
    assert back.variables == net.variables
    assert back.conditionals == {}


def test_a_field_keeps_its_scale_beyond_doubles():
    a, b = Variable("a", (0, 1)), Variable("b", ("u", "v"))
    factors = [Factor((b, a), [[0.3, 1.0], [0.1, 0.7]], 2000.0), Factor((), 2.0)]
    net = MarkovRandomField(factors, [a, b, Variable("idle", (1, 2))])
    back = read_json(json_text(net))
    assert isinstance(back, MarkovRandomField)
    assert list(back.variables.values()) == list(net.variables.values())
    for left, right in zip(back.factors, net.factors, strict=True):
        assert (left.variables, left.log_scale) == (right.variables, right.log_scale)
        np.testing.assert_array_equal(left.values, right.values)


def test_a_factor_graph_keeps_the_names_of_its_factors():
    a, b = Variable("a", (0, 1)), Variable("b", ("u", "v"))
    table = [[0.3, 1.0], [0.1, 0.7]]
    net = FactorGraph({"link": Factor((b, a), table), "again": Factor((b, a), table)}, [a, b])
    back = read_json(json_text(net))
    assert isinstance(back, FactorGraph)
    assert list(back.named_factors) == ["link", "again"]
    assert list(back.variables) == ["a", "b"]
    np.testing.assert_array_equal(back.factors[1].values, table)


def test_functions_of_python_are_refused_by_name():
    net = BayesianNetwork(
        "a -> b",
        {"a": LinearGaussian(), "b": DistributionNode(lambda a: Normal(a, 1.0))},
    )
    with pytest.raises(NetworkFileError, match=r"'b' is a function of its parents in Python"):
        json_text(net)


def test_labels_that_json_does_not_have_are_refused():
    for label in ((1, 2), float("inf")):
        net = BayesianNetwork({"a": []}, {"a": [0.5, 0.5]}, {"a": (label, "x")})
        with pytest.raises(NetworkFileError, match=r"states must be text.* of 'a'"):
            json_text(net)


def test_a_document_cut_anywhere_is_an_error():
    text = json_text(every_kind()).rstrip()
    for end in range(1, len(text), 29):
        with pytest.raises(NetworkFileError, match=r"line \d+: the file must be whole JSON"):
            read_json(text[:end])


def edited(change):
    document = json.loads(json_text(every_kind()))
    change(document, {node["child"]: node for node in document["nodes"]})
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d, n: d.update(format="x"), r'"format": "credo network"; found none'),
        (lambda d, n: d.update(version=2), r"version must be 1, .* found 2\. Update"),
        (lambda d, n: d.update(kind="tree"), r"kind must be .* found 'tree'"),
        (lambda d, n: d.pop("nodes"), r"'nodes' must be a list; found none"),
        (lambda d, n: d["nodes"].pop(), r"must have a node; found none for 'delay'"),
        (lambda d, n: d["nodes"].append(n["flu"]), r"found 'flu' twice"),
        (lambda d, n: d["variables"].append({"name": "flu"}), r"found 'flu' again"),
        (lambda d, n: n["pain"].update(parents=["flue"]), r"found 'flue'.*'flu'\?"),
        (lambda d, n: n["pain"].update(kind="noise"), r"found 'noise'\..*'noisy'\?"),
        (
            lambda d, n: n["flu"].pop("probability"),
            r"probability of 'flu' must be there; found none",
        ),
        (lambda d, n: n["flu"].update(probability=[0.5, 0.6]), r"flu must sum to one; .*1\.1"),
        (lambda d, n: n["flu"].update(probability=[1.5, -0.5]), r"not negative; found -0\.5"),
        (
            lambda d, n: n["fever"]["effects"].pop(),
            r"effects of fever must have 2 parts.*found 1",
        ),
        (lambda d, n: n["fever"].pop("leak"), r"leak of 'fever' must be there; found none"),
        (lambda d, n: n["fever"].update(is_descending=1), r"must be a truth value; found 1"),
        (
            lambda d, n: n["effect"].update(scale=0.0),
            r"scale of effect must be positive; found 0.0",
        ),
        (lambda d, n: n["grade"].update(order=[0, 0, 1]), r"every state once; .*\[0, 0, 1\]"),
        (
            lambda d, n: n["ill"]["links"][-1][0].__setitem__(0, 9),
            r"links of ill must be positions from 0 to 1; found 1 to 9",
        ),
        (lambda d, n: n["fever"].update(leak=[0.5]), r"leak of fever must have shape \(2,\)"),
        (lambda d, n: n["fever"].update(leak=["x", 1]), r"leak of 'fever' must be numbers;"),
        (lambda d, n: n["ill"]["links"].pop(), r"ill must have .*one link more; found 2 and 2"),
        (lambda d, n: n["ill"]["links"].__setitem__(0, [0.5, 1]), r"'ill' must be positions"),
        (lambda d, n: n["cured"].update(link="cauchit"), r"'logit'\] and.*found 'cauchit'"),
        (lambda d, n: n["delay"].update(parents=["dose"]), r"found a fixed Gamma"),
        (lambda d, n: d["variables"][0].update(states="yes"), r"'states' must be a list"),
        (lambda d, n: d["variables"][0].update(states=[[1], True]), r"states of .* \[1\]"),
        (lambda d, n: n["flu"].update(kind=["table"]), r"'kind' must be text"),
        (lambda d, n: d.update(version=True), r"version must be 1, .* found True"),
    ],
)
def test_what_no_network_can_be_is_refused(change, message):
    with pytest.raises((NetworkFileError, ValueError, KeyError), match=message):
        read_json(edited(change))


def places(tree, path=()):
    """Yield the path to every value inside a document."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@pytest.mark.parametrize("odd", [None, True, "x", [], {}, [[1], "a"], -1, 1e300, 0.5])
def test_whatever_is_damaged_is_a_network_or_told(odd):
    text = json_text(every_kind())
    for path in places(json.loads(text)):
        document = json.loads(text)
        inside = document
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = odd
        with suppress(NetworkFileError, ValueError, KeyError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert isinstance(read_json(json.dumps(document)), BayesianNetwork)


@pytest.mark.parametrize("odd", [None, True, "x", [], {}, [[1], "a"], -1])
def test_a_damaged_field_is_a_network_or_told(odd):
    a, b = Variable("a", (0, 1)), Variable("b", ("x", "y"))
    text = json_text(FactorGraph({"f": Factor((a, b), [[1, 2], [3, 4]])}))
    for path in places(json.loads(text)):
        document = json.loads(text)
        inside = document
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = odd
        with suppress(NetworkFileError, ValueError, KeyError):
            assert isinstance(read_json(json.dumps(document)), MarkovRandomField)


@pytest.mark.parametrize(
    "distribution",
    [Gamma(2.0, 1.5), Normal(0.5, 2.0), Poisson(3.0), TWO_PEAKS],
)
def test_fixed_distributions_come_back(distribution):
    net = BayesianNetwork({"a": []}, {"a": DistributionNode(distribution)})
    text = json_text(net)
    back = read_json(text)
    at = {"a": np.array([1.0, 2.0, 5.0])}
    assert_allclose(
        back.conditionals["a"].log_prob(at), net.conditionals["a"].log_prob(at), rtol=1e-15
    )
    assert json_text(back) == text


@pytest.mark.parametrize("wrong", ["Perceptron", "Nothing", ["Normal"], None])
def test_a_distribution_must_be_one_of_credo(wrong):
    text = edited(lambda d, n: n["delay"]["distribution"]["tree"].update({"class": wrong}))
    with pytest.raises(NetworkFileError, match="must be written as credo writes it"):
        read_json(text)


def test_numbers_that_are_none_are_refused():
    with pytest.raises(NetworkFileError, match=r"numbers must be finite; found NaN"):
        read_json(json_text(every_kind()).replace("0.1", "NaN", 1))


FIELD = """{"format": "credo network", "version": 1, "kind": "markov random field",
 "variables": [{"name": "a", "states": [0, 1]}],
 "factors": [{"variables": ["a"], "values": [1, VALUE], "log_scale": SCALE}]}"""


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 400])
def test_numbers_that_no_float_holds_are_refused(number):
    assert read_json(FIELD.replace("VALUE", "2").replace("SCALE", "0")).log_prob({"a": 1}) < 0
    with pytest.raises(NetworkFileError, match="'log_scale' must be a finite number"):
        read_json(FIELD.replace("VALUE", "2").replace("SCALE", number))
    with pytest.raises(NetworkFileError, match="must be finite"):
        read_json(FIELD.replace("VALUE", number).replace("SCALE", "0"))


@pytest.mark.parametrize("kind", ["bayesian network", "markov random field", "factor graph"])
def test_a_network_without_variables_is_refused(kind):
    head = {"format": "credo network", "version": 1, "kind": kind, "variables": []}
    with pytest.raises(NetworkFileError, match="must declare variables; found none"):
        read_json(json.dumps({**head, "nodes": [], "factors": []}))
