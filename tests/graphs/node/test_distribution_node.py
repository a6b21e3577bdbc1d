"""Nodes of any distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import Categorical, Gamma, MultivariateNormal, Normal, Poisson
from credo.graphs import ConditionalTable, DistributionNode, Variable
from credo.graphs.node.conditional import Conditional
from credo.inference.hybrid.likelihood_weighting import ConditionalProblem, ancestral_sample

RATE, CASES = Variable("rate"), Variable("cases")


def test_a_fixed_distribution_is_a_root():
    node = DistributionNode(Gamma(2.0, 3.0)).bind(RATE, ())
    assert isinstance(node, Conditional)
    x = np.array([0.3, 1.0])
    assert_allclose(node.log_prob({"rate": x}), stats.gamma(2.0, scale=1 / 3).logpdf(x))
    draws = node.sample({}, 20_000, np.random.default_rng(0))
    assert_allclose(draws.mean(), 2.0 / 3.0, rtol=0.03)


def test_parameters_may_be_functions_of_the_parents():
    node = DistributionNode(lambda rate: Poisson(2.0 * rate)).bind(CASES, (RATE,))
    rate, cases = np.array([0.5, 4.0]), np.array([1.0, 7.0])
    found = node.log_prob({"rate": rate, "cases": cases})
    assert_allclose(found, stats.poisson(2.0 * rate).logpmf(cases))
    draws = node.sample({"rate": np.repeat(rate, 20_000)}, 40_000, np.random.default_rng(1))
    assert_allclose(draws.reshape(2, -1).mean(axis=1), [1.0, 8.0], rtol=0.03)


def test_functions_see_labels_of_discrete_parents():
    kind = Variable("kind", ("calm", "storm"))
    node = DistributionNode(lambda kind: Normal(np.where(kind == "storm", 9.0, 1.0), 0.1)).bind(
        Variable("wind"), (kind,)
    )
    assert_allclose(node.given({"kind": np.array([1, 0, 1])}).mean(), [9.0, 1.0, 9.0])
    mixed = Variable("mixed", ("none", 3))
    seen = DistributionNode(
        lambda mixed: Normal(np.array([3.0 if m == 3 else 0.0 for m in mixed]), 1.0)
    ).bind(CASES, (mixed,))
    assert_allclose(seen.given({"mixed": np.array([0, 1])}).mean(), [0.0, 3.0])


def test_outcomes_of_a_discrete_child_are_positions_of_its_states():
    spec = DistributionNode(Categorical([0.1, 0.2, 0.7]), states=("a", "b", "c"))
    node = spec.bind(Variable("letter", spec.child_states()), ())
    assert spec.is_discrete
    assert_allclose(np.exp(node.log_prob({"letter": np.array([2, 0])})), [0.7, 0.1])
    draws = node.sample({}, 10, np.random.default_rng(0))
    assert draws.dtype == np.intp


def test_a_constant_function_still_draws_one_per_row():
    node = DistributionNode(lambda rate: Normal(0.0, 1.0)).bind(CASES, (RATE,))
    draws = node.sample({"rate": np.zeros(5)}, 5, np.random.default_rng(0))
    assert len(np.unique(draws)) == 5


def outbreak():
    """Return nodes: variant and true cases are hidden; reports, beds and costs follow."""
    variant, actual = Variable("variant", ("mild", "severe")), Variable("actual")
    hidden = (actual, variant)

    def rate(actual, variant, mild, severe):
        return actual * np.where(variant == "severe", severe, mild)

    return [
        ConditionalTable(variant, (), [0.7, 0.3]),
        DistributionNode(Gamma(4.0, 0.5)).bind(actual, ()),
        DistributionNode(lambda actual, variant: Poisson(rate(actual, variant, 0.6, 0.9))).bind(
            Variable("reports"), hidden
        ),
        DistributionNode(lambda actual, variant: Poisson(rate(actual, variant, 0.1, 0.5))).bind(
            Variable("beds"), hidden
        ),
        DistributionNode(
            lambda actual, variant: Normal(rate(actual, variant, 2.0, 5.0), 1.0)
        ).bind(Variable("cost"), hidden),
    ]


def discretized_outbreak(reports, beds):
    """Return P(severe | observed), E[cost | observed], E[cost] and P(observed), by
    sums over fine bins of equal probability."""
    actual = stats.gamma(4.0, scale=2.0).ppf((np.arange(4000) + 0.5) / 4000)
    table = np.array([[0.7], [0.3]]) / 4000 * np.ones((2, 4000))
    costs = np.array([[2.0], [5.0]]) * actual
    likelihood = stats.poisson.pmf(reports, np.array([[0.6], [0.9]]) * actual)
    likelihood *= stats.poisson.pmf(beds, np.array([[0.1], [0.5]]) * actual)
    joint = table * likelihood
    shares = joint / joint.sum()
    return shares[1].sum(), (shares * costs).sum(), (table * costs).sum(), joint.sum()


def test_hidden_levels_are_marginalized_as_enumeration_of_a_discretized_version_says():
    severe, cost, prior_cost, evidence = discretized_outbreak(7, 2)
    problem = ConditionalProblem(outbreak(), given={"reports": 7, "beds": 2})
    draws = problem.draw(200_000, np.random.default_rng(0))
    weight = np.exp(draws.log_weight - draws.log_weight.max())
    weight /= weight.sum()
    effective = 1.0 / np.sum(weight**2)
    assert effective > 10_000
    found = weight @ draws.columns["variant"]
    assert abs(found - severe) < 4.5 * np.sqrt(severe * (1 - severe) / effective)
    costs = draws.columns["cost"]
    spread = np.sqrt(weight @ (costs - weight @ costs) ** 2)
    assert abs(weight @ costs - cost) < 4.5 * spread / np.sqrt(effective)
    mean_weight = np.log(np.mean(np.exp(draws.log_weight)))
    assert_allclose(mean_weight, np.log(evidence), atol=0.03)
    forward = ancestral_sample(outbreak(), 200_000, np.random.default_rng(1))["cost"]
    assert abs(forward.mean() - prior_cost) < 4.5 * forward.std() / np.sqrt(200_000)


def test_what_is_not_a_distribution_of_one_number_is_refused():
    with pytest.raises(ValueError, match="must be a function of its parents"):
        DistributionNode(Gamma(1.0, 1.0)).bind(CASES, (RATE,))
    with pytest.raises(ValueError, match="must be of one number"):
        DistributionNode(MultivariateNormal([0.0, 0.0], np.eye(2))).bind(RATE, ())
    node = DistributionNode(lambda rate: 1.0).bind(CASES, (RATE,))
    with pytest.raises(TypeError, match="must return a distribution; found float"):
        node.log_prob({"rate": np.ones(1), "cases": np.ones(1)})
