"""Regression by networks against linear regression, draws, and what is known of the data."""

import numpy as np
import pytest

import credo
from credo.inference import NetworkEnsemble, NetworkLaplace, NoUTurnSampling
from credo.numerics.optimize import finite_difference_gradient

GRID = np.linspace(-1.8, 1.8, 9)[:, None]


def waves(n=60, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, 1))
    return x, np.sin(2.0 * x[:, 0]) + noise * rng.normal(size=n)


def test_without_hidden_layer_it_is_linear_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = x @ [1.0, -2.0, 0.5] + 3.0 + 0.3 * rng.normal(size=300)
    network = credo.NeuralNetworkRegressor((), random_state=0).fit(x, y)
    linear = credo.LinearRegression().fit(x, y)
    test = rng.normal(size=(20, 3))
    np.testing.assert_allclose(network.predict(test), linear.predict(test), atol=0.01)
    found, expected = network.predict_dist(test), linear.predict_dist(test)
    np.testing.assert_allclose(found.std(), expected.std(), rtol=0.01)
    np.testing.assert_allclose(found.epistemic_std, expected.epistemic_std, rtol=0.02)
    # That of the intercept and three weights, which many rows determine.
    assert network.n_effective_parameters_ == pytest.approx(
        linear.n_effective_parameters_, rel=0.01
    )
    # Priors of the precision differ, by a few nats at most.
    assert network.log_evidence_ == pytest.approx(linear.log_evidence_, abs=4.0)


def test_evidence_prefers_units_where_the_function_bends_and_none_where_it_does_not():
    x, y = waves(120)
    bent = [
        credo.NeuralNetworkRegressor(h, random_state=0).fit(x, y).log_evidence_
        for h in ((), (1,), (4,))
    ]
    assert bent[2] > bent[1] + 5.0 > bent[0] + 5.0
    straight = 2.0 * x[:, 0] + 0.3 * np.random.default_rng(1).normal(size=120)
    flat = [
        credo.NeuralNetworkRegressor(h, random_state=0).fit(x, straight).log_evidence_
        for h in ((), (8,))
    ]
    assert flat[0] > flat[1]


def test_bands_cover_the_function_and_the_outcomes():
    x, y = waves(200)
    model = credo.NeuralNetworkRegressor((12,), random_state=0).fit(x, y)
    found = model.predict_dist(GRID)
    truth = np.sin(2.0 * GRID[:, 0])
    assert (np.abs(found.mean() - truth) < 3.5 * found.epistemic_std).all()
    assert model.noise_variance_**0.5 == pytest.approx(0.2, rel=0.2)
    new_x, new_y = waves(2000, seed=1)
    low, high = model.predict_interval(new_x).T
    assert np.mean((low < new_y) & (new_y < high)) == pytest.approx(0.9, abs=0.03)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(40, 200))
    x = rng.uniform(-1.0, 1.0, (n, d)) if seed % 2 else rng.normal(size=(n, d))
    w = 2.0 * rng.normal(size=(d, 3))
    y = np.sin(x @ w[:, 0] + rng.normal()) + 0.5 * (x @ w[:, 1]) + 0.3 * np.cos(x @ w[:, 2])
    return rng, x, y + rng.choice([0.05, 0.2, 0.5]) * rng.normal(size=n)


def ratio_outside(seed):
    """Return the least doubt three ranges outside, over the median inside."""
    rng, x, y = random_problem(seed)
    model = credo.NeuralNetworkRegressor(random_state=seed).fit(x, y)
    low, high = x.min(axis=0), x.max(axis=0)
    side = rng.random((50, x.shape[1])) < 0.5
    far = np.where(side, high + 3.0 * (high - low), low - 3.0 * (high - low))
    inside = np.median(model.predict_dist(x).epistemic_std)
    return model.predict_dist(far).epistemic_std.min() / inside


@pytest.mark.parametrize("seed", [100, 101, 102])
def test_doubt_outside_is_at_least_twice_that_inside(seed):
    assert ratio_outside(seed) >= 2.0


@pytest.mark.slow
def test_doubt_outside_is_at_least_twice_that_inside_on_twenty_problems():
    ratios = [ratio_outside(seed) for seed in range(100, 120)]
    assert min(ratios) >= 2.0, np.round(ratios, 2)


