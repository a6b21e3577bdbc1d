"""NUTS: effective draws per CPU second of three posteriors, and the time to a first answer.

All contenders warm up 1,000 draws and keep 1,000 in each of four chains, with a diagonal metric
or with one of more directions. Peers are compiled before the clock starts. The work counted is
the CPU time of the process after the warm-up, which is the whole less that of the same run with
a single draw; a second figure has the warm-up in it. Effective draws are those of the parameter
that has fewest. Models and settings are the same, the generators of chance are not.

The time to a first answer is that of a new process in which numba finds its cache, or has an
empty one. What a plain Python density costs beside its own time is the CPU time of transitions
after the warm-up less that of as many calls of the density alone.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import log, log1p
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numba
import numpy as np

from benchmarks.harness import Case, Contender, Goal
from credo.inference import (
    CompiledDensity,
    LogDensity,
    NoUTurnSampling,
    Parameter,
    Parameters,
    run,
)
from credo.inference.density.posterior import stated_problem
from credo.inference.engine.draws import effective_draws
from credo.numerics.special._loops_exponential import fast_exp
from credo.numerics.special.bijection import positive, real

__all__ = ["CASES"]

N_CHAINS, N_DRAWS, WARM_UP = 4, 1000, 1000
RATE = "effective draws per CPU second after the warm-up"
AHEAD = "credo's effective draws per CPU second after the warm-up, over these"
WHOLE = "credo's effective draws per CPU second, warm-up included, over these"


SUMS = {"contract", "reassoc", "nsz"}
BLOCK = 100
"""Rows at once, which stay in the nearest cache between the two passes over them."""


@numba.njit(fastmath=SUMS, error_model="numpy")
def logistic(values: Any, gradient: Any, blocks: Any, y: Any, work: Any) -> Any:
    """Return a logistic regression with standard normal weights.

    Inputs stand in blocks of rows, and in each by column. The logarithms of a block, of
    ``1 + exp(-|score|)``, are that of their product.
    """
    score, tail, total = work[0], work[1], 0.0
    for j in range(values.size):
        gradient[j] = -values[j]
        total -= 0.5 * values[j] ** 2
    for block in range(y.shape[0]):
        set_scores(values, blocks[block], score)
        rows = y[block]
        for i in range(score.size):
            total += rows[i] * score[i] - max(score[i], 0.0)
        set_rests(score, rows, tail)
        product = 1.0
        for i in range(score.size):
            product *= tail[i]
        total -= np.log(product)
        add_slopes(gradient, blocks[block], score)
    return total


@numba.njit(fastmath=SUMS, error_model="numpy")
def set_scores(values: Any, columns: Any, score: Any) -> None:
    """Set inner products of rows with the weights, five columns at once."""
    whole = 5 * (values.size // 5)
    for i in range(score.size):
        score[i] = 0.0
    for j in range(0, whole, 5):
        a, b, c, d, e = values[j], values[j + 1], values[j + 2], values[j + 3], values[j + 4]
        first, second, third = columns[j], columns[j + 1], columns[j + 2]
        fourth, fifth = columns[j + 3], columns[j + 4]
        for i in range(score.size):
            part = first[i] * a + second[i] * b + third[i] * c
            score[i] += part + fourth[i] * d + fifth[i] * e
    for j in range(whole, values.size):
        last = columns[j]
        for i in range(score.size):
            score[i] += last[i] * values[j]


@numba.njit(fastmath={"contract", "nsz", "nnan"}, error_model="numpy")
def set_rests(score: Any, y: Any, tail: Any) -> None:
    """Replace scores by outcomes less their means, and keep ``1 + exp(-|score|)``."""
    for i in range(score.size):
        tail[i] = -abs(score[i])
    # Lanes are used where one array alone is read and written.
    for i in range(score.size):
        tail[i] = fast_exp(tail[i])
    for i in range(score.size):
        share = (1.0 if score[i] >= 0.0 else tail[i]) / (1.0 + tail[i])
        score[i] = y[i] - share
    for i in range(score.size):
        tail[i] += 1.0


@numba.njit(fastmath=SUMS, error_model="numpy")
def add_slopes(gradient: Any, columns: Any, rest: Any) -> None:
    """Add products of columns with what is left of the outcomes, five columns at once."""
    whole = 5 * (gradient.size // 5)
    for j in range(0, whole, 5):
        first, second, third = columns[j], columns[j + 1], columns[j + 2]
        fourth, fifth = columns[j + 3], columns[j + 4]
        a, b, c, d, e = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(rest.size):
            a += first[i] * rest[i]
            b += second[i] * rest[i]
            c += third[i] * rest[i]
            d += fourth[i] * rest[i]
            e += fifth[i] * rest[i]
        gradient[j] += a
        gradient[j + 1] += b
        gradient[j + 2] += c
        gradient[j + 3] += d
        gradient[j + 4] += e
    for j in range(whole, gradient.size):
        last = columns[j]
        for i in range(rest.size):
            gradient[j] += last[i] * rest[i]


@numba.njit(error_model="numpy")
def schools(values: Any, gradient: Any, y: Any, scale: Any) -> Any:
    """Return eight schools, not centered: mu, tau, then one standard normal for each."""
    mu, tau = values[0], values[1]
    total = -0.02 * mu**2 - log1p(tau**2 / 25.0)
    gradient[0] = -0.04 * mu
    gradient[1] = -2.0 * tau / (25.0 + tau**2)
    for j in range(y.size):
        eta = values[2 + j]
        rest = (y[j] - mu - tau * eta) / scale[j]
        total -= 0.5 * (rest**2 + eta**2)
        rest /= scale[j]
        gradient[0] += rest
        gradient[1] += rest * eta
        gradient[2 + j] = tau * rest - eta
    return total


@numba.njit(fastmath=SUMS, error_model="numpy")
def gaussian(values: Any, gradient: Any, precision: Any) -> Any:
    """Return a Gaussian of mean zero, of a precision whose rows are taken five at once."""
    for i in range(values.size):
        gradient[i] = 0.0
    for k in range(0, values.size, 5):
        a, b, c = values[k], values[k + 1], values[k + 2]
        d, e = values[k + 3], values[k + 4]
        first, second, third = precision[k], precision[k + 1], precision[k + 2]
        fourth, fifth = precision[k + 3], precision[k + 4]
        for i in range(values.size):
            part = a * first[i] + b * second[i] + c * third[i]
            gradient[i] -= part + d * fourth[i] + e * fifth[i]
    total = 0.0
    for i in range(values.size):
        total += 0.5 * values[i] * gradient[i]
    return total


@dataclass(frozen=True, eq=False)
class Posterior:
    """A posterior in the ways of all contenders, and what they reached.

    Attributes
    ----------
    peers
        Contenders of other libraries that were compiled, by name.
    seconds
        Least CPU seconds of each contender that ran, of the whole and of a single draw.
    rates, whole_rates
        Effective draws per CPU second of each contender that ran, after the warm-up and with
        it.
    """

    problem: LogDensity
    arrays: dict[str, np.ndarray]
    peers: dict[str, Callable[[], Any]] = field(default_factory=dict)
    seconds: dict[str, np.ndarray] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    whole_rates: dict[str, float] = field(default_factory=dict)


def logistic_rows() -> Posterior:
    """Return 1,000 rows of 25 columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 25))
    weight = rng.normal(size=25) / 2.0
    y = (rng.random(1000) < 1.0 / (1.0 + np.exp(-X @ weight))).astype(float)
    blocks = np.ascontiguousarray(X.reshape(-1, BLOCK, 25).transpose(0, 2, 1))
    data = (blocks, y.reshape(-1, BLOCK), np.zeros((2, BLOCK)))
    return stated({"beta": real(25)}, logistic, data, {"X": X, "y": y})


