import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.graphs.node.conditional import Conditional
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.node.linear_gaussian import LinearGaussian
from credo.graphs.structure.directed import CycleFound
from credo.graphs.variable import UnknownVariable, Variable
from credo.inference.engine.engine import ConvergenceWarning, run
from credo.inference.engine.weighted_draws import ZeroWeights
from credo.inference.hybrid.likelihood_weighting import (
    ConditionalProblem,
    InterventionNode,
    LikelihoodWeighting,
    ancestral_sample,
)

CLOUD, SPRINKLER, RAIN, WET = (
    Variable(name, (False, True)) for name in ("cloud", "sprinkler", "rain", "wet")
)
WET_TABLE = [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]]
# Children before parents: the order of the list must not matter.
NODES = [
    ConditionalTable(WET, [SPRINKLER, RAIN], WET_TABLE),
    ConditionalTable(RAIN, [CLOUD], [[0.8, 0.2], [0.2, 0.8]]),
    ConditionalTable(SPRINKLER, [CLOUD], [[0.5, 0.5], [0.9, 0.1]]),
    ConditionalTable(CLOUD, [], [0.5, 0.5]),
]
# One row per cloud and sprinkler, then rain and wet.
JOINT = np.ravel(
    [
        [0.2, 0, 0.005, 0.045],
        [0.02, 0.18, 0.0005, 0.0495],
        [0.09, 0, 0.036, 0.324],
        [0.001, 0.009, 0.0004, 0.0396],
    ]
)


def test_ancestral_draws_have_the_frequencies_of_the_joint_distribution():
    n = 50_000
    drawn = ancestral_sample(NODES, n, np.random.default_rng(0))
    code = 8 * drawn["cloud"] + 4 * drawn["sprinkler"] + 2 * drawn["rain"] + drawn["wet"]
    share = np.bincount(code, minlength=16) / n
    assert np.all(np.abs(share - JOINT) <= 4 * np.sqrt(JOINT * (1 - JOINT) / n))


def test_ancestral_draws_reach_real_variables_after_their_class():
    rng = np.random.default_rng(1)
    mean, effect = Variable("mean"), Variable("effect")
    nodes = [
        LinearGaussian(1.0, {"mean": 2.0}, scale=0.5).bind(effect, (mean,)),
        LinearGaussian(3.0, {}, scale=1.0).bind(mean, ()),
    ]
    drawn = ancestral_sample(nodes, 20_000, rng)
    assert abs(drawn["effect"].mean() - 7.0) < 4 * np.sqrt(4.25 / 20_000)
    assert_allclose(np.cov(drawn["mean"], drawn["effect"])[0, 1], 2.0, atol=0.1)


@pytest.mark.parametrize("seed", [0, 1])
def test_wet_grass_is_explained_within_monte_carlo_error(seed):
    problem = ConditionalProblem(NODES, {"wet": 1})
    found = run(LikelihoodWeighting(), problem, np.random.default_rng(seed))
    draws = found.posterior
    for name, exact in (("cloud", 414 / 719), ("sprinkler", 309 / 719), ("rain", 509 / 719)):
        mean, error = draws.mean(draws.columns[name])
        assert abs(mean - exact) < 4 * error
        assert error <= 0.005
        assert_allclose(draws.probability(name, 2)[1], mean)
    assert abs(found.log_evidence - np.log(0.6471)) < 4 * draws.log_evidence_error
    assert found.evidence_method == "importance"
    assert_array_equal(draws.columns["wet"], 1)


def test_a_likelihood_of_states_weighs_like_a_finding_that_is_unsure():
    problem = ConditionalProblem(NODES, likelihood={"rain": np.array([0.3, 0.9])})
    draws = run(LikelihoodWeighting(), problem, np.random.default_rng(0)).posterior
    mean, error = draws.mean(draws.columns["rain"])
    assert abs(mean - 0.75) < 4 * error
    assert abs(draws.log_evidence - np.log(0.6)) < 4 * draws.log_evidence_error


