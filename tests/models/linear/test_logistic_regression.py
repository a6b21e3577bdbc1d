"""Logistic and softmax regression: worked numbers, other libraries, integrals, calibration."""

import importlib
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize, special, stats
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

import credo
from credo import EvidenceSearch, LogisticRegression, ModelAverage
from credo.decisions import LossMatrix
from credo.features import PolynomialBasis, RadialBasis
from credo.inference import (
    ConvergenceWarning,
    LaplaceApproximation,
    SeparationWarning,
    Status,
    TableGibbs,
    VariationalLogistic,
)

X = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])[:, None]
Y = np.array([0, 0, 1, 0, 1, 1])


def classes(n=400, d=4, n_classes=3, size=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 10.0 ** np.arange(d) + 5.0
    scores = size * (x - 5.0) / 10.0 ** np.arange(d) @ rng.normal(size=(d, n_classes))
    return x, (scores + rng.gumbel(size=(n, n_classes))).argmax(axis=1)


def test_maximum_likelihood_has_the_worked_weights():
    model = LogisticRegression(inference="ml").fit(X, Y)
    assert_allclose(model.intercept_, -0.6070137929, atol=1e-9)
    assert_allclose(model.coef_, 1.2140275859, atol=1e-9)
    assert model.evidence_method_ == "none"
    assert not hasattr(model, "log_evidence_")


def test_most_probable_weights_are_the_worked_ones_and_the_intercept_is_not_shrunk():
    model = LogisticRegression(inference="map", weight_precision=1.0).fit(X, Y)
    assert_allclose(model.intercept_, -0.3835268, atol=1e-7)
    assert_allclose(model.coef_, 0.7670537, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_weights_are_those_of_scikit_learn_at_the_same_penalty(n_classes):
    x, y = classes(n_classes=n_classes)
    model = LogisticRegression(inference="map", weight_precision=0.3).fit(x, y)
    other = Reference(C=1 / 0.3, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(x, y)
    assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(model.predict_proba(x), other.predict_proba(x), atol=1e-7)


def test_evidence_of_one_weight_is_close_to_the_integral_over_it():
    x, y = np.repeat(X, 8, axis=0), np.tile([0, 0, 1, 0, 1, 1, 1, 0], 6)
    settings = {"weight_precision": 2.0, "fit_intercept": False}
    model = LogisticRegression(**settings).fit(x, y)

    def density(w):
        return np.exp(special.log_expit((2 * y - 1) * x[:, 0] * w).sum()) * stats.norm.pdf(
            w, scale=2**-0.5
        )

    exact = np.log(integrate.quad(density, -8, 8, points=[float(model.coef_[0, 0])])[0])
    assert_allclose(model.log_evidence_, exact, atol=0.02)


def test_evidence_with_a_flat_intercept_is_close_to_the_double_integral():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 1))
    y = (rng.uniform(size=60) < special.expit(0.5 + x[:, 0])).astype(int)
    model = LogisticRegression(weight_precision=1.5).fit(x, y)

    def density(w, b):
        score = (2 * y - 1) * (b + x[:, 0] * w)
        return np.exp(special.log_expit(score).sum()) * stats.norm.pdf(w, scale=1.5**-0.5)

    grid = np.linspace(-4, 5, 181)
    values = [[density(w, b) for w in grid] for b in grid]
    exact = np.log(integrate.trapezoid(integrate.trapezoid(values, grid), grid))
    assert_allclose(model.log_evidence_, exact, atol=0.05)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_learned_precision_has_the_highest_evidence_of_all(n_classes):
    x, y = classes(n=300, d=3, n_classes=n_classes)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    laplace = {"inference": "laplace"}
    learned = LogisticRegression(**laplace).fit(x, y).weight_precision_[0]
    tried = learned * np.exp(np.linspace(-2, 2, 21))
    fits = [LogisticRegression(weight_precision=a, **laplace).fit(x, y) for a in tried]
    values = [fit.log_evidence_ for fit in fits]
    assert abs(int(np.argmax(values)) - 10) <= 1


def test_learned_precision_costs_evidence_and_noise_columns_lower_it():
    rng = np.random.default_rng(0)
    x, y = classes(n=300, d=2, n_classes=2)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    learned = LogisticRegression().fit(x, y)
    given = LogisticRegression(weight_precision=learned.weight_precision_[0]).fit(x, y)
    assert learned.log_evidence_ < given.log_evidence_
    noisy = np.hstack([x, rng.normal(size=(300, 10))])
    assert LogisticRegression().fit(noisy, y).log_evidence_ < learned.log_evidence_


def test_without_signal_the_weights_vanish():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    model = LogisticRegression().fit(x, y)
    assert_allclose(model.predict_proba(x)[:, 1], y.mean(), atol=0.1)
    assert model.n_effective_parameters_ < 2.5


def test_posterior_covariance_is_the_inverse_of_the_worked_hessian():
    model = LogisticRegression(inference="laplace", weight_precision=1e-9).fit(X, Y)
    draws = model.sample_posterior(200_000, random_state=0)
    joint = np.cov(draws["intercept"][:, 0], draws["coef"][:, 0, 0])
    worked = [[1.483780268, -0.416406202], [-0.416406202, 0.832812404]]
    assert_allclose(joint, worked, rtol=0.02)
    table = model.coefficients(0.9)
    assert_allclose(table.loc["x0", "sd"], 0.832812404**0.5, rtol=1e-6)
    assert_allclose(table.loc["x0", "high"] - table.loc["x0", "mean"], 1.6448536 * 0.9125855)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_integrated_probabilities_are_the_mean_over_draws_of_the_weights(n_classes):
    x, y = classes(n=60, n_classes=n_classes)
    model = LogisticRegression().fit(x, y)
    far = x.mean(axis=0) + 3 * (x[:20] - x.mean(axis=0))
    drawn = model.sample_probabilities(far, 4000, random_state=1).mean(axis=0)
    assert_allclose(model.predict_proba(far), drawn, atol=0.03 if n_classes == 2 else 0.06)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("integration", ["quadrature", "probit"])
@pytest.mark.parametrize("inference", ["variational", "laplace"])
def test_far_from_the_data_averages_are_never_more_extreme_than_the_mode(
    n_classes, integration, inference
):
    x, y = classes(n=50, n_classes=n_classes)
    far = x.mean(axis=0) + 4 * (x - x.mean(axis=0))
    integrated = LogisticRegression(inference=inference, integration=integration).fit(x, y)
    plain = LogisticRegression(inference="map").fit(x, y)
    ours, theirs = integrated.predict_proba(far), plain.predict_proba(far)
    assert (ours.max(axis=1) <= theirs.max(axis=1) + 1e-12).all()
    assert (ours.max(axis=1) < theirs.max(axis=1) - 0.01).any()
    if n_classes == 2 or (inference, integration) == ("laplace", "probit"):
        assert (integrated.predict(far) == plain.predict(far)).all()


def saturated(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, (rng.uniform(size=n) < special.expit(4.0 * x[:, 0])).astype(int)


def grid_evidence(x, y, precision, weights, intercepts):
    """Log evidence of one weight and a flat intercept, by the trapezoid rule."""
    signed = 2 * y - 1
    scores = signed * (weights[:, None, None] * x[:, 0] + intercepts[:, None])
    logs = special.log_expit(scores).sum(axis=2)
    logs += stats.norm.logpdf(weights, scale=precision**-0.5)[:, None]
    cell = np.log(np.diff(weights)[0] * np.diff(intercepts)[0])
    return special.logsumexp(logs) + cell


@pytest.mark.parametrize("precision", [1.0, 0.1, 0.02])
@pytest.mark.parametrize("seed", [0, 1])
def test_evidence_of_saturated_classes_is_closer_to_the_integral_than_laplace(precision, seed):
    x, y = saturated(n=30, d=1, seed=seed)
    weights, intercepts = np.linspace(-60, 60, 1201), np.linspace(-25, 25, 801)
    exact = grid_evidence(x, y, precision, weights, intercepts)
    found = LogisticRegression(weight_precision=precision).fit(x, y)
    laplace = LogisticRegression(weight_precision=precision, inference="laplace").fit(x, y)
    error = abs(found.log_evidence_ - exact)
    assert error < 0.05
    assert error < abs(laplace.log_evidence_ - exact) + 0.005


def test_closest_gaussian_is_the_one_that_a_direct_search_of_the_bound_finds():
    x, y = saturated(n=30, d=1)
    nodes, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()

    def lost(theta):
        mean, spread = theta[0], np.exp(theta[1])
        scores = (2 * y - 1) * x[:, 0] * (mean + spread * nodes[:, None])
        fit = -weight @ special.log_expit(scores).sum(axis=1)
        return fit + 0.5 * 0.05 * (mean**2 + spread**2) - theta[1]

    best = optimize.minimize(lost, [1.0, 0.0]).x
    settings = {"weight_precision": 0.05, "fit_intercept": False}
    model = LogisticRegression(**settings).fit(x, y)
    mode = LogisticRegression(inference="map", **settings).fit(x, y).coef_[0, 0]
    assert best[0] > 1.03 * mode
    assert_allclose(model.coef_[0, 0], best[0], rtol=5e-3)
    assert_allclose(model.coefficients()["sd"].iloc[0], np.exp(best[1]), rtol=2e-2)


def test_learned_precision_is_the_most_probable_one_for_its_gaussian():
    x, y = saturated(n=60)
    belief = LogisticRegression().fit(x, y).posterior_
    form = belief.gaussian.form
    signal = (form.precision.diagonal()[:-1] - belief.precision).sum() / len(y)
    zeros = 4 * signal / (signal + belief.precision)
    length = (belief.mean[0, :-1] ** 2).sum() + form.diagonal()[:-1].sum()
    assert_allclose(belief.precision, (3 + zeros) / length, rtol=0.05)


def held_out_losses(x, y, test_size, seeds):
    lost = []
    for seed in seeds:
        a, b, ya, yb = train_test_split(
            x, y, test_size=test_size, random_state=seed, stratify=y
        )
        models = [
            LogisticRegression(inference=how) for how in ("variational", "map", "laplace")
        ]
        lost.append([log_loss(yb, m.fit(a, ya).predict_proba(b)) for m in models])
    return np.mean(lost, axis=0)


def test_averages_of_classes_that_hardly_overlap_do_not_lose_to_the_mode():
    ours, mode, laplace = held_out_losses(*load_wine(return_X_y=True), 0.25, range(4))
    assert ours < mode
    assert ours < 0.6 * laplace
    x, y = classes(n=1600, n_classes=4, size=4.0)
    ours, mode, laplace = held_out_losses(x, y, 0.9, range(4))
    assert ours < min(mode + 0.005, laplace)


def test_saturated_classes_are_closest_also_where_rows_are_many(monkeypatch):
    monkeypatch.setattr("credo.inference.logistic.problem.MIN_SUBSAMPLE", 50)
    x, y = saturated(n=2000, d=2)
    assert LogisticRegression().fit(x, y).evidence_method_ == "laplace"
    y = (x[:, 0] > 0).astype(int)
    assert LogisticRegression().fit(x, y).evidence_method_ == "importance"


def test_far_from_the_data_a_local_basis_returns_to_the_frequency_of_the_intercept():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    y = (np.abs(x[:, 0]) < 0.7).astype(int)
    model = LogisticRegression(RadialBasis(8)).fit(x, y)
    far = model.predict_proba([[1e4], [-1e4]])[:, 1]
    assert_allclose(far, far[0])
    draws = special.expit(model.sample_posterior(20_000, random_state=0)["intercept"])
    assert_allclose(far[0], draws.mean(), atol=0.01)
    assert abs(far[0] - 0.5) < abs(model.predict_proba([[0.0]])[0, 1] - 0.5)


def test_xor_is_solved_by_a_product_of_the_inputs_and_by_no_line():
    x = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] * 5)
    y = x[:, 0] * x[:, 1]
    lifted = LogisticRegression(PolynomialBasis(2), weight_precision=0.01).fit(x, y)
    assert lifted.score(x, y) == 1.0
    assert LogisticRegression(weight_precision=0.01).fit(x, y).score(x, y) <= 0.75


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_columns_than_rows_gives_the_posterior_of_the_long_way(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = classes(n=20, d=6, n_classes=n_classes, seed=1)
    x = np.hstack([x, rng.normal(size=(20, 30))])
    new = np.vstack([x[:5] * 1.3, rng.normal(size=(5, 36))])
    for settings in ({"weight_precision": 0.7}, {}):
        settings["inference"] = "laplace"
        short = LogisticRegression(**settings).fit(x, y)
        monkeypatch.setattr(
            "credo.inference.logistic.learning._spanned", lambda rows: (rows, None)
        )
        long = LogisticRegression(**settings).fit(x, y)
        monkeypatch.undo()
        assert short.posterior_.axes is not None
        assert long.posterior_.axes is None
        assert_allclose(short.coef_, long.coef_, rtol=1e-4, atol=1e-6)
        assert_allclose(short.log_evidence_, long.log_evidence_, rtol=1e-6)
        assert_allclose(short.predict_proba(new), long.predict_proba(new), rtol=1e-4)
        assert_allclose(short.coefficients()["sd"], long.coefficients()["sd"], rtol=1e-4)
        assert_allclose(short.n_effective_parameters_, long.n_effective_parameters_, rtol=1e-4)


def test_many_rows_give_the_mode_that_newton_finds_on_all_of_them(monkeypatch):
    x, y = classes(n=12_000, d=3, n_classes=3)
    monkeypatch.setattr("credo.inference.logistic.problem.MIN_SUBSAMPLE", 1000)
    settings = {"weight_precision": 1.0, "inference": "laplace"}
    quick = LogisticRegression(**settings).fit(x, y)
    monkeypatch.setattr("credo.inference.logistic.problem.WORTHWHILE", 10**9)
    slow = LogisticRegression(**settings).fit(x, y)
    off = np.abs(quick.coef_ - slow.coef_).ravel() / slow.coefficients()["sd"]
    assert off.max() < 1e-4
    assert_allclose(quick.log_evidence_, slow.log_evidence_, atol=1e-3)
    assert_allclose(quick.coefficients()["sd"], slow.coefficients()["sd"], rtol=1e-3)


def test_many_parameters_are_found_by_gradients_alone(monkeypatch):
    x, y = classes(n=500, d=4, n_classes=3)
    expected = LogisticRegression(inference="map", weight_precision=1.0).fit(x, y)
    monkeypatch.setattr("credo.inference.logistic.learning.MOST_PARAMETERS", 5)
    found = LogisticRegression(inference="map", weight_precision=1.0).fit(x, y)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-6)
    assert found.evidence_method_ == "none"
    with pytest.raises(ValueError, match=r"at most 5 parameters.*inference='map'"):
        LogisticRegression().fit(x, y)


