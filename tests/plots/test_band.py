import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo.distributions import Gamma
from credo.features import PolynomialBasis
from credo.models import LinearRegression
from credo.plots import predictive_band

X = np.array([0.0, 3.0, 1.0, 2.0, 5.0])
Y = np.array([0.1, 2.8, 1.3, 1.9, 5.2])
MODEL = LinearRegression(PolynomialBasis(1)).fit(X[:, None], Y)


def upper_edge(band):
    """Return the points of a filled band, by x, at its upper edge."""
    points = band.get_paths()[0].vertices
    x = np.unique(points[:, 0])
    return x, np.array([points[points[:, 0] == value, 1].max() for value in x])


def test_the_line_is_the_mean_beyond_the_range_of_the_data(ax):
    assert predictive_band(MODEL, X, Y, ax) is ax
    x, mean = ax.lines[0].get_data()
    assert x[0] < 0.0
    assert x[-1] > 5.0
    assert_allclose(mean, MODEL.predict(x[:, None]))
    assert_allclose(ax.lines[1].get_data(), (X, Y))


def test_the_two_bands_are_kept_apart(ax):
    predictive_band(MODEL, X, Y, ax, coverage=0.8)
    outcome, function = ax.collections
    for band, std in (
        (outcome, lambda p: np.hypot(p.epistemic_std, p.aleatoric_std)),
        (function, lambda p: p.epistemic_std),
    ):
        x, high = upper_edge(band)
        predictive = MODEL.predict_dist(x[:, None])
        # The noise is learned: a t distribution, of which sd and quantile scale alike.
        df = predictive.marginal.df
        z = stats.t.ppf(0.9, df) * np.sqrt((df - 2) / df)
        assert_allclose(high, predictive.mean() + z * std(predictive), rtol=1e-6)
    assert outcome.get_label() == "outcome, 80 %"
    assert function.get_label() == "function, 80 %"


def test_the_band_of_the_function_is_student_where_the_predictive_is(ax):
    model = LinearRegression(weight_precision=1.0, noise_precision=Gamma(2.0, 1.0))
    model.fit(X[:, None], Y)
    predictive_band(model, X, None, ax, coverage=0.9)
    x, high = upper_edge(ax.collections[1])
    predictive = model.predict_dist(x[:, None])
    df = float(predictive.marginal.df.ravel()[0])
    scale = predictive.epistemic_std * np.sqrt((df - 2) / df)
    assert_allclose(high, predictive.mean() + stats.t(df).ppf(0.95) * scale, rtol=1e-6)


def test_a_predictive_is_drawn_at_its_rows_in_order(ax):
    predictive = MODEL.predict_dist(X[:, None])
    predictive_band(predictive, X[:, None], Y, ax)
    x, mean = ax.lines[0].get_data()
    assert_allclose(x, np.sort(X))
    assert_allclose(mean, predictive.mean()[np.argsort(X)])


def test_functions_are_drawn_from_the_posterior(ax):
    predictive_band(MODEL, X, Y, ax, n_functions=3, rng=np.random.default_rng(0))
    x = ax.lines[0].get_xdata()
    drawn = MODEL.sample_functions(x[:, None], 3, random_state=np.random.default_rng(0))
    assert_allclose([line.get_ydata() for line in ax.lines[:3]], drawn)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["outcome, 90 %", "function, 90 %", "functions drawn", "mean", "data"]


def test_a_pipeline_is_drawn(ax):
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(X[:, None], Y)
    predictive_band(pipeline, X, Y, ax)
    x, mean = ax.lines[0].get_data()
    assert_allclose(mean, pipeline.predict(x[:, None]))


def test_several_inputs_are_refused(ax):
    with pytest.raises(ValueError, match=r"one input; found shape \(5, 2\)"):
        predictive_band(MODEL, np.zeros((5, 2)), Y, ax)


def test_a_predictive_cannot_draw_functions(ax):
    with pytest.raises(TypeError, match="n_functions needs a model"):
        predictive_band(MODEL.predict_dist(X[:, None]), X, Y, ax, n_functions=2)
