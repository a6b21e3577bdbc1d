from credo.graphs.factor import Factor as Factor
from credo.graphs.gaussian.conditional_gaussian import (
    ConditionalGaussianFactor as ConditionalGaussianFactor,
)
from credo.graphs.gaussian.gaussian_factor import GaussianFactor as GaussianFactor
from credo.graphs.node.conditional_spec import bind as bind
from credo.graphs.node.conditional_spec import states_of as states_of
from credo.graphs.node.conditional_table import ConditionalTable as ConditionalTable
from credo.graphs.node.conditional_table import RoundedTableWarning as RoundedTableWarning
from credo.graphs.node.deterministic import Deterministic as Deterministic
from credo.graphs.node.discretize import Bins as Bins
from credo.graphs.node.discretize import discretized as discretized
from credo.graphs.node.distribution_node import DistributionNode as DistributionNode
from credo.graphs.node.linear_gaussian import (
    ConditionalLinearGaussian as ConditionalLinearGaussian,
)
from credo.graphs.node.linear_gaussian import GaussianNode as GaussianNode
from credo.graphs.node.linear_gaussian import LinearGaussian as LinearGaussian
from credo.graphs.node.noisy import NoisyMax as NoisyMax
from credo.graphs.node.noisy import NoisyOr as NoisyOr
from credo.graphs.node.threshold import ConditionalThreshold as ConditionalThreshold
from credo.graphs.node.threshold import Logit as Logit
from credo.graphs.node.threshold import Probit as Probit
from credo.graphs.node.threshold import ThresholdNode as ThresholdNode
from credo.graphs.structure.directed import CycleFound as CycleFound
from credo.graphs.structure.directed import DirectedGraph as DirectedGraph
from credo.graphs.structure.elimination_order import EliminationOrder as EliminationOrder
from credo.graphs.structure.elimination_order import elimination_cliques as elimination_cliques
from credo.graphs.structure.elimination_order import elimination_order as elimination_order
from credo.graphs.structure.equivalence import PartiallyDirectedGraph as PartiallyDirectedGraph
from credo.graphs.structure.equivalence import cpdag as cpdag
from credo.graphs.structure.equivalence import equivalent as equivalent
from credo.graphs.structure.equivalence import equivalent_graphs as equivalent_graphs
from credo.graphs.structure.equivalence import v_structures as v_structures
from credo.graphs.structure.independence_map import Independence as Independence
from credo.graphs.structure.independence_map import independence_basis as independence_basis
from credo.graphs.structure.independence_map import is_independence_map as is_independence_map
from credo.graphs.structure.independence_map import local_independence as local_independence
from credo.graphs.structure.independence_map import minimal_map as minimal_map
from credo.graphs.structure.joint_product import ParameterCount as ParameterCount
from credo.graphs.structure.joint_product import factorization as factorization
from credo.graphs.structure.joint_product import factorized as factorized
from credo.graphs.structure.joint_product import n_clique_entries as n_clique_entries
from credo.graphs.structure.joint_product import parameter_count as parameter_count
from credo.graphs.structure.separation import Connection as Connection
from credo.graphs.structure.separation import SeparationReport as SeparationReport
from credo.graphs.structure.separation import connection as connection
from credo.graphs.structure.separation import d_connected as d_connected
from credo.graphs.structure.separation import d_separated as d_separated
from credo.graphs.structure.separation import explain_separation as explain_separation
from credo.graphs.structure.separation import moral_separated as moral_separated
from credo.graphs.structure.separation import open_path as open_path
from credo.graphs.structure.structure_text import parse_structure as parse_structure
from credo.graphs.structure.undirected import UndirectedGraph as UndirectedGraph
from credo.graphs.variable import UnknownState as UnknownState
from credo.graphs.variable import UnknownVariable as UnknownVariable
from credo.graphs.variable import Variable as Variable
