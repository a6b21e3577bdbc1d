import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from credo import LinearRegression, LogisticRegression, ModelAverage, NaiveBayes
from credo.features import PolynomialBasis, RadialBasis
from credo.models.ensemble.average import EvidenceWarning

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
    for estimators in ([], [LinearRegression()], {"line": LinearRegression()}):
        with pytest.raises(ValueError, match="list of \\(name, estimator\\) pairs"):
            ModelAverage(estimators).fit(X, T)
    with pytest.raises(TypeError, match="found none in \\['ridge'\\]"):
        ModelAverage([("ridge", Ridge())]).fit(X, T)


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
