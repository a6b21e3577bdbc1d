import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.calibration import _sigmoid_calibration

from credo.inference.margin.score_probability import ScoreSigmoid, coupled_probability


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_the_sigmoid_is_that_of_platt(scale):
    rng = np.random.default_rng(0)
    score = scale * rng.normal(size=200)
    is_second = rng.random(200) < 1.0 / (1.0 + np.exp(-2.0 * score / scale - 0.5))
    weight = rng.integers(1, 4, size=200).astype(float)
    found = ScoreSigmoid.of(score, is_second, weight)
    copies = weight.astype(int)
    a, b = _sigmoid_calibration(np.repeat(score / scale, copies), np.repeat(is_second, copies))
    assert_allclose([found.slope * scale, found.offset], [-a, -b], rtol=1e-4)


@pytest.mark.parametrize("times", [None, 5.0])
def test_no_sigmoid_has_more_likelihood(times):
    rng = np.random.default_rng(1)
    score, weight = rng.normal(size=60) + 3.0, rng.uniform(0.5, 2.0, size=60)
    is_second = rng.random(60) < 0.7 - 0.2 * (score < 3.0)
    factor = None if times is None else np.where(is_second, times, 1.0)
    found = ScoreSigmoid.of(score, is_second, weight, factor)
    n, m = weight[is_second].sum(), weight[~is_second].sum()
    target = np.where(is_second, (n + 1) / (n + 2), 1 / (m + 2))

    counted = weight if factor is None else weight * factor

    def loss(point):
        p = 1.0 / (1.0 + np.exp(-(point[0] * score + point[1])))
        return -(counted * (target * np.log(p) + (1 - target) * np.log(1 - p))).sum()

    best = minimize(loss, [0.0, 0.0], tol=1e-12)
    assert_allclose(loss([found.slope, found.offset]), best.fun, rtol=1e-12)
    assert_allclose(found.probability(np.array([found.middle])), [0.5])


def test_scores_worse_than_chance_leave_the_share_of_classes():
    score = np.linspace(-1.0, 1.0, 40)
    is_second = score < -0.5
    found = ScoreSigmoid.of(score, is_second, np.ones(40))
    assert found.slope > 0
    share = (10.0 * 11.0 / 12.0 + 30.0 / 32.0) / 40.0
    assert_allclose(found.probability(score), np.full(40, share), atol=1e-3)


def test_parted_scores_leave_a_doubt():
    score = np.linspace(-1.0, 1.0, 20)
    found = ScoreSigmoid.of(score, score > 0, np.ones(20))
    excess = found.probability(score) - np.where(score > 0, 11.0 / 12.0, 1.0 / 12.0)
    assert_allclose([excess.sum(), excess @ score], [0.0, 0.0], atol=1e-9)


def test_coupled_pairs_are_the_least_squares_of_their_disagreement():
    rng = np.random.default_rng(2)
    second = rng.uniform(0.05, 0.95, size=(6, 6))
    found = coupled_probability(second, 4)
    for pairs, p in zip(second, found, strict=True):
        share = np.zeros((4, 4))
        share[np.triu_indices(4, 1)] = 1.0 - pairs
        share.T[np.triu_indices(4, 1)] = pairs

        def loss(free, share=share):
            p = np.exp(free - free.max())
            p /= p.sum()
            return np.square(share.T * p[:, None] - share * p[None, :]).sum()

        best = minimize(loss, np.log(p + 1e-3), tol=1e-14)
        assert loss(np.log(p)) <= best.fun + 1e-12
    assert_allclose(found.sum(axis=1), 1.0)


def test_pairs_of_one_distribution_give_it_back():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    a, b = np.triu_indices(3, 1)
    assert_allclose(coupled_probability(p[:, b] / (p[:, a] + p[:, b]), 3), p)
    sure = coupled_probability(np.array([[0.0, 0.0, 1.0]]), 3)
    assert_allclose(sure, [[1.0, 0.0, 0.0]], atol=1e-6)


def test_rows_are_coupled_a_few_at_a_time_and_each_as_if_alone():
    n_classes = 50
    second = np.random.default_rng(0).uniform(size=(600, n_classes * (n_classes - 1) // 2))
    tracemalloc.start()
    found = coupled_probability(second, n_classes)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Two numbers for each pair of classes and row would be 24 MB.
    assert most < 10e6
    assert_allclose(found[550], coupled_probability(second[550:551], n_classes)[0])
    assert coupled_probability(second[:0], n_classes).shape == (0, n_classes)
