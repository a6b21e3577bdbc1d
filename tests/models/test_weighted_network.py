"""Networks without exact algebra answer by weighted draws, and say how good they are."""

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.distributions import Distribution, Empirical, Gamma, Poisson
from credo.graphs import (
    DistributionNode,
    Factor,
    LinearGaussian,
    Logit,
    NoisyOr,
    Probit,
    Variable,
)
from credo.inference.engine.engine import ConvergenceWarning
from credo.inference.engine.error import (
    ImpossibleFindings,
    InferenceTooLarge,
    NoExactAnswer,
)
from credo.inference.engine.method import ApproximationWarning
from credo.inference.engine.weighted_draws import WeightedDraws, ZeroWeights
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField
from naive import sprinkler


def road():
    """Return two lights that both depend on the size of a car."""
    return BayesianNetwork(
        "size -> go, stop",
        cpts={
            "size": LinearGaussian(100.0, {}, 20.0),
            "go": Probit(120.0, 15.0, below=True),
            "stop": Logit(90.0, 10.0, below=True),
        },
    )


def clinic():
    """Return a Poisson count whose rate is Gamma distributed."""
    return BayesianNetwork(
        "rate -> cases",
        cpts={
            "rate": DistributionNode(Gamma(3.0, 2.0)),
            "cases": DistributionNode(lambda rate: Poisson(rate)),
        },
    )


def light(name, size):
    z = (120.0 - size) / 15.0 if name == "go" else (90.0 - size) / 10.0
    return special.ndtr(z) if name == "go" else special.expit(z)


def size_integral(function):
    density = stats.norm(100.0, 20.0).pdf
    return integrate.quad(lambda s: density(s) * function(s), -50, 250, epsabs=1e-12)[0]


def test_two_thresholds_on_one_variable_agree_with_quadrature():
    found = road().query("stop", given={"go": True})
    both = size_integral(lambda s: light("go", s) * light("stop", s))
    expected = both / size_integral(lambda s: light("go", s))
    assert abs(found[True] - expected) < 4 * found.attrs["error"]
    assert found.attrs["error"] < 0.006
    assert found.attrs["method"] == "likelihood weighting"
    assert not found.attrs["is_exact"]
    assert found.attrs["effective_draws"] >= 10_000


def test_a_real_answer_is_a_distribution_that_tells_how_it_was_found():
    found = road().query("size", given={"go": False, "stop": False})

    def weight(s):
        return (1 - light("go", s)) * (1 - light("stop", s))

    mean = size_integral(lambda s: s * weight(s)) / size_integral(weight)
    assert isinstance(found, Empirical)
    assert isinstance(found, Distribution)
    assert abs(found.mean() - mean) < 4 * found.account.error * found.std()
    assert found.account.method == "likelihood weighting"
    assert found.account.effective_draws > 10_000


def test_probit_by_name_is_near_the_worked_number():
    found = road().query("go", method="likelihood_weighting")
    assert abs(found[True] - 0.7881446014) < 4 * found.attrs["error"]
    assert 0 < found.attrs["error"] < 0.01


def test_a_state_that_was_never_drawn_is_not_certain_not_to_be():
    net = BayesianNetwork("a", cpts={"a": [1 - 1e-7, 1e-7]})
    found = net.query("a", method="likelihood_weighting")
    assert found[True] == 0.0
    assert found.attrs["error"] >= 1e-7


def test_any_distribution_learns_by_the_rule_of_bayes():
    found = clinic().query("rate", given={"cases": 4})
    # Conjugate: the shape grows by the count, the rate by one.
    assert_allclose(found.mean(), 7.0 / 3.0, rtol=0.02)
    assert_allclose(found.std(), np.sqrt(7.0) / 3.0, rtol=0.03)
    log_prob = clinic().log_prob({"cases": 4})
    assert_allclose(log_prob, stats.nbinom(3, 2 / 3).logpmf(4), atol=0.05)


def test_exact_answers_are_refused_by_the_name_of_the_node():
    with pytest.raises(NoExactAnswer, match=r"found \['rate', 'cases'\]") as caught:
        clinic().query("rate", given={"cases": 4}, method="exact")
    assert caught.value.nodes == ("rate", "cases")


