import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats
from sklearn.gaussian_process import GaussianProcessClassifier as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import credo
from credo import GaussianProcessClassifier
from credo.features import Constant, FunctionKernel, Matern52, SquaredExponential, White
from credo.inference import (
    ConvergenceWarning,
    CovariancePrior,
    ExpectationPropagation,
    OrderedLikelihood,
    ProbitLikelihood,
    SiteProblem,
    run,
)
from credo.inference.kernel.latent_process import InducedLatent, InducedSoftmax
from credo.inference.site.likelihood import BINARY_VARIANCE
from credo.models.kernel import gaussian_process_classifier
from credo.numerics.special.logistic_integral import log_logistic_normal_mean

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
SCORE = np.sin(2 * X[:, 0]) + X[:, 1]
TWO = (special.expit(3 * SCORE) > RNG.random(60)).astype(int)
THREE = np.digitize(SCORE, [-0.7, 0.7])
FOUR = np.digitize(SCORE, [-1.0, 0.0, 1.0])
KERNEL = 2.0 * SquaredExponential((1.0, 1.5, 2.0)) + Constant(1.0)


def sklearn_classifier(kernel, optimizer=None):
    return Peer(kernel, optimizer=optimizer)


def test_laplace_evidence_and_probabilities_are_those_of_scikit_learn():
    other = sklearn_classifier(ConstantKernel(2.0) * RBF([1.0, 1.5, 2.0])).fit(X, TWO)
    kernel = (2.0 * SquaredExponential((1.0, 1.5, 2.0))).hold()
    model = GaussianProcessClassifier(kernel, "laplace").fit(X, TWO)
    assert_allclose(model.log_evidence_, other.log_marginal_likelihood_value_, atol=1e-6)
    # Theirs are averaged by a sum of five error functions.
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=2e-3)


def test_learned_evidence_is_not_below_that_of_scikit_learn():
    other = sklearn_classifier(ConstantKernel(1.0) * RBF(1.0), "fmin_l_bfgs_b").fit(X, TWO)
    model = GaussianProcessClassifier(1.0 * SquaredExponential(1.0), "laplace", "ml").fit(
        X, TWO
    )
    assert model.log_evidence_ > other.log_marginal_likelihood_value_ - 1e-3


@pytest.mark.parametrize(
    ("y", "settings"),
    [
        (TWO, {"inference": "laplace"}),
        (TWO, {"inference": ExpectationPropagation(1e-9)}),
        (THREE, {}),
        (TWO, {"inference": ExpectationPropagation(1e-9), "n_inducing": 15}),
        (THREE, {"n_inducing": 15}),
        (FOUR, {"n_inducing": 15}),
    ],
    ids=["laplace", "ep", "several classes", "inducing inputs", "three induced", "four"],
)
def test_the_gradient_is_that_of_the_evidence(y, settings):
    weight = np.linspace(0.5, 2.0, len(y))
    held = KERNEL.hold()
    model = GaussianProcessClassifier(held, **settings).fit(X, y, weight)
    model.kernel_ = KERNEL
    at, step = KERNEL.log_parameters + 0.1, 1e-4
    _, found = model.log_evidence_at(at, gradient=True)
    expected = [
        (model.log_evidence_at(at + u) - model.log_evidence_at(at - u)) / (2 * step)
        for u in step * np.eye(len(at))
    ]
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def small_set(name):
    """Return rows, classes and a kernel whose posterior Laplace's method is far from."""
    rng = np.random.default_rng(3)
    if name == "line":
        x = np.sort(rng.uniform(-3, 3, 14))[:, None]
        return x, (np.sin(2 * x[:, 0]) > 0).astype(int), 12.0 * SquaredExponential(0.8)
    x = rng.normal(size=(18, 2))
    if name == "plane":
        return x, (x[:, 0] * x[:, 1] > 0).astype(int), 16.0 * SquaredExponential(1.2)
    rare = (x[:, 0] > 1.0).astype(int)
    return x, rare, 9.0 * Matern52(1.5) + Constant(9.0)


