import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from credo.distributions import Categorical, Gamma, Normal, Predictive
from credo.evaluation import (
    cross_validate,
    fold_labels,
    leave_one_out_labels,
    refit_folds,
    stratified_fold_labels,
)
from credo.families.linear import LinearStatistics, Rows
from credo.features import ContinuedBasis, PolynomialBasis, RadialBasis, SplineBasis
from credo.models import GaussianClassConditional, LinearRegression, ModelAverage
from credo.models import LogisticRegression as CredoLogistic
from credo.models.contract.inputs import design
from credo.validation import out_of_fold_normal


class MeanRegressor(RegressorMixin, BaseEstimator):
    """A regressor without additive statistics: it predicts the mean and spread of y."""

    def fit(self, X, y, sample_weight=None):
        self.n_rows_ = len(X)
        self.loc_ = np.average(y, weights=sample_weight)
        return self

    def predict_dist(self, X):
        n = len(X)
        return Predictive(Normal(np.full(n, self.loc_), 1.0), np.zeros(n), np.ones(n))


def rows(n, d, n_outputs=None):
    """Return columns of many scales, and outcomes with enough noise for it to be learned."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(n, d))
    y = z @ rng.normal(size=(d, n_outputs or 1)) / np.sqrt(d)
    y = y + rng.normal(size=(n, n_outputs or 1))
    X = z * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    return X, (y if n_outputs else y[:, 0])


def naive(estimator, X, y, labels, sample_weight=None):
    """Refit to the other folds, one fold after the other."""
    log_score, mean = np.empty(len(y)), np.empty(y.shape)
    for i in np.unique(labels):
        inside, kept = labels == i, labels != i
        weight = None if sample_weight is None else sample_weight[kept]
        model = clone(estimator).fit(X[kept], y[kept], sample_weight=weight)
        predictive = model.predict_dist(X[inside])
        entries = predictive.log_prob(y[inside])
        log_score[inside] = entries.reshape(len(entries), -1).sum(axis=1)
        mean[inside] = predictive.mean()
    return log_score, mean


ESTIMATORS = {
    "evidence": LinearRegression(),
    "ridge": LinearRegression(inference="map", weight_precision=0.3, noise_precision=2.0),
    "least squares": LinearRegression(inference="ml"),
    "student": LinearRegression(weight_precision=0.1, noise_precision=Gamma(2.0, 1.0)),
    "ard": LinearRegression(weight_precision="ard"),
    "penalized": LinearRegression(penalize_intercept=True),
    "polynomial": LinearRegression(PolynomialBasis(2)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_folds_from_statistics_equal_naive_refits(name):
    X, y = rows(60, 3)
    labels = fold_labels(60, 5, np.random.default_rng(0))
    result = cross_validate(ESTIMATORS[name], X, y, labels=labels)
    log_score, mean = naive(ESTIMATORS[name], X, y, labels)
    assert_allclose(result.log_score, log_score, rtol=1e-8, atol=1e-8)
    assert_allclose(result.mean, mean, rtol=1e-8, atol=1e-8)


# 25 rows stay rows in every fit; 34 become moments together, and rows again without a fold.
@pytest.mark.parametrize("n", [25, 34])
@pytest.mark.parametrize("name", ["evidence", "ridge", "student"])
def test_folds_of_wide_data_equal_naive_refits(n, name):
    X, y = rows(n, 31)
    labels = fold_labels(n, 5, np.random.default_rng(0))
    result = cross_validate(ESTIMATORS[name], X, y, labels=labels)
    log_score, mean = naive(ESTIMATORS[name], X, y, labels)
    assert_allclose(result.log_score, log_score, rtol=1e-8, atol=1e-8)
    assert_allclose(result.mean, mean, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(40, 3), (20, 30)])
def test_folds_of_weighted_rows_equal_naive_refits(n, d):
    X, y = rows(n, d)
    weight = np.random.default_rng(2).uniform(0.5, 3.0, n)
    labels = fold_labels(n, 4, np.random.default_rng(0))
    result = cross_validate(LinearRegression(), X, y, labels=labels, sample_weight=weight)
    log_score, mean = naive(LinearRegression(), X, y, labels, weight)
    assert_allclose(result.log_score, log_score, rtol=1e-8, atol=1e-8)
    assert_allclose(result.mean, mean, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("n", "seed"), [(76, 1), (76, 2), (77, 0), (77, 4)])
def test_folds_of_as_many_terms_as_rows_equal_fits_to_their_rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 2))
    y = np.sin(4 * x[:, 0]) + x[:, 1] + 0.3 * rng.normal(size=n)
    model = LinearRegression(ContinuedBasis(SplineBasis() + RadialBasis(50)))
    found = cross_validate(model, x, y)
    model.fit(x, y)
    columns = design(model.basis_, x)
    for fold in range(10):
        out = found.fold == fold
        rows = Rows(columns[~out], y[~out, None], np.ones((~out).sum()))
        model.fit_statistics(LinearStatistics(columns.shape[1], rows))
        expected = model.predict_dist(x[out]).log_prob(y[out])
        assert_allclose(found.log_score[out], expected, rtol=1e-5, atol=1e-5)


def test_leaving_one_out_equals_naive_refits():
    X, y = rows(12, 2)
    labels = leave_one_out_labels(12)
    result = cross_validate(LinearRegression(), X, y, labels=labels)
    assert_allclose(result.log_score, naive(LinearRegression(), X, y, labels)[0], rtol=1e-8)


def test_the_score_of_several_outputs_is_their_sum():
    X, y = rows(40, 3, n_outputs=2)
    labels = fold_labels(40, 4, np.random.default_rng(0))
    both = cross_validate(LinearRegression(), X, y, labels=labels)
    each = [cross_validate(LinearRegression(), X, y[:, k], labels=labels) for k in range(2)]
    assert_allclose(both.log_score, each[0].log_score + each[1].log_score, rtol=1e-8)
    assert_allclose(both.mean, np.column_stack([part.mean for part in each]), rtol=1e-8)


def test_a_model_without_statistics_is_refitted():
    X, y = rows(30, 2)
    weight = np.random.default_rng(2).uniform(0.5, 3.0, 30)
    labels = fold_labels(30, 3, np.random.default_rng(0))
    result = cross_validate(MeanRegressor(), X, y, labels=labels, sample_weight=weight)
    for i in range(3):
        expected = np.average(y[labels != i], weights=weight[labels != i])
        assert_allclose(result.mean[labels == i], expected)
    assert np.isnan(result.log_evidence).all()


@pytest.mark.parametrize("prior", [None, [1.0, 2.0, 5.0]])
def test_an_average_is_scored_through_its_parts(prior):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(30, 1))
    y = X[:, 0] ** 2 + 0.3 * rng.normal(size=30)
    family = [(f"degree {k}", LinearRegression(PolynomialBasis(k))) for k in range(3)]
    average = ModelAverage(family, prior=prior)
    labels = fold_labels(30, 5, rng)
    result = cross_validate(average, X, y, labels=labels)
    log_score, mean = naive(average, X, y, labels)
    assert_allclose(result.log_score, log_score, rtol=1e-8, atol=1e-8)
    assert_allclose(result.mean, mean, rtol=1e-8, atol=1e-8)
    whole = [clone(average).fit(X[labels != i], y[labels != i]) for i in range(5)]
    assert_allclose(result.log_evidence, [model.log_evidence_ for model in whole], rtol=1e-8)


def test_the_score_is_the_mean_of_row_scores_with_its_error():
    X, y = rows(50, 2)
    result = cross_validate(LinearRegression(), X, y)
    assert_allclose(result.score.value, result.log_score.mean())
    assert_allclose(result.score.standard_error, stats.sem(result.log_score))


def test_rows_of_no_weight_change_nothing():
    X, y = rows(40, 2)
    labels = fold_labels(40, 4, np.random.default_rng(0))
    plain = cross_validate(LinearRegression(), X[:30], y[:30], labels=labels[:30])
    y = np.append(y[:30], y[30:] + 100)
    weight = np.append(np.ones(30), np.zeros(10))
    result = cross_validate(LinearRegression(), X, y, labels=labels, sample_weight=weight)
    assert_allclose(result.score.value, plain.score.value, rtol=1e-8)
    assert_allclose(result.score.standard_error, plain.score.standard_error, rtol=1e-8)


@pytest.mark.parametrize("estimator", [LinearRegression(), MeanRegressor()])
def test_one_weight_serves_all_rows(estimator):
    X, y = rows(20, 2)
    single = cross_validate(estimator, X, y, sample_weight=2.0)
    each = cross_validate(estimator, X, y, sample_weight=np.full(20, 2.0))
    assert_allclose(single.log_score, each.log_score)
    assert_allclose(single.score.value, each.score.value)


def test_groups_that_do_not_exist_are_refused():
    X, y = rows(4, 1)
    with pytest.raises(ValueError, match="label must be an integer from 0 to 1; found 5"):
        LinearRegression().summarize_groups(X, y, [0, 1, 5, 0], 2)


def test_models_meet_the_same_folds_unless_a_generator_is_given():
    X, y = rows(30, 2)
    first, second = (
        cross_validate(LinearRegression(), X, y),
        cross_validate(MeanRegressor(), X, y),
    )
    assert_array_equal(first.fold, second.fold)
    other = cross_validate(LinearRegression(), X, y, rng=np.random.default_rng(5))
    assert (other.fold != first.fold).any()


def test_labels_may_be_names_and_rows_a_frame():
    X, y = rows(30, 2)
    names = np.array(["north", "south", "west"])[np.arange(30) % 3]
    frame = pd.DataFrame(X, columns=["a", "b"])
    result = cross_validate(LinearRegression(), frame, y, labels=names)
    assert_array_equal(result.fold, np.arange(30) % 3)
    assert_allclose(result.mean, naive(LinearRegression(), X, y, names)[1], rtol=1e-8)


def test_a_basis_is_placed_once_on_all_inputs():
    X, y = rows(40, 1)
    labels = fold_labels(40, 4, np.random.default_rng(0))
    estimator = LinearRegression(RadialBasis(5))
    placed = estimator.basis.place(X)
    for model in refit_folds(estimator, X, y, labels):
        assert_array_equal(model.basis_.design(X), placed.design(X))
    assert not hasattr(estimator, "basis_")


def test_refitted_models_are_those_of_the_other_folds():
    X, y = rows(40, 3)
    labels = fold_labels(40, 4, np.random.default_rng(0))
    for i, model in enumerate(refit_folds(LinearRegression(), X, y, labels)):
        expected = LinearRegression().fit(X[labels != i], y[labels != i])
        assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
        assert_allclose(model.log_evidence_, expected.log_evidence_, rtol=1e-8)


@pytest.mark.parametrize("labels", [[0, 1, 0], [0, 0, 0, 0]])
def test_labels_that_make_no_folds_are_refused(labels):
    with pytest.raises(ValueError, match="each of the 4 rows one of at least 2 folds"):
        cross_validate(LinearRegression(), np.zeros((4, 1)), np.arange(4.0), labels=labels)


def test_an_outlier_in_a_fold_leaves_no_trace_in_the_fit_without_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = x @ [1.0, -2.0] + 0.1 * rng.normal(size=60)
    x[3], y[3] = 1e9, -1e9
    labels = np.arange(60) % 5
    found = cross_validate(LinearRegression(), x, y, labels=labels)
    rows = labels == 3
    naive = LinearRegression().fit(x[~rows], y[~rows]).predict_dist(x[rows])
    assert_allclose(found.log_score[rows], naive.log_prob(y[rows]), rtol=1e-8)


class Shares(ClassifierMixin, BaseEstimator):
    """A classifier that knows only how common classes are, from counts that add."""

    def __init__(self, pseudo_count=1.0):
        self.pseudo_count = pseudo_count

    def summarize_groups(self, X, y, label, n_groups, sample_weight=None):
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        counts = np.zeros((n_groups, len(self.classes_)))
        np.add.at(counts, (label, codes), 1.0 if sample_weight is None else sample_weight)
        return tuple(counts)

    def fit_statistics(self, counts):
        total = counts + self.pseudo_count
        self.share_ = total / total.sum()
        self.log_evidence_ = float(counts @ np.log(self.share_))
        return self

    def fit(self, X, y, sample_weight=None):
        (counts,) = self.summarize_groups(X, y, np.zeros(len(y), int), 1, sample_weight)
        return self.fit_statistics(counts)

    def predict_dist(self, X):
        return Categorical(np.tile(self.share_, (len(X), 1)), self.classes_)


class Average(ClassifierMixin, BaseEstimator):
    """The shape of an average of classifiers: named parts, and a prior over them."""

    def __init__(self, estimators, prior=None):
        self.estimators = estimators
        self.prior = prior


def labeled_rows(n=90):
    rng = np.random.default_rng(4)
    codes = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + codes[:, None], np.array(["a", "b", "c"])[codes]


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series, pd.Categorical])
def test_a_foreign_classifier_is_scored_by_the_probability_of_the_class(kind):
    X, y = labeled_rows()
    fold = stratified_fold_labels(y, 5, np.random.default_rng(0))
    model = make_pipeline(StandardScaler(), GaussianNB())
    result = cross_validate(model, X, kind(y), labels=fold)
    cv = PredefinedSplit(fold)
    probability = cross_val_predict(model, X, y, cv=cv, method="predict_proba")
    assert_allclose(result.mean, probability, rtol=1e-10)
    codes = np.searchsorted(result.classes, y)
    assert_allclose(result.log_score, np.log(probability[np.arange(90), codes]), rtol=1e-10)
    assert_array_equal(result.predicted, cross_val_predict(model, X, y, cv=cv))
    assert_allclose(result.score.value, result.log_score.mean())


def test_folds_of_a_classifier_keep_the_proportions_of_classes():
    X, y = labeled_rows()
    result = cross_validate(GaussianNB(), X, y, n_folds=5)
    for label in "abc":
        assert_array_equal(np.bincount(result.fold[y == label]), 6)


@pytest.mark.parametrize("weight", [None, np.random.default_rng(5).uniform(0.5, 2.0, 90)])
def test_folds_of_a_classifier_from_statistics_equal_naive_refits(weight):
    X, y = labeled_rows()
    y[:20] = "b"
    result = cross_validate(Shares(), X, y, n_folds=4, sample_weight=weight)
    for i in range(4):
        kept = result.fold != i
        model = Shares().fit(X[kept], y[kept], None if weight is None else weight[kept])
        assert_allclose(result.mean[~kept], model.predict_dist(X[~kept]).probability)
        assert_allclose(
            result.log_score[~kept], model.predict_dist(X[~kept]).log_prob(y[~kept])
        )
        assert_allclose(result.log_evidence[i], model.log_evidence_)
    assert_array_equal(result.predicted, "b")


def test_an_average_of_classifiers_is_scored_through_its_parts():
    X, y = labeled_rows()
    y[:20] = "b"
    settings = (0.5, 40.0)
    parts = [cross_validate(Shares(c), X, y, n_folds=4) for c in settings]
    named = [(str(c), Shares(c)) for c in settings]
    result = cross_validate(Average(named, prior=[1.0, 3.0]), X, y, n_folds=4)
    for i in range(4):
        rows = result.fold == i
        odds = 3.0 * np.exp(parts[1].log_evidence[i] - parts[0].log_evidence[i])
        expected = (parts[0].mean[rows] + odds * parts[1].mean[rows]) / (1.0 + odds)
        assert_allclose(result.mean[rows], expected)
    codes = np.searchsorted(result.classes, y)
    assert_allclose(np.exp(result.log_score), result.mean[np.arange(90), codes])


def test_a_row_without_a_class_is_predicted_but_not_scored():
    X, y = labeled_rows()

    class OfTheKnown(GaussianNB):
        def fit(self, X, y):
            known = np.array([label is not None for label in y])
            return super().fit(X[known], y[known].astype(str))

    gaps = y.astype(object)
    gaps[::10] = None
    result = cross_validate(OfTheKnown(), X, gaps, n_folds=3)
    assert_array_equal(np.isnan(result.log_score), np.arange(90) % 10 == 0)
    assert_allclose(result.score.value, np.nanmean(result.log_score))
    assert np.isfinite(result.mean).all()


def test_a_classifier_without_probabilities_is_kept_by_its_answers():
    X, y = labeled_rows()
    fold = stratified_fold_labels(y, 3, np.random.default_rng(0))
    result = cross_validate(Perceptron(), X, y, labels=fold)
    cv = PredefinedSplit(fold)
    assert_array_equal(result.predicted, cross_val_predict(Perceptron(), X, y, cv=cv))
    assert np.isnan(result.log_score).all()
    assert np.isnan(result.score.value)


def test_the_answer_of_a_foreign_classifier_is_its_own():
    X, y = labeled_rows(30)
    fold = stratified_fold_labels(y, 3, np.random.default_rng(0))
    result = cross_validate(SVC(), X, y, labels=fold)
    cv = PredefinedSplit(fold)
    assert_array_equal(result.predicted, cross_val_predict(SVC(), X, y, cv=cv))


def test_a_class_that_is_only_in_the_fold_is_impossible():
    X, y = labeled_rows(31)
    y[30] = "z"
    fold = np.append(np.arange(30) // 15, 0)
    result = cross_validate(LogisticRegression(), X, y, labels=fold)
    assert result.log_score[30] == -np.inf
    assert result.mean[30, 3] == 0.0
    weight = np.append(np.ones(30), 0.0)
    result = cross_validate(LogisticRegression(), X, y, labels=fold, sample_weight=weight)
    assert np.isfinite(result.score.value)


def test_more_folds_than_rows_of_the_rarest_class_are_refused():
    X, y = labeled_rows(30)
    with pytest.raises(ValueError, match="found 12 for 10 rows of class 'a'"):
        cross_validate(GaussianNB(), X, y, n_folds=12)


def test_a_regressor_without_a_predictive_is_scored_by_its_residuals():
    rng, fold = np.random.default_rng(0), np.arange(40) % 4
    x, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    found = cross_validate(DummyRegressor(), x, y, labels=fold)
    expected = out_of_fold_normal(DummyRegressor(), x, y, fold)
    assert_allclose(found.mean, expected.mean())
    assert_allclose(found.log_score, expected.log_prob(y))
    assert_allclose(found.score.value, expected.log_prob(y).mean())


def test_a_transformed_target_is_scored_by_its_change_of_variable():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    z, fold = x[:, 0] + 0.3 * rng.normal(size=40), np.arange(40) % 4
    model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    found = cross_validate(model, x, np.exp(z), labels=fold)
    inner = cross_validate(LinearRegression(), x, z, labels=fold)
    assert_allclose(found.log_score, inner.log_score - z, rtol=1e-5)


def test_an_average_of_evidences_about_different_things_is_refused_in_folds_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = (x[:, 0] + rng.normal(size=60) > 0).astype(int)
    mixed = ModelAverage({"density": GaussianClassConditional(), "odds": CredoLogistic()})
    with pytest.raises(ValueError, match="evidence"):
        mixed.fit(x, y)
    with pytest.raises(ValueError, match="evidence"):
        cross_validate(mixed, x, y, n_folds=3)
