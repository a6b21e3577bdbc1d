import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import KFold, RepeatedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import credo
from credo.evaluation import compare, correlated_t, paired_difference
from credo.features import PolynomialBasis
from credo.inference import model_posterior
from credo.models import GaussianClassConditional, LinearRegression, NaiveBayes, Stack


def classes(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, np.where(x[:, 0] + rng.logistic(size=n) > 0, "yes", "no")


def curve(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return x, x[:, 0] ** 2 + 0.2 * rng.normal(size=n)


SOME = {
    "logistic": LogisticRegression(),
    "neighbors": KNeighborsClassifier(15),
    "constant": DummyClassifier(strategy="prior"),
}
FOLDS = KFold(5, shuffle=True, random_state=1)


def test_table_and_verdicts_are_those_of_a_manual_loop():
    x, y = classes()
    found = compare(SOME, x, y, cv=FOLDS)
    answers = {
        name: cross_val_predict(m, x, y, cv=FOLDS, method="predict_proba")
        for name, m in SOME.items()
    }
    told = (y == "yes").astype(int)
    scores = {n: np.log(p[np.arange(len(y)), told]) for n, p in answers.items()}
    wrong = {n: p.argmax(axis=1) != told for n, p in answers.items()}
    for name in SOME:
        row = found.table.loc[name]
        assert_allclose(row["log_score"], scores[name].mean(), rtol=1e-9)
        assert_allclose(row["log_score_error"], scores[name].std(ddof=1) / np.sqrt(200))
        assert_allclose(row["error_rate"], wrong[name].mean())
        assert row["error_rate_low"] < row["error_rate"] < row["error_rate_high"]
    predicted = np.array(["no", "yes"])[answers["logistic"].argmax(axis=1)]
    assert_allclose(found.table.loc["logistic", "mcc"], matthews_corrcoef(y, predicted))
    gain = scores["logistic"] - scores["neighbors"]
    by_fold = [gain[test].mean() for _, test in FOLDS.split(x)]
    verdict = found.verdict("neighbors", "logistic", by="log_score")
    expected = correlated_t(by_fold)
    assert_allclose(verdict.difference, expected.estimate)
    assert_allclose(verdict.equal_probability, expected.rope)
    paired = paired_difference(wrong["constant"], wrong["logistic"])
    assert_allclose(
        found.verdict("logistic", "constant", "accuracy").difference, paired.estimate
    )
    assert_allclose(found.stacking_weights.sum(), 1.0)
    assert_allclose(found.log_scores, list(scores.values()))


def test_a_clear_winner_is_named_and_no_other():
    x, y = classes(800)
    found = credo.compare({"logistic": SOME["logistic"], "constant": SOME["constant"]}, x, y)
    assert found.best() == "logistic"
    assert found.contenders() == ["logistic"]
    assert "logistic is better than constant" in str(found)
    assert "always answering" in str(found)


def test_twins_are_practically_equal_and_none_is_named_best():
    x, y = classes()
    twins = [("one", LogisticRegression()), ("two", LogisticRegression(C=1.01))]
    found = compare(twins, x, y, cv=5)
    assert found.verdict("one", "two").kind == "practically equal"
    assert found.best() is None
    assert found.contenders() == ["one", "two"]
    assert "No single best" in str(found)


def test_few_rows_are_told_to_be_few():
    x, y = classes(40, seed=3)
    found = compare({"bayes": GaussianNB(), "logistic": LogisticRegression()}, x, y, cv=5)
    verdict = found.verdict("bayes", "logistic")
    assert verdict.kind == "not distinguishable"
    assert verdict.needed_rows > 40
    assert "not distinguishable with 40 rows; about" in verdict.sentence


def test_equal_models_are_called_different_in_few_data_sets():
    # Noise columns of equal standing: each model sees another one.
    n_false = {"log_score": 0, "accuracy": 0}
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.normal(size=(60, 3))
        y = rng.integers(0, 2, 60)
        y[:10] = np.arange(10) % 2
        models = {f"column {i}": make_pipeline(Column(i), GaussianNB()) for i in range(3)}
        found = compare(models, x, y, by=("log_score", "accuracy"), cv=5, rope=0.0)
        for score in n_false:
            kinds = {v.kind for v in found.verdicts if v.by == score}
            n_false[score] += "better" in kinds
    assert max(n_false.values()) <= 4


class Column(StandardScaler):
    def __init__(self, i=0):
        super().__init__()
        self.i = i

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X[:, [self.i]])

    def transform(self, X, copy=None):
        return super().transform(X[:, [self.i]])


def test_posterior_over_models_is_that_of_their_evidences():
    x, y = curve()
    degrees = {f"degree {k}": LinearRegression(PolynomialBasis(k)) for k in range(4)}
    found = compare(degrees, x, y, cv=5)
    evidences = [m.fit(x, y).log_evidence_ for m in degrees.values()]
    assert_allclose(found.table["log_evidence"], evidences)
    assert_allclose(found.probability, model_posterior(evidences))
    assert found.verdict("degree 2", "degree 1", by="evidence").first == "degree 2"
    assert {"rmse", "rmse_error"} <= set(found.table)


def test_evidences_that_mean_something_else_have_no_part_in_the_posterior():
    x, y = curve()
    models = {
        "line": LinearRegression(),
        "parabola": LinearRegression(PolynomialBasis(2)),
        "without intercept": LinearRegression(fit_intercept=False),
        "likelihood": LinearRegression(inference="ml"),
    }
    found = compare(models, x, y, cv=4)
    assert_allclose(found.probability.iloc[:2].sum(), 1.0)
    assert found.probability.iloc[2:].isna().all()
    assert any("flat priors" in note for note in found.notes)
    assert any("there is no evidence: likelihood" in note for note in found.notes)
    with pytest.raises(KeyError, match="must be two models with a verdict"):
        found.verdict("line", "likelihood", by="evidence")


def test_a_model_that_fails_is_reported_and_spares_the_rest():
    x, y = classes()
    models = {**SOME, "broken": KNeighborsClassifier(n_neighbors=-1)}
    found = compare(models, x, y, cv=5)
    assert found.names == list(SOME)
    assert "n_neighbors" in found.errors["broken"]
    assert "broken failed: InvalidParameterError" in str(found)
    with pytest.raises(ValueError, match="all 2 failed"):
        compare([KNeighborsClassifier(-1), KNeighborsClassifier(-2)], x, y)


def test_models_without_probabilities_are_compared_by_accuracy_alone():
    x, y = classes()
    found = compare([LogisticRegression(), Perceptron()], x, y, cv=5)
    assert np.isnan(found.table.loc["Perceptron", "log_score"])
    assert np.isnan(found.stacking_weights["Perceptron"])
    assert {v.by for v in found.verdicts} == {"accuracy"}
    assert found.verdict("LogisticRegression", "Perceptron").by == "accuracy"
    assert any("gives no probabilities" in note for note in found.notes)
    assert "By log score: nothing can be said." in str(found)


def test_a_model_that_ruled_out_what_happened_is_told_and_not_ranked_by_log_score():
    x, y = classes()
    found = compare([KNeighborsClassifier(1), LogisticRegression()], x, y, cv=5)
    assert np.isneginf(found.table.loc["KNeighborsClassifier", "log_score"])
    assert any("probability zero to what happened" in note for note in found.notes)
    assert not [v for v in found.verdicts if v.by == "log_score"]


def test_regressors_without_a_predictive_have_an_error_but_no_log_score():
    x, y = curve()
    found = compare(
        {"line": LinearRegression(), "ridge": Ridge(), "mean": DummyRegressor()}, x, y
    )
    assert np.isnan(found.table.loc["ridge", "log_score"])
    assert len([v for v in found.verdicts if v.by == "accuracy"]) == 3
    predicted = cross_val_predict(Ridge(), x, y, cv=FOLDS)
    again = compare({"line": LinearRegression(), "ridge": Ridge()}, x, y, cv=FOLDS)
    rmse = np.sqrt(np.mean((predicted - y) ** 2))
    assert_allclose(again.table.loc["ridge", "rmse"], rmse)


def test_frames_text_labels_and_missing_labels_are_taken():
    x, y = classes(150)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    found = compare(SOME, frame, pd.Series(y), cv=5)
    assert found.kind == "classifier"
    assert list(found.verdict_table().columns[:3]) == ["first", "second", "by"]
    assert_allclose(found.table["error_rate"], compare(SOME, x, y, cv=5).table["error_rate"])


def test_folds_may_be_given_row_by_row_and_are_the_same_for_all():
    x, y = classes(100)
    fold = np.arange(100) % 4
    found = compare(SOME, x, y, cv=fold)
    assert (found.fold == fold).all()
    one, two, three = (compare(SOME, x, y, cv=5, random_state=s).fold for s in (1, 1, 2))
    assert (one == two).all()
    assert (one != three).any()


def test_same_names_are_told_apart():
    x, y = classes(100)
    found = compare([GaussianNB(), GaussianNB(var_smoothing=0.1)], x, y, cv=5)
    assert found.names == ["GaussianNB 1", "GaussianNB 2"]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"models": [LogisticRegression()]}, "at least two estimators"),
        ({"models": {"a": LogisticRegression(), "b": 3}}, r"no estimators in \['b'\]"),
        ({"models": "logistic"}, "at least two estimators"),
        ({"models": [LogisticRegression(), Ridge()]}, "all classifiers or all regressors"),
        ({"by": ("luck",)}, "by must name some of"),
        ({"by": ()}, "by must name some of"),
        ({"cv": 70}, "rarest class"),
        ({"cv": RepeatedKFold(n_splits=2, n_repeats=2)}, "every row once"),
        ({"y": np.repeat("yes", 100)}, "at least 2 classes"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_any_work(change, part):
    x, y = classes(100)
    given = {"models": SOME, "X": x, "y": y, **change}
    with pytest.raises(ValueError, match=part):
        compare(**given)


def test_a_class_with_one_row_is_refused():
    x, y = classes(60)
    y[0] = "sometimes"
    with pytest.raises(ValueError, match="rows in the rarest class"):
        compare(SOME, x, y, cv=5)


def test_generative_and_discriminative_evidences_are_kept_apart_in_a_comparison():
    x, y = classes(150)
    models = {
        "normal": GaussianClassConditional(),
        "naive": NaiveBayes(),
        "logistic": credo.LogisticRegression(),
    }
    found = compare(models, x, y, cv=5)
    assert_allclose(found.probability[["normal", "naive"]].sum(), 1.0)
    assert np.isnan(found.probability["logistic"])
    assert any(
        "of y given X, that of the others of X and y: logistic" in n for n in found.notes
    )
    assert "of the 2 compared" in str(found)


def test_stacking_weights_are_those_of_a_stack_on_the_same_folds():
    x, y = classes(150)
    models = {"normal": GaussianClassConditional(), "logistic": LogisticRegression()}
    found = compare(models, x, y, cv=FOLDS)
    stack = Stack(list(models.items()), cv=FOLDS).fit(x, y)
    assert_allclose(found.log_scores, stack.log_scores_, atol=1e-6)
    assert_allclose(found.stacking_weights, stack.weights_, atol=1e-4)


def test_an_evidence_without_a_second_to_compare_it_with_is_told():
    x, y = classes(100)
    found = compare([NaiveBayes(), LogisticRegression()], x, y, cv=5)
    assert found.probability.isna().all()
    assert any("no two models have evidences" in note for note in found.notes)
