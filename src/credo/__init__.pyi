from credo import app as app
from credo import data as data
from credo import decisions as decisions
from credo import distributions as distributions
from credo import evaluation as evaluation
from credo import families as families
from credo import features as features
from credo import graphs as graphs
from credo import inference as inference
from credo import models as models
from credo import numerics as numerics
from credo import plots as plots
from credo import study as study
from credo import validation as validation
from credo.data.error import DataError as DataError
from credo.data.error import ModelFileError as ModelFileError
from credo.data.error import NetworkFileError as NetworkFileError
from credo.data.error import OutputError as OutputError
from credo.data.error import TableError as TableError
from credo.data.model_file.model_file import load as load
from credo.data.model_file.model_file import save as save
from credo.data.network_file.network_file import load_network as load_network
from credo.data.network_file.network_file import save_network as save_network
from credo.decisions.decision import decide as decide
from credo.evaluation import laws as laws
from credo.evaluation.comparison.compare import compare as compare
from credo.evaluation.comparison.difference import (
    OptimisticTestWarning as OptimisticTestWarning,
)
from credo.graphs.node.conditional_table import RoundedTableWarning as RoundedTableWarning
from credo.graphs.structure.directed import CycleFound as CycleFound
from credo.graphs.variable import UnknownState as UnknownState
from credo.graphs.variable import UnknownVariable as UnknownVariable
from credo.inference.density.importance import BrokenEnvelope as BrokenEnvelope
from credo.inference.density.posterior import posterior as posterior
from credo.inference.density.start import BadDensity as BadDensity
from credo.inference.density.start import NoStart as NoStart
from credo.inference.density.trajectory import ImproperDensity as ImproperDensity
from credo.inference.discrete.approximate.flat_problem import (
    NoPossibleState as NoPossibleState,
)
from credo.inference.discrete.approximate.gibbs import (
    ReducibleChainWarning as ReducibleChainWarning,
)
from credo.inference.engine.engine import ConvergenceWarning as ConvergenceWarning
from credo.inference.engine.error import AnswerTooLarge as AnswerTooLarge
from credo.inference.engine.error import ImpossibleFindings as ImpossibleFindings
from credo.inference.engine.error import InferenceTooLarge as InferenceTooLarge
from credo.inference.engine.error import MemoryWithheld as MemoryWithheld
from credo.inference.engine.error import NoExactAnswer as NoExactAnswer
from credo.inference.engine.error import NotSubmodular as NotSubmodular
from credo.inference.engine.method import ApproximationWarning as ApproximationWarning
from credo.inference.engine.prior import ImproperPosterior as ImproperPosterior
from credo.inference.engine.weighted_draws import ZeroWeights as ZeroWeights
from credo.inference.latent.latent_class import DegenerateComponent as DegenerateComponent
from credo.inference.logistic.learning import SeparationWarning as SeparationWarning
from credo.inference.margin.support_vectors import Inseparable as Inseparable
from credo.inference.neural.training import DivergedNetwork as DivergedNetwork
from credo.inference.sequence.hidden_markov import ImpossibleSequence as ImpossibleSequence
from credo.models.baseline.baseline_classifier import BaselineClassifier as BaselineClassifier
from credo.models.baseline.baseline_regressor import BaselineRegressor as BaselineRegressor
from credo.models.ensemble.average import EvidenceWarning as EvidenceWarning
from credo.models.ensemble.average import ModelAverage as ModelAverage
from credo.models.ensemble.search import EvidenceSearch as EvidenceSearch
from credo.models.ensemble.search import SearchWarning as SearchWarning
from credo.models.ensemble.stack import Stack as Stack
from credo.models.generative.class_conditional import (
    GaussianClassConditional as GaussianClassConditional,
)
from credo.models.generative.class_setting import SingularClassWarning as SingularClassWarning
from credo.models.generative.generative_classifier import (
    GenerativeClassifier as GenerativeClassifier,
)
from credo.models.generative.naive_bayes import NaiveBayes as NaiveBayes
from credo.models.kernel.gaussian_process_classifier import (
    GaussianProcessClassifier as GaussianProcessClassifier,
)
from credo.models.kernel.gaussian_process_regressor import (
    GaussianProcessRegressor as GaussianProcessRegressor,
)
from credo.models.kernel.latent_process_regressor import (
    LatentProcessRegressor as LatentProcessRegressor,
)
from credo.models.kernel.relevance_vector import (
    RelevanceVectorClassifier as RelevanceVectorClassifier,
)
from credo.models.kernel.relevance_vector import (
    RelevanceVectorRegressor as RelevanceVectorRegressor,
)
from credo.models.latent.dirichlet_process_mixture import (
    DirichletProcessMixture as DirichletProcessMixture,
)
from credo.models.latent.factor_analysis import FactorAnalysis as FactorAnalysis
from credo.models.latent.factor_analysis import ProbabilisticPCA as ProbabilisticPCA
from credo.models.latent.factor_mixture import FactorMixture as FactorMixture
from credo.models.latent.gaussian_mixture import GaussianMixture as GaussianMixture
from credo.models.latent.k_means import KMeans as KMeans
from credo.models.latent.k_medoids import KMedoids as KMedoids
from credo.models.latent.kernel_density import KernelDensity as KernelDensity
from credo.models.latent.mixture_model import MixtureModel as MixtureModel
from credo.models.latent.pca import PCA as PCA
from credo.models.latent.pca import Whiten as Whiten
from credo.models.linear.basis_transformer import BasisTransformer as BasisTransformer
from credo.models.linear.least_squares_classifier import (
    LeastSquaresClassifier as LeastSquaresClassifier,
)
from credo.models.linear.linear_regression import LinearRegression as LinearRegression
from credo.models.linear.logistic_regression import LogisticRegression as LogisticRegression
from credo.models.linear.student_t_regression import (
    StudentTRegression as StudentTRegression,
)
from credo.models.margin.ada_boost import AdaBoost as AdaBoost
from credo.models.margin.decision_stump import DecisionStump as DecisionStump
from credo.models.margin.perceptron import Perceptron as Perceptron
from credo.models.margin.regularized_risk import RegularizedRisk as RegularizedRisk
from credo.models.margin.support_vector_machine import (
    SupportVectorClassifier as SupportVectorClassifier,
)
from credo.models.margin.support_vector_machine import (
    SupportVectorRegressor as SupportVectorRegressor,
)
from credo.models.margin.voted_perceptron import VotedPerceptron as VotedPerceptron
from credo.models.neighbors.nearest_neighbors import (
    NearestNeighborsClassifier as NearestNeighborsClassifier,
)
from credo.models.neighbors.nearest_neighbors import (
    NearestNeighborsRegressor as NearestNeighborsRegressor,
)
from credo.models.network.bayesian_network import BayesianNetwork as BayesianNetwork
from credo.models.network.factor_graph import FactorGraph as FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField as MarkovRandomField
from credo.models.neural.neural_network import (
    NeuralNetworkClassifier as NeuralNetworkClassifier,
)
from credo.models.neural.neural_network import (
    NeuralNetworkRegressor as NeuralNetworkRegressor,
)
from credo.models.sequence.hidden_markov import HiddenMarkov as HiddenMarkov
from credo.models.sequence.markov_chain import MarkovChain as MarkovChain
from credo.models.spins.ising_model import IsingModel as IsingModel
from credo.numerics.linear.linear_algebra import NotPositiveDefinite as NotPositiveDefinite
from credo.study.estimator import TableClassifier as TableClassifier
from credo.study.estimator import TableRegressor as TableRegressor
from credo.study.study import Study as Study
from credo.study.study import fit as fit
from credo.validation.predictive import predict_dist as predict_dist

__version__: str
