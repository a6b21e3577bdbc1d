"""The classes that a model file may hold: written here, never read from a file."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from credo.data.error import ModelFileError

__all__ = ["CLASSES", "registered_class", "registered_name"]

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "AdaBoost": "credo.models.margin.ada_boost",
        "BaselineClassifier": "credo.models.baseline.baseline_classifier",
        "BaselineRegressor": "credo.models.baseline.baseline_regressor",
        "BasisTransformer": "credo.models.linear.basis_transformer",
        "Bernoulli": "credo.distributions.bernoulli",
        "BernoulliStatistics": "credo.families.bernoulli",
        "Beta": "credo.distributions.beta",
        "BetaBernoulli": "credo.families.bernoulli",
        "Binomial": "credo.distributions.binomial",
        "BitFlip": "credo.models.spins.spin_noise",
        "Brackets": "credo.inference.linear.precision_learning",
        "CandidateScore": "credo.study.result.table_regression",
        "Categorical": "credo.distributions.categorical",
        "CategoricalStatistics": "credo.families.categorical",
        "CategoryCode": "credo.data.table.column_code",
        "CategoryCount": "credo.models.generative.category_count",
        "ClassScore": "credo.study.result.table_classification",
        "ClassConditional": "credo.distributions.class_conditional",
        "ClassConditionalBelief": "credo.families.class_conditional",
        "ClassConditionalStatistics": "credo.families.class_statistics",
        "Column": "credo.data.table.columns",
        "ConcatenatedBasis": "credo.features.basis",
        "ContinuedBasis": "credo.features.continued",
        "DateCode": "credo.data.table.column_code",
        "DecisionStump": "credo.models.margin.decision_stump",
        "DenseCovariance": "credo.distributions.covariance",
        "Dirichlet": "credo.distributions.dirichlet",
        "DirichletCategorical": "credo.families.categorical",
        "Empirical": "credo.distributions.empirical",
        "Estimate": "credo.distributions.estimate",
        "EvidenceMaximization": "credo.inference.linear.precision_learning",
        "Expectation": "credo.inference.latent.expectation_maximization",
        "ExpectationMaximization": "credo.inference.latent.expectation_maximization",
        "EvidenceSearch": "credo.models.ensemble.search",
        "Exponential": "credo.distributions.exponential",
        "ExponentialMargin": "credo.decisions.margin_loss",
        "ExponentialStatistics": "credo.families.exponential",
        "FourierBasis": "credo.features.fourier",
        "Gamma": "credo.distributions.gamma",
        "GammaExponential": "credo.families.exponential",
        "GammaPoisson": "credo.families.poisson",
        "GaussianClassConditional": "credo.models.generative.class_conditional",
        "GaussianNoise": "credo.models.spins.spin_noise",
        "HingeMargin": "credo.decisions.margin_loss",
        "IncompleteRows": "credo.inference.latent.latent_class",
        "Inference": "credo.inference.engine.engine",
        "Info": "credo.inference.engine.engine",
        "InverseGamma": "credo.distributions.inverse_gamma",
        "InverseWishart": "credo.distributions.inverse_wishart",
        "IsingAnnealing": "credo.inference.spins.annealing",
        "IsingConditionalModes": "credo.inference.spins.modes",
        "IsingGibbs": "credo.inference.spins.gibbs",
        "IsingMeanField": "credo.inference.spins.mean_field",
        "IteratedConditionalModes": "credo.inference.discrete.approximate.conditional_modes",
        "JointTable": "credo.distributions.joint_table",
        "Laplace": "credo.distributions.laplace",
        "LeastSquaresClassifier": "credo.models.linear.least_squares_classifier",
        "LatentState": "credo.inference.latent.expectation_maximization",
        "LikelihoodWeighting": "credo.inference.hybrid.likelihood_weighting",
        "LinearBasis": "credo.features.linear",
        "LinearGaussian": "credo.families.linear_gaussian",
        "LinearGaussianGamma": "credo.families.linear_gaussian",
        "LinearRegression": "credo.models.linear.linear_regression",
        "LinearResponse": "credo.families.linear",
        "LinearStatistics": "credo.families.linear",
        "LogisticMargin": "credo.decisions.margin_loss",
        "LogisticBelief": "credo.inference.logistic.belief",
        "LogisticRegression": "credo.models.linear.logistic_regression",
        "Lomax": "credo.distributions.lomax",
        "LoopyBeliefPropagation": "credo.inference.discrete.approximate.belief_propagation",
        "LowRankCovariance": "credo.distributions.covariance",
        "MixedBelief": "credo.models.generative.mixed_belief",
        "MixedStatistics": "credo.models.generative.mixed_statistics",
        "Mixture": "credo.distributions.mixture",
        "ModelAverage": "credo.models.ensemble.average",
        "Moments": "credo.numerics.linear.moments",
        "Multinomial": "credo.distributions.multinomial",
        "MultivariateNormal": "credo.distributions.multivariate_normal",
        "MultivariateNormalStatistics": "credo.families.multivariate_normal",
        "MultivariateStudentT": "credo.distributions.multivariate_student_t",
        "NaiveBayes": "credo.models.generative.naive_bayes",
        "NearestNeighborsClassifier": "credo.models.neighbors.nearest_neighbors",
        "NearestNeighborsRegressor": "credo.models.neighbors.nearest_neighbors",
        "NegativeBinomial": "credo.distributions.negative_binomial",
        "Neighborhood": "credo.models.neighbors.neighborhood",
        "Normal": "credo.distributions.normal",
        "NormalInverseGamma": "credo.families.normal",
        "NormalInverseWishart": "credo.families.multivariate_normal",
        "NormalKnownVariance": "credo.families.normal_known_variance",
        "NormalStatistics": "credo.families.normal",
        "NumberCode": "credo.data.table.column_code",
        "Perceptron": "credo.models.margin.perceptron",
        "Poisson": "credo.distributions.poisson",
        "PoissonStatistics": "credo.families.poisson",
        "PolynomialBasis": "credo.features.polynomial",
        "PrecisionForm": "credo.distributions.covariance",
        "Predictive": "credo.distributions.predictive",
        "QuadraticMargin": "credo.decisions.margin_loss",
        "RadialBasis": "credo.features.radial",
        "RegularizedRisk": "credo.models.margin.regularized_risk",
        "RelevanceDetermination": "credo.inference.linear.automatic_relevance",
        "Relevances": "credo.inference.linear.automatic_relevance",
        "RidgeBelief": "credo.families.ridge_belief",
        "RowCompletion": "credo.models.gaps.row_completion",
        "Rows": "credo.families.linear",
        "SigmoidBasis": "credo.features.sigmoid",
        "SmoothHingeMargin": "credo.decisions.margin_loss",
        "Spectrum": "credo.families.ridge",
        "SphericalNormalInverseGamma": "credo.families.spherical_normal",
        "SplineBasis": "credo.features.spline",
        "Stack": "credo.models.ensemble.stack",
        "Status": "credo.inference.engine.engine",
        "StudentT": "credo.distributions.student_t",
        "Stumps": "credo.inference.margin.stumps",
        "Sums": "credo.families.statistics",
        "TableClassification": "credo.study.result.table_classification",
        "TableGibbs": "credo.inference.discrete.approximate.gibbs",
        "TableImportance": "credo.inference.discrete.approximate.importance",
        "TableMeanField": "credo.inference.discrete.approximate.mean_field",
        "TablePreparation": "credo.data.table.preparation",
        "TableRegression": "credo.study.result.table_regression",
        "TableSchema": "credo.data.table.columns",
        "TiedNormalInverseWishart": "credo.families.tied_normal",
        "TrainingRange": "credo.data.table.training_range",
        "Uniform": "credo.distributions.uniform",
        "VotedPerceptron": "credo.models.margin.voted_perceptron",
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
    <class 'credo.data.table.columns.Column'>
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
