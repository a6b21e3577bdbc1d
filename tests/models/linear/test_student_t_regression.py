"""Regression with Student-t noise, against normal noise, an integral, and outliers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

import credo
from credo import LinearRegression, StudentTRegression
from credo.inference import NoUTurnSampling

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
LINE = X @ [1.0, -2.0, 0.5] + 3.0
Y = LINE + 0.3 * RNG.normal(size=60)


@pytest.mark.parametrize("inference", ["laplace", "nuts"])
def test_many_degrees_of_freedom_are_normal_noise(inference):
    normal = LinearRegression().fit(X, Y)
    model = StudentTRegression(inference=inference, df=np.inf, random_state=0).fit(X, Y)
    assert_allclose(model.log_evidence_, normal.log_evidence_, atol=0.05)
    assert_allclose(model.coef_, normal.coef_, atol=0.01)
    assert_allclose(model.intercept_, normal.intercept_, atol=0.01)
    sd = normal.coefficients()["sd"]
    assert_allclose(model.coefficients()["sd"], sd, rtol=0.1)
    assert_allclose(model.predict_dist(X).std(), normal.predict_dist(X).std(), rtol=0.05)


def test_a_weight_and_the_evidence_are_those_of_an_integral():
    x, y = np.linspace(-1.0, 2.0, 14), np.sin(3.0 * np.arange(14.0)) * 0.4
    y = y + 0.5 * x
    y[5] = 6.0
    spread = np.sqrt((x**2).mean())
    w, log_noise = np.meshgrid(
        np.linspace(-2.0, 3.0, 151), np.linspace(-4.0, 7.0, 111), indexing="ij"
    )
    scale = np.exp(-0.5 * log_noise)
    likelihood = sum(
        stats.t.logpdf(b - w * a / spread, 4.0, scale=scale) for a, b in zip(x, y, strict=True)
    )
    t = np.linspace(-20.0, 25.0, 151)
    width = scale[..., None] * np.exp(0.5 * t)
    log_prior = stats.norm.logpdf(w[..., None], scale=width) + stats.logistic.logpdf(t)
    logs = likelihood + special.logsumexp(log_prior, axis=-1) + np.log(0.3)
    cell = (5.0 / 150) * 0.1
    log_evidence = special.logsumexp(logs) + np.log(cell)
    share = np.exp(logs - special.logsumexp(logs))
    mean = float((share * w).sum()) / spread
    sd = float(np.sqrt((share * (w / spread - mean) ** 2).sum()))
    for inference in ("laplace", NoUTurnSampling(n_draws=4000)):
        model = StudentTRegression(
            inference=inference, df=4.0, fit_intercept=False, random_state=0
        ).fit(x[:, None], y)
        assert_allclose(model.log_evidence_, log_evidence, atol=0.03)
        assert_allclose(model.coef_[0], mean, atol=0.1 * sd)
        assert_allclose(model.draws_.std("coef")[0], sd, rtol=0.1)


def test_outliers_do_not_move_it_and_the_evidence_knows():
    far = Y.copy()
    far[:4] += [40.0, -60.0, 100.0, 80.0]
    robust = StudentTRegression(inference="laplace", random_state=0).fit(X, far)
    normal = LinearRegression().fit(X, far)
    assert np.abs(robust.predict(X) - LINE).max() < 0.6
    assert np.abs(normal.predict(X) - LINE).max() > 5.0
    assert robust.log_evidence_ > normal.log_evidence_ + 50.0
    assert robust.df_ < 4.0 < StudentTRegression(random_state=0).fit(X, Y).df_


def test_it_joins_a_comparison():
    far = Y.copy()
    far[::15] += 30.0
    models = {
        "robust": StudentTRegression(inference="laplace", random_state=0),
        "normal": LinearRegression(),
    }
    found = credo.compare(models, X, far, cv=4)
    assert found.contenders() == ["robust"]


def test_draws_follow_the_seed_and_are_kept(tmp_path):
    quick = NoUTurnSampling(n_draws=100, warm_up=100)
    model = StudentTRegression(inference=quick, random_state=1).fit(X, Y)
    again = StudentTRegression(inference=quick, random_state=1).fit(X[::-1], Y[::-1])
    assert_allclose(model.draws_["coef"], again.draws_["coef"], rtol=1e-12)
    credo.save(model, tmp_path / "robust.credo")
    loaded = credo.load(tmp_path / "robust.credo")
    assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
    assert loaded.diagnose().numbers["divergences"] == 0.0
    assert model.sample_posterior(5, 0)["coef"].shape == (5, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "em"}, "inference must be one of"),
        ({"df": 2.0}, "df must be 'learned' or a number above 2"),
        ({"df": "many"}, "df must be 'learned' or a number above 2"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        StudentTRegression(**settings).fit(X, Y)
