"""Mixtures of normals as answers."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import Mixture, Normal
from credo.graphs import Variable
from credo.inference.hybrid.real_posterior import HybridPosterior, RealPosterior

WEIGHT = np.array([[0.2, 0.8, 0.0], [1.0, 0.0, 0.0]])
MEAN = np.array([[0.0, 2.0, 9.0], [1.0, 5.0, 9.0]])
VARIANCE = np.array([[1.0, 0.25, 4.0], [2.0, 1.0, 4.0]])


def test_moments_agree_with_the_distribution():
    posterior = RealPosterior(WEIGHT, MEAN, VARIANCE)
    both = posterior.mixture()
    assert_allclose(posterior.total_mean(), both.mean())
    assert_allclose(posterior.total_variance(), both.variance())
    one = posterior.mixture(0)
    assert isinstance(one, Mixture)
    assert len(one.components) == 2
    assert_allclose(one.mean(), 1.6)


def test_a_single_component_is_a_normal():
    single = RealPosterior(WEIGHT, MEAN, VARIANCE).mixture(1)
    assert isinstance(single, Normal)
    assert_allclose(single.variance(), 2.0)


def test_joint_answers_by_table_moments_and_mixture():
    a, b = Variable("a", ("x", "y")), Variable("b", (0, 1, 2))
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.ones(6), size=2).reshape(2, 2, 3)
    mean, root = rng.normal(size=(2, 2, 3, 2)), rng.normal(size=(2, 2, 3, 2, 2))
    covariance = root @ root.swapaxes(-1, -2) + np.eye(2)
    joint = HybridPosterior((a, b), ("u", "v"), weight, mean, covariance)
    assert_allclose(joint.table(["b", "a"])[0], weight[0].T)
    assert_allclose(joint.table(["b"]), weight.sum(axis=1))
    mixture = joint.mixture(1)
    assert_allclose(mixture.mean(), joint.total_mean()[1])
    normals = [
        stats.multivariate_normal(mean[1, i, k], covariance[1, i, k])
        for i in range(2)
        for k in range(3)
    ]
    point = np.array([0.3, -0.4])
    density = weight[1].ravel() @ [normal.pdf(point) for normal in normals]
    assert_allclose(mixture.log_prob(point), np.log(density))
    draws = mixture.sample(np.random.default_rng(1), 200_000)
    assert_allclose(np.cov(draws.T), joint.total_covariance()[1], rtol=0.05, atol=0.05)


def test_frames_label_settings_and_components():
    a = Variable("a", ("x", "y"))
    joint = HybridPosterior(
        (a,), ("u",), np.array([[0.3, 0.7]]), np.array([[[1.0], [2.0]]]), np.ones((1, 2, 1, 1))
    )
    frame = joint.frame()
    assert frame.index.name == "a"
    assert list(frame.columns) == ["probability", "mean of u", "std of u"]
    assert_allclose(frame.loc["y"], [0.7, 2.0, 1.0])
