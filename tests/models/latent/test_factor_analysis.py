import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.decomposition import FactorAnalysis as SklearnFactorAnalysis

import credo
from credo.inference import ExpectationMaximization, run
from credo.inference.latent.factor_analysis import (
    FactorModel,
    FactorProblem,
    log_evidence_of_dimensions,
)
from credo.models.latent.factor_analysis import FactorAnalysis, ProbabilisticPCA
from credo.models.latent.pca import PCA

ROWS = np.array([[2, 0, 1], [0, 1, 3], [1, 4, 0], [3, 2, 2], [4, 3, 4]], dtype=float)
LONG = ExpectationMaximization(1e-12, 20_000)


def with_gaps(x, share=0.1):
    return np.where(np.random.default_rng(0).random(x.shape) < share, np.nan, x)


def simulated(n=400):
    rng = np.random.default_rng(3)
    loading = rng.normal(size=(6, 2)) * 2.0
    return rng.normal(size=(n, 2)) @ loading.T + rng.normal(size=(n, 6)) + 5.0


def test_five_rows_have_the_worked_numbers():
    model = ProbabilisticPCA(1).fit(ROWS)
    assert_allclose(model.noise_variance_, 1.5860590040)
    assert_allclose(model.loading_[:, 0], [0.8117907543, 0.2152815522, 0.7324429072])
    assert_allclose(-model.log_prob(ROWS).sum(), 26.1891596727)
    hidden = [-0.4112639831, -0.3912540045, -0.6528254961, 0.2870667010, 1.1682767827]
    assert_allclose(model.transform(ROWS)[:, 0], hidden, rtol=1e-8)
    assert_allclose(model.hidden(ROWS).covariance().ravel(), 0.5608646360)


def joint_objective(model, loading, hidden):
    """Minus the log density of rows and hidden numbers, but for its constant."""
    away = ROWS - hidden @ loading.T - model.mean_
    noise = model.noise_variance_[0]
    squares = np.square(away).sum() / (2 * noise) + 0.5 * np.square(hidden).sum()
    return squares + 0.5 * ROWS.size * np.log(noise)


def test_hidden_numbers_that_are_estimated_shrink_without_end():
    model = ProbabilisticPCA(1).fit(ROWS)
    hidden, loading = model.transform(ROWS), model.loading_
    normal = stats.norm(model.inverse_transform(hidden), np.sqrt(model.noise_variance_))
    joint = normal.logpdf(ROWS).sum() + stats.norm.logpdf(hidden).sum()
    before = joint_objective(model, loading, hidden)
    # N (D + C) / 2 log 2 pi.
    assert_allclose(-joint - before, 18.3787706641)
    gain = before - joint_objective(model, 2 * loading, hidden / 2)
    assert_allclose(gain, 0.375 * np.square(hidden).sum())
    double = FactorModel(model.mean_, 2 * loading, model.noise_variance_)
    assert double.log_prob(ROWS).sum() < model.log_prob(ROWS).sum()


def test_no_other_parameters_near_are_more_likely():
    model, rng = ProbabilisticPCA(1).fit(ROWS), np.random.default_rng(0)
    best = model.log_prob(ROWS).sum()
    for _ in range(200):
        shift, noise = 0.1 * rng.normal(size=(3, 1)), np.exp(0.1 * rng.normal())
        loading = model.loading_ + shift
        covariance = loading @ loading.T + model.noise_variance_[0] * noise * np.eye(3)
        center = model.mean_ + 0.1 * rng.normal(size=3)
        assert stats.multivariate_normal(center, covariance).logpdf(ROWS).sum() < best


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_scores_and_dimension_are_those_of_scikit_learn(load):
    x = load().data
    model = ProbabilisticPCA().fit(x)
    assert model.n_components_ == SklearnPCA("mle").fit(x).n_components_
    n = len(x)
    other = SklearnPCA(2).fit(x)
    covariance = other.get_covariance() * (n - 1) / n
    expected = stats.multivariate_normal(other.mean_, covariance).logpdf(x)
    assert_allclose(ProbabilisticPCA(2).fit(x).log_prob(x), expected, rtol=1e-9)


def test_the_evidence_of_a_dimension_finds_the_one_of_the_rows():
    x = simulated()
    table = ProbabilisticPCA().fit(x).evidence_table()
    assert table["probability"].idxmax() == 2
    assert_allclose(table["probability"].sum(), 1.0)
    unit = log_evidence_of_dimensions(np.array([4.0, 2.0, 1.0]), 50.0)
    twice = log_evidence_of_dimensions(2.0 * np.array([4.0, 2.0, 1.0]), 50.0)
    assert_allclose(np.diff(unit), np.diff(twice))