def test_classes_that_do_not_overlap_are_said_and_leave_finite_weights():
    y = np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(SeparationWarning, match="separated without error"):
        model = LogisticRegression(inference="ml").fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) == 1.0
    prior = LogisticRegression().fit(X, y)
    assert 0.01 < prior.predict_proba([[0.5]])[0, 0] < 0.99


def test_the_warning_of_separation_points_at_the_line_of_the_fit_in_a_pipeline_too():
    y = np.array([0, 0, 0, 1, 1, 1])
    alone = LogisticRegression(inference="ml")
    for model in (
        alone,
        make_pipeline(alone),
        GridSearchCV(alone, {"fit_intercept": [True]}, cv=2),
    ):
        with pytest.warns(SeparationWarning) as caught:
            model.fit(X, y)
        assert {one.filename for one in caught} == {__file__}


def test_a_value_that_decides_alone_is_said_and_collinear_columns_are_not():
    x, y = classes(n=300, d=2, n_classes=2, size=0.5)
    tell_tale = (np.arange(300) < 8) & (y == 1)
    with pytest.warns(SeparationWarning):
        LogisticRegression(inference="ml").fit(np.column_stack([x, tell_tale]), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twice = LogisticRegression(inference="ml").fit(np.column_stack([x, x[:, 0]]), y)
    once = LogisticRegression(inference="ml").fit(x, y)
    assert_allclose(twice.predict_proba(np.column_stack([x, x[:, 0]])), once.predict_proba(x))


def test_weights_of_rows_are_copies_and_class_weights_multiply_them():
    rng = np.random.default_rng(0)
    x, y = classes(n=80, d=2)
    weight = rng.integers(0, 4, size=80).astype(float)
    copies = np.repeat(np.arange(80), weight.astype(int))
    weighted = LogisticRegression().fit(x, y, sample_weight=weight)
    copied = LogisticRegression().fit(x[copies], y[copies])
    assert_allclose(weighted.coef_, copied.coef_, rtol=1e-6)
    by_class = LogisticRegression(class_weight={0: 3.0, 1: 1.0, 2: 0.5}).fit(x, y)
    by_row = LogisticRegression().fit(x, y, sample_weight=np.array([3.0, 1.0, 0.5])[y])
    assert_allclose(by_class.coef_, by_row.coef_)
    balanced = LogisticRegression(class_weight="balanced").fit(x[y < 2], y[y < 2])
    assert_allclose(balanced.class_weight_[0], balanced.class_weight_[1])


def test_units_and_origins_do_not_matter_when_the_precision_is_learned():
    x, y = classes(n=200, d=3)
    scale, shift = np.array([1e-6, 1e3, 1.0]), np.array([0.0, 1e6, -3.0])
    moved = LogisticRegression().fit(x * scale + shift, y)
    model = LogisticRegression().fit(x, y)
    assert_allclose(moved.predict_proba(x * scale + shift), model.predict_proba(x), atol=1e-6)
    assert_allclose(moved.log_evidence_, model.log_evidence_, rtol=1e-7)
    assert_allclose(moved.weight_precision_, model.weight_precision_ * scale**2, rtol=1e-4)


def test_gradient_of_the_penalized_likelihood_is_zero_at_the_weights():
    x, y = classes(n=100, d=2, n_classes=2)
    model = LogisticRegression(inference="map", weight_precision=0.5).fit(x, y)

    def loss(w):
        score = (2 * y - 1) * (w[0] + x @ w[1:])
        return -special.log_expit(score).sum() + 0.25 * w[1:] @ w[1:]

    found = np.append(model.intercept_, model.coef_)
    slope = optimize.approx_fprime(found, loss, 1e-7)
    assert_allclose(slope, 0.0, atol=1e-3)


def test_probabilities_are_calibrated_under_the_model_itself():
    rng = np.random.default_rng(3)
    predicted, happened = [], []
    for _ in range(150):
        w, b = rng.normal(size=3), 0.5 * rng.normal()
        x, new = rng.normal(size=(25, 3)), rng.normal(size=(20, 3))
        y = rng.uniform(size=25) < special.expit(x @ w + b)
        if y.min() == y.max():
            continue
        model = LogisticRegression(weight_precision=1.0).fit(x, y)
        predicted.append(model.predict_proba(new)[:, 1])
        happened.append(rng.uniform(size=20) < special.expit(new @ w + b))
    p, z = np.concatenate(predicted), np.concatenate(happened)
    for low, high in [(0.0, 0.15), (0.15, 0.35), (0.35, 0.65), (0.65, 0.85), (0.85, 1.0)]:
        inside = (p >= low) & (p < high)
        error = (p[inside] * (1 - p[inside])).sum() ** 0.5 / inside.sum()
        assert abs(z[inside].mean() - p[inside].mean()) < 4 * error + 0.015


def test_labels_of_any_kind_come_back_with_names_of_columns():
    frame = pd.DataFrame({"age": X[:, 0], "flat": 1.0})
    model = LogisticRegression().fit(frame, np.where(Y == 1, "ill", "well"))
    assert model.classes_.tolist() == ["ill", "well"]
    assert model.coefficients().index.tolist() == ["age", "flat"]
    assert model.coef_[0, 1] == 0.0
    assert np.isinf(model.weight_precision_[1])
    assert model.predict_frame(frame).columns[0] == "class"
    assert set(model.predict(frame)) <= {"ill", "well"}
    table = LogisticRegression().fit(X, ["a", "b", "c"] * 2).coefficients()
    assert table.index.names == ["class", "term"]


def test_decisions_weigh_what_errors_cost():
    model = LogisticRegression().fit(X, Y)
    dear = LossMatrix([[0.0, 100.0], [1.0, 0.0]], labels=[0, 1])
    decision = model.decide(X, dear)
    assert (decision.action == 1).all()
    assert_allclose(decision.expected_loss, model.predict_proba(X)[:, 0])


def test_diagnosis_tells_when_rows_are_few():
    assert not LogisticRegression().fit(X[1:5], Y[1:5]).diagnose().is_sound
    x, y = classes(n=600, d=2)
    verdict = LogisticRegression().fit(x, y).diagnose()
    assert verdict.is_sound, str(verdict)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "exact"}, "inference must be one of"),
        ({"weight_precision": -1.0}, "weight_precision must be a positive number"),
        ({"weight_precision": "ard"}, "weight_precision must be a positive number or one of"),
        ({"integration": "magic"}, "integration must be one of"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a mapping"),
        ({"class_weight": {7: 1.0}}, r"class_weight must give classes of y.*found \[7\]"),
        ({"class_weight": {0: -1.0}}, "finite weights of 0 or more"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegression(**settings).fit(X, Y)


def test_labels_that_cannot_be_learned_from_are_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        LogisticRegression().fit(X, np.ones(6))
    with pytest.raises(TypeError, match="basis must be None or a basis"):
        LogisticRegression(basis="spline").fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        LogisticRegression().fit(np.where(X > 2, np.nan, X), Y)
    with pytest.raises(ValueError, match="NaN"):
        LogisticRegression().fit(X, [0.0, 1.0, np.nan, 0.0, 1.0, 1.0])


def test_log_probabilities_keep_their_digits_where_probabilities_round_to_zero_and_one():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 1))
    y = (rng.uniform(size=4000) < special.expit(4 * x[:, 0])).astype(int)
    far = np.array([[30.0], [100.0], [1000.0]])
    for inference in ("map", "laplace"):
        odds = LogisticRegression(inference=inference).fit(x, y).decision_function(far)
        assert np.isfinite(odds).all()
        assert (np.diff(odds) > 0).all()
    plain = LogisticRegression(inference="map").fit(x, y).decision_function(far)
    assert (np.abs(odds) <= np.abs(plain)).all()


