from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

from credo.families import (
    BernoulliStatistics,
    BetaBernoulli,
    CategoricalStatistics,
    DirichletCategorical,
)

PRIOR = DirichletCategorical([0.5, 1.0, 2.5])


def test_maximum_likelihood_matches_a_constrained_optimizer():
    s = CategoricalStatistics.of([0, 0, 1, 2, 2, 2, 2], n_states=3)
    found = optimize.minimize(
        lambda p: -(s.counts * np.log(p)).sum(),
        np.full(3, 1 / 3),
        bounds=[(1e-6, 1)] * 3,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-12},
    )
    assert_allclose(s.maximum_likelihood().probability, found.x, atol=1e-5)
    assert_allclose(s.maximum_likelihood().probability, [2 / 7, 1 / 7, 4 / 7])


def test_posterior_mean_adds_pseudo_counts():
    s = CategoricalStatistics.of([0, 0, 1, 0], n_states=3)
    beta = 0.3
    mean = DirichletCategorical(np.full(3, beta)).update(s).mean()
    assert_allclose(mean.probability, (np.array([3, 1, 0]) + beta) / (4 + 3 * beta))


def test_without_observations_every_state_has_the_same_probability():
    nothing = CategoricalStatistics.of(np.empty(0), n_states=4)
    assert_allclose(
        DirichletCategorical(np.full(4, 0.1)).update(nothing).mean().probability, 0.25
    )


def test_mode_matches_a_constrained_optimizer_and_is_undefined_for_a_flat_belief():
    belief = DirichletCategorical([1.5, 3.0, 2.0])
    assert_allclose(belief.mode().probability, np.array([0.5, 2.0, 1.0]) / 3.5)
    with pytest.raises(ValueError, match=r"above 1 for the belief to have one mode; found 1"):
        DirichletCategorical(np.ones(3)).mode()


def test_evidence_of_all_sequences_sums_to_one():
    total = sum(
        np.exp(PRIOR.log_evidence(CategoricalStatistics.of(codes, n_states=3)))
        for codes in product(range(3), repeat=4)
    )
    assert_allclose(total, 1.0)


def test_two_states_are_the_bernoulli_family():
    x = np.array([[0.0, 1.0], [1.0, 1.0], [np.nan, 0.0]])
    two = DirichletCategorical([2.0, 1.5])
    yes = BetaBernoulli(1.5, 2.0)
    s, t = CategoricalStatistics.of(x, n_states=2), BernoulliStatistics.of(x)
    assert_allclose(two.log_evidence(s), yes.log_evidence(t))
    assert_allclose(
        two.update(s).predictive().probability[:, 1], yes.update(t).predictive().probability
    )
    assert_allclose(two.update(s).kl(two), yes.update(t).kl(yes))
    assert_allclose(two.expected_log_density(x), yes.expected_log_density(x))


def test_expected_log_density_is_a_difference_of_digammas():
    expected = special.digamma([2.5, 0.5]) - special.digamma(4.0)
    assert_allclose(PRIOR.expected_log_density([2, 0]), expected)


def test_counts_match_a_count_by_hand_with_weights_and_groups():
    x = np.array([[0, 2], [1, np.nan], [1, 2]])
    s = CategoricalStatistics.by_group(x, [1, 1, 0], 2, [0.5, 1.0, 2.0], n_states=3)
    assert_allclose(s.counts[0], [[0, 2, 0], [0, 0, 2]])
    assert_allclose(s.counts[1], [[0.5, 1, 0], [0, 0, 0.5]])
    assert_allclose(s.weight, [[2, 2], [1.5, 0.5]])


def test_codes_outside_the_states_are_refused():
    with pytest.raises(
        ValueError, match=r"a state code from 0 to 1, or NaN; found 2 at index 1"
    ):
        CategoricalStatistics.of([0, 2], n_states=2)
