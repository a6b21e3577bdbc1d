import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions import MultivariateNormal, MultivariateStudentT, Normal, StudentT
from credo.distributions.class_conditional import ClassConditional

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
    assert_allclose(np.exp(joint.log_density(x)), [terms.sum()])


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
