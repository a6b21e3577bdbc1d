from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.sequence.hidden_chain import (
    best_path,
    drawn_path,
    filtered,
    normal_log_densities,
    smoothed,
)

RNG = np.random.default_rng(0)


def enumerated(log_density, start, table):
    """Return all paths of one sequence and the log joint density of each."""
    n, k = log_density.shape
    paths = np.array(list(product(range(k), repeat=n)))
    with np.errstate(divide="ignore"):
        logs = np.log(start)[paths[:, 0]] + np.log(table)[paths[:, :-1], paths[:, 1:]].sum(
            axis=1
        )
    return paths, logs + log_density[np.arange(n), paths].sum(axis=1)


def random_chain(rng, k, stay=0.0):
    table = (1.0 - stay) * rng.dirichlet(np.ones(k), k) + stay * np.eye(k)
    return rng.dirichlet(np.ones(k)), table


@pytest.mark.parametrize(("k", "lengths"), [(2, [5, 1, 7]), (3, [4, 6, 1, 2]), (5, [4, 3])])
def test_beliefs_transitions_and_paths_are_those_of_all_paths(k, lengths):
    start, table = random_chain(RNG, k)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    log_density = RNG.normal(size=(ends[-1], k)) * 2.0 - 3.0
    found = smoothed(log_density, start, table, ends)
    past = filtered(log_density, start, table, ends)
    best = best_path(log_density, start, table, ends)
    counts = np.zeros((k, k))
    for s, (low, high) in enumerate(pairwise(ends)):
        paths, logs = enumerated(log_density[low:high], start, table)
        total = np.logaddexp.reduce(logs)
        weight = np.exp(logs - total)
        assert_allclose(found.log_prob[s], total, rtol=1e-12)
        for t in range(high - low):
            single = np.bincount(paths[:, t], weight, k)
            assert_allclose(found.belief[low + t], single, atol=1e-13)
            if t:
                pair = np.bincount(paths[:, t - 1] * k + paths[:, t], weight, k * k)
                counts += pair.reshape(k, k)
            head, head_logs = enumerated(log_density[low : low + t + 1], start, table)
            share = np.exp(head_logs - np.logaddexp.reduce(head_logs))
            assert_allclose(past.belief[low + t], np.bincount(head[:, t], share, k), atol=1e-13)
        assert_allclose(best[low:high], paths[np.argmax(logs)])
    assert_allclose(found.transitions, counts, atol=1e-12)


def test_pieces_of_a_long_sequence_say_what_it_says_as_a_whole():
    k, n = 4, 40_000
    start, table = random_chain(RNG, k, 0.9)
    log_density = 2.0 * RNG.normal(size=(n, k))
    ends = np.array([0, n])
    found = smoothed(log_density, start, table, ends)
    forward, total = np.empty((n, k)), 0.0
    now = start
    for t in range(n):
        now = (now if t == 0 else now @ table) * np.exp(log_density[t])
        total += np.log(now.sum())
        forward[t] = now = now / now.sum()
    behind = np.ones(k)
    exact = np.empty((n, k))
    for t in range(n - 1, -1, -1):
        exact[t] = forward[t] * behind / (forward[t] @ behind)
        behind = table @ (np.exp(log_density[t]) * behind)
        behind /= behind.sum()
    assert_allclose(found.log_prob[0], total, rtol=1e-13)
    assert_allclose(found.belief, exact, atol=1e-11)
    assert_allclose(found.transitions.sum(), n - 1, rtol=1e-12)


def test_a_chain_that_never_forgets_is_done_as_a_whole():
    k, n = 2, 20_000
    table = np.eye(k)
    log_density = 0.02 * RNG.normal(size=(n, k))
    ends = np.array([0, n])
    found = smoothed(log_density, np.array([0.3, 0.7]), table, ends)
    logs = log_density.sum(axis=0) + np.log([0.3, 0.7])
    total = np.logaddexp.reduce(logs)
    assert_allclose(found.log_prob[0], total, rtol=1e-12)
    assert_allclose(found.belief, np.tile(np.exp(logs - total), (n, 1)), atol=1e-10)
    assert (best_path(log_density, np.array([0.3, 0.7]), table, ends) == logs.argmax()).all()


def test_densities_that_underflow_are_followed_in_logarithms():
    # The only path goes where each row is e^900 less probable than elsewhere.
    log_density = np.array([[-1.0, -901.0], [-902.0, -2.0], [-1.0, -905.0]])
    start, table = np.array([0.0, 1.0]), np.array([[1.0, 0.0], [1.0, 0.0]])
    found = smoothed(log_density, start, table, np.array([0, 3]))
    assert_allclose(found.log_prob, [-901.0 - 902.0 - 1.0], rtol=1e-14)
    assert_allclose(found.belief, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], atol=1e-12)
    assert_allclose(found.transitions, [[1.0, 0.0], [1.0, 0.0]])
    assert best_path(log_density, start, table, np.array([0, 3])).tolist() == [1, 0, 0]


def test_what_is_impossible_has_no_probability():
    log_density = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, 0.0]])
    table = np.array([[1.0, 0.0], [0.5, 0.5]])
    found = filtered(log_density, np.array([0.5, 0.5]), table, np.array([0, 2, 3]))
    assert found.log_prob[0] == -np.inf
    assert_allclose(found.log_prob[1], 0.0, atol=1e-15)


def test_a_hundred_thousand_steps_stay_finite():
    n, k = 100_000, 3
    start, table = random_chain(RNG, k)
    log_density = np.full((n, k), -500.0)
    found = smoothed(log_density, start, table, np.array([0, n]))
    assert_allclose(found.log_prob, [-500.0 * n], rtol=1e-12)
    assert np.isfinite(found.belief).all()


def test_drawn_paths_have_the_frequencies_of_all_paths():
    k, n = 2, 4
    start, table = random_chain(RNG, k)
    log_density = RNG.normal(size=(n, k))
    paths, logs = enumerated(log_density, start, table)
    n_draws = 20_000
    ends = np.arange(0, n * n_draws + 1, n)
    belief = filtered(np.tile(log_density, (n_draws, 1)), start, table, ends).belief
    drawn = drawn_path(belief, table, ends, RNG).reshape(n_draws, n)
    code = (drawn * 2 ** np.arange(n)[::-1]).sum(axis=1)
    expected = np.exp(logs - np.logaddexp.reduce(logs))
    found = np.bincount(code, minlength=len(paths)) / n_draws
    error = np.sqrt(expected * (1 - expected) / n_draws)
    assert np.abs(found - expected).max() < 4.5 * error.max()
    assert np.sum((found - expected) ** 2 / error**2 * (1 - expected)) < 40.0


def test_log_densities_of_normals_are_those_of_their_factors():
    k, d, n = 3, 4, 130
    center = RNG.normal(size=(k, d))
    lower = np.tril(RNG.normal(size=(k, d, d))) + 3.0 * np.eye(d)
    x = RNG.normal(size=(n, d))
    found = normal_log_densities(x, np.arange(3.0), center, lower)
    for c in range(k):
        away = np.linalg.solve(lower[c], (x - center[c]).T)
        assert_allclose(found[:, c], c - 0.5 * (away**2).sum(axis=0), rtol=1e-12)
    flat = normal_log_densities(x, np.zeros(k), center, np.full((k, d), 2.0))
    assert_allclose(flat[:, 1], -0.5 * ((x - center[1]) ** 2).sum(axis=1) / 4.0, rtol=1e-12)