@pytest.mark.slow
def test_gaussian_at_the_mode_agrees_with_draws_from_the_posterior():
    x, y = waves()
    near = credo.NeuralNetworkRegressor((4,), random_state=0).fit(x, y).predict_dist(GRID)
    engine = NoUTurnSampling(n_draws=250, warm_up=250)
    drawn = credo.NeuralNetworkRegressor((4,), inference=engine, random_state=0).fit(x, y)
    exact = drawn.predict_dist(GRID)
    assert np.abs(near.mean() - exact.mean()).max() < 0.06
    np.testing.assert_allclose(near.epistemic_std, exact.epistemic_std, rtol=0.5)
    np.testing.assert_allclose(near.std(), exact.std(), rtol=0.12)


def test_noise_that_varies_is_found():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, (400, 1))
    spread = 0.1 + 0.4 * (x[:, 0] > 0)
    y = np.sin(x[:, 0]) + spread * rng.normal(size=400)
    model = credo.NeuralNetworkRegressor((8,), noise="varying", random_state=0).fit(x, y)
    found = model.predict_dist([[-1.0], [1.0]]).aleatoric_std
    np.testing.assert_allclose(found, [0.1, 0.5], rtol=0.3)
    constant = credo.NeuralNetworkRegressor((8,), random_state=0).fit(x, y)
    test = rng.uniform(-2.0, 2.0, (1000, 1))
    new = np.sin(test[:, 0]) + (0.1 + 0.4 * (test[:, 0] > 0)) * rng.normal(size=1000)
    gain = model.predict_dist(test).log_prob(new) - constant.predict_dist(test).log_prob(new)
    assert gain.mean() > 0.1
    assert np.isnan(model.noise_variance_)


def test_several_outputs_have_noise_of_their_own():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = np.column_stack([np.sin(x[:, 0]), 10.0 * x[:, 1]])
    y = y + rng.normal(size=(200, 2)) * [0.1, 5.0]
    model = credo.NeuralNetworkRegressor((6,), random_state=0).fit(x, y)
    found = model.predict_dist(x[:5])
    assert found.mean().shape == (5, 2)
    np.testing.assert_allclose(np.sqrt(model.noise_variance_), [0.1, 5.0], rtol=0.2)
    draws = model.sample_functions(x[:5], 400, random_state=0)
    assert draws.shape == (400, 5, 2)


def test_monte_carlo_agrees_with_the_linear_network_where_the_network_is_linear():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    y = x @ [1.0, -1.0] + 0.5 * rng.normal(size=80)
    exact = credo.NeuralNetworkRegressor((), random_state=0).fit(x, y).predict_dist(x[:4])
    engine = NetworkLaplace(n_draws=2000)
    drawn = credo.NeuralNetworkRegressor((), inference=engine, random_state=0).fit(x, y)
    found = drawn.predict_dist(x[:4])
    np.testing.assert_allclose(found.mean(), exact.mean(), atol=0.01)
    np.testing.assert_allclose(found.std(), exact.std(), rtol=0.02)


@pytest.mark.parametrize("weighting", ["equal", "evidence", "stacking"])
def test_ensembles_mix_their_members(weighting):
    x, y = waves()
    engine = NetworkEnsemble(3, weighting)
    model = credo.NeuralNetworkRegressor((4,), inference=engine, random_state=0).fit(x, y)
    assert len(model.posterior_.parts) == 3
    assert model.posterior_.shares.sum() == pytest.approx(1.0)
    truth = np.sin(2.0 * GRID[:, 0])
    assert np.abs(model.predict(GRID) - truth).max() < 0.3


@pytest.mark.parametrize("curvature", ["kronecker", "diagonal"])
def test_other_curvatures_learn_the_function_as_well(curvature):
    x, y = waves(150)
    engine = NetworkLaplace(curvature)
    model = credo.NeuralNetworkRegressor((6,), inference=engine, random_state=0).fit(x, y)
    assert np.abs(model.predict(GRID) - np.sin(2.0 * GRID[:, 0])).max() < 0.3
    assert model.noise_variance_**0.5 == pytest.approx(0.2, rel=0.3)


def test_variational_gaussian_of_independent_weights_is_narrower():
    x, y = waves(40)
    full = credo.NeuralNetworkRegressor((3,), random_state=0).fit(x, y)
    engine = "variational"
    near = credo.NeuralNetworkRegressor((3,), inference=engine, random_state=0).fit(x, y)
    assert near.evidence_method_ == "bound"
    assert near.log_evidence_ < full.log_evidence_
    assert np.abs(near.predict(GRID) - full.predict(GRID)).max() < 0.3