def weighted_draws(x, y, kernel, new, n=200_000):
    """Return probabilities at new rows by importance sampling of the hidden numbers."""
    model = GaussianProcessClassifier(kernel.hold()).fit(x, y)
    rows, code = model.data_.x, model.data_.code
    K = kernel(rows) + 1e-9 * np.eye(len(rows))
    sites = model.posterior_._sites
    mean = K @ model.posterior_.dual
    S = 1.3 * (K - K @ sites.residual_precision_times(K)) + 1e-9 * np.eye(len(rows))
    root = np.linalg.cholesky(S)
    z = np.random.default_rng(1).normal(size=(n, len(rows)))
    f = mean + z @ root.T
    logs = special.log_expit((2 * code - 1) * f).sum(axis=1) + 0.5 * (z**2).sum(axis=1)
    logs -= 0.5 * ((f @ np.linalg.inv(K)) * f).sum(axis=1)
    share = np.exp(logs - logs.max())
    share /= share.sum()
    near = np.linalg.solve(K, kernel(rows, new))
    center = f @ near
    spread = np.sqrt(
        np.maximum(kernel.diagonal(new) - (kernel(rows, new) * near).sum(axis=0), 0)
    )
    means = np.array(
        [
            share @ special.expit(c + s * NODES) @ WEIGHT
            for c, s in zip(center.T[:, :, None], spread, strict=True)
        ]
    )
    return means, 1.0 / np.sum(share**2)


NODES, WEIGHT = np.polynomial.hermite_e.hermegauss(24)
WEIGHT = WEIGHT / WEIGHT.sum()


@pytest.mark.parametrize("name", ["line", "plane", "rare"])
def test_propagation_is_within_a_percent_of_monte_carlo_and_laplace_is_not_as_near(name):
    x, y, kernel = small_set(name)
    new = np.random.default_rng(5).uniform(-2.5, 2.5, (12, x.shape[1]))
    exact, worth = weighted_draws(x, y, kernel, new, 60_000)
    assert worth > 20_000
    error = {}
    for inference in ("ep", "laplace"):
        model = GaussianProcessClassifier(kernel.hold(), inference).fit(x, y)
        error[inference] = np.abs(model.predict_proba(new)[:, 1] - exact).max()
    assert error["ep"] < 0.01
    assert error["laplace"] > 4 * error["ep"]


def sliced(rng, root, sign, f):
    """Return the next states (c, n) of chains, by angles on ellipses through the last ones."""
    other = rng.normal(size=f.shape) @ root.T
    level = special.log_expit(sign * f).sum(axis=1) - rng.exponential(size=len(f))
    angle = rng.uniform(0.0, 2.0 * np.pi, len(f))
    low, high = angle - 2.0 * np.pi, angle.copy()
    moved, left = np.empty_like(f), np.arange(len(f))
    while len(left):
        turn = angle[left, None]
        tried = f[left] * np.cos(turn) + other[left] * np.sin(turn)
        is_taken = special.log_expit(sign * tried).sum(axis=1) >= level[left]
        moved[left[is_taken]] = tried[is_taken]
        left = left[~is_taken]
        is_low = angle[left] < 0
        low[left[is_low]] = angle[left[is_low]]
        high[left[~is_low]] = angle[left[~is_low]]
        angle[left] = rng.uniform(low[left], high[left])
    return moved


@pytest.mark.slow
@pytest.mark.parametrize("name", ["line", "plane", "rare"])
def test_propagation_is_within_a_percent_of_long_chains(name):
    x, y, kernel = small_set(name)
    new = np.random.default_rng(5).uniform(-2.5, 2.5, (12, x.shape[1]))
    rng, n_chains, n_before, n = np.random.default_rng(2), 1_500, 100, 1_000
    K = kernel(x) + 1e-9 * np.eye(len(x))
    root, near = np.linalg.cholesky(K), np.linalg.solve(K, kernel(x, new))
    spread = np.sqrt(np.maximum(kernel.diagonal(new) - (kernel(x, new) * near).sum(axis=0), 0))
    f, means = rng.normal(size=(n_chains, len(x))) @ root.T, np.zeros((n_chains, 12))
    for step in range(n_before + n):
        f = sliced(rng, root, 2 * y - 1, f)
        if step >= n_before:
            means += np.exp(log_logistic_normal_mean(f @ near, np.tile(spread, (n_chains, 1))))
    means /= n
    # Chains are independent, and so their means say how far off the mean of all may be.
    assert means.std(axis=0).max() / np.sqrt(n_chains) < 0.0015
    model = GaussianProcessClassifier(kernel.hold()).fit(x, y)
    assert_allclose(model.predict_proba(new)[:, 1], means.mean(axis=0), atol=0.01)


