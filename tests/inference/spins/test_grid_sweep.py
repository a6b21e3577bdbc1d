import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.spins import grid_sweep as ising_grid
from credo.inference.spins.grid_sweep import SpinGrid
from credo.inference.spins.sweep import SpinGraph, random_spins
from credo.models.spins.ising_model import lattice_edges
from credo.numerics.parallel import threads

RNG = np.random.default_rng(0)


def start(shape, seed=0):
    return random_spins(int(np.prod(shape)), np.random.default_rng(seed)).reshape(shape)


def state_number(spin):
    return int(np.sum((spin.ravel() > 0) << np.arange(spin.size)))


def probabilities(grid):
    """Return the probability of each state, by enumeration over the graph of the grid."""
    shape = grid.field.shape
    edges = lattice_edges(shape, grid.is_periodic)
    graph = SpinGraph(edges, np.full(len(edges), grid.coupling), grid.field.ravel())
    n = grid.field.size
    x = 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
    weight = np.exp(graph.log_density(x))
    return weight / weight.sum(), x


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 2), (5, 4), (4, 5), (7, 9)])
@pytest.mark.parametrize("periodic", [False, True])
def test_packing_by_color_and_back_changes_nothing(shape, periodic):
    if periodic and (shape[0] % 2 or shape[1] % 2):
        shape = tuple(2 * n for n in shape)
    grid = SpinGrid(np.zeros(shape), 1.0, periodic)
    spin = start(shape)
    assert_array_equal(grid.unpack(grid.pack(spin)), spin)


@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((1, 5), False), ((2, 2), False), ((3, 3), False), ((3, 4), False), ((4, 4), True)],
)
def test_conditional_means_are_those_of_the_graph(shape, periodic):
    grid = SpinGrid(RNG.normal(size=shape), 0.6, periodic)
    edges = lattice_edges(shape, periodic)
    packed = grid.pack(start(shape))
    before = grid.unpack(packed)
    total = grid.empty_total()
    grid.draw(packed, 11, 0, 1, total)
    after = grid.unpack(packed)
    # Color 0 is drawn given the old color 1, and color 1 given the new color 0.
    color = np.indices(shape).sum(axis=0) % 2
    seen = np.where(color == 0, after, before).ravel()
    local = grid.field.ravel().copy()
    np.add.at(local, edges[:, 0], 0.6 * seen[edges[:, 1]])
    np.add.at(local, edges[:, 1], 0.6 * seen[edges[:, 0]])
    assert_allclose(grid.mean_total(total).ravel(), np.tanh(local))


@pytest.mark.parametrize("shape", [(2, 2), (3, 3)])
def test_long_run_frequencies_match_enumeration(shape):
    grid = SpinGrid(0.4 * RNG.normal(size=shape), 0.3, False)
    p, _ = probabilities(grid)
    n_chains = 4000
    counts = np.zeros(len(p))
    for seed in range(n_chains):
        packed = grid.pack(start(shape, seed))
        grid.draw(packed, seed * 104_729, 0, 12)
        counts[state_number(grid.unpack(packed))] += 1
    # Twelve sweeps forget the start; chi-squared has mean k - 1 and variance 2 (k - 1).
    free = len(p) - 1
    statistic = np.sum((counts - n_chains * p) ** 2 / (n_chains * p))
    assert statistic < free + 4.5 * np.sqrt(2 * free)


def test_every_state_is_left_as_often_as_entered_in_equilibrium():
    # A sweep from the exact distribution leaves it unchanged: stationarity, state by state.
    grid = SpinGrid(np.array([[0.3, -0.2], [0.5, 0.1]]), -0.7, False)
    p, x = probabilities(grid)
    counts = np.zeros(16)
    n = 20_000
    for k, state in enumerate(RNG.choice(16, size=n, p=p)):
        packed = grid.pack(x[state].reshape(2, 2).astype(np.int8))
        grid.draw(packed, 15_485_863 * k, 0, 1)
        counts[state_number(grid.unpack(packed))] += 1
    assert np.all(np.abs(counts / n - p) < 4.5 * np.sqrt(p * (1 - p) / n))


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_draws_depend_neither_on_threads_nor_on_blocks(periodic, n_threads, monkeypatch):
    shape = (200, 150)
    grid = SpinGrid(0.2 * RNG.normal(size=shape), 0.4, periodic)
    expected = grid.pack(start(shape))
    reference = expected.copy()
    monkeypatch.setattr(threads, "n_cores", lambda: 1)
    monkeypatch.setattr(ising_grid, "_BAND", 1000)
    grid.draw(reference, 99, 0, 11)
    monkeypatch.setattr(threads, "n_cores", lambda: n_threads)
    monkeypatch.setattr(ising_grid, "_BAND", 64)
    grid.draw(expected, 99, 0, 5)
    grid.draw(expected, 99, 5, 6)
    assert_array_equal(expected, reference)


def test_different_seeds_and_sweeps_draw_different_spins():
    grid = SpinGrid(np.zeros((64, 64)), 0.0, True)
    drawn = []
    for seed, sweep in [(1, 0), (1, 1), (2, 0)]:
        packed = grid.pack(start((64, 64)))
        grid.draw(packed, seed, sweep, 1)
        drawn.append(grid.unpack(packed).astype(float).ravel())
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert abs(np.mean(drawn[a] * drawn[b])) < 4 / 64


def test_uniform_numbers_are_uniform_and_uncorrelated():
    loops = ising_grid._loops()
    u = np.empty(100_000)
    loops.fill_uniform(12345, 0, u)
    assert 0 < u.min() < u.max() < 1
    assert abs(u.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(u))
    assert abs(u.var() - 1 / 12) < 4 * np.sqrt(1 / 180 / len(u))
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 4 / np.sqrt(len(u))


@pytest.mark.parametrize(
    ("shape", "coupling", "field", "periodic", "served"),
    [
        ((4, 6), 1.0, 0.0, True, True),
        ((4, 5), 1.0, 0.0, True, False),
        ((2, 6), 1.0, 0.0, True, False),
        ((3, 5), 1.0, 0.0, False, True),
        ((4, 4), 1.0, 400.0, False, False),
        ((4, 4), -90.0, 0.0, False, False),
    ],
)
def test_grids_are_served_where_two_colors_and_the_exponents_suffice(
    shape, coupling, field, periodic, served
):
    assert SpinGrid(np.full(shape, field), coupling, periodic).is_served is served
