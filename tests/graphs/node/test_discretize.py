import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from credo.distributions import Gamma, Normal, Poisson
from credo.graphs import (
    Bins,
    ConditionalTable,
    DistributionNode,
    LinearGaussian,
    NoisyOr,
    Probit,
    Variable,
    bind,
    discretized,
)
from credo.inference import enumerate_query

X, Y = Variable("x"), Variable("y")
KIND = Variable("kind", ("small", "large"))


def test_mass_of_bins_is_that_of_the_normal():
    node = LinearGaussian(1.0, {}, 2.0).bind(X, [])
    edges = [-3.0, -1.0, 0.5, 2.0, 7.0]
    table = discretized(node, [Bins("x", edges)])
    wanted = np.diff([0.0, *stats.norm(1.0, 2.0).cdf(edges[1:-1]), 1.0])
    assert_allclose(table.probability, wanted)


def test_mass_is_averaged_over_the_bins_of_parents():
    node = LinearGaussian(0.5, {"x": 2.0}, 0.7).bind(Y, [X])
    table = discretized(
        node, [Bins("x", [-1.0, 0.0, 0.5]), Bins("y", [-4.0, 0.0, 1.0, 3.0])], 6
    )
    for i, (low, high) in enumerate([(-1.0, 0.0), (0.0, 0.5)]):
        for j, (a, b) in enumerate([(-np.inf, 0.0), (0.0, 1.0), (1.0, np.inf)]):

            def mass(x, a=a, b=b):
                return np.diff(stats.norm(0.5 + 2 * x, 0.7).cdf([a, b]))[0]

            wanted = integrate.quad(mass, low, high)[0] / (high - low)
            assert_allclose(table.probability[i, j], wanted, atol=1e-6)


def test_discrete_and_real_parents_keep_their_axes():
    spec = {"small": LinearGaussian(0.0, {"x": 1.0}), "large": LinearGaussian(3.0, {"x": -1.0})}
    bins = [Bins("x", [-1.0, 0.0, 2.0]), Bins("y", [-3.0, 0.0, 3.0])]
    forward = discretized(bind(spec, Y, [KIND, X]), bins).probability
    backward = discretized(bind(spec, Y, [X, KIND]), bins).probability
    assert forward.shape == (2, 2, 2)
    assert_allclose(forward, np.swapaxes(backward, 0, 1))
    assert forward[0, 1, 1] > 0.5 > forward[0, 0, 1]


def posterior_of_kind(n):
    """Return P(kind = large | y near 2.3) of kind -> x -> y, with x and y in n bins."""
    x = bind({"small": LinearGaussian(0.0), "large": LinearGaussian(2.0, {}, 0.5)}, X, [KIND])
    y = LinearGaussian(0.3, {"x": 0.8}, 0.6).bind(Y, [X])
    bins = [Bins.equal_width("x", -5.0, 6.0, n), Bins.equal_width("y", -3.7, 8.3, n)]
    factors = [
        ConditionalTable(KIND, [], [0.7, 0.3]).table(),
        discretized(x, bins).table(),
        discretized(y, bins).table(),
    ]
    answer = enumerate_query(factors, "kind", {"y": bins[1].state(2.3)})
    return answer.table()[1]


def test_discrete_answers_approach_the_hybrid_one_as_bins_grow():
    small = 0.7 * stats.norm(0.3, np.hypot(0.8 * 1.0, 0.6)).pdf(2.3)
    large = 0.3 * stats.norm(0.3 + 1.6, np.hypot(0.8 * 0.5, 0.6)).pdf(2.3)
    exact = large / (small + large)
    # The center of the bin of y is exactly 2.3, so that the error is of second order.
    errors = np.array([abs(posterior_of_kind(n) - exact) for n in (15, 45, 135, 405)])
    assert np.all(errors[1:] < errors[:-1] / 4)
    assert errors[-1] < 1e-4


def test_real_answers_approach_the_exact_posterior_as_bins_grow():
    x = LinearGaussian(0.0, {}, 1.0).bind(X, [])
    y = LinearGaussian(0.0, {"x": 1.0}, 0.5).bind(Y, [X])
    errors = []
    for n in (15, 45, 135, 405):
        bins = [Bins.equal_width("x", -5.0, 5.0, n), Bins("y", np.linspace(-5.0, 7.0, n + 1))]
        factors = [discretized(x, bins).table(), discretized(y, bins).table()]
        answer = enumerate_query(factors, "x", {"y": bins[1].state(1.0)}).table()
        mean = answer @ bins[0].midpoints
        spread = np.sqrt(answer @ (bins[0].midpoints - mean) ** 2)
        errors.append([abs(mean - 0.8), abs(spread - np.sqrt(0.2))])
    # The center of the bin of y is exactly 1, so that the error is of second order.
    assert np.all(np.array(errors)[-1] < 1e-3)
    assert np.all(np.array(errors)[1:] < np.array(errors)[:-1] / 4)