def eight_schools() -> Posterior:
    """Return the effects of coaching in eight schools."""
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    scale = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    supports = {"mu": real(), "tau": positive(), "eta": real(8)}
    return stated(supports, schools, (y, scale), {"y": y, "scale": scale})


def correlated() -> Posterior:
    """Return a Gaussian of 50 numbers whose correlations reach over all of them."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(50, 50))
    precision = np.linalg.inv(root @ root.T / 50.0 + 0.1 * np.eye(50))
    return stated({"x": real(50)}, gaussian, (precision,), {"precision": precision})


def stated(
    supports: dict[str, Any], function: Any, data: tuple[Any, ...], arrays: dict[str, Any]
) -> Posterior:
    parameters = Parameters(supports)
    problem = LogDensity(parameters, CompiledDensity(parameters, function, data))
    short = NoUTurnSampling(n_draws=10, warm_up=10)
    run(short, problem, np.random.default_rng(0))
    return Posterior(problem, arrays)


Sample = Callable[[Posterior, int], list[np.ndarray]]


def counted(name: str, sample: Sample, data: Posterior) -> str:
    """Note how many effective draws a CPU second gives; return the name of the contender.

    Times are the least of all repeats before one is taken from the other: the best of their
    differences would be that of the worst warm-up.
    """
    if name not in data.rates:
        # What is compiled first is not counted.
        sample(data, N_DRAWS)
        sample(data, 1)
    times = [process_time()]
    values = sample(data, N_DRAWS)
    times.append(process_time())
    sample(data, 1)
    times.append(process_time())
    least = np.minimum(np.diff(times), data.seconds.get(name, np.inf))
    data.seconds[name] = least
    worth = min(float(effective_draws(x).min()) for x in values)
    data.rates[name] = worth / float(least[0] - least[1])
    data.whole_rates[name] = worth / float(least[0])
    return name


def by_credo(metric: str, data: Posterior, n_draws: int) -> list[np.ndarray]:
    engine = NoUTurnSampling(n_draws, WARM_UP, metric=metric)
    found = run(engine, data.problem, np.random.default_rng(1), chains=N_CHAINS)
    return [found.state.draws]


def in_pymc(data: Posterior) -> Any:
    """Return the model for PyMC."""
    pymc = import_module("pymc")
    arrays = data.arrays
    with pymc.Model() as model:
        if "X" in arrays:
            beta = pymc.Normal("beta", 0.0, 1.0, shape=arrays["X"].shape[1])
            pymc.Bernoulli("y", logit_p=arrays["X"] @ beta, observed=arrays["y"])
        elif "scale" in arrays:
            mu, tau = pymc.Normal("mu", 0.0, 5.0), pymc.HalfCauchy("tau", 5.0)
            eta = pymc.Normal("eta", 0.0, 1.0, shape=8)
            pymc.Normal("y", mu + tau * eta, arrays["scale"], observed=arrays["y"])
        else:
            pymc.MvNormal("x", np.zeros(50), tau=arrays["precision"], shape=50)
    return model


def by_nutpie(low_rank: bool, data: Posterior, n_draws: int) -> list[np.ndarray]:
    nutpie = import_module("nutpie")
    if "nutpie" not in data.peers:
        compiled = nutpie.compile_pymc_model(in_pymc(data))
        data.peers["nutpie"] = partial(nutpie.sample, compiled)
        draws_of(data.peers["nutpie"](draws=10, tune=10, chains=1, progress_bar=False))
    found = data.peers["nutpie"](
        draws=n_draws,
        tune=WARM_UP,
        chains=N_CHAINS,
        cores=1,
        seed=1,
        progress_bar=False,
        low_rank_modified_mass_matrix=low_rank,
    )
    return draws_of(found)


def draws_of(found: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in found.posterior.data_vars.values()]


def in_jax(arrays: dict[str, np.ndarray]) -> Callable[[Any], Any]:
    """Return the log density of free numbers for JAX."""
    jnp, nn = import_module("jax.numpy"), import_module("jax.nn")
    if "X" in arrays:
        X, y = jnp.asarray(arrays["X"]), jnp.asarray(arrays["y"])
        return lambda u: y @ (X @ u) - nn.softplus(X @ u).sum() - 0.5 * u @ u
    if "scale" in arrays:
        y, scale = jnp.asarray(arrays["y"]), jnp.asarray(arrays["scale"])

        def density(u: Any) -> Any:
            mu, tau, eta = u[0], jnp.exp(u[1]), u[2:]
            rest = (y - mu - tau * eta) / scale
            prior = -0.02 * mu**2 - jnp.log1p(tau**2 / 25.0) + u[1] - 0.5 * eta @ eta
            return prior - 0.5 * rest @ rest

        return density
    precision = jnp.asarray(arrays["precision"])
    return lambda u: -0.5 * u @ precision @ u


def by_blackjax(is_diagonal: bool, data: Posterior, n_draws: int) -> list[np.ndarray]:
    jax, blackjax = import_module("jax"), import_module("blackjax")
    name = f"blackjax {is_diagonal} {n_draws}"
    if name not in data.peers:
        jax.config.update("jax_enable_x64", True)
        density = in_jax(data.arrays)
        adaptation = blackjax.window_adaptation(
            blackjax.nuts, density, is_mass_matrix_diagonal=is_diagonal
        )

        def chain(key: Any) -> Any:
            key_start, key_warm, key_draw = jax.random.split(key, 3)
            d = data.problem.parameters.n_free
            start = jax.random.uniform(key_start, (d,), minval=-2.0, maxval=2.0)
            (state, settings), _ = adaptation.run(key_warm, start, num_steps=WARM_UP)
            kernel = blackjax.nuts(density, **settings).step

            def step(state: Any, key: Any) -> Any:
                state, _ = kernel(key, state)
                return state, state.position

            return jax.lax.scan(step, state, jax.random.split(key_draw, n_draws))[1]

        sample = jax.jit(lambda keys: jax.lax.map(chain, keys))
        data.peers[name] = partial(sample, jax.random.split(jax.random.PRNGKey(1), N_CHAINS))
        jax.block_until_ready(data.peers[name]())
    return [np.asarray(jax.block_until_ready(data.peers[name]()))]


def contender(name: str, sample: Sample, package: str | None) -> Contender:
    return Contender(partial(counted, name, sample), package)


def rate(data: Posterior, name: str) -> float:
    """Return effective draws per CPU second after the warm-up."""
    return data.rates[name]


def ahead(which: str, data: Posterior, name: str) -> float:
    """Return how many times as many credo makes with the same kind of metric."""
    mine = "credo" if "diagonal" in name or name == "credo" else MORE
    rates: dict[str, float] = getattr(data, which)
    return rates[mine] / rates[name]


MORE = "credo, dense"
PEERS = ("nutpie, diagonal", "BlackJAX, diagonal", "nutpie, low rank", "BlackJAX, dense")


def rate_case(name: str, data: Callable[[], Posterior], repeats: int = 3) -> Case:
    samplers = (
        (partial(by_nutpie, False), "nutpie"),
        (partial(by_blackjax, True), "blackjax"),
        (partial(by_nutpie, True), "nutpie"),
        (partial(by_blackjax, False), "blackjax"),
    )
    peers = {
        peer: contender(peer, sample, package)
        for peer, (sample, package) in zip(PEERS, samplers, strict=True)
    }
    return Case(
        name=f"{name}, {N_CHAINS} chains of {WARM_UP:,} and {N_DRAWS:,}",
        data=data,
        contenders={
            "credo": contender("credo", partial(by_credo, "diagonal"), None),
            MORE: contender(MORE, partial(by_credo, "dense"), None),
            **peers,
        },
        quality={
            RATE: rate,
            AHEAD: partial(ahead, "rates"),
            WHOLE: partial(ahead, "whole_rates"),
        },
        goals=tuple(Goal(peer, at_least=2.0, measure=AHEAD) for peer in PEERS),
        repeats=repeats,
    )


BESIDE = "microseconds of each call beside those of the density alone"


@dataclass(frozen=True, eq=False)
class PlainDensity:
    """A density in plain Python, a chain that is warm, and the least time of each call."""

    problem: LogDensity
    state: Any
    values: dict[str, np.ndarray]
    function: Callable[..., Any]
    least: dict[str, float] = field(default_factory=dict)


def plain(level: Any, scale: Any) -> Any:
    """Return independent normals of an unknown scale, with the gradient by each parameter."""
    square = float(level @ level)
    value = -0.5 * square / float(scale) ** 2 - 11.0 * log(scale) - scale
    slopes = {
        "level": level * (-1.0 / float(scale) ** 2),
        "scale": square / float(scale) ** 3 - 11.0 / float(scale) - 1.0,
    }
    return value, slopes


def plain_density() -> PlainDensity:
    parameters = {"level": Parameter(10), "scale": Parameter(support="positive")}
    problem, _ = stated_problem(plain, parameters, None)
    state = run(NoUTurnSampling(100, 300), problem, np.random.default_rng(0)).state
    values = {"level": np.ones(10), "scale": np.array(1.0)}
    return PlainDensity(problem, state, values, plain)


def noted(name: str, seconds: float, n: int, data: PlainDensity) -> str:
    data.least[name] = min(data.least.get(name, np.inf), seconds / n)
    return name


def followed(data: PlainDensity) -> str:
    engine, state, n = NoUTurnSampling(10_000), data.state, 0
    rng = np.random.default_rng(1)
    before = process_time()
    while n < 20_000:
        state, report = engine.step(data.problem, state, rng)
        n += report.n_gradients
    return noted("credo", process_time() - before, n, data)


def called(data: PlainDensity) -> str:
    before = process_time()
    for _ in range(20_000):
        data.function(**data.values)
    return noted("the density alone", process_time() - before, 20_000, data)


def beside(data: PlainDensity, name: str) -> float:
    return 1e6 * (data.least[name] - data.least.get("the density alone", np.nan))


PLAIN = Case(
    name="a density in plain Python, D=11",
    data=plain_density,
    contenders={"the density alone": Contender(called), "credo": Contender(followed)},
    reference="the density alone",
    quality={BESIDE: beside},
    goals=(Goal("credo", at_most=1.0, measure=BESIDE),),
    repeats=9,
)

CREDO = """
import numba, numpy as np, credo
from credo.inference import Parameter

