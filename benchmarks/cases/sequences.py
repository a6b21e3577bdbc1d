"""Hidden Markov models: likelihoods, posteriors, best paths and ten steps of Baum and Welch."""

import warnings
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module

import numpy as np

from benchmarks.harness import Case, Contender, Goal
from credo.distributions import MultivariateNormal
from credo.families import NormalInverseWishart
from credo.inference import (
    ExpectationMaximization,
    HiddenChain,
    HiddenChainBelief,
    HiddenMarkovProblem,
    IncompleteRows,
    Steps,
    run,
)
from credo.inference.sequence.transition import TransitionBelief

__all__ = ["CASES"]

D, N_STEPS = 3, 10


@dataclass(frozen=True)
class Walk:
    """Rows of normal states, the chain that made them, and a chain to start from."""

    x: np.ndarray
    lengths: np.ndarray
    chain: HiddenChain
    begin: HiddenChain

    @property
    def ends(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.lengths)])


def walk(k: int, n_sequences: int, length: int) -> Walk:
    rng = np.random.default_rng(0)
    table = 0.9 * np.eye(k) + 0.1 * rng.dirichlet(np.ones(k), k)
    centers = 2.0 * rng.normal(size=(k, D))
    spread = np.eye(D) + 0.3 * rng.normal(size=(k, D, D))
    density = MultivariateNormal(centers, spread @ spread.swapaxes(1, 2) + 0.2 * np.eye(D))
    chain = HiddenChain(np.full(k, 1.0 / k), table, density)
    lengths = np.full(n_sequences, length)
    x, _ = chain.sample(rng, lengths)
    away = MultivariateNormal(
        centers + 0.5 * rng.normal(size=(k, D)), np.broadcast_to(2.0 * np.eye(D), (k, D, D))
    )
    even = HiddenChain(np.full(k, 1.0 / k), 0.5 * np.eye(k) + 0.5 / k, away)
    return Walk(x, lengths, chain, even)


def likelihood(data: Walk) -> float:
    return float(data.chain.log_prob(data.x, data.ends).sum())


def posterior(data: Walk) -> np.ndarray:
    return data.chain.smoothed(data.x, data.ends).belief


def path(data: Walk) -> np.ndarray:
    return data.chain.best_path(data.x, data.ends)


