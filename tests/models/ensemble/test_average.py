import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Perceptron, Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from credo import (
    LinearRegression,
    LogisticRegression,
    ModelAverage,
    NaiveBayes,
    compare,
)
from credo.features import PolynomialBasis, RadialBasis
from credo.models.ensemble.average import EvidenceWarning
from credo.validation import cross_validate, out_of_fold_normal

X = np.array([[0.0], [1.0], [2.0], [3.0]])
T = np.array([0.2, 0.9, 2.1, 2.8])
FIXED = {"weight_precision": 0.5, "noise_precision": 4.0, "penalize_intercept": True}


def degrees(n=4, **settings):
    return [(f"degree {k}", LinearRegression(PolynomialBasis(k), **settings)) for k in range(n)]


def test_average_over_degrees_matches_the_worked_example():
    average = ModelAverage(degrees(**FIXED)).fit(X, T)
    evidences = [-11.3968737368, -4.8393921148, -6.6779707628, -8.4771021410]
    assert_allclose(average.log_evidences_, evidences, atol=1e-9)
    posterior = [0.0011960612, 0.8426194859, 0.1340130023, 0.0221714505]
    assert_allclose(average.probability_, posterior, atol=1e-9)
    predictive = average.predict_dist([[4.0]])
    assert_allclose(predictive.mean(), 3.7198625242, atol=1e-8)
    assert_allclose(predictive.variance(), 0.9950082330, atol=1e-8)


@pytest.mark.parametrize("other", [Ridge(), LinearRegression()])
def test_an_unheard_model_may_stand_beside_others_without_any_probability(other):
    named = [*degrees(2, **FIXED), ("other", other)]
    fitted = [clone(model).fit(X, T) for _, model in named]
    average = ModelAverage(named).weigh(fitted, unheard=["other"])
    others = ModelAverage(named[:2]).weigh(fitted[:2])
    assert_allclose(average.log_evidences_, [*others.log_evidences_, np.nan])
    assert_allclose(average.probability_, [*others.probability_, 0.0])
    assert average.log_evidence_ == pytest.approx(others.log_evidence_)
    with pytest.raises(TypeError, match="must have a log_evidence_"):
        ModelAverage(named[2:]).weigh(fitted[2:], unheard=["other"])


def test_a_model_without_an_evidence_is_not_weighed():
    named = [*degrees(2, **FIXED), ("ridge", Ridge())]
    with pytest.raises(TypeError, match=r"must have a log_evidence_.*none in \['ridge'\]"):
        ModelAverage(named).weigh([clone(model).fit(X, T) for _, model in named])


def test_doubt_of_the_average_holds_the_disagreement_of_its_models():
    average = ModelAverage(degrees(**FIXED)).fit(X, T)
    predictive = average.predict_dist([[4.0], [10.0]])
    assert_allclose(
        predictive.epistemic_std**2 + predictive.aleatoric_std**2, predictive.variance()
    )
    parts = [m.predict_dist([[4.0], [10.0]]) for m in average.estimators_]
    inside = sum(
        w * p.epistemic_std**2 for w, p in zip(average.probability_, parts, strict=True)
    )
    assert (predictive.epistemic_std**2 > inside).all()


def test_evidence_of_the_average_is_the_prior_mean_of_the_evidences():
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    average = ModelAverage(degrees(**FIXED), prior=prior).fit(X, T)
    expected = np.log(prior @ np.exp(average.log_evidences_))
    assert_allclose(average.log_evidence_, expected, rtol=1e-12)
    assert average.evidence_method_ == "exact"


def test_average_over_the_number_of_radial_functions_is_a_proper_predictive():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (60, 1))
    y = np.sin(6 * x[:, 0]) + 0.2 * rng.normal(size=60)
    average = ModelAverage(
        [(f"{n} functions", LinearRegression(RadialBasis(n))) for n in (2, 5, 10)]
    ).fit(x, y)
    low, high = average.predict_interval(x, 0.9).T
    assert 0.75 < ((low < y) & (y < high)).mean() <= 1
    predictive = average.predict_dist(x)
    assert_allclose(predictive.cdf(predictive.quantile(0.3)), 0.3, atol=1e-9)
    assert list(average.table().columns) == ["log_evidence", "probability"]


def test_averaging_models_with_and_without_flat_intercept_warns():
    mixed = [("with", LinearRegression()), ("without", LinearRegression(fit_intercept=False))]
    with pytest.warns(EvidenceWarning, match="same flat priors"):
        ModelAverage(mixed).fit(X, T)


