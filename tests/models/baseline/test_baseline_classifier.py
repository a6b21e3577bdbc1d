import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from sklearn.dummy import DummyClassifier

from credo.decisions import LossMatrix
from credo.evaluation import compare, refit_folds
from credo.inference.logistic.softmax import class_coding
from credo.models import BaselineClassifier, LogisticRegression

Y = np.array(["b", "a", "b", "c", "b", "b", "a"])
X = np.zeros((7, 1))


def test_probabilities_are_smoothed_frequencies():
    model = BaselineClassifier(concentration=0.5).fit(X, Y)
    assert_allclose(model.predict_proba(X[:2]), [np.array([2.5, 4.5, 1.5]) / 8.5] * 2)
    assert model.predict(X[:2]).tolist() == ["b", "b"]


def test_the_evidence_is_the_product_of_one_step_predictions():
    model = BaselineClassifier(concentration=[0.5, 1.0, 2.0]).fit(X, Y)
    counts, total = dict(zip("abc", [0.5, 1.0, 2.0], strict=True)), 0.0
    for label in Y:
        total += np.log(counts[label] / sum(counts.values()))
        counts[label] += 1
    assert_allclose(model.log_evidence_, total)
    assert (model.evidence_method_, model.evidence_of_) == ("exact", "y given X")


def test_the_evidence_of_two_classes_is_a_beta_integral():
    model = BaselineClassifier(1.0).fit(X, Y == "b")
    assert_allclose(model.log_evidence_, special.betaln(5, 4))


def test_the_flat_evidence_is_the_integral_over_the_scores_of_the_classes():
    pair = BaselineClassifier().fit(X, Y == "b")
    score = np.linspace(-40.0, 40.0, 8001)
    likelihood = special.expit(score) ** 4 * special.expit(-score) ** 3
    assert_allclose(pair.log_evidence_, np.log(likelihood.sum() * 0.01), rtol=1e-10)
    three = BaselineClassifier().fit(X, Y)
    axis = np.linspace(-30.0, 30.0, 601)
    scores = np.stack(np.meshgrid(axis, axis), axis=-1) @ class_coding(3).T
    log_likelihood = special.log_softmax(scores, axis=-1) @ [2.0, 4.0, 1.0]
    expected = np.log(np.exp(log_likelihood).sum() * 0.1**2)
    assert_allclose(three.log_evidence_, expected, rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_without_columns_its_evidence_and_answer_are_those_of_logistic_regression(n_classes):
    labels = np.random.default_rng(0).integers(n_classes, size=20_000) ** 2
    constant = np.ones((len(labels), 1))
    model = BaselineClassifier().fit(constant, labels)
    logistic = LogisticRegression().fit(constant, labels)
    assert model.evidence_flat_ == logistic.evidence_flat_
    # Laplace's method errs by about the sum of 1 / (12 n_k).
    assert_allclose(model.log_evidence_, logistic.log_evidence_, rtol=0, atol=1e-3)
    assert_allclose(
        model.predict_proba(constant[:1]), logistic.predict_proba(constant[:1]), atol=1e-4
    )


def test_columns_that_say_nothing_are_less_probable_than_none():
    rng = np.random.default_rng(1)
    noise, labels = rng.normal(size=(300, 4)), rng.integers(2, size=300)
    found = compare(
        {"baseline": BaselineClassifier(), "line": LogisticRegression()}, noise, labels, cv=3
    )
    assert found.probability["baseline"] > 0.9
    assert_allclose(found.probability.sum(), 1.0)
    assert BaselineClassifier(1.0).fit(noise, labels).evidence_flat_ == ()


def test_without_pseudo_counts_it_is_scikit_learns_dummy():
    peer = DummyClassifier(strategy="prior").fit(X, Y).predict_proba(X)
    assert_allclose(BaselineClassifier().fit(X, Y).predict_proba(X), peer, rtol=1e-14)
    found = BaselineClassifier(concentration=1e-12).fit(X, Y).predict_proba(X)
    assert_allclose(found, peer, rtol=1e-10)


def test_folds_from_counts_equal_fits_without_the_fold():
    fold = np.array([0, 0, 0, 0, 1, 1, 1])
    models = refit_folds(BaselineClassifier(1.0), X, Y, fold)
    assert_allclose(models[0].predict_proba(X[:1]), [[2 / 6, 3 / 6, 1 / 6]])
    assert_allclose(models[1].predict_proba(X[:1]), [[2 / 7, 3 / 7, 2 / 7]])


def test_a_class_without_weight_keeps_its_pseudo_count():
    model = BaselineClassifier().fit(X, Y, sample_weight=(Y != "c").astype(float))
    assert_allclose(model.predict_proba(X[:1]), [[3 / 9, 5 / 9, 1 / 9]])
    assert model.evidence_flat_ == ()
    assert_allclose(model.log_evidence_, special.gammaln([3, 5]).sum() - np.log(40320 / 2))
    assert model.partial_fit(X[:1], ["c"]).evidence_flat_ == ("intercept",)
    assert_allclose(model.predict_proba(X[:1]), [[2 / 7, 4 / 7, 1 / 7]])


def test_it_decides_like_every_classifier():
    costs = LossMatrix([[0, 0, 9], [1, 1, 0]], ["a", "b", "c"], ["go on", "stop"])
    decision = BaselineClassifier(1.0).fit(X, Y).decide(X[:1], costs)
    assert decision.action.tolist() == ["stop"]
    assert_allclose(decision.expected_loss, [0.8])
    assert decision.runner_up.tolist() == ["go on"]
    assert_allclose(decision.runner_up_loss, [1.8])


@pytest.mark.parametrize(
    ("concentration", "message"),
    [
        (0.0, "concentration must be positive; found 0"),
        ([1.0, 2.0], r"one for each of 3 classes; found shape \(2,\)"),
    ],
)
def test_pseudo_counts_that_are_none_are_refused(concentration, message):
    with pytest.raises(ValueError, match=message):
        BaselineClassifier(concentration).fit(X, Y)


def test_one_class_and_unknown_labels_are_refused():
    with pytest.raises(ValueError, match="at least 2 classes"):
        BaselineClassifier().fit(X, ["a"] * 7)
    with pytest.raises(ValueError, match=r"found \['z'\]"):
        BaselineClassifier().fit(X, Y).partial_fit(X[:1], ["z"])
    with pytest.raises(ValueError, match="classes must be given on the first call"):
        BaselineClassifier().partial_fit(X, Y)
