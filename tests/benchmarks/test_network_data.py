"""The peers of the network benchmarks are asked the same question as credo."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.network_data import (
    agrum_network,
    codes,
    missing_at_random,
    network,
    network_text,
    some_columns,
)
from numpy.testing import assert_allclose, assert_array_equal

from credo.models.network.bayesian_network import BayesianNetwork
from naive import peer

pytestmark = pytest.mark.comparison
pyagrum = peer("pyagrum")


def unequal_network():
    """Parents in another order than in the network, each with its own number of states."""
    rng = np.random.default_rng(0)
    return BayesianNetwork(
        {"a": [], "b": ["a"], "c": ["b", "a"]},
        {
            "a": rng.dirichlet([1, 1]),
            "b": rng.dirichlet([1, 1, 1], size=2),
            "c": rng.dirichlet([1, 1, 1, 1], size=(3, 2)),
        },
    )


def test_the_network_in_pyagrum_has_the_same_joint_distribution_to_the_last_digits():
    net = unequal_network()
    peer = agrum_network(net)
    engine = pyagrum.LazyPropagation(peer)
    for b in range(3):
        engine.setEvidence({"b": b})
        engine.makeInference()
        found = net.marginals({"b": b})
        for name in "ac":
            assert_allclose(engine.posterior(name).toarray(), found[name], rtol=1e-14)
        assert_allclose(np.log(engine.evidenceProbability()), found.log_prob, rtol=1e-14)


def test_codes_are_places_of_states_and_leave_gaps_out():
    net = BayesianNetwork(
        "a -> b",
        {"a": [0.5, 0.5], "b": [[0.2, 0.8], [0.6, 0.4]]},
        states={"a": ("yes", "no"), "b": ("up", "down")},
    )
    rows = pd.DataFrame({"b": ["down", "up"], "a": [None, "no"]})
    assert codes(net, rows) == [{"b": 1}, {"b": 0, "a": 1}]


def test_published_networks_are_read_with_the_text_they_come_from():
    assert len(network("alarm").variables) == 37
    assert network_text("alarm").count("variable ") == 37


def test_chosen_columns_keep_their_order():
    rows = pd.DataFrame(np.arange(40).reshape(2, 20))
    chosen = some_columns(rows, 7, np.random.default_rng(0))
    assert chosen.shape == (2, 7)
    assert list(chosen.columns) == sorted(chosen.columns)


def test_cells_are_missing_with_the_share_that_was_asked_for():
    rows = pd.DataFrame(np.ones((400, 100)))
    holed = missing_at_random(rows, 0.3, np.random.default_rng(0))
    # Four standard errors of a share of 40,000 cells.
    assert abs(holed.isna().to_numpy().mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 40_000)
    assert_array_equal(holed.fillna(1.0), rows)