def test_a_table_is_answered_row_by_row_with_equal_rows_equal():
    net = road()
    frame = pd.DataFrame(
        {"go": [True, None, True, False], "size": [np.nan, 80.0, np.nan, np.nan]}
    )
    found = net.marginals(frame, method="likelihood_weighting")
    assert_allclose(found["stop"].iloc[0], found["stop"].iloc[2])
    assert_allclose(found["stop"][True].iloc[1], light("stop", 80.0), atol=0.02)
    alone = net.query("size", {"go": False}, method="likelihood_weighting")
    assert_allclose(found["size"].iloc[3], [alone.mean(), alone.std()], rtol=0.02)
    assert_allclose(found["size"].iloc[1], [80.0, 0.0])
    assert found["stop"].attrs["effective_draws"] > 1000


def test_setting_a_variable_tells_nothing_about_its_causes():
    net = road()
    found = net.query("size", do={"go": True}, method="likelihood_weighting")
    assert abs(found.mean() - 100.0) < 4 * found.account.error * 20.0
    seen = net.query("size", given={"go": True}, method="likelihood_weighting")
    assert seen.mean() < 97.0
    cut = net.query("stop", do={"size": 80.0}, method="likelihood_weighting")
    assert abs(cut[True] - light("stop", 80.0)) < 4 * cut.attrs["error"]


def test_joint_answers_have_tables_moments_and_draws():
    net = road()
    found = net.query(["go", "size", "stop"], method="likelihood_weighting")
    both = size_integral(lambda s: light("go", s) * light("stop", s))
    assert_allclose(found.probability[True, True], both, atol=0.02)
    assert_allclose(found.mean()["size"], 100.0, atol=1.0)
    assert_allclose(found.covariance().loc["size", "size"], 400.0, rtol=0.06)
    draws = found.sample(2000, rng=0)
    assert list(draws.columns) == ["go", "size", "stop"]
    assert_allclose((draws["go"] & draws["stop"]).mean(), both, atol=0.05)
    table = net.query(["go", "stop"], {"size": 100.0}, method="likelihood_weighting")
    assert_allclose(table[True, True], light("go", 100.0) * light("stop", 100.0), atol=0.02)


def test_a_joint_answer_draws_a_whole_number_of_rows():
    with pytest.raises(ValueError, match=r"number of draws must be a whole number.*found -1"):
        clinic().query(["rate", "cases"]).sample(-1)


def test_draws_given_findings_are_picked_by_weight():
    draws = clinic().sample(3000, given={"cases": 4}, rng=1)
    assert (draws["cases"] == 4).all()
    assert_allclose(draws["rate"].mean(), 7.0 / 3.0, rtol=0.05)


def test_draws_of_nothing_given_are_ancestral_and_all_different():
    draws = clinic().sample(2000, rng=2)
    assert draws["rate"].nunique() == 2000
    assert_allclose(draws["cases"].mean(), 1.5, atol=0.15)


def test_more_draws_than_the_weighted_ones_are_worth_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="Expect repeated rows"):
        clinic().sample(200_000, given={"cases": 12}, rng=0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda net: net.query("rate", given={"cases": 15}),
        lambda net: net.marginals(given={"cases": 15}),
        lambda net: net.marginals(pd.DataFrame({"cases": [2.0, -1.0]})),
        lambda net: net.log_prob({"cases": 15}),
        lambda net: net.sample(200_000, given={"cases": 12}, rng=0),
    ],
)
def test_warnings_about_draws_point_at_the_line_that_asked(ask):
    with pytest.warns((ApproximationWarning, ConvergenceWarning)) as caught:
        ask(clinic())
    assert {one.filename for one in caught} == {__file__}


def test_findings_far_in_the_tail_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="draws worth only"):
        found = clinic().query("rate", given={"cases": 15})
    assert 100 < found.account.effective_draws < 10_000
    assert 0.005 < found.account.error < 0.2
    with pytest.warns(ConvergenceWarning, match="Do not trust this answer"):
        found = clinic().query("rate", given={"cases": 30})
    assert found.account.effective_draws < 100
    assert found.account.error == np.inf


def test_best_states_are_those_of_largest_weight():
    net, given = sprinkler(), {"wet": True}
    exact = net.most_probable(given=given)
    found = net.most_probable(given=given, method="likelihood_weighting")
    assert found == exact
    assert_allclose(found.log_prob, exact.log_prob, atol=0.05)
    assert found.account.method == "likelihood weighting"


