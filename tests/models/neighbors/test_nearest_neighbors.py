import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from credo.models import NearestNeighborsClassifier, NearestNeighborsRegressor

LINE, SQUARES = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0.0, 1.0, 4.0, 16.0])
PLAIN = {"standardize": False, "prior_strength": 0.0}


def classes(n=120, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = np.digitize(x[:, 0] + 0.5 * rng.normal(size=n), np.linspace(-0.7, 0.7, n_classes - 1))
    return x, y


def numbers(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, 100 + np.sin(2 * x[:, 0]) + x[:, 1] + 0.2 * rng.normal(size=n)


def test_two_neighbors_give_the_worked_mean():
    model = NearestNeighborsRegressor(2, **PLAIN).fit(LINE, SQUARES)
    assert_allclose(model.predict([[1.4]]), [2.5], rtol=1e-14)


def test_gaussian_weights_give_the_worked_mean():
    model = NearestNeighborsRegressor(2, "gaussian", width=1.0, **PLAIN).fit(LINE, SQUARES)
    assert_allclose(model.predict([[1.4]]), [2.4250624376], rtol=1e-10)


def test_a_wide_gaussian_weighs_all_neighbors_alike():
    x, y = numbers()
    wide = NearestNeighborsRegressor(7, "gaussian", width=1e6, **PLAIN).fit(x, y)
    assert_allclose(
        wide.predict(x + 0.1), NearestNeighborsRegressor(7, **PLAIN).fit(x, y).predict(x + 0.1)
    )


def test_far_from_all_rows_gaussian_weights_do_not_vanish():
    model = NearestNeighborsRegressor(3, "gaussian", width=0.5, **PLAIN).fit(LINE, SQUARES)
    far = [[1e3], [1e100], [-1e100]]
    assert_allclose(model.predict(far)[0], 16.0)
    assert np.isfinite(model.predict_dist(far).std()).all()
    assert model.predict(far)[2] in SQUARES or model.predict(far)[2] < 16


def test_one_neighbor_is_constant_in_pieces():
    model = NearestNeighborsRegressor(1, **PLAIN).fit(LINE, SQUARES)
    cell = np.array([[0.51], [0.9], [1.2], [1.49]])
    assert_allclose(model.predict(cell), 1.0, rtol=1e-14)
    assert_allclose(model.predict([[1.51], [2.99], [3.01]]), [4.0, 4.0, 16.0], rtol=1e-14)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_mean_is_that_of_the_other_library(k):
    x, y = numbers()
    query = np.random.default_rng(1).normal(size=(40, 2))
    expected = KNeighborsRegressor(k).fit(x, y).predict(query)
    assert_allclose(NearestNeighborsRegressor(k, **PLAIN).fit(x, y).predict(query), expected)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_without_a_prior_probabilities_are_those_of_the_other_library(k):
    x, y = classes()
    query = np.random.default_rng(1).normal(size=(40, 2))
    other = KNeighborsClassifier(k).fit(x, y)
    model = NearestNeighborsClassifier(k, **PLAIN).fit(x, y)
    assert_allclose(model.predict_proba(query), other.predict_proba(query))
    assert_array_equal(model.predict(query), other.predict(query))


@pytest.mark.parametrize("weights", ["uniform", "gaussian"])
def test_class_probabilities_are_those_of_a_dirichlet_belief(weights):
    x, y = classes()
    query = np.random.default_rng(1).normal(size=(5, 2))
    model = NearestNeighborsClassifier(
        6, weights, width=0.4, prior_strength=2.0, standardize=False
    )
    found = model.fit(x, y).predict_proba(query)
    prior = 2.0 * (np.bincount(y) + 1) / (len(y) + 3)
    for row, answer in zip(query, found, strict=True):
        squared = ((x - row) ** 2).sum(axis=1)
        near = np.argsort(squared)[:6]
        amount = np.ones(6)
        if weights == "gaussian":
            amount = np.exp(-(squared[near] - squared.min()) / (2 * 0.4**2))
        counts = prior + [amount[y[near] == c].sum() for c in range(3)]
        assert_allclose(answer, stats.dirichlet(counts).mean())


def test_a_tie_goes_to_the_more_frequent_class_and_without_a_prior_to_the_first():
    x, y = [[0.0], [1.0], [2.0], [9.0]], ["b", "a", "b", "b"]
    assert NearestNeighborsClassifier(2).fit(x, y).predict([[0.5]]) == ["b"]
    assert NearestNeighborsClassifier(2, **PLAIN).fit(x, y).predict([[0.5]]) == ["a"]


def test_signed_classes_that_sum_to_zero_are_decided_for_the_negative_one():
    model = NearestNeighborsClassifier(2, **PLAIN).fit([[0.0], [1.0], [5.0]], [1, -1, 1])
    assert model.predict([[0.5]]) == [-1]


def test_the_boundary_of_one_neighbor_is_the_bisector_of_opposite_pairs():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    model = NearestNeighborsClassifier(1, **PLAIN).fit(x, y)
    start, end = rng.normal(size=(2, 200, 2))
    crosses = model.predict(start) != model.predict(end)
    low, high = start[crosses], end[crosses]
    first = model.predict(low)
    for _ in range(50):
        middle = 0.5 * (low + high)
        is_first = (model.predict(middle) == first)[:, None]
        low, high = np.where(is_first, middle, low), np.where(is_first, high, middle)
    distance = np.sqrt(((low[:, None] - x) ** 2).sum(axis=2))
    gap = [distance[:, y == c].min(axis=1) for c in (0, 1)]
    assert crosses.sum() > 20
    assert_allclose(gap[0], gap[1], atol=1e-9)


def test_more_neighbors_make_the_boundary_smoother():
    x, y = classes(400, n_classes=2)
    across = np.linspace(-2, 2, 400)
    grid = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2)

    def length(k):
        area = NearestNeighborsClassifier(k).fit(x, y).predict(grid).reshape(400, 400)
        return sum(np.count_nonzero(np.diff(area, axis=axis)) for axis in (0, 1))

    assert length(1) > 1.5 * length(5) > 2 * length(45)


def left_out_score(model, x, y, k, width):
    """Return the mean log score of rows predicted from all others, one by one."""
    settings = {"weights": "uniform" if np.isinf(width) else "gaussian"}
    settings |= {} if np.isinf(width) else {"width": width}
    scores = []
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        fitted = type(model)(k, standardize=False, **settings).fit(x[rest], y[rest])
        if hasattr(model, "prior_"):
            location = y[rest].mean()
            noise = model.noise_[k, width]
            vars(fitted)["prior_"] = type(fitted.prior_)(location, 0.01, 1.0, [noise])
        scores.append(fitted.predict_dist(x[i : i + 1]).log_prob(y[i : i + 1])[0])
    return np.mean(scores)


@pytest.mark.parametrize("weights", ["uniform", "gaussian"])
def test_the_class_scores_are_those_of_fits_without_each_row(weights):
    x, y = classes(40)
    model = NearestNeighborsClassifier(weights=weights, max_neighbors=6, standardize=False)
    table = model.fit(x, y).leave_one_out_table()
    for k, width, score in table.to_numpy()[:: 7 if weights == "gaussian" else 1]:
        assert_allclose(score, left_out_score(model, x, y, int(k), width), rtol=1e-10)
    best = table.loc[table["log_score"].idxmax()]
    assert (model.n_neighbors_, model.width_) == (best["n_neighbors"], best["width"])


@pytest.mark.parametrize("width", [np.inf, 0.5])
def test_the_outcome_scores_are_those_of_fits_without_each_row(width):
    x, y = numbers(40)
    weights = "uniform" if np.isinf(width) else "gaussian"
    model = NearestNeighborsRegressor(
        weights=weights, width=1.0 if np.isinf(width) else width, standardize=False
    ).fit(x, y)
    model.noise_ = {
        (k, width): NearestNeighborsRegressor(
            k, weights, 1.0 if np.isinf(width) else width, standardize=False
        )
        .fit(x, y)
        .prior_.rate[0]
        for k in (1, 3, 10)
    }
    for k in (1, 3, 10):
        found = model.leave_one_out_scores_[0, k - 1]
        assert_allclose(found, left_out_score(model, x, y, k, width), rtol=1e-9)


def test_a_row_leaves_out_itself_and_not_its_copy():
    x = np.repeat([[0.0], [1.0], [2.0]], 2, axis=0)
    y = np.repeat([0.0, 5.0, 10.0], 2)
    model = NearestNeighborsRegressor(1, **PLAIN).fit(x, y)
    assert model.prior_.rate[0] < 1e-9
    mixed = NearestNeighborsRegressor(1, **PLAIN).fit(x, [0.0, 2.0, 5.0, 7.0, 10.0, 12.0])
    assert_allclose(mixed.prior_.rate, 2.0**2 / 2)


def test_weights_count_copies_of_rows_in_neighbors_and_in_choice():
    rng = np.random.default_rng(4)
    x, y = numbers(50)
    copies = rng.integers(0, 4, 50)
    settings = {"weights": "gaussian", "max_neighbors": 12}
    weighted = NearestNeighborsRegressor(**settings).fit(x, y, sample_weight=copies)
    repeated = NearestNeighborsRegressor(**settings).fit(
        np.repeat(x, copies, 0), y.repeat(copies)
    )
    assert weighted.n_neighbors_ == repeated.n_neighbors_
    assert_allclose(weighted.leave_one_out_scores_, repeated.leave_one_out_scores_)
    assert_allclose(weighted.predict(x), repeated.predict(x))
    assert_allclose(weighted.predict_dist(x).std(), repeated.predict_dist(x).std())


def test_rows_of_half_weight_are_asked_until_the_weight_is_reached():
    x, y = numbers(50)
    half = NearestNeighborsRegressor(3, **PLAIN).fit(x, y, sample_weight=np.full(50, 0.5))
    assert_allclose(half.predict(x), NearestNeighborsRegressor(6, **PLAIN).fit(x, y).predict(x))


def test_the_last_row_enters_in_part():
    model = NearestNeighborsRegressor(2, **PLAIN)
    model.fit(LINE, SQUARES, sample_weight=[1.0, 1.5, 1.0, 1.0])
    assert_allclose(model.predict([[0.9]]), (1.5 * 1.0 + 0.5 * 0.0) / 2)


def test_the_predictive_is_the_belief_after_the_neighbors():
    x, y = numbers()
    model = NearestNeighborsRegressor(4, standardize=False, prior_strength=0.5).fit(x, y)
    row = np.array([[0.2, -0.3]])
    near = y[np.argsort(((x - row) ** 2).sum(axis=1))[:4]]
    noise = model.prior_.rate[0]
    location = (0.5 * y.mean() + near.sum()) / 4.5
    scatter = ((near - near.mean()) ** 2).sum() + 0.5 * 4 / 4.5 * (near.mean() - y.mean()) ** 2
    shape, rate = 1 + 4 / 2, noise + scatter / 2
    expected = stats.t(2 * shape, location, np.sqrt(rate * 5.5 / (shape * 4.5)))
    found = model.predict_dist(row)
    assert_allclose(found.interval(0.9)[0], expected.interval(0.9))
    assert_allclose(found.aleatoric_std, np.sqrt(rate / (shape - 1)))
    assert_allclose(found.epistemic_std, np.sqrt(rate / (shape - 1) / 4.5))


def test_intervals_hold_as_often_as_they_say_on_new_rows():
    rng = np.random.default_rng(5)
    x = rng.uniform(-3, 3, size=(3000, 2))
    y = np.sin(2 * x[:, 0]) + x[:, 1] + 0.3 * rng.normal(size=3000)
    model = NearestNeighborsRegressor().fit(x[:1500], y[:1500])
    low, high = model.predict_interval(x[1500:], 0.9).T
    share = ((low <= y[1500:]) & (y[1500:] <= high)).mean()
    assert 0.87 < share < 0.94
    assert_allclose(model.prior_.rate, 0.3**2, rtol=0.35)


def test_outputs_share_neighbors_and_keep_their_own_spread():
    x, y = numbers()
    both = NearestNeighborsRegressor(5).fit(x, np.column_stack([y, 1000 * y + 3]))
    one = NearestNeighborsRegressor(5).fit(x, y)
    assert both.predict(x).shape == (80, 2)
    assert_allclose(both.predict(x)[:, 0], one.predict(x))
    assert_allclose(both.predict_dist(x).std()[:, 1], 1000 * one.predict_dist(x).std())


def test_probabilities_are_honest_where_classes_overlap():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(4000, 2))
    chance = 1 / (1 + np.exp(-2 * x[:, 0]))
    y = (rng.random(4000) < chance).astype(int)
    model = NearestNeighborsClassifier().fit(x[:2000], y[:2000])
    assert 20 < model.n_neighbors_ <= 50
    assert np.abs(model.predict_proba(x[2000:])[:, 1] - chance[2000:]).mean() < 0.08


