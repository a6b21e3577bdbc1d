"""Exact answers on published networks, against pyAgrum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.data.network_file.network_file import load_network
from credo.inference.hybrid.likelihood_weighting import ancestral_sample
from naive import peer, published_networks

pytestmark = pytest.mark.comparison
pyagrum = peer("pyagrum")
FOLDER = published_networks()
LARGE = ("munin1", "munin2", "munin3", "munin4")
"""As munin, in parts; left to `make long`."""

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
    *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE),
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


def network(name):
    return load_network(FOLDER / f"{name}.bif.gz")


@pytest.mark.parametrize("name", NETWORKS)
def test_marginals_and_log_probability_of_random_findings_equal_those_of_pyagrum(name):
    net, rng = network(name), np.random.default_rng(0)
    peer = peer_of(net)
    for share, (_, case) in zip([0.3, 0.5], net.sample(2, rng=1).iterrows(), strict=True):
        given = {n: case[n] for n in net.variables if rng.random() < share}
        found = net.marginals(given, method="exact")
        engine = pyagrum.LazyPropagation(peer)
        engine.setEvidence({n: net.variables[n].index(state) for n, state in given.items()})
        engine.makeInference()
        assert set(found) == set(net.variables) - set(given)
        for n, series in found.items():
            expected = engine.posterior(n).toarray()
            assert_allclose(series.to_numpy(), expected, rtol=0, atol=1e-10)
        expected = np.log(engine.evidenceProbability())
        assert_allclose(found.log_prob, expected, rtol=1e-10, atol=1e-10)


def test_link_which_pyagrum_has_no_memory_for_has_the_frequencies_of_its_draws():
    net, n_draws = network("link"), 20_000
    found = net.marginals(method="exact")
    draws = ancestral_sample(list(net.conditionals.values()), n_draws, np.random.default_rng(0))
    for name, series in found.items():
        share = series.to_numpy()
        frequency = np.bincount(draws[name], minlength=len(share)) / n_draws
        error = np.sqrt(share * (1 - share) / n_draws)
        assert np.all(np.abs(frequency - share) <= 5 * error + 1e-12), name
