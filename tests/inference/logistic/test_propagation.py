import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo import LogisticRegression
from credo.inference import ExpectationPropagation, NoUTurnSampling, SoftmaxPropagation
from credo.inference.logistic import learning
from credo.inference.logistic.softmax import class_coding

RNG = np.random.default_rng(0)
X = RNG.normal(size=(15, 1)) * 3.0 + 1.0
Y = (special.expit(X[:, 0] - 1.0) > RNG.random(15)).astype(int)
FINE = ExpectationPropagation(1e-8)


def grid(precision):
    """Return log evidence, mean weight and its spread, under a flat intercept, on a grid."""
    w, b = np.meshgrid(np.linspace(-6, 10, 801), np.linspace(-25, 25, 1201), indexing="ij")
    score = w[..., None] * (X[:, 0] - X.mean()) + b[..., None]
    logs = special.log_expit((2 * Y - 1) * score).sum(axis=-1)
    logs += 0.5 * (np.log(precision / (2 * np.pi)) - precision * w**2)
    density = np.exp(logs) * (16 / 800) * (50 / 1200)
    total = density.sum()
    mean = (density * w).sum() / total
    return np.log(total), mean, np.sqrt((density * (w - mean) ** 2).sum() / total)


def test_evidence_and_weights_are_near_a_grid_and_nearer_than_by_laplace():
    log_evidence, mean, spread = grid(0.5)
    error = {}
    for inference in ("ep", "laplace"):
        model = LogisticRegression(inference=inference, weight_precision=0.5).fit(X, Y)
        sd = model.coefficients().loc["x0", "sd"]
        error[inference] = np.abs(
            [model.log_evidence_ - log_evidence, model.coef_[0, 0] - mean, sd - spread]
        )
    assert np.all(error["ep"] < [0.1, 0.05, 0.1])
    assert error["ep"].sum() < 0.5 * error["laplace"].sum()


def test_a_learned_precision_has_the_evidence_of_the_closest_gaussian():
    x = RNG.normal(size=(80, 3))
    y = (special.expit(x @ [2.0, -1.0, 0.0]) > RNG.random(80)).astype(int)
    ep = LogisticRegression(inference="ep").fit(x, y)
    closest = LogisticRegression().fit(x, y)
    assert ep.evidence_method_ == "ep"
    assert_allclose(ep.log_evidence_, closest.log_evidence_, atol=0.3)
    assert_allclose(ep.predict_proba(x), closest.predict_proba(x), atol=0.03)


def test_weights_of_rows_are_repetitions():
    weight = np.arange(15) % 3
    again = np.repeat(np.arange(15), weight)
    engine = ExpectationPropagation(1e-8)
    once = LogisticRegression(inference=engine, weight_precision=1.0).fit(X, Y, weight)
    twice = LogisticRegression(inference=engine, weight_precision=1.0).fit(X[again], Y[again])
    assert_allclose(once.coef_, twice.coef_, rtol=1e-6)
    assert_allclose(once.log_evidence_, twice.log_evidence_, rtol=1e-6)


def cube(x, code, n_classes, half, n):
    """Return log evidence, mean and spread of class weights without intercepts, on a grid."""
    coding, axis = class_coding(n_classes), np.linspace(-half, half, n)
    at = np.array(np.meshgrid(*[axis] * (n_classes - 1), indexing="ij"))
    at = at.reshape(n_classes - 1, -1)
    logs = 0.5 * (len(at) * np.log(0.5 / (2 * np.pi)) - 0.5 * (at**2).sum(axis=0))
    for value, own in zip(x[:, 0], code, strict=True):
        score = coding @ at * value
        logs += score[own] - special.logsumexp(score, axis=0)
    density = np.exp(logs) * (axis[1] - axis[0]) ** len(at)
    total = density.sum()
    mean = at @ density / total
    covariance = (at * density) @ at.T / total - np.outer(mean, mean)
    spread = np.sqrt((coding @ covariance @ coding.T).diagonal())
    return np.log(total), coding @ mean, spread


def errors(model, exact):
    spread = model.coefficients()["sd"].to_numpy()
    found = (model.log_evidence_, model.coef_[:, 0], spread)
    return [np.abs(a - b).max() for a, b in zip(found, exact, strict=True)]


@pytest.mark.parametrize(
    ("n_classes", "n", "limit"), [(3, 401, 1e-6), (4, 121, 1e-6), (5, 31, 6e-3)]
)
def test_one_row_of_several_classes_is_exact_but_for_nodes(n_classes, n, limit):
    # Rows of next to no weight name the other classes.
    x, code = np.full((n_classes, 1), 2.0), np.arange(n_classes)
    weight = np.where(code == 1, 1.0, 1e-9)
    exact = cube(x[1:2], code[1:2], n_classes, 10.0, n)
    model = LogisticRegression(inference=FINE, weight_precision=0.5, fit_intercept=False).fit(
        x, code, weight
    )
    assert model.inference_.status.has_converged
    assert np.all(np.array(errors(model, exact)) < limit)