def test_without_an_intercept_nothing_is_believed_or_counted_of_one():
    x, y = classes(n=200, d=2, n_classes=2)
    x = (x - 5.0) / [1.0, 10.0]
    model = LogisticRegression(weight_precision=1.0, fit_intercept=False).fit(x, y)
    assert_allclose(model.predict_proba([[0.0, 0.0]]), 0.5)
    drawn = model.sample_probabilities(3 * x[:8], 20_000, random_state=0).mean(axis=0)
    assert_allclose(model.predict_proba(3 * x[:8]), drawn, atol=0.01)
    assert model.n_effective_parameters_ < 2.0
    assert_allclose(model.sample_posterior(3, random_state=0)["intercept"].shape, (3, 1))


def test_evidence_under_class_weights_is_never_compared_with_that_of_the_data():
    x, y = classes(n=100, d=2, n_classes=2)
    light = LogisticRegression(class_weight={0: 0.01, 1: 0.01})
    assert light.fit(x, y).evidence_of_ == "weighted y given X"
    with pytest.raises(ValueError, match="about the same"):
        ModelAverage([("plain", LogisticRegression()), ("light", light)]).fit(x, y)
    grid = {"class_weight": [None, {0: 0.01, 1: 0.01}]}
    search = EvidenceSearch(LogisticRegression(), grid, cv=3).fit(x, y)
    assert search.best_params_ == {"class_weight": None}


