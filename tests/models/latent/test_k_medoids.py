from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

import credo
from credo.models.latent.k_medoids import KMedoids
from credo.numerics.linear import medoids
from credo.numerics.linear.clustering import farthest_first

POINTS = np.array([[0, 0], [0, 1], [1, 0], [8, 8], [9, 8], [8, 9], [4, 4]], dtype=float)


def sums(table, k, weight=None):
    weight = np.ones(len(table)) if weight is None else weight
    return {
        places: float(weight @ table[list(places)].min(axis=0))
        for places in combinations(range(len(table)), k)
    }


def least_radius(table, k):
    each = combinations(range(len(table)), k)
    return min(table[list(places)].min(axis=0).max() for places in each)


def test_seven_points_have_the_worked_numbers():
    table = cdist(POINTS, POINTS)
    assert_array_equal(farthest_first(lambda i: table[i], 0, 3), [0, 4, 6])
    first = KMedoids(3, "sqeuclidean", [0, 4, 6], swaps=False).fit(POINTS)
    assert_allclose(first.inertia_, 5.0)
    assert_allclose(np.sqrt(first.radius_), 1.4142135624)
    assert_allclose(least_radius(table, 3), 1.0)
    best = KMedoids(3, "sqeuclidean", [0, 4, 6]).fit(POINTS)
    assert_allclose(best.inertia_, 4.0)
    assert_array_equal(np.sort(best.medoid_indices_), [0, 3, 6])
    assert_allclose(best.history_, [5.0, 4.0])


def test_farthest_first_may_be_far_from_the_least_sum():
    x = np.repeat([0.0, 1.0, 3.0], [100, 100, 1])[:, None]
    start = farthest_first(lambda i: abs(x[:, 0] - x[i, 0]), 0, 2)
    model = KMedoids(2, "sqeuclidean", start, swaps=False).fit(x)
    assert_allclose(model.inertia_, 100.0)
    assert_allclose(KMedoids(2, "sqeuclidean", start).fit(x).inertia_, 4.0)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
def test_the_radius_of_farthest_first_is_at_most_twice_the_least(metric):
    rng, ratios = np.random.default_rng(0), []
    for _ in range(40):
        x = rng.standard_t(2, size=(10, 2))
        table = cdist(x, x, metric)
        for k in (1, 2, 3, 4):
            model = KMedoids(k, metric, swaps=False, random_state=rng).fit(x)
            assert_allclose(model.radius_, table[model.medoid_indices_].min(axis=0).max())
            ratios.append(model.radius_ / least_radius(table, k))
    assert min(ratios) >= 1.0 - 1e-9
    assert 1.5 < max(ratios) <= 2.0 + 1e-9


@pytest.mark.parametrize("init", ["farthest-first", "k-means++", "random-rows"])
@pytest.mark.parametrize("kept", [0, 1 << 23])
def test_restarts_find_the_best_of_all_sets_of_rows(init, kept, monkeypatch):
    monkeypatch.setattr(medoids, "KEPT", kept)
    monkeypatch.setattr(medoids, "BLOCK", 5)
    rng = np.random.default_rng(3)
    x, weight = rng.normal(size=(12, 3)), rng.integers(1, 4, 12).astype(float)
    for metric in ("euclidean", "sqeuclidean", "cityblock", "cosine"):
        table = cdist(x, x, metric)
        for k, w in ((1, None), (2, None), (4, weight)):
            model = KMedoids(k, metric, init, n_restarts=20, random_state=0)
            model.fit(x, sample_weight=w)
            assert_allclose(model.inertia_, min(sums(table, k, w).values()))
            assert_allclose(model.inertia_, model.objectives_.min())


