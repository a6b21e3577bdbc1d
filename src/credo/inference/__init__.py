"""Engines that turn a problem into a posterior."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.inference.account import ApproximationWarning as ApproximationWarning
    from credo.inference.belief_propagation import (
        LoopyBeliefPropagation as LoopyBeliefPropagation,
    )
    from credo.inference.conditional_modes import (
        IteratedConditionalModes as IteratedConditionalModes,
    )
    from credo.inference.elimination_text import explain_elimination as explain_elimination
    from credo.inference.engine import ConvergenceWarning as ConvergenceWarning
    from credo.inference.engine import Engine as Engine
    from credo.inference.engine import Inference as Inference
    from credo.inference.engine import Info as Info
    from credo.inference.engine import Status as Status
    from credo.inference.engine import run as run
    from credo.inference.enumeration import enumerate_depth_first as enumerate_depth_first
    from credo.inference.enumeration import enumerate_joint as enumerate_joint
    from credo.inference.enumeration import enumerate_query as enumerate_query
    from credo.inference.evidence import EvidenceMaximization as EvidenceMaximization
    from credo.inference.evidence import PrecisionProblem as PrecisionProblem
    from credo.inference.expectation_maximization import Expectation as Expectation
    from credo.inference.expectation_maximization import (
        ExpectationMaximization as ExpectationMaximization,
    )
    from credo.inference.expectation_maximization import LatentProblem as LatentProblem
    from credo.inference.factor_problem import FactorProblem as FactorProblem
    from credo.inference.flat_problem import NoPossibleState as NoPossibleState
    from credo.inference.gaussian_network import GaussianNetwork as GaussianNetwork
    from credo.inference.gaussian_network import is_linear_gaussian as is_linear_gaussian
    from credo.inference.graph_cut import NotSubmodular as NotSubmodular
    from credo.inference.graph_cut import graph_cut as graph_cut
    from credo.inference.hybrid import HybridProblem as HybridProblem
    from credo.inference.hybrid import is_conditional_gaussian as is_conditional_gaussian
    from credo.inference.ising_annealing import IsingAnnealing as IsingAnnealing
    from credo.inference.ising_gibbs import IsingGibbs as IsingGibbs
    from credo.inference.ising_mean_field import IsingMeanField as IsingMeanField
    from credo.inference.ising_modes import IsingConditionalModes as IsingConditionalModes
    from credo.inference.latent_class import IncompleteRows as IncompleteRows
    from credo.inference.latent_class import LatentClassProblem as LatentClassProblem
    from credo.inference.likelihood_weighting import ConditionalProblem as ConditionalProblem
    from credo.inference.likelihood_weighting import LikelihoodWeighting as LikelihoodWeighting
    from credo.inference.likelihood_weighting import ancestral_sample as ancestral_sample
    from credo.inference.linear import LinearProblem as LinearProblem
    from credo.inference.linear import infer as infer
    from credo.inference.logistic_learning import SeparationWarning as SeparationWarning
    from credo.inference.mean_field import TableMeanField as TableMeanField
    from credo.inference.model_evidence import bic_evidence as bic_evidence
    from credo.inference.model_evidence import laplace_evidence as laplace_evidence
    from credo.inference.model_evidence import model_posterior as model_posterior
    from credo.inference.model_evidence import width_evidence as width_evidence
    from credo.inference.real_posterior import HybridPosterior as HybridPosterior
    from credo.inference.real_posterior import RealPosterior as RealPosterior
    from credo.inference.relevance import RelevanceDetermination as RelevanceDetermination
    from credo.inference.relevance import RelevanceProblem as RelevanceProblem
    from credo.inference.setting_edge import settings_at_edge as settings_at_edge
    from credo.inference.stacking import stacking_weights as stacking_weights
    from credo.inference.strong_elimination import StrongElimination as StrongElimination
    from credo.inference.strong_elimination import eliminate_strongly as eliminate_strongly
    from credo.inference.strong_elimination import hybrid_factors as hybrid_factors
    from credo.inference.table_gibbs import GibbsMarginals as GibbsMarginals
    from credo.inference.table_gibbs import ReducibleChainWarning as ReducibleChainWarning
    from credo.inference.table_gibbs import TableGibbs as TableGibbs
    from credo.inference.table_importance import ImportanceMarginals as ImportanceMarginals
    from credo.inference.table_importance import TableImportance as TableImportance
    from credo.inference.table_plan_error import ImpossibleFindings as ImpossibleFindings
    from credo.inference.table_plan_error import InferenceTooLarge as InferenceTooLarge
    from credo.inference.table_plan_error import NoExactAnswer as NoExactAnswer
    from credo.inference.variable_elimination import Elimination as Elimination
    from credo.inference.variable_elimination import eliminate as eliminate
    from credo.inference.weighted_draws import WeightedDraws as WeightedDraws
    from credo.inference.weighted_draws import ZeroWeights as ZeroWeights

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "belief_propagation": ["LoopyBeliefPropagation"],
        "conditional_modes": ["IteratedConditionalModes"],
        "flat_problem": ["NoPossibleState"],
        "likelihood_weighting": [
            "ConditionalProblem",
            "LikelihoodWeighting",
            "ancestral_sample",
        ],
        "mean_field": ["TableMeanField"],
        "table_gibbs": ["GibbsMarginals", "ReducibleChainWarning", "TableGibbs"],
        "table_importance": ["ImportanceMarginals", "TableImportance"],
        "account": ["ApproximationWarning"],
        "table_plan_error": ["ImpossibleFindings", "InferenceTooLarge", "NoExactAnswer"],
        "weighted_draws": ["WeightedDraws", "ZeroWeights"],
        "elimination_text": ["explain_elimination"],
        "enumeration": ["enumerate_depth_first", "enumerate_joint", "enumerate_query"],
        "engine": ["ConvergenceWarning", "Engine", "Inference", "Info", "Status", "run"],
        "evidence": ["EvidenceMaximization", "PrecisionProblem"],
        "expectation_maximization": [
            "Expectation",
            "ExpectationMaximization",
            "LatentProblem",
        ],
        "factor_problem": ["FactorProblem"],
        "graph_cut": ["NotSubmodular", "graph_cut"],
        "ising_annealing": ["IsingAnnealing"],
        "ising_gibbs": ["IsingGibbs"],
        "ising_mean_field": ["IsingMeanField"],
        "ising_modes": ["IsingConditionalModes"],
        "latent_class": ["IncompleteRows", "LatentClassProblem"],
        "hybrid": ["HybridProblem", "is_conditional_gaussian"],
        "real_posterior": ["HybridPosterior", "RealPosterior"],
        "gaussian_network": ["GaussianNetwork", "is_linear_gaussian"],
        "linear": ["LinearProblem", "infer"],
        "logistic_learning": ["SeparationWarning"],
        "model_evidence": [
            "bic_evidence",
            "laplace_evidence",
            "model_posterior",
            "width_evidence",
        ],
        "relevance": ["RelevanceDetermination", "RelevanceProblem"],
        "setting_edge": ["settings_at_edge"],
        "stacking": ["hopeless_models", "stacking_weights"],
        "strong_elimination": ["StrongElimination", "eliminate_strongly", "hybrid_factors"],
        "variable_elimination": ["Elimination", "eliminate"],
    },
)
