"""The Ising model as a network: every verb against sums over all spins."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.inference.engine.engine import EXACT
from credo.inference.engine.error import InferenceTooLarge
from credo.inference.engine.method import ApproximationWarning
from credo.inference.spins.sweep_engine import IsingGibbs
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.network import Network
from credo.models.network.value.findings import read_findings
from credo.models.spins.ising_model import IsingModel

SPINS = np.array(list(itertools.product((-1, 1), repeat=9))).reshape(-1, 3, 3)
FIELD = np.random.default_rng(4).normal(size=(3, 3))


def model(coupling=0.4):
    return IsingModel((3, 3), coupling, FIELD)


def refusing(coupling=0.4):
    """Return the model whose exact answers fit nothing."""
    return model(coupling).within(memory=50, seconds=1e-12)


def weights(net, given=()):
    """Return the weight of each of all spins, with likelihoods of some."""
    weight = np.exp(net.log_density(SPINS))
    for (i, j), (low, high) in dict(given).items():
        weight = weight * np.where(SPINS[:, i, j] < 0, low, high)
    return weight


def mean_of(net, place, given=()):
    weight = weights(net, given)
    return float((weight * (SPINS[:, place[0], place[1]] > 0)).sum() / weight.sum())


def test_it_is_a_network_without_arrows():
    assert isinstance(model(), Network)
    assert isinstance(model(), MarkovRandomField)
    assert len(model().factors) == 9 + 12 + 1
    assert set(model().graph.neighbors("1,1")) == {"0,1", "1,0", "1,2", "2,1"}
    with pytest.raises(ValueError, match="do must be asked of a Bayesian network"):
        model().query("0,0", do={"1,1": 1})


def test_rows_of_a_table_are_answered_as_by_enumeration():
    rows = pd.DataFrame({"1,1": [-1, 1, None], "0,2": [None, 1, None]}, dtype=object)
    found = model().predict_proba(rows, "0,0")[1]
    givens = [{(1, 1): (1, 0)}, {(1, 1): (0, 1), (0, 2): (0, 1)}, {}]
    assert_allclose(found, [mean_of(model(), (0, 0), given) for given in givens])
    filled = model().impute(rows)
    best = SPINS[weights(model(), givens[0]).argmax()]
    assert filled["0,2"].iloc[0] == best[0, 2]


@pytest.mark.parametrize("method", ["gibbs", IsingGibbs(n_chains=4, n_draws=4000)])
def test_draws_by_name_know_spins_that_are_given_or_likely(method):
    given = {"1,1": -1, "0,1": {-1: 0.3, 1: 0.6}}
    found = model().marginals(given, method=method)
    account = found.account
    assert (account.method, account.error_kind) == ("Gibbs sampling", "largest standard error")
    likelihood = {(1, 1): (1, 0), (0, 1): (0.3, 0.6)}
    for name, share in found.items():
        place = tuple(map(int, name.split(",")))
        # The error is that of a mean of -1 and 1, twice that of a probability.
        slack = 5 * account.error + 1e-9
        assert abs(share[1] - mean_of(model(), place, likelihood)) < slack


def test_mean_field_by_name_is_that_of_the_spins():
    found = model().marginals(method="mean_field")
    means = model().mean("mean_field").ravel()
    assert_allclose([part[1] - part[-1] for part in found.values()], means, rtol=1e-12)
    bound = model().log_partition(method="mean_field")
    assert bound == model().infer("mean_field").log_evidence
    assert bound < model().log_partition()


def test_engines_of_tables_answer_about_spins():
    exact = model().mean("exact")
    assert_allclose(model().mean("importance"), exact, atol=0.05)
    assert_allclose(model().mean("belief_propagation"), exact, atol=0.1)
    assert model().query("0,0", method="importance").attrs["method"].startswith("importance")


def test_a_joint_answer_by_draws_is_near_the_exact_one():
    engine = IsingGibbs(n_chains=4, n_draws=8000)
    found = model().query(["0,0", "2,2"], method=engine)
    exact = model().query(["0,0", "2,2"])
    assert_allclose(found.to_numpy(), exact.to_numpy(), atol=0.03)
    assert exact.attrs["is_exact"]


def test_what_does_not_fit_is_drawn_with_a_warning():
    with pytest.warns(ApproximationWarning, match="the answer is approximate: a plan of"):
        found = refusing().query("0,0")
    assert found.attrs["method"] == "Gibbs sampling"
    assert abs(found[1] - mean_of(model(), (0, 0))) < 5 * found.attrs["error"]
    with pytest.raises(InferenceTooLarge):
        refusing().query("0,0", method="exact")
    with pytest.warns(ApproximationWarning, match="Gibbs chain"):
        drawn = refusing().sample(4000, given={"1,1": -1}, rng=0)
    assert set(drawn["1,1"]) == {-1}
    share = float((drawn["0,0"] == 1).mean())
    assert abs(share - mean_of(model(), (0, 0), {(1, 1): (1, 0)})) < 0.05


def test_a_cut_is_exact_where_no_plan_fits_and_a_local_optimum_is_said():
    given = {"1,1": -1}
    best = SPINS[weights(model(), {(1, 1): (1, 0)}).argmax()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = refusing().answers().best(*_all_given(given))
    assert found[-1].is_exact
    assert [int(2 * found[0][n][0] - 1) for n in model().names] == best.ravel().tolist()
    against = refusing(coupling=-0.4)
    with pytest.warns(ApproximationWarning, match="best of their neighborhood"):
        local = against.most_probable()
    assert against.log_density(local) <= against.log_density(SPINS).max()


def _all_given(given):
    return read_findings(model().variables, given), list(model().names)


def test_most_probable_spins_given_others_are_those_of_enumeration():
    found = model(-0.4).most_probable(given={"1,1": 1})
    best = SPINS[weights(model(-0.4), {(1, 1): (0, 1)}).argmax()]
    assert {**found, "1,1": 1} == dict(zip(model().names, best.ravel().tolist(), strict=True))
    assert model().most_probable(["0,0"], given={"1,1": -1}).account == EXACT


def test_arrays_and_old_places_of_arguments_still_work():
    net = model()
    assert_array_equal(net.sample(3, 7), net.sample(3, rng=7))
    assert net.sample(3, 7).shape == (3, 3, 3)
    assert_array_equal(net.most_probable("icm"), net.most_probable(method="conditional_modes"))
    assert_allclose(net.log_prob(SPINS[5]), np.log(weights(net)[5] / weights(net).sum()))
    frame = pd.DataFrame({"0,0": [1, -1]})
    assert_allclose(np.exp(net.log_prob(frame)).sum(), 1.0)


def test_plans_stay_behind_when_a_model_travels():
    net = model()
    expected = net.query("0,0", {"1,1": 1})
    for other in (pickle.loads(pickle.dumps(net)), net.within(memory="1GB")):
        assert "_answers" not in vars(other)
        assert_allclose(other.query("0,0", {"1,1": 1}), expected, rtol=1e-14)
    assert net.plan().fits
    assert_allclose(net.query("0,0", {"1,1": 1}), expected, rtol=0)


def test_rows_are_drawn_one_by_one():
    rows = pd.DataFrame({"0,0": [1, -1]})
    exact, drawn = (model().predict_proba(rows, "2,2", m) for m in ("exact", "gibbs"))
    assert_allclose(drawn, exact, atol=0.1)


def test_settings_of_draws_that_would_be_left_aside_are_refused():
    model = IsingModel((3, 3), 0.3)
    with pytest.raises(ValueError, match="must be left out with spins given"):
        model.sample(2, {"0,0": 1}, rng=0, method="nonsense")
    with pytest.raises(ValueError, match="must be asked for by a name"):
        model.sample(2, rng=0, method=IsingGibbs())


def test_advice_names_methods_of_spins_only():
    model = IsingModel((3, 3), 0.3)
    for ask in (
        lambda: model.query("0,0", method="annealing"),
        lambda: model.query("0,0", method="gibs"),
        lambda: model.mean("gibs"),
    ):
        with pytest.raises(ValueError, match="gibbs") as caught:
            ask()
        assert "likelihood_weighting" not in str(caught.value)
    with pytest.raises(ValueError, match="method must be one of") as caught:
        model.query("0,0", method="likelihood_weighting")
    assert "spelling" not in str(caught.value)