def test_without_noise_hidden_numbers_are_coordinates_of_pca():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 5)) + 1e-5 * rng.normal(size=(50, 5))
    model, plane = ProbabilisticPCA(2).fit(x), PCA(2).fit(x)
    expected = plane.transform(x) / np.sqrt(plane.explained_variance_)
    assert_allclose(model.transform(x), expected, atol=1e-6)
    assert_allclose(model.denoise(x), plane.denoise(x), atol=1e-6)


def test_expectation_maximization_ends_where_the_closed_form_is():
    x = simulated(100)
    problem = FactorProblem(x, np.ones(100), 2, is_isotropic=True)
    found = run(LONG, problem).posterior
    exact = ProbabilisticPCA(2).fit(x).model_
    assert_allclose(found.density.form.dense(), exact.density.form.dense(), atol=1e-4)


@pytest.mark.parametrize("is_isotropic", [True, False])
def test_no_step_lowers_the_likelihood_of_rows_with_gaps(is_isotropic):
    x = with_gaps(simulated(60), 0.2)
    x = x[~np.isnan(x).all(axis=1)]
    problem = FactorProblem(x, np.ones(len(x)), 2, is_isotropic)
    engine = ExpectationMaximization(1e-6, 2000)
    trace = [step.objective for step in run(engine, problem).trace]
    assert len(trace) > 5
    assert np.diff(trace).min() > -1e-9 * abs(trace[-1])


def test_gaps_are_integrated_out():
    x = with_gaps(simulated(100))
    model = ProbabilisticPCA(2).fit(x)
    normal = model.model_.density
    row = x[np.argmax(np.isnan(x).any(axis=1))]
    has = np.flatnonzero(~np.isnan(row))
    covariance = normal.covariance()[np.ix_(has, has)]
    expected = stats.multivariate_normal(normal.mean()[has], covariance).logpdf(row[has])
    assert_allclose(model.log_prob(row[None]), expected)
    filled, doubt = model.impute(row[None], return_std=True)
    missing = np.flatnonzero(np.isnan(row))
    given = normal.condition(dict(zip(has.tolist(), row[has], strict=True)))
    assert_allclose(filled[0, missing], given.mean())
    assert_allclose(doubt[0, missing], np.sqrt(given.covariance().diagonal()))
    assert_allclose(filled[0, has], row[has])
    assert_allclose(doubt[0, has], 0.0)
    drawn = model.sample_missing(row[None], 20_000, random_state=0)[:, 0, missing]
    assert_allclose(drawn.mean(axis=0), given.mean(), atol=0.05)
    assert_allclose(np.cov(drawn.T).ravel(), given.covariance().ravel(), atol=0.1)


def test_what_was_hidden_comes_back_within_its_doubt():
    x = simulated(300)
    holes = with_gaps(x)
    filled, doubt = ProbabilisticPCA(2).fit(holes).impute(holes, return_std=True)
    gaps = np.isnan(holes)
    away = (filled - x)[gaps] / doubt[gaps]
    assert 0.85 < away.std() < 1.15
    assert np.abs((filled - x)[gaps]).mean() < 0.6 * np.abs((x.mean(axis=0) - x)[gaps]).mean()


def test_the_dimension_of_rows_with_gaps_is_that_of_the_rows():
    assert ProbabilisticPCA().fit(with_gaps(simulated())).n_components_ == 2


def test_factors_are_as_likely_as_those_of_scikit_learn():
    x = load_wine().data / load_wine().data.std(axis=0)
    model = FactorAnalysis(3, LONG).fit(x)
    other = SklearnFactorAnalysis(3, tol=1e-12, max_iter=20_000, svd_method="lapack").fit(x)
    assert_allclose(model.score(x), other.score(x), rtol=1e-6)
    assert_allclose(model.noise_variance_, other.noise_variance_, atol=1e-3)


