"""Exact inference with real and discrete variables, against mixtures over all settings."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from credo.distributions import Gamma, Mixture, Normal
from credo.families.linear import LinearStatistics
from credo.families.linear_gaussian import LinearGaussianBelief
from credo.graphs import (
    ConditionalLinearGaussian,
    ConditionalTable,
    ConditionalThreshold,
    DistributionNode,
    LinearGaussian,
    Logit,
    NoisyOr,
    Probit,
    Variable,
)
from credo.graphs.node.linear_gaussian import GaussianNode
from credo.inference.discrete.exact_inference import TableInference
from credo.inference.engine.error import InferenceTooLarge
from credo.inference.engine.findings import MISSING, Findings
from credo.inference.hybrid.strong_inference import HybridInference, is_conditional_gaussian

TUNED, POWER, SPEED = Variable("te", (False, True)), Variable("TP"), Variable("SC")


def engine():
    tuned = ConditionalLinearGaussian(
        {
            True: LinearGaussian(1.0, {"TP": 3.0}, 0.5),
            False: LinearGaussian(0.5, {"TP": 1.5}, 1),
        }
    )
    return HybridInference(
        [
            LinearGaussian(2.0, {}, 1.0).bind(POWER, ()),
            ConditionalTable(TUNED, (), [0.3, 0.7]),
            tuned.bind(SPEED, (POWER, TUNED)),
        ]
    )


def random_network(rng, n_discrete, n_real):
    """Return conditionals of a random network, discrete variables first."""
    discrete = [
        Variable(f"d{i}", tuple(range(int(rng.integers(2, 4))))) for i in range(n_discrete)
    ]
    real = [Variable(f"x{i}") for i in range(n_real)]
    nodes = []
    for i, child in enumerate(discrete):
        parents = some(rng, discrete[:i], 2)
        shape = [p.n_states for p in parents]
        table = rng.dirichlet(np.ones(child.n_states), size=shape or None)
        nodes.append(ConditionalTable(child, parents, table))
    for i, child in enumerate(real):
        parents = some(rng, discrete, 2) + some(rng, real[:i], 2)
        shape = [p.n_states for p in parents if p.is_discrete]
        n_slopes = sum(not p.is_discrete for p in parents)
        nodes.append(
            GaussianNode(
                child,
                tuple(parents),
                rng.normal(size=shape),
                rng.normal(size=(*shape, n_slopes)),
                rng.uniform(0.3, 2.0, size=shape),
            )
        )
    return nodes


def some(rng, variables, most):
    n = int(rng.integers(0, min(most, len(variables)) + 1))
    return [variables[i] for i in rng.choice(len(variables), n, replace=False)]


class Brute:
    """The whole joint: a Gaussian over all real variables for every discrete setting."""

    def __init__(self, nodes):
        self.discrete = [n.child for n in nodes if n.child.is_discrete]
        self.real = [n.child.name for n in nodes if not n.child.is_discrete]
        self.settings = list(product(*[range(v.n_states) for v in self.discrete]))
        self.log_prior, self.mean, self.cov = [], [], []
        for setting in self.settings:
            codes = {v.name: np.array([s]) for v, s in zip(self.discrete, setting, strict=True)}
            tables = [n for n in nodes if n.child.is_discrete]
            self.log_prior.append(sum(float(n.log_prob(codes)[0]) for n in tables))
            mean, cov = self.moments([n for n in nodes if not n.child.is_discrete], codes)
            self.mean.append(mean)
            self.cov.append(cov)

    def moments(self, nodes, codes):
        d = len(nodes)
        mean, cov = np.zeros(d), np.zeros((d, d))
        for i, node in enumerate(nodes):
            cell = tuple(int(codes[p.name][0]) for p in node.discrete_parents)
            slope = np.zeros(d)
            for j, parent in enumerate(node.real_parents):
                slope[self.real.index(parent.name)] = node.coefficients[cell][j]
            mean[i] = node.intercept[cell] + slope @ mean
            cov[i, :i] = cov[:i, i] = (cov @ slope)[:i]
            cov[i, i] = slope @ cov @ slope + node.scale[cell] ** 2
        return mean, cov

    def posterior(self, codes, values):
        """Return log P(findings), weights, and means and covariances of the other reals."""
        names = [v.name for v in self.discrete]
        known = [self.real.index(n) for n in values]
        free = [i for i in range(len(self.real)) if i not in known]
        x = np.array(list(values.values()))
        logs, means, covs = [], [], []
        for setting, log_p, mean, cov in zip(
            self.settings, self.log_prior, self.mean, self.cov, strict=True
        ):
            fits = all(setting[names.index(n)] == c for n, c in codes.items())
            density = 0.0
            gain = np.zeros((len(free), len(known)))
            if known:
                block = cov[np.ix_(known, known)]
                density = stats.multivariate_normal(mean[known], block).logpdf(x)
                gain = cov[np.ix_(free, known)] @ np.linalg.inv(block)
            logs.append(log_p + density if fits else -np.inf)
            means.append(mean[free] + gain @ (x - mean[known]))
            covs.append(cov[np.ix_(free, free)] - gain @ cov[np.ix_(known, free)])
        total = special.logsumexp(logs)
        return total, np.exp(np.array(logs) - total), np.array(means), np.array(covs), free


def findings_of(rng, nodes):
    """Return random findings about some variables, three rows of them."""
    codes, values = {}, {}
    for node in nodes:
        if rng.random() < 0.4:
            if node.child.is_discrete:
                codes[node.child.name] = rng.integers(0, node.child.n_states, size=3)
            else:
                values[node.child.name] = rng.normal(scale=2.0, size=3)
    return codes, values


def row_of(columns, i):
    return {name: column[i] for name, column in columns.items()}


def test_tuned_engine_has_the_worked_numbers():
    problem = engine()
    assert_allclose(
        np.exp(problem.log_prob(Findings.of(values={"SC": [8.0]}))), 0.0899335718, rtol=1e-9
    )
    found = problem.marginals(Findings.of(values={"SC": [8.0]}), ["te", "TP"])
    assert_allclose(found["te"][0, 1], 0.9672528544, rtol=1e-9)
    power = found["TP"]
    assert_allclose(power.mean[0], [4.0769230769, 2.3243243243], rtol=1e-10)
    assert_allclose(power.variance[0], [0.3076923077, 0.0270270270], rtol=1e-8)
    assert_allclose(power.total_mean(), 2.3817169308, rtol=1e-9)


def test_posterior_of_a_real_parent_agrees_with_numerical_integration():
    grid = np.linspace(-8, 12, 20001)
    likelihood = 0.7 * stats.norm.pdf(8, 3 * grid + 1, 0.5)
    likelihood += 0.3 * stats.norm.pdf(8, 1.5 * grid + 0.5, 1.0)
    joint = stats.norm.pdf(grid, 2, 1) * likelihood
    total = integrate.simpson(joint, x=grid)
    mixture = engine().marginals(Findings.of(values={"SC": [8.0]}), ["TP"])["TP"].mixture(0)
    assert_allclose(
        mixture.log_prob(3.0), np.log(np.interp(3.0, grid, joint) / total), rtol=1e-6
    )
    mean = integrate.simpson(grid * joint, x=grid) / total
    assert_allclose(mixture.mean(), mean, rtol=1e-7)
    variance = integrate.simpson((grid - mean) ** 2 * joint, x=grid) / total
    assert_allclose(mixture.variance(), variance, rtol=1e-6)


@pytest.mark.parametrize("seed", range(25))
def test_every_answer_equals_the_mixture_over_all_settings(seed):
    rng = np.random.default_rng(seed)
    nodes = random_network(rng, int(rng.integers(1, 6)), int(rng.integers(1, 7)))
    problem, brute = HybridInference(nodes), Brute(nodes)
    codes, values = findings_of(rng, nodes)
    n_rows = 3 if codes or values else 1
    log_prob = problem.log_prob(Findings.of(codes, values))
    found = problem.marginals(Findings.of(codes, values), list(problem.structure.conditionals))
    for i in range(n_rows):
        total, weight, mean, cov, free = brute.posterior(row_of(codes, i), row_of(values, i))
        assert_allclose(log_prob[i], total, rtol=1e-10, atol=1e-10)
        for j, variable in enumerate(brute.discrete):
            codes_of = np.array([setting[j] for setting in brute.settings])
            expected = [weight[codes_of == k].sum() for k in range(variable.n_states)]
            assert_allclose(found[variable.name][i], expected, atol=1e-12)
        for j, k in enumerate(free):
            real = found[brute.real[k]]
            average = weight @ mean[:, j]
            spread = weight @ (cov[:, j, j] + (mean[:, j] - average) ** 2)
            assert_allclose(real.total_mean()[i], average, rtol=1e-9, atol=1e-9)
            assert_allclose(real.total_variance()[i], spread, rtol=1e-9)
            point = average + 0.7 * np.sqrt(spread)
            density = weight @ stats.norm.pdf(point, mean[:, j], np.sqrt(cov[:, j, j]))
            assert_allclose(real.mixture(i).log_prob(point), np.log(density), rtol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_joint_of_real_and_discrete_variables_equals_the_mixture_over_all_settings(seed):
    rng = np.random.default_rng(100 + seed)
    nodes = random_network(rng, 3, 4)
    problem, brute = HybridInference(nodes), Brute(nodes)
    values = {"x3": rng.normal(size=1)}
    joint = problem.joint(Findings.of(values=values), ["x2", "d1", "x0"])
    _, weight, mean, cov, free = brute.posterior({}, row_of(values, 0))
    picked = [free.index(2), free.index(0)]
    mean, cov = mean[:, picked], cov[:, picked][:, :, picked]
    average = weight @ mean
    shift = mean - average
    spread = np.einsum("s,sij->ij", weight, cov) + np.einsum(
        "s,si,sj->ij", weight, shift, shift
    )
    assert_allclose(joint.total_mean()[0], average, atol=1e-10)
    assert_allclose(joint.total_covariance()[0], spread, atol=1e-10)
    codes_of = np.array([setting[1] for setting in brute.settings])
    for k in range(brute.discrete[1].n_states):
        assert_allclose(joint.table(["d1"])[0, k], weight[codes_of == k].sum(), atol=1e-12)
    point = average + 0.3
    normals = [stats.multivariate_normal(m, c) for m, c in zip(mean, cov, strict=True)]
    density = sum(w * n.pdf(point) for w, n in zip(weight, normals, strict=True))
    assert_allclose(joint.mixture(0).log_prob(point), np.log(density), rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_most_probable_setting_is_the_largest_weight(seed):
    rng = np.random.default_rng(200 + seed)
    nodes = random_network(rng, 4, 3)
    problem, brute = HybridInference(nodes), Brute(nodes)
    values = {"x1": rng.normal(size=2), "x2": rng.normal(size=2)}
    states, log_prob = problem.most_probable(Findings.of(values=values))
    for i in range(2):
        total, weight, *_ = brute.posterior({}, row_of(values, i))
        best = brute.settings[int(np.argmax(weight))]
        assert tuple(states[v.name][i] for v in brute.discrete) == best
        assert_allclose(log_prob[i], total + np.log(weight.max()), rtol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_most_probable_states_of_some_variables_sum_out_the_others(seed):
    rng = np.random.default_rng(300 + seed)
    nodes = random_network(rng, 4, 3)
    problem, brute = HybridInference(nodes), Brute(nodes)
    values = {"x2": rng.normal(size=1)}
    states, log_prob = problem.most_probable(Findings.of(values=values), variables=["d2", "d0"])
    total, weight, *_ = brute.posterior({}, row_of(values, 0))
    table = {}
    for setting, w in zip(brute.settings, weight, strict=True):
        table[setting[2], setting[0]] = table.get((setting[2], setting[0]), 0.0) + w
    best = max(table, key=table.get)
    assert (states["d2"][0], states["d0"][0]) == best
    assert_allclose(log_prob, total + np.log(table[best]), rtol=1e-10)


def test_draws_given_findings_have_the_posterior_moments():
    rng = np.random.default_rng(3)
    nodes = random_network(rng, 3, 4)
    problem = HybridInference(nodes)
    given = {"x2": np.array([1.5, -2.0])}
    draws = problem.sample(Findings.of(values=given), 40_000, rng)
    found = problem.marginals(Findings.of(values=given), list(problem.structure.conditionals))
    for i in range(2):
        assert np.all(draws["x2"][i] == given["x2"][i])
        for name in ("x0", "x1", "x3"):
            error = np.sqrt(found[name].total_variance()[i] / 40_000)
            assert abs(draws[name][i].mean() - found[name].total_mean()[i]) < 4.5 * error
            assert_allclose(draws[name][i].var(), found[name].total_variance()[i], rtol=0.05)
        for name in ("d0", "d1", "d2"):
            share = np.bincount(draws[name][i], minlength=len(found[name][i])) / 40_000
            assert_allclose(share, found[name][i], atol=0.012)


def test_draws_of_pairs_keep_their_covariance():
    rng = np.random.default_rng(4)
    problem = HybridInference(random_network(rng, 2, 4))
    joint = problem.joint(Findings.of(values={"x3": [0.5]}), ["x0", "x1"])
    draws = problem.sample(Findings.of(values={"x3": [0.5]}), 100_000, rng)
    cov = np.cov(draws["x0"][0], draws["x1"][0])
    assert_allclose(cov, joint.total_covariance()[0], atol=0.03 * np.trace(cov))


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_answers_do_not_depend_on_units(unit):
    x, y, d = Variable("x"), Variable("y"), Variable("d", (0, 1))

    def answers(u):
        spec = ConditionalLinearGaussian(
            {
                0: LinearGaussian(1.0, {"x": 2 / u}, 0.5),
                1: LinearGaussian(-1, {"x": 0.3 / u}, 2.0),
            }
        )
        nodes = [
            ConditionalTable(d, (), [0.4, 0.6]),
            LinearGaussian(1.0 * u, {}, 3.0 * u).bind(x, ()),
            spec.bind(y, (d, x)),
        ]
        found = HybridInference(nodes).marginals(Findings.of(values={"y": [2.0]}), ["d", "x"])
        return found["d"], found["x"].total_mean() / u, found["x"].total_variance() / u**2

    for ours, theirs in zip(answers(unit), answers(1.0), strict=True):
        assert_allclose(ours, theirs, rtol=1e-12)


def test_large_offsets_cost_no_digits():
    x, y, d = Variable("x"), Variable("y"), Variable("d", (0, 1))

    def log_prob(offset):
        spec = ConditionalLinearGaussian(
            {0: LinearGaussian(0.0, {"x": 1.0}, 1.0), 1: LinearGaussian(1.0, {"x": 1.0}, 1.0)}
        )
        nodes = [
            ConditionalTable(d, (), [0.4, 0.6]),
            LinearGaussian(offset, {}, 1.0).bind(x, ()),
            spec.bind(y, (d, x)),
        ]
        return HybridInference(nodes).log_prob(Findings.of(values={"y": [offset + 2.0]}))

    assert_allclose(log_prob(2.0**23), log_prob(0.0), rtol=1e-8)


def test_nearly_exact_relations_keep_their_digits():
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    nodes = [
        LinearGaussian(0.0, {}, 1.0).bind(x, ()),
        LinearGaussian(0.0, {"x": 1.0}, 1e-7).bind(y, (x,)),
        LinearGaussian(0.0, {"y": 1.0}, 1.0).bind(z, (y,)),
    ]
    problem = HybridInference(nodes)
    found = problem.marginals(Findings.of(values={"z": [3.0]}), ["x", "y"])
    assert_allclose([found[n].total_mean()[0] for n in "xy"], 1.5, rtol=1e-9)
    assert_allclose([found[n].total_variance()[0] for n in "xy"], 0.5, rtol=1e-9)
    expected = stats.norm.logpdf(3.0, 0.0, np.sqrt(2.0 + 1e-14))
    assert_allclose(problem.log_prob(Findings.of(values={"z": [3.0]})), expected, rtol=1e-9)


def test_findings_far_away_keep_their_ratio_of_probabilities():
    found = engine().marginals(Findings.of(values={"SC": [1e5]}), ["te"])["te"]
    assert_allclose(found, [[0.0, 1.0]])
    log_prob = engine().log_prob(Findings.of(values={"SC": [1e5]}))
    spread = 3.0**2 + 0.5**2
    assert_allclose(log_prob, np.log(0.7) + stats.norm.logpdf(1e5, 7.0, np.sqrt(spread)))


def test_a_table_may_rule_out_the_state_that_is_nearest_to_a_far_finding():
    d, child = Variable("d", (0, 1)), Variable("c", ("no", "yes"))
    spec = ConditionalLinearGaussian({0: LinearGaussian(0.0), 1: LinearGaussian(1000.0)})
    problem = HybridInference(
        [
            ConditionalTable(d, (), [0.5, 0.5]),
            ConditionalTable(child, (d,), [[0.0, 1.0], [1.0, 0.0]]),
            spec.bind(Variable("x"), (d,)),
        ]
    )
    found = problem.marginals(Findings.of({"c": [1]}, {"x": [1000.0]}), ["d"])["d"]
    assert_allclose(found, [[1.0, 0.0]])
    assert_allclose(
        problem.log_prob(Findings.of({"c": [1]}, {"x": [1000.0]})),
        np.log(0.5) - 5e5 - 0.9189385,
    )


def test_impossible_rows_are_told_apart_from_the_others():
    d, child = Variable("d", (0, 1)), Variable("c", (0, 1))
    problem = HybridInference(
        [
            ConditionalTable(d, (), [1.0, 0.0]),
            ConditionalTable(child, (d,), [[1.0, 0.0], [0.5, 0.5]]),
            ConditionalLinearGaussian({0: LinearGaussian(), 1: LinearGaussian(1.0)}).bind(
                Variable("x"), (d,)
            ),
        ]
    )
    found = problem.marginals(Findings.of({"c": [0, 1]}), ["d", "x"])
    assert_allclose(found["d"], [[1.0, 0.0], [np.nan, np.nan]])
    assert_allclose(found["x"].total_mean(), [0.0, np.nan])
    assert_allclose(problem.log_prob(Findings.of({"c": [0, 1]})), [0.0, -np.inf])
    with pytest.raises(ValueError, match=r"probability zero.* in row 1"):
        problem.sample(Findings.of({"c": [0, 1]}), 2, np.random.default_rng(0))


def test_likelihoods_of_states_weigh_as_bayes_rule_says():
    found = engine().marginals(Findings.of({}, {"SC": [8.0]}, {"te": [0.9, 0.1]}), ["te"])["te"]
    odds = 0.9672528544 / (1 - 0.9672528544) * 0.1 / 0.9
    assert_allclose(found[0, 1], odds / (1 + odds), rtol=1e-8)


def test_compact_tables_are_used_as_their_whole_table():
    causes = [Variable(f"cause{i}", (False, True)) for i in range(4)]
    fault, signal = Variable("fault", (False, True)), Variable("signal")
    noisy = NoisyOr({c.name: 0.3 + 0.1 * i for i, c in enumerate(causes)}, leak=0.05)
    bound = noisy.bind(fault, tuple(causes))
    whole = ConditionalTable(fault, tuple(causes), bound.table().table())
    spec = ConditionalLinearGaussian({False: LinearGaussian(0.0), True: LinearGaussian(2.0)})
    roots = [ConditionalTable(c, (), [0.8, 0.2]) for c in causes]
    answers = [
        HybridInference([*roots, node, spec.bind(signal, (fault,))]).marginals(
            Findings.of(values={"signal": [1.8]}), ["cause3", "fault"]
        )
        for node in (bound, whole)
    ]
    for name in ("cause3", "fault"):
        assert_allclose(answers[0][name], answers[1][name], rtol=1e-12)
    best = [
        HybridInference([*roots, node, spec.bind(signal, (fault,))]).most_probable(
            Findings.of(values={"signal": [1.8]})
        )
        for node in (bound, whole)
    ]
    assert best[0][0] == best[1][0]
    assert_allclose(best[0][1], best[1][1], rtol=1e-12)


def test_many_rows_agree_with_one_row_at_a_time(monkeypatch):
    rng = np.random.default_rng(8)
    nodes = random_network(rng, 4, 5)
    problem = HybridInference(nodes)
    codes = {"d1": rng.integers(0, 2, size=50)}
    values = {"x4": rng.normal(size=50), "x2": rng.normal(size=50)}
    monkeypatch.setattr("credo.inference.hybrid.strong_inference.CELLS_AT_ONCE", 500)
    together = problem.marginals(Findings.of(codes, values), ["d0", "x0"])
    for i in range(50):
        alone = problem.marginals(
            Findings.of(row_of(codes, i), row_of(values, i)), ["d0", "x0"]
        )
        assert_allclose(together["d0"][i], alone["d0"][0], rtol=1e-12)
        assert_allclose(together["x0"].mean[i], alone["x0"].mean[0], rtol=1e-10, atol=1e-12)


def test_variables_that_are_set_need_no_distribution_of_their_own():
    tuned, power = Variable("te", (False, True)), Variable("TP")
    spec = ConditionalLinearGaussian(
        {
            True: LinearGaussian(1.0, {"TP": 3.0}, 0.5),
            False: LinearGaussian(0.5, {"TP": 1.5}, 1.0),
        }
    )
    problem = HybridInference([spec.bind(SPEED, (power, tuned))])
    found = problem.marginals(Findings.of({"te": [1, 0]}, {"TP": [2.0, 2.0]}), ["SC"])["SC"]
    assert_allclose(found.total_mean(), [7.0, 3.5])
    assert problem.obstacles(["te", "TP"], ["SC"]) == []


def test_no_rows_give_no_answers_of_the_right_shape():
    found = engine().marginals(Findings.of(values={"SC": np.zeros(0)}), ["te", "TP"])
    assert found["te"].shape == (0, 2)
    assert found["TP"].mean.shape == (0, 2)
    assert engine().log_prob(Findings.of(values={"SC": np.zeros(0)})).shape == (0,)


def decision(extra=()):
    size, go = Variable("size"), Variable("go", (False, True))
    return [
        LinearGaussian(100.0, {}, 20.0).bind(size, ()),
        Probit(120.0, 15.0, below=True).bind(go, (size,)),
        *extra,
    ]


def test_networks_with_thresholds_are_told_apart():
    assert not is_conditional_gaussian(decision())
    assert is_conditional_gaussian(decision()[:1])
    size = Variable("size")
    assert not is_conditional_gaussian([DistributionNode(Gamma(1.0, 1.0)).bind(size, ())])


def test_a_single_threshold_is_integrated_exactly():
    problem = HybridInference(decision())
    assert problem.obstacles([], ["go"]) == []
    found = problem.marginals(Findings(1), ["go", "size"])
    assert_allclose(found["go"], [[0.2118553986, 0.7881446014]], rtol=1e-9)
    assert_allclose(found["size"].total_mean(), [100.0])
    assert_allclose(
        np.exp(problem.log_prob(Findings.of({"go": [1, 0]}))), [0.7881446014, 0.2118553986]
    )
    with_size = problem.marginals(Findings.of(values={"size": [100.0, 150.0]}), ["go"])["go"]
    assert_allclose(with_size[:, 1], special.ndtr([20 / 15, -30 / 15]))


def test_posteriors_that_are_not_mixtures_of_normals_are_sent_to_sampling():
    problem = HybridInference(decision())
    assert problem.obstacles(["go"], ["size"]) == ["go"]
    for ask in (
        lambda: problem.marginals(Findings.of(likelihood={"go": [0.2, 0.8]}), ["size"]),
        lambda: problem.joint(Findings(1), ["size", "go"]),
        lambda: problem.sample(Findings.of({"go": [1]}), 3, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=r"found \['go'\]. Use likelihood weighting"):
            ask()
    second = Probit(90.0, 5.0, below=True).bind(
        Variable("stop", (False, True)), (Variable("size"),)
    )
    both = HybridInference(decision([second]))
    found = both.marginals(Findings(1), ["go", "stop"])
    assert_allclose(found["go"][0, 1], special.ndtr(20 / 25))
    assert_allclose(found["stop"][0, 1], special.ndtr(-10 / np.hypot(20, 5)))
    with pytest.raises(ValueError, match=r"found \['go', 'stop'\]"):
        both.joint(Findings(1), ["go", "stop"])
    assert both.obstacles(["stop"], ["go"]) == ["go", "stop"]
    assert both.obstacles(["size"], ["go", "stop"]) == []
    assert both.obstacles([], ["size", "go"]) == []
    draws = problem.sample(Findings(1), 50_000, np.random.default_rng(0))
    assert_allclose(draws["go"].mean(), 0.788, atol=0.01)


@pytest.mark.parametrize("kind", [Probit, Logit])
def test_thresholds_among_switches_and_findings_equal_numerical_integration(kind):
    d, grade = Variable("d", (0, 1)), Variable("grade", ("low", "mid", "high"))
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    switch = {0: LinearGaussian(0.0, {}, 1.0), 1: LinearGaussian(1.5, {}, 0.5)}
    below = {
        label: LinearGaussian(k, {"x": 0.5 * k}, 1.0 + 0.3 * k)
        for k, label in enumerate(grade.labels)
    }
    parts = {0: kind([-0.5, 1.0], 0.8), 1: kind([0.0, 0.7], 1.3)}
    nodes = [
        ConditionalTable(d, (), [0.4, 0.6]),
        ConditionalLinearGaussian(switch).bind(x, (d,)),
        LinearGaussian(0.2, {"x": 1.2}, 0.9).bind(y, (x,)),
        ConditionalThreshold(parts).bind(grade, (x, d)),
        ConditionalLinearGaussian(below).bind(z, (x, grade)),
    ]
    grid = np.linspace(-9, 11, 40_001)
    expected = np.zeros((2, 3))
    for i, k in product(range(2), range(3)):
        columns = {"x": grid, "d": np.full(grid.shape, i), "grade": np.full(grid.shape, k)}
        columns |= {"y": np.full(grid.shape, 0.8), "z": np.full(grid.shape, 2.1)}
        density = np.exp(sum(node.log_prob(columns) for node in nodes))
        expected[i, k] = integrate.simpson(density, x=grid)
    problem = HybridInference(nodes)
    given = {"y": [0.8, 0.8], "z": [2.1, 2.1]}
    found = problem.marginals(Findings.of(values=given), ["d", "grade"])
    assert_allclose(found["grade"][0], expected.sum(axis=0) / expected.sum(), rtol=1e-9)
    assert_allclose(found["d"][1], expected.sum(axis=1) / expected.sum(), rtol=1e-9)
    assert_allclose(
        problem.log_prob(Findings.of(values=given)), np.log(expected.sum()), rtol=1e-9
    )
    codes = {"grade": [2, 0], "d": [1, 0]}
    both = problem.log_prob(Findings.of(codes, given))
    assert_allclose(both, np.log([expected[1, 2], expected[0, 0]]), rtol=1e-9)
    part = problem.marginals(Findings.of({"grade": [2, 0]}, given), ["d"])["d"]
    shares = expected / expected.sum(axis=0)
    assert_allclose(part[:, 1], shares[1, [2, 0]], rtol=1e-9)
    assert problem.obstacles([], ["z"]) == problem.obstacles(["z"], ["x"]) == ["grade"]
    assert problem.obstacles(["y"], ["x"]) == []
    states, log_prob = problem.most_probable(Findings.of(values=given))
    best = np.unravel_index(expected.argmax(), expected.shape)
    assert (states["d"][0], states["grade"][0]) == best
    assert_allclose(log_prob, np.log(expected.max()), rtol=1e-9)


def test_a_threshold_may_switch_real_variables_that_are_apart_from_its_score():
    x, y, z, go = Variable("x"), Variable("y"), Variable("z"), Variable("go", (False, True))
    switch = {True: LinearGaussian(2.0, {}, 0.5), False: LinearGaussian(-1.0, {}, 1.0)}
    nodes = [
        LinearGaussian(0.3, {}, 1.2).bind(x, ()),
        Probit(0.5, 0.7, below=True).bind(go, (x,)),
        ConditionalLinearGaussian(switch).bind(y, (go,)),
        LinearGaussian(0.0, {"y": 1.0}, 0.8).bind(z, (y,)),
    ]
    problem = HybridInference(nodes)
    assert problem.obstacles(["z"], ["y", "go"]) == []
    assert problem.obstacles(["z"], ["x"]) == ["go"]
    found = problem.marginals(Findings.of(values={"z": [1.1]}), ["y", "go"])
    share = special.ndtr((0.5 - 0.3) / np.hypot(0.7, 1.2))
    grid = np.linspace(-9, 9, 8001)
    likelihood = stats.norm.pdf(1.1, grid, 0.8)
    on = share * stats.norm.pdf(grid, 2.0, 0.5) * likelihood
    both = on + (1 - share) * stats.norm.pdf(grid, -1.0, 1.0) * likelihood
    total = integrate.simpson(both, x=grid)
    assert_allclose(found["go"][0, 1], integrate.simpson(on, x=grid) / total, rtol=1e-9)
    mean = integrate.simpson(grid * both, x=grid) / total
    assert_allclose(found["y"].total_mean(), mean, rtol=1e-9)
    assert_allclose(
        problem.log_prob(Findings.of(values={"z": [1.1]})), np.log(total), rtol=1e-9
    )


def test_distributions_without_algebra_do_no_harm_where_they_do_not_matter():
    leaf = DistributionNode(lambda size: Gamma(2.0, np.exp(size / 100))).bind(
        Variable("leaf"), (Variable("size"),)
    )
    problem = HybridInference(decision([leaf]))
    assert problem.obstacles([], ["go"]) == []
    assert problem.obstacles([], ["leaf"]) == ["leaf"]
    with pytest.raises(ValueError, match=r"found \['leaf'\]"):
        problem.log_prob(Findings.of(values={"leaf": [1.0]}))


def test_too_many_settings_are_refused_before_any_work():
    switches = [Variable(f"s{i}", (0, 1)) for i in range(30)]
    reals = [Variable(f"x{i}") for i in range(30)]
    nodes = [ConditionalTable(s, (), [0.5, 0.5]) for s in switches]
    for i, (x, s) in enumerate(zip(reals, switches, strict=True)):
        slopes = {reals[i - 1].name: 1.0} if i else {}
        spec = ConditionalLinearGaussian(
            {0: LinearGaussian(0, slopes), 1: LinearGaussian(1, slopes)}
        )
        nodes.append(spec.bind(x, (s, reals[i - 1]) if i else (s,)))
    problem = HybridInference(nodes)
    with pytest.raises(InferenceTooLarge, match="plan of width 29"):
        problem.log_prob(Findings.of(values={"x29": [0.0]}))
    width, cells, n_bytes, _, fits = problem.cost(["x29"], [])
    assert (width, n_bytes, fits) == (29, 8 * cells, False)
    assert problem.cost([s.name for s in switches], ["x29"])[-1]
    given = {s.name: [0] for s in switches}
    assert_allclose(
        problem.log_prob(Findings.of(given, {"x29": [0.0]}))[0],
        30 * np.log(0.5) + stats.norm.logpdf(0, 0, np.sqrt(30)),
    )


def test_models_drawn_as_networks_have_the_densities_of_the_models():
    rng = np.random.default_rng(11)
    x, y = rng.uniform(-2, 2, size=8), rng.normal(size=8)
    weights = [Variable("slope"), Variable("level")]
    nodes = [
        LinearGaussian(0.3, {}, 2.0).bind(weights[0], ()),
        LinearGaussian(-0.2, {}, 1.5).bind(weights[1], ()),
    ]
    nodes += [
        LinearGaussian(0.0, {"slope": x[i], "level": 1.0}, 0.7).bind(Variable(f"y{i}"), weights)
        for i in range(8)
    ]
    outputs = {f"y{i}": y[i : i + 1] for i in range(8)}
    known = {"slope": [0.9], "level": [0.1], **outputs}
    problem = HybridInference(nodes)
    line = stats.norm.logpdf(y, 0.1 + 0.9 * x, 0.7).sum()
    prior = stats.norm.logpdf(0.9, 0.3, 2.0) + stats.norm.logpdf(0.1, -0.2, 1.5)
    assert_allclose(problem.log_prob(Findings.of(values=known)), line + prior)

    belief = LinearGaussianBelief(np.array([0.3, -0.2]), np.diag([1 / 4.0, 1 / 2.25]), 1 / 0.49)
    statistics = LinearStatistics.of(np.column_stack([x, np.ones(8)]), y)
    assert_allclose(
        problem.log_prob(Findings.of(values=outputs)), belief.log_evidence(statistics)
    )
    joint = problem.joint(Findings.of(values=outputs), ["slope", "level"])
    after = belief.update(statistics).weights()
    assert_allclose(joint.total_mean()[0], after.mean())
    assert_allclose(joint.total_covariance()[0], after.covariance())

    kind = Variable("kind", (0, 1, 2))
    parts = {k: LinearGaussian(3.0 * k, {}, 1.0 + k) for k in range(3)}
    shares = [0.5, 0.2, 0.3]
    drawn = HybridInference(
        [
            ConditionalTable(kind, (), shares),
            ConditionalLinearGaussian(parts).bind(Variable("x"), (kind,)),
        ]
    )
    mixture = Mixture(shares, [Normal(3.0 * k, 1.0 + k) for k in range(3)])
    assert_allclose(drawn.log_prob(Findings.of(values={"x": x})), mixture.log_prob(x))


def test_given_variables_are_refused_in_a_joint():
    with pytest.raises(ValueError, match=r"found \['te', 'SC'\] given"):
        engine().joint(Findings.of({"te": [1]}, {"SC": [8.0]}), ["te", "SC"])


def with_gaps(rng, nodes, n_rows, missing):
    """Return findings of random rows in which entries are missing here and there."""
    codes, values = {}, {}
    for node in nodes:
        gone = rng.random(n_rows) < missing
        if node.child.is_discrete:
            states = rng.integers(node.child.n_states, size=n_rows)
            codes[node.child.name] = np.where(gone, MISSING, states)
        else:
            values[node.child.name] = np.where(gone, np.nan, rng.normal(0, 2, size=n_rows))
    return Findings.of(codes, values)


def told(findings, row):
    """Return the states and the values that one row knows."""
    codes = {n: int(c[row]) for n, c in findings.codes.items() if c[row] != MISSING}
    values = {n: v[row] for n, v in findings.values.items() if not np.isnan(v[row])}
    return codes, values


def shared_group(problem, findings):
    """Return all rows as one group, whatever their gaps."""
    n_states = {n: v.n_states for n, v in problem.structure._variables.items() if v.states}
    groups = list(findings.groups(n_states))
    assert problem.n_shared(findings) >= findings.n_rows
    assert len(groups) == 1
    assert_array_equal(groups[0].rows, np.arange(findings.n_rows))
    return groups[0]


@pytest.mark.parametrize("seed", range(12))
def test_rows_with_different_gaps_in_one_batch_have_the_answers_of_each_mixture(seed):
    rng = np.random.default_rng(700 + seed)
    nodes = random_network(rng, int(rng.integers(1, 4)), int(rng.integers(2, 5)))
    problem, brute = HybridInference(nodes), Brute(nodes)
    findings = with_gaps(rng, nodes, 30, 0.4)
    known = shared_group(problem, findings).known
    found, log_prob = problem.posterior(known, list(problem.structure.conditionals))
    for i in range(30):
        codes, values = told(findings, i)
        total, weight, mean, cov, free = brute.posterior(codes, values)
        assert_allclose(log_prob[i], total, rtol=1e-10, atol=1e-10)
        for j, variable in enumerate(brute.discrete):
            codes_of = np.array([setting[j] for setting in brute.settings])
            expected = [weight[codes_of == k].sum() for k in range(variable.n_states)]
            assert_allclose(found[variable.name][i], expected, atol=1e-12)
        for name, value in values.items():
            assert_allclose(found[name].total_mean()[i], value, rtol=1e-12)
            assert_allclose(found[name].total_variance()[i], 0.0, atol=1e-12)
        for j, k in enumerate(free):
            average = weight @ mean[:, j]
            spread = weight @ (cov[:, j, j] + (mean[:, j] - average) ** 2)
            real = found[brute.real[k]]
            assert_allclose(real.total_mean()[i], average, rtol=1e-9, atol=1e-9)
            assert_allclose(real.total_variance()[i], spread, rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_joint_moments_of_rows_with_different_gaps_are_those_of_each_mixture(seed):
    rng = np.random.default_rng(800 + seed)
    nodes = random_network(rng, 2, 4)
    problem, brute = HybridInference(nodes), Brute(nodes)
    findings = with_gaps(rng, nodes, 40, 0.5)
    joint = problem.joint(shared_group(problem, findings).known, ["x2", "d1", "x0"])
    names = ["x2", "x0"]
    for i in range(40):
        codes, values = told(findings, i)
        _, weight, mean, cov, free = brute.posterior(codes, values)
        average = weight @ mean
        shift = mean - average
        spread = np.tensordot(weight, cov + shift[:, :, None] * shift[:, None, :], axes=1)
        for a, first in enumerate(names):
            at = brute.real.index(first)
            expected = values[first] if first in values else average[free.index(at)]
            assert_allclose(joint.total_mean()[i, a], expected, atol=1e-9)
            for b, second in enumerate(names):
                pair = [brute.real.index(first), brute.real.index(second)]
                hidden = all(k in free for k in pair)
                value = spread[free.index(pair[0]), free.index(pair[1])] if hidden else 0.0
                assert_allclose(joint.total_covariance()[i, a, b], value, atol=1e-9)


def test_draws_keep_what_rows_know_and_have_the_moments_of_the_rest():
    rng = np.random.default_rng(5)
    nodes = random_network(rng, 2, 3)
    problem = HybridInference(nodes)
    findings = with_gaps(rng, nodes, 8, 0.5)
    known = shared_group(problem, findings).known
    draws = problem.sample(known, 20_000, rng)
    found = problem.marginals(known, list(problem.structure.conditionals))
    for i in range(8):
        codes, values = told(findings, i)
        for name, value in {**codes, **values}.items():
            assert np.all(draws[name][i] == value)
        for name in (n for n in ("x0", "x1", "x2") if n not in values):
            error = np.sqrt(found[name].total_variance()[i] / 20_000)
            assert abs(draws[name][i].mean() - found[name].total_mean()[i]) < 4.5 * error
            assert_allclose(draws[name][i].var(), found[name].total_variance()[i], rtol=0.08)


def test_the_most_probable_states_of_rows_with_different_gaps_are_those_of_each():
    rng = np.random.default_rng(6)
    nodes = random_network(rng, 3, 3)
    problem, brute = HybridInference(nodes), Brute(nodes)
    findings = with_gaps(rng, nodes, 40, 0.5)
    states, log_prob = problem.most_probable(shared_group(problem, findings).known)
    for i in range(40):
        total, weight, *_ = brute.posterior(*told(findings, i))
        best = brute.settings[int(np.argmax(weight))]
        assert tuple(states[v.name][i] for v in brute.discrete) == best
        assert_allclose(log_prob[i], total + np.log(weight.max()), rtol=1e-10)


def test_rows_in_blocks_answer_as_all_at_once(monkeypatch):
    rng = np.random.default_rng(7)
    nodes = random_network(rng, 2, 3)
    problem = HybridInference(nodes)
    known = shared_group(problem, with_gaps(rng, nodes, 20, 0.4)).known
    names = list(problem.structure.conditionals)
    whole, log_prob = problem.posterior(known, names)
    monkeypatch.setattr("credo.inference.hybrid.strong_inference.CELLS_AT_ONCE", 1)
    parts, log_parts = problem.posterior(known, names)
    assert_allclose(log_parts, log_prob, rtol=1e-12)
    for name in ("d0", "d1"):
        assert_allclose(parts[name], whole[name], atol=1e-12)
    for name in ("x0", "x1", "x2"):
        assert_allclose(parts[name].total_mean(), whole[name].total_mean(), rtol=1e-10)
        assert_allclose(parts[name].total_variance(), whole[name].total_variance(), atol=1e-12)


def switched_chain(n):
    """Return real variables in a chain, each with a switch of its own."""
    switches = [Variable(f"d{i}", (0, 1)) for i in range(n)]
    nodes = [ConditionalTable(d, (), [0.5, 0.5]) for d in switches]
    for i, switch in enumerate(switches):
        slopes = {f"x{i - 1}": 1.0} if i else {}
        parts = {k: LinearGaussian(float(k), slopes) for k in (0, 1)}
        parents = (switch, *(Variable(name) for name in slopes))
        nodes.append(ConditionalLinearGaussian(parts).bind(Variable(f"x{i}"), parents))
    return nodes


def test_rows_share_a_plan_unless_the_cost_or_a_threshold_forbids_it():
    gaps = [[1.0, np.nan], [np.nan, 2.0]]
    few, many = switched_chain(4), switched_chain(14)
    assert HybridInference(few).n_shared(Findings.of({}, {"x0": gaps[0], "x3": gaps[1]}))
    assert not HybridInference(many).n_shared(Findings.of({}, {"x0": gaps[0], "x13": gaps[1]}))
    probit = Probit(0.0, below=True).bind(Variable("go", (False, True)), (Variable("x3"),))
    problem = HybridInference([*few, probit])
    assert not problem.n_shared(Findings.of({}, {"x0": gaps[0], "x3": gaps[1]}))
    with pytest.raises(ValueError, match="given values of x3 must be finite; found nan"):
        problem.log_prob(Findings.of({"go": [1, 1]}, {"x3": gaps[0]}))


def test_findings_that_are_infinite_or_miss_a_state_are_refused():
    with pytest.raises(ValueError, match="given values of SC must be finite; found inf"):
        engine().log_prob(Findings.of(values={"SC": [np.inf]}))
    with pytest.raises(ValueError, match=r"states of te must be given in all rows.*in row 1"):
        engine().log_prob(Findings.of({"te": [1, MISSING]}))


def test_the_stated_cost_is_that_of_targets_that_come_apart():
    root, switches = Variable("x"), [Variable(f"d{i}", (0, 1)) for i in range(40)]
    nodes = [LinearGaussian().bind(root, ())]
    nodes += [ConditionalTable(d, (), [0.5, 0.5]) for d in switches]
    parts = ConditionalLinearGaussian({k: LinearGaussian(k, {"x": 1.0}) for k in (0, 1)})
    nodes += [parts.bind(Variable(f"y{i}"), (d, root)) for i, d in enumerate(switches)]
    problem = HybridInference(nodes)
    leaves = [f"y{i}" for i in range(40)]
    width, cells, _, _, fits = problem.cost([], leaves)
    assert (width, fits) == (0, True)
    assert cells < 2000
    found = problem.marginals(Findings(1), leaves)
    assert_allclose([found[name].total_mean()[0] for name in leaves], 0.5)
    # Given all leaves, the root ties the switches together.
    width, cells, _, _, fits = problem.cost(leaves, ["x"])
    assert (width, fits) == (39, False)
    with pytest.raises(InferenceTooLarge):
        problem.marginals(Findings.of(values={name: [0.0] for name in leaves}), ["x"])


@pytest.mark.parametrize("seed", range(10))
def test_the_stated_cost_is_that_of_the_questions_which_are_asked(seed, monkeypatch):
    rng = np.random.default_rng(900 + seed)
    problem = HybridInference(random_network(rng, 4, 4))
    given = ["x3", "d1"] if seed % 2 else []
    targets = [name for name in problem.structure.conditionals if name not in given]
    asked, ask = [], TableInference.plan
    costed, cost = [], TableInference.outline
    monkeypatch.setattr(
        TableInference, "outline", lambda self, q: (costed.append(q), cost(self, q))[1]
    )
    problem.cost(given, targets)
    monkeypatch.setattr(TableInference, "outline", cost)
    monkeypatch.setattr(
        TableInference, "plan", lambda self, q: (asked.append(q), ask(self, q))[1]
    )
    findings = Findings.of({"d1": [0]}, {"x3": [0.3]}) if given else Findings(1)
    problem.posterior(findings, targets)
    assert set(costed) == set(asked)
