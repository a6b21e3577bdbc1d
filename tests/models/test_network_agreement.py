"""Exact answers on published networks, against pyAgrum."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.data.network_file import load_network

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pyagrum

FOLDER = Path(importlib.util.find_spec("pgmpy").submodule_search_locations[0])
NETWORKS = [
    "asia",
    "cancer",
    "earthquake",
    "survey",
    "sachs",
    "child",
    "alarm",
    "win95pts",
    "hepar2",
    "hailfinder",
    "insurance",
    "pathfinder",
    "andes",
    "pigs",
    "water",
    "mildew",
    "diabetes",
    "barley",
    "munin",
    "munin2",
    "munin3",
    "munin4",
]


def peer_of(net):
    """Return the same network in pyAgrum, with every table in double precision."""
    peer = pyagrum.BayesNet()
    for name, variable in net.variables.items():
        labels = [f"s{i}" for i in range(variable.n_states)]
        peer.add(pyagrum.LabelizedVariable(name, name, labels))
    for tail, head in net.graph.edges:
        peer.addArc(tail, head)
    for name, conditional in net.conditionals.items():
        factor = conditional.table()
        order = [factor.names.index(axis) for axis in reversed(peer.cpt(name).names)]
        peer.cpt(name)[:] = np.ascontiguousarray(factor.table().transpose(order))
    return peer


@pytest.mark.parametrize("name", NETWORKS)
def test_marginals_and_log_probability_of_random_findings_equal_those_of_pyagrum(name):
    net = load_network(FOLDER / "utils" / "example_models" / f"{name}.bif.gz")
    rng = np.random.default_rng(0)
    case = net.sample(1, rng=1).iloc[0]
    given = {n: case[n] for n in net.variables if rng.random() < 0.3}
    found = net.marginals(given, method="exact")
    engine = pyagrum.LazyPropagation(peer_of(net))
    engine.setEvidence({n: net.variables[n].index(state) for n, state in given.items()})
    engine.makeInference()
    assert set(found) == set(net.variables) - set(given)
    for n, series in found.items():
        assert_allclose(series.to_numpy(), engine.posterior(n).toarray(), rtol=0, atol=1e-10)
    assert_allclose(found.log_prob, np.log(engine.evidenceProbability()), rtol=1e-10)
