"""Settings of Gaussian processes by NUTS, against sums over grids."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credo
from credo import GaussianProcessRegressor
from credo.features import SquaredExponential
from credo.inference import NoUTurnSampling

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-2.0, 2.0, 14))[:, None]
Y = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=14)
AT = np.array([[-1.3], [0.2], [3.0]])


def grid(model, *axes):
    """Return shares, points and predictions of all settings between the bounds of a model."""
    problem = model.posterior_.problem
    problem = type(problem)(problem.data, problem.kernel, problem.noise, problem.method, True)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    logs = np.array([problem.log_density(point) for point in points])
    shares = np.exp(logs - logs.max())
    return problem, points, shares / shares.sum()


def mixed(problem, points, shares):
    """Return mean and variance of the outcome at a few inputs, averaged over settings."""
    columns = np.ones((len(AT), problem.data.columns.shape[1]))
    mean, square = np.zeros(len(AT)), np.zeros(len(AT))
    for point, share in zip(points, shares, strict=True):
        if share < 1e-6 * shares.max():
            continue
        settings = problem.split(point)
        noise = problem.noise.varying(settings.noise, problem.noise.columns)[:, 0]
        belief = problem.method.belief(problem.data, settings.kernel, noise)
        center, variance = belief.joint(AT, columns)
        own = np.diagonal(variance) + noise[0]
        mean += share * center[:, 0]
        square += share * (own + center[:, 0] ** 2)
    return mean, square - mean**2


def test_a_length_scale_is_that_of_a_grid():
    model = GaussianProcessRegressor(
        SquaredExponential(1.0), NoUTurnSampling(500, 200), "zero", 0.09, random_state=0
    ).fit(X, Y)
    low, high = model.posterior_.problem.bounds[0]
    _, points, shares = grid(model, np.linspace(low, high, 200))
    mean = float(shares @ points[:, 0])
    sd = float(np.sqrt(shares @ (points[:, 0] - mean) ** 2))
    error = model.draws_.mean_error("log_parameters")[0]
    assert abs(model.draws_.mean("log_parameters")[0] - mean) < 4.0 * error < 0.1
    assert_allclose(model.log_parameter_std_[0], sd, rtol=0.15)


def test_two_settings_and_predictions_are_those_of_a_grid_and_near_those_of_map():
    settings = {"mean": "zero", "random_state": 0}
    kernel = SquaredExponential(1.0)
    model = GaussianProcessRegressor(kernel, NoUTurnSampling(250, 200), **settings).fit(X, Y)
    bounds = model.posterior_.problem.bounds
    axes = [np.linspace(low, high, 45) for low, high in bounds]
    problem, points, shares = grid(model, *axes)
    mean, variance = mixed(problem, points, shares)
    found = model.predict_dist(AT)
    assert_allclose(found.mean(), mean, atol=0.05)
    assert_allclose(found.std(), np.sqrt(variance), rtol=0.1)
    nearby = GaussianProcessRegressor(kernel, **settings).fit(X, Y)
    assert_allclose(nearby.predict(AT), found.mean(), atol=0.15)
    table = model.settings(0.8)
    assert np.all(table["low"] < table["high"])


def test_draws_follow_the_seed_and_are_kept(tmp_path):
    quick = NoUTurnSampling(30, 30)
    once, again = (
        GaussianProcessRegressor(SquaredExponential(), quick, random_state=1).fit(x, y)
        for x, y in ((X, Y), (X[::-1], Y[::-1]))
    )
    assert_array_equal(once.draws_["log_parameters"], again.draws_["log_parameters"])
    credo.save(once, tmp_path / "process.credo")
    loaded = credo.load(tmp_path / "process.credo")
    assert_array_equal(loaded.predict_interval(AT), once.predict_interval(AT))
    assert loaded.diagnose().numbers["largest R-hat"] < 1.5


@pytest.mark.parametrize("n", [15, 40])
def test_the_order_of_columns_does_not_matter_to_averages_over_settings(n):
    rng = np.random.default_rng(0)
    x, at = rng.standard_normal((n, 3)), rng.standard_normal((20, 3))
    y = np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] + 0.2 * rng.standard_normal(n)
    found = GaussianProcessRegressor().fit(x, y).predict_dist(at)
    for order in ([1, 2, 0], [2, 1, 0]):
        other = GaussianProcessRegressor().fit(x[:, order], y).predict_dist(at[:, order])
        # The search ends where another step promises 1e-8 nats.
        assert_allclose(other.mean(), found.mean(), atol=2e-3 * found.std().min())
        assert_allclose(other.std(), found.std(), rtol=2e-3)
