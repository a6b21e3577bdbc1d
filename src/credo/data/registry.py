"""The classes that a model file may hold: written here, never read from a file."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from credo.data.error import ModelFileError

__all__ = ["CLASSES", "registered_class", "registered_name"]

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "AdaBoost": "credo.models.ada_boost",
        "BaselineClassifier": "credo.models.baseline_classifier",
        "BaselineRegressor": "credo.models.baseline_regressor",
        "BasisTransformer": "credo.models.basis_transformer",
        "Bernoulli": "credo.distributions.bernoulli",
        "BernoulliStatistics": "credo.families.bernoulli",
        "Beta": "credo.distributions.beta",
        "BetaBernoulli": "credo.families.bernoulli",
        "Binomial": "credo.distributions.binomial",
        "BitFlip": "credo.models.spin_noise",
        "Brackets": "credo.inference.evidence",
        "CandidateScore": "credo.data.table_regression",
        "Categorical": "credo.distributions.categorical",
        "CategoricalStatistics": "credo.families.categorical",
        "CategoryCode": "credo.data.column_code",
        "CategoryCount": "credo.models.category_count",
        "ClassScore": "credo.data.table_classification",
        "ClassConditional": "credo.distributions.class_conditional",
        "ClassConditionalBelief": "credo.families.class_conditional",
        "ClassConditionalStatistics": "credo.families.class_statistics",
        "Column": "credo.data.columns",
        "ConcatenatedBasis": "credo.features.basis",
        "ContinuedBasis": "credo.features.continued",
        "DateCode": "credo.data.column_code",
        "DecisionStump": "credo.models.decision_stump",
        "DenseCovariance": "credo.distributions.covariance",
        "Dirichlet": "credo.distributions.dirichlet",
        "DirichletCategorical": "credo.families.categorical",
        "Empirical": "credo.distributions.empirical",
        "Estimate": "credo.distributions.estimate",
        "EvidenceMaximization": "credo.inference.evidence",
        "Expectation": "credo.inference.expectation_maximization",
        "ExpectationMaximization": "credo.inference.expectation_maximization",
        "EvidenceSearch": "credo.models.search",
        "Exponential": "credo.distributions.exponential",
        "ExponentialMargin": "credo.decisions.margin_loss",
        "ExponentialStatistics": "credo.families.exponential",
        "FourierBasis": "credo.features.fourier",
        "Gamma": "credo.distributions.gamma",
        "GammaExponential": "credo.families.exponential",
        "GammaPoisson": "credo.families.poisson",
        "GaussianClassConditional": "credo.models.class_conditional",
        "GaussianNoise": "credo.models.spin_noise",
        "HingeMargin": "credo.decisions.margin_loss",
        "IncompleteRows": "credo.inference.latent_class",
        "Inference": "credo.inference.engine",
        "Info": "credo.inference.engine",
        "InverseGamma": "credo.distributions.inverse_gamma",
        "InverseWishart": "credo.distributions.inverse_wishart",
        "IsingAnnealing": "credo.inference.ising_annealing",
        "IsingConditionalModes": "credo.inference.ising_modes",
        "IsingGibbs": "credo.inference.ising_gibbs",
        "IsingMeanField": "credo.inference.ising_mean_field",
        "IteratedConditionalModes": "credo.inference.conditional_modes",
        "JointTable": "credo.distributions.joint_table",
        "Laplace": "credo.distributions.laplace",
        "LeastSquaresClassifier": "credo.models.least_squares_classifier",
        "LatentState": "credo.inference.expectation_maximization",
        "LikelihoodWeighting": "credo.inference.likelihood_weighting",
        "LinearBasis": "credo.features.linear",
        "LinearGaussian": "credo.families.linear_gaussian",
        "LinearGaussianGamma": "credo.families.linear_gaussian",
        "LinearRegression": "credo.models.linear_regression",
        "LinearResponse": "credo.families.linear",
        "LinearStatistics": "credo.families.linear",
        "LogisticMargin": "credo.decisions.margin_loss",
        "LogisticBelief": "credo.inference.logistic_belief",
        "LogisticRegression": "credo.models.logistic_regression",
        "Lomax": "credo.distributions.lomax",
        "LoopyBeliefPropagation": "credo.inference.belief_propagation",
        "LowRankCovariance": "credo.distributions.covariance",
        "MixedBelief": "credo.models.mixed_belief",
        "MixedStatistics": "credo.models.mixed_statistics",
        "Mixture": "credo.distributions.mixture",
        "ModelAverage": "credo.models.average",
        "Moments": "credo.numerics.moments",
        "Multinomial": "credo.distributions.multinomial",
        "MultivariateNormal": "credo.distributions.multivariate_normal",
        "MultivariateNormalStatistics": "credo.families.multivariate_normal",
        "MultivariateStudentT": "credo.distributions.multivariate_student_t",
        "NaiveBayes": "credo.models.naive_bayes",
        "NearestNeighborsClassifier": "credo.models.nearest_neighbors",
        "NearestNeighborsRegressor": "credo.models.nearest_neighbors",
        "NegativeBinomial": "credo.distributions.negative_binomial",
        "Neighborhood": "credo.models.neighborhood",
        "Normal": "credo.distributions.normal",
        "NormalInverseGamma": "credo.families.normal",
        "NormalInverseWishart": "credo.families.multivariate_normal",
        "NormalKnownVariance": "credo.families.normal_known_variance",
        "NormalStatistics": "credo.families.normal",
        "NumberCode": "credo.data.column_code",
        "Perceptron": "credo.models.perceptron",
        "Poisson": "credo.distributions.poisson",
        "PoissonStatistics": "credo.families.poisson",
        "PolynomialBasis": "credo.features.polynomial",
        "PrecisionForm": "credo.distributions.covariance",
        "Predictive": "credo.distributions.predictive",
        "QuadraticMargin": "credo.decisions.margin_loss",
        "RadialBasis": "credo.features.radial",
        "RegularizedRisk": "credo.models.regularized_risk",
        "RelevanceDetermination": "credo.inference.relevance",
        "Relevances": "credo.inference.relevance",
        "RidgeBelief": "credo.families.ridge_belief",
        "RowCompletion": "credo.models.row_completion",
        "Rows": "credo.families.linear",
        "SigmoidBasis": "credo.features.sigmoid",
        "SmoothHingeMargin": "credo.decisions.margin_loss",
        "Spectrum": "credo.families.ridge",
        "SphericalNormalInverseGamma": "credo.families.spherical_normal",
        "SplineBasis": "credo.features.spline",
        "Stack": "credo.models.stack",
        "Status": "credo.inference.engine",
        "StudentT": "credo.distributions.student_t",
        "Stumps": "credo.numerics.stumps",
        "Sums": "credo.families.statistics",
        "TableClassification": "credo.data.table_classification",
        "TableGibbs": "credo.inference.table_gibbs",
        "TableImportance": "credo.inference.table_importance",
        "TableMeanField": "credo.inference.mean_field",
        "TablePreparation": "credo.data.preparation",
        "TableRegression": "credo.data.table_regression",
        "TableSchema": "credo.data.columns",
        "TiedNormalInverseWishart": "credo.families.tied_normal",
        "TrainingRange": "credo.data.training_range",
        "Uniform": "credo.distributions.uniform",
        "VotedPerceptron": "credo.models.voted_perceptron",
        "Wishart": "credo.distributions.wishart",
        "ZeroOneMargin": "credo.decisions.margin_loss",
    }
)
"""Module of each class by its name."""


def registered_class(name: object) -> type:
    """Return the class of that name in `CLASSES`; raise a `ModelFileError` if there is none.

    Examples
    --------
    >>> registered_class("Column")
    <class 'credo.data.columns.Column'>
    """
    if not isinstance(name, str) or name not in CLASSES:
        raise ModelFileError(f"must name classes of credo's registry; found {str(name)[:80]!r}")
    cls: type = getattr(import_module(CLASSES[name]), name)
    return cls


def registered_name(cls: type) -> str | None:
    """Return the name under which a class is registered, or None.

    Examples
    --------
    >>> registered_name(dict) is None
    True
    """
    name = cls.__name__
    return name if CLASSES.get(name) == cls.__module__ else None
