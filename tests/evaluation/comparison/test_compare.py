from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import KFold, RepeatedKFold, TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import credo
from credo.evaluation import (
    Comparison,
    GroupedFolds,
    HoldOut,
    TimeFolds,
    Verdict,
    compare,
    correlated_t,
    cross_validate,
    paired_difference,
)
from credo.features import PolynomialBasis
from credo.inference import model_posterior
from credo.models import (
    BaselineRegressor,
    GaussianClassConditional,
    LinearRegression,
    NaiveBayes,
    Stack,
)


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


def two_tests(wrong_first, wrong_second, fold):
    """Return both tests of the accuracy of the first minus that of the second."""
    rows = paired_difference(wrong_second, wrong_first)
    gain = wrong_second.astype(float) - wrong_first
    return rows, correlated_t([gain[fold == i].mean() for i in np.unique(fold)])


@pytest.mark.parametrize(("seed", "wider"), [(0, "folds"), (11, "rows")])
def test_accuracy_is_as_unsure_as_the_less_sure_of_two_tests(seed, wider):
    x, y = classes(200, seed)
    pair = {"logistic": LogisticRegression(), "neighbors": KNeighborsClassifier(5)}
    found = compare(pair, x, y, by="accuracy", cv=FOLDS)
    wrong = [cross_val_predict(m, x, y, cv=FOLDS) != y for m in pair.values()]
    rows, folds = two_tests(*wrong, found.fold)
    assert abs(rows.estimate) > 0.01
    (verdict,) = found.verdicts
    assert verdict.first == ("logistic" if wrong[0].sum() < wrong[1].sum() else "neighbors")
    assert_allclose(verdict.difference, abs(wrong[0].mean() - wrong[1].mean()))
    p = max(rows.p_value, 2 * min(folds.positive, 1 - folds.positive))
    assert_allclose(verdict.probability, 1 - p / 2)
    reaches = {"rows": (rows.high - rows.low) / 2, "folds": (folds.high - folds.low) / 2}
    assert max(reaches, key=reaches.get) == wider
    assert_allclose((verdict.high - verdict.low) / 2, reaches[wider])
    assert_allclose((verdict.high + verdict.low) / 2, verdict.difference)
    known = {"rows": stats.norm, "folds": stats.t(4)}[wider]
    spread = reaches[wider] / known.ppf(0.975)
    ends = (np.array([0.01, -0.01]) - verdict.difference) / spread
    assert_allclose(verdict.equal_probability, -np.diff(known.cdf(ends))[0])
    if verdict.kind == "not distinguishable":
        needed = 200 * (reaches[wider] / verdict.difference) ** 2
        assert_allclose(verdict.needed_rows, max(needed, 201))


def test_a_missing_label_changes_no_test_and_no_share():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 2))
    y = np.where(x[:, 0] + rng.logistic(size=120) > 0, "yes", "no").astype(object)
    pair = {"one": GaussianClassConditional(), "two": GaussianClassConditional("diagonal")}
    y[::4] = None
    found = compare(pair, x, y, by="accuracy", cv=np.arange(120) % 5)
    (verdict,) = found.verdicts
    known = np.flatnonzero(pd.notna(y))
    assert verdict.n_rows == len(known) == 90
    share = max(np.mean(y[known] == "yes"), np.mean(y[known] == "no"))
    assert any(f"would err in {100 * (1 - share):.0f} % of rows" in n for n in found.notes)
    answers = [cross_validate(m, x, y, labels=found.fold).predicted for m in pair.values()]
    wrong = [answer[known] != y[known] for answer in answers]
    rows, folds = two_tests(*wrong, found.fold[known])
    p = max(rows.p_value, 2 * min(folds.positive, 1 - folds.positive))
    assert p == rows.p_value
    assert_allclose(verdict.probability, 1 - p / 2)


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