def test_a_choice_at_the_edge_leaves_a_note():
    x, y = classes(300, n_classes=2)
    assert NearestNeighborsClassifier().fit(x, y).notes_ == ()
    edge = NearestNeighborsClassifier(max_neighbors=2).fit(x, y)
    assert "the most that were tried" in edge.notes_[0]
    wide = NearestNeighborsClassifier(8, "gaussian").fit(x, np.arange(300) % 2)
    assert "edge of the widths tried" in wide.notes_[0]


def test_a_constant_column_and_large_offsets_change_nothing():
    x, y = classes()
    wider = np.column_stack([x, np.full(len(x), 0.1)])
    moved = wider * [1e-130, 1e130, 1.0] + [0.0, 0.0, 1e9]
    for weights in ("uniform", "gaussian"):
        expected = NearestNeighborsClassifier(weights=weights).fit(x, y).predict_proba(x)
        for form in (wider, moved):
            found = NearestNeighborsClassifier(weights=weights).fit(form, y).predict_proba(form)
            assert_allclose(found, expected, rtol=1e-6)


def test_many_columns_use_products_and_agree_with_the_other_library():
    rng = np.random.default_rng(7)
    x, query = rng.normal(size=(2000, 30)), rng.normal(size=(600, 30))
    y = (x[:, :3].sum(axis=1) > 0).astype(int)
    model = NearestNeighborsClassifier(9, **PLAIN).fit(x, y)
    other = KNeighborsClassifier(9, algorithm="brute").fit(x, y)
    assert_allclose(model.predict_proba(query), other.predict_proba(query))


