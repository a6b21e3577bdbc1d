from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.discrete.loops.flat_tables import flat_tables, log_densities, walk
from credo.inference.discrete.loops.messages import empty_messages, sweep
from credo.inference.discrete.loops.states import (
    conditional_probability,
    gibbs_sweeps,
    guided_draws,
    mode_sweep,
    possible_states,
)

# Sprinkler with wet grass given: cloudy, sprinkler, rain.
SPRINKLER = flat_tables(
    [2, 2, 2],
    [(0,), (0, 1), (0, 2), (1, 2)],
    [
        np.array([0.5, 0.5]),
        np.array([[0.5, 0.5], [0.9, 0.1]]),
        np.array([[0.8, 0.2], [0.2, 0.8]]),
        np.array([[0.0, 0.9], [0.9, 0.99]]),
    ],
)
ALL = np.array(list(product((0, 1), repeat=3)))
POSSIBLE = np.flatnonzero(np.isfinite(log_densities(SPRINKLER, ALL)))


def posterior(net=SPRINKLER, states=ALL):
    weight = np.exp(log_densities(net, states))
    return weight / weight.sum()


def transition(variable):
    """Return the exact transition matrix of one update, over the possible joint states."""
    found = np.zeros((8, 8))
    for row in POSSIBLE:
        probability = conditional_probability(SPRINKLER, variable, ALL[row])
        for state in (0, 1):
            after = ALL[row].copy()
            after[variable] = state
            found[row, after @ [4, 2, 1]] = probability[state]
    return found[np.ix_(POSSIBLE, POSSIBLE)]


@pytest.mark.parametrize("variable", [0, 1, 2])
def test_every_update_leaves_the_posterior_as_it_is(variable):
    target = posterior()[POSSIBLE]
    assert_allclose(target @ transition(variable), target, rtol=1e-12)
    assert_allclose(transition(variable).sum(axis=1), 1.0)


def test_the_random_scan_of_the_sprinkler_mixes_at_the_rate_of_its_second_eigenvalue():
    matrix = sum(transition(i) for i in range(3)) / 3
    sizes = np.sort(np.abs(np.linalg.eigvals(matrix)))[::-1]
    assert_allclose(sizes[:2], [1.0, 0.9486770448], atol=5e-11)


def test_a_conditional_with_no_possible_state_is_nan():
    impossible = flat_tables([2, 2], [(0, 1)], [np.array([[0.0, 1.0], [0.0, 1.0]])])
    assert np.isnan(conditional_probability(impossible, 0, np.array([0, 0]))).all()


@pytest.mark.parametrize("is_random", [False, True])
def test_a_sweep_of_chains_moves_as_the_exact_transition_matrix_says(is_random):
    n = 5000
    start = 3
    states, _ = gibbs_sweeps(
        SPRINKLER, np.tile(ALL[start], (n, 1)), 1, is_random, np.random.default_rng(3)
    )
    if is_random:
        matrix = np.linalg.matrix_power(sum(transition(i) for i in range(3)) / 3, 3)
    else:
        matrix = transition(0) @ transition(1) @ transition(2)
    expected = matrix[list(POSSIBLE).index(start)]
    share = np.bincount(states @ [4, 2, 1], minlength=8)[POSSIBLE] / n
    assert_allclose(share, expected, atol=1e-12 + 4 * np.sqrt(expected.max() / n / 4))
    assert np.all(share[expected == 0] == 0)


def test_means_of_sweeps_are_distributions_and_count_fixed_variables():
    net = flat_tables([2, 1], [(0, 1)], [np.array([[1.0], [3.0]])])
    states = np.zeros((2, 2), dtype=int)
    for is_random in (False, True):
        _, mean = gibbs_sweeps(net, states, 50, is_random, np.random.default_rng(0))
        assert_allclose(mean[:, :2].sum(axis=1), 1.0)
        assert_allclose(mean[:, 2], 1.0)
    _, mean = gibbs_sweeps(net, states, 5, False, np.random.default_rng(0))
    assert_allclose(mean[:, :2], [[0.25, 0.75]] * 2)


