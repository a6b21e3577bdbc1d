"""Estimators and networks: state a problem, choose an engine, answer questions."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.models.ada_boost import AdaBoost as AdaBoost
    from credo.models.average import EvidenceWarning as EvidenceWarning
    from credo.models.average import ModelAverage as ModelAverage
    from credo.models.baseline_classifier import BaselineClassifier as BaselineClassifier
    from credo.models.baseline_regressor import BaselineRegressor as BaselineRegressor
    from credo.models.basis_transformer import BasisTransformer as BasisTransformer
    from credo.models.bayesian_network import BayesianNetwork as BayesianNetwork
    from credo.models.class_conditional import (
        GaussianClassConditional as GaussianClassConditional,
    )
    from credo.models.class_setting import SingularClassWarning as SingularClassWarning
    from credo.models.decision_stump import DecisionStump as DecisionStump
    from credo.models.factor_graph import FactorGraph as FactorGraph
    from credo.models.ising_model import IsingModel as IsingModel
    from credo.models.least_squares_classifier import (
        LeastSquaresClassifier as LeastSquaresClassifier,
    )
    from credo.models.linear_regression import LinearRegression as LinearRegression
    from credo.models.logistic_regression import LogisticRegression as LogisticRegression
    from credo.models.markov_random_field import MarkovRandomField as MarkovRandomField
    from credo.models.naive_bayes import NaiveBayes as NaiveBayes
    from credo.models.nearest_neighbors import (
        NearestNeighborsClassifier as NearestNeighborsClassifier,
    )
    from credo.models.nearest_neighbors import (
        NearestNeighborsRegressor as NearestNeighborsRegressor,
    )
    from credo.models.perceptron import Perceptron as Perceptron
    from credo.models.predictive import predict_dist as predict_dist
    from credo.models.regularized_risk import RegularizedRisk as RegularizedRisk
    from credo.models.search import EvidenceSearch as EvidenceSearch
    from credo.models.search import SearchWarning as SearchWarning
    from credo.models.spin_noise import BitFlip as BitFlip
    from credo.models.spin_noise import GaussianNoise as GaussianNoise
    from credo.models.stack import Stack as Stack
    from credo.models.voted_perceptron import VotedPerceptron as VotedPerceptron

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "ada_boost": ["AdaBoost"],
        "average": ["EvidenceWarning", "ModelAverage"],
        "baseline_classifier": ["BaselineClassifier"],
        "baseline_regressor": ["BaselineRegressor"],
        "basis_transformer": ["BasisTransformer"],
        "bayesian_network": ["BayesianNetwork"],
        "class_conditional": ["GaussianClassConditional"],
        "class_setting": ["SingularClassWarning"],
        "decision_stump": ["DecisionStump"],
        "factor_graph": ["FactorGraph"],
        "ising_model": ["IsingModel"],
        "least_squares_classifier": ["LeastSquaresClassifier"],
        "linear_regression": ["LinearRegression"],
        "logistic_regression": ["LogisticRegression"],
        "markov_random_field": ["MarkovRandomField"],
        "naive_bayes": ["NaiveBayes"],
        "perceptron": ["Perceptron"],
        "nearest_neighbors": ["NearestNeighborsClassifier", "NearestNeighborsRegressor"],
        "predictive": ["predict_dist"],
        "regularized_risk": ["RegularizedRisk"],
        "search": ["EvidenceSearch", "SearchWarning"],
        "spin_noise": ["BitFlip", "GaussianNoise"],
        "stack": ["Stack"],
        "voted_perceptron": ["VotedPerceptron"],
    },
)
