from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_iris

import credo
from credo.models.latent.k_means import KMeans
from credo.numerics.linear import clustering

POINTS = np.array([[0, 0], [0, 1], [1, 0], [8, 8], [9, 8], [8, 9], [4, 4]], dtype=float)
STARTS = ("k-means++", "random-rows", "random-labels", "random-box", "farthest-first")


def scatter(x, labels, weight=None):
    weight = np.ones(len(x)) if weight is None else weight
    total = 0.0
    for k in set(labels):
        own, w = x[labels == k], weight[labels == k]
        total += w @ np.square(own - w @ own / w.sum()).sum(axis=1)
    return total


def best_of_all_labelings(x, k, weight=None):
    return min(scatter(x, np.array(one), weight) for one in product(range(k), repeat=len(x)))


def test_seven_points_have_the_worked_numbers():
    model = KMeans(2, POINTS[[0, 3]]).fit(POINTS)
    assert_allclose(model.cluster_centers_, [[1.25, 1.25], [25 / 3, 25 / 3]])
    assert_allclose(model.inertia_, 22.8333333333)
    assert_allclose(model.inertia_, best_of_all_labelings(POINTS, 2))
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1, 0])
    assert_array_equal(model.predict([[0, 2], [9, 9]]), [0, 1])
    assert_allclose(model.transform([[1.25, 4.25]])[0, 0], 3.0)
    assert_allclose(model.score(POINTS), -model.inertia_)


@pytest.mark.parametrize("init", STARTS)
def test_restarts_of_every_start_find_the_best_of_all_labelings(init):
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.2])
    for k, w in ((2, None), (3, None), (3, weight)):
        model = KMeans(k, init, n_restarts=30, random_state=0).fit(POINTS, sample_weight=w)
        assert_allclose(model.inertia_, best_of_all_labelings(POINTS, k, w))
        assert_allclose(model.inertia_, model.objectives_.min())
        assert len(model.objectives_) == 30
    x = np.random.default_rng(0).normal(size=(100, 2))
    several = KMeans(7, init, n_restarts=9, random_state=0).fit(x).objectives_
    assert several.max() > several.min()


@pytest.mark.parametrize("init", STARTS)
def test_no_step_raises_the_objective_and_the_history_tells_each(init):
    x = np.random.default_rng(1).normal(size=(400, 3))
    model = KMeans(12, init, n_restarts=1, tolerance=0.0, random_state=0).fit(x)
    trace = model.history_
    assert len(trace.objective) == model.n_iter_ > 3
    assert (np.diff(trace.objective) < 0).all()
    labels = trace.labels(x, 2)
    assert_allclose(scatter(x, labels), trace.objective[2])
    means = [x[labels == k].mean(axis=0) for k in range(12)]
    assert_allclose(trace.centers[2], means)
    assert_array_equal(model.labels_, model.predict(x))
    assert_allclose(trace.objective[-1], model.inertia_)


@pytest.mark.parametrize("many", [1, 1 << 40], ids=["bounded", "plain"])
@pytest.mark.parametrize("kind", ["clusters", "one"])
def test_both_ways_end_where_scikit_learn_does(many, kind, monkeypatch):
    monkeypatch.setattr(clustering, "MANY", many)
    monkeypatch.setattr(clustering, "ROWS_AT_ONCE", 500)
    rng = np.random.default_rng(0)
    place = 3.0 * rng.normal(size=(9, 5))[rng.integers(9, size=3000)] if kind != "one" else 0.0
    x = place + rng.normal(size=(3000, 5)) + 1e3
    weight = rng.integers(1, 4, 3000).astype(float)
    start = x[rng.choice(3000, 9, replace=False)]
    model = KMeans(9, start, tolerance=0.0).fit(x, sample_weight=weight)
    other = SklearnKMeans(9, init=start, n_init=1, tol=0.0, max_iter=1000)
    other.fit(x, sample_weight=weight)
    assert_allclose(model.inertia_, other.inertia_, rtol=1e-9)
    order = np.lexsort(model.cluster_centers_.T), np.lexsort(other.cluster_centers_.T)
    assert_allclose(model.cluster_centers_[order[0]], other.cluster_centers_[order[1]])
    assert (np.diff(model.history_.objective) < 0).all()


def test_float32_never_decides_between_centers_it_cannot_tell_apart(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 4)) * 1e-2 + rng.choice([-1.0, 1.0], size=(2000, 1)) * 3e4
    start = x[rng.choice(2000, 8, replace=False)]
    found = {}
    for many in (1, 1 << 40):
        monkeypatch.setattr(clustering, "MANY", many)
        found[many] = KMeans(8, start, tolerance=0.0).fit(x)
    assert_array_equal(found[1].labels_, found[1 << 40].labels_)
    assert_allclose(found[1].inertia_, found[1 << 40].inertia_, rtol=1e-6)


@pytest.mark.parametrize("many", [1, 1 << 40], ids=["bounded", "plain"])
def test_a_center_without_rows_begins_anew_at_the_farthest_row(many, monkeypatch):
    monkeypatch.setattr(clustering, "MANY", many)
    x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    model = KMeans(3, [[0.5], [1.5], [500.0]]).fit(x)
    assert model.n_repairs_ == 1
    assert_allclose(model.inertia_, best_of_all_labelings(x, 3))
    assert np.all(np.bincount(model.labels_) > 0)
    apart = KMeans(3, [[1.0], [400.0], [500.0]]).fit(x)
    assert apart.n_repairs_ == 2
    assert np.all(np.bincount(apart.labels_) > 0)