@pytest.mark.parametrize("engine", [None, LONG], ids=["profile", "steps"])
def test_units_of_columns_do_not_matter_to_factors(engine):
    x, unit = simulated(100), np.array([1.0, 10.0, 1e-3, 1e4, 2.0, 0.5])
    model, other = FactorAnalysis(2, engine).fit(x), FactorAnalysis(2, engine).fit(x * unit)
    assert_allclose(other.noise_variance_, model.noise_variance_ * unit**2, rtol=1e-3)
    assert_allclose(other.log_prob(x * unit), model.log_prob(x) - np.log(unit).sum(), rtol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_statistics_of_complete_rows_give_the_factors_of_scikit_learn(n):
    x = load_wine().data / load_wine().data.std(axis=0)
    model = FactorAnalysis(n).fit(x)
    other = SklearnFactorAnalysis(n, tol=1e-10, max_iter=5000, svd_method="lapack")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.fit(x)
    # With five factors a column has no noise of its own, and small steps never come there.
    assert model.score(x) > other.score(x) - 1e-6
    if n < 5:
        assert_allclose(model.score(x), other.score(x), atol=1e-6)
        covariance = model.loading_ @ model.loading_.T + np.diag(model.noise_variance_)
        assert_allclose(covariance, other.get_covariance(), atol=2e-3)


def test_no_other_factors_near_are_more_likely():
    x, rng = simulated(200), np.random.default_rng(0)
    model = FactorAnalysis(2).fit(x)
    best = model.log_prob(x).sum()
    for _ in range(200):
        loading = model.loading_ + 0.03 * rng.normal(size=(6, 2))
        noise = model.noise_variance_ * np.exp(0.03 * rng.normal(size=6))
        normal = stats.multivariate_normal(model.mean_, loading @ loading.T + np.diag(noise))
        assert normal.logpdf(x).sum() < best


def test_constant_columns_have_no_factors():
    x = np.column_stack([simulated(100), np.full(100, 0.1)])
    model = FactorAnalysis(2).fit(x)
    assert_allclose(model.loading_[6], 0.0)
    expected = FactorAnalysis(2).fit(x[:, :6])
    assert_allclose(model.noise_variance_[:6], expected.noise_variance_, rtol=1e-4)
    assert np.isfinite(model.log_prob(x)).all()


@pytest.mark.parametrize("model", [ProbabilisticPCA(2), ProbabilisticPCA(), FactorAnalysis(2)])
def test_chunks_are_the_whole(model):
    x = simulated(200)
    stream = clone(model)
    for part in np.array_split(x, 5):
        stream.partial_fit(part)
    assert_allclose(stream.log_prob(x), model.fit(x).log_prob(x), rtol=1e-6)
    with pytest.raises(ValueError, match="NaN"):
        stream.partial_fit(with_gaps(x))


def relevance_by_steps(x, n_steps=3000):
    """Bayesian PCA as published: expectation maximization with precisions of the axes."""
    n, d = x.shape
    s, noise = np.cov(x.T, bias=True), 1.0
    w = np.random.default_rng(0).normal(size=(d, d - 1))
    for _ in range(n_steps):
        length = np.square(w).sum(axis=0)
        w, length = w[:, length > 1e-9], length[length > 1e-9]
        inner = np.linalg.inv(w.T @ w + noise * np.eye(len(length)))
        square = noise * inner + inner @ w.T @ s @ w @ inner
        cross = s @ w @ inner
        w = cross @ np.linalg.inv(square + noise * np.diag(d / length) / n)
        noise = (np.trace(s) - 2 * np.sum(cross * w) + np.trace(square @ w.T @ w)) / d
    return w @ w.T + noise * np.eye(d), w.shape[1]


def test_bayesian_pca_ends_where_its_published_steps_end():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 7)) * [4, 3, 1, 1, 1, 1, 1]
    model = ProbabilisticPCA("ard").fit(x)
    covariance, n_axes = relevance_by_steps(x)
    assert model.n_components_ == n_axes == 2
    assert_allclose(model.model_.density.form.dense(), covariance, rtol=1e-5, atol=1e-5)


def test_bayesian_pca_keeps_nothing_of_noise_and_agrees_with_minka():
    rng = np.random.default_rng(1)
    assert ProbabilisticPCA("ard").fit(rng.normal(size=(300, 5))).n_components_ == 0
    x = simulated()
    assert ProbabilisticPCA("ard").fit(x).n_components_ == 2
    holes = ProbabilisticPCA("ard").fit(with_gaps(x))
    assert holes.n_components_ == 2
    assert np.isfinite(holes.log_prob(x)).all()


def test_new_rows_have_the_moments_of_the_model():
    model = ProbabilisticPCA(2).fit(simulated())
    drawn = model.sample(200_000, random_state=0)
    assert_allclose(drawn.mean(axis=0), model.mean_, atol=0.05)
    assert_allclose(np.cov(drawn.T), model.model_.density.covariance(), atol=0.3)


def test_tables_and_files(tmp_path):
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    for model in (ProbabilisticPCA(1), FactorAnalysis(1, ExpectationMaximization(1e-3))):
        model.fit(table)
        credo.save(model, tmp_path / "hidden.credo")
        again = credo.load(tmp_path / "hidden.credo")
        assert_allclose(again.log_prob(table), model.log_prob(table))


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        (ProbabilisticPCA(3), ROWS, "fewer than the 3 columns"),
        (FactorAnalysis(0), ROWS, "fewer than the 3 columns"),
        (ProbabilisticPCA("two"), ROWS, "a whole number, or None or 'ard'"),
        (ProbabilisticPCA(1), ROWS * [1, np.nan, 1], "found none in column 1"),
        (FactorAnalysis(1), np.full((3, 2), np.inf), "infinity|finite"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(model, rows, message):
    with pytest.raises(ValueError, match=message):
        model.fit(rows)