def learned(data: Walk) -> float:
    """Return the log likelihood before the last of ten steps, as other libraries note it."""
    k = data.chain.n_states
    rows = NormalInverseWishart(np.zeros((k, D)), 0.01, D + 2.0, np.eye(D))
    prior = HiddenChainBelief(
        TransitionBelief(np.ones(k)), TransitionBelief(np.ones((k, k))), rows
    )
    problem = Begun(
        IncompleteRows.unlabeled(data.x, k),
        data.ends,
        prior,
        is_point=True,
        begin_at=data.begin,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(ExpectationMaximization(0.0, N_STEPS), problem, stop=Steps(N_STEPS))
    return float(found.trace[-1].objective)


@dataclass(frozen=True, eq=False)
class Begun(HiddenMarkovProblem):
    """The problem, begun from given parameters."""

    begin_at: HiddenChain | None = None

    def start(self) -> HiddenChain:
        return self.begin_at


def hmmlearn_model(chain: HiddenChain):
    hmm = import_module("hmmlearn.hmm")
    model = hmm.GaussianHMM(
        chain.n_states,
        "full",
        implementation="scaling",
        init_params="",
        n_iter=N_STEPS,
        tol=-np.inf,
        covars_prior=0.0,
        covars_weight=0.0,
        min_covar=0.0,
    )
    model.startprob_, model.transmat_ = chain.start, chain.transition
    model.means_ = chain.density.loc
    model.covars_ = np.array(
        np.broadcast_to(chain.density.form.dense(), (chain.n_states, D, D))
    )
    return model


def hmmlearn_likelihood(data: Walk) -> float:
    return float(hmmlearn_model(data.chain).score(data.x, data.lengths))


def hmmlearn_posterior(data: Walk) -> np.ndarray:
    return hmmlearn_model(data.chain).predict_proba(data.x, data.lengths)


def hmmlearn_path(data: Walk) -> np.ndarray:
    return hmmlearn_model(data.chain).predict(data.x, data.lengths)


def hmmlearn_learned(data: Walk) -> float:
    model = hmmlearn_model(data.begin)
    model.fit(data.x, data.lengths)
    return float(model.monitor_.history[-1])


@cache
def dynamax_function(kind: str):
    """Return a function that is compiled once for each shape, and kept."""
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    inference = import_module("dynamax.hidden_markov_model")
    function = {
        "likelihood": lambda a, t, b: inference.hmm_filter(a, t, b).marginal_loglik,
        "posterior": lambda a, t, b: inference.hmm_smoother(a, t, b).smoothed_probs,
        "path": inference.hmm_posterior_mode,
    }[kind]
    normal = import_module("jax.scipy.stats").multivariate_normal

    def whole(start, table, loc, cov, x):
        densities = jax.vmap(lambda m, s: normal.logpdf(x, m, s), in_axes=(0, 0), out_axes=-1)(
            loc, cov
        )
        return jax.vmap(lambda b: function(start, table, b))(densities)

    return jax.jit(whole)


def dynamax_call(kind: str, data: Walk):
    density, k = data.chain.density, data.chain.n_states
    cov = np.broadcast_to(density.form.dense(), (k, D, D))
    x = data.x.reshape(len(data.lengths), -1, D)
    function = dynamax_function(kind)
    return np.asarray(function(data.chain.start, data.chain.transition, density.loc, cov, x))


def log_likelihood(data: Walk, answer) -> float:
    return float(np.sum(answer)) / len(data.x)


def certainty(data: Walk, answer) -> float:
    """Return the mean probability of the likeliest state."""
    return float(np.asarray(answer).reshape(len(data.x), -1).max(axis=1).mean())


def path_log_prob(data: Walk, answer) -> float:
    states = np.asarray(answer, dtype=np.int64).ravel()
    return float(data.chain.log_joint(data.x, states, data.ends).sum()) / len(data.x)


def case(name: str, kind: str, shape: tuple[int, int, int], quality, goals) -> Case:
    own = {"likelihood": likelihood, "posterior": posterior, "path": path, "learned": learned}
    peer = {
        "likelihood": hmmlearn_likelihood,
        "posterior": hmmlearn_posterior,
        "path": hmmlearn_path,
        "learned": hmmlearn_learned,
    }
    contenders = {
        "credo": Contender(own[kind]),
        "hmmlearn": Contender(peer[kind], "hmmlearn"),
    }
    if kind != "learned":
        contenders["dynamax"] = Contender(partial(dynamax_call, kind), "dynamax")
    size = f"{shape[1]:,} x {shape[2]:,}, K={shape[0]}"
    return Case(
        name=f"{name}, {size}",
        data=partial(walk, *shape),
        contenders=contenders,
        quality=quality,
        goals=tuple(
            Goal(who, at_least=ratio) for who, ratio in goals.items() if who in contenders
        ),
        repeats=3,
    )


LIKELIHOOD, POSTERIOR = {"mean log density": log_likelihood}, {"mean certainty": certainty}
PATH = {"log density of rows and path": path_log_prob}

MANY, MANY_20 = (5, 1000, 100), (20, 1000, 100)
LONG, LONG_20 = (5, 1, 100_000), (20, 1, 100_000)

CASES = (
    case("likelihood", "likelihood", MANY, LIKELIHOOD, {"hmmlearn": 100, "dynamax": 3}),
    case("posteriors", "posterior", MANY, POSTERIOR, {"hmmlearn": 50, "dynamax": 3}),
    case("best paths", "path", MANY, PATH, {"hmmlearn": 50, "dynamax": 3}),
    case("likelihood", "likelihood", MANY_20, LIKELIHOOD, {"hmmlearn": 50, "dynamax": 2}),
    case("likelihood", "likelihood", LONG, LIKELIHOOD, {"hmmlearn": 5, "dynamax": 1}),
    case("posteriors", "posterior", LONG, POSTERIOR, {"hmmlearn": 5, "dynamax": 1}),
    case("best paths", "path", LONG, PATH, {"hmmlearn": 5, "dynamax": 1}),
    case("ten steps", "learned", LONG, LIKELIHOOD, {"hmmlearn": 5}),
    case("likelihood", "likelihood", LONG_20, LIKELIHOOD, {"hmmlearn": 5, "dynamax": 1}),
    case("ten steps", "learned", LONG_20, LIKELIHOOD, {"hmmlearn": 5}),
)