def test_a_class_without_weight_leaves_no_evidence():
    x, y = classes(n=90, d=2)
    model = LogisticRegression().fit(x, y, sample_weight=(y > 0).astype(float))
    assert model.evidence_method_ == "none"
    assert not hasattr(model, "log_evidence_")
    assert model.predict_proba(x)[:, 0].max() < 0.05


def test_many_parameters_still_tell_of_separation_and_of_searches_that_did_not_end(monkeypatch):
    monkeypatch.setattr("credo.inference.logistic.learning.MOST_PARAMETERS", 1)
    with pytest.warns(SeparationWarning):
        LogisticRegression(inference="ml").fit(X, [0, 0, 0, 1, 1, 1])
    model = LogisticRegression(inference="map", weight_precision=2.0).fit(X, Y)
    assert_allclose(model.weight_precision_, 2.0)
    original = importlib.import_module("credo.inference.logistic.learning").approach
    monkeypatch.setattr(
        "credo.inference.logistic.learning.approach",
        lambda *args, **rules: original(*args, tolerance=1e-12, max_steps=1),
    )
    with pytest.warns(ConvergenceWarning, match="must settle"):
        LogisticRegression(inference="map", weight_precision=2.0).fit(X, Y)


def test_many_classes_are_no_harder_than_their_number():
    rng = np.random.default_rng(0)
    centers = 5 * rng.normal(size=(40, 3))
    y = np.repeat(np.arange(40), 6)
    x = centers[y] + rng.normal(size=(240, 3))
    model = LogisticRegression().fit(x, y)
    new = centers[y] + rng.normal(size=(240, 3))
    assert model.score(new, y) > 0.6
    assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)


