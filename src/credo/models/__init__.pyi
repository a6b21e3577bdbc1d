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
from credo.models.spins.ising_model import BitFlip as BitFlip
from credo.models.spins.ising_model import GaussianNoise as GaussianNoise
from credo.models.spins.ising_model import IsingModel as IsingModel
from credo.validation.predictive import predict_dist as predict_dist