def test_likelihood_weighting_by_name_agrees_with_tables():
    net = sprinkler()
    for given in ({}, {"wet": True}, {"wet": True, "cloud": False}, {"rain": [0.2, 0.9]}):
        exact = net.marginals(given)
        found = net.marginals(given, method="likelihood_weighting")
        for name, series in exact.items():
            assert_allclose(found[name], series, atol=4 * found[name].attrs["error"] + 1e-12)
        assert_allclose(found.log_prob, exact.log_prob, atol=0.05)
    joint = net.query(["rain", "sprinkler"], {"wet": True}, method="likelihood_weighting")
    assert_allclose(joint, net.query(["rain", "sprinkler"], {"wet": True}), atol=0.02)
    assert_allclose(
        net.query(
            "cloud", {"rain": True}, do={"sprinkler": True}, method="likelihood_weighting"
        ),
        net.query("cloud", {"rain": True}, do={"sprinkler": True}),
        atol=0.02,
    )


def test_rows_that_no_draw_agrees_with_are_nan_and_one_alone_is_an_error():
    net = clinic()
    frame = pd.DataFrame({"cases": [2.0, -1.0]})
    with pytest.warns(ConvergenceWarning, match=r"found none for 1 rows, such as \[1\]"):
        found = net.marginals(frame)
    assert found["rate"].iloc[1].isna().all()
    assert found["rate"].attrs["unanswered_rows"] == [1]
    assert found["rate"].attrs["impossible_rows"] == []
    assert np.isnan(found.log_prob[1])
    assert not found.is_impossible[1]
    assert found["rate"].iloc[0].notna().all()
    with pytest.raises(ZeroWeights, match="found none among"):
        net.query("rate", {"cases": -1.0})


def test_a_node_that_can_only_be_drawn_from_cannot_be_given():
    @dataclass(frozen=True)
    class Bound:
        child: Variable
        parents: tuple
        n_parameters: int = 0

        def sample(self, values, n, rng):
            return rng.exponential(2.0, size=n)

    class Simulator:
        is_discrete = False

        def bind(self, child, parents):
            return Bound(child, tuple(parents))

        def child_states(self, parents=()):
            return None

    net = BayesianNetwork(
        "x -> y", cpts={"x": Simulator(), "y": DistributionNode(lambda x: Poisson(x))}
    )
    assert_allclose(net.query("x", {"y": 3}).mean(), 8.0 / 3.0, rtol=0.05)
    with pytest.raises(ValueError, match="found x, a Bound that can only be drawn from"):
        net.query("y", {"x": 1.0})


def test_cost_of_draws_is_told():
    report = clinic().plan(observed=["cases"])
    assert report.fits
    assert report.cells == 2 * 200_000


def test_joint_tables_of_too_many_variables_are_refused():
    names = [f"v{i}" for i in range(30)]
    net = BayesianNetwork(
        {name: [] for name in names}, cpts={name: [0.5, 0.5] for name in names}
    )
    with pytest.raises(ValueError, match="must have at most 16,777,216 cells"):
        net.query(names, method="likelihood_weighting")


def dense(n):
    """Return a network whose last variable depends on a clique of others."""
    rng = np.random.default_rng(0)
    names = [f"v{i}" for i in range(n)]
    parents = {name: names[:i] for i, name in enumerate(names)}
    cpts = {name: rng.dirichlet([1.0, 1.0], size=(2,) * i) for i, name in enumerate(names)}
    return BayesianNetwork(parents, cpts=cpts)


def test_draws_that_do_not_fit_exactly_are_weighted_ones():
    net = dense(9)
    small = net.within(memory=300.0, seconds=1e-9)
    exact = net.query("v8")
    with pytest.warns(ApproximationWarning, match="weighted draws"):
        draws = small.sample(4000, rng=0)
    assert_allclose(draws["v8"].mean(), exact[True], atol=0.04)
    with pytest.warns(ApproximationWarning, match="weighted draws"):
        given = small.sample(4000, given={"v8": True}, rng=0)
    expected = net.query("v0", {"v8": True})
    assert given["v8"].all()
    assert_allclose(given["v0"].mean(), expected[True], atol=0.04)


def test_a_hybrid_network_that_does_not_fit_is_answered_by_weighted_draws():
    net = BayesianNetwork(
        "kind -> x -> y",
        cpts={
            "kind": [0.4, 0.6],
            "x": {False: LinearGaussian(0.0), True: LinearGaussian(3.0)},
            "y": LinearGaussian(0.0, {"x": 1.0}, 0.5),
        },
    )
    small = net.within(memory=8.0)
    exact = net.query("kind", {"y": 1.0})
    with pytest.warns(ApproximationWarning, match="weighted draws"):
        found = small.query("kind", {"y": 1.0})
    assert abs(found[True] - exact[True]) < 4 * found.attrs["error"]
    assert found.attrs["effective_draws"] >= 10_000
    with pytest.raises(InferenceTooLarge):
        small.query("kind", {"y": 1.0}, method="exact")
    assert not small.plan(observed=["y"]).fits