def density(beta, X, y):
    score = X @ beta
    tail = np.exp(-np.abs(score))
    share = np.where(score >= 0, 1.0, tail) / (1.0 + tail)
    value = y @ score - (np.maximum(score, 0) + np.log1p(tail)).sum() - 0.5 * beta @ beta
    return value, X.T @ (y - share) - beta

{rows}
data = dict(X=X, y=y)
found = credo.posterior(
    density, dict(beta=Parameter(10)), data, inference={inference!r}, random_state=1
)
assert found.summary()["r_hat"].max() <= 1.01
"""
ROWS = """
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 10))
y = (rng.random(500) < 1.0 / (1.0 + np.exp(-X @ rng.normal(size=10)))).astype(float)
"""
PYMC = """
import numpy as np, pymc, nutpie
{rows}
with pymc.Model() as model:
    beta = pymc.Normal("beta", 0.0, 1.0, shape=10)
    pymc.Bernoulli("y", logit_p=X @ beta, observed=y)
compiled = nutpie.compile_pymc_model(model)
nutpie.sample(compiled, draws=1000, tune=1000, chains=4, seed=1, progress_bar=False)
"""
NUMPYRO = """
import numpy as np, jax, numpyro
from numpyro import distributions, infer
numpyro.enable_x64()
{rows}
def model():
    beta = numpyro.sample("beta", distributions.Normal(0.0, 1.0).expand([10]).to_event(1))
    numpyro.sample("y", distributions.Bernoulli(logits=X @ beta), obs=y)