@pytest.mark.parametrize(("n_classes", "n"), [(3, 401), (4, 101)])
def test_several_classes_are_near_a_grid_and_nearer_than_by_laplace(n_classes, n):
    rng = np.random.default_rng(n_classes)
    x = 2.0 * rng.normal(size=(12, 1))
    code = np.append(np.arange(n_classes), rng.integers(n_classes, size=12 - n_classes))
    exact = cube(x, code, n_classes, 8.0, n)
    error = {}
    for inference in (FINE, "laplace"):
        model = LogisticRegression(
            inference=inference, weight_precision=0.5, fit_intercept=False
        ).fit(x, code)
        error[inference] = np.array(errors(model, exact))
    # The spread of three classes is off by .035 where moments are exact, see below.
    assert np.all(error[FINE] < [0.05, 0.01, 0.04])
    assert error[FINE].sum() < 0.4 * error["laplace"].sum()


def fixed_point(x, code, half, n):
    """Return log evidence, mean and spread of three classes where all moments are matched.

    Sites are in the weights themselves, and moments are sums over a grid of them.
    """
    coding, axis = class_coding(3), np.linspace(-half, half, n)
    at = np.array(np.meshgrid(axis, axis, indexing="ij")).reshape(2, -1)
    logs = []
    for value, own in zip(x[:, 0], code, strict=True):
        score = coding @ at * value
        logs.append(score[own] - special.logsumexp(score, axis=0))
    square = np.array([at[0] ** 2, at[0] * at[1], at[1] ** 2])
    precision, shift = np.zeros((len(x), 2, 2)), np.zeros((len(x), 2))
    for _ in range(25):
        log_evidence = 0.0
        for i in range(len(x)):
            left = 0.5 * np.eye(2) + precision.sum(axis=0) - precision[i]
            pull = shift.sum(axis=0) - shift[i]
            bend = np.array([left[0, 0], 2.0 * left[0, 1], left[1, 1]])
            tilted = logs[i] + pull @ at - 0.5 * bend @ square
            top = tilted.max()
            share = np.exp(tilted - top)
            total = share.sum()
            mean = at @ share / total
            second = (square @ share / total)[[0, 1, 1, 2]].reshape(2, 2)
            wanted = np.linalg.inv(second - np.outer(mean, mean))
            precision[i], shift[i] = wanted - left, wanted @ mean - pull
            # Integral of likelihood times cavity over that of site times cavity.
            log_evidence += top + np.log(total) + 2.0 * np.log(axis[1] - axis[0])
            log_evidence -= log_integral(wanted, wanted @ mean)
        whole, pull = 0.5 * np.eye(2) + precision.sum(axis=0), shift.sum(axis=0)
        log_evidence += log_integral(whole, pull) - log_integral(0.5 * np.eye(2), np.zeros(2))
    covariance = np.linalg.inv(whole)
    spread = np.sqrt((coding @ covariance @ coding.T).diagonal())
    return log_evidence, coding @ covariance @ pull, spread


def log_integral(precision, pull):
    log_det = np.linalg.slogdet(precision / (2.0 * np.pi))[1]
    return 0.5 * (pull @ np.linalg.solve(precision, pull) - log_det)


def test_three_classes_are_where_sums_over_a_grid_match_all_moments():
    rng = np.random.default_rng(3)
    x = 2.0 * rng.normal(size=(12, 1))
    code = np.append(np.arange(3), rng.integers(3, size=9))
    model = LogisticRegression(inference=FINE, weight_precision=0.5, fit_intercept=False)
    exact = fixed_point(x, code, 9.0, 161)
    assert np.all(np.array(errors(model.fit(x, code), exact)) < 1e-6)


def test_scores_that_rise_in_a_small_part_of_their_spread_have_exact_moments():
    # A row of next to no weight names the third class.
    x, code = np.array([[-20.0], [-12.0], [10.0], [18.0], [1.0]]), np.array([0, 0, 1, 1, 2])
    model = LogisticRegression(inference=FINE, weight_precision=0.5, fit_intercept=False)
    model.fit(x, code, [1.0, 1.0, 1.0, 1.0, 1e-9])
    exact = fixed_point(x[:4], code[:4], 8.0, 401)
    assert np.all(np.array(errors(model, exact)) < 1e-4)


def three_classes():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 2))
    score = x @ [[2.0, 0.0, -2.0], [0.0, 1.5, 0.0]]
    code = np.argmax(score + rng.gumbel(size=score.shape), axis=1)
    return x, code


