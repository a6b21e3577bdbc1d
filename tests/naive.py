"""Small known problems, random ones, and answers by brute force that several tests share."""

import gzip
import importlib.util
import re
import warnings
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest

from credo.distributions.joint_table import JointTable
from credo.graphs.factor import Factor
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import Variable
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.models.network.bayesian_network import BayesianNetwork


def sprinkler():
    """Return the network of a lawn that sprinkler or rain make wet."""
    return BayesianNetwork(
        "cloud -> sprinkler, rain; sprinkler, rain -> wet",
        cpts={
            "cloud": [0.5, 0.5],
            "sprinkler": [[0.5, 0.5], [0.9, 0.1]],
            "rain": [[0.8, 0.2], [0.2, 0.8]],
            "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]],
        },
    )


def roof_factors():
    """Return the tables of climber, goose, alarm and two reports, the true state first."""
    c, g, a, l1, l2 = (Variable(n, (True, False)) for n in ("C", "G", "A", "L1", "L2"))
    return [
        Factor([c], [0.05, 0.95]),
        Factor([g], [0.2, 0.8]),
        Factor([c, g, a], [[[0.98, 0.02], [0.96, 0.04]], [[0.2, 0.8], [0.08, 0.92]]]),
        Factor([a, l1], [[0.99, 0.01], [0.08, 0.92]]),
        Factor([a, l2], [[0.6, 0.4], [0.001, 0.999]]),
    ]


def roof_problem():
    """Return climber, goose, alarm and two reports as a problem, the true state last."""
    alarm = np.array([[[0.92, 0.08], [0.8, 0.2]], [[0.04, 0.96], [0.02, 0.98]]])
    return FactorProblem(
        (2,) * 5,
        (
            table_of((0,), np.array([0.95, 0.05]), 0),
            table_of((1,), np.array([0.8, 0.2]), 1),
            table_of((0, 1, 2), alarm, 2),
            table_of((2, 3), np.array([[0.92, 0.08], [0.01, 0.99]]), 3),
            table_of((2, 4), np.array([[0.999, 0.001], [0.4, 0.6]]), 4),
        ),
    )


def loopy_problem(seed, share_of_zeros):
    """Return random tables over five variables whose scopes make cycles."""
    rng = np.random.default_rng(seed)
    n_states = tuple(rng.integers(2, 4, size=5).tolist())
    tables = []
    for scope in ((0, 1, 2), (2, 3), (3, 4, 0), (1, 4), (2,)):
        values = 5 * rng.random([n_states[i] for i in scope])
        values[rng.random(values.shape) < share_of_zeros] = 0.0
        tables.append(table_of(scope, values))
    return FactorProblem(n_states, tuple(tables))


def joint_of(problem):
    """Return the density of every joint state."""
    letters = "abcdefghij"[: len(problem.n_states)]
    joint = np.ones(problem.n_states)
    for table in problem.tables:
        scope = "".join(letters[i] for i in table.scope)
        own = np.exp(table.log_scale) * table.values
        joint = np.einsum(f"{letters},{scope}->{letters}", joint, own)
    return joint


def summed_product(factors, keep):
    """Return the product of factors summed over all variables that are not kept."""
    names = sorted({name for factor in factors for name in factor.names})
    letter = {name: i for i, name in enumerate(names)}
    operands = []
    for factor in factors:
        operands += [factor.table(), [letter[name] for name in factor.names]]
    return np.einsum(*operands, [letter[name] for name in keep], optimize="greedy")


def random_graph(n, share, rng):
    """Return a random acyclic graph that has about a share of all possible edges."""
    names = [f"n{i}" for i in rng.permutation(n)]
    edges = [pair for pair in combinations(names, 2) if rng.random() < share]
    return DirectedGraph.from_edges(edges, sorted(names))


def random_joint(graph, rng, n_states=2):
    """Return a joint distribution that factorizes as a graph says, with random tables."""
    place = {name: i for i, name in enumerate(graph)}
    arguments = []
    for node in graph:
        family = (*graph.parents(node), node)
        table = rng.dirichlet(np.ones(n_states), [n_states] * (len(family) - 1))
        arguments += [table, [place[name] for name in family]]
    joint = np.einsum(*arguments, range(len(graph)))
    return JointTable(joint, {name: range(n_states) for name in graph})


def peer(name):
    """Return another library; a test that needs it is skipped where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def published_networks():
    """Return the folder of networks that pgmpy comes with; none where it is not installed."""
    found = importlib.util.find_spec("pgmpy")
    place = found.submodule_search_locations[0] if found else "nowhere"
    return Path(place, "utils", "example_models")


def published_file(name):
    """Return a file of that folder; a test that needs it is skipped without pgmpy."""
    path = published_networks() / name
    if not path.exists():
        pytest.skip("pgmpy is not installed, whose files this test reads")
    return path


def structure_of_file(name):
    """Return the parents of each node of a network that pgmpy comes with."""
    with gzip.open(published_file(f"{name}.bif.gz"), "rt") as file:
        text = file.read()
    rows = re.findall(r"probability\s*\(\s*([^|)]+?)\s*(?:\|\s*([^)]+?)\s*)?\)", text)
    return {child: tuple(re.split(r"\s*,\s*", tails)) if tails else () for child, tails in rows}


def subsets(names):
    """Return all subsets, the smallest first."""
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))