def test_threshold_units_stay_as_drawn_and_their_outputs_are_learned():
    x, y = waves(200)
    model = credo.NeuralNetworkRegressor((60,), "threshold", random_state=0).fit(x, y)
    assert model.score(x, y) > 0.9
    assert model.posterior_.parts[0].first == 1


def test_the_seed_decides():
    x, y = waves()
    one, two, other = (
        credo.NeuralNetworkRegressor((4,), random_state=seed).fit(x, y).predict(3.0 * GRID)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": (0,)}, "at least 1; found"),
        ({"hidden": "wide"}, "hidden must hold"),
        ({"activation": "thanh"}, "Did you mean 'tanh'"),
        ({"inference": "laplas"}, "inference must be one of"),
        ({"noise": "loud"}, "noise must be one of"),
        ({"activation": "threshold", "inference": "nuts"}, "which have none"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    x, y = waves()
    with pytest.raises(ValueError, match=message):
        credo.NeuralNetworkRegressor(**settings).fit(x, y)


def test_outcomes_that_say_nothing_are_refused():
    x, y = waves()
    with pytest.raises(ValueError, match="y must vary between rows"):
        credo.NeuralNetworkRegressor().fit(x, np.full(60, 3.0))
    with pytest.raises(ValueError, match="n_samples=1"):
        credo.NeuralNetworkRegressor().fit(x[:1], y[:1])
    with pytest.raises(ValueError, match="X must have a number in every cell"):
        credo.NeuralNetworkRegressor().fit(np.where(x > 1.0, np.nan, x), y)


def test_functions_are_networks_of_drawn_weights_and_spread_as_the_belief_says():
    x, y = waves(200)
    model = credo.NeuralNetworkRegressor((), random_state=0).fit(x, y)
    draws = model.sample_functions(GRID, 4000, random_state=1)
    weights = model.posterior_.sample(np.random.default_rng(1), 4000)
    rows = (GRID - model.x_units_.center) / model.x_units_.scale
    outputs = rows @ weights[:, :1].T + weights[:, 1]
    expected = model.y_units_.center[0] + model.y_units_.scale[0] * outputs.T
    np.testing.assert_allclose(draws, expected, rtol=1e-10)
    found = model.predict_dist(GRID)
    np.testing.assert_allclose(draws.std(axis=0), found.epistemic_std, rtol=0.05)


def test_functions_of_units_spread_as_the_bands_do_inside_and_far_outside():
    x, y = waves()
    model = credo.NeuralNetworkRegressor((6,), random_state=0).fit(x, y)
    places = np.vstack([GRID, 4.0 * GRID])
    draws = model.sample_functions(places, 4000, random_state=1)
    found = model.predict_dist(places)
    np.testing.assert_allclose(draws.mean(axis=0), found.mean(), atol=0.1 * found.std().max())
    variance = found.epistemic_std**2 * (1.0 - 2.0 / model.posterior_.parts[0].freedom)
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(variance), rtol=0.06)


def test_learned_precisions_of_a_linear_network_have_the_highest_evidence():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 30))
    y = x @ rng.normal(size=30) * 0.2 + 0.5 * rng.normal(size=50)
    model = credo.NeuralNetworkRegressor(
        (), inference=NetworkLaplace(tolerance=1e-12, max_steps=200), random_state=0
    ).fit(x, y)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    target = (y - y.mean()) / y.std()
    gram = scaled @ scaled.T

    def log_posterior(logs):
        weight, noise = np.exp(logs)
        center = np.eye(50) - 1.0 / 50
        covariance = gram / weight + np.eye(50) / noise
        # The flat level leaves what is orthogonal to a constant.
        inverse = np.linalg.inv(covariance)
        total = inverse.sum()
        bent = inverse - np.outer(inverse.sum(axis=0), inverse.sum(axis=0)) / total
        value = -0.5 * (np.linalg.slogdet(covariance)[1] + np.log(total))
        value -= 0.5 * target @ (center @ bent @ center) @ target
        prior = 3.0 * (logs[0] - weight / 30) + logs[1] - 1e-4 * noise
        return value + 0.5 * prior

    found = np.log([model.weight_precision_[0], y.var() / model.noise_variance_])
    slope = finite_difference_gradient(log_posterior, found)
    assert np.abs(slope).max() < 1e-3