def test_learned_precision_has_the_highest_evidence_where_columns_outnumber_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 260)
    x = rng.normal(size=(260, 500))
    x[:, :50] += 0.5 * y[:, None]
    x = (x - x[:60].mean(axis=0)) / x[:60].std(axis=0)
    model = LogisticRegression(inference="laplace").fit(x[:60], y[:60])
    learned = model.posterior_.precision
    near = [
        LogisticRegression(inference="laplace", weight_precision=learned * factor)
        .fit(x[:60], y[:60])
        .log_evidence_
        for factor in (0.7, 1.0, 1.4)
    ]
    assert near[1] > max(near[0], near[2])
    assert model.score(x[60:], y[60:]) > 0.65
    assert model.log_evidence_ <= near[1] + 1e-6
    assert "more columns than rows" in str(model.diagnose())


def test_forgetting_rows_is_the_fit_without_them_at_the_same_precision():
    x, y = classes(n=600, d=2)
    left_out = np.arange(0, 600, 40)
    rest = np.delete(np.arange(600), left_out)
    model = LogisticRegression(weight_precision=1.0).fit(x, y)
    found = model.forgetting(x, y)(left_out).predict_proba(x[left_out])
    again = LogisticRegression(weight_precision=1.0).fit(x[rest], y[rest])
    expected = again.predict_proba(x[left_out])
    gap, move = (np.abs(p - expected).max() for p in (found, model.predict_proba(x[left_out])))
    assert gap < 0.02 * move
    assert LogisticRegression(inference="map").fit(x, y).forgetting(x, y) is None


