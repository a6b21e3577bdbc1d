from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo import LinearRegression
from credo.distributions import Gamma, Normal
from credo.families import LinearStatistics
from credo.features import (
    ContinuedBasis,
    LinearBasis,
    PolynomialBasis,
    RadialBasis,
    SplineBasis,
)
from credo.models.contract import inputs

X = np.array([[0.0], [1.0], [2.0], [3.0]])
T = np.array([0.2, 0.9, 2.1, 2.8])
FIXED = {"weight_precision": 0.5, "noise_precision": 4.0, "penalize_intercept": True}
SINE_X = np.round(np.arange(10) / 9, 6)[:, None]
SINE_T = np.array(
    [0.349486, 0.830839, 1.007332, 0.971507, 0.133066, 0.166823, -0.848307, -0.445686,
     -0.563567, 0.261502]
)  # fmt: skip
SINE_EVIDENCE = [
    (-23.102677, 0.186291, 0.314799), (-17.884186, 0.186263, 0.314799),
    (-20.308787, 0.123088, 0.332541), (-13.934109, 0.107034, 0.332566),
    (-13.712935, 0.173870, 0.335459), (-14.358679, 0.197879, 0.340158),
    (-14.981196, 0.193242, 0.343208), (-15.481117, 0.185537, 0.344208),
    (-15.905869, 0.183195, 0.344291), (-16.290274, 0.185000, 0.344364),
]  # fmt: skip
SETTINGS = [
    {},
    {"weight_precision": "ard"},
    {"noise_precision": Gamma(2.0, 1.0)},
    {"weight_precision": "ard", "noise_precision": Gamma(2.0, 1.0)},
    {"weight_precision": 2.0, "noise_precision": 3.0},
    {"weight_precision": 2.0},
    {"noise_precision": 3.0},
    {"inference": "map"},
    {"inference": "ml"},
    {"fit_intercept": False},
    {"penalize_intercept": True},
]


def data(n=80, d=4, k=None, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.logspace(-2, 2, d) + 3
    weights = rng.normal(size=d if k is None else (d, k)) / np.logspace(-2, 2, d).reshape(
        -1, *[1] * (k is not None)
    )
    y = x @ weights + 0.5 * rng.normal(size=(n,) if k is None else (n, k)) + 7
    return x, y


@pytest.mark.parametrize(("degree", "expected"), list(enumerate(SINE_EVIDENCE)))
def test_ten_evidences_of_polynomials_and_their_predictions(degree, expected):
    model = LinearRegression(
        PolynomialBasis(degree), weight_precision=5e-3, noise_precision=11.1,
        penalize_intercept=True,
    ).fit(SINE_X, SINE_T)  # fmt: skip
    evidence, mean, sd = expected
    assert_allclose(model.log_evidence_, evidence, atol=1e-6)
    assert model.evidence_method_ == "exact"
    found_mean, found_sd = model.predict([[0.5]], return_std=True)
    assert_allclose([found_mean[0], found_sd[0]], [mean, sd], atol=1e-6)


@pytest.mark.parametrize(("n", "seed"), [(68, 16), (68, 18), (69, 9), (69, 16)])
def test_noise_is_found_with_as_many_terms_as_rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    y = np.sin(4 * x[:, 0]) + x[:, 1] + 0.3 * rng.normal(size=n)
    model = LinearRegression(ContinuedBasis(SplineBasis() + RadialBasis(50))).fit(x, y)
    assert len(model.coef_) == 68
    assert 0.2 < model.noise_precision_**-0.5 < 0.4
    fewer = LinearRegression(ContinuedBasis(SplineBasis() + RadialBasis(20))).fit(x, y)
    assert_allclose(model.log_evidence_, fewer.log_evidence_, atol=5.0)


def test_posterior_is_ridge_and_matches_the_worked_example():
    model = LinearRegression(**FIXED).fit(X, T)
    assert_allclose(
        [model.intercept_, model.coef_[0]], [0.1684210526, 0.8842105263], atol=1e-10
    )
    assert_allclose(model.log_evidence_, -4.8393921148, atol=1e-9)
    predictive = model.predict_dist([[1.5], [4.0]])
    assert_allclose(predictive.variance(), [0.3107017544, 0.6107017544], atol=1e-9)
    assert_allclose(predictive.epistemic_std**2, [0.0607017544, 0.3607017544], atol=1e-9)
    assert_allclose(predictive.aleatoric_std, 0.5)
    point = LinearRegression(**FIXED, inference="map").fit(X, T)
    assert_allclose(point.coef_, model.coef_)
    assert_allclose(point.predict_dist([[4.0]]).variance(), 0.25)


def test_free_intercept_matches_ridge_with_unpenalized_bias():
    model = LinearRegression(weight_precision=0.5, noise_precision=4.0).fit(X, T)
    assert_allclose([model.intercept_, model.coef_[0]], [0.1829268293, 0.8780487805], atol=1e-9)
    x, y = data()
    model = LinearRegression(weight_precision=0.6, noise_precision=2.0).fit(x, y)
    ridge = Ridge(alpha=0.3).fit(x, y)
    assert_allclose(model.coef_, ridge.coef_, rtol=1e-6)
    assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-6)


def test_least_squares_matches_the_worked_example_and_lstsq():
    model = LinearRegression(inference="ml").fit(X, T)
    assert_allclose([model.intercept_, model.coef_[0]], [0.15, 0.9], atol=1e-10)
    assert_allclose(1 / model.noise_precision_, 0.0125, atol=1e-12)
    assert np.isnan(model.log_evidence_)
    assert model.evidence_method_ == "none"
    x, y = data(k=2)
    expected = np.linalg.lstsq(np.column_stack([np.ones(80), x]), y, rcond=None)[0]
    found = LinearRegression(inference="ml").fit(x, y)
    assert_allclose(found.intercept_, expected[0], rtol=1e-8)
    assert_allclose(found.coef_, expected[1:].T, rtol=1e-8)


def test_polynomial_of_degree_one_less_than_the_points_interpolates():
    model = LinearRegression(PolynomialBasis(9), inference="ml").fit(SINE_X, SINE_T)
    assert_allclose(model.predict(SINE_X), SINE_T, atol=1e-7)
    expected = np.polynomial.Polynomial.fit(SINE_X[:, 0], SINE_T, 9).convert().coef
    assert_allclose(model.coef_[:2], expected[1:3], rtol=1e-5)


