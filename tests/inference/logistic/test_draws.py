"""Draws of the weights of a logistic regression, against integrals over grids."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

import credo
from credo import LogisticRegression
from credo.inference import NoUTurnSampling

RNG = np.random.default_rng(5)
X = RNG.normal(size=(25, 1)) * 2.0 + 1.0
Y = (special.expit(X[:, 0] - 1.0) > RNG.random(25)).astype(int)
AT = np.array([[-4.0], [0.0], [2.5], [6.0]])
LONG = NoUTurnSampling(n_draws=5000, warm_up=1000)


def averages(logs, *quantities):
    share = np.exp(logs - logs.max())
    share /= share.sum()
    return [float((share * x).sum()) for x in quantities]


def errors(model, name="coef"):
    return 4.0 * model.draws_.mean_error(name), 4.0 * model.draws_.std_error(name)


def test_a_weight_and_an_intercept_are_those_of_a_grid():
    w, b = np.meshgrid(np.linspace(-2, 5, 301), np.linspace(-7, 6, 301), indexing="ij")
    middle = X.mean()
    scores = w[..., None] * (X[:, 0] - middle) + b[..., None]
    logs = special.log_expit((2 * Y - 1) * scores).sum(axis=-1) - 0.25 * w**2
    mean, square = averages(logs, w, w**2)
    expected = averages(logs, *(special.expit(w * (x - middle) + b) for x in AT[:, 0]))
    model = LogisticRegression(inference=LONG, weight_precision=0.5, random_state=0).fit(X, Y)
    of_mean, of_std = errors(model)
    assert abs(model.coef_[0, 0] - mean) < of_mean[0, 0] < 0.03
    assert abs(model.draws_.std("coef")[0, 0] - np.sqrt(square - mean**2)) < of_std[0, 0] < 0.03
    assert_allclose(model.predict_proba(AT)[:, 1], expected, atol=0.01)
    assert model.draws_.names == ("coef", "intercept")


@pytest.mark.parametrize("has_signal", [True, False])
def test_an_unknown_precision_is_integrated_over_as_on_a_grid(has_signal):
    y = Y if has_signal else np.arange(25) % 2
    model = LogisticRegression(inference=LONG, fit_intercept=False, random_state=1).fit(X, y)
    # Without an intercept columns keep their center, and are divided by their mean square.
    spread = np.sqrt((X**2).mean())
    seen, signal = X[:, 0] / spread, 0.25
    w, t = np.meshgrid(np.linspace(-4, 12, 1601), np.linspace(-12, 16, 561), indexing="ij")
    line = special.log_expit((2 * y - 1) * w[:, :1] * seen).sum(axis=1)[:, None]
    logs = line + 0.5 * t - 0.5 * np.exp(t) * w**2
    logs = logs + special.log_expit(np.log(signal) - t) + special.log_expit(t - np.log(signal))
    mean, log_precision = averages(logs, w, t)
    expected = averages(logs, *(special.expit(w * x / spread) for x in AT[:, 0]))
    of_mean, _ = errors(model)
    assert abs(model.coef_[0, 0] - mean / spread) < of_mean[0, 0] < 0.02
    found = np.log(model.draws_["precision"])
    assert_allclose(found.mean(), log_precision, atol=0.1)
    assert_allclose(model.predict_proba(AT)[:, 1], expected, atol=0.01)


def test_three_classes_are_those_of_a_grid():
    y = np.arange(25) % 3
    y[:10] = (X[:10, 0] > 1.0) * 2
    model = LogisticRegression(
        inference=LONG, weight_precision=1.0, fit_intercept=False, random_state=2
    ).fit(X, y)
    first, second = np.meshgrid(*[np.linspace(-3, 3, 201)] * 2, indexing="ij")
    coding = model.posterior_.coding
    weights = coding @ np.stack([first.ravel(), second.ravel()])
    logs = special.log_softmax(X[:, :1, None] * weights, axis=1)[np.arange(25), y].sum(axis=0)
    logs = logs - 0.5 * (first**2 + second**2).ravel()
    expected = averages(logs, *weights)
    of_mean, _ = errors(model)
    assert np.all(np.abs(model.coef_[:, 0] - expected) < of_mean[:, 0])
    shares = special.softmax(AT[:, :1, None] * weights, axis=1)
    found = [averages(logs, *part) for part in shares]
    assert_allclose(model.predict_proba(AT), found, atol=0.01)
    assert list(model.coefficients().index.names) == ["class", "term"]


def test_the_gradient_is_that_of_the_density():
    loops = importlib.import_module("credo.inference.logistic._loops_softmax_rows")
    rng = np.random.default_rng(0)
    rows, code = rng.normal(size=(7, 3)), np.arange(7) % 3
    arrays = (
        rows,
        code.astype(np.intp),
        rng.uniform(0.5, 2.0, 7),
        rng.normal(size=(2, 2)),
        np.abs(rng.normal(size=(3, 6))),
        np.array([0.3, -0.4]),
    )
    for n in (6, 7):
        values, slope, none = rng.normal(size=n), np.zeros(n), np.zeros(n)
        loops.log_posterior(values, slope, *arrays)
        steps = 1e-6 * np.eye(n)
        ends = [
            [loops.log_posterior(values + s * step, none, *arrays) for s in (1.0, -1.0)]
            for step in steps
        ]
        assert_allclose(slope, np.array(ends) @ [0.5e6, -0.5e6], rtol=1e-6, atol=1e-7)


def test_draws_follow_the_seed_and_weights_count_copies():
    quick = NoUTurnSampling(n_draws=200, warm_up=200)
    once, again, other = (
        LogisticRegression(inference=quick, random_state=seed).fit(X, Y) for seed in (0, 0, 1)
    )
    assert_array_equal(once.draws_["coef"], again.draws_["coef"])
    assert not np.array_equal(once.draws_["coef"], other.draws_["coef"])
    weight = np.arange(25) % 3
    heavy = LogisticRegression(inference=quick, random_state=0).fit(X, Y, weight)
    copies = np.repeat(np.arange(25), weight)
    copied = LogisticRegression(inference=quick, random_state=0).fit(X[copies], Y[copies])
    assert_allclose(heavy.predict_proba(AT), copied.predict_proba(AT), rtol=1e-6)


def test_what_is_kept_predicts_after_loading_and_tells_how_it_went(tmp_path):
    model = LogisticRegression(inference="nuts", random_state=0).fit(X, Y)
    credo.save(model, tmp_path / "drawn.credo")
    loaded = credo.load(tmp_path / "drawn.credo")
    assert_array_equal(loaded.predict_proba(AT), model.predict_proba(AT))
    assert_array_equal(loaded.draws_["coef"], model.draws_["coef"])
    verdict = loaded.diagnose()
    assert verdict.numbers["divergences"] == 0.0
    assert verdict.numbers["fewest effective draws"] > 400
    table = model.coefficients(coverage=0.5)
    assert_allclose(table["low"], np.quantile(model.draws_["coef"], 0.25))
    assert model.sample_posterior(7, 0)["coef"].shape == (7, 1, 1)
    assert model.forgetting(X, Y) is None
    with pytest.raises(AttributeError, match="fitted with inference='nuts'"):
        _ = LogisticRegression().fit(X, Y).draws_


def test_more_columns_than_rows_keep_the_prior_where_no_row_points():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 30)), np.arange(12) % 2
    settings = {"weight_precision": 2.0, "fit_intercept": False}
    model = LogisticRegression(inference=LONG, random_state=0, **settings).fit(x, y)
    closest = LogisticRegression(**settings).fit(x, y)
    outside = np.linalg.svd(x)[2][-1:] * 5.0
    assert_allclose(model.predict_proba(outside), 0.5, atol=0.02)
    assert_allclose(model.predict_proba(x), closest.predict_proba(x), atol=0.03)
    assert_allclose(model.draws_["coef"].reshape(-1, 30) @ outside[0] / 5.0, 0.0, atol=4.0)
    assert_allclose((model.draws_["coef"] @ outside[0]).std(), 5.0 / np.sqrt(2.0), rtol=0.05)
