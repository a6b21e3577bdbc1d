"""Networks with real variables answer the same verbs, exactly."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import Distribution, Mixture, Normal
from credo.graphs import ConditionalLinearGaussian, LinearGaussian, Probit
from credo.inference.engine.error import AnswerTooLarge, ImpossibleFindings
from credo.inference.engine.findings import Findings
from credo.inference.hybrid.gaussian_network import GaussianNetwork
from credo.inference.hybrid.hybrid_engine import FEW_NODES
from credo.inference.hybrid.strong_inference import HybridInference
from credo.models.network.bayesian_network import BayesianNetwork


def engine():
    """Return throttle, tuning and speed of an engine."""
    return BayesianNetwork(
        "TP, te -> SC",
        cpts={
            "TP": LinearGaussian(2.0, {}, 1.0),
            "te": [0.3, 0.7],
            "SC": {
                True: LinearGaussian(1.0, {"TP": 3.0}, 0.5),
                False: LinearGaussian(0.5, {"TP": 1.5}, 1.0),
            },
        },
    )


def clinic():
    """Return two causes with states, two real signs in a chain, and a sign with states."""
    return BayesianNetwork(
        "kind -> site; kind, site -> x; x, site -> y; kind -> seen",
        cpts={
            "kind": [0.2, 0.5, 0.3],
            "site": [[0.6, 0.4], [0.1, 0.9], [0.5, 0.5]],
            "x": {
                (k, s): LinearGaussian(1.5 * k - s, {}, 0.5 + 0.3 * k + 0.2 * s)
                for k in range(3)
                for s in (False, True)
            },
            "y": {
                False: LinearGaussian(0.3, {"x": -0.8}, 0.7),
                True: LinearGaussian(-1.0, {"x": 1.2}, 0.4),
            },
            "seen": {0: {"no": 1.0, "yes": 0.0}, 1: [0.7, 0.3], 2: [0.4, 0.6]},
        },
        states={"seen": ("no", "yes")},
    )


class Brute:
    """All settings of the clinic, each with the joint normal of x and y."""

    settings = tuple(product(range(3), (False, True), ("no", "yes")))
    prior = np.array([0.2, 0.5, 0.3])
    site = np.array([[0.6, 0.4], [0.1, 0.9], [0.5, 0.5]])
    seen = np.array([[1.0, 0.0], [0.7, 0.3], [0.4, 0.6]])

    def __init__(self, given, hint=None):
        weights, means, covariances = [], [], []
        known = [i for i, name in enumerate("xy") if name in given]
        free = [i for i, name in enumerate("xy") if name not in given]
        value = np.array([given["xy"[i]] for i in known])
        for k, s, t in self.settings:
            mean, cov = self.normal(k, s)
            p = self.prior[k] * self.site[k, int(s)] * self.seen[k, int(t == "yes")]
            states = {"kind": k, "site": s, "seen": t}
            p *= all(given.get(name, state) == state for name, state in states.items())
            p *= 1.0 if hint is None else hint[k]
            if known:
                part = cov[np.ix_(known, known)]
                p *= stats.multivariate_normal(mean[known], part).pdf(value)
                gain = cov[np.ix_(free, known)] @ np.linalg.inv(part)
                mean, cov = (
                    mean[free] + gain @ (value - mean[known]),
                    cov[np.ix_(free, free)] - gain @ cov[np.ix_(known, free)],
                )
            weights.append(p)
            means.append(mean)
            covariances.append(cov)
        self.total = sum(weights)
        self.weight = np.array(weights) / self.total
        self.mean, self.covariance = np.array(means), np.array(covariances)
        self.free = ["xy"[i] for i in free]

    @staticmethod
    def normal(k, s):
        center, scale = 1.5 * k - s, 0.5 + 0.3 * k + 0.2 * s
        start, slope, noise = (-1.0, 1.2, 0.4) if s else (0.3, -0.8, 0.7)
        cov = scale**2 * np.array([[1.0, slope], [slope, slope**2]])
        cov[1, 1] += noise**2
        return np.array([center, start + slope * center]), cov

    def states(self, at):
        found = {}
        for setting, p in zip(self.settings, self.weight, strict=True):
            found[setting[at]] = found.get(setting[at], 0.0) + p
        return found

    def moments(self):
        mean = self.weight @ self.mean
        shift = self.mean - mean
        spread = np.einsum("s,si,sj->ij", self.weight, shift, shift)
        return mean, np.einsum("s,sij->ij", self.weight, self.covariance) + spread


FINDINGS = [
    {},
    {"x": 1.2},
    {"y": -0.5},
    {"seen": "yes", "y": 2.0},
    {"site": True, "x": 0.1, "y": 0.4},
    {"kind": 1, "x": -3.0},
]


def test_tuned_engine_has_the_worked_numbers():
    net = engine()
    assert_allclose(np.exp(net.log_prob({"SC": 8})), 0.0899335718, atol=1e-10)
    tuned = net.query("te", {"SC": 8})
    assert_allclose(tuned[True], 0.9672528544, atol=1e-10)
    assert tuned.attrs["is_exact"]
    throttle = net.query("TP", {"SC": 8})
    assert isinstance(throttle, Mixture)
    assert_allclose(throttle.mean(), 2.3817169308, atol=1e-10)
    parts = {True: (2.3243243243, 0.0270270270), False: (4.0769230769, 0.3076923077)}
    for state, (mean, variance) in parts.items():
        found = net.query("TP", {"SC": 8, "te": state})
        assert isinstance(found, Normal)
        assert_allclose([found.mean(), found.variance()], [mean, variance], atol=1e-10)


def test_probit_node_has_the_worked_probability():
    net = BayesianNetwork(
        "size -> go",
        cpts={"size": LinearGaussian(100.0, {}, 20.0), "go": Probit(120.0, 15.0, below=True)},
    )
    found = net.query("go", method="exact")
    assert_allclose(found[True], 0.7881446014, atol=1e-10)
    assert found.attrs["is_exact"]
    # Threshold, scale and coefficients at another scale have the same probabilities.
    node = net.conditionals["go"]
    assert_allclose([node.thresholds.item(), node.scale.item()], [120.0, 15.0])


@pytest.mark.parametrize("given", FINDINGS)
def test_marginals_are_those_of_the_mixture_over_all_settings(given):
    found, brute = clinic().marginals(given), Brute(given)
    assert_allclose(found.log_prob, np.log(brute.total), rtol=1e-10, atol=1e-12)
    for at, name in enumerate(("kind", "site", "seen")):
        if name not in given:
            expected = brute.states(at)
            assert_allclose([found[name][s] for s in expected], list(expected.values()))
    mean, covariance = brute.moments()
    for i, name in enumerate(brute.free):
        assert isinstance(found[name], Distribution)
        assert_allclose(found[name].mean(), mean[i], rtol=1e-9)
        assert_allclose(found[name].variance(), covariance[i, i], rtol=1e-9)


def test_real_posterior_has_the_density_of_the_mixture():
    brute, grid = Brute({"y": -0.5}), np.linspace(-3, 4, 7)
    expected = sum(
        w * stats.norm(m[0], np.sqrt(c[0, 0])).pdf(grid)
        for w, m, c in zip(brute.weight, brute.mean, brute.covariance, strict=True)
    )
    assert_allclose(clinic().query("x", {"y": -0.5}).prob(grid), expected, rtol=1e-9)


@pytest.mark.parametrize("given", [{}, {"seen": "yes"}, {"kind": 2}])
def test_joint_of_real_and_discrete_variables_is_labelled(given):
    found, brute = clinic().query(["y", "site", "x"], given), Brute(given)
    mean, covariance = brute.moments()
    assert_allclose(found.mean()[["x", "y"]], mean, rtol=1e-9)
    assert_allclose(found.covariance().loc[["x", "y"], ["x", "y"]], covariance, rtol=1e-9)
    expected = brute.states(1)
    assert_allclose([found.probability[s] for s in expected], list(expected.values()))
    assert found.account.is_exact


def test_joint_table_has_an_axis_for_what_is_given():
    net, given = clinic(), {"kind": 1, "x": 0.5}
    joint = net.query(["site", "kind"], given)
    assert_allclose(joint.xs(1, level="kind"), net.query("site", given))
    assert joint.drop(index=1, level="kind").eq(0).all()
    both = net.query(["x", "y"], given)
    assert both.mean()["x"] == 0.5
    assert_allclose(both.covariance().loc["x"], 0.0)
    assert_allclose(both.mean()["y"], net.query("y", given).mean())


def test_draws_of_the_joint_have_its_moments():
    found = clinic().query(["x", "y"], {"seen": "yes"})
    draws = found.sample(40_000, rng=1)
    error = np.sqrt(np.diag(found.covariance()) / 40_000)
    assert np.all(np.abs(draws.mean() - found.mean()) < 4 * error)
    assert_allclose(draws.cov(), found.covariance(), rtol=0.05)


def table():
    return pd.DataFrame(
        {
            "y": [np.nan, 0.3, 0.3, np.nan, 1e6, 2.0, np.nan],
            "kind": [None, 1, None, 2, None, 0, None],
            "x": [np.nan, np.nan, -1.0, 0.5, np.nan, np.nan, np.nan],
            "seen": [None, "no", "yes", None, None, "yes", None],
        },
        index=list("abcdefg"),
    )


def row_of(frame, at):
    return {name: value for name, value in frame.iloc[at].items() if not pd.isna(value)}


def test_a_table_with_missing_cells_is_answered_as_row_by_row():
    net, frame = clinic(), table()
    found = net.marginals(frame)
    log_prob = net.log_prob(frame)
    assert np.flatnonzero(found.is_impossible).tolist() == [5]
    for at in (0, 1, 2, 3, 4, 6):
        given = row_of(frame, at)
        alone = net.marginals(given)
        assert_allclose(log_prob[at], net.log_prob(given), rtol=1e-12)
        for name, answer in alone.items():
            row = found[name].iloc[at]
            if name in "xy":
                expected = [float(answer.mean()), float(answer.std())]
                assert_allclose(row[["mean", "std"]].astype(float), expected, rtol=1e-9)
            else:
                assert_allclose(row, answer, rtol=1e-9)


def test_impossible_rows_are_nan_and_named():
    found = clinic().marginals(table())
    assert np.isneginf(found.log_prob[5])
    for name in ("x", "site", "y"):
        assert found[name].iloc[5].isna().all()
        assert found[name].attrs["impossible_rows"] == [5]
    assert found["site"].drop(index="f").notna().all(axis=None)


def test_impossible_findings_name_the_smallest_conflict():
    with pytest.raises(ImpossibleFindings) as caught:
        clinic().query("x", {"site": True, "kind": 0, "seen": "yes", "y": 1.0})
    assert caught.value.conflict == {"kind": 0, "seen": "yes"}


@pytest.mark.parametrize("far", [1e6, -1e6])
def test_findings_a_million_deviations_away_stay_finite(far):
    net = clinic()
    found = net.marginals({"y": far})
    assert np.isfinite(found.log_prob)
    assert_allclose(found["site"].sum(), 1.0)
    assert np.isfinite(found["x"].mean())
    # Among sites the wider spread explains a far value; there the mean is that of one normal.
    best = net.most_probable(given={"y": far})
    mean, cov = Brute.normal(best["kind"], best["site"])
    expected = mean[0] + cov[0, 1] / cov[1, 1] * (far - mean[1])
    assert_allclose(found["x"].mean(), expected, rtol=1e-6)


@pytest.mark.parametrize("given", FINDINGS)
def test_most_probable_states_are_the_heaviest_setting(given):
    brute = Brute(given)
    best = clinic().most_probable(given=given)
    setting = dict(
        zip(("kind", "site", "seen"), brute.settings[brute.weight.argmax()], strict=True)
    )
    assert best == {name: state for name, state in setting.items() if name not in given}
    assert_allclose(best.log_prob, np.log(brute.weight.max() * brute.total))


def test_most_probable_of_some_sums_over_the_others():
    brute = Brute({"y": 0.7})
    sums = brute.states(0)
    best = clinic().most_probable("kind", given={"y": 0.7})
    assert best == {"kind": max(sums, key=sums.get)}
    assert_allclose(best.log_prob, np.log(max(sums.values()) * brute.total))


def test_real_variables_cannot_be_explained():
    with pytest.raises(ValueError, match=r"found \['x'\], which are real-valued"):
        clinic().most_probable(["kind", "x"])


def test_uncertain_findings_reweigh_states_and_real_variables():
    found, brute = clinic().marginals({"y": 0.4, "kind": [0.9, 0.1, 0.3]}), None
    brute = Brute({"y": 0.4}, hint=[0.9, 0.1, 0.3])
    assert_allclose(found["kind"], list(brute.states(0).values()))
    assert_allclose(found["x"].mean(), brute.moments()[0][0])
    assert_allclose(found.log_prob, np.log(brute.total))


def test_setting_a_real_variable_tells_nothing_about_its_causes():
    net = clinic()
    assert_allclose(net.query("kind", do={"x": 5.0}), net.query("kind"))
    assert_allclose(net.query("site", do={"x": 5.0}), net.query("site"))
    cut = net.query("y", {"site": True}, do={"x": 5.0})
    assert_allclose([cut.mean(), cut.std()], [-1.0 + 1.2 * 5.0, 0.4])
    # P(site | y, do x) weighs the prior of the site by the density of y alone.
    density = stats.norm([0.3 - 0.8 * 5.0, -1.0 + 1.2 * 5.0], [0.7, 0.4]).pdf(4.0)
    expected = density * net.query("site")
    found = net.marginals({"y": 4.0}, do={"x": 5.0})
    assert_allclose(found["site"], expected / expected.sum())
    assert_allclose(found.log_prob, np.log(expected.sum()))


def test_setting_a_state_cuts_it_off_from_its_causes():
    net = clinic()
    expected = net.query("kind")
    assert_allclose(net.query("kind", do={"site": True}), expected)
    mean = sum(p * (1.5 * k - 1.0) for k, p in expected.items())
    assert_allclose(net.query("x", do={"site": True}).mean(), mean)


def test_setting_in_a_purely_gaussian_network_cuts_as_well():
    net = BayesianNetwork(
        "a -> b -> c",
        cpts={
            "a": LinearGaussian(1.0, {}, 2.0),
            "b": LinearGaussian(0.0, {"a": 1.0}, 1.0),
            "c": LinearGaussian(3.0, {"b": 2.0}, 0.5),
        },
    )
    assert_allclose(net.query("a", do={"b": 9.0}).mean(), 1.0)
    assert_allclose(net.query("c", do={"b": 9.0}).mean(), 21.0)
    # Given rather than set, b tells about a: the gain is 4 / 5.
    assert_allclose(net.query("a", given={"b": 9.0}).mean(), 1.0 + 0.8 * 8.0)
    joint = net.query(["a", "b", "c"])
    expected = [[4.0, 4.0, 8.0], [4.0, 5.0, 10.0], [8.0, 10.0, 20.25]]
    assert_allclose(joint.covariance(), expected)
    assert joint.probability is None
    assert net.most_probable(given={"a": 1.0}) == {}
    assert net.plan(observed=["a"]).fits


def test_draws_given_findings_have_the_posterior_of_the_mixture():
    given = {"y": -0.5, "seen": "no"}
    draws, brute = clinic().sample(20_000, given, rng=3), Brute(given)
    assert list(draws.columns) == ["kind", "site", "x", "y", "seen"]
    assert (draws["y"] == -0.5).all()
    mean, covariance = brute.moments()
    error = np.sqrt(covariance[0, 0] / 20_000)
    assert abs(draws["x"].mean() - mean[0]) < 4 * error
    assert_allclose(draws["x"].var(), covariance[0, 0], rtol=0.05)
    for state, p in brute.states(0).items():
        assert (
            abs((draws["kind"] == state).mean() - p) < 4 * np.sqrt(p * (1 - p) / 20_000) + 1e-9
        )


def test_gaps_are_filled_by_best_states_and_means():
    net, frame = clinic(), table().drop(index="f")
    filled = net.impute(frame)
    assert list(filled.columns) == list(frame.columns)
    assert list(filled.index) == list(frame.index)
    assert filled.notna().all(axis=None)
    for name, row in product(frame.columns, frame.index):
        assert pd.isna(frame.loc[row, name]) or filled.loc[row, name] == frame.loc[row, name]
    given = row_of(frame, 2)
    assert filled.loc["c", "kind"] == net.most_probable(given=given)["kind"]
    given = row_of(frame, 3)
    assert_allclose(filled.loc["d", "y"], mean_beside_best(net, "y", given))
    assert abs(filled.loc["d", "y"] - net.query("y", given).mean()) > 0.01


def mean_beside_best(net, name, given):
    """Return the mean of a real variable given the likeliest states of all others."""
    states = net.most_probable(given=given)
    return float(net.query(name, {**given, **states}).mean())


def test_gaps_filled_at_random_differ_from_row_to_row_and_keep_what_is_known():
    frame = pd.DataFrame({"y": [np.nan] * 500, "kind": [None] * 499 + [1]})
    filled = clinic().impute(frame, rng=0)
    assert filled["y"].nunique() == 500
    assert filled["kind"].iloc[-1] == 1
    share = filled["kind"].value_counts(normalize=True)
    assert_allclose([share[k] for k in range(3)], Brute.prior, atol=0.08)


def test_predictions_of_states_and_of_numbers_ignore_the_column_of_the_target():
    net, frame = clinic(), table().drop(index="f")
    proba = net.predict_proba(frame, "kind")
    assert_allclose(proba.loc["b"], net.query("kind", {"y": 0.3, "seen": "no"}), rtol=1e-9)
    assert net.predict(frame, "kind").loc["b"] == proba.loc["b"].idxmax()
    real = net.predict_proba(frame, "x")
    assert_allclose(real.loc["c", "mean"], net.query("x", {"y": 0.3, "seen": "yes"}).mean())
    assert_allclose(net.predict(frame, "x"), real["mean"])
    both = net.predict_proba(frame, ["kind", "x"])
    assert both["x"].columns.tolist() == ["mean", "std"]


def test_a_given_real_variable_is_certain():
    found = clinic().query("x", {"x": 1.25})
    assert float(found.mean()) == 1.25
    assert float(found.variance()) == 0.0


def test_no_rows_have_no_answers():
    found = clinic().marginals(table().iloc[:0])
    assert found["site"].shape == (0, 2)
    assert clinic().query("x", table()[["y"]].iloc[:0]).shape == (0, 2)
    assert clinic().log_prob(table().iloc[:0]).shape == (0,)


def test_cost_is_told_before_anything_is_done():
    report = clinic().plan(observed=["y"])
    assert report.fits
    assert report.width >= 1


def test_cost_of_a_hybrid_network_is_that_of_its_largest_mixture():
    few = clinic().plan(observed=["kind", "site"])
    many = clinic().plan(observed=["y"])
    assert (few.width, many.width) == (0, 1)
    assert few.cells < many.cells
    assert many.is_exact
    assert str(many).startswith("width 1, ")


def test_cost_of_draws_is_told_where_nothing_else_can_answer():
    net = BayesianNetwork(
        "x -> go; x -> stop",
        cpts={
            "x": LinearGaussian(),
            "go": Probit(0.2, below=True),
            "stop": Probit(-0.4, below=True),
        },
        states={"go": (False, True), "stop": (False, True)},
    )
    assert net.plan(targets=["go"]).is_exact
    report = net.plan(observed=["stop"], targets=["go"])
    assert not report.is_exact
    assert str(report).startswith("weighted draws: ")


def scattered(net, n_rows, missing=0.35, seed=0):
    """Return draws of a network in which cells are missing here and there."""
    frame = net.sample(n_rows, rng=seed).astype(object)
    gone = np.random.default_rng(seed).random(frame.shape) < missing
    frame = frame.mask(gone)
    real = [name for name, v in net.variables.items() if not v.is_discrete]
    return frame.astype(dict.fromkeys(real, float))


def check_rows_alone(net, frame):
    """Check that every verb answers a table as it answers its rows one by one."""
    found, log_prob = net.marginals(frame), net.log_prob(frame)
    best, filled = net.most_probable(given=frame), net.impute(frame)
    for at in range(len(frame)):
        given = row_of(frame, at)
        alone = net.marginals(given)
        assert_allclose(log_prob[at], alone.log_prob, rtol=1e-9, atol=1e-9)
        for name, answer in alone.items():
            row = found[name].iloc[at]
            if net.variables[name].is_discrete:
                assert_allclose(row, answer, rtol=1e-8, atol=1e-12)
                continue
            expected = [float(answer.mean()), float(answer.std())]
            assert_allclose(row[["mean", "std"]].astype(float), expected, rtol=1e-7)
            mean = given[name] if name in given else mean_beside_best(net, name, given)
            assert_allclose(filled[name].iloc[at], mean, rtol=1e-7, atol=1e-9)
        states = net.most_probable(given=given)
        assert {name: best[name].iloc[at] for name in states} == dict(states)
        for name, value in given.items():
            assert filled[name].iloc[at] == value


def test_scattered_gaps_are_answered_as_row_by_row():
    check_rows_alone(clinic(), scattered(clinic(), 80))


def test_impossible_rows_among_scattered_gaps_are_told_apart():
    net = clinic()
    frame = scattered(net, 60, seed=3)
    frame.loc[[7, 30], ["kind", "seen"]] = [0, "yes"]
    found = net.marginals(frame)
    assert np.flatnonzero(found.is_impossible).tolist() == [7, 30]
    for name in ("site", "x", "y"):
        assert np.flatnonzero(found[name].isna().all(axis=1)).tolist() == [7, 30]
    assert np.isneginf(net.log_prob(frame)[[7, 30]]).all()
    joint = net.query(["site", "x"], frame)
    for part in (joint.probability, joint.mean(), joint.rows.covariance[:, 0]):
        assert np.flatnonzero(np.isnan(np.asarray(part)).all(axis=1)).tolist() == [7, 30]


def test_joint_answers_about_scattered_gaps_are_those_of_each_row():
    net, frame = clinic(), scattered(clinic(), 50, seed=4)
    found = net.query(["kind", "seen"], frame)
    for at in range(50):
        alone = net.query(["kind", "seen"], row_of(frame, at))
        assert_allclose(found.iloc[at], alone, rtol=1e-9, atol=1e-12)
    mixed = net.query(["x", "kind", "y"], frame)
    for at in range(50):
        alone = net.query(["x", "kind", "y"], row_of(frame, at))
        assert_allclose(mixed.mean().iloc[at], alone.mean(), rtol=1e-9, atol=1e-9)
        assert_allclose(mixed.rows.covariance[at], alone.covariance(), atol=1e-9)
        assert_allclose(mixed.probability.iloc[at], alone.probability, atol=1e-12)


def test_draws_into_scattered_gaps_keep_what_is_known_and_have_the_posterior():
    net = clinic()
    frame = scattered(net, 12, seed=5)
    many = pd.concat([frame] * 2000, ignore_index=True)
    filled = net.impute(many, rng=0)
    found = net.marginals(frame)
    for at in range(12):
        rows = filled.iloc[at::12]
        for name, value in row_of(frame, at).items():
            assert (rows[name] == value).all()
        if "x" not in row_of(frame, at):
            mean, std = found["x"].iloc[at][["mean", "std"]]
            assert abs(rows["x"].mean() - mean) < 4.5 * std / np.sqrt(2000)
            assert_allclose(rows["x"].std(), std, rtol=0.1)
        share = rows["site"].astype(bool).mean()
        expected = found["site"].iloc[at][True]
        assert abs(share - expected) < 4.5 * np.sqrt(0.25 / 2000)


def test_thresholds_are_answered_pattern_by_pattern():
    net = BayesianNetwork(
        "kind -> x; x -> y; x -> go",
        cpts={
            "kind": [0.3, 0.7],
            "x": {False: LinearGaussian(-1.0), True: LinearGaussian(1.0, {}, 2.0)},
            "y": LinearGaussian(0.2, {"x": 1.5}, 0.6),
            "go": Probit(0.4, below=True),
        },
        states={"kind": (False, True), "go": (False, True)},
    )
    frame = scattered(net, 40)
    found = net.query("kind", frame)
    for at in range(40):
        assert_allclose(found.iloc[at], net.query("kind", row_of(frame, at)), rtol=1e-9)


def ladder(n):
    """Return real variables in a chain with steps over one."""
    parents = {f"g{i}": [f"g{j}" for j in range(max(0, i - 2), i)] for i in range(n)}
    rng = np.random.default_rng(0)
    cpts = {
        name: LinearGaussian(rng.normal(), {p: rng.normal() / 2 for p in above}, 0.5 + i % 3)
        for i, (name, above) in enumerate(parents.items())
    }
    return BayesianNetwork(parents, cpts)


@pytest.mark.parametrize(("n", "n_rows"), [(10, 60), (FEW_NODES + 4, 12)])
def test_gaps_in_gaussian_networks_small_and_large_are_answered_as_row_by_row(n, n_rows):
    net = ladder(n)
    check_rows_alone(net, scattered(net, n_rows))


def test_setting_variables_in_a_large_gaussian_network_uses_the_sparse_factor():
    net = ladder(FEW_NODES + 8)
    exact = net.answers(("g5", "g20")).exact
    assert isinstance(exact.engine, GaussianNetwork)
    given, do = {"g12": 0.3, "g30": -1.0}, {"g5": 2.0, "g20": 1.0}
    found = net.marginals(given, do=do)
    nodes = [c for name, c in net.conditionals.items() if name not in do]
    dense, total = HybridInference(nodes).posterior(
        Findings.of(values={**given, **do}), list(found)
    )
    assert_allclose(found.log_prob, total[0])
    for name, answer in found.items():
        assert_allclose(float(answer.mean()), dense[name].total_mean()[0], rtol=1e-8)
        assert_allclose(float(answer.std()) ** 2, dense[name].total_variance()[0], rtol=1e-8)
    draws = net.answers(("g5", "g20")).draws(
        Findings.of(values={**given, **do}), 3, np.random.default_rng(0)
    )[0]
    assert draws["g5"].tolist() == [[2.0, 2.0, 2.0]]


def test_a_discrete_engine_cannot_serve_real_variables():
    with pytest.raises(ValueError, match="found 'gibbs'"):
        clinic().query("kind", method="gibbs")


def test_one_set_of_parameters_per_setting_may_be_named():
    spec = ConditionalLinearGaussian({"a": LinearGaussian(0.0), "b": LinearGaussian(4.0)})
    net = BayesianNetwork("kind -> x", cpts={"kind": {"a": 0.5, "b": 0.5}, "x": spec})
    assert_allclose(net.query("kind", {"x": 2.0}), [0.5, 0.5])


def test_a_joint_table_of_too_many_variables_is_refused_before_it_is_made():
    coins = [f"c{i}" for i in range(40)]
    arrows = "; ".join(f"{a} -> {b}" for a, b in pairwise([*coins, "size"]))
    sizes = {False: LinearGaussian(0.0, {}, 1.0), True: LinearGaussian(1.0, {}, 1.0)}
    tables = {name: [[0.5, 0.5], [0.2, 0.8]] for name in coins}
    net = BayesianNetwork(arrows, cpts={**tables, "c0": [0.5, 0.5], "size": sizes})
    with pytest.raises(AnswerTooLarge, match=r"fit 2\.15 GB; found one over 40 names"):
        net.query([*coins, "size"])