@pytest.mark.parametrize("inference", ["ep", "laplace"])
@pytest.mark.parametrize("n_columns", [3, 14])
def test_units_of_columns_change_nothing_however_many_there_are(n_columns, inference):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(40, n_columns))
    y = np.where(x[:, 0] + 0.5 * x[:, 1] + 0.3 * rng.normal(size=40) > 0, "high", "low")
    units = 10.0 ** rng.uniform(-3.0, 3.0, n_columns)
    new = rng.normal(size=(10, n_columns))
    one = GaussianProcessClassifier(inference=inference).fit(x, y)
    other = GaussianProcessClassifier(inference=inference).fit(x * units, y)
    assert_allclose(other.predict_proba(new * units), one.predict_proba(new), atol=1e-6)
    assert_allclose(other.log_evidence_, one.log_evidence_, atol=1e-5)


def test_three_classes_of_many_columns_do_not_depend_on_units():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(36, 13))
    y, units = np.digitize(x[:, 2], [-0.5, 0.5]), 10.0 ** rng.uniform(-3.0, 3.0, 13)
    one, other = (GaussianProcessClassifier().fit(x * u, y) for u in (1.0, units))
    assert_allclose(other.predict_proba(x * units), one.predict_proba(x), atol=1e-6)


def test_inducing_inputs_leave_a_matrix_that_a_kernel_keeps_as_it_is():
    kept = {}

    def function(A, B):
        return kept.setdefault((A.tobytes(), B.tobytes()), SquaredExponential(1.0)(A, B))

    GaussianProcessClassifier(FunctionKernel(function), n_inducing=10).fit(X, TWO)
    for (A, B), matrix in kept.items():
        rows = (np.frombuffer(part).reshape(-1, 3) for part in (A, B))
        assert_allclose(matrix, SquaredExponential(1.0)(*rows), rtol=0, atol=0)


def test_inducing_inputs_at_all_rows_are_the_exact_process():
    exact = GaussianProcessClassifier(KERNEL.hold()).fit(X, TWO)
    method = InducedLatent(ExpectationPropagation(), inducing=exact.data_.x)
    belief, found = method.belief(exact.data_, KERNEL)
    assert_allclose(found.log_evidence, exact.log_evidence_, atol=1e-4)
    for one, other in zip(belief.moments(X[:9]), exact.posterior_.moments(X[:9]), strict=True):
        assert_allclose(one, other, atol=1e-4)
    three = GaussianProcessClassifier(KERNEL.hold()).fit(X, THREE)
    belief, found = InducedSoftmax(three.data_.x).belief(three.data_, KERNEL)
    assert_allclose(found.log_evidence, three.log_evidence_, atol=1e-4)
    difference = [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
    mean, S = belief.moments(X[:9])
    wanted, other = three.posterior_.moments(X[:9])
    assert_allclose(
        mean @ np.transpose(difference), wanted @ np.transpose(difference), atol=1e-4
    )
    one, two = (np.array(difference) @ part @ np.transpose(difference) for part in (S, other))
    assert_allclose(one, two, atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_are_classed_by_inducing_inputs(n_classes):
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, size=(2600, 2))
    y = np.digitize(np.sin(x[:, 0]) + 0.3 * rng.normal(size=2600), [-0.5, 0.5][: n_classes - 1])
    kernel = (4.0 * SquaredExponential(1.5)).hold()
    model = GaussianProcessClassifier(kernel, "laplace").fit(x[:2200], y[:2200])
    assert model.method_ == "inducing inputs"
    assert model.score(x[2200:], y[2200:]) > 0.75


def test_a_row_may_be_weighted_or_repeated():
    weight = np.arange(60) % 3
    once = GaussianProcessClassifier().fit(X, TWO, weight)
    again = np.repeat(np.arange(60), weight)
    repeated = GaussianProcessClassifier().fit(X[again], TWO[again])
    assert_allclose(once.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


def test_rare_classes_stay_rare_far_from_the_rows():
    y = np.where(np.random.default_rng(4).random(60) < 0.1, "rare", "usual")
    model = GaussianProcessClassifier().fit(X, y)
    assert model.predict_dist([[90.0, 0.0, 0.0]]).prob("rare")[0] < 0.3


def test_units_of_the_inputs_do_not_matter():
    one = GaussianProcessClassifier().fit(X, TWO)
    other = GaussianProcessClassifier().fit(X * [1e-3, 1.0, 1e4], TWO)
    assert_allclose(one.log_evidence_, other.log_evidence_, rtol=1e-6)
    assert_allclose(one.predict_proba(X), other.predict_proba(X * [1e-3, 1.0, 1e4]), atol=1e-4)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("n_inducing", [None, 20])
def test_a_saved_model_predicts_alike(tmp_path, y, n_inducing):
    model = GaussianProcessClassifier(KERNEL, "laplace", n_inducing=n_inducing).fit(X, y)
    credo.save(model, tmp_path / "model.credo")
    loaded = credo.load(tmp_path / "model.credo")
    assert_allclose(loaded.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-9)
    assert loaded.log_evidence_at() == pytest.approx(model.log_evidence_at(), abs=1e-6)


def test_propagation_that_does_not_settle_says_so():
    with pytest.warns(ConvergenceWarning):
        GaussianProcessClassifier(KERNEL.hold(), ExpectationPropagation(1e-9, 2)).fit(X, TWO)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"kernel": "rbf"}, TypeError, "kernel must be None or a kernel"),
        ({"inference": "vb"}, ValueError, "inference must be one of"),
        ({"learning": "none"}, ValueError, "learning must be one of"),
        ({"n_inducing": 0}, ValueError, "n_inducing must be a whole number"),
    ],
)
def test_wrong_settings_are_refused(settings, error, said):
    with pytest.raises(error, match=said):
        GaussianProcessClassifier(**settings).fit(X, TWO)