def test_probabilities_of_three_classes_are_those_of_a_long_run():
    x, code = three_classes()
    drawn = LogisticRegression(
        inference=NoUTurnSampling(n_draws=10000), weight_precision=0.3, random_state=0
    ).fit(x, code)
    new = 2.0 * np.random.default_rng(6).normal(size=(200, 2))
    error = {}
    for inference in ("ep", "laplace"):
        model = LogisticRegression(inference=inference, weight_precision=0.3).fit(x, code)
        error[inference] = np.abs(model.predict_proba(new) - drawn.predict_proba(new)).max()
    assert error["ep"] < 0.01
    assert error["ep"] < 0.3 * error["laplace"]


def test_a_learned_precision_of_three_classes_is_that_of_draws():
    x, code = three_classes()
    ep = LogisticRegression(inference="ep").fit(x, code)
    drawn = LogisticRegression(inference="nuts", random_state=0).fit(x, code)
    ratio = np.log(ep.weight_precision_ / drawn.weight_precision_)
    assert np.all(np.abs(ratio) < 0.3)
    assert_allclose(ep.predict_proba(x), drawn.predict_proba(x), atol=0.03)
    assert_allclose(ep.log_evidence_, drawn.log_evidence_, atol=0.6)


def test_classes_without_overlap_do_not_widen_the_prior_without_end():
    x = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 10, axis=0)
    x += 0.3 * np.random.default_rng(7).normal(size=x.shape)
    code = np.repeat(np.arange(3), 10)
    ep = LogisticRegression(inference="ep").fit(x, code)
    # The tail of wide priors is long: usual chains warn that they are too short for it.
    chains = NoUTurnSampling(n_draws=4000, acceptance=0.95, metric="low_rank")
    drawn = LogisticRegression(inference=chains, random_state=0).fit(x, code)
    assert np.all(np.abs(np.log(ep.weight_precision_ / drawn.weight_precision_)) < 1.0)


def test_weights_of_rows_of_three_classes_are_repetitions():
    x, code = three_classes()
    weight = np.arange(60) % 3
    again = np.repeat(np.arange(60), weight)
    once = LogisticRegression(inference=FINE, weight_precision=1.0).fit(x, code, weight)
    twice = LogisticRegression(inference=FINE, weight_precision=1.0).fit(x[again], code[again])
    assert_allclose(once.coef_, twice.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(once.log_evidence_, twice.log_evidence_, rtol=1e-6)


def test_a_row_of_zeros_adds_the_log_of_equal_probabilities_alone():
    x, code = three_classes()
    settings = {"inference": FINE, "weight_precision": 1.0, "fit_intercept": False}
    without = LogisticRegression(**settings).fit(x, code)
    longer = LogisticRegression(**settings).fit(
        np.vstack([x, [[0.0, 0.0]]]), np.append(code, 1)
    )
    assert_allclose(longer.coef_, without.coef_, rtol=1e-6)
    assert_allclose(longer.log_evidence_, without.log_evidence_ - np.log(3.0), rtol=1e-8)


def test_many_classes_far_apart_settle_under_a_wide_prior():
    # Two rows far out in a column each: scores of thousands, known up to a cone.
    x = np.repeat(np.eye(8), 6, axis=0)
    x += 0.1 * np.random.default_rng(8).normal(size=x.shape)
    x[[0, 20]] *= 40.0
    engine = ExpectationPropagation(1e-4)
    model = LogisticRegression(inference=engine, weight_precision=1e-3).fit(
        x, np.repeat(np.arange(8), 6)
    )
    assert model.inference_.status.has_converged


def test_settings_of_the_engine_hold_for_several_classes():
    with pytest.warns(UserWarning, match="reached max_steps after 2 steps"):
        LogisticRegression(
            inference=ExpectationPropagation(1e-9, max_steps=2), weight_precision=1.0
        ).fit(*three_classes())
    with pytest.raises(ValueError, match="damping must be from 0 up to"):
        SoftmaxPropagation(damping=1.0)


def test_it_is_said_beforehand_where_a_precision_takes_minutes(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = np.argmax(x @ rng.normal(size=(2, 3)) + rng.gumbel(size=(60, 3)), axis=1)
    plain = LogisticRegression(inference="ep").fit(x, y)
    monkeypatch.setattr(learning, "SLOW_SWEEPS", 0.0)
    with pytest.warns(UserWarning, match="3 classes takes minutes for 60 rows and 6 weights"):
        rough = LogisticRegression(inference="ep").fit(x, y)
    assert_allclose(rough.log_evidence_, plain.log_evidence_, atol=0.01)
    assert_allclose(rough.predict_proba(x), plain.predict_proba(x), atol=0.01)
