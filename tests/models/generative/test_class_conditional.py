import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.naive_bayes import GaussianNB

from credo.evaluation import refit_folds
from credo.families import (
    NormalInverseGamma,
    NormalInverseWishart,
    SphericalNormalInverseGamma,
    TiedNormalInverseWishart,
)
from credo.inference import ConvergenceWarning
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.models.generative.class_conditional import GaussianClassConditional
from credo.models.generative.class_setting import SingularClassWarning

COVARIANCES = ("full", "tied", "diagonal", "spherical")
SMALL_X = np.array([[0.0, 0], [2, 0], [1, 2], [4, 4], [6, 4], [5, 7]])
SMALL_Y = np.array([1, 1, 1, 2, 2, 2])
PRIORS = {
    "full": NormalInverseWishart([2.0, 1.0], 0.5, 4.5, [[2.0, 0.3], [0.3, 1.0]]),
    "tied": TiedNormalInverseWishart(np.ones((2, 2)), 0.5, 4.5, [[2.0, 0.3], [0.3, 1.0]]),
    "diagonal": NormalInverseGamma([2.0, 1.0], 0.5, 2.0, [2.0, 1.0]),
    "spherical": SphericalNormalInverseGamma([2.0, 1.0], 0.5, 2.0, 1.5),
}


def two_classes(n=120, seed=0, k=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    spread = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.7]])
    x = rng.normal(size=(n, 3)) @ spread + y[:, None] * [1.5, 0.5, -0.4]
    return x, y


def with_gaps(x, share=0.2, seed=1):
    holes = np.random.default_rng(seed).random(x.shape) < share
    return np.where(holes, np.nan, x)


def without_labels(y, share=0.5, seed=2):
    hidden = np.random.default_rng(seed).random(len(y)) < share
    return np.where(hidden, np.nan, y)


def odds(model, row):
    first, second = model.predict_log_proba([row])[0]
    return first - second


def test_tied_covariance_gives_the_worked_linear_boundary():
    model = GaussianClassConditional("tied", "ml").fit(SMALL_X, SMALL_Y)
    # The worked numbers speak of class 1 against class 2; scikit-learn's sign is the other.
    assert_allclose(model.coef_, [[6.0, 3.0]])
    assert_allclose(model.intercept_, [-26.5])
    assert_allclose(odds(model, [3.0, 2.0]), 2.5)
    assert_allclose(model.predict_proba([[3.0, 2.0]])[0, 0], 0.9241418200, atol=5e-11)


def test_full_covariance_gives_the_worked_quadratic_boundary():
    model = GaussianClassConditional("full", "ml").fit(SMALL_X, SMALL_Y)
    assert_allclose(odds(model, [3.0, 2.0]), 1.6554651081, atol=5e-11)
    assert_allclose(model.predict_proba([[3.0, 2.0]])[0, 0], 0.8396283081, atol=5e-11)
    assert_allclose(model.joint_.density.covariance()[0], np.diag([2 / 3, 8 / 9]), atol=1e-12)
    assert_allclose(model.joint_.density.covariance()[1], np.diag([2 / 3, 2.0]), atol=1e-12)


def test_tied_maximum_likelihood_equals_linear_discriminant_analysis():
    x, y = two_classes(k=3)
    model = GaussianClassConditional("tied", "ml").fit(x, y)
    peer = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(x, y)
    assert_allclose(model.joint_.density.covariance()[0], peer.covariance_, rtol=1e-10)
    assert_allclose(model.predict_proba(x), peer.predict_proba(x), rtol=1e-8)
    assert_allclose(
        special.softmax(x @ model.coef_.T + model.intercept_, axis=1), peer.predict_proba(x)
    )


def test_full_maximum_likelihood_equals_quadratic_discriminant_analysis():
    x, y = two_classes(k=3)
    proba = GaussianClassConditional("full", "ml").fit(x, y).predict_proba(x)
    peer = QuadraticDiscriminantAnalysis(solver="eigen").fit(x, y)
    assert_allclose(proba, peer.predict_proba(x), rtol=1e-8)


def test_diagonal_maximum_likelihood_equals_gaussian_naive_bayes():
    x, y = two_classes(k=3)
    model = GaussianClassConditional("diagonal", "ml").fit(x, y)
    peer = GaussianNB(var_smoothing=0.0).fit(x, y)
    assert_allclose(model.predict_proba(x), peer.predict_proba(x), rtol=1e-8)


