"""Every estimator of the room obeys the laws, in each of the ways it can be set."""

import inspect
import warnings

import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression as SomeLogistic
from sklearn.tree import DecisionTreeClassifier

import credo.models
from credo import (
    AdaBoost,
    BaselineClassifier,
    BaselineRegressor,
    BasisTransformer,
    DecisionStump,
    EvidenceSearch,
    GaussianClassConditional,
    LeastSquaresClassifier,
    LinearRegression,
    LogisticRegression,
    ModelAverage,
    NaiveBayes,
    NearestNeighborsClassifier,
    NearestNeighborsRegressor,
    Perceptron,
    RegularizedRisk,
    Stack,
    VotedPerceptron,
)
from credo.distributions import Gamma
from credo.evaluation import laws
from credo.families import NormalInverseGamma
from credo.features import (
    FourierBasis,
    LinearBasis,
    PolynomialBasis,
    RadialBasis,
    SigmoidBasis,
    SplineBasis,
)

GIVEN = {"weight_precision": 1.0, "noise_precision": 2.0}
EXAMPLES = {
    "LinearRegression": [
        (LinearRegression(), True),
        (LinearRegression(inference="ml"), True),
        (LinearRegression(inference="map"), True),
        (LinearRegression(weight_precision="ard"), True),
        (LinearRegression(fit_intercept=False), False),
        (LinearRegression(penalize_intercept=True), False),
        (LinearRegression(**GIVEN), False),
        (LinearRegression(noise_precision=Gamma(1.0, 1.0)), False),
        (LinearRegression(PolynomialBasis(2, orthogonal=True)), True),
        (LinearRegression(SplineBasis(5)), True),
        (LinearRegression(RadialBasis(6) + LinearBasis()), True),
        (LinearRegression(FourierBasis(2)), True),
        (LinearRegression(SigmoidBasis(4)), True),
    ],
    "ModelAverage": [
        (
            ModelAverage(
                [
                    ("constant", LinearRegression(PolynomialBasis(0))),
                    ("line", LinearRegression()),
                    ("spline", LinearRegression(SplineBasis(5))),
                ]
            ),
            True,
        ),
        (
            ModelAverage(
                [("line", LogisticRegression()), ("curve", LogisticRegression(SplineBasis(4)))]
            ),
            True,
        ),
    ],
    "LogisticRegression": [
        (LogisticRegression(), True),
        (LogisticRegression(inference="map"), True),
        (LogisticRegression(inference="ml"), True),
        (LogisticRegression(weight_precision=1.0, integration="probit"), False),
        (LogisticRegression(RadialBasis(6)), True),
        (LogisticRegression(class_weight="balanced"), True),
    ],
    "EvidenceSearch": [
        (EvidenceSearch(LinearRegression(), {"basis": [SplineBasis(4), None]}, cv=3), True),
        (EvidenceSearch(SomeLogistic(), {"C": [0.1, 1.0]}, cv=3), False),
    ],
    "Stack": [
        (
            Stack(
                [("line", LinearRegression()), ("curve", LinearRegression(SplineBasis(5)))],
                cv=3,
            ),
            True,
        ),
        (Stack([("logistic", SomeLogistic()), ("constant", DummyClassifier())], cv=3), False),
    ],
    "BaselineClassifier": [(BaselineClassifier(), True), (BaselineClassifier(0.5), True)],
    "BaselineRegressor": [
        (BaselineRegressor(), True),
        (BaselineRegressor(NormalInverseGamma(0.0, 0.1, 1.0, 1.0)), False),
    ],
    "GaussianClassConditional": [
        (GaussianClassConditional(covariance, inference, variance_floor=floor), is_unit_free)
        for covariance, is_unit_free in (
            ("full", True),
            ("tied", True),
            ("diagonal", True),
            ("spherical", False),
        )
        for inference, floor in (("exact", None), ("map", None), ("ml", None), ("ml", 1e-3))
    ],
    "NaiveBayes": [
        (NaiveBayes(), True),
        (NaiveBayes(inference="map"), True),
        (NaiveBayes(inference="ml"), True),
        (NaiveBayes("categorical"), True),
        (NaiveBayes("counts"), False),
        (NaiveBayes("counts", inference="map"), False),
        (NaiveBayes("counts", inference="ml"), False),
        (NaiveBayes(normal_prior=NormalInverseGamma(0.0, 0.1, 1.0, 1.0)), False),
    ],
    "LeastSquaresClassifier": [
        (LeastSquaresClassifier(), True),
        (LeastSquaresClassifier(SplineBasis(5)), True),
    ],
    "Perceptron": [(Perceptron(), True), (Perceptron(SplineBasis(4)), True)],
    "VotedPerceptron": [(VotedPerceptron(), True), (VotedPerceptron(SplineBasis(5)), True)],
    "DecisionStump": [(DecisionStump(), True), (DecisionStump(0.1), True)],
    "AdaBoost": [
        (AdaBoost(), True),
        (AdaBoost(30, validation_share=0.3, random_state=1), True),
        (AdaBoost(5, DecisionTreeClassifier(max_depth=2)), True),
    ],
    "RegularizedRisk": [
        (RegularizedRisk(), True),
        (RegularizedRisk("hinge"), True),
        (RegularizedRisk("exponential"), True),
        (RegularizedRisk("quadratic", SplineBasis(5)), True),
        (RegularizedRisk("zero_one"), True),
        (RegularizedRisk("hinge", penalty="lasso"), True),
        (RegularizedRisk(costs=(1.0, 4.0)), True),
    ],
    "BasisTransformer": [(BasisTransformer(SplineBasis(5)), True)],
    "NearestNeighborsClassifier": [
        (NearestNeighborsClassifier(), True),
        (NearestNeighborsClassifier(3), True),
        (NearestNeighborsClassifier(weights="gaussian"), True),
        (NearestNeighborsClassifier(4, prior_strength=0.0), True),
        (NearestNeighborsClassifier(5, standardize=False), False),
    ],
    "NearestNeighborsRegressor": [
        (NearestNeighborsRegressor(), True),
        (NearestNeighborsRegressor(3), True),
        (NearestNeighborsRegressor(weights="gaussian"), True),
        (NearestNeighborsRegressor(5, "gaussian", width=0.7, prior_strength=0.0), True),
    ],
}
CASES = [case for cases in EXAMPLES.values() for case in cases]


def estimators():
    found = [getattr(credo.models, name) for name in credo.models.__all__]
    return {e.__name__ for e in found if inspect.isclass(e) and issubclass(e, BaseEstimator)}


def test_every_estimator_of_the_room_has_an_example():
    assert estimators() == set(EXAMPLES)


@pytest.mark.parametrize(("estimator", "unit_free"), CASES, ids=lambda case: str(case)[:60])
def test_estimator_obeys_the_laws(estimator, unit_free):
    is_placed = getattr(estimator, "basis", None) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = laws.check_estimator(estimator, unit_free=unit_free, streams=not is_placed)
    assert "passes_the_checks_of_scikit_learn" in names
    if hasattr(estimator, "partial_fit") and not is_placed:
        assert "chunks_equal_the_batch" in names