def test_rank_deficient_least_squares_predicts_as_the_reduced_model():
    x, y = data()
    twice = np.hstack([x, x[:, :1] + x[:, 1:2], 0 * x[:, :1] + 4])
    found = LinearRegression(inference="ml").fit(twice, y)
    assert_allclose(found.predict(twice), LinearRegression(inference="ml").fit(x, y).predict(x))
    design = np.column_stack([np.ones(len(x)), x])
    assert_allclose(found.predict(twice), design @ np.linalg.lstsq(design, y)[0])


def test_ridge_tends_to_least_squares_as_the_precision_goes_to_zero():
    x, y = data()
    small = LinearRegression(weight_precision=1e-10, noise_precision=1.0).fit(x, y)
    assert_allclose(small.coef_, LinearRegression(inference="ml").fit(x, y).coef_, rtol=1e-5)


def test_radial_basis_regression_matches_the_worked_example():
    x = np.array([[0.0], [0.25], [0.5], [0.75], [1.0]])
    basis = RadialBasis(centers=np.array([[0.0], [0.5], [1.0]]), width=0.25)
    t = np.sin(2 * np.pi * x[:, 0])
    plain = LinearRegression(basis, inference="ml", fit_intercept=False).fit(x, t)
    assert_allclose(plain.coef_, [0.4397968467, 0, -0.4397968467], atol=1e-9)
    assert_allclose(plain.predict([[0.3]]), 0.2053460564, atol=1e-9)
    ridge = LinearRegression(
        basis, weight_precision=0.1, noise_precision=1.0, fit_intercept=False
    ).fit(x, t)
    assert_allclose(ridge.coef_, [0.4095464778, 0, -0.4095464778], atol=1e-9)
    assert_allclose(ridge.predict([[0.3]]), 0.1912218215, atol=1e-9)


def test_learned_precisions_agree_with_bayesian_ridge_on_scaled_columns():
    x, y = data(n=300)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    model, peer = LinearRegression().fit(x, y), BayesianRidge(tol=1e-10, max_iter=2000)
    peer.fit(x, y)
    assert_allclose(model.coef_, peer.coef_, rtol=1e-3)
    # The peer counts the row that the intercept takes up.
    assert_allclose(model.noise_precision_ * 300 / 299, peer.alpha_, rtol=2e-3)
    assert model.log_evidence_at(model.weight_precision_, model.noise_precision_) >= (
        model.log_evidence_at(peer.lambda_, peer.alpha_) - 1e-9
    )


def test_evidence_of_diabetes_at_the_precisions_of_the_peer():
    x, y = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(x, y)
    assert_allclose(model.log_evidence_at(1.1462e-5, 3.4102e-4), -2403.906239, atol=2e-3)


def test_student_predictive_equals_normal_mixture_over_the_noise():
    model = LinearRegression(weight_precision=0.5, noise_precision=Gamma(2.0, 0.3)).fit(X, T)
    draws = model.sample_posterior(200_000, random_state=0)
    shape = float(model.posterior_.noise_shape[0])
    predictive = model.predict_dist([[4.0]])
    expected = stats.t(2 * shape, predictive.mean(), predictive.marginal.scale)
    assert_allclose(predictive.interval(0.8), np.stack(expected.interval(0.8), axis=-1))
    line = draws["coef"][:, 0] * 4 + draws["intercept"]
    assert_allclose(line.mean(), predictive.mean()[0], atol=0.01)
    assert_allclose(line.std(), predictive.epistemic_std[0], rtol=0.02)


@pytest.mark.parametrize("settings", SETTINGS)
def test_chunks_give_the_same_answer_as_one_batch(settings):
    x, y = data(d=3)
    batch = LinearRegression(**settings).fit(x, y)
    chunked = LinearRegression(**settings)
    for rows in np.array_split(np.arange(80), 7):
        chunked.partial_fit(x[rows], y[rows])
    assert_allclose(chunked.predict(x), batch.predict(x), rtol=1e-8)
    assert_allclose(chunked.predict_dist(x).std(), batch.predict_dist(x).std(), rtol=1e-6)
    assert_allclose(chunked.log_evidence_, batch.log_evidence_, rtol=1e-8)


@pytest.mark.parametrize("settings", SETTINGS)
def test_wide_chunks_cross_from_rows_to_moments_unnoticed(settings):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 25))
    y = x[:, 0] + 0.3 * rng.normal(size=40)
    chunked = LinearRegression(**settings)
    for rows in np.array_split(np.arange(40), 5):
        chunked.partial_fit(x[rows], y[rows])
    batch = LinearRegression(**settings).fit(x, y)
    assert_allclose(chunked.predict(x), batch.predict(x), rtol=1e-5, atol=1e-6)


UNIT_FREE = [s for s in SETTINGS if set(s) <= {"weight_precision", "inference", "fit_intercept"}
             and not isinstance(s.get("weight_precision"), float)]  # fmt: skip


@pytest.mark.parametrize("settings", UNIT_FREE)
@pytest.mark.parametrize(
    "basis",
    [None, PolynomialBasis(2, orthogonal=True), RadialBasis(5) + LinearBasis(), SplineBasis(5)],
)
def test_predictions_do_not_depend_on_units(settings, basis):
    if basis is not None and not settings.get("fit_intercept", True):
        basis = None
    x, y = data()
    units, scale = np.array([1e-6, 1e4, 7.0, 1e9]), 1e5
    model = LinearRegression(basis, **settings).fit(x, y)
    other = LinearRegression(basis, **settings).fit(x * units, y * scale)
    assert_allclose(other.predict(x * units) / scale, model.predict(x), rtol=1e-6)
    spread = other.predict_dist(x * units).std() / scale
    assert_allclose(spread, model.predict_dist(x).std(), rtol=1e-5)


def test_model_probabilities_do_not_depend_on_units_or_origin():
    x, y = data()

    def difference(x, y):
        models = [LinearRegression(b).fit(x, y) for b in (PolynomialBasis(0), None)]
        return models[0].log_evidence_ - models[1].log_evidence_

    expected = difference(x, y)
    assert_allclose(difference(x * 1e5 + 3, y), expected, rtol=1e-6)
    assert_allclose(difference(x, y * 1e-6 - 12), expected, rtol=1e-6)


def test_evidence_falls_by_the_log_of_the_unit_per_informative_row():
    x, y = data()
    here, there = LinearRegression().fit(x, y), LinearRegression().fit(x, 10 * y)
    assert_allclose(there.log_evidence_ - here.log_evidence_, -79 * np.log(10), rtol=1e-8)


