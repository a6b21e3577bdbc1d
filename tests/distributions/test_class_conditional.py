""""""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import mahalanobis

from credo.distributions import MultivariateNormal, MultivariateStudentT, Normal, StudentT
from credo.distributions.class_conditional import ClassConditional, mahalanobis_squares

LOC = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5], [-1.0, -1.0, 3.0]])
MATRICES = np.array([np.eye(3), np.eye(3) + 0.5, np.diag([0.2, 4.0, 1.0])])
DENSITIES = [
    MultivariateNormal(LOC, MATRICES),
    MultivariateNormal(LOC, MATRICES[1]),
    MultivariateStudentT([3.0, 5.0, 9.0], LOC, MATRICES),
    Normal(LOC, 0.5 + LOC**2),
    StudentT(3.0 + LOC**2, LOC, 0.5 + LOC**2),
]
LOG_WEIGHT = np.log([0.2, 0.3, 0.5])


def by_hand(density, row):
    """Return the log joint of one row, class by class, over the columns it has."""
    kept = np.flatnonzero(~np.isnan(row))
    if density.loc.shape == density.batch_shape:
        terms = density.log_prob(row)[:, kept].sum(axis=1)
    else:
        terms = density.marginal(kept.tolist()).log_prob(row[kept])
    return LOG_WEIGHT + terms


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: type(d).__name__)
def test_log_joint_is_log_weight_plus_log_density_of_what_is_present(density):
    rng = np.random.default_rng(0)
    x = 3.0 * rng.normal(size=(50, 3))
    x[rng.random(x.shape) < 0.2] = np.nan
    x = x[~np.isnan(x).all(axis=1)]
    found = ClassConditional(LOG_WEIGHT, density).log_joint(x)
    assert_allclose(found, [by_hand(density, row) for row in x], atol=1e-12)


@pytest.mark.parametrize("density", DENSITIES, ids=lambda d: type(d).__name__)
def test_samples_have_the_weights_and_locations_of_the_classes(density):
    joint = ClassConditional(LOG_WEIGHT + 7.0, density)
    rows, classes = joint.sample(np.random.default_rng(1), 30_000)
    share = np.bincount(classes) / 30_000
    assert_allclose(share, [0.2, 0.3, 0.5], atol=4 * np.sqrt(0.25 / 30_000))
    middle = [np.median(rows[classes == c], axis=0) for c in range(3)]
    assert_allclose(middle, LOC, atol=0.45)


def test_posterior_is_bayes_rule_and_density_its_denominator():
    joint = ClassConditional(LOG_WEIGHT, DENSITIES[0])
    x = np.array([[0.5, 0.5, 0.5]])
    terms = np.exp(by_hand(DENSITIES[0], x[0]))
    assert_allclose(np.exp(joint.log_posterior(x)), [terms / terms.sum()])
    assert_allclose(np.exp(joint.log_marginal(x)), [terms.sum()])


def test_linear_discriminant_gives_the_posterior():
    joint = ClassConditional(LOG_WEIGHT, DENSITIES[1])
    coef, intercept = joint.linear_discriminant()
    x = np.random.default_rng(2).normal(size=(5, 3))
    score = x @ coef.T + intercept
    found = score - np.log(np.exp(score).sum(axis=1, keepdims=True))
    assert_allclose(found, joint.log_posterior(x))


def test_linear_discriminant_needs_vectors():
    with pytest.raises(TypeError, match="share one covariance; found Normal"):
        ClassConditional(LOG_WEIGHT, DENSITIES[3]).linear_discriminant()


def covariances(k, d):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(k, d, d))
    return roots @ roots.swapaxes(-1, -2) + 0.1 * np.eye(d)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squares_are_those_of_scipy(offset):
    rng = np.random.default_rng(1)
    x, centers, matrices = rng.normal(size=(9, 4)), rng.normal(size=(3, 4)), covariances(3, 4)
    found = mahalanobis_squares(x + offset, centers + offset, np.linalg.cholesky(matrices))
    inverses = np.linalg.inv(matrices)
    expected = [
        [mahalanobis(row, c, v) ** 2 for c, v in zip(centers, inverses, strict=True)]
        for row in x
    ]
    # Values near a million keep ten digits after the point, so their differences do too.
    assert_allclose(found, expected, rtol=1e-9 if offset == 0 else 1e-6)


def test_one_factor_serves_all_centers():
    rng = np.random.default_rng(2)
    x, centers, matrix = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), covariances(1, 3)
    lower = np.linalg.cholesky(matrix)
    every = np.repeat(lower, 4, axis=0)
    assert_allclose(
        mahalanobis_squares(x, centers, lower[0]), mahalanobis_squares(x, centers, every)
    )


def test_rows_in_many_blocks_are_all_answered():
    x = np.random.default_rng(3).normal(size=(70_000, 2))
    found = mahalanobis_squares(x, np.zeros((1, 2)), np.eye(2))
    assert_allclose(found[:, 0], (x**2).sum(axis=1))


def test_units_of_the_columns_change_no_distance():
    rng = np.random.default_rng(0)
    unit = np.array([1e-31, 1.0, 1e2, 1e-31, 1.0, 1.0, 1.0])
    lower = np.tril(rng.normal(size=(9, 7, 7))) + 2.0 * np.eye(7)
    # The last columns, such as those of one category, all lean on the first alike.
    lower[:, 4:, :4] = np.array([1.25, 1.0, -1.0])[:, None] * rng.normal(0.0, 1e-3, (9, 1, 4))
    x, centers = rng.normal(size=(5, 7)), rng.normal(size=(9, 7))
    found = mahalanobis_squares(x * unit, centers * unit, unit[:, None] * lower)
    assert_allclose(found, mahalanobis_squares(x, centers, lower), rtol=1e-9)
