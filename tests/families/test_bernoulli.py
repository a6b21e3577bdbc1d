import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.families import BernoulliStatistics, BetaBernoulli

UNIFORM = BetaBernoulli(1.0, 1.0)
COIN = np.repeat([1.0, 0.0], [750, 250])


def test_coin_with_750_heads_in_1000_reproduces_every_number_of_the_text():
    tossed = BernoulliStatistics.of(COIN)
    posterior = UNIFORM.update(tossed)
    probability = posterior.parameters()
    assert_allclose(UNIFORM.log_evidence(tossed), -565.7077103313, atol=5e-11 * 565)
    assert_allclose(posterior.mean().probability, 0.7495009980, atol=5e-11)
    assert_allclose(posterior.mode().probability, 0.75, rtol=1e-12)
    assert_allclose(probability.std(), 0.0136816552, atol=5e-11)
    assert_allclose(probability.variance(), 0.000187187689, atol=5e-13)
    assert_allclose(probability.quantile(0.5), 0.7496670532, atol=5e-11)
    assert_allclose(probability.interval(0.95), [0.7222225, 0.7758361], atol=5e-8)
    assert_allclose(probability.prob(0.75), 29.1532299896, atol=5e-10)
    likelihood = tossed.maximum_likelihood().log_prob(COIN).sum()
    assert_allclose(likelihood, -562.3351446188, atol=5e-10)


def test_unknown_coin_beats_the_fair_coin_by_the_bayes_factor_of_the_text():
    fair = 1000 * np.log(0.5)
    assert_allclose(fair, -693.1471805599, atol=5e-10)
    evidence = UNIFORM.log_evidence(BernoulliStatistics.of(COIN))
    assert_allclose(evidence - fair, 127.4394702287, atol=5e-9)


def test_map_is_not_invariant_the_mode_in_logit_coordinates_is_elsewhere():
    belief = UNIFORM.update(BernoulliStatistics.of(COIN))
    assert_allclose(belief.mode().probability, 0.75)
    probability = belief.parameters()
    grid = np.linspace(0.7, 0.8, 200_001)
    in_logit = probability.log_prob(grid) + np.log(grid * (1 - grid))
    assert_allclose(grid[in_logit.argmax()], 751 / 1002, atol=1e-6)
    assert_allclose(grid[probability.log_prob(grid).argmax()], 0.75, atol=1e-6)


def test_one_head_in_one_flip_gives_map_one_and_bayes_estimate_two_thirds():
    posterior = UNIFORM.update(BernoulliStatistics.of([1.0]))
    assert posterior.mode().probability == 1.0
    assert_allclose(posterior.mean().probability, 2 / 3)
    assert_allclose(posterior.parameters().prob([0.2, 0.9]), [0.4, 1.8])
    assert_allclose(posterior.parameters().std(), 0.2357022604, atol=5e-11)


def test_without_data_bayes_estimate_is_a_half_and_mode_and_likelihood_are_undefined():
    assert UNIFORM.mean().probability == 0.5
    with pytest.raises(ValueError, match=r"above 1 .* found 1\. Use mean"):
        UNIFORM.mode()
    with pytest.raises(ValueError, match=r"positive for maximum likelihood; found 0"):
        BernoulliStatistics.of(np.empty((0, 1))).maximum_likelihood()


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, 0.2), (0.5, 0.125)])
def test_feature_never_seen_in_three_rows_gets_its_pseudo_count(alpha, expected):
    never = BernoulliStatistics.of(np.zeros((3, 1)))
    assert_allclose(BetaBernoulli(alpha, alpha).update(never).mean().probability, [expected])


def test_feature_without_rows_gets_one_half():
    nothing = BernoulliStatistics.of(np.zeros((0, 1)))
    assert_allclose(BetaBernoulli(0.3, 0.3).update(nothing).mean().probability, [0.5])


def test_map_under_a_flat_prior_is_maximum_likelihood():
    s = BernoulliStatistics.of(np.random.default_rng(0).integers(0, 2, (20, 3)))
    assert_allclose(UNIFORM.update(s).mode().probability, s.maximum_likelihood().probability)


def test_evidence_matches_quadrature():
    prior, s = (
        BetaBernoulli(1.7, 0.8),
        BernoulliStatistics.of([1.0, 1.0, 0.0, 1.0], [1, 0.5, 2, 1]),
    )
    value, _ = integrate.quad(
        lambda p: p**2.5 * (1 - p) ** 2 * stats.beta(1.7, 0.8).pdf(p), 0, 1, points=[0.99]
    )
    assert_allclose(np.exp(prior.log_evidence(s)), value, rtol=1e-7)