@pytest.mark.parametrize(
    "settings", [s for s in SETTINGS if s.get("weight_precision") != "ard"]
)
def test_several_outputs_are_separate_problems(settings):
    x, y = data(k=3)
    joint = LinearRegression(**settings).fit(x, y)
    parts = [LinearRegression(**settings).fit(x, y[:, k]) for k in range(3)]
    assert joint.predict(x).shape == (80, 3)
    assert joint.predict_interval(x).shape == (80, 3, 2)
    for k, part in enumerate(parts):
        assert_allclose(joint.coef_[k], part.coef_, rtol=1e-7)
        assert_allclose(
            joint.predict_dist(x).std()[:, k], part.predict_dist(x).std(), rtol=1e-7
        )
    if settings.get("inference") != "ml":
        assert_allclose(joint.log_evidence_, sum(p.log_evidence_ for p in parts), rtol=1e-9)
    else:
        truth = np.linalg.lstsq(x - x.mean(axis=0), y)[0]
        assert_allclose(joint.coef_, truth.T)


def test_several_outputs_have_relevances_of_their_own():
    x, y = data(k=2)
    joint = LinearRegression(weight_precision="ard").fit(x, y)
    parts = [LinearRegression(weight_precision="ard").fit(x, y[:, k]) for k in range(2)]
    for k, part in enumerate(parts):
        assert_allclose(joint.predict(x)[:, k], part.predict(x), rtol=1e-7)
        assert_allclose(joint.intercept_[k], part.intercept_, rtol=1e-6)
        assert_allclose(joint.coef_[k], part.coef_, rtol=1e-6)
        assert_allclose(
            joint.predict_dist(x).std()[:, k], part.predict_dist(x).std(), rtol=1e-6
        )
    assert joint.sample_posterior(5, 0)["coef"].shape == (5, 2, 4)


@pytest.mark.parametrize("settings", SETTINGS)
def test_leave_one_out_keeps_the_precisions_and_moves_the_prediction_away(settings):
    x, y = data(n=30, d=2)
    model = LinearRegression(**settings).fit(x, y)
    left_out = model.leave_one_out(x, y)
    inside, outside = abs(y - model.predict(x)), abs(y - left_out.mean())
    assert (outside >= inside - 1e-12).all()
    assert left_out.log_prob(y).sum() < model.predict_dist(x).log_prob(y).sum()


def test_leave_one_out_equals_refits_at_the_same_precisions():
    x, y = data(n=25, d=2)
    settings = {"weight_precision": 0.8, "noise_precision": 3.0}
    found = LinearRegression(**settings).fit(x, y).leave_one_out(x, y)
    for i in (0, 7, 24):
        rest = np.delete(np.arange(25), i)
        refit = LinearRegression(**settings).fit(x[rest], y[rest]).predict_dist(x[i : i + 1])
        assert_allclose([found.mean()[i], found.std()[i]], [refit.mean()[0], refit.std()[0]])


def test_fold_is_forgotten_by_subtracting_its_statistics():
    x, y = data()
    label = np.arange(80) % 10
    model = LinearRegression().fit(x, y)
    folds = model.summarize_groups(x, y, label, 10)
    refit = clone(model).fit(x, y).fit_statistics(model.statistics_ - folds[3])
    direct = LinearRegression().fit(x[label != 3], y[label != 3])
    assert_allclose(refit.predict(x), direct.predict(x), rtol=1e-9)
    assert_allclose(refit.log_evidence_, direct.log_evidence_, rtol=1e-9)


def test_wide_fold_is_forgotten_by_subtracting_its_rows():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(20, 60))
    y = x[:, 0] + rng.normal(size=20)
    model = LinearRegression().fit(x, y)
    fold = model.summarize(x[:5], y[:5])
    refit = clone(model).fit(x, y).fit_statistics(model.statistics_ - fold)
    assert_allclose(
        refit.predict(x), LinearRegression().fit(x[5:], y[5:]).predict(x), rtol=1e-7
    )


def test_frames_in_give_the_same_predictions_and_labeled_tables_out():
    x, y = data()
    names = ["age", "dose", "mass", "time"]
    frame = pd.DataFrame(x, columns=names, index=np.arange(80) + 100)
    plain = LinearRegression().fit(x, y)
    model = LinearRegression().fit(frame, pd.Series(y, index=frame.index))
    assert_allclose(model.predict(frame), plain.predict(x))
    assert list(model.coefficients().index) == names
    table = model.predict_frame(frame)
    assert list(table.index) == list(frame.index)
    assert_allclose(table["low"], model.predict_interval(frame)[:, 0])
    there = pl.DataFrame(x, schema=names)
    answer = model.predict_frame(there)
    assert isinstance(answer, pl.DataFrame)
    assert_allclose(answer["mean"].to_numpy(), plain.predict(x))
    assert_allclose(plain.predict_frame(x)["sd"], plain.predict(x, return_std=True)[1])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"age": "years"}))


def test_coefficient_table_holds_central_intervals():
    model = LinearRegression(weight_precision=0.5, noise_precision=4.0).fit(X, T)
    row = model.coefficients(0.9).loc["x0"]
    sd = np.sqrt(model.posterior_.weight_variance()[0, 0])
    assert_allclose([row["low"], row["high"]], row["mean"] + sd * stats.norm.ppf([0.05, 0.95]))
    model = LinearRegression(weight_precision=0.5, noise_precision=Gamma(1.0, 1.0)).fit(X, T)
    draws = model.sample_posterior(200_000, random_state=0)["coef"][:, 0]
    found = model.coefficients(0.9).loc["x0", ["low", "high"]]
    assert_allclose(found, np.quantile(draws, [0.05, 0.95]), atol=0.01)


def test_function_draws_have_the_credible_band():
    x, y = data(n=30)
    model = LinearRegression().fit(x, y)
    functions = model.sample_functions(x, 20_000, random_state=0)
    predictive = model.predict_dist(x)
    assert_allclose(functions.std(axis=0), predictive.epistemic_std, rtol=0.04)
    spread = 5 * predictive.epistemic_std / np.sqrt(20_000)
    assert (abs(functions.mean(axis=0) - predictive.mean()) < spread).all()


BELIEVED = [
    FIXED,
    {"weight_precision": 0.5, "noise_precision": Gamma(3.0, 2.0), "fit_intercept": False},
    {**FIXED, "basis": PolynomialBasis(2)},
]


