"""The judge of learned precisions agrees with the dense marginal of the targets."""

import numpy as np
import pytest
from benchmarks.linear_data import LinearData, evidence_at, linear_data
from numpy.testing import assert_allclose


def dense_evidence(data, weight_precision, noise_precision):
    """Return log p(y), the flat intercept integrated out of the n x n normal."""
    n, d = data.X.shape
    cov = data.X @ np.diag(1 / np.broadcast_to(weight_precision, d)) @ data.X.T
    inverse = np.linalg.inv(cov + np.eye(n) / noise_precision)
    ones = np.ones(n)
    total = ones @ inverse @ ones
    fit = ones @ inverse @ data.y / total
    rest = data.y - fit
    log_det = -np.linalg.slogdet(inverse)[1]
    quadratic = rest @ inverse @ rest
    return -0.5 * ((n - 1) * np.log(2 * np.pi) + log_det + np.log(total) + quadratic)


@pytest.mark.parametrize(("n_samples", "n_features"), [(12, 3), (4, 9), (5, 5)])
def test_evidence_at_given_precisions_matches_the_dense_normal(n_samples, n_features):
    data = linear_data(n_samples, n_features, n_test=0)
    precision = np.linspace(0.5, 3.0, n_features)
    assert_allclose(evidence_at(data, precision, 0.7), dense_evidence(data, precision, 0.7))


def test_an_infinite_precision_switches_a_column_off():
    data = linear_data(20, 3, n_test=0)
    fewer = LinearData(data.X[:, :2], data.y, data.X_test, data.y_test)
    assert_allclose(evidence_at(data, [1.0, 1.0, np.inf], 0.7), evidence_at(fewer, 1.0, 0.7))


def test_the_data_are_the_same_at_every_call():
    first, second = linear_data(20, 4), linear_data(20, 4)
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(first.y_test, second.y_test)
