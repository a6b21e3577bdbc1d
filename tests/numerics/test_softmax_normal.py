"""Means of the softmax function against draws, closed forms and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.logistic_integral import log_logistic_normal_mean
from credo.numerics.softmax_normal import (
    expected_softmax,
    log_expected_softmax,
    mirrored,
)
from credo.numerics.softmax_rows import class_coding


def scores(n, n_classes, size=2.0, seed=0):
    rng = np.random.default_rng(seed)
    j = n_classes - 1
    mean = size * rng.normal(size=(n, j))
    root = np.linalg.cholesky(
        np.stack([np.cov(rng.normal(size=(j, j + 3)) * size).reshape(j, j) for _ in range(n)])
    )
    return mean, root, class_coding(n_classes)


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_means_are_those_over_many_draws(n_classes):
    mean, root, coding = scores(6, n_classes)
    z = np.random.default_rng(1).normal(size=(100_000, n_classes - 1))
    first, second = np.triu_indices(n_classes, 1)
    found = expected_softmax(mean, root, coding)
    logs = log_expected_softmax(mean, root, coding)
    for i in range(len(mean)):
        drawn = (mean[i] + z @ root[i].T) @ coding.T
        total = np.logaddexp.reduce(drawn, axis=1)
        share = np.exp(drawn - total[:, None])
        assert_allclose(found.log_total[i], total.mean(), rtol=0.03, atol=0.03)
        assert_allclose(found.probability[i], share.mean(axis=0), atol=0.03)
        assert_allclose(np.exp(logs[i]), share.mean(axis=0), atol=0.015)
        products = (share[:, first] * share[:, second]).mean(axis=0)
        assert_allclose(found.bend[i], products, atol=0.012)


def test_two_classes_are_accurate_to_rounding():
    mean, spread = np.array([[-3.0], [0.5], [8.0]]), np.array([0.3, 1.0, 2.5])
    root = spread[:, None, None]
    logs = log_expected_softmax(mean, root, class_coding(2))
    assert_allclose(logs[:, 1], log_logistic_normal_mean(mean[:, 0], spread), rtol=1e-7)
    assert_allclose(logs[:, 0], log_logistic_normal_mean(-mean[:, 0], spread), rtol=1e-7)


def test_probabilities_are_the_slopes_and_bends_the_curvature_of_the_log_total():
    mean, root, coding = scores(4, 4)
    step, found = 1e-5, expected_softmax(mean, root, coding)
    first, second = np.triu_indices(4, 1)
    bends = np.zeros((4, 4, 4))
    bends[:, first, second] = bends[:, second, first] = found.bend
    curvature = -bends
    curvature[:, range(4), range(4)] = bends.sum(axis=2)
    for j in range(3):
        ahead = expected_softmax(mean + step * np.eye(3)[j], root, coding)
        slope = (ahead.log_total - found.log_total) / step
        assert_allclose(slope, found.probability @ coding[:, j], atol=1e-4)
        change = (ahead.probability - found.probability) / step
        assert_allclose(change, curvature @ coding[:, j], atol=1e-4)


def test_a_mirrored_root_is_one_of_the_same_covariance_and_depends_on_its_row_alone():
    mean, root, _ = scores(5, 5)
    moved = mirrored(root, mean)
    assert_allclose(moved @ moved.swapaxes(1, 2), root @ root.swapaxes(1, 2))
    assert not np.allclose(moved, root)
    assert_allclose(mirrored(root[::-1], mean[::-1]), moved[::-1])


def test_far_tails_keep_their_digits():
    coding = class_coding(3)
    mean = np.array([[900.0, 0.0, -900.0]]) @ coding
    logs = log_expected_softmax(mean, np.eye(2)[None], coding)
    assert np.isfinite(logs).all()
    assert_allclose(logs[0, 2], -1800.0, atol=20.0)
