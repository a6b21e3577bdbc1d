import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from credo.numerics.special import normal_shares as module
from credo.numerics.special.normal_shares import normal_shares


def problem(n=700, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * [1.0, 100.0, 0.01][:d] + [5.0, -300.0, 2.0][:d]
    centers = x[:k]
    root = rng.normal(size=(k, d, d)) * 0.3 + np.eye(d)
    unit = np.array([1.0, 100.0, 0.01][:d])
    lower = np.linalg.cholesky(root @ root.swapaxes(1, 2)) * unit[:, None]
    return x, rng.uniform(0.5, 2.0, n), rng.normal(size=k), centers, lower


def expected(x, weight, offset, centers, covariance):
    k, d = centers.shape
    logs = np.stack(
        [
            offset[c]
            + stats.multivariate_normal(centers[c], covariance[c]).logpdf(x)
            + 0.5 * (d * np.log(2 * np.pi) + np.linalg.slogdet(covariance[c])[1])
            for c in range(k)
        ],
        axis=1,
    )
    share = special.softmax(logs, axis=1) * weight[:, None]
    mean = share.T @ x / share.sum(axis=0)[:, None]
    scatter = [((x - mean[c]) * share[:, [c]]).T @ (x - mean[c]) for c in range(k)]
    return weight @ special.logsumexp(logs, axis=1), share.sum(axis=0), mean, np.stack(scatter)


@pytest.mark.parametrize("far", [1e6, -1.0])
@pytest.mark.parametrize("least", [1, 1 << 30])
def test_moments_are_those_of_rows_by_their_responsibilities(far, least, monkeypatch):
    monkeypatch.setattr(module, "FAR", far)
    monkeypatch.setattr(module, "WORTH_A_LOOP", least)
    x, weight, offset, centers, lower = problem()
    found = normal_shares(x, weight, offset, centers, lower)
    log_total, count, mean, scatter = expected(
        x, weight, offset, centers, lower @ lower.swapaxes(1, 2)
    )
    assert_allclose(found.log_total, log_total, rtol=1e-10)
    assert_allclose(found.weight, count, rtol=1e-9)
    assert_allclose(found.mean, mean, rtol=1e-9)
    unit = np.sqrt(np.diagonal(scatter, axis1=1, axis2=2))
    assert_allclose(
        found.scatter / (unit[:, None] * unit[..., None]),
        scatter / (unit[:, None] * unit[..., None]),
        atol=1e-9,
    )


@pytest.mark.parametrize("far", [1e6, -1.0])
def test_independent_columns_are_vectors_of_diagonal_covariance(far, monkeypatch):
    monkeypatch.setattr(module, "FAR", far)
    x, weight, offset, centers, lower = problem()
    scale = np.abs(np.diagonal(lower, axis1=1, axis2=2))
    found = normal_shares(x, weight, offset, centers, scale)
    full = normal_shares(x, weight, offset, centers, scale[..., None] * np.eye(3))
    assert_allclose(found.log_total, full.log_total, rtol=1e-10)
    assert_allclose(found.mean, full.mean, rtol=1e-9)
    assert_allclose(found.scatter, np.diagonal(full.scatter, axis1=1, axis2=2), rtol=1e-7)


def test_tight_clusters_far_apart_keep_their_digits():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [1e6, -1e6]])
    x = np.concatenate([center + 1e-3 * rng.normal(size=(500, 2)) for center in centers])
    lower = np.tile(1e-3 * np.eye(2), (2, 1, 1))
    found = normal_shares(x, None, np.zeros(2), centers, lower)
    for c in range(2):
        rows = x[500 * c : 500 * (c + 1)]
        away = rows - rows.mean(axis=0)
        assert_allclose(found.scatter[c], away.T @ away, rtol=1e-6, atol=1e-12)
    # The product form alone would lose all of them.
    unit = np.abs(found.scatter).max()
    plain = x[500:].T @ x[500:] - 500 * np.outer(x[500:].mean(axis=0), x[500:].mean(axis=0))
    assert np.abs(plain - found.scatter[1]).max() > unit


def test_chunks_of_threads_add_up():
    x, _, offset, centers, lower = problem(40_000)
    whole = normal_shares(x, None, offset, centers, lower)
    parts = [normal_shares(part, None, offset, centers, lower) for part in np.split(x, 4)]
    assert_allclose(whole.log_total, sum(part.log_total for part in parts), rtol=1e-12)
    assert_allclose(whole.weight, sum(part.weight for part in parts), rtol=1e-10)


@pytest.mark.parametrize("far", [1e6, -1.0])
@pytest.mark.parametrize("n", [1, 6, 7, 701])
def test_components_without_weight_take_no_rows(n, far, monkeypatch):
    monkeypatch.setattr(module, "FAR", far)
    x, weight, offset, centers, lower = problem()
    x, weight = x[:n], weight[:n]
    dead = np.array([True, False, False, True])
    found = normal_shares(x, weight, np.where(dead, -np.inf, offset), centers, lower)
    alone = normal_shares(x, weight, offset[~dead], centers[~dead], lower[~dead])
    assert_allclose(found.weight[dead], 0.0, atol=0.0)
    assert_allclose(found.weight[~dead], alone.weight, rtol=1e-12)
    assert_allclose(found.log_total, alone.log_total, rtol=1e-12)
    assert_allclose(found.mean[dead], centers[dead])
