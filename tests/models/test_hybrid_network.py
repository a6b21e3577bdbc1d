"""Bayesian networks with real variables, asked as a user asks."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose
from scipy import stats

from credo import BayesianNetwork
from credo.graphs import ConditionalLinearGaussian, LinearGaussian, Probit


def engine():
    return BayesianNetwork(
        "TP, te -> SC",
        cpts={
            "TP": LinearGaussian(2.0, {}, 1.0),
            "te": {True: 0.7, False: 0.3},
            "SC": ConditionalLinearGaussian(
                {
                    True: LinearGaussian(1.0, {"TP": 3.0}, 0.5),
                    False: LinearGaussian(0.5, {"TP": 1.5}, 1.0),
                }
            ),
        },
    )


def decision():
    return BayesianNetwork(
        "size -> go", cpts={"size": LinearGaussian(100.0, {}, 20.0), "go": Probit(120.0, 15.0)}
    )


def test_a_finding_on_a_real_child_moves_its_discrete_and_its_real_parent():
    net = engine()
    assert_allclose(net.query("te", given={"SC": 8.0})[True], 0.9672528544, rtol=1e-9)
    power = net.query("TP", given={"SC": 8.0})
    assert_allclose(power.mean(), 2.3817169308, rtol=1e-9)
    assert_allclose(np.exp(net.log_prob({"SC": 8.0})), 0.0899335718, rtol=1e-9)
    given_both = net.query("TP", given={"SC": 8.0, "te": False})
    assert_allclose(given_both.mean(), 4.0769230769, rtol=1e-9)


def test_rows_of_a_table_are_answered_as_each_alone():
    net = engine()
    cases = pd.DataFrame({"SC": [8.0, np.nan, 3.0], "TP": [np.nan, 2.0, np.nan]})
    found = net.predict_proba(cases, target="te")
    for i, given in enumerate([{"SC": 8.0}, {"TP": 2.0}, {"SC": 3.0}]):
        alone = net.query("te", given=given)
        assert_allclose(found.iloc[i][True], alone[True], rtol=1e-10)


def test_a_probit_child_has_the_worked_probability_exactly():
    go = decision().query("go")
    assert go.attrs["is_exact"]
    assert_allclose(go[True], 0.7881446014, rtol=1e-9)
    known = decision().query("go", given={"size": 100.0})
    assert_allclose(known[True], stats.norm.cdf(20 / 15), rtol=1e-10)


def test_a_real_parent_given_its_probit_child_is_drawn_and_said_to_be():
    found = decision().query("size", given={"go": True})
    edge = 20.0 / 25.0
    mean = 100.0 - 400.0 / 25.0 * stats.norm.pdf(edge) / stats.norm.cdf(edge)
    spread = np.sqrt(found.variance())
    assert abs(found.mean() - mean) < 4.5 * spread / np.sqrt(10_000)
