import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics

from credo.distributions import Categorical
from credo.evaluation import brier_decomposition, brier_score, log_score


def predictions(k, n=200, seed=0):
    """Return calibrated predictions of k classes and what came true."""
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.full(k, 0.7), n)
    labels = np.array(list("abcdefg"[:k]))
    codes = (rng.uniform(size=(n, 1)) > probability.cumsum(axis=1)).sum(axis=1)
    return Categorical(probability, labels), labels[np.minimum(codes, k - 1)]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_mean_scores_are_those_of_scikit_learn(k):
    predictive, y = predictions(k)
    brier = metrics.brier_score_loss(
        y,
        predictive.probability if k > 2 else predictive.probability[:, 1],
        labels=predictive.labels,
        pos_label="b" if k == 2 else None,
    )
    assert_allclose(brier_score(y, predictive).mean(), brier)
    loss = metrics.log_loss(y, predictive.probability, labels=predictive.labels)
    assert_allclose(-log_score(y, predictive).mean(), loss)


@pytest.mark.parametrize("k", [2, 4])
def test_the_true_probabilities_score_best_on_average(k):
    share = np.random.default_rng(3).dirichlet(np.ones(k))
    labels = np.arange(k)
    for other in np.random.default_rng(4).dirichlet(np.ones(k), 50):
        said = Categorical(np.tile(other, (k, 1)), labels)
        honest = Categorical(np.tile(share, (k, 1)), labels)
        assert share @ brier_score(labels, said) >= share @ brier_score(labels, honest)
        assert share @ log_score(labels, said) <= share @ log_score(labels, honest)


def test_scores_of_one_row_are_worked_by_hand():
    sky = Categorical([[0.2, 0.3, 0.5]], labels=["rain", "snow", "sun"])
    assert_allclose(brier_score(["snow"], sky), 0.2**2 + 0.7**2 + 0.5**2)
    assert_allclose(log_score(["snow"], sky), np.log(0.3))


def test_an_impossible_class_costs_infinity_and_a_missing_one_nothing():
    coin = Categorical([[1.0, 0.0], [0.5, 0.5]], labels=["head", "tail"])
    assert log_score(["tail", None], coin)[0] == -np.inf
    assert np.isnan(log_score(["tail", None], coin)[1])
    assert np.isnan(brier_score(["tail", None], coin)[1])
    assert brier_score(["tail", None], coin)[0] == 1.0


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("n_bins", [1, 7, 1000])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_parts_of_the_brier_score_add_up_exactly(k, n_bins, is_weighted):
    predictive, y = predictions(k)
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 200) if is_weighted else None
    parts = brier_decomposition(y, predictive, n_bins=n_bins, sample_weight=weight)
    expected = np.average(brier_score(y, predictive), weights=weight)
    assert_allclose(parts.value, expected, rtol=1e-12)
    assert min(parts.reliability, parts.resolution, parts.within_bin_variance) >= 0


def test_repeated_probabilities_leave_nothing_within_bins():
    probability = np.repeat([[0.9, 0.1], [0.4, 0.6]], [10, 10], axis=0)
    y = np.repeat(["no", "yes", "no", "yes"], [9, 1, 4, 6])
    parts = brier_decomposition(y, Categorical(probability, ["no", "yes"]))
    assert_allclose(parts.reliability, 0.0, atol=1e-15)
    assert_allclose(parts.uncertainty, 0.35 * 0.65)
    assert_allclose(parts.resolution, 0.25**2)
    assert_allclose([parts.within_bin_variance, parts.within_bin_covariance], 0.0, atol=1e-15)


def test_constant_probabilities_have_no_resolution():
    y = np.repeat(["no", "yes"], [7, 3])
    parts = brier_decomposition(y, Categorical(np.tile([0.5, 0.5], (10, 1)), ["no", "yes"]))
    assert_allclose(parts.resolution, 0.0, atol=1e-15)
    assert_allclose(parts.reliability, 0.2**2)


def test_what_does_not_fit_the_predictions_is_refused():
    coin = Categorical([[0.5, 0.5], [0.5, 0.5]], labels=["head", "tail"])
    with pytest.raises(ValueError, match=r"labels \['head', 'tail'\] .* found \['edge'\]"):
        brier_score(["head", "edge"], coin)
    with pytest.raises(ValueError, match="found 1 classes for predictions of shape"):
        log_score(["head"], coin)
    with pytest.raises(ValueError, match=r"each of the 1 classes .* found shape \(1, 2\)"):
        brier_score(["head"], np.array([[0.5, 0.5]]))
    with pytest.raises(ValueError, match="sums to 1"):
        Categorical([[0.5, 0.6]], labels=["head", "tail"])
