"""Engines with settings of their own as methods of a network."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo import BayesianNetwork, MarkovRandomField
from credo.graphs import Factor, LinearGaussian, Variable
from credo.inference import (
    Account,
    Inference,
    IteratedConditionalModes,
    LikelihoodWeighting,
    LoopyBeliefPropagation,
    Move,
    Settled,
    TableGibbs,
    TableImportance,
    TableMeanField,
)
from credo.inference.discrete.factor_problem import TableMarginals

NET = BayesianNetwork(
    "a -> b; a -> c; b -> d; c -> d",
    {
        "a": [0.3, 0.7],
        "b": [[0.6, 0.4], [0.1, 0.9]],
        "c": [[0.2, 0.8], [0.7, 0.3]],
        "d": [[[0.9, 0.1], [0.4, 0.6]], [[0.3, 0.7], [0.05, 0.95]]],
    },
)
GIVEN = {"d": True}
EXACT = NET.query("a", GIVEN)
A, B = Variable("a", (0, 1)), Variable("b", (0, 1))
FIELD = MarkovRandomField([Factor((A, B), [[4.0, 1.0], [1.0, 2.0]])])


@dataclass(frozen=True)
class Uniform:
    """A third party's engine: everything is equally probable, and it knows that it is off."""

    is_random = False
    stop = Settled(0.0, 1)

    def init(self, problem, rng):
        return tuple(np.full(n, 1 / n) for n in problem.n_states)

    def step(self, problem, state, rng):
        return state, Move(0.0, 0.0)

    def posterior(self, problem, state):
        account = Account("Uniform", False, 0.5, "largest standard error")
        return Inference(TableMarginals(state), account=account)


@pytest.mark.parametrize(
    "engine",
    [
        TableGibbs(n_draws=20_000, tolerance=1e-4),
        TableImportance(tolerance=0.002),
        LoopyBeliefPropagation(damping=0.5),
        LikelihoodWeighting(tolerance=0.003),
    ],
    ids=lambda engine: type(engine).__name__,
)
@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
def test_an_engine_with_settings_answers_as_its_name_does(engine):
    answer = NET.query("a", GIVEN, method=engine)
    named = NET.query("a", GIVEN, method=engine.name)
    assert answer.attrs["method"] == named.attrs["method"]
    assert_allclose(answer, EXACT, atol=0.02)


@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
@pytest.mark.parametrize(
    "engine", [TableGibbs(tolerance=0.0), LikelihoodWeighting(tolerance=0.0, block_size=1000)]
)
def test_more_draws_have_a_smaller_error(engine):
    few, many = (
        NET.query("a", GIVEN, method=replace(engine, n_draws=n)) for n in (1000, 64_000)
    )
    assert many.attrs["error"] < 0.3 * few.attrs["error"]
    assert many.attrs["effective_draws"] > 10 * few.attrs["effective_draws"]


def test_an_engine_of_a_third_party_needs_no_registration():
    answer = NET.query("a", GIVEN, method=Uniform())
    assert answer.tolist() == [0.5, 0.5]
    assert (answer.attrs["method"], answer.attrs["error"]) == ("Uniform", 0.5)
    assert NET.marginals(GIVEN, method=Uniform())["b"].tolist() == [0.5, 0.5]


def test_modes_and_totals_take_engines_too():
    best = NET.most_probable(method=IteratedConditionalModes(n_starts=20))
    assert best == NET.most_probable()
    assert best.account.method == "iterated conditional modes"
    exact = NET.log_prob(GIVEN)
    assert_allclose(NET.log_prob(GIVEN, method=LikelihoodWeighting()), exact, atol=0.02)
    assert NET.log_partition(GIVEN, method=TableMeanField(n_starts=8)) <= exact


def test_a_bound_tells_no_probability_of_an_undirected_network():
    assert FIELD.log_partition(method=TableMeanField()) <= np.log(8.0)
    for method in ("mean_field", TableMeanField()):
        with pytest.raises(ValueError, match=r"(mean_f|MeanF)ield.*only bounds both"):
            FIELD.log_prob({"a": 0}, method=method)
    with pytest.raises(ValueError, match="TableGibbs, which tells marginals only"):
        FIELD.log_prob({"a": 0}, method=TableGibbs())


def test_a_method_that_does_not_suit_the_network_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match=r"'mean_field'\].*tables without arrows") as told:
        FIELD.query("a", method=LikelihoodWeighting())
    assert "'likelihood_weighting'" not in str(told.value)
    line = BayesianNetwork("x", {"x": LinearGaussian()})
    for method in ("gibbs", TableGibbs()):
        with pytest.raises(
            ValueError,
            match=r"\['auto', 'exact', 'likelihood_weighting'\].* for a network with real",
        ):
            line.query("x", method=method)
