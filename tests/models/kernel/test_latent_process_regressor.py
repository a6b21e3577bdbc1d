"""Hidden functions behind counts and outliers, against integrals, differences and limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

import credo
from credo import GaussianProcessRegressor, LatentProcessRegressor
from credo.features import Constant, Matern52, SquaredExponential, White
from credo.inference import (
    NegativeBinomialLikelihood,
    OrderedLikelihood,
    PoissonLikelihood,
    StudentTLikelihood,
)

rng = np.random.default_rng(3)
X = np.sort(rng.uniform(0.0, 6.0, (60, 1)), axis=0)
F = 1.0 + np.sin(X[:, 0])
COUNTS = rng.poisson(np.exp(F))
WIDE = rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(F + 1.0)))
OUTLIERS = F + 0.1 * rng.standard_normal(60)
OUTLIERS[::12] += np.array([5.0, -4.0, 6.0, 5.0, -7.0])
HELD = 0.8 * SquaredExponential(1.3).hold() + Constant(0.3).hold()
OUTCOMES = {"poisson": COUNTS, "negative_binomial": WIDE, "student_t": OUTLIERS}
likelihoods = pytest.mark.parametrize("name", OUTCOMES)
engines = pytest.mark.parametrize("inference", ["laplace", "ep"])


def integral(model, function):
    """Return the integral of a function of f times likelihood and prior, for one row."""
    variance = float(model.kernel_(model.data_.x)[0, 0])
    y, level = model.data_.y[0], model.level_

    def density(f):
        prior = stats.norm.pdf(f, level, np.sqrt(variance))
        likelihood = model.likelihood_.log_prob(np.array([y]), np.array([f]))
        return function(f) * prior * np.exp(model.data_.weight[0] * likelihood[0])

    span = 9.0 * np.sqrt(variance)
    return integrate.quad(density, level - span, level + span, limit=400)[0]


@pytest.mark.parametrize(("name", "y"), [("poisson", 3.0), ("negative_binomial", 5.0)])
def test_one_count_has_the_evidence_and_mean_of_the_integral(name, y):
    model = LatentProcessRegressor(name, HELD.hold(), "ep").fit([[0.0]], [y])
    total = integral(model, lambda f: 1.0)
    assert_allclose(model.inference_.log_evidence, np.log(total), atol=2e-3)
    mean, variance = model.predict_function([[0.0]])
    expected = integral(model, lambda f: f) / total
    assert_allclose(mean, expected, atol=2e-3)
    spread = integral(model, lambda f: (f - expected) ** 2) / total
    assert_allclose(variance, spread, rtol=1e-2)


@likelihoods
@engines
def test_the_gradient_of_the_evidence_is_that_of_differences(name, inference):
    kernel = 0.8 * SquaredExponential(1.3) + Constant(0.3)
    model = LatentProcessRegressor(name, kernel, inference).fit(X[:25], OUTCOMES[name][:25])
    at = np.concatenate([model.kernel_.log_parameters, model.likelihood_.free_parameters])
    _, gradient = model.log_evidence_at(at, gradient=True)
    assert len(gradient) == len(at)
    for place in range(len(at)):
        shift = 1e-4 * (np.arange(len(at)) == place)
        rise = model.log_evidence_at(at + shift) - model.log_evidence_at(at - shift)
        assert_allclose(gradient[place], rise / 2e-4, rtol=2e-3, atol=2e-3)


@engines
def test_many_degrees_of_freedom_are_normal_noise(inference):
    kernel = 1.1 * SquaredExponential(1.2).hold()
    y = OUTLIERS[1:12] - OUTLIERS[1:12].mean()
    likelihood = StudentTLikelihood(0.5, 1e7)
    model = LatentProcessRegressor(likelihood, kernel.hold(), inference).fit(X[1:12], y)
    scale = model.likelihood_.scale
    normal = GaussianProcessRegressor(kernel.hold(), mean="zero", noise=scale**2)
    normal.fit(X[1:12], y - model.level_)
    mean, variance = model.predict_function(X)
    assert_allclose(mean - model.level_, normal.predict(X), atol=1e-4)
    assert_allclose(np.sqrt(variance), normal.predict_dist(X).epistemic_std, rtol=1e-3)
    assert_allclose(
        model.log_evidence_at(), normal.log_evidence_at(normal.log_parameters_), atol=1e-3
    )


@engines
def test_outliers_hardly_move_the_function(inference):
    new = np.linspace(0.2, 5.8, 40)[:, None]
    truth = 1.0 + np.sin(new[:, 0])
    robust = LatentProcessRegressor(inference=inference).fit(X, OUTLIERS)
    normal = GaussianProcessRegressor().fit(X, OUTLIERS)
    assert np.abs(robust.predict(new) - truth).max() < 0.2
    assert np.abs(normal.predict(new) - truth).max() > 0.6
    assert robust.log_evidence_ > normal.log_evidence_ + 30.0
    mean, variance = robust.predict_function(new)
    assert np.mean(np.abs(mean - truth) < 2.0 * np.sqrt(variance)) > 0.8


def test_counts_that_vary_more_ask_for_the_negative_binomial():
    poisson, wide = (LatentProcessRegressor(name) for name in ("poisson", "negative_binomial"))
    gain = wide.fit(X, WIDE).log_evidence_ - poisson.fit(X, WIDE).log_evidence_
    assert gain > 10.0
    assert 0.2 < wide.likelihood_.dispersion < 1.2
    gain = wide.fit(X, COUNTS).log_evidence_ - poisson.fit(X, COUNTS).log_evidence_
    assert gain < 0.0
    assert wide.likelihood_.dispersion < 0.1


def test_intervals_of_counts_hold_their_share():
    draws = np.random.default_rng(11)
    inside = []
    for _ in range(8):
        x = draws.uniform(0.0, 6.0, (80, 1))
        y = draws.poisson(np.exp(1.0 + np.sin(x[:, 0])))
        model = LatentProcessRegressor("poisson").fit(x[:50], y[:50])
        low, high = model.predict_interval(x[50:], 0.9).T
        inside.append((low <= y[50:]) & (y[50:] <= high))
    # Intervals of whole numbers hold at least their share.
    assert 0.88 < np.mean(inside) < 0.99


@likelihoods
def test_a_weight_is_a_number_of_equal_rows(name):
    y, weight = OUTCOMES[name][:20], 1.0 + np.arange(20) % 3
    again = np.repeat(np.arange(20), weight.astype(int))
    once = LatentProcessRegressor(name).fit(X[:20], y, weight)
    repeated = LatentProcessRegressor(name).fit(X[again], y[again])
    assert_allclose(once.predict(X), repeated.predict(X), rtol=1e-6)
    assert_allclose(once.log_evidence_, repeated.log_evidence_, rtol=1e-8)


def test_numbers_may_have_any_unit():
    one = LatentProcessRegressor().fit(X, OUTLIERS)
    other = LatentProcessRegressor().fit(1e-3 * X, 1e4 * OUTLIERS - 7e4)
    scaled = 1e4 * one.predict(X) - 7e4
    assert_allclose(other.predict(1e-3 * X), scaled, rtol=1e-4)
    change = -60 * np.log(1e4)
    assert_allclose(other.log_evidence_, one.log_evidence_ + change, atol=1e-2)


def test_inducing_inputs_at_all_rows_are_exact_and_few_are_close():
    kernel = HELD.hold()
    exact = LatentProcessRegressor("poisson", kernel, learning="ml").fit(X, COUNTS)
    few = LatentProcessRegressor("poisson", kernel, learning="ml", n_inducing=25)
    few.fit(X, COUNTS)
    assert (exact.method_, few.method_) == ("exact", "inducing inputs")
    assert_allclose(few.predict(X), exact.predict(X), rtol=1e-3)
    assert_allclose(few.log_evidence_, exact.log_evidence_, atol=1e-2)


def test_inducing_inputs_do_not_depend_on_the_unit_of_outcomes():
    found = []
    for unit in (1.0, 1e-3):
        model = LatentProcessRegressor(n_inducing=20).fit(X, unit * OUTLIERS)
        found.append((model.predict(X) / unit, model.log_evidence_ + 60 * np.log(unit)))
        assert len(model.posterior_.x) > 8
    assert_allclose(found[1][0], found[0][0], atol=1e-3)
    assert_allclose(found[1][1], found[0][1], atol=0.05)


@engines
@pytest.mark.parametrize("seed", [1, 6, 34])
def test_the_belief_is_as_good_as_the_mode_that_settings_were_learned_for(inference, seed):
    draws = np.random.default_rng(seed)
    x = np.sort(draws.uniform(0.0, 6.0, 60))[:, None]
    y = np.sin(x[:, 0]) + 0.05 * draws.normal(size=60)
    is_far = draws.random(60) < 0.25
    y[is_far] += 4.0 * draws.normal(size=is_far.sum())
    model = LatentProcessRegressor(StudentTLikelihood(df=2.0), inference=inference)
    model.fit(x, y)
    assert model.inference_.log_evidence > model.log_evidence_at() - 1e-3
    assert np.sqrt(np.mean((model.predict(x) - np.sin(x[:, 0])) ** 2)) < 0.1


@pytest.mark.parametrize(
    ("likelihood", "mean", "variance", "y"),
    [
        (PoissonLikelihood(), 8.0, 0.25, 2981.0),
        (PoissonLikelihood(), 6.0, 1.0, 403.0),
        (NegativeBinomialLikelihood(0.01), 6.0, 1.0, 300.0),
        (StudentTLikelihood(0.02, 4.0), 0.0, 1.0, 0.3),
        (StudentTLikelihood(1.0, 4.0), 0.0, 1.0, 0.3),
    ],
)
def test_a_predictive_is_no_comb(likelihood, mean, variance, y):
    found = likelihood.predictive(np.array([mean]), np.array([variance]))
    step = 0.013 if isinstance(likelihood, StudentTLikelihood) else 7.0
    for value in y + step * np.arange(-2.0, 3.0):
        exact = likelihood.tilted(np.array([value]), np.array([mean]), np.array([variance]))
        assert_allclose(found.log_prob(value), exact.log_z, atol=0.01)


def test_parameters_at_a_bound_are_named():
    kernel = 1.0 * SquaredExponential(1.0).hold()
    with pytest.warns(UserWarning, match=r"variance.* at one"):
        LatentProcessRegressor("poisson", kernel, learning="ml").fit(X, np.full(60, 4.0))


@likelihoods
def test_a_saved_model_predicts_alike(name, tmp_path):
    model = LatentProcessRegressor(name).fit(X, OUTCOMES[name])
    credo.save(model, tmp_path / "model.credo")
    again = credo.load(tmp_path / "model.credo")
    assert_allclose(again.predict(X), model.predict(X))
    assert_allclose(again.predict_interval(X), model.predict_interval(X))


def test_spread_is_parted_into_doubt_and_noise():
    found = LatentProcessRegressor("poisson", Matern52(1.0)).fit(X, COUNTS).predict_dist(X)
    total = found.epistemic_std**2 + found.aleatoric_std**2
    assert_allclose(total, found.variance(), rtol=1e-9)
    assert_allclose(found.aleatoric_std**2, found.mean(), rtol=1e-9)  # of Poisson counts


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"likelihood": "gamma"}, ValueError, "likelihood must be one of"),
        ({"likelihood": OrderedLikelihood()}, TypeError, "GaussianProcessClassifier"),
        ({"kernel": "rbf"}, TypeError, "kernel must be None or a kernel"),
        ({"inference": "nuts"}, ValueError, "inference must be"),
        ({"learning": "cv"}, ValueError, "learning must be"),
        ({"n_inducing": 0}, ValueError, "n_inducing must be"),
    ],
)
def test_a_wrong_setting_is_named(settings, error, words):
    with pytest.raises(error, match=words):
        LatentProcessRegressor(**settings).fit(X, COUNTS)


def test_counts_must_be_counts():
    for likelihood in ("poisson", NegativeBinomialLikelihood(2.0), PoissonLikelihood()):
        with pytest.raises(ValueError, match="must hold counts"):
            LatentProcessRegressor(likelihood).fit(X, F)


@engines
@pytest.mark.parametrize("name", ["poisson", "negative_binomial"])
def test_large_counts_are_followed_to_their_digits(name, inference):
    x = np.linspace(0.0, 10.0, 30)[:, None]
    rate = 1e6 * np.exp(1.0 + np.sin(x[:, 0]))
    y = np.random.default_rng(0).poisson(rate)
    model = LatentProcessRegressor(name, inference=inference).fit(x, y)
    assert_allclose(model.predict(x), rate, rtol=5e-3)
    low, high = model.predict_interval(x, 0.9).T
    assert np.mean((low <= y) & (y <= high)) > 0.8


def test_counts_that_jump_have_intervals():
    y = np.where(np.arange(30) < 15, 0, 1_000_000)
    model = LatentProcessRegressor("poisson").fit(np.arange(30.0)[:, None], y)
    low, high = model.predict_interval([[2.0], [27.0]], 0.9).T
    assert_allclose(low[1], 1e6, rtol=0.01)
    assert high[0] < 1e-3 * low[1]


def test_white_noise_is_of_each_of_several_rows_with_the_same_inputs():
    x, y = np.array([[0.0], [0.0], [1.0]]), np.array([3, 3, 1])
    kernel = (Constant(1.0) + White(0.5)).hold()
    model = LatentProcessRegressor("poisson", kernel, inference="ep").fit(x, y)
    apart = LatentProcessRegressor("poisson", kernel, inference="ep")
    apart.fit(np.array([[0.0], [0.1], [1.0]]), y)
    assert_allclose(model.log_evidence_, apart.log_evidence_)


@pytest.mark.parametrize("n_columns", [2, 14])
def test_units_of_columns_change_nothing_however_many_there_are(n_columns):
    own = np.random.default_rng(4)
    x, units = own.normal(size=(40, n_columns)), 10.0 ** own.uniform(-3.0, 3.0, n_columns)
    y = own.poisson(np.exp(1.0 + x[:, 0]))
    one = LatentProcessRegressor("poisson").fit(x, y)
    other = LatentProcessRegressor("poisson").fit(x * units, y)
    assert_allclose(other.predict(x * units), one.predict(x), rtol=1e-5)
    assert_allclose(other.log_evidence_, one.log_evidence_, atol=1e-5)
