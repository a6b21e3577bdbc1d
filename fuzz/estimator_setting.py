"""The estimators that are fuzzed, each in the ways it can be set that differ in code."""

from sklearn.base import BaseEstimator

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
from credo.features import FourierBasis, LinearBasis, PolynomialBasis, RadialBasis, SplineBasis

__all__ = ["CLASSIFIERS", "REGRESSORS", "TRANSFORMERS"]

CLASSIFIERS: tuple[BaseEstimator, ...] = (
    AdaBoost(10),
    BaselineClassifier(),
    DecisionStump(),
    GaussianClassConditional(),
    GaussianClassConditional("tied"),
    GaussianClassConditional("diagonal", "map"),
    GaussianClassConditional("spherical", "ml", variance_floor=1e-3),
    LeastSquaresClassifier(),
    LogisticRegression(),
    LogisticRegression(inference="map"),
    LogisticRegression(SplineBasis(4), weight_precision=1.0),
    LogisticRegression(class_weight="balanced"),
    ModelAverage(
        [("line", LogisticRegression()), ("radial", LogisticRegression(RadialBasis(3)))]
    ),
    NaiveBayes(),
    NaiveBayes(inference="map"),
    NaiveBayes("categorical"),
    NaiveBayes("counts"),
    NearestNeighborsClassifier(),
    NearestNeighborsClassifier(3),
    Perceptron(),
    RegularizedRisk(),
    RegularizedRisk("hinge", penalty="lasso"),
    Stack([("line", LogisticRegression()), ("bayes", NaiveBayes())], cv=3),
    VotedPerceptron(),
)
REGRESSORS: tuple[BaseEstimator, ...] = (
    BaselineRegressor(),
    EvidenceSearch(LinearRegression(), {"basis": [SplineBasis(4), None]}, cv=3),
    LinearRegression(),
    LinearRegression(inference="ml"),
    LinearRegression(inference="map"),
    LinearRegression(weight_precision="ard"),
    LinearRegression(fit_intercept=False),
    LinearRegression(weight_precision=1.0, noise_precision=2.0),
    LinearRegression(PolynomialBasis(2, orthogonal=True)),
    LinearRegression(SplineBasis(5)),
    LinearRegression(RadialBasis(6) + LinearBasis()),
    LinearRegression(FourierBasis(2)),
    ModelAverage([("line", LinearRegression()), ("curve", LinearRegression(SplineBasis(5)))]),
    NearestNeighborsRegressor(),
    NearestNeighborsRegressor(3, weights="gaussian"),
    Stack([("line", LinearRegression()), ("constant", BaselineRegressor())], cv=3),
)
TRANSFORMERS: tuple[BaseEstimator, ...] = (
    BasisTransformer(SplineBasis(5)),
    BasisTransformer(RadialBasis(3)),
)
