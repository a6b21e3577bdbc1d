"""Files that credo writes are read by pyAgrum and pgmpy, and the other way round."""

import numpy as np
import pytest

from credo.data import load_example_network, load_network, save_network
from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField
from naive import peer, published_networks

pytestmark = pytest.mark.comparison
pyagrum, readwrite = peer("pyagrum"), peer("pgmpy.readwrite")
BIFReader, BIFWriter = readwrite.BIFReader, readwrite.BIFWriter
UAIReader, UAIWriter = readwrite.UAIReader, readwrite.UAIWriter
XMLBIFReader, XMLBIFWriter = readwrite.XMLBIFReader, readwrite.XMLBIFWriter
FOLDER = published_networks()
NAMES = ["asia", "cancer", "survey", "sachs", "child", "alarm", "insurance", "win95pts"]
FORMATS = {".bif": (BIFReader, BIFWriter), ".xmlbif": (XMLBIFReader, XMLBIFWriter)}


def published(name):
    return load_network(FOLDER / f"{name}.bif.gz")


def plain_network():
    """Three nodes with names that every program takes, and orders that differ."""
    rng = np.random.default_rng(3)
    states = {"b": ("u", "v"), "c2": ("x", "y", "z"), "a_a": ("s0", "s1", "s2", "s3")}
    return BayesianNetwork(
        {"b": [], "c2": ["b"], "a_a": ["c2", "b"]},
        {
            "b": rng.dirichlet([1, 1]),
            "c2": rng.dirichlet([1, 1, 1], size=2),
            "a_a": rng.dirichlet([1, 1, 1, 1], size=(3, 2)),
        },
        states,
    )


def pyagrum_tables(bn):
    """Tables of pyAgrum: names of the axes and values, child last."""
    tables = {}
    for name in bn.names():
        cpt = bn.cpt(name)
        tables[name] = (list(reversed(cpt.names)), cpt.toarray())
    return tables


def pgmpy_tables(model):
    return {
        cpd.variable: ([*cpd.variables[1:], cpd.variable], np.moveaxis(cpd.values, 0, -1))
        for cpd in model.get_cpds()
    }


def credo_tables(net):
    return {
        name: ([*(p.name for p in conditional.parents), name], conditional.probability)
        for name, conditional in net.conditionals.items()
    }


