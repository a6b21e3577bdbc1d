from credo.inference.density.compiled import CompiledDensity as CompiledDensity
from credo.inference.density.gibbs import BlockProblem as BlockProblem
from credo.inference.density.gibbs import Gibbs as Gibbs
from credo.inference.density.importance import BrokenEnvelope as BrokenEnvelope
from credo.inference.density.importance import ImportancePosterior as ImportancePosterior
from credo.inference.density.importance import ImportanceSampling as ImportanceSampling
from credo.inference.density.importance import ProposalProblem as ProposalProblem
from credo.inference.density.importance import RejectionSampling as RejectionSampling
from credo.inference.density.laplace import LaplaceApproximation as LaplaceApproximation
from credo.inference.density.metropolis import Metropolis as Metropolis
from credo.inference.density.metropolis import MetropolisHastings as MetropolisHastings
from credo.inference.density.metropolis import MetropolisState as MetropolisState
from credo.inference.density.metropolis import MoveProblem as MoveProblem
from credo.inference.density.pathfinder import Pathfinder as Pathfinder
from credo.inference.density.posterior import Parameter as Parameter
from credo.inference.density.posterior import Posterior as Posterior
from credo.inference.density.posterior import PredictiveCheck as PredictiveCheck
from credo.inference.density.start import BadDensity as BadDensity
from credo.inference.density.start import NoStart as NoStart
from credo.inference.density.tempering import SequentialMonteCarlo as SequentialMonteCarlo
from credo.inference.density.trajectory import HamiltonianMonteCarlo as HamiltonianMonteCarlo
from credo.inference.density.trajectory import ImproperDensity as ImproperDensity
from credo.inference.density.trajectory import NoUTurnSampling as NoUTurnSampling
from credo.inference.density.variational import CoordinateAscent as CoordinateAscent
from credo.inference.density.variational import FactorizedProblem as FactorizedProblem
from credo.inference.density.variational import GaussianVariational as GaussianVariational
from credo.inference.density.variational import NormalMeanFieldProblem as NormalMeanFieldProblem
from credo.inference.density.variational import evidence_lower_bound as evidence_lower_bound
from credo.inference.discrete.approximate.belief_propagation import (
    LoopyBeliefPropagation as LoopyBeliefPropagation,
)
from credo.inference.discrete.approximate.flat_problem import NoPossibleState as NoPossibleState
from credo.inference.discrete.approximate.gibbs import GibbsMarginals as GibbsMarginals
from credo.inference.discrete.approximate.gibbs import (
    IteratedConditionalModes as IteratedConditionalModes,
)
from credo.inference.discrete.approximate.gibbs import (
    ReducibleChainWarning as ReducibleChainWarning,
)
from credo.inference.discrete.approximate.gibbs import TableGibbs as TableGibbs
from credo.inference.discrete.approximate.graph_cut import GraphCut as GraphCut
from credo.inference.discrete.approximate.graph_cut import graph_cut as graph_cut
from credo.inference.discrete.approximate.importance import (
    ImportanceMarginals as ImportanceMarginals,
)
from credo.inference.discrete.approximate.importance import TableImportance as TableImportance
from credo.inference.discrete.approximate.mean_field import TableMeanField as TableMeanField
from credo.inference.discrete.factor_problem import FactorProblem as FactorProblem
from credo.inference.discrete.factor_problem import table_of as table_of
from credo.inference.discrete.textbook.strong_elimination import (
    StrongElimination as StrongElimination,
)
from credo.inference.discrete.textbook.strong_elimination import (
    eliminate_strongly as eliminate_strongly,
)
from credo.inference.discrete.textbook.strong_elimination import (
    hybrid_factors as hybrid_factors,
)
from credo.inference.discrete.textbook.variable_elimination import Elimination as Elimination
from credo.inference.discrete.textbook.variable_elimination import eliminate as eliminate
from credo.inference.discrete.textbook.variable_elimination import (
    enumerate_depth_first as enumerate_depth_first,
)
from credo.inference.discrete.textbook.variable_elimination import (
    enumerate_joint as enumerate_joint,
)
from credo.inference.discrete.textbook.variable_elimination import (
    enumerate_query as enumerate_query,
)
from credo.inference.discrete.textbook.variable_elimination import (
    explain_elimination as explain_elimination,
)
from credo.inference.engine.draws import Draws as Draws
from credo.inference.engine.engine import Account as Account
from credo.inference.engine.engine import Checkpoint as Checkpoint
from credo.inference.engine.engine import ConvergenceWarning as ConvergenceWarning
from credo.inference.engine.engine import Drawn as Drawn
from credo.inference.engine.engine import Engine as Engine
from credo.inference.engine.engine import FirstOf as FirstOf
from credo.inference.engine.engine import Inference as Inference
from credo.inference.engine.engine import Move as Move
from credo.inference.engine.engine import Progress as Progress
from credo.inference.engine.engine import Seconds as Seconds
from credo.inference.engine.engine import Settled as Settled
from credo.inference.engine.engine import Snapshot as Snapshot
from credo.inference.engine.engine import StandardError as StandardError
from credo.inference.engine.engine import Step as Step
from credo.inference.engine.engine import Steps as Steps
from credo.inference.engine.engine import Stop as Stop
from credo.inference.engine.engine import WeightStep as WeightStep
from credo.inference.engine.engine import run as run
from credo.inference.engine.error import ImpossibleFindings as ImpossibleFindings
from credo.inference.engine.error import InferenceTooLarge as InferenceTooLarge
from credo.inference.engine.error import NoExactAnswer as NoExactAnswer
from credo.inference.engine.error import NotSubmodular as NotSubmodular
from credo.inference.engine.finite_chain import FiniteChain as FiniteChain
from credo.inference.engine.leave_one_out import LeaveOneOut as LeaveOneOut
from credo.inference.engine.leave_one_out import compare_leave_one_out as compare_leave_one_out
from credo.inference.engine.leave_one_out import leave_one_out as leave_one_out
from credo.inference.engine.method import ApproximationWarning as ApproximationWarning
from credo.inference.engine.method import methods as methods
from credo.inference.engine.model_evidence import SettingEvidence as SettingEvidence
from credo.inference.engine.model_evidence import bic_evidence as bic_evidence
from credo.inference.engine.model_evidence import (
    evidence_over_data_sets as evidence_over_data_sets,
)
from credo.inference.engine.model_evidence import (
    evidence_over_settings as evidence_over_settings,
)
from credo.inference.engine.model_evidence import laplace_evidence as laplace_evidence
from credo.inference.engine.model_evidence import model_posterior as model_posterior
from credo.inference.engine.model_evidence import width_evidence as width_evidence
from credo.inference.engine.pareto import ParetoSmoothed as ParetoSmoothed
from credo.inference.engine.pareto import largest_k_hat as largest_k_hat
from credo.inference.engine.pareto import pareto_smoothed as pareto_smoothed
from credo.inference.engine.prior import EmpiricalPrior as EmpiricalPrior
from credo.inference.engine.prior import ImproperPosterior as ImproperPosterior
from credo.inference.engine.prior import ObjectivePrior as ObjectivePrior
from credo.inference.engine.prior import empirical_prior as empirical_prior
from credo.inference.engine.problem import BatchedDensity as BatchedDensity
from credo.inference.engine.problem import ConjugateProblem as ConjugateProblem
from credo.inference.engine.problem import CurvedProblem as CurvedProblem
from credo.inference.engine.problem import Expectation as Expectation
from credo.inference.engine.problem import LatentProblem as LatentProblem
from credo.inference.engine.problem import LogDensity as LogDensity
from credo.inference.engine.problem import Parameters as Parameters
from credo.inference.engine.problem import PointDensity as PointDensity
from credo.inference.engine.problem import SweepProblem as SweepProblem
from credo.inference.engine.sampling_distribution import bootstrap_draws as bootstrap_draws
from credo.inference.engine.sampling_distribution import (
    curvature_covariance as curvature_covariance,
)
from credo.inference.engine.sampling_distribution import jackknife_error as jackknife_error
from credo.inference.engine.sampling_distribution import sampling_table as sampling_table
from credo.inference.engine.search_border import settings_at_edge as settings_at_edge
from credo.inference.engine.stacking import hopeless_models as hopeless_models
from credo.inference.engine.stacking import stacking_weights as stacking_weights
from credo.inference.engine.weighted_draws import WeightedDraws as WeightedDraws
from credo.inference.engine.weighted_draws import ZeroWeights as ZeroWeights
from credo.inference.hybrid.gaussian_network import GaussianNetwork as GaussianNetwork
from credo.inference.hybrid.gaussian_network import is_linear_gaussian as is_linear_gaussian
from credo.inference.hybrid.likelihood_weighting import ConditionalProblem as ConditionalProblem
from credo.inference.hybrid.likelihood_weighting import (
    LikelihoodWeighting as LikelihoodWeighting,
)
from credo.inference.hybrid.likelihood_weighting import ancestral_sample as ancestral_sample
from credo.inference.hybrid.real_posterior import HybridPosterior as HybridPosterior
from credo.inference.hybrid.real_posterior import RealPosterior as RealPosterior
from credo.inference.hybrid.strong_inference import HybridInference as HybridInference
from credo.inference.hybrid.strong_inference import (
    is_conditional_gaussian as is_conditional_gaussian,
)
from credo.inference.kernel.exact import ExactProcess as ExactProcess
from credo.inference.kernel.process import FunctionDraw as FunctionDraw
from credo.inference.kernel.process import GaussianProcess as GaussianProcess
from credo.inference.kernel.series import SeriesProcess as SeriesProcess
from credo.inference.kernel.sparse import SparseProcess as SparseProcess
from credo.inference.latent.expectation_maximization import (
    ExpectationMaximization as ExpectationMaximization,
)
from credo.inference.latent.latent_class import DegenerateComponent as DegenerateComponent
from credo.inference.latent.latent_class import IncompleteRows as IncompleteRows
from credo.inference.latent.latent_class import LatentClassProblem as LatentClassProblem
from credo.inference.latent.mixture_search import MixtureSearch as MixtureSearch
from credo.inference.latent.partition import BlockedGibbs as BlockedGibbs
from credo.inference.latent.partition import CollapsedGibbs as CollapsedGibbs
from credo.inference.latent.partition import PartitionLaw as PartitionLaw
from credo.inference.latent.partition import PartitionProblem as PartitionProblem
from credo.inference.latent.student_t import StudentTProblem as StudentTProblem
from credo.inference.linear.automatic_relevance import (
    RelevanceDetermination as RelevanceDetermination,
)
from credo.inference.linear.automatic_relevance import RelevanceProblem as RelevanceProblem
from credo.inference.linear.precision_learning import (
    EvidenceMaximization as EvidenceMaximization,
)
from credo.inference.linear.precision_learning import PrecisionProblem as PrecisionProblem
from credo.inference.linear.regression import LinearProblem as LinearProblem
from credo.inference.linear.regression import infer as infer
from credo.inference.logistic.automatic_relevance import (
    LogisticRelevance as LogisticRelevance,
)
from credo.inference.logistic.automatic_relevance import (
    LogisticRelevanceProblem as LogisticRelevanceProblem,
)
from credo.inference.logistic.learning import SeparationWarning as SeparationWarning
from credo.inference.logistic.learning import VariationalLogistic as VariationalLogistic
from credo.inference.logistic.propagation import SoftmaxPropagation as SoftmaxPropagation
from credo.inference.margin.support_vectors import Inseparable as Inseparable
from credo.inference.margin.support_vectors import SupportProblem as SupportProblem
from credo.inference.margin.support_vectors import SupportSettings as SupportSettings
from credo.inference.margin.support_vectors import SupportSolution as SupportSolution
from credo.inference.margin.support_vectors import support_path as support_path
from credo.inference.margin.support_vectors import support_vectors as support_vectors
from credo.inference.neural.belief import NetworkBelief as NetworkBelief
from credo.inference.neural.outcome import ClassOutcome as ClassOutcome
from credo.inference.neural.outcome import NormalOutcome as NormalOutcome
from credo.inference.neural.outcome import VaryingNormalOutcome as VaryingNormalOutcome
from credo.inference.neural.problem import NetworkProblem as NetworkProblem
from credo.inference.neural.training import DivergedNetwork as DivergedNetwork
from credo.inference.neural.training import NetworkEnsemble as NetworkEnsemble
from credo.inference.neural.training import NetworkLaplace as NetworkLaplace
from credo.inference.sequence.hidden_markov import HiddenChain as HiddenChain
from credo.inference.sequence.hidden_markov import HiddenChainBelief as HiddenChainBelief
from credo.inference.sequence.hidden_markov import HiddenMarkovProblem as HiddenMarkovProblem
from credo.inference.sequence.hidden_markov import ImpossibleSequence as ImpossibleSequence
from credo.inference.site.expectation_propagation import (
    ExpectationPropagation as ExpectationPropagation,
)
from credo.inference.site.laplace import SiteLaplace as SiteLaplace
from credo.inference.site.likelihood import LogitLikelihood as LogitLikelihood
from credo.inference.site.likelihood import (
    NegativeBinomialLikelihood as NegativeBinomialLikelihood,
)
from credo.inference.site.likelihood import OrderedLikelihood as OrderedLikelihood
from credo.inference.site.likelihood import PoissonLikelihood as PoissonLikelihood
from credo.inference.site.likelihood import ProbitLikelihood as ProbitLikelihood
from credo.inference.site.likelihood import StudentTLikelihood as StudentTLikelihood
from credo.inference.site.prior import CovariancePrior as CovariancePrior
from credo.inference.site.prior import LinearPrior as LinearPrior
from credo.inference.site.problem import SiteProblem as SiteProblem
from credo.inference.site.softmax import SoftmaxLaplace as SoftmaxLaplace
from credo.inference.site.softmax import SoftmaxProblem as SoftmaxProblem
from credo.inference.spins.annealing import IsingAnnealing as IsingAnnealing
from credo.inference.spins.cut import IsingCut as IsingCut
from credo.inference.spins.sweep_engine import IsingConditionalModes as IsingConditionalModes
from credo.inference.spins.sweep_engine import IsingGibbs as IsingGibbs
from credo.inference.spins.sweep_engine import IsingMeanField as IsingMeanField
from credo.numerics.status import Status as Status
