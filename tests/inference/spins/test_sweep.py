import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.spins.sweep import SpinGraph, random_seed, random_spins
from credo.models.spins.ising_model import lattice_edges
from credo.numerics.parallel import threads

RNG = np.random.default_rng(0)


def random_graph(n=6, p=0.6):
    pairs = np.array([(i, j) for i in range(n) for j in range(i) if RNG.random() < p])
    return SpinGraph(pairs, RNG.normal(size=len(pairs)), RNG.normal(size=n))


def all_spins(n):
    return 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1


def test_log_density_counts_each_edge_once():
    graph = random_graph()
    weight = np.zeros((6, 6))
    weight[tuple(graph.edges.T)] = graph.coupling
    x = all_spins(6)
    expected = np.einsum("ni,ij,nj->n", x, weight, x) + x @ graph.field
    assert_allclose(graph.log_density(x), expected)


def test_neighbors_never_share_a_color():
    graph = random_graph(40, 0.2)
    assert np.all(graph.colors[graph.edges[:, 0]] != graph.colors[graph.edges[:, 1]])
    assert graph.colors.max() < np.bincount(graph.edges.ravel()).max() + 1


def test_a_grid_needs_two_colors_and_an_odd_ring_three():
    grid = SpinGraph(lattice_edges((5, 4)), np.ones(31), np.zeros(20))
    assert grid.colors.max() == 1
    ring = SpinGraph(lattice_edges((5,), is_periodic=True), np.ones(5), np.zeros(5))
    assert ring.colors.max() == 2


def test_a_spin_is_drawn_with_its_conditional_probability():
    # Leaves see nothing but the center, which is held at -1 while they are drawn.
    n = 200_000
    edges = np.stack([np.arange(n), np.full(n, n)], axis=1)
    graph = SpinGraph(edges, np.full(n, 0.4), np.append(np.full(n, 0.1), 30.0 - 0.4 * n))
    spin = np.ones(n + 1, dtype=np.int8)
    spin[n] = -1
    total = np.zeros(n + 1)
    graph.draw(spin, seed=3, sweep=0, total=total)
    p = 1 / (1 + np.exp(-2 * (0.1 - 0.4)))
    assert graph.colors[0] == 0
    assert abs(np.mean(spin[:n] == 1) - p) < 4 * np.sqrt(p * (1 - p) / n)
    assert_allclose(total[:n], 2 * p - 1)


def test_long_run_frequencies_of_a_graph_match_enumeration():
    graph = random_graph(4, 1.0)
    x = all_spins(4)
    weight = np.exp(0.5 * graph.log_density(x))
    half = SpinGraph(graph.edges, 0.5 * graph.coupling, 0.5 * graph.field)
    n_chains, n_sweeps = 400, 60
    counts = np.zeros(16)
    for seed in range(n_chains):
        spin = random_spins(4, np.random.default_rng(seed))
        for sweep in range(20 + n_sweeps):
            half.draw(spin, seed * 7919, sweep)
        counts[np.sum((spin > 0) << np.arange(4))] += 1
    p = weight / weight.sum()
    error = np.sqrt(p * (1 - p) / n_chains)
    assert np.all(np.abs(counts / n_chains - p) < 4.5 * error)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_draws_of_a_graph_do_not_depend_on_threads(n_threads, monkeypatch):
    edges = lattice_edges((700, 700), is_periodic=True)
    graph = SpinGraph(edges, np.full(len(edges), 0.3), np.zeros(490_000))
    start = random_spins(490_000, np.random.default_rng(1))
    expected = start.copy()
    monkeypatch.setattr(threads, "n_cores", lambda: 1)
    graph.draw(expected, 5, 0)
    monkeypatch.setattr(threads, "n_cores", lambda: n_threads)
    graph.draw(start, 5, 0)
    assert_array_equal(start, expected)


def test_mean_field_moves_to_the_hyperbolic_tangent():
    graph = SpinGraph(np.array([[0, 1]]), np.array([0.7]), np.array([0.2, -0.1]))
    mean = np.array([0.0, 0.5])
    change = graph.mean_field(mean)
    first = np.tanh(0.2 + 0.7 * 0.5)
    assert_allclose(mean, [first, np.tanh(-0.1 + 0.7 * first)])
    assert_allclose(change, max(first, abs(mean[1] - 0.5)))


def test_damping_keeps_a_share_of_the_old_mean():
    graph = SpinGraph(np.empty((0, 2), dtype=int), np.empty(0), np.array([0.3]))
    mean = np.array([0.8])
    graph.mean_field(mean, damping=0.75)
    assert_allclose(mean, 0.75 * 0.8 + 0.25 * np.tanh(0.3))


def test_conditional_modes_follow_the_local_field_and_leave_ties():
    graph = SpinGraph(np.array([[0, 1], [1, 2]]), np.array([1.0, 1.0]), np.array([2.0, 0, -9]))
    spin = np.array([-1, -1, -1], dtype=np.int8)
    # The first spin follows its field, the second then sees 1 - 1 = 0 and stays.
    assert graph.modes(spin) == 1
    assert_array_equal(spin, [1, -1, -1])


def test_seeds_and_spins_come_from_the_generator():
    assert random_seed(np.random.default_rng(4)) == random_seed(np.random.default_rng(4))
    spins = random_spins(10_000, np.random.default_rng(0))
    assert set(spins.tolist()) == {-1, 1}
    assert abs(spins.mean()) < 4 / np.sqrt(10_000)