def test_a_real_finding_moves_its_real_parent_as_bayes_rule_says():
    x, y = Variable("x"), Variable("y")
    nodes = [
        LinearGaussian(0.0, {}, scale=1.0).bind(x, ()),
        LinearGaussian(0.0, {"x": 1.0}, scale=1.0).bind(y, (x,)),
    ]
    problem = ConditionalProblem(nodes, {"y": 2.0})
    draws = run(LikelihoodWeighting(), problem, np.random.default_rng(0)).posterior
    mean, error = draws.mean(draws.columns["x"])
    assert abs(mean - 1.0) < 4 * error
    variance, error = draws.mean((draws.columns["x"] - 1.0) ** 2)
    assert abs(variance - 0.5) < 4 * error
    exact = -0.5 * np.log(2 * np.pi * 2.0) - 1.0
    assert abs(draws.log_evidence - exact) < 4 * draws.log_evidence_error


def test_a_real_finding_tells_which_class_it_came_from():
    kind, size = Variable("kind", ("small", "large")), Variable("size")

    class Size:
        """Two normals, one per kind."""

        child, parents, n_parameters = size, (kind,), 4

        def log_prob(self, values):
            mean = np.array([0.0, 2.0])[values["kind"]]
            return -0.5 * np.log(2 * np.pi) - 0.5 * (values["size"] - mean) ** 2

        def sample(self, values, n, rng):
            return rng.normal(np.array([0.0, 2.0])[values["kind"]])

    nodes = [ConditionalTable(kind, [], [0.7, 0.3]), Size()]
    problem = ConditionalProblem(nodes, {"size": 1.5})
    draws = run(LikelihoodWeighting(), problem, np.random.default_rng(0)).posterior
    small, large = 0.7 * np.exp(-(1.5**2) / 2), 0.3 * np.exp(-(0.5**2) / 2)
    mean, error = draws.mean(draws.columns["kind"])
    assert abs(mean - large / (small + large)) < 4 * error


def test_only_the_columns_asked_for_are_kept():
    draws = ConditionalProblem(NODES, {"wet": 1}, keep=["rain"]).draw(
        10, np.random.default_rng(0)
    )
    assert list(draws.columns) == ["rain"]
    assert draws.n_draws == 10


def test_rare_findings_are_said_to_need_more_draws():
    with pytest.warns(ConvergenceWarning, match="LikelihoodWeighting"):
        found = run(
            LikelihoodWeighting(n_draws=100, block_size=50),
            ConditionalProblem(NODES),
            np.random.default_rng(0),
        )
    assert found.posterior.n_draws == 100


def test_impossible_findings_leave_no_weight():
    problem = ConditionalProblem(NODES, {"wet": 1, "sprinkler": 0, "rain": 0})
    with pytest.warns(ConvergenceWarning), pytest.raises(ZeroWeights, match="agree with"):
        run(LikelihoodWeighting(n_draws=200, block_size=100), problem, np.random.default_rng(0))


def test_wrong_names_states_and_numbers_are_refused():
    with pytest.raises(UnknownVariable, match="Did you mean 'rain'"):
        ConditionalProblem(NODES, {"rian": 1})
    with pytest.raises(ValueError, match="position from 0 to 1; found 2"):
        ConditionalProblem(NODES, {"rain": 2})
    x = LinearGaussian(0.0, {}, scale=1.0).bind(Variable("x"), ())
    with pytest.raises(ValueError, match="finite number; found nan"):
        ConditionalProblem([x], {"x": float("nan")})


def test_a_cycle_is_shown():
    a, b = Variable("a", (0, 1)), Variable("b", (0, 1))
    table = [[0.5, 0.5], [0.5, 0.5]]
    nodes = [ConditionalTable(a, [b], table), ConditionalTable(b, [a], table)]
    with pytest.raises(CycleFound):
        ancestral_sample(nodes, 1, np.random.default_rng(0))


def test_a_set_value_tells_nothing():
    node = InterventionNode(Variable("dose"))
    assert isinstance(node, Conditional)
    assert node.log_prob({"dose": np.array([1.0, -7.0, 1e9])}).tolist() == [0.0, 0.0, 0.0]
    assert node.parents == ()
    assert node.n_parameters == 0


def test_a_node_that_was_cut_off_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"dose must be set .* Pass it in do"):
        InterventionNode(Variable("dose")).sample({}, 3, np.random.default_rng(0))