def test_evidences_of_different_things_are_refused():
    x = np.random.default_rng(0).normal(size=(40, 2))
    mixed = [("logistic", LogisticRegression()), ("bayes", NaiveBayes())]
    with pytest.raises(ValueError, match=r"'X and y', 'y given X'.*use Stack"):
        ModelAverage(mixed).fit(x, x[:, 0] > 0.3)


def test_without_a_loss_an_average_decides_by_squared_error_or_number_of_errors():
    numbers = ModelAverage(degrees(**FIXED)).fit(X, T)
    predictive = numbers.predict_dist([[4.0]])
    assert_allclose(numbers.decide([[4.0]]).action, predictive.mean())
    assert_allclose(numbers.decide([[4.0]]).expected_loss, predictive.variance())
    x = np.random.default_rng(0).normal(size=(40, 2))
    classes = ModelAverage([("logistic", LogisticRegression())]).fit(x, x[:, 0] > 0.3)
    assert_allclose(classes.decide(x).expected_loss, classes.predict_proba(x).min(axis=1))


def test_models_without_evidence_and_empty_lists_are_refused():
    with pytest.raises(ValueError, match="found NaN for model 0"):
        ModelAverage([("ml", LinearRegression(inference="ml"))]).fit(X, T)
    for estimators in ([], {}, "line", [3.0], [("line", None)]):
        with pytest.raises(ValueError, match=r"models by name, \(name, estimator\) pairs or"):
            ModelAverage(estimators).fit(X, T)
    with pytest.raises(TypeError, match=r"found none in \['ridge'\]. Average credo"):
        ModelAverage([("ridge", Ridge())]).weigh([Ridge().fit(X, T)])


def test_models_by_name_and_models_alone_are_averaged_as_pairs_are():
    pairs = degrees(2, **FIXED)
    expected = ModelAverage(pairs).fit(X, T)
    by_name = ModelAverage(dict(pairs)).fit(X, T)
    alone = ModelAverage([model for _, model in pairs]).fit(X, T)
    assert by_name.names_ == expected.names_
    assert alone.names_ == ["LinearRegression 1", "LinearRegression 2"]
    for average in (by_name, alone):
        assert_allclose(average.probability_, expected.probability_)
        assert_allclose(average.predict([[4.0]]), expected.predict([[4.0]]))
    assert clone(by_name).fit(X, T).names_ == expected.names_


def test_parts_of_a_dict_are_reached_and_replaced_by_name():
    average = ModelAverage({"line": LinearRegression(), "ridge": Ridge()})
    average.set_params(ridge__alpha=3.0)
    assert average.estimators["ridge"].alpha == 3.0
    assert average.get_params()["ridge__alpha"] == 3.0
    average.set_params(ridge=LinearRegression(inference="ml"))
    assert dict(average.estimators)["ridge"].inference == "ml"
    average.set_params(estimators=[("one", Ridge())], prior=[1.0])
    assert average.get_params(deep=False)["estimators"][0][0] == "one"


def noisy_line(n=40):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, x @ [1.0, 0.2] + 0.5 * rng.normal(size=n)


def test_foreign_regressors_are_weighed_by_their_held_out_densities():
    x, y = noisy_line()
    cv, prior = KFold(4), [0.2, 0.3, 0.5]
    models = {"line": LinearRegression(), "ridge": Ridge(20.0), "mean": DummyRegressor()}
    average = ModelAverage(models, prior=prior, cv=cv).fit(x, y)
    fold = np.arange(40) // 10
    scores = [
        cross_validate(LinearRegression(), x, y, labels=fold).log_score,
        out_of_fold_normal(Ridge(20.0), x, y, fold).log_prob(y),
        out_of_fold_normal(DummyRegressor(), x, y, fold).log_prob(y),
    ]
    product = prior * np.exp(np.sum(scores, axis=1))
    assert average.criterion_ == "log_score"
    assert not hasattr(average, "log_evidence_")
    assert_allclose(average.log_scores_, scores)
    assert_allclose(average.probability_, product / product.sum())
    found = average.table()
    assert_allclose(found["log_score"], np.mean(scores, axis=1))
    assert_allclose(found["log_score_error"], np.std(scores, axis=1, ddof=1) / np.sqrt(40))
    mean = [model.fit(x, y).predict(x[:3]) for model in models.values()]
    assert_allclose(average.predict(x[:3]), average.probability_ @ mean)