def test_spherical_maximum_likelihood_is_the_brute_force_formula():
    x, y = two_classes()
    proba = GaussianClassConditional("spherical", "ml").fit(x, y).predict_proba(x)
    logs = []
    for c in (0, 1):
        rows = x[y == c]
        variance = ((rows - rows.mean(axis=0)) ** 2).mean()
        normal = stats.multivariate_normal(rows.mean(axis=0), variance * np.eye(3))
        logs.append(normal.logpdf(x) + np.log(np.mean(y == c)))
    assert_allclose(proba, special.softmax(np.array(logs).T, axis=1), rtol=1e-9)


def test_known_class_probabilities_multiply_the_odds():
    even = GaussianClassConditional(class_probability=[0.5, 0.5]).fit(SMALL_X, SMALL_Y)
    rare = GaussianClassConditional(class_probability=[0.05, 0.95]).fit(SMALL_X, SMALL_Y)
    change = odds(rare, [2.5, 2.0]) - odds(even, [2.5, 2.0])
    assert_allclose(change, np.log(0.05 / 0.95))
    point = GaussianClassConditional("full", "ml", class_probability=[0.05, 0.95])
    assert_allclose(
        odds(point.fit(SMALL_X, SMALL_Y), [3.0, 2.0]), 1.6554651081 + np.log(0.05 / 0.95)
    )


def test_pseudo_counts_smooth_class_frequencies():
    y = [1, 1, 1, 1, 2, 2]
    model = GaussianClassConditional(pseudo_count=2.0).fit(SMALL_X, y)
    assert_allclose(model.predict_proba([[np.nan, np.nan]]), [[0.6, 0.4]])
    assert_allclose(model.class_count_, [4.0, 2.0])


def sequential_log_density(covariance, x, y):
    """Multiply the predictive densities of class and row, one row after another."""
    total, model = 0.0, GaussianClassConditional(covariance, prior=PRIORS[covariance])
    for i in range(len(x)):
        chunk = model._first_rows(x[:i], y[:i], None, classes=[0, 1]) if i else None
        setting = model._setting
        belief = setting.belief(None, 2)
        if chunk is not None:
            belief = belief.update(setting.summary(chunk))
        total += belief.predictive().log_joint(x[i : i + 1])[0, y[i]]
    return total


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_evidence_is_the_product_of_sequential_predictives(covariance):
    x, y = two_classes(9)
    x = x[:, :2]
    model = GaussianClassConditional(covariance, prior=PRIORS[covariance]).fit(x, y)
    assert_allclose(model.log_evidence_, sequential_log_density(covariance, x, y))
    assert model.evidence_method_ == "exact"
    assert model.evidence_of_ == "X and y"


def test_evidence_of_a_full_covariance_is_that_of_sequential_student_t_densities():
    x, y = two_classes(9)
    x = x[:, :2]
    total = 0.0
    for i in range(len(x)):
        before = x[:i][y[:i] == y[i]]
        n = len(before)
        center = before.mean(axis=0) if n else np.zeros(2)
        strength, df = 0.5 + n, 4.5 + n
        loc = (0.5 * np.array([2.0, 1.0]) + n * center) / strength
        gap = center - [2.0, 1.0]
        matrix = np.array([[2.0, 0.3], [0.3, 1.0]]) + (before - center).T @ (before - center)
        matrix = matrix + 0.5 * n / strength * np.outer(gap, gap)
        shape = matrix * (strength + 1) / (strength * (df - 1))
        total += stats.multivariate_t(loc, shape, df - 1).logpdf(x[i])
        total += np.log((1 + n) / (2 + i))
    model = GaussianClassConditional(prior=PRIORS["full"]).fit(x, y)
    assert_allclose(model.log_evidence_, total)


