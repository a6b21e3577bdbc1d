"""Finite Markov chains against worked tables, eigenvectors and matrix powers."""

import numpy as np
import pytest

from credo.inference import FiniteChain

TARGET = np.array([0.2, 0.3, 0.5])
UNEVEN = np.array([[0, 0.8, 0.2], [0.3, 0, 0.7], [0.5, 0.5, 0]])


def _random_chain(k: int, seed: int = 0) -> FiniteChain:
    return FiniteChain(np.random.default_rng(seed).dirichlet(np.full(k, 0.5), size=k))


def test_metropolis_moves_of_the_worked_examples_keep_their_target() -> None:
    even = FiniteChain.metropolis(TARGET, (1 - np.eye(3)) / 2)
    expected = [[0, 0.5, 0.5], [1 / 3, 1 / 6, 1 / 2], [0.2, 0.3, 0.5]]
    np.testing.assert_allclose(even.transition, expected, atol=1e-12)
    uneven = FiniteChain.metropolis(10 * TARGET, UNEVEN)
    expected = [[0.35, 0.45, 0.2], [0.3, 0, 0.7], [0.08, 0.42, 0.5]]
    np.testing.assert_allclose(uneven.transition, expected, atol=1e-12)
    for chain in (even, uneven):
        assert chain.imbalance(TARGET) < 1e-15
        assert chain.drift(TARGET) < 1e-15
        np.testing.assert_allclose(chain.stationary(), TARGET, atol=1e-14)


def test_without_hastings_factor_the_worked_distribution_is_kept_instead() -> None:
    moves = UNEVEN * np.minimum(1.0, TARGET / TARGET[:, None])
    np.fill_diagonal(moves, 0.0)
    chain = FiniteChain(moves + np.diag(1 - moves.sum(axis=1)))
    expected = [0.1666666667, 0.3194444444, 0.5138888889]
    np.testing.assert_allclose(chain.stationary(), expected, atol=1e-10)
    assert chain.drift(TARGET) > 0.01


def test_two_states_settle_at_two_and_three_fifths() -> None:
    chain = FiniteChain([[0.7, 0.3], [0.2, 0.8]])
    np.testing.assert_allclose(chain.stationary(), [0.4, 0.6], atol=1e-15)
    assert chain.spectral_gap == pytest.approx(0.5, abs=1e-12)
    np.testing.assert_allclose(chain.after(3, [1.0, 0.0]), [0.4 + 0.6 / 8, 0.6 - 0.6 / 8])
    # The distance from the worse start, the first, is 0.6 / 2^n.
    assert [chain.mixing_time(t) for t in (0.7, 0.3, 0.29, 0.01)] == [0, 1, 2, 6]


@pytest.mark.parametrize("k", [2, 3, 7, 20])
def test_stationary_distribution_is_the_left_eigenvector_of_one(k: int) -> None:
    chain = _random_chain(k)
    values, vectors = np.linalg.eig(chain.transition.T)
    pi = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    np.testing.assert_allclose(chain.stationary(), pi / pi.sum(), atol=1e-10)
    assert chain.drift(chain.stationary()) < 1e-14
    far = np.linalg.matrix_power(chain.transition, 4096)[0]
    np.testing.assert_allclose(far, chain.stationary(), atol=1e-9)


@pytest.mark.parametrize("tolerance", [0.25, 0.05, 1e-4])
def test_mixing_time_is_the_first_power_that_is_near(tolerance: float) -> None:
    for seed in range(4):
        chain = _random_chain(5, seed)
        pi, power, n = chain.stationary(), np.eye(5), 0
        while 0.5 * np.abs(power - pi).sum(axis=1).max() > tolerance:
            power, n = power @ chain.transition, n + 1
        assert chain.mixing_time(tolerance) == n


def test_small_probabilities_keep_their_digits() -> None:
    """Two states that are left at 1e-12 and 1e-3 of the time: the ratio is exact."""
    chain = FiniteChain([[1 - 1e-12, 1e-12], [1e-3, 1 - 1e-3]])
    pi = chain.stationary()
    assert pi[1] / pi[0] == pytest.approx(1e-9, rel=1e-12)


def test_a_random_walk_on_a_ring_goes_round_and_is_not_in_balance() -> None:
    ring = FiniteChain(np.roll(np.eye(4), 1, axis=1))
    np.testing.assert_allclose(ring.stationary(), 0.25)
    assert ring.imbalance() == pytest.approx(0.25)
    assert ring.period == 4
    assert ring.is_irreducible
    with pytest.raises(ValueError, match="with period 4"):
        ring.mixing_time()


def test_states_that_cannot_be_left_are_found() -> None:
    caught = FiniteChain([[1, 0, 0], [0.5, 0, 0.5], [0, 0, 1]])
    assert caught.closed_classes() == ((0,), (2,))
    assert not caught.is_irreducible
    with pytest.raises(ValueError, match="one set of states"):
        caught.stationary()
    drained = FiniteChain([[0.5, 0.5, 0], [0, 0.3, 0.7], [0, 0.6, 0.4]])
    np.testing.assert_allclose(drained.stationary(), [0, 6 / 13, 7 / 13], atol=1e-14)
    assert drained.period == 1


def test_draws_follow_the_table() -> None:
    chain = FiniteChain([[0.7, 0.3], [0.2, 0.8]])
    path = chain.sample(np.random.default_rng(0), 20_000)
    assert np.mean(path == 1) == pytest.approx(0.6, abs=0.03)
    assert np.mean(path[1:][path[:-1] == 0]) == pytest.approx(0.3, abs=0.02)
    first = [chain.sample(np.random.default_rng(i), 1, [1.0, 0.0])[0] for i in range(5)]
    assert first == [0] * 5


def test_tables_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="square table"):
        FiniteChain([[0.5, 0.5]])
    with pytest.raises(ValueError, match="sum to one"):
        FiniteChain([[0.5, 0.4], [0.5, 0.5]])
    with pytest.raises(ValueError, match="target must hold a weight"):
        FiniteChain.metropolis([0.5, 0.5], UNEVEN)
    with pytest.raises(ValueError, match="each of 2 states"):
        FiniteChain([[0.7, 0.3], [0.2, 0.8]]).drift([1.0])
