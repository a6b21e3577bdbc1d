import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from credo.numerics.linear import neighbors
from credo.numerics.linear.neighbors import TREE_COLUMNS, NeighborSearch, running_sums

COLUMNS = [1, 3, TREE_COLUMNS - 1, TREE_COLUMNS, 24]


def brute_force(points, queries, k):
    """Return what sorting all distances gives; the stable sort puts the first index first."""
    squared = np.zeros((len(queries), len(points)))
    for j in range(points.shape[1]):
        squared += (queries[:, j, None] - points[:, j]) ** 2
    index = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squared, index, axis=1), index


def assert_exact(points, queries, k):
    squared, index = NeighborSearch(points).nearest(queries, k)
    expected, first = brute_force(points, queries, k)
    assert_array_equal(index, first)
    assert_array_equal(squared, expected)


@pytest.mark.parametrize("n_columns", COLUMNS)
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_neighbors_are_those_of_brute_force(n_columns, k, offset):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1500, n_columns)) + offset
    assert_exact(points, rng.normal(size=(700, n_columns)) + offset, k)


@pytest.mark.parametrize("n_columns", COLUMNS)
@pytest.mark.parametrize("k", [1, 5, 40, 600])
def test_of_points_at_equal_distance_the_first_are_neighbors(n_columns, k):
    rng = np.random.default_rng(1)
    points = rng.integers(0, 3, size=(600, n_columns)).astype(float)
    assert_exact(points, rng.integers(0, 3, size=(80, n_columns)).astype(float), k)


@pytest.mark.parametrize("n_columns", COLUMNS)
def test_copies_of_one_point_come_in_their_order(n_columns):
    points = np.zeros((300, n_columns))
    _, index = NeighborSearch(points).nearest(np.ones((2, n_columns)), 4)
    assert_array_equal(index, [[0, 1, 2, 3]] * 2)


@pytest.mark.parametrize("n_columns", COLUMNS)
@pytest.mark.parametrize("distance", [1e5, 1e12])
def test_tight_clusters_far_apart_are_told_apart_though_float32_cannot(n_columns, distance):
    rng = np.random.default_rng(2)
    side = np.where(rng.random((800, 1)) < 0.5, distance, -distance)
    points = side + rng.normal(size=(800, n_columns))
    assert_exact(points, points[:60] + 0.1 * rng.normal(size=(60, n_columns)), 5)


@pytest.mark.parametrize("n_columns", [3, 24])
def test_outliers_do_not_cost_the_other_rows_their_neighbors(n_columns):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(500, n_columns))
    points[:3] *= [[1e8], [1e30], [1e140]]
    assert_exact(points, rng.normal(size=(50, n_columns)), 4)


@pytest.mark.parametrize("n_columns", [2, 12])
def test_all_points_can_be_asked_for_and_no_query_gives_nothing(n_columns):
    rng = np.random.default_rng(4)
    points = rng.normal(size=(9, n_columns))
    assert_exact(points, rng.normal(size=(5, n_columns)), 9)
    squared, index = NeighborSearch(points).nearest(np.empty((0, n_columns)), 3)
    assert squared.shape == index.shape == (0, 3)


@settings(max_examples=60, deadline=None)
@given(
    arrays(float, st.tuples(st.integers(1, 40), st.just(2)), elements=st.floats(-1e6, 1e6)),
    arrays(float, st.tuples(st.integers(1, 5), st.just(2)), elements=st.floats(-1e6, 1e6)),
    st.integers(1, 6),
)
def test_any_points_and_queries_agree_with_brute_force(points, queries, k):
    assert_exact(points, queries, min(k, len(points)))


def plain_sums(squared, weight, outcome, width, k):
    """Return weight, mean and scatter of one query's k nearest, by definition."""
    before = np.cumsum(weight) - weight
    taken = np.clip(k - before, 0.0, weight)
    nearest = squared[weight > 0][0]
    amount = taken * np.exp(-(squared - nearest) / (2 * width**2))
    mean = amount @ outcome / amount.sum()
    return amount.sum(), mean, amount @ (outcome - mean) ** 2


@pytest.mark.parametrize("width", [0.3, 2.0, np.inf])
@pytest.mark.parametrize("is_whole", [True, False])
def test_running_sums_are_the_moments_of_every_neighborhood(width, is_whole):
    rng = np.random.default_rng(5)
    squared = np.sort(rng.exponential(size=(6, 20)), axis=1)
    weight = rng.integers(0, 3, size=(6, 20)) + (0.0 if is_whole else 0.37)
    outcome = 1e6 + rng.normal(size=(6, 20, 2))
    found = running_sums(squared, weight, outcome, width, (2, 8))
    for i in range(6):
        for k in range(2, 9):
            total, mean, scatter = plain_sums(squared[i], weight[i], outcome[i], width, k)
            assert_allclose(found[0][i, k - 2], total)
            assert_allclose(found[1][i, k - 2], mean, rtol=1e-14)
            assert_allclose(found[2][i, k - 2], scatter, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("n_columns", [3, 24])
def test_on_plain_data_no_query_has_to_look_at_every_point(n_columns, monkeypatch):
    rng = np.random.default_rng(6)
    asked = []
    plain = NeighborSearch._completed

    def counted(self, queries, squared, index, rows):
        asked.append(len(rows))
        return plain(self, queries, squared, index, rows)

    monkeypatch.setattr(NeighborSearch, "_completed", counted)
    points, queries = rng.normal(size=(5000, n_columns)), rng.normal(size=(500, n_columns))
    NeighborSearch(points).nearest(queries, 10)
    assert asked == [0]


@pytest.mark.parametrize("n_columns", [2, TREE_COLUMNS])
@pytest.mark.parametrize(("width", "k"), [(1, 1), (0, 0), (0, 6)])
def test_other_columns_or_more_points_than_there_are_cannot_be_asked_for(n_columns, width, k):
    search = NeighborSearch(np.zeros((5, n_columns)))
    with pytest.raises(ValueError, match="ask for 1 to 5 points"):
        search.nearest(np.zeros((1, n_columns + width)), k)


@pytest.mark.parametrize("width", [0.7, np.inf])
@pytest.mark.parametrize("n_columns", [2, TREE_COLUMNS + 1])
def test_plain_neighborhoods_have_the_bits_of_compiled_ones(n_columns, width, monkeypatch):
    rng = np.random.default_rng(0)
    points, queries = rng.integers(0, 4, (2, 60, n_columns)) / 3
    found = []
    for seconds in (0.0, np.inf):
        monkeypatch.setattr(neighbors._plain_time, "left", seconds)
        squared, index = NeighborSearch(points).nearest(queries, 9)
        outcome = np.sin(np.arange(180.0)).reshape(60, 3)[index]
        sums = [
            running_sums(squared, np.ones(squared.shape), outcome, width, counts)
            for counts in ((1, 9), (3, 5), (4, 12))
        ]
        found.append([squared, index, *(part for parts in sums for part in parts)])
    for compiled, plain in zip(*found, strict=True):
        assert_array_equal(plain, compiled)