@pytest.mark.parametrize("settings", BELIEVED, ids=["normal", "student", "basis"])
def test_function_draws_of_an_unfitted_model_have_the_prior(settings):
    model = LinearRegression(**settings)
    functions = model.sample_prior(X, 40_000, random_state=0)
    basis = X if model.basis is None else model.basis.place(X).design(X)
    terms = np.column_stack([basis, np.ones(4)]) if model.fit_intercept else basis
    noise = model.noise_precision
    # Of a Student-t by three halves of a Gamma the variance is the mean of the inverse.
    noise_variance = 2.0 / (3.0 - 1.0) if isinstance(noise, Gamma) else 1.0 / noise
    unit = noise_variance if isinstance(noise, Gamma) else 1.0
    covariance = unit * terms @ terms.T / 0.5
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance))) + 1e-12
    assert (abs(np.cov(functions.T) - covariance) < 0.06 * size).all()
    assert (abs(functions.mean(axis=0)) < 0.03 * np.sqrt(np.diag(covariance)) + 1e-12).all()
    predictive = model.prior_predictive(X)
    assert_allclose(predictive.variance(), np.diag(covariance) + noise_variance)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("settings", BELIEVED[:2], ids=["normal", "student"])
def test_the_prior_after_the_data_is_the_fitted_model(settings):
    model = LinearRegression(**settings)
    columns, belief = model._prior(X)
    after = belief.update(LinearStatistics.of(columns, T)).predictive().given(columns)
    fitted = model.fit(X, T).predict_dist(X)
    assert_allclose(after.mean(), fitted.mean())
    assert_allclose(after.variance(), fitted.std() ** 2)
    assert_allclose(model.prior_predictive(X).mean(), 0.0)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {**FIXED, "penalize_intercept": False},
        {**FIXED, "weight_precision": "ard"},
        {**FIXED, "noise_precision": "evidence"},
        {**FIXED, "inference": "ml"},
    ],
)
def test_a_prior_that_is_flat_or_learned_is_not_shown(settings):
    model = LinearRegression(**settings)
    for verb in (model.prior_predictive, lambda x: model.sample_prior(x, 3)):
        with pytest.raises(ValueError, match="a prior needs weight_precision"):
            verb(X)


def test_quantiles_and_intervals_belong_to_the_predictive():
    x, y = data(k=2)
    model = LinearRegression().fit(x, y)
    quantiles = model.predict_quantiles(x, [0.05, 0.5, 0.95])
    assert quantiles.shape == (80, 2, 3)
    assert_allclose(quantiles[..., [0, 2]], model.predict_interval(x, 0.9))
    single = LinearRegression().fit(x, y[:, 0]).predict_quantiles(x, [0.1, 0.9])
    assert single.shape == (80, 2)
    assert_allclose(model.predict_dist(x).cdf(quantiles[..., 0]), 0.05)


def test_works_in_pipeline_and_grid_search():
    x, y = data()
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    grid = GridSearchCV(
        pipeline,
        {"linearregression__basis": [PolynomialBasis(0), PolynomialBasis(1)]},
        cv=3,
    ).fit(x, y)
    assert grid.best_params_["linearregression__basis"].degree == 1
    mean, sd = pipeline.fit(x, y).predict(x, return_std=True)
    assert_allclose(mean, LinearRegression().fit(x, y).predict(x))
    assert (sd > 0).all()


def test_interval_coverage_is_honest_on_data_of_the_model():
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(300):
        x = rng.normal(size=(40, 3))
        y = x @ rng.normal(size=3) + rng.normal() + 0.7 * rng.normal(size=40)
        model = LinearRegression(noise_precision=Gamma(1e-6, 1e-6)).fit(x[:30], y[:30])
        low, high = model.predict_interval(x[30:], 0.8).T
        hits.append(((low < y[30:]) & (y[30:] < high)).mean())
    # Ten test rows share a fit, so the error is that of 300 means, not of 3,000 rows.
    error = np.std(hits) / np.sqrt(len(hits))
    assert abs(np.mean(hits) - 0.8) < 4 * error


def test_posterior_ranks_are_uniform_when_truth_comes_from_the_prior():
    rng = np.random.default_rng(1)
    ranks = []
    for _ in range(500):
        noise = rng.gamma(3.0, 1 / 2.0)
        x = rng.normal(size=(8, 2))
        weights = rng.normal(size=2) / np.sqrt(1.5 * noise)
        y = x @ weights + rng.normal(size=8) / np.sqrt(noise)
        model = LinearRegression(
            weight_precision=1.5, noise_precision=Gamma(3.0, 2.0), fit_intercept=False
        ).fit(x, y)
        draws = model.sample_posterior(99, random_state=rng)["coef"][:, 0]
        ranks.append((draws < weights[0]).sum())
    assert stats.kstest((np.array(ranks) + 0.5) / 100, "uniform").pvalue > 1e-3


def test_training_error_rises_with_the_precision_and_test_error_has_a_minimum():
    rng = np.random.default_rng(0)
    x, new = rng.uniform(0, 1, (15, 1)), rng.uniform(0, 1, (500, 1))
    y = np.sin(2 * np.pi * x[:, 0]) + 0.3 * rng.normal(size=15)
    precisions = 10.0 ** np.arange(-8, 5)
    train, test = [], []
    for precision in precisions:
        model = LinearRegression(
            PolynomialBasis(9), weight_precision=precision, noise_precision=10.0
        ).fit(x, y)
        train.append(np.mean((model.predict(x) - y) ** 2))
        test.append(np.mean((model.predict(new) - np.sin(2 * np.pi * new[:, 0])) ** 2))
    powers = x ** np.arange(1, 10)
    ridge = Ridge(alpha=precisions[8] / 10).fit(powers, y)
    assert_allclose(train[8], np.mean((ridge.predict(powers) - y) ** 2), rtol=1e-6)
    assert (np.diff(train) > 0).all()
    assert 0 < int(np.argmin(test)) < len(precisions) - 1


def test_posterior_narrows_to_least_squares_as_rows_accumulate():
    x, y = data(n=40)
    x = x / x.std(axis=0)
    least_squares = LinearRegression(inference="ml").fit(x, y).coef_
    assert_allclose(least_squares, np.linalg.lstsq(x - x.mean(axis=0), y)[0])
    gaps = []
    for copies in (1, 100, 10_000):
        weight = np.full(40, float(copies))
        model = LinearRegression(weight_precision=1.0, noise_precision=1.0)
        found = model.fit(x, y, sample_weight=weight).coef_
        gaps.append(np.abs(found - least_squares).max())
    assert gaps[0] > 50 * gaps[1] > 50 * gaps[2]


