"""Means of the softmax function against draws, closed forms and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.logistic.softmax_rows import class_coding
from credo.numerics.special.logistic_integral import log_logistic_normal_mean
from credo.numerics.special.softmax_normal import expected_softmax, log_expected_softmax


def scores(n, n_classes, size=2.0, seed=0):
    rng = np.random.default_rng(seed)
    j = n_classes - 1
    mean = size * rng.normal(size=(n, j))
    root = np.linalg.cholesky(
        np.stack([np.cov(rng.normal(size=(j, j + 3)) * size).reshape(j, j) for _ in range(n)])
    )
    return mean, root, class_coding(n_classes)


def between(root, coding):
    first, second = np.triu_indices(len(coding), 1)
    return (((coding[first] - coding[second]) @ root) ** 2).sum(axis=2)


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_means_are_those_over_many_draws(n_classes):
    mean, root, coding = scores(6, n_classes, size=1.0)
    z = np.random.default_rng(1).normal(size=(100_000, n_classes - 1))
    first, second = np.triu_indices(n_classes, 1)
    code = np.arange(6) % n_classes
    found = expected_softmax(mean @ coding.T, between(root, coding), code)
    logs = log_expected_softmax(mean, root, coding)
    for i in range(len(mean)):
        drawn = (mean[i] + z @ root[i].T) @ coding.T
        log_share = drawn - np.logaddexp.reduce(drawn, axis=1)[:, None]
        share = np.exp(log_share)
        assert_allclose(found.loss[i], -log_share[:, code[i]].mean(), rtol=0.06)
        assert_allclose(found.probability[i], share.mean(axis=0), atol=0.06)
        assert_allclose(np.exp(logs[i]), share.mean(axis=0), atol=0.015)
        products = (share[:, first] * share[:, second]).mean(axis=0)
        assert_allclose(found.bend[i], products, atol=0.012)


def test_two_classes_are_those_of_the_logistic_integral():
    mean, spread = np.array([-3.0, 0.5, 8.0]), np.array([0.3, 1.0, 2.5])
    both = np.stack([np.zeros(3), mean], axis=1)
    found = expected_softmax(both, spread[:, None] ** 2, np.array([1, 0, 1]))
    second = np.exp(log_logistic_normal_mean(mean, spread))
    assert_allclose(found.probability, np.stack([1.0 - second, second], axis=1), atol=3e-6)
    step = 1e-4
    slope = np.exp(log_logistic_normal_mean(mean + step, spread)) - second
    assert_allclose(found.bend[:, 0], slope / step, atol=1e-5)
    z = np.linspace(-9.0, 9.0, 2001)
    density = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    wrong = np.array([-1.0, 1.0, -1.0])[:, None] * (mean[:, None] + spread[:, None] * z)
    assert_allclose(found.loss, np.logaddexp(0.0, wrong) @ density, atol=1e-5)


def test_without_variance_they_are_values_at_a_point_however_far():
    at = np.array([[900.0, 0.0, -900.0], [0.3, 0.2, -1.0]])
    found = expected_softmax(at, np.zeros((2, 3)), np.array([2, 1]))
    share = np.exp(at - np.logaddexp.reduce(at, axis=1)[:, None])
    assert_allclose(found.probability, share, atol=1e-5)
    assert_allclose(found.loss, [1800.0, -np.log(share[1, 1])], rtol=1e-5)
    products = [share[:, 0] * share[:, 1], share[:, 0] * share[:, 2], share[:, 1] * share[:, 2]]
    assert_allclose(found.bend, np.transpose(products), atol=2e-5)
    wide = expected_softmax(at, np.full((2, 3), 1e12), np.array([2, 1]))
    assert np.isfinite(wide.loss).all()
    assert_allclose(wide.probability, 1.0 / 3.0, atol=0.01)


def test_far_tails_keep_their_digits():
    coding = class_coding(3)
    mean = np.array([[900.0, 0.0, -900.0]]) @ coding
    logs = log_expected_softmax(mean, np.eye(2)[None], coding)
    assert np.isfinite(logs).all()
    assert_allclose(logs[0, 2], -1800.0, atol=20.0)