kernel = infer.NUTS(model)
found = infer.MCMC(
    kernel,
    num_warmup=1000,
    num_samples=1000,
    num_chains=4,
    chain_method="vectorized",
    progress_bar=False,
)
found.run(jax.random.PRNGKey(1))
jax.block_until_ready(found.get_samples())
"""


def process(code: str, has_cache: bool, data: None) -> None:
    """Run a script in a process of its own."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"PYTHONPATH": paths}
    with TemporaryDirectory() as folder:
        if not has_cache:
            # Where PyTensor keeps what it compiles as well.
            flags = f"base_compiledir={folder}"
            environment |= {"NUMBA_CACHE_DIR": folder, "PYTENSOR_FLAGS": flags}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def first(
    template: str, package: str | None, inference: str = "", has_cache: bool = True
) -> Contender:
    code = template.format(rows=ROWS, inference=inference)
    return Contender(partial(process, code, has_cache), package)


FIRST = Case(
    name="time to a first answer, logistic regression N=500 D=10, 4 chains of 1,000",
    data=lambda: None,
    contenders={
        "credo": first(CREDO, None, "nuts"),
        "credo, auto": first(CREDO, None, "auto"),
        "PyMC with nutpie": first(PYMC, "nutpie"),
        "NumPyro": first(NUMPYRO, "numpyro"),
    },
    goals=(Goal("PyMC with nutpie", at_least=5.0), Goal("NumPyro", at_least=5.0)),
    repeats=2,
)

EMPTY = Case(
    name="time to a first answer with an empty cache, logistic regression N=500 D=10",
    data=lambda: None,
    contenders={
        "credo": first(CREDO, None, "nuts", False),
        "PyMC with nutpie": first(PYMC, "nutpie", "", False),
        "NumPyro": first(NUMPYRO, "numpyro", "", False),
    },
    goals=(Goal("PyMC with nutpie", at_least=0.5), Goal("NumPyro", at_least=0.5)),
    repeats=1,
)

CASES = (
    rate_case("logistic regression N=1,000 D=25", logistic_rows),
    # Hundredths of a second, of which the least is found in more runs.
    rate_case("eight schools, not centered", eight_schools, repeats=9),
    rate_case("Gaussian D=50, correlated", correlated),
    PLAIN,
    FIRST,
    EMPTY,
)