def test_grades_in_order_are_known_better_than_classes_without():
    draws, cuts = np.random.default_rng(5), (-1.5, -0.5, 0.5, 1.5)
    x = draws.uniform(0.0, 6.0, (1100, 2))
    hidden = 1.5 * np.sin(x[:, 0]) + 0.3 * x[:, 1] - 0.9
    y = np.digitize(hidden + draws.normal(size=1100), cuts)
    grades = GaussianProcessClassifier(ordered=True).fit(x[:100], y[:100])
    classes = GaussianProcessClassifier().fit(x[:100], y[:100])
    new, outcome = x[100:], y[100:]
    score = [m.predict_log_proba(new)[np.arange(1000), outcome] for m in (grades, classes)]
    gain = score[0] - score[1]
    assert gain.mean() > 2.0 * gain.std() / np.sqrt(1000)
    assert grades.log_evidence_ > classes.log_evidence_ + 5.0
    truth = OrderedLikelihood(cuts).log_probability(hidden[100:], np.zeros(1000))
    assert np.abs(np.exp(truth) - grades.predict_proba(new)).mean() < 0.07
    assert_allclose(grades.predict_proba(new).sum(axis=1), 1.0)


def test_two_grades_are_probit_classification():
    kernel = 2.0 * SquaredExponential(1.0).hold()
    model = GaussianProcessClassifier(kernel.hold(), ordered=True, learning="ml").fit(X, TWO)
    cut = model.likelihood_.cut_points[0]
    code = (model.classes_[1] == TWO).astype(float)
    prior = CovariancePrior(kernel(X), np.full(len(X), -cut))
    found = run(ExpectationPropagation(), SiteProblem(prior, ProbitLikelihood(), code))
    assert_allclose(model.log_evidence_, found.log_evidence, atol=1e-4)
    mean, variance = model.posterior_.moments(X)
    assert_allclose(mean - cut, found.posterior.mean, atol=1e-3)
    assert_allclose(variance, found.posterior.variance, rtol=1e-3)


def test_the_gradient_of_grades_is_that_of_differences():
    model = GaussianProcessClassifier(KERNEL, ordered=True).fit(X, THREE)
    at = np.concatenate([model.kernel_.log_parameters, model.likelihood_.free_parameters])
    value, gradient = model.log_evidence_at(at, gradient=True)
    assert_allclose(value, model.log_evidence_at())
    assert gradient.shape == at.shape
    for place in range(len(at)):
        shift = 1e-4 * (np.arange(len(at)) == place)
        rise = model.log_evidence_at(at + shift) - model.log_evidence_at(at - shift)
        assert_allclose(gradient[place], rise / 2e-4, rtol=1e-3, atol=1e-3)


def test_the_evidence_integrates_over_the_settings():
    kernel = 2.0 * SquaredExponential(1.0).hold()
    model = GaussianProcessClassifier(kernel, "laplace").fit(X, TWO)
    natural, spread = np.log(BINARY_VARIANCE), kernel.parameters[0].log_spread
    grid = natural + spread * np.arange(-5.0, 5.0, 0.05)
    logs = np.array([model.log_evidence_at([at]) for at in grid])
    logs += stats.norm.logpdf(grid, natural, spread)
    total = special.logsumexp(logs) + np.log(grid[1] - grid[0])
    top = logs.argmax()
    bend = (2.0 * logs[top] - logs[top - 1] - logs[top + 1]) / (grid[1] - grid[0]) ** 2
    laplace = logs[top] + 0.5 * np.log(2.0 * np.pi / bend)
    assert_allclose(model.log_evidence_, laplace, atol=0.02)
    assert abs(laplace - total) < 0.2
    assert model.log_evidence_ < model.log_evidence_at() - 0.2