@pytest.mark.parametrize("many", [1, 1 << 40], ids=["bounded", "plain"])
def test_greedy_seeds_are_better_than_plain_rows(many, monkeypatch):
    monkeypatch.setattr(clustering, "MANY", many)
    rng = np.random.default_rng(0)
    x = 20.0 * rng.normal(size=(15, 3))[rng.integers(15, size=900)] + rng.normal(size=(900, 3))
    rows = clustering.ClusterRows(x, np.ones(900))

    def left(start):
        return clustering.lloyd(rows, start, 0).scatter

    greedy, plain = (
        np.mean([left(clustering.STARTS[name](rows, 15, rng)) for _ in range(10)])
        for name in ("k-means++", "random-rows")
    )
    # All fifteen clusters have a seed: what is left is twice the noise, 900 * 3 * 2.
    assert greedy < 6500 < 0.2 * plain


def test_seeds_are_drawn_by_squared_distance():
    x = np.array([[0.0], [1.0], [3.0]])
    rng, n, count = np.random.default_rng(0), 4000, np.zeros((3, 3))
    rows = clustering.ClusterRows(x, np.array([1.0, 2.0, 1.0]))
    for _ in range(n):
        first, second = clustering._by_square(rows, 2, rng, 1)
        count[first, second] += 1
    expected = np.array([[0, 2 / 11, 9 / 11], [1 / 5, 0, 4 / 5], [9 / 17, 8 / 17, 0]])
    expected *= np.array([[1], [2], [1]]) / 4
    assert_allclose(count / n, expected, atol=4 * np.sqrt(0.25 / n))


def test_iris_is_clustered_as_by_scikit_learn():
    x = load_iris().data
    model = KMeans(3, random_state=0).fit(x)
    assert_allclose(model.inertia_, SklearnKMeans(3, n_init=20, random_state=0).fit(x).inertia_)
    assert (np.diff(model.cluster_weight_) <= 0).all()


def test_chunks_come_near_to_the_whole():
    rng = np.random.default_rng(0)
    place = 4.0 * rng.normal(size=(10, 4))
    x = place[rng.integers(10, size=20_000)] + rng.normal(size=(20_000, 4))
    whole, stream = KMeans(10, random_state=0).fit(x), KMeans(10, random_state=0)
    for part in np.array_split(x, 20):
        stream.partial_fit(part)
    assert -stream.score(x) < 1.01 * whole.inertia_
    assert_allclose(stream.cluster_weight_.sum(), 20_000)


def test_a_chunk_moves_centers_to_the_mean_of_all_that_came():
    model = KMeans(2, [[0.0], [10.0]]).fit([[0.0], [2.0], [10.0]])
    model.partial_fit([[4.0], [11.0], [99.0]], sample_weight=[2.0, 1.0, 0.0])
    assert_allclose(model.cluster_centers_, [[2.5], [10.5]])
    assert_allclose(model.cluster_weight_, [4.0, 2.0])
    # 2 for the first chunk, 9 twice and 1 for the second, by the centers that it found.
    assert_allclose(model.inertia_, 2.0 + 18.0 + 1.0)


def test_quantized_rows_lose_the_objective():
    x = load_iris().data
    model = KMeans(5, random_state=0).fit(x)
    assert_allclose(np.square(x - model.quantize(x)).sum(), model.inertia_)
    assert len(np.unique(model.quantize(x), axis=0)) == 5


def test_tables_and_files(tmp_path):
    table = pd.DataFrame(POINTS, columns=["a", "b"])
    model = KMeans(2, random_state=0).set_output(transform="pandas").fit(table)
    assert list(model.transform(table).columns) == ["kmeans0", "kmeans1"]
    credo.save(model, tmp_path / "centers.credo")
    again = credo.load(tmp_path / "centers.credo")
    assert_array_equal(again.predict(table), model.labels_)
    assert_allclose(again.history_.objective, model.history_.objective)


@pytest.mark.parametrize(
    ("settings", "rows", "message"),
    [
        ({"n_clusters": 8}, POINTS, "found 8 for 7 different of n_samples = 7"),
        ({"n_clusters": 3}, np.repeat(POINTS[:2], 50, axis=0), "found 3 for 2 different"),
        ({"n_clusters": 0}, POINTS, "n_clusters must be a whole number, at least 1"),
        ({"n_restarts": 0}, POINTS, "n_restarts must be a whole number"),
        ({"init": "kmeans"}, POINTS, "init must be one of"),
        ({"n_clusters": 2, "init": np.ones((3, 2))}, POINTS, "init must be finite centers"),
        ({"tolerance": -1.0}, POINTS, "tolerance must be the share"),
        ({"n_clusters": 1}, POINTS * np.nan, "NaN"),
        ({"n_clusters": 1}, POINTS + np.inf, "infinity|finite"),
    ],
)
def test_what_cannot_be_clustered_is_refused(settings, rows, message):
    with pytest.raises(ValueError, match=message):
        KMeans(**settings).fit(rows)


def test_one_row_and_constant_columns_have_an_answer():
    assert KMeans(1).fit([[3.0, 4.0]]).inertia_ == 0.0
    x = np.column_stack([POINTS, np.full(7, 5.0)])
    assert_allclose(KMeans(2, random_state=0).fit(x).inertia_, 22.8333333333)


def test_too_few_steps_are_told():
    x = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.warns(credo.ConvergenceWarning, match="max_steps=1"):
        KMeans(9, n_restarts=1, max_steps=1, random_state=0).fit(x)