@pytest.mark.parametrize("settings", SETTINGS)
def test_constant_target_is_predicted_without_noise(settings):
    x, _ = data()
    settings = {k: v for k, v in settings.items() if k != "fit_intercept"}
    model = LinearRegression(**settings).fit(x, np.full(80, 5.0))
    assert_allclose(model.predict(x), 5.0, rtol=1e-2)
    assert np.isfinite(model.predict_dist(x).std()).all()


@pytest.mark.parametrize("settings", [s for s in SETTINGS if "inference" not in s])
def test_duplicate_rows_constant_and_repeated_columns_work(settings):
    x, y = data()
    x = np.repeat(np.hstack([x, x[:, :1], np.full((80, 1), 2.0)]), 2, axis=0)
    model = LinearRegression(**settings).fit(x, np.repeat(y, 2))
    assert np.isfinite(model.predict_dist(x).std()).all()
    assert np.corrcoef(model.predict(x), np.repeat(y, 2))[0, 1] > 0.5


def test_one_row_needs_a_known_noise():
    with pytest.raises(ValueError, match="found n_samples=1"):
        LinearRegression().fit([[1.0, 2.0]], [3.0])
    with pytest.raises(ValueError, match="counts copies of a row"):
        LinearRegression().fit(X, T, sample_weight=np.full(4, 0.25))
    model = LinearRegression(weight_precision=1.0, noise_precision=4.0).fit([[1.0, 2.0]], [3.0])
    assert_allclose(model.predict([[1.0, 2.0]]), 3.0)
    assert_allclose(model.predict_dist([[1.0, 2.0]]).variance(), 0.25 + 0.25)
    assert_allclose(model.log_evidence_, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "nuts"}, "inference must be one of"),
        ({"weight_precision": -1.0}, "weight_precision must be a positive number"),
        ({"weight_precision": "auto"}, "weight_precision must be a positive number or one of"),
        ({"noise_precision": "ard"}, "noise_precision must be a positive number or one of"),
        ({"noise_precision": Gamma([1.0, 2.0], 1.0)}, "one Gamma belief"),
    ],
)
def test_impossible_settings_are_refused_before_any_work(settings, message):
    with pytest.raises(ValueError, match=message):
        LinearRegression(**settings).fit(X, T)


def test_missing_values_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        LinearRegression().fit([[np.nan], [1.0], [2.0]], [1.0, 2.0, 3.0])


def test_questions_before_fit_are_refused():
    for question in (
        lambda m: m.predict_dist(X),
        lambda m: m.coefficients(),
        lambda m: m.sample_posterior(3),
        lambda m: m.diagnose(),
        lambda m: m.fit_statistics(None),
    ):
        with pytest.raises(NotFittedError):
            question(LinearRegression())


def test_approximations_agree_with_the_evidence_where_they_should():
    x, y = data(n=400)
    exact = LinearRegression(weight_precision=1.0, noise_precision=4.0).fit(x, y)
    found = exact.evidence_approximations()
    assert_allclose(found["laplace"], found["exact"], rtol=1e-12)
    learned = LinearRegression().fit(x, y)
    found = learned.evidence_approximations()
    assert_allclose(found["laplace"], found["grid"], atol=0.1)
    assert abs(found["bic"] - found["grid"]) < 15
    assert abs(found["width"] - found["grid"]) < 15


def test_bic_counts_half_a_log_for_each_parameter():
    x, y = data(n=400)
    model = LinearRegression().fit(x, y)
    residual = y - LinearRegression(inference="ml").fit(x, y).predict(x)
    likelihood = stats.norm(0, np.sqrt(np.mean(residual**2))).logpdf(residual).sum()
    expected = likelihood - 0.5 * (4 + 1 + 1) * np.log(400)
    assert_allclose(model.evidence_approximations()["bic"], expected, rtol=1e-9)


def test_evidence_prefers_the_true_degree():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 3, (60, 1))
    y = 1 - 2 * x[:, 0] + 0.5 * x[:, 0] ** 3 + np.sqrt(0.1) * rng.normal(size=60)
    evidences = [
        LinearRegression(PolynomialBasis(k, orthogonal=True)).fit(x, y).log_evidence_
        for k in range(8)
    ]
    assert int(np.argmax(evidences)) == 3


def test_diagnosis_says_what_is_doubtful():
    x, y = data()
    assert LinearRegression().fit(x, y).diagnose().is_sound
    constant = LinearRegression().fit(x, np.ones(80)).diagnose()
    assert not constant.is_sound
    assert "rounding error" in str(constant)
    wide = LinearRegression().fit(np.random.default_rng(0).normal(size=(10, 30)), y[:10])
    assert np.isfinite(list(wide.diagnose().numbers.values())).all()


def test_belief_about_the_weight_precision_is_a_choice_that_reaches_the_weights():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 4))
    y = x @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=30)
    believed = Gamma(40.0, 2.0)
    model = LinearRegression(weight_precision=believed, noise_precision=1.0).fit(x, y)
    grid = np.linspace(5.0, 30.0, 251)
    values = [model.log_evidence_at(a, 1.0) + 40 * np.log(a) - 2 * a for a in grid]
    assert_allclose(model.weight_precision_, grid[np.argmax(values)], atol=0.06)
    loose = LinearRegression(noise_precision=1.0).fit(x, y)
    assert np.linalg.norm(model.coef_) < 0.9 * np.linalg.norm(loose.coef_)
    assert model.log_evidence_ < loose.log_evidence_ - 5


def test_a_batch_of_beliefs_about_a_precision_is_refused():
    several = Gamma([1.0, 2.0], 1.0)
    with pytest.raises(ValueError, match=r"weight_precision must be one Gamma belief; found"):
        LinearRegression(weight_precision=several).fit(np.eye(3), np.arange(3.0))


def test_learned_prior_shrinks_normal_means_as_stein_does():
    rng = np.random.default_rng(0)
    truth = 0.8 * rng.normal(size=60)
    y = truth + rng.normal(size=60)
    model = LinearRegression(noise_precision=1.0, fit_intercept=False).fit(np.eye(60), y)
    assert_allclose(model.coef_, (1 - 1 / np.mean(y**2)) * y, rtol=1e-6)
    assert np.sum((model.coef_ - truth) ** 2) < np.sum((y - truth) ** 2)


