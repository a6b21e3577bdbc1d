"""Simulations: a truth from the prior, data from it, the level of the truth a posteriori.

If prior, likelihood and inference agree, the level ``F(truth | data)`` is uniform [talts2018]_.
For a discrete truth it is drawn between ``F`` just below the truth and at it. Of an engine the
truth is ranked among draws from what it finds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.random import Generator

from credo import BayesianNetwork, LinearRegression
from credo.distributions import InverseGamma, Normal, Poisson
from credo.evaluation.laws import RankCalibration, simulated_ranks
from credo.families import (
    BernoulliStatistics,
    BetaBernoulli,
    GammaPoisson,
    NormalInverseGamma,
    NormalStatistics,
    PoissonStatistics,
)
from credo.features import PolynomialBasis
from credo.graphs import ConditionalLinearGaussian, ConditionalTable, LinearGaussian, Variable
from credo.inference import (
    BlockedGibbs,
    BlockProblem,
    CompiledDensity,
    ConditionalProblem,
    Gibbs,
    HiddenChainBelief,
    HiddenMarkovProblem,
    IncompleteRows,
    Inference,
    LikelihoodWeighting,
    LogDensity,
    NoUTurnSampling,
    Parameters,
)
from credo.inference.density.laplace import LaplaceApproximation
from credo.inference.neural.outcome import NormalOutcome
from credo.inference.neural.problem import (
    BIAS_PRECISION,
    PRIOR_COUNT,
    NetworkProblem,
    NetworkSettings,
)
from credo.inference.neural.sampling import NetworkDensity
from credo.inference.sequence.transition import TransitionBelief
from credo.numerics.array import Array
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.special.bijection import positive, real

__all__ = [
    "CASES",
    "CHAINS",
    "ENGINES",
    "EngineCase",
    "GroupProblem",
    "LinearProblem",
    "compiled_units",
    "groups",
    "line",
    "log_likelihood_of_given",
    "log_likelihood_of_groups",
    "log_likelihood_of_line",
    "machine",
    "network_problem",
]

NET = BayesianNetwork(
    "cloud -> sprinkler, rain; sprinkler, rain -> wet",
    cpts={
        "cloud": [0.5, 0.5],
        "sprinkler": [[0.5, 0.5], [0.9, 0.1]],
        "rain": [[0.8, 0.2], [0.2, 0.8]],
        "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]],
    },
)


def coin(rng: Generator) -> float:
    """Return the level of the probability of heads after ten flips."""
    prior = BetaBernoulli(2.0, 3.0)
    truth = prior.sample(rng).probability
    flips = rng.random((10, 1)) < truth
    belief = prior.update(BernoulliStatistics.of(flips.astype(float)))
    return float(np.squeeze(belief.parameters().cdf(truth)))


def counts(rng: Generator) -> float:
    """Return the level of a rate after five counts."""
    prior = GammaPoisson(2.0, 0.5)
    truth = prior.sample(rng).rate
    rows = Poisson(truth).sample(rng, 5).reshape(5, 1)
    return float(np.squeeze(prior.update(PoissonStatistics.of(rows)).parameters().cdf(truth)))


def next_number(rng: Generator) -> float:
    """Return the level of a new number after six of unknown mean and variance."""
    prior = NormalInverseGamma([0.5], [2.0], [3.0], [4.0])
    truth = prior.sample(rng)
    rows = truth.sample(rng, 7).reshape(7, 1)
    belief = prior.update(NormalStatistics.of(rows[:6]))
    return float(np.squeeze(belief.predictive().cdf(rows[6])))


def next_outcome(rng: Generator) -> float:
    """Return the level of an outcome under a regression on a quadratic."""
    weights = rng.normal(0.0, 0.5**-0.5, 3)
    x = rng.uniform(-1.0, 1.0, 8)
    y = weights[0] + weights[1] * x + weights[2] * x**2 + 0.5 * rng.standard_normal(8)
    model = LinearRegression(
        PolynomialBasis(2), weight_precision=0.5, noise_precision=4.0, penalize_intercept=True
    )
    new = model.fit(x[:7, None], y[:7]).predict_dist(x[7:, None])
    return float(new.cdf(y[7:])[0])


def rain(rng: Generator) -> float:
    """Return the level of the state of a variable of a network, others being seen."""
    day = NET.sample(1, rng=rng).iloc[0]
    found = NET.query("rain", given={"wet": day["wet"], "cloud": day["cloud"]})
    share = rng.random()
    below = float(found[False]) if day["rain"] else 0.0
    return below + share * float(found[day["rain"]])


CASES: dict[str, tuple[Callable[[Generator], float], int]] = {
    "beta-Bernoulli, parameter": (coin, 4000),
    "gamma-Poisson, parameter": (counts, 4000),
    "normal-inverse-gamma, next number": (next_number, 4000),
    "linear regression, next outcome": (next_outcome, 2000),
    "Bayesian network, hidden variable": (rain, 4000),
}


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Minus the log posterior density of the weights of a line, normal in prior and noise.

    Attributes
    ----------
    design, y
        Inputs with a constant column, shape (n, 2), and outcomes, shape (n,).
    noise
        Known standard deviation of the noise; that of each weight a priori is one.
    """

    design: Array
    y: Array
    noise: float = 0.5

    @property
    def start(self) -> Array:
        """The prior mean."""
        return np.zeros(self.design.shape[1])

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return the value, up to a constant, and the gradient."""
        left = self.y - self.design @ parameters
        value = 0.5 * float(parameters @ parameters + left @ left / self.noise**2)
        return value, parameters - self.design.T @ left / self.noise**2

    def derivatives(self, parameters: Array) -> tuple[float, Array, Array]:
        """Return the value, the gradient and the curvature, which is the same everywhere."""
        curvature = np.eye(len(parameters)) + self.design.T @ self.design / self.noise**2
        return *self.value_and_gradient(parameters), curvature


def line(rng: Generator) -> tuple[dict[str, float], LinearProblem]:
    """Return an intercept and a slope drawn from the prior, and five outcomes around them."""
    weights = rng.standard_normal(2)
    design = np.column_stack([np.ones(5), rng.uniform(0.0, 2.0, 5)])
    y = design @ weights + 0.5 * rng.standard_normal(5)
    return dict(zip(("intercept", "slope"), weights.tolist(), strict=True)), LinearProblem(
        design, y
    )


def log_likelihood_of_line(
    problem: LinearProblem, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the log likelihood of each pair of weights, up to a constant."""
    means = np.outer(values["intercept"], problem.design[:, 0])
    means = means + np.outer(values["slope"], problem.design[:, 1])
    return {"log likelihood": -0.5 * ((problem.y - means) ** 2).sum(axis=1) / problem.noise**2}