@pytest.mark.parametrize("inference", ["exact", "map", "ml"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_missing_value_is_integrated_out_at_prediction(covariance, inference):
    x, y = two_classes(40)
    model = GaussianClassConditional(covariance, inference).fit(x[:, :2], y)

    def joint(t, c):
        return np.exp(model.joint_.log_joint(np.array([[0.7, t]]))[0, c])

    mass = [integrate.quad(joint, -np.inf, np.inf, args=(c,))[0] for c in (0, 1)]
    gap = [[0.7, np.nan]]
    assert_allclose(model.log_prob(gap), np.log(sum(mass)), rtol=1e-6)
    assert_allclose(model.predict_proba(gap), [np.array(mass) / sum(mass)], rtol=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_rows_with_different_gaps_are_predicted_as_each_alone(covariance):
    x, y = two_classes(60)
    model = GaussianClassConditional(covariance).fit(x, y)
    rows = with_gaps(x, 0.5)
    alone = np.concatenate([model.predict_log_proba(row[None]) for row in rows])
    assert_allclose(model.predict_log_proba(rows), alone, atol=1e-10)


def test_row_without_any_value_has_the_class_frequencies():
    x, _ = two_classes(60)
    model = GaussianClassConditional("full", "ml").fit(x, np.arange(60) % 3 == 0)
    nothing = np.full((1, 3), np.nan)
    assert_allclose(model.predict_proba(nothing), [[2 / 3, 1 / 3]])
    assert_allclose(model.log_prob(nothing), 0.0, atol=1e-12)


@pytest.mark.parametrize("inference", ["exact", "ml"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_expectation_maximization_never_lowers_its_objective(covariance, inference):
    x, y = two_classes(60)
    model = GaussianClassConditional(covariance, inference)
    model.fit(with_gaps(x), without_labels(y, 0.7))
    objective = np.array([info.objective for info in model.inference_.trace])
    assert len(objective) > 3
    assert np.diff(objective).min() > -1e-9
    assert objective[-1] > objective[0] + 0.01
    assert model.evidence_method_ == ("bound" if inference == "exact" else "none")


def test_maximum_likelihood_with_gaps_is_stationary():
    x, y = two_classes(80)
    gaps = with_gaps(x)
    model = GaussianClassConditional("tied", "ml").fit(gaps, y)
    density = model.joint_.density

    def log_likelihood(move):
        moved = type(density)(density.loc + move, density.form.dense())
        joint = type(model.joint_)(model.joint_.log_weight, moved)
        return joint.log_joint(gaps)[np.arange(80), y].sum()

    for place in product(range(2), range(3)):
        step = np.zeros((2, 3))
        step[place] = 1e-4
        slope = (log_likelihood(step) - log_likelihood(-step)) / 2e-4
        assert abs(slope) < 1e-3
        assert log_likelihood(100 * step) < log_likelihood(0 * step)


def test_bound_with_a_missing_value_is_just_below_the_integrated_evidence():
    x, y = two_classes(12)
    x = x[:, :2].copy()

    def evidence(t):
        x[3, 1] = t
        fitted = GaussianClassConditional("full", prior=PRIORS["full"]).fit(x, y)
        return np.exp(fitted.log_evidence_)

    exact = np.log(integrate.quad(evidence, -30, 30, points=[-2, 0, 2], limit=100)[0])
    x[3, 1] = np.nan
    model = GaussianClassConditional("full", prior=PRIORS["full"]).fit(x, y)
    assert exact - 0.3 < model.log_evidence_ < exact
    assert model.evidence_method_ == "bound"


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_bound_without_some_labels_is_just_below_the_summed_evidence(covariance):
    x, y = two_classes(14)
    x = x[:, :2] + 4 * y[:, None]
    settings = {"covariance": covariance, "prior": PRIORS[covariance]}
    parts = []
    for labels in product((0, 1), repeat=4):
        filled = np.concatenate([y[:10], labels])
        parts.append(GaussianClassConditional(**settings).fit(x, filled).log_evidence_)
    exact = special.logsumexp(parts)
    hidden = np.concatenate([y[:10], [np.nan] * 4])
    model = GaussianClassConditional(**settings).fit(x, hidden)
    assert exact - 0.5 < model.log_evidence_ < exact


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
def test_missing_value_equals_absent_value_where_features_are_independent(covariance):
    x, y = two_classes(40)
    x = x[:, :2].copy()
    x[5:11, 1] = np.nan
    model = GaussianClassConditional(covariance, prior=PRIORS[covariance]).fit(x, y)
    assert model.evidence_method_ == "exact"
    total, belief = 0.0, model._setting.belief(None, 2)
    for row, label in zip(x, y, strict=True):
        total += belief.predictive().log_joint(row[None])[0, label]
        chunk = model._rows(row[None], np.array([label]), np.ones(1))
        belief = belief.update(model._setting.summary(chunk))
    assert_allclose(model.log_evidence_, total)


def test_filled_in_values_beat_dropped_rows_on_average():
    scores = []
    for seed in range(20):
        x, y = two_classes(1000, seed=seed)
        gaps = with_gaps(x[:60], 0.3, seed=100 + seed)
        complete = ~np.isnan(gaps).any(axis=1)
        filled = GaussianClassConditional().fit(gaps, y[:60])
        dropped = GaussianClassConditional().fit(gaps[complete], y[:60][complete])
        scores.append([m.predict_dist(x).log_prob(y).mean() for m in (filled, dropped)])
    gain = np.subtract(*np.transpose(scores))
    assert gain.mean() > 3 * gain.std() / np.sqrt(20)


@pytest.mark.parametrize("inference", ["exact", "map", "ml"])
def test_unlabeled_rows_improve_predictions(inference):
    x, y = two_classes(3000, seed=3)
    x = x * [1.0, 1.0, 0.5] + 1.5 * y[:, None]
    labeled = np.where(np.arange(3000) < 10, y, np.nan)
    few = GaussianClassConditional("tied", inference).fit(x[:10], y[:10])
    many = GaussianClassConditional("tied", inference).fit(x[:1500], labeled[:1500])
    test = slice(1500, None)
    score = [m.predict_dist(x[test]).log_prob(y[test]).mean() for m in (many, few)]
    accuracy = [m.score(x[test], y[test]) for m in (many, few)]
    assert score[0] > score[1] + 0.02
    assert accuracy[0] > accuracy[1]


def test_unlabeled_rows_may_be_none_or_nan():
    x, y = two_classes(40)
    hidden = without_labels(y)
    names = [None if np.isnan(v) else ("no", "yes")[int(v)] for v in hidden]
    by_name = GaussianClassConditional().fit(x, np.array(names, dtype=object))
    by_number = GaussianClassConditional().fit(x, hidden)
    assert by_name.classes_.tolist() == ["no", "yes"]
    assert_array_equal(by_name.predict_proba(x), by_number.predict_proba(x))


def drawn_forecasts(inference, n_sets, seed):
    """Return forecasts of class 1 and its truth, one per data set drawn from the prior."""
    rng = np.random.default_rng(seed)
    prior = NormalInverseWishart([0.0, 0.0], 0.3, 5.0, np.eye(2))
    model = GaussianClassConditional(
        "full", inference, class_probability=[0.5, 0.5], prior=prior
    )
    forecast, truth = np.empty(n_sets), np.empty(n_sets)
    for i in range(n_sets):
        classes = [prior.sample(rng) for _ in range(2)]
        rows = np.concatenate([c.sample(rng, 4) for c in classes])
        truth[i] = rng.integers(2)
        row = classes[int(truth[i])].sample(rng)[None]
        codes = np.repeat([0, 1], 4)
        model.classes_ = np.array([0, 1])
        summary = model._setting.summary(model._rows(rows, codes, np.ones(8)))
        found = model._setting.infer(summary, model.classes_).posterior
        forecast[i] = np.exp(model._setting.joint(found).log_posterior(row)[0, 1])
    return forecast, truth


def reliability(forecast, truth):
    """Return the chi-square of forecasts against frequencies in five equal bins."""
    order = np.array_split(np.argsort(forecast), 5)
    return sum(
        (truth[b] - forecast[b]).sum() ** 2 / (1e-3 + forecast[b] * (1 - forecast[b])).sum()
        for b in order
    )


def test_integrated_probabilities_are_calibrated_and_plug_in_ones_are_not():
    # The chi-square has 5 degrees of freedom; 20.5 is exceeded once in a thousand times.
    assert reliability(*drawn_forecasts("exact", 500, seed=7)) < 20.5
    assert reliability(*drawn_forecasts("ml", 400, seed=7)) > 40


def test_integrated_probabilities_are_less_extreme_than_plug_in():
    x, y = two_classes(16)
    exact = GaussianClassConditional().fit(x, y).predict_proba(x).max(axis=1)
    plug_in = GaussianClassConditional("full", "ml").fit(x, y).predict_proba(x).max(axis=1)
    assert exact.mean() < plug_in.mean() - 0.01


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_names_and_order_of_classes_do_not_matter(covariance):
    x, y = two_classes(60, k=3)
    plain = GaussianClassConditional(covariance).fit(x, y)
    turned = GaussianClassConditional(covariance).fit(x, np.array(["c", "b", "a"])[y])
    assert_allclose(turned.predict_proba(x)[:, ::-1], plain.predict_proba(x))
    assert_allclose(turned.log_evidence_, plain.log_evidence_)


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_evidence_has_the_units_of_a_density(covariance):
    x, y = two_classes(60)
    plain = GaussianClassConditional(covariance).fit(x, y)
    scaled = GaussianClassConditional(covariance).fit(x * [10.0, 1.0, 1e4] + 5.0, y)
    assert_allclose(scaled.log_evidence_, plain.log_evidence_ - 60 * np.log(1e5))


def test_bound_has_the_units_of_a_density():
    x, y = two_classes(60)
    gaps, hidden = with_gaps(x), without_labels(y)
    scale = np.array([10.0, 1.0, 1e4])
    shift = (np.log(scale) * (~np.isnan(gaps)).sum(axis=0)).sum()
    plain = GaussianClassConditional().fit(gaps, hidden)
    scaled = GaussianClassConditional().fit(gaps * scale + 5.0, hidden)
    assert_allclose(scaled.log_evidence_, plain.log_evidence_ - shift)


def test_weight_two_is_the_row_twice_also_in_the_bound():
    x, y = two_classes(40)
    gaps, hidden = with_gaps(x), without_labels(y)
    weight = np.arange(40) % 3
    weighted = GaussianClassConditional().fit(gaps, hidden, sample_weight=weight)
    rows = np.repeat(np.arange(40), weight)
    repeated = GaussianClassConditional().fit(gaps[rows], hidden[rows])
    assert_allclose(weighted.log_evidence_, repeated.log_evidence_)
    assert_allclose(weighted.predict_proba(gaps), repeated.predict_proba(gaps), rtol=1e-8)


def test_sampling_then_fitting_recovers_the_parameters():
    x, y = two_classes(200)
    model = GaussianClassConditional("full", "ml").fit(x, np.array(["no", "yes"])[y])
    means = [x[y == k].mean(axis=0) for k in range(2)]
    assert_allclose(model.joint_.density.loc, means)
    rows, labels = model.sample(40_000, random_state=0)
    again = GaussianClassConditional("full", "ml").fit(rows, labels)
    assert_allclose(again.joint_.density.loc, model.joint_.density.loc, atol=0.03)
    assert_allclose(
        again.joint_.density.covariance(), model.joint_.density.covariance(), atol=0.05
    )
    assert_allclose(again.class_count_, 20_000, atol=500)
    assert_array_equal(rows, model.sample(40_000, random_state=0)[0])


def test_unusual_rows_have_low_density():
    x, y = two_classes(300)
    model = GaussianClassConditional().fit(x, y)
    usual = model.log_prob(x)
    odd = model.log_prob([[8.0, -8.0, 8.0], [1.5, -2.5, 0.0]])
    assert odd[0] < usual.min() - 5
    assert odd[1] < np.quantile(usual, 0.05)


def test_density_integrates_to_one():
    x, y = two_classes(30)
    model = GaussianClassConditional("full", "map").fit(x[:, :2], y)
    grid = np.linspace(-12, 14, 400)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    mass = np.exp(model.log_prob(points)).sum() * (grid[1] - grid[0]) ** 2
    assert_allclose(mass, 1.0, rtol=1e-3)


@pytest.mark.parametrize("has_gaps", [False, True])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_folds_from_statistics_equal_fits_to_the_other_rows(covariance, has_gaps):
    x, y = two_classes(60)
    rows, labels = (with_gaps(x), without_labels(y, 0.2)) if has_gaps else (x, y)
    fold = np.arange(60) % 3
    model = GaussianClassConditional(covariance)
    parts = model.summarize_groups(rows, labels, fold, 3)
    found = model.fit_statistics(parts[0] + parts[2]).predict_proba(rows)
    alone = GaussianClassConditional(covariance).fit(rows[fold != 1], labels[fold != 1])
    assert_allclose(found, alone.predict_proba(rows), rtol=1e-8)


def test_cross_validation_uses_the_statistics():
    x, y = two_classes(60)
    fold = np.arange(60) % 3
    models = refit_folds(GaussianClassConditional(), x, y, fold)
    alone = GaussianClassConditional().fit(x[fold != 2], y[fold != 2])
    assert_allclose(models[2].predict_proba(x), alone.predict_proba(x), rtol=1e-9)


def test_forgetting_a_chunk_undoes_it():
    x, y = two_classes(60)
    model = GaussianClassConditional()
    first, second = model.summarize_groups(x, y, np.arange(60) // 30, 2)
    found = model.fit_statistics(first + second - second).predict_proba(x)
    assert_allclose(found, GaussianClassConditional().fit(x[:30], y[:30]).predict_proba(x))


def test_a_class_of_one_row_is_learned_with_a_prior_and_refused_without():
    x, y = two_classes(41)
    labels = np.where(np.arange(41) == 40, "rare", np.array(["a", "b"])[y])
    for inference in ("exact", "map"):
        proba = GaussianClassConditional(inference=inference).fit(x, labels).predict_proba(x)
        assert np.isfinite(proba).all()
    lack = r"more than n_features = 3 rows.*'rare'.*'exact'"
    with pytest.raises(ValueError, match=lack):
        GaussianClassConditional(inference="ml", variance_floor=0.0).fit(x, labels)
    with pytest.warns(SingularClassWarning, match=lack):
        least = GaussianClassConditional(inference="ml").fit(x, labels)
    same = GaussianClassConditional(inference="ml", variance_floor=1e-9).fit(x, labels)
    assert_array_equal(least.predict_proba(x), same.predict_proba(x))
    floor = GaussianClassConditional(inference="ml", variance_floor=0.1).fit(x, labels)
    assert np.isfinite(floor.predict_proba(x)).all()


def test_nothing_is_added_to_the_variances_of_classes_that_have_an_estimate():
    x, y = two_classes(60)
    found = GaussianClassConditional(inference="ml").fit(x, y).predict_proba(x)
    none = GaussianClassConditional(inference="ml", variance_floor=0.0).fit(x, y)
    assert_array_equal(found, none.predict_proba(x))


def test_a_class_without_rows_is_refused_by_maximum_likelihood_whatever_the_floor():
    x, y = two_classes(60)
    model = GaussianClassConditional(inference="ml")
    parts = model.summarize_groups(x, y, y, 2)
    with pytest.raises(ValueError, match="in class 1"):
        model.fit_statistics(parts[0])


def test_a_repeated_column_is_refused_by_maximum_likelihood_only():
    x, y = two_classes(60)
    twice = np.column_stack([x, x[:, 0]])
    with pytest.raises(ValueError, match="repeated columns"):
        GaussianClassConditional("tied", "ml", variance_floor=0.0).fit(twice, y)
    with pytest.warns(SingularClassWarning, match="repeated columns"):
        assert GaussianClassConditional("tied", "ml").fit(twice, y).score(twice, y) > 0.7
    assert GaussianClassConditional("tied").fit(twice, y).score(twice, y) > 0.7


def test_all_labels_missing_is_refused():
    x, _ = two_classes(10)
    with pytest.raises(ValueError, match="at least 2 classes"):
        GaussianClassConditional().fit(x, np.full(10, np.nan))
    with pytest.raises(ValueError, match="at least 2 classes"):
        GaussianClassConditional().fit(x, np.array([None] * 9 + ["a"], dtype=object))


def test_rows_with_gaps_cannot_be_streamed():
    x, y = two_classes(40)
    with pytest.raises(ValueError, match="Call fit on all rows at once"):
        GaussianClassConditional().partial_fit(with_gaps(x), y)
    with pytest.raises(ValueError, match="found rows with gaps"):
        GaussianClassConditional("diagonal").fit(x, y).partial_fit(x, without_labels(y))
    fitted = GaussianClassConditional().fit(with_gaps(x), y)
    with pytest.raises(ValueError, match="found rows with gaps"):
        fitted.partial_fit(x, y)


def test_diagonal_covariance_streams_rows_with_gaps():
    x, y = two_classes(40)
    gaps = with_gaps(x)
    stream = GaussianClassConditional("diagonal").partial_fit(gaps[:20], y[:20])
    stream.partial_fit(gaps[20:], y[20:])
    batch = GaussianClassConditional("diagonal").fit(gaps, y)
    assert_allclose(stream.predict_proba(gaps), batch.predict_proba(gaps))
    assert_allclose(stream.log_evidence_, batch.log_evidence_)


def test_maximum_likelihood_waits_for_enough_rows():
    x, y = two_classes(40)
    stream = GaussianClassConditional(inference="ml", variance_floor=0.0)
    stream.partial_fit(x[:4], y[:4])
    assert not hasattr(stream, "joint_")
    stream.partial_fit(x[4:], y[4:])
    batch = GaussianClassConditional(inference="ml").fit(x, y)
    assert_allclose(stream.predict_proba(x), batch.predict_proba(x), rtol=1e-9)


def test_a_short_run_says_so():
    x, y = two_classes(40)
    model = GaussianClassConditional(inference=ExpectationMaximization(max_steps=1))
    with pytest.warns(ConvergenceWarning, match="Raise the limit"):
        model.fit(with_gaps(x), y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"covariance": "round"}, ValueError, "covariance must be one of"),
        ({"inference": "laplace"}, ValueError, "inference must be one of"),
        ({"pseudo_count": 0}, ValueError, "pseudo_count must be a number that is positive"),
        ({"variance_floor": -1.0}, ValueError, "variance_floor must be"),
        ({"class_probability": [1.0]}, ValueError, "one number for each of 2 classes"),
        ({"class_probability": [0.5, 0.6]}, ValueError, "probability must"),
        ({"prior": PRIORS["tied"]}, TypeError, "prior must be None or a NormalInverseWishart"),
        ({"inference": 3}, ValueError, "inference must be one of"),
    ],
)
def test_senseless_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        GaussianClassConditional(**settings).fit(SMALL_X, SMALL_Y)


def test_weights_exist_only_where_the_boundary_is_linear():
    model = GaussianClassConditional("full", "ml").fit(SMALL_X, SMALL_Y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="covariance='tied'"):
        _ = model.intercept_


def test_a_row_too_far_off_to_be_squared_is_refused():
    model = GaussianClassConditional("full", "ml").fit(SMALL_X, SMALL_Y)
    assert_allclose(model.predict_proba([[1e100, 0.0]]).sum(), 1.0)
    with pytest.raises(ValueError, match="number 1, that is further off"):
        model.predict([[1.0, 1.0], [1e200, 0.0]])


@pytest.mark.parametrize("inference", ["exact", "map", "ml"])
@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_units_of_columns_do_not_matter_with_gaps(covariance, inference):
    x, y = two_classes(60)
    gaps, hidden, scale = with_gaps(x), without_labels(y), np.array([1e-9, 1e9, 1.0])
    plain = GaussianClassConditional(covariance, inference).fit(gaps, hidden)
    scaled = GaussianClassConditional(covariance, inference).fit(gaps * scale, hidden)
    assert_allclose(scaled.predict_proba(x * scale), plain.predict_proba(x), atol=1e-9)


CONSTANTS = (0.1, 2.5, 3.3, 7.7, 0.0, 1e15)


def unequal_classes(n=300):
    rng = np.random.default_rng(5)
    y = (rng.uniform(size=n) < 0.3).astype(np.intp)
    return rng.normal(size=(n, 3)) + 0.9 * y[:, None], y


@pytest.mark.parametrize("inference", ["exact", "map", "ml"])
@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
@pytest.mark.parametrize("value", CONSTANTS)
def test_a_constant_column_says_nothing_about_the_class(covariance, inference, value):
    x, y = unequal_classes()
    wide = np.column_stack([x, np.full((len(x), 2), value)])
    plain = GaussianClassConditional(covariance, inference).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularClassWarning)
        model = GaussianClassConditional(covariance, inference).fit(wide, y)
    slack = 1e-9 if inference == "exact" or covariance == "diagonal" else 0.03
    expected = plain.predict_proba(x)
    assert_allclose(model.predict_proba(wide), expected, atol=slack)
    wide[:, 4] += 5.0 * max(1.0, value)
    assert_allclose(model.predict_proba(wide), expected, atol=slack)
    assert model.constant_.tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal", "spherical"])
def test_the_evidence_of_a_constant_column_does_not_hang_on_rounding(covariance):
    x, y = unequal_classes(60)
    plain = GaussianClassConditional(covariance).fit(x, y).log_evidence_

    def gain(value):
        wide = np.column_stack([x, np.full(len(x), value)])
        return GaussianClassConditional(covariance).fit(wide, y).log_evidence_ - plain

    if covariance == "spherical":
        assert abs(gain(7.7) - gain(2.0)) < 1e-6
        return
    # A density carries the inverse of the unit once for each row.
    assert_allclose(gain(0.1) + 60 * np.log(0.1), gain(7.7) + 60 * np.log(7.7), atol=1e-6)
    assert_allclose(gain(1.0), gain(2.0) + 60 * np.log(2.0), atol=1e-6)
    assert abs(gain(1.0)) < 2 * 60


@pytest.mark.parametrize("covariance", ["full", "tied", "diagonal"])
def test_a_column_that_hardly_varies_counts_in_any_unit(covariance):
    x, y = unequal_classes()
    slight = x.copy()
    slight[:, 2] = 1e-10 * (1.0 + 1e-5 * x[:, 2])
    expected = GaussianClassConditional(covariance).fit(x, y).predict_proba(x)
    model = GaussianClassConditional(covariance).fit(slight, y)
    assert_allclose(model.predict_proba(slight), expected, atol=1e-6)


def test_a_constant_column_counts_under_a_prior_that_knows_its_unit():
    x, y = unequal_classes()
    wide = np.column_stack([x[:, 0], np.full(len(x), 3.3)])
    model = GaussianClassConditional("full", prior=PRIORS["full"]).fit(wide, y)
    assert not model.constant_.any()


def test_a_constant_column_of_rows_with_gaps_says_nothing():
    x, y = unequal_classes(120)
    gaps = with_gaps(x)
    wide = np.column_stack([gaps, np.full(len(x), 0.1)])
    plain = GaussianClassConditional().fit(gaps, y).predict_proba(gaps)
    model = GaussianClassConditional().fit(wide, y)
    assert_allclose(model.predict_proba(wide), plain, atol=0.01)
    wide[:, 3] = 5.0
    assert_allclose(model.predict_proba(wide), plain, atol=0.01)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_posterior_draws_center_on_the_expected_parameters(covariance):
    x, y = unequal_classes(150)
    model = GaussianClassConditional(covariance).fit(x, y)
    draws = model.sample_posterior(4000, random_state=3)
    assert draws["class_probability"].shape == (4000, 2)
    assert draws["mean"].shape == (4000, 2, 3)
    assert draws["covariance"].shape == (4000, 2, 3, 3)
    counts = model.class_count_ + 1.0
    assert_allclose(draws["class_probability"].mean(axis=0), counts / 152, atol=0.01)
    assert_allclose(draws["mean"].mean(axis=0), model.posterior_.rows.location, atol=0.02)
    expected = model.posterior_.rows.mean()
    matrix = (
        np.stack([np.diag(v) for v in expected.variance()])
        if covariance == "diagonal"
        else np.broadcast_to(expected.covariance(), (2, 3, 3))
    )
    assert_allclose(draws["covariance"].mean(axis=0), matrix, atol=0.03)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_posterior_draws_average_to_the_predictive_density(covariance):
    x, y = unequal_classes(30)
    model = GaussianClassConditional(covariance, class_probability=[0.6, 0.4]).fit(x, y)
    draws = model.sample_posterior(20_000, random_state=1)
    place = np.array([0.3, -0.2, 0.5])
    shift = (place - draws["mean"])[..., None]
    squares = (shift * np.linalg.solve(draws["covariance"], shift)).sum(axis=(-1, -2))
    log_det = np.linalg.slogdet(2 * np.pi * draws["covariance"])[1]
    density = np.exp(-0.5 * (squares + log_det)).mean(axis=0)
    expected = np.exp(model.joint_.log_joint(place[None])[0]) / [0.6, 0.4]
    assert_allclose(density, expected, rtol=0.03)
    assert_allclose(draws["class_probability"], [[0.6, 0.4]] * 20_000)


def test_there_are_no_posterior_draws_of_maximum_likelihood():
    x, y = unequal_classes(60)
    with pytest.raises(ValueError, match="Use inference='exact'"):
        GaussianClassConditional("tied", "ml").fit(x, y).sample_posterior(5)


def test_diagnosis_tells_enough_rows_from_too_few():
    x, y = two_classes(60)
    sound = GaussianClassConditional().fit(x, y).diagnose()
    assert sound.is_sound
    assert sound.numbers["rows_of_rarest_class"] == 30
    # Three means and six products of a class, for three columns.
    assert sound.numbers["parameters_per_column"] == 6
    assert GaussianClassConditional().fit(x[:12], y[:12]).diagnose().is_sound
    few = GaussianClassConditional().fit(x[:11], y[:11]).diagnose()
    assert not few.is_sound
    assert "rarest class" in str(few)
    assert GaussianClassConditional("diagonal").fit(x[:11], y[:11]).diagnose().is_sound
    tied = GaussianClassConditional("tied")
    assert tied.fit(x[:8], y[:8]).diagnose().is_sound
    assert not tied.fit(x[:7], y[:7]).diagnose().is_sound


def test_diagnosis_tells_that_expectation_maximization_stopped():
    x, y = two_classes(60)
    model = GaussianClassConditional(inference=ExpectationMaximization(max_steps=1))
    with pytest.warns(ConvergenceWarning):
        model.fit(with_gaps(x), y)
    assert "stopped before" in str(model.diagnose())
    assert GaussianClassConditional().fit(with_gaps(x), y).diagnose().is_sound


def test_an_engine_stands_for_exact_inference():
    x, y = two_classes(60)
    model = GaussianClassConditional(inference=ExpectationMaximization(max_steps=500))
    expected = GaussianClassConditional().fit(x, y)
    assert_array_equal(model.fit(x, y).predict_proba(x), expected.predict_proba(x))
    gaps = with_gaps(x)
    expected.fit(gaps, y)
    assert_array_equal(model.fit(gaps, y).predict_proba(gaps), expected.predict_proba(gaps))


def test_minus_one_beside_classes_from_zero_on_warns_that_it_is_learned_as_a_class():
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = np.repeat([-1, 0, 1], 10)
    with pytest.warns(UserWarning, match="found -1 beside classes from 0 on"):
        model = GaussianClassConditional().fit(x, y)
    assert model.classes_.tolist() == [-1, 0, 1]
    for named in (np.where(y == -1, np.nan, y), np.sign(y + 0.5), y - 1, y.astype(str)):
        GaussianClassConditional().fit(x, named)


def test_an_unfitted_model_shows_its_prior():
    prior = NormalInverseWishart([1.0, 2.0], 1.0, 5.0, np.eye(2))
    joint = GaussianClassConditional(prior=prior).prior_predictive(3)
    assert_allclose(np.exp(joint.log_weight), 1 / 3)
    x = np.array([[0.5, 1.0]])
    assert_allclose(joint.log_marginal(x), prior.predictive().log_prob(x))
    rows, _ = joint.sample(np.random.default_rng(0), 20_000)
    assert_allclose(rows.mean(axis=0), [1.0, 2.0], atol=0.05)
    with pytest.raises(ValueError, match="prior_predictive needs a prior; found prior=None"):
        GaussianClassConditional().prior_predictive(2)