def test_ways_to_control_complexity_agree_where_the_answer_is_clear():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (200, 1))
    y = 1 + 2 * x[:, 0] - 3 * x[:, 0] ** 2 + 0.2 * rng.normal(size=200)
    models = [LinearRegression(PolynomialBasis(k, orthogonal=True)).fit(x, y) for k in range(6)]
    by_evidence = np.argmax([m.log_evidence_ for m in models])
    bic = [m.evidence_approximations()["bic"] for m in models]
    by_bic = np.argmax(bic)
    # The maximum of the likelihood less half of log n for each weight, intercept and noise.
    squares = [
        ((np.polyval(np.polyfit(x[:, 0], y, k), x[:, 0]) - y) ** 2).sum() for k in (0, 1)
    ]
    best = -100 * (np.log(2 * np.pi * np.array(squares) / 200) + 1)
    assert_allclose(bic[:2], best - np.array([2, 3]) / 2 * np.log(200))
    left_out = [m.leave_one_out(x, y).log_prob(y) for m in models]
    gain = left_out[2] - np.array(left_out)
    error = gain.std(axis=1) / np.sqrt(200)
    assert by_evidence == by_bic == 2
    assert (gain.mean(axis=1)[:2] > 5 * error[:2]).all()
    assert (gain.mean(axis=1)[3:] > -3 * error[3:]).all()


def test_evidence_at_the_learned_precisions_is_below_its_integral_only_by_the_prior_width():
    x, y = data(k=2)
    joint = LinearRegression().fit(x, y)
    parts = [LinearRegression().fit(x, y[:, k]) for k in range(2)]
    found = joint.log_evidence_at(joint.weight_precision_, joint.noise_precision_)
    expected = [m.log_evidence_at(m.weight_precision_, m.noise_precision_) for m in parts]
    assert_allclose(found, sum(expected), rtol=1e-10)
    penalized = LinearRegression(**FIXED).fit(X, T)
    assert_allclose(penalized.log_evidence_at([0.5, 0.5], 4.0), penalized.log_evidence_)


@pytest.mark.parametrize("settings", [s for s in SETTINGS if s.get("inference") != "ml"])
def test_outputs_of_zero_work_alone_and_beside_others(settings):
    x, y = data()
    zero = LinearRegression(**settings).fit(x, np.zeros(80))
    assert_allclose(zero.predict(x), 0.0, atol=1e-9)
    assert np.isfinite(zero.predict_dist(x).std()).all()
    both = LinearRegression(**settings).fit(x, np.column_stack([y, np.zeros(80)]))
    assert_allclose(both.predict(x)[:, 1], 0.0, atol=1e-9)


def test_tiny_and_huge_units_of_y_change_nothing_but_the_unit():
    x, y = data()
    expected = LinearRegression().fit(x, y).predict_dist(x)
    for unit in (1e-100, 1e100):
        found = LinearRegression().fit(x, unit * y).predict_dist(x)
        assert_allclose(found.mean() / unit, expected.mean(), rtol=1e-8)
        assert_allclose(found.std() / unit, expected.std(), rtol=1e-6)


def test_given_precision_sees_columns_of_any_size():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) * [1e5, 1e-4]
    y = 1e-5 * x[:, 0] + 1e5 * x[:, 1] + 0.1 * rng.normal(size=200)
    model = LinearRegression(weight_precision=1e-12, noise_precision=100.0).fit(x, y)
    assert_allclose(model.coef_, [1e-5, 1e5], rtol=0.05)
    expected = LinearRegression(inference="ml").fit(x, y)
    assert_allclose(model.predict(x), expected.predict(x), atol=1e-3)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_evidence_of_outputs_without_noise_depends_on_no_unit(unit):
    x = np.linspace(0, 1, 30)[:, None]
    y = 2 * x[:, 0] + 1
    here = LinearRegression(PolynomialBasis(2, orthogonal=True)).fit(x, y)
    there = LinearRegression(PolynomialBasis(2, orthogonal=True)).fit(x * unit, y)
    # The noise stops at rounding error, which differs a little from unit to unit.
    assert_allclose(there.log_evidence_, here.log_evidence_, atol=0.5)
    line = LinearRegression().fit(x * unit, y)
    assert line.log_evidence_ > there.log_evidence_


def test_interpolated_rows_with_a_given_precision_take_the_least_sure_noise():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 10)), rng.normal(size=6)
    model = LinearRegression(weight_precision=1.0).fit(x, y)
    # Halving the noise from here on changes the evidence by nothing that can be seen.
    top = model.log_evidence_at(1.0, model.noise_precision_)
    assert model.log_evidence_at(1.0, 2 * model.noise_precision_) <= top + 1e-5
    assert np.isfinite(model.log_evidence_)
    assert not model.diagnose().is_sound


def test_laplace_is_the_normal_approximation_at_the_most_probable_precision():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 3))
    y = x @ [1.0, 0.5, 0.0] + rng.normal(size=30)
    model = LinearRegression().fit(x, y)
    problem = model._setting.problem(model.statistics_).precisions
    t = np.linspace(-8, 8, 320_001)
    joint = problem.objective(0, t) + problem.log_prior(t)
    top = int(np.argmax(joint))
    step = t[1] - t[0]
    curve = (2 * joint[top] - joint[top - 200] - joint[top + 200]) / (200 * step) ** 2
    expected = joint[top] + 0.5 * np.log(2 * np.pi / curve)
    assert_allclose(model.evidence_approximations()["laplace"], expected, atol=1e-4)


def test_joint_distribution_of_the_weights_is_student_where_the_noise_is_believed():
    model = LinearRegression(weight_precision=0.5, noise_precision=Gamma(1.0, 1.0)).fit(X, T)
    marginal = model.posterior_.marginal()
    assert_allclose(marginal.df, 2 * (1.0 + 1.5))
    low, high = model.coefficients(0.99).loc["x0", ["low", "high"]]
    scale = np.sqrt(marginal.scale_matrix[0, 0])
    assert_allclose([low, high], stats.t(5.0, model.coef_[0], scale).interval(0.99), rtol=1e-9)


def test_many_columns_and_few_rows_by_relevance_are_called_doubtful():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(12, 20)), rng.normal(size=12)
    model = LinearRegression(weight_precision="ard").fit(x, y)
    assert not model.diagnose().is_sound
    few = LinearRegression(weight_precision="ard").fit(x[:6, :5], y[:6])
    assert np.isfinite(few.weight_precision_).sum() <= 2