def test_a_foreign_regressor_alone_has_the_noise_of_its_residuals():
    x, y = noisy_line()
    average = ModelAverage([Ridge()], cv=KFold(4)).fit(x, y)
    mean = cross_val_predict(Ridge(), x, y, cv=KFold(4))
    scale = np.sqrt(np.mean((y - mean) ** 2))
    expected = stats.t(40, Ridge().fit(x, y).predict(x[:3]), scale)
    found = average.predict_interval(x[:3], 0.9)
    assert_allclose(found, np.column_stack(expected.interval(0.9)))


def test_weights_count_in_held_out_densities_as_copies_would():
    x, y = noisy_line(20)
    weight = np.where(np.arange(20) < 5, 0.0, 2.0)
    cv = KFold(5)
    found = ModelAverage([LinearRegression(), Ridge()], cv=cv).fit(x, y, sample_weight=weight)
    total = 2.0 * found.log_scores_[:, 5:].sum(axis=1)
    assert np.isnan(found.log_scores_[:, :5]).all()
    expected = np.exp(total - total.max())
    assert_allclose(found.probability_, expected / expected.sum())


def test_foreign_classifiers_are_averaged():
    x, _ = noisy_line(90)
    y = np.where(x[:, 0] + 0.5 * x[:, 1] > 0.2, "yes", "no")
    models = [("bayes", GaussianNB()), ("logistic", LogisticRegression())]
    average = ModelAverage(models, cv=3).fit(x, y)
    assert average.criterion_ == "log_score"
    parts = [model.fit(x, y).predict_proba(x) for _, model in models]
    expected = np.tensordot(average.probability_, parts, axes=1)
    assert_allclose(average.predict_proba(x), expected, rtol=1e-9)
    with pytest.raises(TypeError, match=r"found none in \['perceptron'\]"):
        ModelAverage([*models, ("perceptron", Perceptron())]).fit(x, y)


def test_a_pipeline_is_weighed_by_the_evidence_of_its_last_step():
    x, y = noisy_line()
    scaled = make_pipeline(StandardScaler(), LinearRegression())
    average = ModelAverage({"plain": LinearRegression(), "scaled": scaled}).fit(x, y)
    inner = LinearRegression().fit(StandardScaler().fit_transform(x), y)
    assert average.criterion_ == "evidence"
    assert_allclose(average.log_evidences_[1], inner.log_evidence_)
    chosen = make_pipeline(SelectKBest(f_regression, k=1), LinearRegression())
    by_score = average.set_params(scaled=chosen).fit(x, y)
    assert by_score.criterion_ == "log_score"
    assert not hasattr(by_score, "log_evidences_")


def test_an_average_with_foreign_parts_is_weighed_anew_in_every_fold():
    x, y = noisy_line()
    average, fold = ModelAverage([LinearRegression(), Ridge()], cv=3), np.arange(40) % 4
    found = cross_validate(average, x, y, labels=fold)
    for k in range(4):
        again = clone(average).fit(x[fold != k], y[fold != k]).predict_dist(x[fold == k])
        assert_allclose(found.log_score[fold == k], again.log_prob(y[fold == k]))
    table = compare({"average": average, "ridge": Ridge()}, x, y, cv=fold).table
    assert_allclose(table.loc["average", "log_score"], found.log_score.mean())


def test_models_that_all_rule_out_what_came_true_are_refused():
    x, y = np.arange(12.0)[:, None], np.array(["a", "b"] * 6)
    bold = {"one": KNeighborsClassifier(1), "near": KNeighborsClassifier(1, weights="distance")}
    with pytest.raises(ValueError, match="each of \\['one', 'near'\\] ruled some out"):
        ModelAverage(bold, cv=3).fit(x, y)


def test_settings_of_parts_are_reached_by_name():
    average = ModelAverage(degrees(2))
    average.set_params(**{"degree 1__weight_precision": 3.0})
    assert average.estimators[1][1].weight_precision == 3.0
    assert average.get_params()["degree 1__weight_precision"] == 3.0


def test_a_model_that_the_prior_rules_out_has_no_say():
    average = ModelAverage(degrees(2, **FIXED), prior=[1.0, 0.0]).fit(X, T)
    assert_allclose(average.probability_, [1.0, 0.0])
    assert_allclose(average.log_evidence_, average.log_evidences_[0])


def test_method_of_the_average_is_that_of_its_least_exact_part():
    mixed = [
        ("known", LinearRegression(**FIXED)),
        ("learned", LinearRegression(**{**FIXED, "weight_precision": "evidence"})),
    ]
    assert ModelAverage(mixed).fit(X, T).evidence_method_ == "grid"