def test_frames_give_frames_and_pickles_answer_alike():
    x, y = classes()
    frame = pd.DataFrame(x, columns=["width", "height"])
    model = NearestNeighborsClassifier().fit(frame, np.array(["a", "b", "c"])[y])
    assert model.predict_frame(frame).columns[0] == "class"
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))


BAD = [
    ({"n_neighbors": 0}, "n_neighbors must be a positive whole number"),
    ({"n_neighbors": 2.5}, "n_neighbors must be a positive whole number"),
    ({"n_neighbors": "best"}, "n_neighbors must be one of"),
    ({"n_neighbors": 200}, "at most the total weight of the rows, 80; found 200"),
    ({"weights": "distance"}, "weights must be one of"),
    ({"width": -1.0}, "width must be a positive number"),
    ({"width": "wide"}, "width must be one of"),
    ({"max_neighbors": "all"}, "max_neighbors must be a positive whole number"),
    ({"prior_strength": -1.0}, "prior_strength must be a number not below zero"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=str)
@pytest.mark.parametrize("model", [NearestNeighborsClassifier, NearestNeighborsRegressor])
def test_settings_without_sense_are_refused_before_any_work(model, settings, message):
    x, y = numbers()
    with pytest.raises(ValueError, match=message):
        model(**settings).fit(x, (y > y.mean()).astype(int))


def test_choosing_without_a_prior_is_refused_for_classes():
    with pytest.raises(ValueError, match="prior_strength must be positive where leave-one-out"):
        NearestNeighborsClassifier(prior_strength=0.0).fit(*classes())


def test_one_row_and_weights_that_sum_to_one_are_refused():
    with pytest.raises(ValueError, match="n_samples=1 of total weight 1"):
        NearestNeighborsRegressor().fit([[1.0]], [2.0])
    x, y = numbers()
    with pytest.raises(ValueError, match="a weight counts copies of a row"):
        NearestNeighborsRegressor().fit(x, y, sample_weight=np.full(80, 1 / 80))
    with pytest.raises(ValueError, match="at least 2 classes"):
        NearestNeighborsClassifier().fit(x, np.zeros(80))


def test_a_constant_outcome_is_predicted_with_a_finite_spread():
    x, _ = numbers()
    model = NearestNeighborsRegressor().fit(x, np.full(80, 7.0))
    assert_allclose(model.predict(x), 7.0)
    assert np.isfinite(model.predict_dist(x).std()).all()