MODE, HEAT = Variable("mode", ("off", "slow", "fast")), Variable("heat")
LAMP, GAUGE = Variable("lamp", ("dark", "lit")), Variable("gauge")
HEATS = {
    "off": LinearGaussian(0.0, scale=0.5),
    "slow": LinearGaussian(1.0, scale=0.6),
    "fast": LinearGaussian(2.5, scale=0.8),
}
MACHINE = (
    ConditionalTable(MODE, [], [0.5, 0.3, 0.2]),
    ConditionalLinearGaussian(HEATS).bind(HEAT, (MODE,)),
    ConditionalTable(LAMP, [MODE], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]),
    LinearGaussian(0.0, {"heat": 1.0}, scale=1.0).bind(GAUGE, (HEAT,)),
)


def machine(rng: Generator) -> tuple[dict[str, float], ConditionalProblem]:
    """Return the mode and the heat of a machine, of which a lamp and a gauge are seen."""
    seen = {
        name: column[0]
        for name, column in ConditionalProblem(MACHINE).draw(1, rng).columns.items()
    }
    given = {name: float(seen[name]) for name in ("lamp", "gauge")}
    problem = ConditionalProblem(MACHINE, given=given)
    return {"mode": float(seen["mode"]), "heat": float(seen["heat"])}, problem