class Nearest(ClassifierMixin, BaseEstimator):
    """Answers the class whose mean of one column is nearest: quick enough to simulate."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        x = X[:, self.column]
        self.mean_ = np.array([x[y == c].mean() for c in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[np.abs(X[:, [self.column]] - self.mean_).argmin(axis=1)]


def test_accuracy_calls_equal_models_different_in_at_most_the_stated_share():
    # Two columns of noise, each seen by one model; McNemar's test alone claims 14 %.
    rng = np.random.default_rng(7)
    n_false = 0
    for _ in range(200):
        x, y = rng.normal(size=(60, 2)), rng.permutation(60) % 2
        found = compare([Nearest(0), Nearest(1)], x, y, by="accuracy", rope=0.0)
        n_false += found.verdicts[0].kind == "better"
    # Five percent of 200, and three standard errors.
    assert n_false <= 10 + 9


def test_log_score_calls_equal_models_different_in_few_data_sets():
    # Noise columns of equal standing: each model sees another one.
    n_false = 0
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.normal(size=(60, 3))
        y = rng.integers(0, 2, 60)
        y[:10] = np.arange(10) % 2
        models = {f"column {i}": make_pipeline(Column(i), GaussianNB()) for i in range(3)}
        found = compare(models, x, y, by="log_score", cv=5, rope=0.0)
        n_false += any(v.kind == "better" for v in found.verdicts)
    assert n_false <= 2


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
    with pytest.raises(ValueError, match="all 2 failed") as caught:
        compare([KNeighborsClassifier(-1), KNeighborsClassifier(-2)], x, y)
    assert type(caught.value.__cause__).__name__ == "InvalidParameterError"


class Failing(Nearest):
    def __init__(self, error=None):
        self.error = error

    def fit(self, X, y):
        try:
            return {}["age"]
        except KeyError as source:
            raise self.error from source


def test_a_failure_is_told_with_what_it_came_from():
    x, y = classes(60)
    models = {**SOME, "broken": Failing(RuntimeError("no table"))}
    found = compare(models, x, y, cv=5)
    assert found.errors == {"broken": "RuntimeError: no table (from KeyError: 'age')"}


@pytest.mark.parametrize("kind", [AttributeError, NameError, AssertionError, MemoryError])
def test_a_mistake_in_a_program_is_raised_and_names_the_model(kind):
    x, y = classes(60)
    with pytest.raises(kind, match="oops") as caught:
        compare({**SOME, "broken": Failing(kind("oops"))}, x, y, cv=5)
    assert "'broken'" in caught.value.__notes__[0]


@pytest.mark.parametrize("cv", [TimeFolds(4, gap=1), TimeSeriesSplit(3), HoldOut(0.4)])
def test_rows_that_are_never_held_out_are_learned_from_and_not_judged(cv):
    rng = np.random.default_rng(0)
    x = np.arange(50.0)[:, None]
    y = x[:, 0] + 5 * rng.normal(size=50)
    models = {"line": LinearRegression(), "mean": LinearRegression(PolynomialBasis(0))}
    found = compare({**models, "ridge": Ridge()}, x, y, by=("log_score", "accuracy"), cv=cv)
    scores, answers = np.full((2, 50), np.nan), np.full(50, np.nan)
    for train, test in cv.split(x, y):
        for k, model in enumerate(models.values()):
            predictive = model.fit(x[train], y[train]).predict_dist(x[test])
            scores[k, test] = predictive.log_prob(y[test])
        answers[test] = Ridge().fit(x[train], y[train]).predict(x[test])
    judged = ~np.isnan(scores[0])
    assert_allclose(found.log_scores[:2], scores)
    assert ((found.fold >= 0) == judged).all()
    assert_allclose(found.table["log_score"][:2], scores[:, judged].mean(axis=1))
    rmse = np.sqrt(((answers - y)[judged] ** 2).mean())
    assert_allclose(found.table.loc["ridge", "rmse"], rmse)
    assert {v.n_rows for v in found.verdicts} == {judged.sum()}
    assert f"{50 - judged.sum()} of 50 rows were never held out" in str(found)
    assert f"{judged.sum()} of them held out" in str(found)


def test_the_folds_of_time_are_as_correlated_as_the_rows_they_share():
    x, y = curve(60)
    cv = TimeFolds(5)
    pair = {"line": LinearRegression(), "parabola": LinearRegression(PolynomialBasis(2))}
    found = compare(pair, x, y, by="log_score", cv=cv)
    gain = found.log_scores[1] - found.log_scores[0]
    by_fold = [gain[found.fold == i].mean() for i in range(5)]
    share = np.mean([len(b) / len(a) for a, b in cv.split(x)])
    expected = correlated_t(by_fold, correlation=share / (1 + share))
    (verdict,) = found.verdicts
    assert_allclose([verdict.low, verdict.high], [expected.low, expected.high])


def test_one_part_held_out_is_judged_row_by_row():
    x, y = classes(300)
    pair = {"logistic": LogisticRegression(), "neighbors": KNeighborsClassifier(15)}
    cv = HoldOut(0.5, stratify=True)
    found = compare(pair, x, y, by=("log_score", "accuracy"), cv=cv)
    ((train, test),) = cv.split(x, y)
    fitted = [m.fit(x[train], y[train]) for m in pair.values()]
    told = (y[test] == "yes").astype(int)
    score = [np.log(m.predict_proba(x[test])[np.arange(150), told]) for m in fitted]
    verdict = found.verdict("logistic", "neighbors", "log_score")
    expected = stats.ttest_rel(score[0], score[1])
    assert_allclose(verdict.probability, 1 - expected.pvalue / 2)
    assert verdict.first == ("logistic" if expected.statistic > 0 else "neighbors")
    ends = expected.confidence_interval(0.95)
    assert_allclose(sorted(np.abs([verdict.low, verdict.high])), sorted(np.abs(list(ends))))
    wrong = [m.predict(x[test]) != y[test] for m in fitted]
    verdict = found.verdict("logistic", "neighbors", "accuracy")
    rows = paired_difference(*wrong)
    assert_allclose(verdict.probability, 1 - rows.p_value / 2)
    assert_allclose(found.table["error_rate"], [w.mean() for w in wrong])


def test_classes_come_in_time_with_and_without_probabilities():
    x, y = classes(120)
    y = y.astype(object)
    y[100] = "sometimes"
    models = {"logistic": LogisticRegression(), "perceptron": Perceptron()}
    cv = TimeFolds(3)
    found = compare(models, x, y, by=("log_score", "accuracy"), cv=cv)
    wrong = np.full((2, 120), np.nan)
    for train, test in cv.split(x, y):
        for k, model in enumerate(models.values()):
            wrong[k, test] = model.fit(x[train], y[train]).predict(x[test]) != y[test]
    assert_allclose(found.table["error_rate"], np.nanmean(wrong, axis=1))
    # What no row before has shown is impossible, and so said.
    assert np.isneginf(found.log_scores[0, 100])
    assert np.isnan(found.log_scores[1]).all()
    assert np.isfinite(np.delete(found.log_scores[0], 100)[30:]).all()


def test_groups_are_kept_together_in_a_comparison():
    x, y = classes(120)
    patient = np.arange(120) // 4
    found = compare(SOME, x, y, cv=GroupedFolds(5, groups=patient))
    assert all(len(set(found.fold[patient == p])) == 1 for p in range(30))
    same = compare(SOME, x, y, cv=found.fold)
    assert_allclose(found.log_scores, same.log_scores)


def test_models_that_are_no_better_than_a_constant_are_named():
    x, y = classes(200)
    noise = {"noise": make_pipeline(Column(2), KNeighborsClassifier(3))}
    found = compare({**noise, "logistic": LogisticRegression()}, x, y, cv=5)
    told = [n for n in found.notes if n.startswith("always")]
    assert len(told) == 2
    assert told[0].endswith("of rows; not seen to be better: noise.")
    entropy = stats.entropy(np.unique(y, return_counts=True)[1])
    assert f"a log score of {-entropy:.3f}" in told[1]
    assert "logistic" not in told[0] + told[1]


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


def test_regressors_without_a_predictive_are_scored_by_their_residuals():
    x, y = curve()
    found = compare(
        {"line": LinearRegression(), "ridge": Ridge(), "mean": DummyRegressor()}, x, y
    )
    assert len([v for v in found.verdicts if v.by == "accuracy"]) == 3
    assert len([v for v in found.verdicts if v.by == "log_score"]) == 3
    predicted = cross_val_predict(Ridge(), x, y, cv=FOLDS)
    again = compare({"line": LinearRegression(), "ridge": Ridge()}, x, y, cv=FOLDS)
    rmse = np.sqrt(np.mean((predicted - y) ** 2))
    assert_allclose(again.table.loc["ridge", "rmse"], rmse)
    squares = (y - predicted) ** 2
    scale = np.sqrt((squares.sum() - squares) / (len(y) - 1))
    expected = stats.t(len(y) - 1, predicted, scale).logpdf(y)
    assert_allclose(again.log_scores[1], expected)


def test_a_foreign_regressor_is_scored_by_a_normal_of_the_residuals_of_other_rows():
    x, y = curve()
    found = compare({"line": LinearRegression(), "ridge": Ridge()}, x, y, cv=FOLDS)
    residual = cross_val_predict(Ridge(), x, y, cv=FOLDS) - y
    n = len(y)
    scale = np.sqrt(((residual**2).sum() - residual**2) / (n - 1))
    expected = stats.t(n - 1, 0.0, scale).logpdf(residual)
    assert_allclose(found.log_scores[1], expected)
    assert_allclose(found.table.loc["ridge", "log_score"], expected.mean())
    assert len([v for v in found.verdicts if v.by == "log_score"]) == 1
    (note,) = [note for note in found.notes if "out-of-fold residuals" in note]
    assert note.endswith("of other rows: ridge.")


def test_a_foreign_regressor_is_scored_on_the_rows_of_one_part_held_out():
    x, y = curve()
    cv = HoldOut(0.3, random_state=0)
    ((train, test),) = cv.split(x, y)
    found = compare([Ridge(), DummyRegressor()], x, y, cv=cv)
    residual = Ridge().fit(x[train], y[train]).predict(x[test]) - y[test]
    scale = np.sqrt(((residual**2).sum() - residual**2) / (len(test) - 1))
    expected = stats.t(len(test) - 1, 0.0, scale).logpdf(residual)
    assert_allclose(found.log_scores[0][test], expected)
    assert np.isnan(found.log_scores[0][train]).all()


@pytest.mark.parametrize("by", ["rmse", "mae"])
def test_a_verdict_by_an_error_is_of_its_difference_in_standard_deviations(by):
    x, bend = curve()
    y = x[:, 0] + bend
    models = {"line": LinearRegression(), "mean": DummyRegressor()}
    for cv in (FOLDS, HoldOut(0.5, random_state=0)):
        found = compare(models, x, y, by=by, cv=cv)
        verdict = found.verdict("line", "mean")
        gap = found.table.loc["mean", by] - found.table.loc["line", by]
        # The folds are of equal size, so that the mean over folds is that over rows.
        assert_allclose(verdict.difference, gap / y.std())
        assert (verdict.by, verdict.first, verdict.kind) == (by, "line", "better")
        assert verdict.low < verdict.difference < verdict.high
    assert found.best() == "line"
    assert f"By {'RMSE' if by == 'rmse' else 'mean absolute error'}:" in str(found)


def test_errors_in_the_table_are_those_of_scikit_learn():
    x, y = curve()
    found = compare([Ridge(), DummyRegressor()], x, y, by=["rmse", "mae"], cv=FOLDS)
    for name, model in (("Ridge", Ridge()), ("DummyRegressor", DummyRegressor())):
        said = cross_val_predict(model, x, y, cv=FOLDS)
        row = found.table.loc[name]
        assert_allclose(row["rmse"], metrics.root_mean_squared_error(y, said))
        assert_allclose(row["mae"], metrics.mean_absolute_error(y, said))
        assert_allclose(row["mae_error"], stats.sem(np.abs(said - y)))
    assert "MAE" in str(found)


def test_errors_of_numbers_are_no_score_of_classes():
    x, y = classes()
    with pytest.raises(ValueError, match=r"models are classifiers; found \['rmse'\]"):
        compare([LogisticRegression(), GaussianNB()], x, y, by="rmse")


def test_what_leaves_the_best_open_is_said_pair_by_pair():
    verdicts = [
        decided("a", "b", "not distinguishable"),
        decided("a", "c", "practically equal"),
        decided("b", "c", "not distinguishable"),
        decided("a", "d", "better"),
        decided("b", "d", "better", 0.99),
        decided("c", "d", "not distinguishable"),
    ]
    found = comparison_of("abcd", verdicts)
    assert found.contenders() == ["a", "b", "c"]
    assert found.standing() == (
        "No single best; unbeaten: a, b, c (a and b are not distinguishable; a and c are "
        "practically equal; b and c are not distinguishable)."
    )
    # Of d the clearest defeat, and not that c could not beat it.
    assert found.deciding() == [verdicts[0], verdicts[1], verdicts[2], verdicts[4]]
    many = [decided(a, b, "not distinguishable") for a, b in combinations("abcd", 2)]
    assert comparison_of("abcd", many).standing().endswith("; and so on for 2 more pairs).")


def decided(first, second, kind, probability=0.97):
    """Return a verdict of which only the words matter."""
    numbers = (0.0, 0.1, 0.0, 0.2, 100, np.nan)
    return Verdict(first, second, "log_score", kind, probability, *numbers, f"{first} {second}")


def comparison_of(names, verdicts):
    """Return a comparison of which only names and verdicts matter."""
    table = pd.DataFrame(index=list(names))
    nothing = np.zeros(0), np.zeros(0, dtype=np.intp), {}, ()
    return Comparison(
        table, tuple(verdicts), ("log_score",), *nothing, "classifier", 0.95, 0.01
    )


def test_the_accuracy_of_regressors_is_called_squared_error():
    x, y = curve()
    models = {"line": LinearRegression(), "ridge": Ridge(), "mean": DummyRegressor()}
    said = str(compare(models, x, y, by=["log_score", "accuracy"], cv=5))
    assert "By squared error:" in said
    assert "log score and squared error allow" in said
    assert "accuracy" not in said


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
        ({"cv": RepeatedKFold(n_splits=2, n_repeats=2)}, "each row at most once"),
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


def test_a_score_of_minus_infinity_is_never_shown():
    x, y = classes()
    found = compare([KNeighborsClassifier(1), LogisticRegression()], x, y, cv=5)
    wrong = int((np.isneginf(found.log_scores[0])).sum())
    assert wrong > 0
    assert found.table["n_impossible"].tolist() == [wrong, 0]
    assert "inf" not in str(found)


def test_there_are_no_weights_where_every_model_ruled_out_every_row():
    x, y = np.arange(8.0)[:, None], np.repeat(["a", "b"], 4)
    models = {"one": DummyClassifier(strategy="prior"), "other": DummyClassifier()}
    found = compare(models, x, y, cv=np.repeat([0, 1], 4), by=("log_score",))
    assert np.isnan(found.stacking_weights).all()
    assert any("in 8 rows was impossible to every model" in note for note in found.notes)
    assert "inf" not in str(found)


@pytest.mark.parametrize("kind", ["numbers", "many numbers", "classes"])
def test_one_column_of_outcomes_is_compared_as_their_list(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 1))
    y = x[:, 0] + 0.3 * rng.normal(size=30)
    models = {"line": LinearRegression(), "mean": BaselineRegressor()}
    if kind == "many numbers":
        models = {"line": LinearRegression(), "flat": LinearRegression(weight_precision=1e9)}
    if kind == "classes":
        y = np.where(y > 0, "up", "down")
        models = {"bayes": GaussianNB(), "constant": DummyClassifier()}
    column, plain = (compare(models, x, z, cv=3) for z in (y[:, None], y))
    assert_allclose(column.log_scores, plain.log_scores)


def test_folds_that_leave_two_rows_to_learn_from_are_refused_with_the_reason():
    x = np.arange(4.0)[:, None]
    y = np.array([0.0, 1.1, 1.9, 3.2])
    models = [LinearRegression(), BaselineRegressor()]
    with pytest.raises(ValueError, match=r"must have a mean .* learned from 2 rows. Add rows"):
        compare(models, x, y, cv=2)
    assert np.isfinite(compare(models, x, y, cv=4).table["rmse"]).all()
