"""Bayesian machine learning: beliefs, predictions with honest uncertainty, decisions."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.data.model_file import load as load
    from credo.data.model_file import save as save
    from credo.data.network_file import load_network as load_network
    from credo.data.network_file import save_network as save_network
    from credo.decisions.decision import decide as decide
    from credo.evaluation import laws as laws
    from credo.evaluation.compare import compare as compare
    from credo.models.ada_boost import AdaBoost as AdaBoost
    from credo.models.average import ModelAverage as ModelAverage
    from credo.models.baseline_classifier import BaselineClassifier as BaselineClassifier
    from credo.models.baseline_regressor import BaselineRegressor as BaselineRegressor
    from credo.models.basis_transformer import BasisTransformer as BasisTransformer
    from credo.models.bayesian_network import BayesianNetwork as BayesianNetwork
    from credo.models.class_conditional import (
        GaussianClassConditional as GaussianClassConditional,
    )
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
    from credo.models.stack import Stack as Stack
    from credo.models.voted_perceptron import VotedPerceptron as VotedPerceptron

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "app",
        "data",
        "decisions",
        "distributions",
        "evaluation",
        "families",
        "features",
        "graphs",
        "inference",
        "models",
        "numerics",
        "plots",
    ],
    submod_attrs={
        "data.model_file": ["load", "save"],
        "data.network_file": ["load_network", "save_network"],
        "decisions.decision": ["decide"],
        "evaluation": ["laws"],
        "evaluation.compare": ["compare"],
        "models.ada_boost": ["AdaBoost"],
        "models.average": ["ModelAverage"],
        "models.baseline_classifier": ["BaselineClassifier"],
        "models.baseline_regressor": ["BaselineRegressor"],
        "models.basis_transformer": ["BasisTransformer"],
        "models.bayesian_network": ["BayesianNetwork"],
        "models.class_conditional": ["GaussianClassConditional"],
        "models.decision_stump": ["DecisionStump"],
        "models.factor_graph": ["FactorGraph"],
        "models.ising_model": ["IsingModel"],
        "models.least_squares_classifier": ["LeastSquaresClassifier"],
        "models.linear_regression": ["LinearRegression"],
        "models.logistic_regression": ["LogisticRegression"],
        "models.markov_random_field": ["MarkovRandomField"],
        "models.naive_bayes": ["NaiveBayes"],
        "models.perceptron": ["Perceptron"],
        "models.nearest_neighbors": [
            "NearestNeighborsClassifier",
            "NearestNeighborsRegressor",
        ],
        "models.predictive": ["predict_dist"],
        "models.regularized_risk": ["RegularizedRisk"],
        "models.search": ["EvidenceSearch"],
        "models.stack": ["Stack"],
        "models.voted_perceptron": ["VotedPerceptron"],
    },
)