def test_draws_of_a_field_that_do_not_fit_come_from_gibbs_chains():
    rng = np.random.default_rng(1)
    variables = [Variable(f"v{i}", (False, True)) for i in range(6)]
    factors = [
        Factor((a, b), rng.uniform(0.5, 2.0, size=(2, 2)))
        for i, a in enumerate(variables)
        for b in variables[:i]
    ]
    field = MarkovRandomField(factors)
    small = field.within(memory=100.0, seconds=1e-9)
    with pytest.warns(ApproximationWarning, match="Gibbs chains"):
        draws = small.sample(6000, given={"v0": True, "v5": [0.2, 0.8]}, rng=0)
    exact = field.marginals({"v0": True, "v5": [0.2, 0.8]})
    assert draws["v0"].all()
    for name, series in exact.items():
        assert_allclose(draws[name].mean(), series[True], atol=0.04)


def test_joint_of_weighted_draws_has_the_errors_of_its_cells():
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(2, size=500), "b": rng.integers(3, size=500)}
    draws = WeightedDraws(columns, rng.normal(size=500))
    table, error = draws.joint(["a", "b"], (2, 3))
    cells = [(i, j) for i in range(2) for j in range(3)]
    means = [draws.mean((columns["a"] == i) & (columns["b"] == j)) for i, j in cells]
    assert_allclose(table.ravel(), [mean for mean, _ in means])
    assert_allclose(error, max(error for _, error in means))
    best, share, _ = draws.heaviest(["a", "b"])
    assert share == table.max()
    assert table[best["a"], best["b"]] == table.max()


RARE = BayesianNetwork(
    "a -> b -> c", cpts={"a": [1 - 1e-9, 1e-9], "b": np.eye(2), "c": np.eye(2)}
)


@pytest.mark.parametrize(
    "ask",
    [
        lambda **how: RARE.query("a", {"c": True}, **how),
        lambda **how: RARE.query(["a", "b"], {"c": True}, **how),
        lambda **how: RARE.marginals({"c": True}, **how),
        lambda **how: RARE.log_prob({"c": True}, **how),
        lambda **how: RARE.log_partition({"c": True}, **how),
        lambda **how: RARE.most_probable(given={"c": True}, **how),
    ],
)
def test_findings_that_no_draw_agrees_with_are_not_called_impossible(ask):
    with pytest.raises(ZeroWeights, match="found none among 200000"):
        ask(method="likelihood_weighting")


def test_findings_that_cannot_be_are_called_impossible_by_draws_as_well():
    given = {"b": False, "c": True}
    with pytest.raises(ImpossibleFindings) as caught:
        RARE.query("a", given, method="likelihood_weighting")
    assert caught.value.conflict == given
    assert RARE.log_prob(given, method="likelihood_weighting") == -np.inf


def test_rare_rows_and_impossible_rows_of_a_table_are_told_apart():
    rows = pd.DataFrame({"b": [False, False, None], "c": [True, False, True]}, dtype=object)
    how = {"method": "likelihood_weighting"}
    with pytest.warns(ConvergenceWarning, match=r"found none for 1 rows, such as \[2\]"):
        found = RARE.query("a", rows, **how)
    assert found.attrs["impossible_rows"] == [0]
    assert found.attrs["unanswered_rows"] == [2]
    assert_allclose(found.iloc[1], [1.0, 0.0])
    with pytest.warns(ConvergenceWarning, match="found none"):
        log_prob = RARE.log_prob(rows, **how)
    assert_allclose(log_prob, [-np.inf, 0.0, np.nan], atol=1e-6)
    possible = RARE.query("a", rows.iloc[:2], **how)
    assert possible.attrs["impossible_rows"] == [0]
    assert possible.attrs["error"] < 0.01


@pytest.mark.parametrize(
    "method", ["importance", "belief_propagation", "mean_field", "gibbs", "auto", "exact"]
)
def test_a_dictionary_that_cannot_be_has_the_same_conflict_by_every_method(method):
    with pytest.raises(ImpossibleFindings) as caught:
        RARE.query("a", {"b": False, "c": True}, method=method)
    assert caught.value.conflict == {"b": False, "c": True}