@pytest.mark.parametrize("precision", ["evidence", 2.0])
def test_an_engine_with_settings_stands_where_its_name_does(precision, tmp_path):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(80, 3))
    y = (x[:, 0] + rng.logistic(size=80) > 0).astype(int)
    for name, engine in (
        ("laplace", LaplaceApproximation(tolerance=1e-9)),
        ("variational", VariationalLogistic(tolerance=0.02)),
    ):
        named = LogisticRegression(inference=name, weight_precision=precision).fit(x, y)
        valued = LogisticRegression(inference=engine, weight_precision=precision).fit(x, y)
        assert_allclose(valued.coef_, named.coef_, rtol=1e-4, atol=1e-6)
        assert_allclose(valued.predict_proba(x), named.predict_proba(x), rtol=1e-4)
        assert_allclose(valued.log_evidence_, named.log_evidence_, rtol=1e-4)
        credo.save(valued, tmp_path / "model.credo")
        assert credo.load(tmp_path / "model.credo").inference == engine


def test_the_limit_of_an_engine_is_kept_and_said():
    x = np.random.default_rng(0).normal(size=(60, 2))
    y = (x[:, 0] > 0.3 * x[:, 1] ** 2).astype(int)
    model = LogisticRegression(
        inference=LaplaceApproximation(max_steps=1), weight_precision=1.0
    )
    with pytest.warns(ConvergenceWarning, match="LaplaceApproximation reached max_steps"):
        model.fit(x, y)
    assert model.inference_.status is Status.MAX_STEPS
    with pytest.raises(ValueError, match=r"inference must be one of .*, or an engine"):
        LogisticRegression(inference=TableGibbs()).fit(x, y)
