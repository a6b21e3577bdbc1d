import numpy as np
from numpy.testing import assert_allclose

from credo.inference import run
from credo.inference.site.laplace import SiteLaplace
from credo.inference.site.likelihood import LogitLikelihood
from credo.inference.site.prior import CovariancePrior
from credo.inference.site.problem import SiteProblem
from credo.inference.site.softmax import SoftmaxLaplace, SoftmaxProblem

X = np.array([-1.3, -0.4, 0.1, 0.9, 1.4, 2.6, 2.7])
CODE = np.array([0, 1, 0, 2, 1, 2, 2])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.5])
ENGINE = SoftmaxLaplace(1e-9)


def covariance(log_variance=0.5, log_scale=0.0):
    gap = np.subtract.outer(X, X) / np.exp(log_scale)
    return np.exp(log_variance - 0.5 * gap**2)


def dense_curvature(posterior):
    """Return the curvature of minus the log likelihood as one matrix, class by class."""
    p, n = posterior.probability, len(X)
    W = np.zeros((3 * n, 3 * n))
    for i in range(n):
        at = i + n * np.arange(3)
        W[np.ix_(at, at)] = WEIGHT[i] * (np.diag(p[:, i]) - np.outer(p[:, i], p[:, i]))
    return W


def test_mode_evidence_and_covariance_are_those_of_one_large_matrix():
    K = covariance()
    found = run(ENGINE, SoftmaxProblem(K, CODE, 3, WEIGHT))
    posterior, n = found.posterior, len(X)
    large, W = np.kron(np.eye(3), K), dense_curvature(posterior)
    slope = WEIGHT * (np.eye(3)[CODE].T - posterior.probability)
    assert_allclose(posterior.mean.ravel(), large @ slope.ravel(), atol=1e-8)
    value = WEIGHT @ np.log(posterior.probability[CODE, np.arange(n)])
    value -= 0.5 * posterior.mean.ravel() @ np.linalg.solve(large, posterior.mean.ravel())
    value -= 0.5 * np.linalg.slogdet(np.eye(3 * n) + large @ W)[1]
    assert_allclose(found.log_evidence, value, rtol=1e-9)
    S = (np.linalg.inv(np.linalg.inv(large) + W)).reshape(3, n, 3, n)
    blocks = posterior.row_covariance(K, K.diagonal())
    assert_allclose(blocks, np.einsum("cidi->icd", S), atol=1e-8)


def test_the_gradient_is_that_of_the_evidence():
    def evidence(theta):
        return run(ENGINE, SoftmaxProblem(covariance(*theta), CODE, 3, WEIGHT)).log_evidence

    theta, step = np.array([0.4, 0.2]), 1e-4
    K = covariance(*theta)
    gap = np.subtract.outer(X, X) / np.exp(theta[1])
    G = run(ENGINE, SoftmaxProblem(K, CODE, 3, WEIGHT)).posterior.prior_gradient()
    found = [0.5 * np.sum(G * K), 0.5 * np.sum(G * K * gap**2)]
    units = step * np.eye(2)
    expected = [(evidence(theta + u) - evidence(theta - u)) / (2 * step) for u in units]
    assert_allclose(found, expected, rtol=1e-6)


def test_two_classes_are_the_logistic_model_of_their_difference():
    code = (CODE > 0).astype(int)
    joint = run(ENGINE, SoftmaxProblem(covariance(), code, 2, WEIGHT))
    prior = CovariancePrior(2.0 * covariance())
    single = run(SiteLaplace(1e-9), SiteProblem(prior, LogitLikelihood(), 1.0 * code, WEIGHT))
    assert_allclose(joint.log_evidence, single.log_evidence, rtol=1e-9)
    mean = joint.posterior.mean
    assert_allclose(mean[1] - mean[0], single.posterior.mean, rtol=1e-7)
