import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.engine.sweep import BlockMeans


def of(blocks):
    """Return the moments of blocks, shape (n_blocks, n_chains, ...)."""
    found = BlockMeans.empty(blocks.shape[1:])
    for block in blocks:
        found = found.with_block(block)
    return found


def test_moments_are_those_of_all_blocks_at_once():
    x = np.random.default_rng(0).random((30, 4, 3))
    found = of(x)
    assert_allclose(found.mean, x.mean(axis=0))
    assert_allclose(found.scatter, ((x - x.mean(axis=0)) ** 2).sum(axis=0))
    assert_allclose(found.between, x.mean(axis=0).var(axis=0, ddof=1))


def test_the_variance_within_counts_positive_covariance_of_neighbors():
    x = np.cumsum(np.random.default_rng(1).normal(size=(40, 2, 1)), axis=0)
    centered = x - x.mean(axis=0)
    variance = (centered**2).sum(axis=0).mean(axis=0) / 39
    lagged = (centered[1:] * centered[:-1]).sum(axis=0).mean(axis=0) / 39
    assert lagged > 0
    assert_allclose(of(x).within, (variance + 2 * lagged) / 40)


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_the_standard_error_covers_the_truth_as_often_as_it_should(memory):
    rng = np.random.default_rng(2)
    n_states = 2000
    x = np.empty((40, 4, n_states))
    x[0] = rng.normal(size=(4, n_states)) / np.sqrt(1 - memory**2)
    for t in range(1, 40):
        x[t] = memory * x[t - 1] + rng.normal(size=(4, n_states))
    found = of(x)
    inside = np.abs(found.mean.mean(axis=0)) < 2 * found.standard_error
    # With memory the second neighbors count as well, which the estimate leaves out.
    assert 0.88 < inside.mean() < 0.985


def test_chains_that_stand_apart_tell_the_error_themselves():
    x = np.array([0.0, 1.0, 0.0, 1.0])[None, :, None] + np.zeros((20, 1, 1))
    assert_allclose(of(x).standard_error, np.sqrt((1 / 3) / 4))


def test_one_block_has_no_finite_error():
    assert np.isinf(of(np.ones((1, 2, 3))).standard_error).all()


@pytest.mark.parametrize("offset", [1.0, -1e6])
def test_a_large_level_leaves_no_noise_in_the_error(offset):
    x = np.cumsum(np.random.default_rng(3).normal(size=(40, 4, 5)), axis=0)
    moved = (1e-9 * abs(offset) * x + offset) - offset
    assert_allclose(of(moved + offset).standard_error, of(moved).standard_error, rtol=1e-5)
    assert np.all(of(np.full((10, 2, 3), 0.1)).standard_error <= 1e-17)


def test_chains_of_several_lengths_are_pooled_by_their_blocks():
    x = np.random.default_rng(4).normal(size=(30, 3))
    parts = [of(x[:n, None]) for n in (5, 10, 30)]
    found = BlockMeans.joined(parts)
    together = np.concatenate([x[:5], x[:10], x[:30]])
    assert found.n_blocks.tolist() == [5, 10, 30]
    assert_allclose(found.pooled, together.mean(axis=0))
    scatter = sum(((x[:n] - x[:n].mean(axis=0)) ** 2).sum(axis=0) for n in (5, 10, 30))
    lagged = sum(
        ((x[1:n] - x[:n].mean(axis=0)) * (x[: n - 1] - x[:n].mean(axis=0))).sum(axis=0)
        for n in (5, 10, 30)
    )
    block = (scatter + 2 * np.maximum(lagged, 0)) / 42
    assert_allclose(found.standard_error, np.sqrt(block / 45))


def test_joined_chains_of_one_length_are_those_that_ran_together():
    x = np.random.default_rng(5).normal(size=(20, 4, 3))
    apart = BlockMeans.joined([of(x[:, :1]), of(x[:, 1:])])
    assert_allclose(apart.standard_error, of(x).standard_error)
    assert_allclose(apart.between, of(x).between)


def test_a_chain_without_blocks_counts_for_nothing():
    x = np.random.default_rng(6).normal(size=(20, 1, 3))
    found = BlockMeans.joined([of(x), BlockMeans.empty((1, 3))])
    assert_allclose(found.pooled, x.mean(axis=(0, 1)))
    assert np.all(np.isfinite(found.standard_error))