@pytest.mark.parametrize(
    "method", ["max_flow", "belief_propagation", "conditional_modes", "auto", "exact"]
)
def test_a_dictionary_that_cannot_be_has_no_most_probable_states(method):
    with pytest.raises(ImpossibleFindings) as caught:
        RARE.most_probable(given={"b": False, "c": True}, method=method)
    assert caught.value.conflict == {"b": False, "c": True}


def test_a_conflict_too_large_to_look_into_is_all_that_was_found():
    narrow = RARE.within(memory=20, seconds=1e-12)
    with pytest.raises(ImpossibleFindings) as caught:
        narrow.query("a", {"b": False, "c": True}, method="belief_propagation")
    assert caught.value.conflict == {"b": False, "c": True}


def clinic_of_causes():
    """Return a network of noisy symptoms, whose compact tables bring auxiliary variables."""
    rng = np.random.default_rng(4)
    causes, symptoms = [f"d{i}" for i in range(6)], [f"s{i}" for i in range(4)]
    parents = {**{d: [] for d in causes}, **{s: causes for s in symptoms}}
    cpts = {d: [1 - p, p] for d, p in zip(causes, rng.uniform(0.1, 0.4, 6), strict=True)}
    for s in symptoms:
        strength = dict(zip(causes, rng.uniform(0.1, 0.9, 6), strict=True))
        cpts[s] = NoisyOr(strength, leak=0.02)
    return BayesianNetwork(parents, cpts), causes


@pytest.mark.parametrize("method", ["auto", "belief_propagation", "conditional_modes"])
def test_modes_of_compact_networks_that_do_not_fit_are_approximate_with_their_log_prob(method):
    net, causes = clinic_of_causes()
    given = {"s0": True, "s1": False, "s2": True, "s3": False}
    best = net.most_probable(given=given)
    narrow = net.within(memory=500, seconds=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        found = narrow.most_probable(given=given, method=method)
    assert set(found) == set(causes)
    assert not found.account.is_exact
    assert found.log_prob <= best.log_prob + 1e-9
    roomy = net.most_probable(given=given, method="conditional_modes")
    assert_allclose(roomy.log_prob, net.log_prob({**given, **roomy}), rtol=1e-9)
    assert roomy.log_prob >= best.log_prob - 3.0


def test_modes_of_some_variables_that_do_not_fit_are_drawn_with_one_warning():
    net, _ = clinic_of_causes()
    given = {"s0": True, "s1": False}
    best = net.most_probable(["d0", "d1"], given)
    narrow = net.within(memory=500, seconds=1e-12)
    with pytest.warns(ApproximationWarning) as told:
        found = narrow.most_probable(["d0", "d1"], given)
    assert len(told) == 1
    assert "weighted draws: a plan of width" in str(told[0].message)
    assert found == best
    assert found.account.method == "likelihood weighting"
    assert_allclose(found.log_prob, best.log_prob, atol=0.05)


def test_an_answer_from_hardly_any_effective_draws_says_not_to_trust_it():
    parts = {
        "x": LinearGaussian(8.0),
        "go": Probit(0.0, 0.1, below=True),
        "stop": Probit(0.0, 0.1, below=True),
    }
    net = BayesianNetwork("x -> go, stop", cpts=parts)
    with pytest.warns(ConvergenceWarning, match="Do not trust this answer"):
        found = net.query("x", given={"go": True, "stop": True})
    assert found.account.error == np.inf
    assert found.account.effective_draws < 100


def test_exact_and_drawn_answers_about_a_number_both_have_an_account():
    parts = {"x": LinearGaussian(1.0), "go": Probit(0.0, below=True)}
    net = BayesianNetwork("x -> go", cpts=parts)
    exact = net.query("x")
    assert exact.account.is_exact
    assert exact.account.error == 0.0
    assert repr(exact).startswith("Normal(")
    assert float(exact.mean()) == 1.0
    known = net.query("x", given={"x": 2.5})
    assert known.account.is_exact
    assert float(known.mean()) == 2.5
    drawn = net.query("x", method="likelihood_weighting")
    assert not drawn.account.is_exact
    switched = BayesianNetwork(
        "k -> x",
        cpts={"k": [0.5, 0.5], "x": {False: LinearGaussian(0.0), True: LinearGaussian(2.0)}},
    )
    both = switched.query("x")
    assert both.account.is_exact
    assert float(both.mean()) == 1.0
