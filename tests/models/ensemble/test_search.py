import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from credo.evaluation import TimeFolds
from credo.features import PolynomialBasis, SplineBasis
from credo.models import EvidenceSearch, LinearRegression, NaiveBayes, predict_dist
from credo.models import LogisticRegression as CredoLogistic
from credo.models.ensemble.search import SearchWarning
from credo.validation import out_of_fold_normal

BASES = {"basis": [PolynomialBasis(k) for k in range(4)]}
FOLDS = KFold(5, shuffle=True, random_state=0)


def curve(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return x, x[:, 0] ** 2 + 0.1 * rng.normal(size=n)


def classes(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, np.where(x[:, 0] + rng.logistic(size=n) > 0, "yes", "no")


def test_the_highest_evidence_wins_where_all_settings_have_one():
    x, y = curve()
    search = EvidenceSearch(LinearRegression(), BASES).fit(x, y)
    evidences = [LinearRegression(b).fit(x, y).log_evidence_ for b in BASES["basis"]]
    assert_allclose(search.cv_results_["log_evidence"], evidences)
    assert search.criterion_ == "evidence"
    assert search.best_index_ == int(np.argmax(evidences)) == 2
    assert_allclose(search.best_score_, max(evidences))
    assert search.cv_results_["rank_test_score"][2] == 1
    assert_allclose(
        search.predict(x), LinearRegression(PolynomialBasis(2)).fit(x, y).predict(x)
    )
    assert_allclose(search.predict_dist(x).std(), search.best_estimator_.predict_dist(x).std())


def test_the_held_out_log_score_decides_where_there_is_no_evidence():
    x, y = classes()
    grid = {"C": [1e-3, 0.1, 1.0, 10.0, 1e3]}
    search = EvidenceSearch(LogisticRegression(), grid, cv=FOLDS).fit(x, y)
    other = GridSearchCV(LogisticRegression(), grid, cv=FOLDS, scoring="neg_log_loss").fit(x, y)
    assert search.criterion_ == "log_score"
    assert "not every setting has an evidence" in search.reason_
    assert search.best_params_ == other.best_params_
    mean = other.cv_results_["mean_test_score"]
    assert_allclose(search.cv_results_["mean_test_score"], mean, rtol=1e-6)
    assert list(search.predict(x)) == list(other.predict(x))
    assert_allclose(search.predict_proba(x), other.predict_proba(x))
    assert list(search.classes_) == ["no", "yes"]


def test_evidences_with_other_flat_priors_do_not_decide():
    x, y = curve()
    grid = {"fit_intercept": [True, False]}
    search = EvidenceSearch(LinearRegression(), grid).fit(x, y)
    assert search.criterion_ == "log_score"
    assert "flat priors" in search.reason_
    with pytest.raises(ValueError, match="same kind of number for all settings"):
        EvidenceSearch(LinearRegression(), grid, by="evidence").fit(x, y)


def test_evidence_of_inputs_that_a_step_has_changed_does_not_decide():
    x, y = classes()
    scaled = make_pipeline(StandardScaler(), NaiveBayes())
    search = EvidenceSearch(scaled, {"naivebayes__pseudo_count": [0.5, 1.0]}, cv=3).fit(x, y)
    assert search.criterion_ == "log_score"
    assert "inputs that a step of the pipeline has changed" in search.reason_
    assert np.isnan(search.cv_results_["log_evidence"]).all()


def test_evidence_behind_a_step_that_has_seen_the_outcomes_does_not_decide():
    x, y = classes()
    selected = make_pipeline(SelectKBest(k=1), CredoLogistic())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        search = EvidenceSearch(selected, {"selectkbest__k": [1, 2]}, cv=3).fit(x, y)
    assert search.criterion_ == "log_score"
    assert "has learned from the outcomes" in search.reason_
    assert np.isnan(search.cv_results_["log_evidence"]).all()


def test_a_best_setting_at_the_edge_is_told():
    x, y = curve()
    grid = {"basis": [PolynomialBasis(2)], "weight_precision": [0.1, 1e4, 1e6]}
    with pytest.warns(SearchWarning, match=r"smallest tried .* extend the search below"):
        search = EvidenceSearch(LinearRegression(noise_precision=100.0), grid, cv=None).fit(
            x, y
        )
    assert len(search.edges_) == 1
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_evidence_and_log_score_that_disagree_are_told_with_both_choices():
    grid = {"basis": [PolynomialBasis(k) for k in (1, 2, 3, 4, 5, 6, 7)]}
    found = []
    for seed in range(8):
        x, y = curve(25, seed=seed)
        search = EvidenceSearch(LinearRegression(), grid, cv=5).fit(x, y)
        results = search.cv_results_
        is_same = int(np.argmax(results["mean_test_score"])) == search.best_index_
        assert (search.disagreement_ == "") == is_same
        found.append(search.disagreement_)
    told = next(sentence for sentence in found if sentence)
    assert told.startswith("evidence prefers basis=PolynomialBasis")
    assert "the held-out log score basis=PolynomialBasis" in told


def test_settings_of_steps_are_reached_and_distributions_come_through():
    x, y = curve()
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    grid = {"linearregression__basis": BASES["basis"]}
    search = EvidenceSearch(pipeline, grid).fit(x, y)
    assert search.criterion_ == "evidence"
    assert search.best_params_["linearregression__basis"].degree == 2
    assert search.predict_dist(x).interval(0.9).shape == (60, 2)
    assert not hasattr(search, "predict_proba")
    assert_allclose(predict_dist(search, x).mean(), search.predict(x))


def test_a_search_is_of_the_kind_of_its_model():
    assert is_regressor(EvidenceSearch(LinearRegression(), BASES))
    assert is_classifier(EvidenceSearch(LogisticRegression(), {"C": [1.0]}))
    assert not hasattr(EvidenceSearch(RidgeClassifier(), {}), "predict_proba")


def test_a_search_can_be_cross_validated_and_tabulated():
    x, y = curve()
    search = EvidenceSearch(LinearRegression(), BASES, cv=None)
    assert (cross_val_score(search, x, y, cv=3) > 0.5).all()
    table = pd.DataFrame(search.fit(x, y).cv_results_)
    assert {"params", "param_basis", "mean_test_score", "rank_test_score"} <= set(table)


def test_settings_that_fail_are_passed_over_with_a_warning():
    x, y = classes(60)
    grid = {"n_neighbors": [-1, 25]}
    with pytest.warns(SearchWarning, match="1 of 2 combinations"):
        search = EvidenceSearch(KNeighborsClassifier(), grid).fit(x, y)
    assert search.best_params_ == {"n_neighbors": 25}
    told = search.cv_results_["error"]
    assert told[0].startswith("InvalidParameterError: The 'n_neighbors' parameter")
    assert told[1] == ""
    with pytest.raises(ValueError, match="n_neighbors"):
        EvidenceSearch(KNeighborsClassifier(), {"n_neighbors": [-1, -2]}).fit(x, y)


def test_a_list_of_grids_is_searched_as_one():
    x, y = curve()
    grids = [{"basis": [PolynomialBasis(1)]}, {"basis": [SplineBasis(4), PolynomialBasis(2)]}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = EvidenceSearch(LinearRegression(), grids).fit(x, y)
    assert len(search.cv_results_["params"]) == 3


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"by": "luck"}, "by must be"),
        ({"param_grid": {"baiss": [None]}}, r"found \['baiss'\]"),
        ({"cv": 1}, "cv must be from 2"),
        ({"by": "log_score", "cv": None}, "Give cv"),
    ],
)
def test_what_cannot_be_searched_is_refused(change, part):
    settings = {"estimator": LinearRegression(), "param_grid": BASES, **change}
    with pytest.raises(ValueError, match=part):
        EvidenceSearch(**settings).fit(*curve())