def test_grades_that_do_not_sort_are_refused():
    grades = pd.Categorical.from_codes(THREE, ["low", "medium", "high"], ordered=True)
    with pytest.raises(ValueError, match="must sort from the least to the greatest"):
        GaussianProcessClassifier(ordered=True).fit(X, pd.Series(grades))


def test_several_classes_learn_from_all_rows_by_inducing_inputs():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(500, 2))
    scores = np.column_stack([2 * np.sin(2 * x[:, 0]), 1.5 * x[:, 1], x[:, 0] ** 2 - 1])
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    exact = GaussianProcessClassifier().fit(x[:200], y[:200])
    sparse = GaussianProcessClassifier(n_inducing=80).fit(x[:200], y[:200])
    rows = np.arange(300)
    logs = [np.log(one.predict_proba(x[200:]))[rows, y[200:]] for one in (exact, sparse)]
    gain = logs[1] - logs[0]
    assert gain.mean() > -gain.std() / np.sqrt(300)
    assert_allclose(sparse.log_evidence_, exact.log_evidence_, atol=1.0)
    # No step of the search is left: the slope of evidence and prior is that of the prior.
    slope = sparse.log_evidence_at(gradient=True)[1]
    usual = (1.0 * SquaredExponential((1.0, 1.0)) + Constant()).placed(x[:200], BINARY_VARIANCE)
    gap = sparse.kernel_.log_parameters - usual.log_parameters
    spread = np.array([p.log_spread for p in usual.parameters])
    assert_allclose(slope, gap / spread**2, atol=0.1)


def test_several_classes_are_exact_with_settings_of_some_rows(monkeypatch):
    monkeypatch.setattr(gaussian_process_classifier, "LEARNING_ROWS", 100)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 2))
    y = np.digitize(np.sin(2 * x[:, 0]) + x[:, 1] + 0.5 * rng.normal(size=150), [-0.5, 0.5])
    kernel = 1.0 * SquaredExponential(1.0) + Constant()
    model = GaussianProcessClassifier(kernel).fit(x, y)
    assert model.method_ == "exact"
    assert len(model.posterior_.x) == 150
    known = GaussianProcessClassifier(model.kernel_.hold()).fit(x, y)
    new = rng.normal(size=(20, 2))
    assert_allclose(model.predict_proba(new), known.predict_proba(new), rtol=1e-9)
    data = model.data_
    rows = gaussian_process_classifier._spread_rows(data, int(100 / np.cbrt(3)))
    assert 66 <= len(rows) <= 72
    part = GaussianProcessClassifier(kernel).fit(data.x[rows], data.code[rows])
    assert_allclose(model.kernel_.log_parameters, part.kernel_.log_parameters, rtol=1e-9)


def test_more_classes_have_fewer_inducing_inputs(monkeypatch):
    monkeypatch.setattr(gaussian_process_classifier, "MOST_EXACT_CLASSES", 30)
    monkeypatch.setattr(gaussian_process_classifier, "MOST_WEIGHTS", 20)
    kernel = (1.0 * SquaredExponential(1.0)).hold()
    x, code = np.arange(50.0)[:, None], np.arange(50)
    sizes = [
        len(GaussianProcessClassifier(kernel).fit(x, code % k).posterior_.x) for k in (3, 6)
    ]
    assert sizes == [10, 4]


def test_white_noise_is_of_each_of_several_rows_with_the_same_inputs():
    x, y = np.array([[0.0], [0.0], [1.0]]), np.array([1, 1, 0])
    kernel = (SquaredExponential(1.0) + White(4.0)).hold()
    model = GaussianProcessClassifier(kernel).fit(x, y)
    rng = np.random.default_rng(0)
    functions = rng.multivariate_normal(np.zeros(3), kernel(x), size=200_000)
    shares = np.prod(special.expit(functions * (2 * y - 1)), axis=1)
    error = shares.std() / shares.mean() / np.sqrt(len(shares))
    assert_allclose(model.log_evidence_, np.log(shares.mean()), atol=4 * error)
    once = GaussianProcessClassifier(kernel).fit(x[1:], y[1:], [2.0, 1.0])
    assert_allclose(once.log_evidence_, model.log_evidence_)
    with pytest.raises(ValueError, match="whole number of copies of each row"):
        GaussianProcessClassifier(kernel).fit(x[1:], y[1:], [1.5, 1.0])