def test_rows_may_come_one_at_a_time_from_the_first():
    x, y = data(n=10, d=2)
    model = LinearRegression()
    model.partial_fit(x[:1], y[:1])
    with pytest.raises(NotFittedError):
        model.predict(x)
    for i in range(1, 10):
        model.partial_fit(x[i : i + 1], y[i : i + 1])
    assert_allclose(model.predict(x), LinearRegression().fit(x, y).predict(x), rtol=1e-7)


def test_leave_one_out_of_other_rows_is_refused():
    x, y = data()
    model = LinearRegression().fit(x[:60], y[:60])
    for rows in (slice(60, 80), slice(20, 80)):
        with pytest.raises(ValueError, match="rows and weights of training"):
            model.leave_one_out(x[rows], y[rows])


def test_a_basis_that_is_none_is_refused_by_name():
    for basis in ("spline", SplineBasis):
        with pytest.raises(TypeError, match="Pass an instance"):
            LinearRegression(basis).fit(X, T)


def test_predictions_with_learned_noise_are_student_with_the_rows_left():
    x, y = data(n=12, d=2)
    model = LinearRegression().fit(x, y)
    marginal = model.predict_dist(x).marginal
    assert_allclose(marginal.df, 11)
    belief = model.posterior_
    spread = (1 + belief.leverage(x)) / belief.noise_precision
    assert_allclose(marginal.scale, np.sqrt(spread[:, 0]))
    known = LinearRegression(noise_precision=2.0).fit(x, y)
    assert isinstance(known.predict_dist(x).marginal, Normal)
    plenty = LinearRegression().fit(x, y, sample_weight=np.full(12, 1e4))
    assert isinstance(plenty.predict_dist(x).marginal, Normal)


def test_noise_learned_at_a_given_precision_has_the_doubt_of_its_curvature():
    x, y = data(n=40, d=2)
    x = x / x.std(axis=0)
    alone = LinearRegression(weight_precision=1e-6).fit(x, y)
    # With hardly any prior two weights and the intercept take up three rows.
    assert_allclose(alone.posterior_.noise_shape, (40 - 3) / 2, rtol=0.02)


@pytest.mark.parametrize(("n", "low"), [(5, 0.8), (8, 0.85), (12, 0.87)])
def test_intervals_of_few_rows_are_wide_enough(n, low):
    rng = np.random.default_rng(3)
    hits = []
    for _ in range(400):
        x = rng.normal(size=(n + 5, 2))
        y = x @ rng.normal(size=2) + rng.normal(size=n + 5)
        ends = LinearRegression().fit(x[:n], y[:n]).predict_interval(x[n:], 0.9).T
        hits.append(((ends[0] < y[n:]) & (y[n:] < ends[1])).mean())
    assert np.mean(hits) > low


def test_a_design_made_part_by_part_gives_the_same_fit_folds_and_predictions(monkeypatch):
    rng = np.random.default_rng(5)
    x, weight = rng.normal(size=(200, 3)), rng.uniform(0.5, 2.0, 200)
    y, fold = np.sin(x).sum(axis=1) + 0.1 * rng.normal(size=200), np.arange(200) % 4
    model = LinearRegression(SplineBasis(4))
    whole = clone(model).fit(x, y, weight)
    whole_folds = whole.summarize_groups(x, y, fold, 4, weight)
    expected = whole.predict_dist(x)
    monkeypatch.setattr("credo.models.contract.inputs.BLOCK_ENTRIES", 7 * len(whole.coef_))
    parts = clone(model).fit(x, y, weight)
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-10)
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(parts.predict_dist(x).mean(), expected.mean(), rtol=1e-9)
    assert_allclose(parts.predict_dist(x).std(), expected.std(), rtol=1e-9)
    for some, same in zip(
        parts.summarize_groups(x, y, fold, 4, weight), whole_folds, strict=True
    ):
        assert_allclose(some.moments.scatter, same.moments.scatter, rtol=1e-9, atol=1e-9)


def trend_rows(seed, slope=3.0, n=60):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (n, 2))
    return x, slope * x[:, 0] + 0.2 * rng.normal(size=n)


def test_a_continued_basis_changes_no_prediction_inside():
    x, y = trend_rows(0)
    plain = LinearRegression(SplineBasis(4)).fit(x, y)
    continued = LinearRegression(ContinuedBasis(SplineBasis(4))).fit(x, y)
    assert continued.log_evidence_ == plain.log_evidence_
    a, b = plain.predict_dist(x), continued.predict_dist(x)
    for verb in ("mean", "std"):
        assert_array_equal(getattr(a, verb)(), getattr(b, verb)())


@pytest.mark.parametrize(
    ("basis", "lost"), [(LinearBasis(), 0.1), (PolynomialBasis(2, orthogonal=True), 0.4)]
)
def test_a_trend_that_truly_goes_on_is_followed_and_covered(basis, lost):
    n_covered, errors = np.zeros(2), []
    for seed in range(40):
        x, y = trend_rows(seed)
        model = LinearRegression(ContinuedBasis(basis)).fit(x, y)
        far = np.array([[2.0, 0.5], [6.0, 0.5]])
        low, high = model.predict_interval(far, coverage=0.9).T
        truth = 3 * far[:, 0] + 0.2 * np.random.default_rng(99 + seed).normal(size=2)
        n_covered += (low <= truth) & (truth <= high)
        errors.append(model.predict(far[:1])[0] - 6.0)
    # What could bend is followed with caution; 90 % intervals hold 31 of 40 nearly always.
    assert abs(np.mean(errors)) < 3 * lost
    assert (n_covered >= 31).all()


def test_an_input_without_effect_moves_no_mean_far_outside_but_widens_the_interval():
    for seed in range(10):
        x, y = trend_rows(seed)
        model = LinearRegression(ContinuedBasis(PolynomialBasis(2, orthogonal=True))).fit(x, y)
        predictive = model.predict_dist([[0.5, 0.5], [0.5, 10.0]])
        assert abs(np.diff(predictive.mean())) < 0.2 * y.std()
        assert predictive.std()[1] > 2 * predictive.std()[0]


