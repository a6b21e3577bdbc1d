"""Variables, graphs and factors: separation, cliques, the algebra of tables and Gaussians."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.graphs.conditional_gaussian import (
        ConditionalGaussianFactor as ConditionalGaussianFactor,
    )
    from credo.graphs.conditional_linear_gaussian import (
        ConditionalLinearGaussian as ConditionalLinearGaussian,
    )
    from credo.graphs.conditional_spec import bind as bind
    from credo.graphs.conditional_spec import states_of as states_of
    from credo.graphs.conditional_table import ConditionalTable as ConditionalTable
    from credo.graphs.conditional_table import RoundedTableWarning as RoundedTableWarning
    from credo.graphs.deterministic import Deterministic as Deterministic
    from credo.graphs.directed import CycleFound as CycleFound
    from credo.graphs.directed import DirectedGraph as DirectedGraph
    from credo.graphs.discretize import Bins as Bins
    from credo.graphs.discretize import discretized as discretized
    from credo.graphs.distribution_node import DistributionNode as DistributionNode
    from credo.graphs.elimination_order import EliminationOrder as EliminationOrder
    from credo.graphs.elimination_order import elimination_cliques as elimination_cliques
    from credo.graphs.elimination_order import elimination_order as elimination_order
    from credo.graphs.equivalence import PartiallyDirectedGraph as PartiallyDirectedGraph
    from credo.graphs.equivalence import cpdag as cpdag
    from credo.graphs.equivalence import equivalent as equivalent
    from credo.graphs.equivalence import equivalent_graphs as equivalent_graphs
    from credo.graphs.equivalence import v_structures as v_structures
    from credo.graphs.factor import Factor as Factor
    from credo.graphs.gaussian_factor import GaussianFactor as GaussianFactor
    from credo.graphs.gaussian_node import GaussianNode as GaussianNode
    from credo.graphs.independence import Independence as Independence
    from credo.graphs.independence import independence_basis as independence_basis
    from credo.graphs.independence import local_independence as local_independence
    from credo.graphs.independence_map import is_independence_map as is_independence_map
    from credo.graphs.independence_map import minimal_map as minimal_map
    from credo.graphs.joint_product import ParameterCount as ParameterCount
    from credo.graphs.joint_product import factorization as factorization
    from credo.graphs.joint_product import factorized as factorized
    from credo.graphs.joint_product import n_clique_entries as n_clique_entries
    from credo.graphs.joint_product import parameter_count as parameter_count
    from credo.graphs.layered import layered_layout as layered_layout
    from credo.graphs.layout import Layout as Layout
    from credo.graphs.linear_gaussian import LinearGaussian as LinearGaussian
    from credo.graphs.noisy import NoisyMax as NoisyMax
    from credo.graphs.noisy import NoisyOr as NoisyOr
    from credo.graphs.path_block import Connection as Connection
    from credo.graphs.path_block import connection as connection
    from credo.graphs.separation import d_connected as d_connected
    from credo.graphs.separation import d_separated as d_separated
    from credo.graphs.separation import moral_separated as moral_separated
    from credo.graphs.separation import open_path as open_path
    from credo.graphs.separation_report import SeparationReport as SeparationReport
    from credo.graphs.separation_report import explain_separation as explain_separation
    from credo.graphs.stress import stress_layout as stress_layout
    from credo.graphs.structure_text import parse_structure as parse_structure
    from credo.graphs.threshold import ConditionalThreshold as ConditionalThreshold
    from credo.graphs.threshold import Logit as Logit
    from credo.graphs.threshold import Probit as Probit
    from credo.graphs.threshold_node import ThresholdNode as ThresholdNode
    from credo.graphs.undirected import UndirectedGraph as UndirectedGraph
    from credo.graphs.variable import UnknownState as UnknownState
    from credo.graphs.variable import UnknownVariable as UnknownVariable
    from credo.graphs.variable import Variable as Variable

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "conditional_spec": ["bind", "states_of"],
        "conditional_table": ["ConditionalTable", "RoundedTableWarning"],
        "deterministic": ["Deterministic"],
        "discretize": ["Bins", "discretized"],
        "noisy": ["NoisyMax", "NoisyOr"],
        "elimination_order": [
            "EliminationOrder",
            "elimination_cliques",
            "elimination_order",
        ],
        "factor": ["Factor"],
        "gaussian_factor": ["GaussianFactor"],
        "conditional_gaussian": ["ConditionalGaussianFactor"],
        "linear_gaussian": ["LinearGaussian"],
        "conditional_linear_gaussian": ["ConditionalLinearGaussian"],
        "threshold": ["ConditionalThreshold", "Logit", "Probit"],
        "distribution_node": ["DistributionNode"],
        "gaussian_node": ["GaussianNode"],
        "threshold_node": ["ThresholdNode"],
        "directed": ["CycleFound", "DirectedGraph"],
        "undirected": ["UndirectedGraph"],
        "layered": ["layered_layout"],
        "layout": ["Layout"],
        "stress": ["stress_layout"],
        "structure_text": ["parse_structure"],
        "path_block": ["Connection", "connection"],
        "equivalence": [
            "PartiallyDirectedGraph",
            "cpdag",
            "equivalent",
            "equivalent_graphs",
            "v_structures",
        ],
        "joint_product": [
            "ParameterCount",
            "factorization",
            "factorized",
            "n_clique_entries",
            "parameter_count",
        ],
        "independence": ["Independence", "independence_basis", "local_independence"],
        "independence_map": ["is_independence_map", "minimal_map"],
        "separation": ["d_connected", "d_separated", "moral_separated", "open_path"],
        "separation_report": ["SeparationReport", "explain_separation"],
        "variable": ["UnknownState", "UnknownVariable", "Variable"],
    },
)
