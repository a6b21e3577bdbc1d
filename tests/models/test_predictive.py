import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from credo import LinearRegression, predict_dist

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Z = X @ [0.5, -0.2] + 0.3 * RNG.normal(size=120)


def test_pipeline_and_search_give_the_predictive_of_their_last_step():
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(X, Z)
    expected = LinearRegression().fit(X, Z).predict_dist(X)
    search = GridSearchCV(pipeline, {"linearregression__inference": ["exact"]}, cv=3).fit(X, Z)
    for obj in (pipeline, search, make_pipeline(LinearRegression()).fit(X, Z)):
        found = predict_dist(obj, X)
        assert_allclose(found.mean(), expected.mean(), rtol=1e-8)
        assert_allclose(found.epistemic_std, expected.epistemic_std, rtol=1e-6)


def test_log_target_gives_the_log_normal():
    model = TransformedTargetRegressor(
        LinearRegression(noise_precision=11.0), func=np.log, inverse_func=np.exp
    ).fit(X, np.exp(Z))
    found, inner = predict_dist(model, X[:5]), model.regressor_.predict_dist(X[:5])
    oracle = stats.lognorm(inner.std(), scale=np.exp(inner.mean()))
    points = np.array([0.3, 0.8, 1.0, 1.5, 3.0])
    assert_allclose(found.mean(), oracle.mean(), rtol=1e-9)
    assert_allclose(found.std(), oracle.std(), rtol=1e-8)
    assert_allclose(found.log_prob(points), oracle.logpdf(points), rtol=1e-7)
    assert_allclose(found.cdf(points), oracle.cdf(points), rtol=1e-10)
    assert_allclose(found.quantile(0.1), oracle.ppf(0.1), rtol=1e-10)
    assert_allclose(found.entropy(), oracle.entropy(), rtol=1e-7)
    assert_allclose(
        found.epistemic_std**2 + found.aleatoric_std**2, found.variance(), rtol=1e-9
    )


def test_standardized_target_gives_the_same_normal_as_without():
    model = TransformedTargetRegressor(LinearRegression(), transformer=StandardScaler())
    found = predict_dist(model.fit(X, 100 * Z + 7), X)
    expected = LinearRegression().fit(X, 100 * Z + 7).predict_dist(X)
    assert_allclose(found.mean(), expected.mean(), rtol=1e-8)
    assert_allclose(found.std(), expected.std(), rtol=1e-8)
    assert_allclose(found.interval(0.8), expected.interval(0.8), rtol=1e-8)
    assert_allclose(found.crps(100 * Z), expected.crps(100 * Z), rtol=1e-6)


def test_decreasing_change_of_variable_turns_the_tails_around():
    model = TransformedTargetRegressor(
        LinearRegression(), func=lambda y: -np.log(y), inverse_func=lambda z: np.exp(-z)
    ).fit(X, np.exp(Z))
    found = predict_dist(model, X[:1])
    assert found.quantile(0.1)[0] < found.quantile(0.9)[0]
    assert_allclose(found.cdf(found.quantile(0.2)), 0.2, rtol=1e-9)
    total, _ = integrate.quad(lambda y: float(found.prob(y)[0]), 1e-3, 50, limit=200)
    assert_allclose(total, 1.0, rtol=1e-6)
    draws = found.sample(np.random.default_rng(0), 20_000)[:, 0]
    assert_allclose(draws.mean(), found.mean()[0], rtol=0.02)


def test_wrappers_nest():
    inner = make_pipeline(StandardScaler(), LinearRegression())
    model = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp)
    found = predict_dist(model.fit(X, np.exp(Z)), X)
    assert (np.diff(found.interval(0.9)) > 0).all()


def test_models_without_a_predictive_are_refused_by_name():
    with pytest.raises(TypeError, match="found LinearRegression"):
        predict_dist(LeastSquares().fit(X, Z), X)


def test_several_outputs_through_a_target_transformer_are_refused():
    model = TransformedTargetRegressor(
        LinearRegression(), transformer=QuantileTransformer(n_quantiles=50)
    ).fit(X, np.column_stack([Z, -Z]))
    with pytest.raises(ValueError, match="needs one output"):
        predict_dist(model, X)