def test_chains_on_several_cores_draw_what_one_core_draws():
    rng = np.random.default_rng(0)
    scopes = [(i, i + 1) for i in range(99)]
    net = flat_tables([3] * 100, scopes, list(rng.random((99, 3, 3))))
    states = rng.integers(3, size=(8, 100))
    both = [gibbs_sweeps(net, states, 40, False, np.random.default_rng(5)) for _ in range(2)]
    assert_array_equal(both[0][0], both[1][0])
    rngs = np.random.default_rng(5)
    alone, _ = gibbs_sweeps(net, states[:1], 40, False, rngs)
    assert_array_equal(alone[0], both[0][0][0])


def test_a_mode_sweep_never_lowers_the_density_and_stays_put_at_ties():
    rng = np.random.default_rng(2)
    scopes = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3)]
    net = flat_tables([3] * 4, scopes, list(rng.random((5, 3, 3))))
    states = rng.integers(3, size=(50, 4))
    after, n_moved = mode_sweep(net, states)
    assert n_moved > 0
    assert np.all(log_densities(net, after) >= log_densities(net, states) - 1e-12)
    flat = flat_tables([3] * 4, scopes, [np.ones((3, 3))] * 5)
    assert mode_sweep(flat, states)[1] == 0


def guided(net, n, seed=0, n_sweeps=30):
    order, message = walk(net), empty_messages(net)
    for _ in range(n_sweeps):
        message, _ = sweep(net, order, message, damping=0.3)
    return order, message, np.random.default_rng(seed)


def test_guided_draws_from_a_forest_are_exact_with_exact_probabilities():
    rng = np.random.default_rng(4)
    net = flat_tables(
        [2, 3, 2],
        [(0, 1), (1, 2), (1,)],
        [rng.random((2, 3)), np.eye(3)[:, :2] + 0.1, rng.random(3)],
    )
    states, log_prob = guided_draws(
        net, *guided(net, 20_000)[:2], 20_000, np.random.default_rng(0)
    )
    every = np.array(list(product(range(2), range(3), range(2))))
    exact = posterior(net, every)
    code = states @ [6, 2, 1]
    assert_allclose(np.exp(log_prob), exact[code], rtol=1e-10)
    share = np.bincount(code, minlength=12) / 20_000
    assert_allclose(share, exact, atol=4 * np.sqrt(0.25 / 20_000))


def test_weights_of_guided_draws_sum_to_the_partition_where_there_are_loops():
    order, message, rng = guided(SPRINKLER, 1)
    states, log_prob = guided_draws(SPRINKLER, order, message, 20_000, rng)
    weight = np.exp(log_densities(SPRINKLER, states) - log_prob)
    error = weight.std() / np.sqrt(len(weight))
    assert abs(weight.mean() - 0.6471) < 4 * error


def test_starts_are_possible_and_differ():
    order, message, rng = guided(SPRINKLER, 1)
    states = possible_states(SPRINKLER, order, message, 200, rng)
    assert np.isfinite(log_densities(SPRINKLER, states)).all()
    assert set(states @ [4, 2, 1]) == set(POSSIBLE)


def test_the_search_goes_back_from_dead_ends():
    # All different on three variables of three states, with messages that know nothing.
    different = 1.0 - np.eye(3)
    net = flat_tables([3] * 3, [(0, 1), (1, 2), (2, 0)], [different] * 3)
    net2 = flat_tables([3] * 4, [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3)], [different] * 5)
    for each in (net, net2):
        states = possible_states(
            each, walk(each), empty_messages(each), 20, np.random.default_rng(0)
        )
        assert np.isfinite(log_densities(each, states)).all()


def test_a_search_without_result_proves_that_there_is_none():
    different = 1.0 - np.eye(2)
    odd_ring = flat_tables([2] * 3, [(0, 1), (1, 2), (2, 0)], [different] * 3)
    found = possible_states(
        odd_ring, walk(odd_ring), empty_messages(odd_ring), 1, np.random.default_rng(0)
    )
    assert found is None