def test_no_swap_is_left_that_lowers_the_sum():
    x = np.random.default_rng(0).normal(size=(150, 2))
    model = KMedoids(6, random_state=0).fit(x)
    table, places = cdist(x, x), model.medoid_indices_
    assert (np.diff(model.history_) < 0).all()
    assert_allclose(model.history_[-1], model.inertia_)
    assert_allclose(model.inertia_, table[places].min(axis=0).sum())
    for out in range(6):
        others = np.delete(places, out)
        left = np.minimum(table[others].min(axis=0), table).sum(axis=1)
        assert left.min() > model.inertia_ - 1e-6


def test_as_good_as_the_package_from_the_same_start():
    peer = pytest.importorskip("kmedoids")
    x = load_iris().data
    start = np.arange(0, 150, 30)
    other = peer.fasterpam(cdist(x, x), start.copy())
    ours = KMedoids(5, init=start).fit(x)
    assert ours.inertia_ <= other.loss * 1.02


def test_distances_may_be_given_or_be_a_function():
    table = cdist(POINTS, POINTS, "cityblock")
    known = KMedoids(2, "precomputed", random_state=0).fit(table)
    named = KMedoids(2, "cityblock", random_state=0).fit(POINTS)
    own = KMedoids(2, lambda a, b: float(np.abs(a - b).sum()), random_state=0).fit(POINTS)
    assert known.cluster_centers_ is None
    assert_allclose([known.inertia_, own.inertia_], named.inertia_)
    assert_array_equal(own.labels_, named.labels_)
    new = np.array([[0.0, 0.5], [9.0, 9.0]])
    assert_array_equal(known.predict(cdist(new, POINTS, "cityblock")), named.predict(new))
    assert_allclose(own.transform(new), cdist(new, named.cluster_centers_, "cityblock"))


def test_tables_and_files(tmp_path):
    table = pd.DataFrame(POINTS, columns=["a", "b"])
    model = KMedoids(2, random_state=0).fit(table)
    credo.save(model, tmp_path / "medoids.credo")
    again = credo.load(tmp_path / "medoids.credo")
    assert_array_equal(again.predict(table), model.labels_)
    known = KMedoids(2, "precomputed", random_state=0).fit(cdist(POINTS, POINTS))
    credo.save(known, tmp_path / "known.credo")
    again = credo.load(tmp_path / "known.credo")
    assert_array_equal(again.medoid_indices_, known.medoid_indices_)


def test_rows_without_weight_have_a_label_and_no_say():
    weight = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    model = KMedoids(2, random_state=0).fit(POINTS, sample_weight=weight)
    assert_allclose(model.inertia_, 4.0)
    assert 6 not in model.medoid_indices_
    assert len(model.labels_) == 7


@pytest.mark.parametrize(
    ("settings", "rows", "message"),
    [
        ({"n_clusters": 8}, POINTS, "found 8 for 7 different"),
        ({"n_clusters": 3}, np.repeat(POINTS[:2], 9, axis=0), "found 3 for 2 different"),
        ({"n_clusters": 0}, POINTS, "n_clusters must be a whole number"),
        ({"metric": "euklid"}, POINTS, "metric must be one of"),
        ({"init": "far"}, POINTS, "init must be one of"),
        ({"n_clusters": 2, "init": [0, 0]}, POINTS, "numbers of 2 different rows"),
        ({"n_clusters": 2, "init": [0, 9]}, POINTS, "numbers of 2 different rows"),
        ({"n_clusters": 2, "metric": "precomputed"}, POINTS, "square table"),
        ({"n_clusters": 1, "metric": "precomputed"}, -np.ones((2, 2)), "negative"),
        (
            {"n_clusters": 1, "metric": "precomputed"},
            np.array([[0.0, 1.0], [2.0, 0.0]]),
            "both directions",
        ),
        ({"n_clusters": 1}, POINTS * np.nan, "NaN"),
    ],
)
def test_what_cannot_be_clustered_is_refused(settings, rows, message):
    with pytest.raises(ValueError, match=message):
        KMedoids(**settings).fit(rows)