def test_a_continued_basis_does_not_depend_on_units_and_serves_several_outputs():
    x, y = trend_rows(0)
    far = np.array([[2.0, 0.5], [0.5, -3.0]])
    outputs = np.column_stack([y, 1e3 * y])
    basis = ContinuedBasis(SplineBasis(4))
    answers = [
        LinearRegression(basis).fit(x, outputs).predict_dist(far),
        LinearRegression(basis).fit(1e4 * x - 7.0, outputs).predict_dist(1e4 * far - 7.0),
    ]
    assert_allclose(answers[1].mean(), answers[0].mean(), rtol=1e-6)
    assert_allclose(answers[1].std(), answers[0].std(), rtol=1e-6)
    assert_allclose(answers[0].mean()[:, 1], 1e3 * answers[0].mean()[:, 0], rtol=1e-6)


@pytest.mark.parametrize(
    "basis", [LinearBasis(), SplineBasis(), LinearBasis() + RadialBasis(9)]
)
def test_outside_the_training_inputs_intervals_are_never_narrower_than_at_the_edge(basis):
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=(80, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=80)
    model = LinearRegression(ContinuedBasis(basis)).fit(x, y)
    ranges = np.array([0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0])
    std = model.predict_dist((x.max() + ranges * np.ptp(x))[:, None]).std()
    assert (std[1:] > std[0]).all()
    assert std[-1] > 1.5 * std[0]


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_models_of_groups_say_in_one_pass_what_each_says_of_its_rows(n_outputs, monkeypatch):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(60, 2))
    shape = (60,) if n_outputs is None else (60, n_outputs)
    y = np.sin(x[:, 0]).reshape(-1, *[1] * (len(shape) - 1)) + rng.normal(size=shape)
    label = rng.integers(0, 3, 60)
    model = LinearRegression(ContinuedBasis(PolynomialBasis(2)))
    # One group has no rows, and a block holds a part of a group.
    monkeypatch.setattr(inputs, "BLOCK_ENTRIES", 40)
    parts = model.summarize_groups(x, y, label, 4)
    models = [copy(model).fit_statistics(parts[k] + parts[3]) for k in range(3)]
    new, of = 2.0 * rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    told = model.predict_groups(new, of, models)
    for group, one in enumerate(models):
        alone, own = one.predict_dist(new[of == group]), told[of == group]
        assert_allclose(own.mean(), alone.mean(), rtol=1e-10)
        assert_allclose(own.interval(0.9), alone.interval(0.9), rtol=1e-10)
        assert_allclose(own.epistemic_std, alone.epistemic_std, rtol=1e-10)
        fitted = LinearRegression(one.basis_).fit(x[label == group], y[label == group])
        assert parts[group].weight == fitted.statistics_.weight == (label == group).sum()


def test_a_model_of_a_column_predicts_a_column_and_refuses_a_list_of_outcomes():
    x = np.linspace(0.0, 1.0, 8)[:, None]
    y = 2.0 * x + np.array([0.1, -0.1] * 4)[:, None]
    flat, column = (LinearRegression().fit(x, target) for target in (y[:, 0], y))
    assert column.predict(x).shape == LeastSquares().fit(x, y).predict(x).shape == (8, 1)
    predictive = column.predict_dist(x)
    expected = flat.predict_dist(x).log_prob(y[:, 0])
    assert_allclose(predictive.log_prob(y)[:, 0], expected)
    for answer in (predictive.log_prob, predictive.prob, predictive.cdf, predictive.crps):
        with pytest.raises(ValueError, match=r"predictions, \(8, 1\); found \(8,\)"):
            answer(y[:, 0])
    # Other shapes are crossed as those of arrays are, such as a grid of values.
    crossed = flat.predict_dist(x).log_prob(y).T
    assert_allclose(predictive.log_prob(y[None, :, 0]), crossed)
    assert predictive.log_prob(y[:3, 0]).shape == (8, 3)
    assert predictive.log_prob(0.5).shape == (8, 1)


def along_a_diagonal(n=60):
    """Rows in which both inputs are nearly equal, and an outcome that bends with them."""
    rng = np.random.default_rng(3)
    x = np.linspace(-1.0, 1.0, n)[:, None] + 0.01 * rng.normal(size=(n, 2))
    return x, np.sin(3.0 * x[:, 0]) + 5.0


def test_doubt_beyond_the_outcomes_is_held_by_a_normal_about_their_mean():
    x, y = along_a_diagonal()
    settings = {"weight_precision": 1e-4, "noise_precision": 100.0}
    plain = LinearRegression(PolynomialBasis(3), **settings).fit(x, y)
    model = LinearRegression(ContinuedBasis(PolynomialBasis(3)), **settings).fit(x, y)
    asked = np.array([[0.9, -0.9], [0.5, -0.5], [0.1, 0.1]])
    free, held = plain.predict_dist(asked), model.predict_dist(asked)
    most = 3.0 * y.std()
    assert (free.epistemic_std > most).tolist() == [True, True, False]
    for mean, doubt, found_mean, found_doubt in zip(
        free.mean(), free.epistemic_std, held.mean(), held.epistemic_std, strict=True
    ):
        if doubt <= most:
            assert (found_mean, found_doubt) == (mean, doubt)
            continue
        f = np.linspace(y.mean() - 12 * most, y.mean() + 12 * most, 200_001)
        precision = 1 / most**2 - 1 / doubt**2
        log_product = -0.5 * ((f - mean) / doubt) ** 2 - 0.5 * precision * (f - y.mean()) ** 2
        weight = np.exp(log_product - log_product.max())
        expected = np.average(f, weights=weight)
        spread = np.sqrt(np.average((f - expected) ** 2, weights=weight))
        assert_allclose([found_mean, found_doubt], [expected, spread], rtol=1e-6)


def test_held_rows_go_on_from_the_edge_without_a_jump_and_in_any_unit():
    x, y = along_a_diagonal()
    basis = ContinuedBasis(PolynomialBasis(3))
    model = LinearRegression(basis, weight_precision=1e-4, noise_precision=100.0).fit(x, y)
    corner = np.array([x[:, 0].max(), x[:, 1].min()])
    near = corner + np.array([[0.0, 0.0], [1e-9, -1e-9]])
    found = model.predict_dist(near)
    assert_allclose(found.epistemic_std, 3.0 * y.std(), rtol=1e-6)
    assert_allclose(*found.interval(0.9), rtol=1e-6)
    assert np.abs(found.mean() - y.mean()).max() < 3.0 * y.std()
    other = LinearRegression(basis, weight_precision=1e-8, noise_precision=0.01)
    other.fit(x, 100.0 * y - 7.0)
    assert_allclose(other.predict(near), 100.0 * found.mean() - 7.0, rtol=1e-6)