def test_without_refit_there_is_no_model_to_ask():
    search = EvidenceSearch(LinearRegression(), BASES, refit=False).fit(*curve())
    assert search.best_params_["basis"].degree == 2
    with pytest.raises(AttributeError, match="refit=False did not keep"):
        search.predict([[0.0]])


def test_settings_are_judged_by_what_was_learned_from_the_past_alone():
    x, y = curve(40)
    cv = TimeFolds(3, gap=2)
    search = EvidenceSearch(LinearRegression(), BASES, by="log_score", cv=cv).fit(x, y)
    for k, basis in enumerate(BASES["basis"]):
        scores = np.concatenate(
            [
                LinearRegression(basis).fit(x[a], y[a]).predict_dist(x[b]).log_prob(y[b])
                for a, b in cv.split(x)
            ]
        )
        assert_allclose(search.cv_results_["mean_test_score"][k], scores.mean())


class Careless(LinearRegression):
    def fit(self, X, y, sample_weight=None):
        return self.no_such_thing


def test_an_error_of_programming_is_raised_and_not_taken_for_a_bad_setting():
    with pytest.raises(AttributeError, match="no_such_thing"):
        EvidenceSearch(Careless(), {"basis": [None, PolynomialBasis(2)]}).fit(*curve())


def test_settings_of_a_foreign_regressor_are_chosen_by_the_normal_of_its_residuals():
    x, y = curve()
    grid = {"ridge__alpha": [1e-3, 1.0, 1e3]}
    pipe = make_pipeline(PolynomialFeatures(2), Ridge())
    with pytest.warns(SearchWarning, match="the smallest tried"):
        search = EvidenceSearch(pipe, grid, cv=FOLDS).fit(x, y)
    fold = np.empty(len(y), dtype=int)
    for k, (_, test) in enumerate(FOLDS.split(x)):
        fold[test] = k
    models = [clone(pipe).set_params(ridge__alpha=a) for a in grid["ridge__alpha"]]
    expected = [out_of_fold_normal(m, x, y, fold).log_prob(y).mean() for m in models]
    assert search.criterion_ == "log_score"
    assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.best_index_ == np.argmax(expected)