def assert_same_tables(found, expected, tolerance):
    assert set(found) == set(expected)
    for name, (axes, values) in expected.items():
        other_axes, other = found[name]
        turned = np.transpose(other, [other_axes.index(axis) for axis in axes])
        np.testing.assert_allclose(turned, values, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", ["asia", "survey", "child"])
@pytest.mark.parametrize("extension", FORMATS)
def test_pgmpy_reads_what_credo_writes(name, extension, tmp_path):
    net, path = published(name), tmp_path / f"x{extension}"
    save_network(net, path)
    model = FORMATS[extension][0](path=str(path)).get_model()
    assert_same_tables(pgmpy_tables(model), credo_tables(net), 0)
    for cpd in model.get_cpds():
        assert tuple(cpd.state_names[cpd.variable]) == net.variables[cpd.variable].states


# Names of states that pgmpy changes in XMLBIF are left out.
@pytest.mark.parametrize("name", ["asia", "survey"])
@pytest.mark.parametrize("extension", FORMATS)
def test_credo_reads_what_pgmpy_writes(name, extension, tmp_path):
    net, path = published(name), tmp_path / f"x{extension}"
    save_network(net, tmp_path / "own.bif")
    model = BIFReader(path=str(tmp_path / "own.bif")).get_model()
    FORMATS[extension][1](model).write(str(path))
    back = load_network(path)
    assert_same_tables(credo_tables(back), credo_tables(net), 0)
    assert {n: v.states for n, v in back.variables.items()} == {
        n: v.states for n, v in net.variables.items()
    }


# pyAgrum takes fewer characters in BIF, and keeps single precision when it reads one.
@pytest.mark.parametrize(
    ("name", "extension", "tolerance"),
    [(name, ".bif", 1e-7) for name in ("asia", "survey", "alarm", "insurance", "win95pts")]
    + [(name, ".bifxml", 1e-15) for name in NAMES],
)
def test_pyagrum_reads_what_credo_writes(name, extension, tolerance, tmp_path):
    net, path = published(name), tmp_path / f"x{extension}"
    save_network(net, path)
    bn = pyagrum.loadBN(str(path))
    assert_same_tables(pyagrum_tables(bn), credo_tables(net), tolerance)
    for variable in net.variables.values():
        assert bn.variable(variable.name).labels() == variable.states


# The XML of pyAgrum has six digits, so that sums miss one by up to 1e-6.
@pytest.mark.filterwarnings("ignore::credo.graphs.node.conditional_table.RoundedTableWarning")
@pytest.mark.parametrize(("extension", "tolerance"), [(".bif", 1e-15), (".bifxml", 1e-5)])
def test_credo_reads_what_pyagrum_writes(extension, tolerance, tmp_path):
    path = tmp_path / f"x{extension}"
    bn = pyagrum.fastBN("a{t|f}->b{low|mid|high}->c[3]<-a;d{one|2|x_y}<-c;b->d<-a")
    pyagrum.initRandom(0)
    bn.generateCPTs()
    pyagrum.saveBN(bn, str(path))
    net = load_network(path)
    assert_same_tables(credo_tables(net), pyagrum_tables(bn), tolerance)
    assert net.variables["c"].states == ("0", "1", "2")
    assert net.variables["d"].states == bn.variable("d").labels()


def test_pyagrum_and_credo_agree_on_states_that_xml_should_have_escaped(tmp_path):
    bn = pyagrum.BayesNet()
    bn.add(pyagrum.LabelizedVariable("a b", "", ["<5", ">=5", "Asy/Patch"]))
    bn.cpt("a b").fillWith([0.25, 0.5, 0.25])
    pyagrum.saveBN(bn, str(tmp_path / "x.bifxml"))
    net = load_network(tmp_path / "x.bifxml")
    assert net.variables["a b"].states == ("<5", ">=5", "Asy/Patch")
    assert net.conditionals["a b"].probability.tolist() == [0.25, 0.5, 0.25]


def test_chains_in_uai_are_the_same_for_pyagrum(tmp_path):
    # With one parent at most, pyAgrum follows the order of the format.
    net = BayesianNetwork(
        "a -> b -> c", {"a": [0.25, 0.75], "b": [[0.1, 0.9], [0.4, 0.6]], "c": np.eye(2)}
    )
    save_network(net, tmp_path / "x.uai")
    bn = pyagrum.loadBN(str(tmp_path / "x.uai"))
    for i, name in enumerate(net.variables):
        found = bn.cpt(i).toarray()
        np.testing.assert_allclose(found, net.conditionals[name].probability, atol=1e-7)
    pyagrum.saveBN(bn, str(tmp_path / "y.uai"))
    back = load_network(tmp_path / "y.uai")
    for name, place in zip(net.variables, back.variables, strict=True):
        found = back.conditionals[place].probability
        np.testing.assert_allclose(found, net.conditionals[name].probability, atol=1e-5)


def test_fields_in_uai_are_the_same_for_pgmpy(tmp_path):
    a, b, c = Variable("0", (0, 1)), Variable("1", (0, 1, 2)), Variable("2", (0, 1, 2, 3))
    rng = np.random.default_rng(5)
    net = MarkovRandomField(
        [
            Factor((a, b), rng.uniform(0.1, 1.0, (2, 3))),
            Factor((c, a, b), rng.uniform(0.1, 1.0, (4, 2, 3))),
            Factor((c, b), rng.uniform(0.1, 1.0, (4, 3))),
        ],
        [a, b, c],
    )
    save_network(net, tmp_path / "x.uai")
    model = UAIReader(path=str(tmp_path / "x.uai")).get_model()
    for factor, found in zip(net.factors, model.get_factors(), strict=True):
        assert [f"var_{name}" for name in factor.names] == found.variables
        np.testing.assert_allclose(found.values, factor.table(), rtol=1e-15)
    UAIWriter(model).write(str(tmp_path / "y.uai"))
    back = load_network(tmp_path / "y.uai")
    for factor, found in zip(net.factors, back.factors, strict=True):
        np.testing.assert_allclose(found.table(), factor.table(), rtol=1e-15)


@pytest.mark.parametrize("net", [plain_network(), load_example_network("asia")])
def test_networks_in_uai_of_pgmpy_are_told_by_their_sums(net, tmp_path):
    save_network(net, tmp_path / "own.bif")
    model = BIFReader(path=str(tmp_path / "own.bif")).get_model()
    UAIWriter(model).write(str(tmp_path / "x.uai"))
    back = load_network(tmp_path / "x.uai")
    # pgmpy numbers variables by their number of states, then by name.
    order = sorted(net.variables, key=lambda name: (str(net.variables[name].n_states), name))
    renamed = {
        order[int(child)]: ([order[int(axis)] for axis in axes], values)
        for child, (axes, values) in credo_tables(back).items()
    }
    assert_same_tables(renamed, credo_tables(net), 0)