def test_a_probit_child_is_averaged_over_the_bins_of_its_parent():
    buy = Variable("buy", (False, True))
    node = Probit(1.0, 0.4, below=True).bind(buy, [X])
    bins = Bins("x", [0.0, 0.9, 2.0])
    table = discretized(node, [bins], 8).probability
    for i in range(2):
        low, high = bins.edges[i : i + 2]
        wanted = integrate.quad(lambda x: stats.norm.cdf((1.0 - x) / 0.4), low, high)[0]
        assert_allclose(table[i, 1], wanted / (high - low), atol=1e-6)


def test_any_distribution_with_a_cdf_can_be_cut():
    edges = [0.0, 1.0, 2.5, 6.0]
    root = DistributionNode(Gamma(2.0, 1.0)).bind(X, [])
    wanted = np.diff([0.0, *stats.gamma(2.0).cdf([1.0, 2.5]), 1.0])
    assert_allclose(discretized(root, [Bins("x", edges)]).probability, wanted)
    child = DistributionNode(lambda x: Normal(x, 1.0)).bind(Y, [X])
    same = LinearGaussian(0.0, {"x": 1.0}).bind(Y, [X])
    bins = [Bins("x", edges), Bins("y", [-1.0, 0.0, 3.0, 5.0])]
    assert_allclose(discretized(child, bins).probability, discretized(same, bins).probability)


def test_counts_at_an_edge_belong_to_the_bin_above():
    node = DistributionNode(Poisson(2.0)).bind(X, [])
    table = discretized(node, [Bins("x", [0.0, 1.0, 3.0, 9.0])])
    mass = stats.poisson(2.0).pmf(np.arange(3))
    assert_allclose(table.probability, [mass[0], mass[1] + mass[2], 1 - mass.sum()])
    assert_allclose(discretized(node, [Bins("x", [0.0, 9.0])]).probability, [1.0])


def test_discrete_nodes_become_their_table():
    parents = [Variable("a", (False, True)), Variable("b", (False, True))]
    node = NoisyOr({"a": 0.3, "b": 0.6}, 0.1).bind(Variable("c", (False, True)), parents)
    assert_allclose(discretized(node, []).probability, node.table().table())


def test_values_fall_into_the_bin_whose_interval_holds_them():
    bins = Bins("x", [0.0, 1.0, 2.0, 4.0])
    for value in (-7.0, 0.0, 0.99, 1.0, 2.0, 3.5, 100.0):
        assert value in bins.state(value)
        assert bins.variable.labels[bins.position(value)] == bins.state(value)
    assert_array_equal(bins.midpoints, [0.5, 1.5, 3.0])


def test_equal_shares_hold_equally_many_values():
    values = np.random.default_rng(0).gamma(1.0, size=1000)
    bins = Bins.equal_share("x", values, 8)
    assert_array_equal(np.bincount(bins.position(values)), [125] * 8)


@pytest.mark.parametrize(
    ("edges", "words"),
    [([1.0], "at least two"), ([0, np.inf], "finite"), ([0, 2, 1], "must ascend; found 2.0")],
)
def test_edges_that_cut_nothing_are_refused(edges, words):
    with pytest.raises(ValueError, match=words):
        Bins("x", edges)


def test_a_real_variable_without_bins_is_named():
    node = LinearGaussian(0.0, {"x": 1.0}).bind(Y, [X])
    with pytest.raises(ValueError, match=r"found none for \['x'\]"):
        discretized(node, [Bins("y", [0.0, 1.0])])


def test_a_grid_that_does_not_fit_is_refused_before_work():
    parents = [Variable(f"x{i}") for i in range(4)]
    node = LinearGaussian(0.0, {p.name: 1.0 for p in parents}).bind(Y, parents)
    bins = [Bins.equal_width(name, 0.0, 1.0, 50) for name in ("y", "x0", "x1", "x2", "x3")]
    with pytest.raises(MemoryError, match="Use fewer bins or points"):
        discretized(node, bins)