def test_expected_log_density_matches_quadrature():
    belief = BetaBernoulli(1.7, 3.2)
    weight = stats.beta(1.7, 3.2).pdf
    yes, _ = integrate.quad(lambda p: weight(p) * np.log(p), 0, 1)
    no, _ = integrate.quad(lambda p: weight(p) * np.log1p(-p), 0, 1)
    assert_allclose(
        belief.expected_log_density([1.0, 0.0, np.nan]), [yes, no, np.nan], rtol=1e-7
    )


def test_posterior_narrows_like_one_over_n():
    def variance(n):
        s = BernoulliStatistics.of([1.0, 0.0, 0.0], np.full(3, n / 3))
        return float(UNIFORM.update(s).parameters().variance())

    assert_allclose(variance(1e6) * 1e6, 2 / 9, rtol=1e-4)
    assert_allclose(variance(1e4) / variance(1e6), 100, rtol=1e-3)


def test_plug_in_prediction_converges_to_the_full_prediction():
    prior = BetaBernoulli(3.0, 9.0)
    for n in (10, 100, 1000, 10_000):
        s = BernoulliStatistics.of([1.0, 0.0], [0.7 * n, 0.3 * n])
        full = prior.update(s).predictive().probability
        gap = s.maximum_likelihood().probability - full
        assert_allclose(gap, (0.7 - 0.25) * 12 / (n + 12))


def test_prior_learned_from_many_coins_maximizes_their_evidence():
    heads = np.random.default_rng(0).binomial(20, stats.beta(8, 4).rvs(400, random_state=1))
    s = BernoulliStatistics(heads.astype(float), 20.0 - heads)
    strengths = np.linspace(2, 40, 77)
    evidence = [BetaBernoulli(k * 2 / 3, k / 3).log_evidence(s).sum() for k in strengths]
    at_twelve = special.betaln(8 + heads, 24 - heads) - special.betaln(8, 4)
    assert_allclose(evidence[20], at_twelve.sum())
    # Beta(8, 4) made the coins: the empirical prior finds its strength 12 from data alone.
    assert 9 < strengths[int(np.argmax(evidence))] < 16


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[0.0, 2.0]], r"x must be 0, 1 or NaN; found 2 at index \(0, 1\)\. Code the two"),
        ([[np.inf]], r"x must be finite; found inf at index \(0, 0\)\. Write NaN"),
        (1.0, r"x must hold rows .* found a single number"),
    ],
)
def test_impossible_rows_are_refused_in_three_parts(x, message):
    with pytest.raises(ValueError, match=message):
        BernoulliStatistics.of(x)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], r"weight must be non-negative and finite; found -1 at index 1\. Leave"),
        ([1.0], r"weight must be one number or one per row, shape \(2,\); found shape \(1,\)"),
    ],
)
def test_impossible_weights_are_refused_in_three_parts(weight, message):
    with pytest.raises(ValueError, match=message):
        BernoulliStatistics.of([[1.0], [0.0]], weight)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ([0, 3], r"label must be an integer from 0 to 1; found 3 at index 1\. Code groups"),
        ([0], r"label must give one group per row, shape \(2,\); found shape \(1,\)"),
    ],
)
def test_impossible_labels_are_refused_in_three_parts(label, message):
    with pytest.raises(ValueError, match=message):
        BernoulliStatistics.by_group([[1.0], [0.0]], label, 2)


def test_improper_pseudo_counts_are_refused():
    with pytest.raises(ValueError, match=r"b must be positive; found 0 at index 1"):
        BetaBernoulli(1.0, [1.0, 0.0])


def test_forgetting_rows_that_were_never_added_is_refused():
    with pytest.raises(ValueError, match=r"non-negative; found -1.*part of the total"):
        BernoulliStatistics.of([0.0, 0.0]) - BernoulliStatistics.of([1.0])


def test_beliefs_broadcast_over_groups_and_pick_one_by_index():
    groups = BernoulliStatistics.by_group([[1, 0], [1, 1], [0, 0]], [0, 0, 1], 2)
    posterior = BetaBernoulli(1.0, [1.0, 2.0]).update(groups)
    assert_allclose(posterior.a, [[3, 2], [1, 1]])
    assert_allclose(posterior[1].b, [2, 3])
    assert posterior.log_evidence(groups[0]).shape == (2, 2)