def log_likelihood_of_given(
    problem: ConditionalProblem, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the log probability of what is given at each mode and heat."""
    n = len(values["heat"])
    columns: dict[str, Any] = {"mode": values["mode"].astype(np.intp), "heat": values["heat"]}
    columns["lamp"] = np.full(n, int(problem.given["lamp"]))
    columns["gauge"] = np.full(n, problem.given["gauge"])
    seen = [node for node in problem.conditionals if node.child.name in problem.given]
    return {"log likelihood": np.sum([node.log_prob(columns) for node in seen], axis=0)}


@dataclass(frozen=True, eq=False)
class GroupProblem(BlockProblem):
    """Effects of groups around a mean, each seen once with noise of variance one.

    Attributes
    ----------
    y
        What was seen of each group, shape (n_groups,).
    """

    y: Array = field(default_factory=lambda: np.zeros(4))


def groups(rng: Generator) -> tuple[dict[str, float], GroupProblem]:
    """Return the mean and the variance of the effects of four groups, which are seen once."""
    mean, variance = float(rng.normal()), float(InverseGamma(3.0, 2.0).sample(rng))
    y = mean + np.sqrt(variance + 1.0) * rng.standard_normal(4)

    def of_effects(values: dict[str, Array]) -> Callable[[Generator], Array]:
        center, spread = values["mean"][:, None], values["variance"][:, None]
        share = spread / (spread + 1.0)
        return lambda rng: rng.normal(center + share * (y - center), np.sqrt(share))

    def of_mean(values: dict[str, Array]) -> Callable[[Generator], Array]:
        precision = 1.0 + 4.0 / values["variance"]
        center = values["effects"].sum(axis=1) / values["variance"] / precision
        return lambda rng: rng.normal(center, precision**-0.5)

    def of_variance(values: dict[str, Array]) -> Callable[[Generator], Array]:
        shift = values["effects"] - values["mean"][:, None]
        rate = 2.0 + 0.5 * (shift**2).sum(axis=1)
        return lambda rng: rate / rng.gamma(5.0, size=len(rate))

    start = {"effects": y, "mean": 0.0, "variance": 1.0}
    blocks = {"effects": of_effects, "mean": of_mean, "variance": of_variance}
    truth = {"mean": mean, "variance": variance}
    return truth, GroupProblem(start, blocks, is_batched=True, y=y)


def log_likelihood_of_groups(
    problem: GroupProblem, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the log likelihood of each mean and variance, the effects integrated out."""
    scale = np.sqrt(values["variance"] + 1.0)[:, None]
    law = Normal(values["mean"][:, None], scale)
    return {"log likelihood": law.log_prob(problem.y).sum(axis=1)}


N_STEPS = 12


def hidden_path(rng: Generator) -> tuple[dict[str, float], HiddenMarkovProblem]:
    """Return the path of two hidden states behind twelve counts, as one number."""
    prior = HiddenChainBelief(
        TransitionBelief([2.0, 1.0]),
        TransitionBelief([[4.0, 1.0], [1.0, 2.0]]),
        GammaPoisson([[2.0], [6.0]], 1.0),
    )
    chain = prior.sample(rng)
    x, path = chain.sample(rng, np.array([N_STEPS]))
    data = IncompleteRows.unlabeled(x, n_classes=2)
    problem = HiddenMarkovProblem(data, np.array([0, N_STEPS]), prior)
    return {"path": float(path @ 2 ** np.arange(N_STEPS))}, problem


def drawn_paths(inference: Inference, n: int, rng: Generator) -> dict[str, Array]:
    """Return some of the paths that were drawn, far from each other, as numbers."""
    paths = inference.posterior.pooled
    places = np.linspace(0, len(paths) - 1, n).astype(np.intp)
    return {"path": paths[places] @ 2.0 ** np.arange(N_STEPS)}


def facts_of_paths(
    problem: HiddenMarkovProblem, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return what paths say: rows in a state, moves, and how likely they make the rows."""
    code = np.asarray(values["path"], dtype=np.int64)
    paths = code[:, None] >> np.arange(N_STEPS) & 1
    rows: Any = problem.prior.rows
    seen = [rows.statistics_by_group(problem.data.x, path, 2) for path in paths]
    logs = np.array([float(rows.log_evidence(one).sum()) for one in seen])
    return {
        "rows in state 1": paths.sum(axis=1).astype(np.float64),
        "moves": np.abs(np.diff(paths, axis=1)).sum(axis=1).astype(np.float64),
        "log likelihood": logs,
    }


@dataclass(frozen=True)
class EngineCase:
    """An engine, and problems of which the truth is known."""

    engine: Any
    simulate: Callable[[Generator], tuple[Mapping[str, float], Any]]
    derive: Callable[[Any, Mapping[str, Array]], Mapping[str, Array]] | None
    n_simulations: int
    draw: Callable[[Any, int, Generator], Mapping[str, Array]] | None = None

    def ranks(self, rng: Generator, n_simulations: int | None = None) -> RankCalibration:
        """Return the ranks of the truths among 99 draws."""
        n = self.n_simulations if n_simulations is None else n_simulations
        return simulated_ranks(
            self.engine, self.simulate, self.draw, n, 99, rng, derive=self.derive
        )


ENGINES = {
    "Laplace approximation, line": EngineCase(
        LaplaceApproximation(), line, log_likelihood_of_line, 4000
    ),
    "likelihood weighting, machine": EngineCase(
        LikelihoodWeighting(2_000_000, tolerance=0.02),
        machine,
        log_likelihood_of_given,
        4000,
    ),
    "Gibbs sampling, groups": EngineCase(
        Gibbs(150, 100, 16), groups, log_likelihood_of_groups, 4000
    ),
}


@numba.njit(error_model="numpy")
def _numbers(values: Any, gradient: Any, y: Any) -> Any:
    """Return numbers of unknown mean and variance, strength 1, shape 3 and rate 2."""
    mu, variance = values[0], values[1]
    total = 0.5 * mu**2 + 2.0
    gradient[0] = -mu / variance
    for i in range(y.size):
        total += 0.5 * (y[i] - mu) ** 2
        gradient[0] += (y[i] - mu) / variance
    power = 4.0 + 0.5 * (y.size + 1.0)
    gradient[1] = total / variance**2 - power / variance
    return -total / variance - power * np.log(variance)


@numba.njit(error_model="numpy")
def _outcomes(values: Any, gradient: Any, x: Any, y: Any) -> Any:
    """Return a logistic regression with standard normal weights."""
    total = 0.0
    for j in range(values.size):
        total -= 0.5 * values[j] ** 2
        gradient[j] = -values[j]
    for i in range(y.size):
        score = 0.0
        for j in range(values.size):
            score += x[i, j] * values[j]
        total += y[i] * score - np.log1p(np.exp(score))
        for j in range(values.size):
            gradient[j] += x[i, j] * (y[i] - 1.0 / (1.0 + np.exp(-score)))
    return total


@numba.njit(error_model="numpy")
def _shared_mean(values: Any, gradient: Any, y: Any) -> Any:
    """Return groups around a common mean: mu, tau, then a standard normal for each."""
    mu, tau = values[0], values[1]
    total = -0.5 * (mu**2 + tau**2)
    gradient[0] = -mu
    gradient[1] = -tau
    for j in range(y.size):
        eta = values[2 + j]
        rest = y[j] - mu - tau * eta
        total -= 0.5 * (rest**2 + eta**2)
        gradient[0] += rest
        gradient[1] += rest * eta
        gradient[2 + j] = tau * rest - eta
    return total


@numba.njit(error_model="numpy")
def _units(values: Any, gradient: Any, x: Any, y: Any, natural: Any, constants: Any) -> Any:
    """Return a network of two units, as `NetworkDensity` does up to a constant.

    ``values`` are standard weights in, biases and weights out of the units, a standard bias,
    logs of two precisions and of that of the noise.
    """
    count, bias_precision, least_noise = constants
    first, last, noise = np.exp(values[7]), np.exp(values[8]), np.exp(values[9])
    scale = np.empty(7)
    scale[0:2] = 1.0 / np.sqrt(first)
    scale[2:4] = 1.0 / np.sqrt(bias_precision)
    scale[4:6] = 1.0 / np.sqrt(last)
    scale[6] = scale[2]
    w = values[:7] * scale
    slope = np.zeros(7)
    square = 0.0
    for i in range(x.size):
        a, b = np.tanh(w[0] * x[i] + w[2]), np.tanh(w[1] * x[i] + w[3])
        rest = y[i] - (w[4] * a + w[5] * b + w[6])
        square += rest**2
        pull = noise * rest
        into_a, into_b = pull * w[4] * (1.0 - a * a), pull * w[5] * (1.0 - b * b)
        slope[0] += into_a * x[i]
        slope[1] += into_b * x[i]
        slope[2] += into_a
        slope[3] += into_b
        slope[4] += pull * a
        slope[5] += pull * b
        slope[6] += pull
    total = 0.5 * x.size * values[9] - 0.5 * noise * square
    for j in range(7):
        total -= 0.5 * values[j] ** 2
        gradient[j] = slope[j] * scale[j] - values[j]
    total += 0.5 * count * (values[7] - natural[0] * first + values[8] - natural[1] * last)
    moved = slope * w
    gradient[7] = 0.5 * (count * (1.0 - natural[0] * first) - moved[0] - moved[1])
    gradient[8] = 0.5 * (count * (1.0 - natural[1] * last) - moved[4] - moved[5])
    total += 0.5 * (values[9] - least_noise * noise)
    gradient[9] = 0.5 * (x.size + 1.0 - noise * (square + least_noise))
    return total


def _problem(supports: Mapping[str, Any], function: Any, *data: Array) -> LogDensity:
    parameters = Parameters(supports)
    return LogDensity(parameters, CompiledDensity(parameters, function, data))


def numbers(rng: Generator) -> tuple[dict[str, float], LogDensity]:
    """Return a mean and a variance, and six numbers of them."""
    variance = 2.0 / rng.gamma(3.0)
    mu = np.sqrt(variance) * rng.standard_normal()
    y = mu + np.sqrt(variance) * rng.standard_normal(6)
    problem = _problem({"mu": real(), "variance": positive()}, _numbers, y)
    return {"mu": float(mu), "variance": float(variance)}, problem


def outcomes(rng: Generator) -> tuple[dict[str, float], LogDensity]:
    """Return three weights, and forty outcomes of a logistic regression."""
    weights, x = rng.standard_normal(3), rng.standard_normal((40, 3))
    y = (rng.random(40) < 1.0 / (1.0 + np.exp(-x @ weights))).astype(float)
    names = ("first", "second", "third")
    problem = _problem({name: real() for name in names}, _outcomes, x, y)
    return dict(zip(names, weights.tolist(), strict=True)), problem


def shared_mean(rng: Generator) -> tuple[dict[str, float], LogDensity]:
    """Return the mean and the spread of groups, of which six are seen with error one."""
    mu, tau = float(rng.standard_normal()), float(abs(rng.standard_normal()))
    y = mu + np.hypot(tau, 1.0) * rng.standard_normal(6)
    supports = {"mu": real(), "tau": positive(), "eta": real(6)}
    return {"mu": mu, "tau": tau}, _problem(supports, _shared_mean, y)


def _data_of(problem: LogDensity) -> tuple[Array, ...]:
    density: Any = problem.density
    return tuple(density.data)


def log_likelihood_of_numbers(
    problem: LogDensity, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the log likelihood of each mean and variance."""
    rest = _data_of(problem)[0] - values["mu"][:, None]
    square = (rest**2).sum(axis=1) / values["variance"]
    return {"log likelihood": -0.5 * square - 3.0 * np.log(values["variance"])}


def log_likelihood_of_outcomes(
    problem: LogDensity, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the log likelihood of each set of weights."""
    x, y = _data_of(problem)
    score = np.column_stack([values[name] for name in problem.parameters.names]) @ x.T
    return {"log likelihood": score @ y - np.logaddexp(0.0, score).sum(axis=1)}


def log_likelihood_of_shared_mean(
    problem: LogDensity, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the log likelihood of each mean and spread, groups integrated out."""
    variance = 1.0 + values["tau"] ** 2
    rest = _data_of(problem)[0] - values["mu"][:, None]
    square = (rest**2).sum(axis=1) / variance
    return {"log likelihood": -0.5 * square - 3.0 * np.log(variance)}


UNITS = LayeredNetwork((1, 2, 1), "tanh")
PLACES = np.append(np.linspace(-1.5, 1.5, 6), 0.5)[:, None]
"""Where outcomes of a network are seen, and last a place where none is."""

FUNCTION = tuple(f"f({place:g})" for place in PLACES[:, 0])


def units(rng: Generator) -> tuple[dict[str, float], LogDensity]:
    """Return the function and the log noise of a network of two units, and six outcomes."""
    x = PLACES[:-1]
    problem = network_problem(x, np.zeros((len(x), 1)))
    shape = 0.5 * PRIOR_COUNT
    precision = rng.gamma(shape, 1.0 / (shape * problem.natural_variance))
    noise = rng.gamma(0.5, 2.0 / problem.least_noise, 1)
    settings = NetworkSettings(np.log(precision), np.log(noise))
    weights = rng.standard_normal(UNITS.n_parameters) * NetworkDensity(problem).scale(settings)
    function = UNITS.outputs(weights, PLACES)
    y = function[:-1] + rng.standard_normal((len(x), 1)) / np.sqrt(noise)
    truth = dict(zip(FUNCTION, function[:, 0].tolist(), strict=True))
    return {**truth, "log noise": float(settings.log_noise[0])}, compiled_units(x, y)


def compiled_units(x: Array, y: Array) -> LogDensity:
    """Return the density of a network of two units in a compiled form."""
    problem = network_problem(x, y)
    constants = np.array([PRIOR_COUNT, BIAS_PRECISION, problem.least_noise])
    supports = {"standard": real(7), "log_precision": real(2), "log_noise": real(1)}
    data = (x[:, 0].copy(), y[:, 0].copy(), problem.natural_variance, constants)
    return _problem(supports, _units, *data)


def network_problem(x: Array, y: Array) -> NetworkProblem:
    """Return rows and outcomes of a network of two units."""
    outcome = NormalOutcome(y, np.ones(len(x)), np.ones(1))
    return NetworkProblem(UNITS, x, outcome, least_noise=1.0)


def functions(inference: Any, n: int, rng: Generator) -> dict[str, Array]:
    """Return functions at all places and log noises of draws of a chain."""
    draws = inference.posterior
    standard, logs = draws.pooled("standard"), draws.pooled("log_precision")
    noise = draws.pooled("log_noise")
    density = NetworkDensity(network_problem(PLACES, np.zeros_like(PLACES)))
    chosen = rng.choice(len(standard), n, replace=False)
    found = [
        UNITS.outputs(standard[i] * density.scale(NetworkSettings(logs[i], noise[i])), PLACES)[
            :, 0
        ]
        for i in chosen
    ]
    columns = dict(zip(FUNCTION, np.array(found).T, strict=True))
    return {**columns, "log noise": noise[chosen, 0]}


def log_likelihood_of_units(
    problem: LogDensity, values: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the log likelihood of each function and noise, up to a constant."""
    y, logs = _data_of(problem)[1], values["log noise"]
    function = np.column_stack([values[name] for name in FUNCTION[:-1]])
    square = ((y - function) ** 2).sum(axis=1)
    return {"log likelihood": 0.5 * (len(y) * logs - np.exp(logs) * square)}


NUTS = NoUTurnSampling(n_draws=2000, warm_up=500)
CHAINS = {
    "NUTS, normal numbers": EngineCase(NUTS, numbers, log_likelihood_of_numbers, 1000),
    "NUTS, logistic regression": EngineCase(NUTS, outcomes, log_likelihood_of_outcomes, 1000),
    "NUTS, groups": EngineCase(
        NoUTurnSampling(n_draws=2000, warm_up=500, acceptance=0.95),
        shared_mean,
        log_likelihood_of_shared_mean,
        1000,
    ),
    "NUTS, neural network": EngineCase(
        NoUTurnSampling(n_draws=2000, warm_up=700, acceptance=0.9),
        units,
        log_likelihood_of_units,
        320,
        functions,
    ),
    "Gibbs sampling, hidden paths": EngineCase(
        BlockedGibbs(1000, 100, 1), hidden_path, facts_of_paths, 400, drawn_paths
    ),
}
"""Engines of Markov chains, which take minutes."""
