"""Weights of a network with their precisions learned by evidence, and the Gaussian there.

Two moves take turns [mackay1992]_. Weights go to the mode of their posterior, by L-BFGS in
coordinates in which the curvature at the last mode is the identity. Then precisions and noise
go to where the evidence of Laplace's method is level, with ``gamma`` for the number of weights
that the data determine:

    gamma_l = n_l - precision_l * (sum of the variances of the weights of layer l)
    precision_l = (gamma_l + c) / (|w_l|^2 + c v_l),
    noise = (sum of squared residuals + least) / (n - gamma + 1)

the added numbers being those of the priors (`NetworkProblem`), and to ``gamma`` what comes from
the mode moving to where the curvature is another one. Steps by which the evidence falls are
shortened. The curvature is that of Gauss and Newton, which is never negative.

The evidence that is returned has the settings integrated out by Laplace's method as well, which
in their logs have curvatures of about half of ``gamma`` and of the residuals' freedom. Several
networks from different first weights are one belief, an ensemble.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.inference.engine.engine import Account, Inference, Move, Settled, run
from credo.inference.engine.stacking import stacking_weights
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.curvature import (
    CURVATURES,
    Curvature,
    FullPrecision,
    Precision,
    weighted_jacobians,
)
from credo.inference.neural.outcome import ClassOutcome, NormalOutcome, Outcome
from credo.inference.neural.problem import (
    PRIOR_COUNT,
    NetworkProblem,
    NetworkSettings,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.linear.linear_algebra import LOG_TWO_PI, dtrsv
from credo.numerics.optimize.descent import adam_epochs
from credo.numerics.optimize.difference import separate
from credo.numerics.optimize.minimum import Termination, early_stop
from credo.numerics.optimize.quasi_newton import lbfgs
from credo.numerics.quotation import quote

__all__ = ["DivergedNetwork", "NetworkEnsemble", "NetworkLaplace", "NetworkState"]

WEIGHTINGS = ("equal", "evidence", "stacking")
HELD_OUT = 5
"""One row of so many is held out to stack by."""

FIRST_STEPS = 60
LATER_STEPS = 15
LAST_STEPS, LAST_ROUNDS = 30, 6
NEAR_MODE, NEAR_EACH = 0.1, 0.01
"""Nats to the mode that count as reached: these, or so many for each parameter if more.

The Gaussian itself is half a nat wide along each.
"""

MANY_ROWS = 20_000
"""Rows beyond which weights are first trained by batches, and settings learned from some."""

HELD_OUT, MOST_PASSES, PATIENCE = 10, 30, 3
VALUE_CHANGE = 1e-6
"""Change of the loss in one step of L-BFGS, as a share of it, below which it has settled."""

MOST_FAILURES = 2
SHORTENED = 0.3
"""Share of a step of the precisions that is tried next if the evidence falls."""

DIFFERENCE = 1e-3
"""Change of the log of a precision by which the move of the mode is judged."""

SPREADS = 2.0 ** np.arange(-12.0, 1.0)
"""Multiples of the covariance of scores of classes that are tried."""

MOST_LEFT_OUT = 2_000
"""Rows that are left out in turn."""

SUREST_SHARE = 0.99
"""Most that one row is taken to tell of its own scores."""

MOST_DRIFTING = 5_000
"""Rows by which the change of the curvature with the mode is judged."""

LEAST_SHARE = 0.1
LARGEST_CHANGE = 2.0
"""Most that the log of a precision moves in one step."""


class DivergedNetwork(ValueError):
    """The loss of a network stopped being a finite number."""


@dataclass(frozen=True, eq=False)
class NetworkState:
    """The best mode so far, and where to go from there.

    Attributes
    ----------
    parameters, settings
        The mode (p,), and the settings that it is the mode for.
    log_evidence
        Of Laplace's method there, with the priors of the settings; minus infinity before the
        first step.
    wanted
        Settings to try next.
    guide
        Factor of about the curvature at the mode for these, (q, q), or its diagonal (q,).
    n_failed
        Steps since the evidence rose.
    """

    parameters: Annotated[Array, Form("p")]
    settings: NetworkSettings
    log_evidence: float
    wanted: NetworkSettings
    guide: Annotated[Array, Form("...")]
    n_failed: int = 0


@dataclass(frozen=True)
class NetworkLaplace:
    """Learn weights, precisions and noise, and stay at the mode as a Gaussian.

    Attributes
    ----------
    curvature
        What is kept of the Gauss-Newton matrix: "full", "kronecker" or "diagonal"; "auto" for
        all of it up to 2,000 parameters, Kronecker products beyond.
    layers
        Whose weights the Gaussian is of: "all", or "last" for those of the outputs alone.
    n_draws
        Draws of the weights by which predictions are averaged (Monte Carlo); 0 for the network
        as linear in its weights, which has no noise of its own.
    tolerance
        Change of the log evidence, in nats per row, below which it has settled.
    max_steps
        Turns after which it gives up.
    """

    curvature: str = "auto"
    layers: str = "all"
    n_draws: int = 0
    tolerance: float = 2e-3
    max_steps: int = 60

    problem = NetworkProblem
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, known in (
            ("curvature", ("auto", *CURVATURES)),
            ("layers", ("all", "last")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {known}; found {quote(getattr(self, name))}. "
                    "Choose from these."
                )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(30, 2))
        y = np.column_stack([np.sin(x[:, 0]), x[:, 1]]) + 0.1 * rng.normal(size=(30, 2))
        network = LayeredNetwork((2, 3, 2), "tanh")
        problem = NetworkProblem(network, x, NormalOutcome(y, np.ones(30), np.ones(2)))
        return (
            Example(cls(), problem=problem),
            Example(cls("kronecker", "last"), problem=problem),
        )

    @property
    def stop(self) -> Settled:
        """The evidence has settled, or there were too many turns."""
        return Settled(self.tolerance, self.max_steps)

    def init(self, problem: NetworkProblem, rng: Generator) -> NetworkState:
        """Return random weights, of a network whose units are moderate.

        Of many rows, they are first trained by batches, until rows held out show no gain.
        """
        parameters, settings = problem.start(rng)
        if self._is_batched(problem):
            parameters = by_batches(problem.at(settings), parameters, settings, rng)
        guide = np.ones(len(parameters) - problem.network.ends[problem.first])
        return NetworkState(parameters, settings, float("-inf"), settings, guide)

    @staticmethod
    def _is_batched(problem: NetworkProblem) -> bool:
        return len(problem.x) > MANY_ROWS and problem.first == 0

    def step(
        self, problem: NetworkProblem, state: NetworkState, rng: Generator
    ) -> tuple[NetworkState, Move]:
        """Go to the mode for the wanted settings; stay if the evidence is less there."""
        here = problem.at(state.wanted)
        is_first = state.log_evidence == -np.inf
        n_steps = FIRST_STEPS if is_first and not self._is_batched(problem) else LATER_STEPS
        parameters = minimized(here, state, n_steps)
        curvature = self._curvature(here.thinned(MANY_ROWS), parameters, here.first)
        precision = curvature.precision(here.free_prior(state.wanted))
        log_evidence = laplace_evidence(here, parameters, state.wanted, precision)
        log_evidence += here.log_settings_prior(state.wanted) + here.log_noise_prior(
            state.wanted
        )
        if log_evidence < state.log_evidence:
            # Noise is sure to go the right way, precisions may go too far.
            share = SHORTENED if state.n_failed < MOST_FAILURES - 1 else 0.0
            nearer = state.settings.toward(state.wanted, share)
            nearer = replace(nearer, log_noise=state.wanted.log_noise)
            failed = replace(state, wanted=nearer, n_failed=state.n_failed + 1)
            change = 0.0 if failed.n_failed > MOST_FAILURES else 1.0
            return failed, Move(state.log_evidence, change)
        change = (log_evidence - state.log_evidence) / max(problem.n_rows, 1.0)
        wanted = learned_settings(here, parameters, state.wanted, curvature, precision)
        rise = wanted.log_noise - state.wanted.log_noise
        factor = float(np.exp(rise.mean())) if len(rise) else 1.0
        guide = curvature.scaled(factor).precision(problem.free_prior(wanted)).guide()
        after = NetworkState(parameters, state.wanted, log_evidence, wanted, guide)
        return after, Move(log_evidence, min(change, 1e300))

    def posterior(self, problem: NetworkProblem, state: NetworkState) -> Inference:
        """Return the Gaussian at the mode, and the log evidence of Laplace's method."""
        here, network = problem.at(state.settings), problem.network
        parameters = self._mode(here, replace(state, wanted=state.settings))
        first = network.n_layers - 1 if self.layers == "last" else here.first
        whole = replace(here, first=first)
        curvature = self._curvature(here, parameters, first)
        precision = curvature.precision(whole.free_prior(state.settings))
        log_evidence = laplace_evidence(whole, parameters, state.settings, precision)
        log_evidence += log_settings_volume(whole, parameters, state.settings, precision)
        freedom = noise_freedom(whole, parameters, state.settings, precision)
        n_effective = n_determined(whole.free_prior(state.settings), precision)
        belief = NetworkBelief(
            network, parameters, precision, first, state.settings, freedom, n_effective
        )
        if isinstance(problem.outcome, ClassOutcome) and network.n_layers > 1:
            spread = spread_of_scores(problem, belief)
            belief = replace(belief, precision=precision.scaled(1.0 / spread))
        kept = "the last layer" if self.layers == "last" else "all layers"
        method = f"Laplace approximation of a network, {self._kind(network, first)} curvature"
        account = Account(f"{method} of {kept}", False, float("nan"), "unknown")
        return Inference(belief, log_evidence, "laplace", account=account)

    def _mode(self, problem: NetworkProblem, state: NetworkState) -> Array:
        """Return the mode for the settings, as near as its slope and curvature can tell."""
        prior, begin = problem.prior(state.wanted), problem.network.ends[problem.first]
        near = max(NEAR_MODE, NEAR_EACH * (len(prior) - begin))
        for _ in range(LAST_ROUNDS):
            parameters = minimized(problem, state, LAST_STEPS)
            slope = problem.value_and_gradient(parameters, prior)[1][begin:]
            some = problem.thinned(MANY_ROWS)
            precision = self._curvature(some, parameters, problem.first).precision(
                prior[begin:]
            )
            if slope @ precision.solve(slope) < 2.0 * near:
                break
            state = replace(state, parameters=parameters, guide=precision.guide())
        return parameters

    def _kind(self, network: LayeredNetwork, first: int) -> str:
        """Return what is kept of the curvature of layers from one on."""
        if self.curvature != "auto":
            return self.curvature
        n_free = network.n_parameters - network.ends[first]
        return "full" if n_free <= MOST_FULL else "kronecker"

    def _curvature(self, problem: NetworkProblem, parameters: Array, first: int) -> Curvature:
        kind = CURVATURES[self._kind(problem.network, first)]
        return kind.of(problem.network, parameters, problem.x, problem.outcome, first)


MOST_FULL = 2_000


def by_batches(
    problem: NetworkProblem, start: Array, settings: NetworkSettings, rng: Generator
) -> Array:
    """Return parameters by Adam, after the pass that predicts rows held out best."""
    network, prior = problem.network, problem.prior(settings)
    order = rng.permutation(len(problem.x))
    n_out = len(order) // HELD_OUT
    out, kept = order[:n_out], order[n_out:]
    share = 1.0 / problem.n_rows

    def gradient(w: Array, rows: NDArray[np.intp]) -> Array:
        own = kept[rows]
        seen = network.forward(w, problem.x[own])
        slope = problem.outcome.taken(own).loss(seen.outputs)[1]
        return network.pull_back(w, seen, slope / len(own)) + share * prior * w

    held = problem.outcome.taken(out)

    def error(w: Array) -> float:
        return held.loss(network.outputs(w, problem.x[out]))[0]

    epochs = islice(adam_epochs(gradient, start, len(kept), rng), MOST_PASSES)
    with np.errstate(over="ignore", invalid="ignore"):
        found = early_stop(epochs, error, PATIENCE)
    is_bad = ~np.isfinite(found.errors)
    if is_bad.any():
        _require_finite(
            float(found.errors[is_bad][0]), f"in pass {is_bad.argmax() + 1} of Adam over rows"
        )
    return found.best


def minimized(problem: NetworkProblem, state: NetworkState, max_steps: int) -> Array:
    """Return parameters nearer to the mode for the wanted settings, by steps of L-BFGS."""
    prior, begin = problem.prior(state.wanted), problem.network.ends[problem.first]
    start = state.parameters
    to_free, to_slope = _coordinates(state.guide)

    def whole(u: Array) -> Array:
        moved = start.copy()
        moved[begin:] += to_free(u)
        return moved

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = problem.value_and_gradient(whole(u), prior)
        return value, to_slope(gradient[begin:])

    value, gradient = separate(value_and_gradient)
    rules = Termination(max_steps, value_change=VALUE_CHANGE, gradient_norm=1e-6)
    origin = np.zeros(len(start) - begin)
    _require_finite(float(value(origin)), "at the first step of L-BFGS")
    found = lbfgs(value, gradient, origin, termination=rules)
    _require_finite(found.value, f"at step {found.n_steps} of L-BFGS")
    return whole(found.x)


def _coordinates(guide: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Return the maps from coordinates of unit curvature to parameters, and of slopes back."""
    if guide.ndim == 2:
        return (
            lambda u: dtrsv(guide, u, trans_a=True),
            lambda g: dtrsv(guide, g),
        )
    scale = 1.0 / np.sqrt(guide)
    return (lambda u: scale * u), (lambda g: scale * g)


def _require_finite(value: float, place: str) -> None:
    if not np.isfinite(value):
        raise DivergedNetwork(
            f"the loss of the network must stay finite; found {value:g} {place}. "
            "Try fewer units or layers, activation='tanh', which is bounded, or another "
            "random_state."
        )


def learned_settings(
    problem: NetworkProblem,
    parameters: Array,
    settings: NetworkSettings,
    curvature: Curvature,
    precision: Precision,
) -> NetworkSettings:
    """Return the settings that the evidence asks for, at the mode for some others."""
    network = problem.network
    gamma = determined(problem, settings, precision)
    drift = mode_drift(problem, parameters, settings, curvature, precision)
    squares = problem.by_group(parameters[network.ends[problem.first] :] ** 2)
    counted = gamma + PRIOR_COUNT
    counted = np.maximum(counted + drift, LEAST_SHARE * counted)
    wanted = np.log(counted / (squares + PRIOR_COUNT * problem.natural_variance))
    log_precision = _moved(settings.log_precision, wanted)
    log_noise = settings.log_noise
    if isinstance(problem.outcome, NormalOutcome):
        error = problem.outcome.squared_error(network.outputs(parameters, problem.x))
        freedom = noise_freedom(problem, parameters, settings, precision)
        log_noise = _moved(log_noise, np.log(freedom / (error + problem.least_noise)))
    return NetworkSettings(log_precision, log_noise)


def determined(
    problem: NetworkProblem, settings: NetworkSettings, precision: Precision
) -> Array:
    """Return ``gamma``, how many weights of each group the data determine, shape (g,)."""
    left = np.exp(settings.log_precision) * problem.by_group(precision.variances())
    return np.maximum(problem.count - left, 0.0)


def mode_drift(
    problem: NetworkProblem,
    parameters: Array,
    settings: NetworkSettings,
    curvature: Curvature,
    precision: Precision,
) -> Array:
    """Return minus how the log determinant changes as the mode moves with each precision.

    A higher precision moves the mode by ``-A^-1 (precision w)`` per unit of its log; in a
    network the curvature there is another one, as in no linear model. Shape (g,).
    """
    network, prior = problem.network, problem.free_prior(settings)
    begin, n = network.ends[problem.first], len(settings.log_precision)
    found = np.zeros(n)
    if problem.is_linear:
        return found
    group, moved = problem.group[begin:], np.tile(parameters, (n, 1))
    for g in range(n):
        pull = np.where(group == g, prior * parameters[begin:], 0.0)
        moved[g, begin:] -= DIFFERENCE * precision.solve(pull)
    if isinstance(precision, FullPrecision):
        some = slice(None, None, -(-len(problem.x) // MOST_DRIFTING))
        part = problem.outcome.taken(some)
        rows = (problem.x[some], part, problem.first)
        blocks = [weighted_jacobians(network, w, *rows) for w in (parameters, *moved)]
        for own, *others in zip(*blocks, strict=True):
            found -= precision.log_det_slopes(own, [other - own for other in others])
        return np.asarray(found * (problem.n_rows / (DIFFERENCE * part.weight.sum())))
    for g in range(n):
        there = (
            type(curvature)
            .of(network, moved[g], problem.x, problem.outcome, problem.first)
            .precision(prior)
        )
        found[g] = (precision.log_det() - there.log_det()) / DIFFERENCE
    return found


def _moved(logs: Array, wanted: Array) -> Array:
    return np.asarray(logs + np.clip(wanted - logs, -LARGEST_CHANGE, LARGEST_CHANGE))


def n_determined(prior: Array, precision: Precision) -> float:
    """Return how many parameters the data determine, biases among them."""
    return len(prior) - float(prior @ precision.variances())


def noise_freedom(
    problem: NetworkProblem, parameters: Array, settings: NetworkSettings, precision: Precision
) -> Array:
    """Return how many residuals the noise of each output is known by, shape (k,)."""
    if not problem.has_noise:
        return np.zeros(0)
    network, prior = problem.network, problem.free_prior(settings)
    if network.n_outputs == 1:
        gamma = np.array([n_determined(prior, precision)])
    else:
        gamma = np.zeros(network.n_outputs)
        blocks = weighted_jacobians(
            network, parameters, problem.x, problem.outcome, problem.first
        )
        for rows in blocks:
            each = rows.reshape(-1, network.n_outputs, rows.shape[1])
            for k in range(network.n_outputs):
                own = precision.output_covariance(each[:, k : k + 1])
                gamma[k] += float(own.sum())
    return np.asarray(np.maximum(problem.n_rows - gamma, 0.0) + 1.0)


def spread_of_scores(problem: NetworkProblem, belief: NetworkBelief) -> float:
    """Return by what a covariance is multiplied to predict rows left out about best.

    The curvature at the mode is nearly zero at rows whose class is as good as certain there,
    though weights by which they change sides are ruled out: the Gaussian there is too wide, and
    averages over it are no better than a guess. Scores without a row are about
    ``m + V (I - H V)^-1 slope`` from their mean, covariance ``V``, and slope and curvature
    ``H`` of its loss, which takes no training.
    """
    chosen = np.linspace(0, len(problem.x) - 1, min(len(problem.x), MOST_LEFT_OUT))
    rows = np.unique(chosen.astype(np.intp))
    outcome = problem.outcome.taken(rows)
    mean, covariance = without_own_row(outcome, *belief.moments(problem.x[rows]))
    noise = belief.settings.log_noise
    scores = np.stack(
        [outcome.log_prob(mean, spread * covariance, noise) for spread in SPREADS]
    )
    lost = scores[int((scores @ outcome.weight).argmax())] - scores
    total, squares = lost @ outcome.weight, lost**2 @ outcome.weight
    # The least doubt that is within one standard error of the best.
    return float(SPREADS[int((total <= np.sqrt(squares)).argmax())])


def without_own_row(outcome: Outcome, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Return mean (n, k) and covariance (n, k, k) of outputs, each without its own row."""
    # Of rows that are alike, one is left out.
    share = 1.0 / np.maximum(outcome.weight, 1.0)
    slope = outcome.loss(mean)[1] * share[:, None]
    root = outcome.root(mean) * np.sqrt(share)[:, None, None]
    cross = root @ covariance
    shares, axes = np.linalg.eigh(cross @ root.transpose(0, 2, 1))
    across = axes.transpose(0, 2, 1) @ cross
    across /= np.sqrt(1.0 - np.clip(shares, 0.0, SUREST_SHARE))[:, :, None]
    wide = covariance + across.transpose(0, 2, 1) @ across
    return mean + np.einsum("nij,nj->ni", wide, slope), wide


def log_settings_volume(
    problem: NetworkProblem, parameters: Array, settings: NetworkSettings, precision: Precision
) -> float:
    """Return the log of what integrating over the logs of the settings adds.

    Priors of the precisions are part of it; that of the log noise is flat with density one.
    """
    half = 0.5 * (determined(problem, settings, precision) + PRIOR_COUNT)
    total = problem.log_settings_prior(settings)
    freedom = 0.5 * noise_freedom(problem, parameters, settings, precision)
    for curvature in (half[problem.count > 0], freedom):
        total += 0.5 * float((LOG_TWO_PI - np.log(curvature)).sum())
    return total


def laplace_evidence(
    problem: NetworkProblem, parameters: Array, settings: NetworkSettings, precision: Precision
) -> float:
    """Return the log evidence of the weights around a mode, at given precisions."""
    loss = problem.outcome.loss(problem.network.outputs(parameters, problem.x))[0]
    own = parameters[problem.network.ends[problem.first] :]
    height = -loss - 0.5 * float((problem.free_prior(settings) * own) @ own)
    height += problem.log_prior_constant(settings)
    return height + 0.5 * (len(own) * LOG_TWO_PI - precision.log_det())


@dataclass(frozen=True)
class NetworkEnsemble:
    """Train networks from several first weights, and mix what they say.

    Attributes
    ----------
    n_members
        Number of networks.
    weighting
        "equal"; "evidence" for shares in proportion to the evidence of each mode; "stacking"
        for those by which networks trained without a fifth of the rows predict these best.
    member
        How each is trained.
    """

    n_members: int = 5
    weighting: str = "equal"
    member: NetworkLaplace = field(default_factory=NetworkLaplace)

    def __post_init__(self) -> None:
        if self.weighting not in WEIGHTINGS or self.n_members < 1:
            raise ValueError(
                f"weighting must be one of {WEIGHTINGS}, of at least one member; found "
                f"{quote(self.weighting)} and {quote(self.n_members)}. Choose from these."
            )

    def learn(
        self, problem: NetworkProblem, rng: Generator
    ) -> tuple[NetworkMixture, Inference]:
        """Return the mixture of the members, and the answer of the best."""
        streams = rng.spawn(self.n_members)
        found = [run(self.member, problem, stream) for stream in streams]
        evidence = np.array([one.log_evidence for one in found])
        best = found[int(evidence.argmax())]
        shares = np.full(self.n_members, 1.0 / self.n_members)
        if self.weighting == "evidence":
            shares = special.softmax(evidence)
        elif self.weighting == "stacking":
            shares = self._stacked(problem, rng)
        # Modes found from equal chances count alike in the evidence of all.
        total = float(special.logsumexp(evidence) - np.log(self.n_members))
        posterior = NetworkMixture(tuple(one.posterior for one in found), shares)
        return posterior, replace(best, posterior=None, state=None, log_evidence=total)

    def _stacked(self, problem: NetworkProblem, rng: Generator) -> Array:
        order = rng.permutation(len(problem.x))
        n_out = max(1, len(order) // HELD_OUT)
        out, kept = np.sort(order[:n_out]), np.sort(order[n_out:])
        part = replace(problem, x=problem.x[kept], outcome=problem.outcome.taken(kept))
        beliefs: list[NetworkBelief] = [
            run(self.member, part, stream).posterior for stream in rng.spawn(self.n_members)
        ]
        held = problem.outcome.taken(out)
        scores = [
            held.log_prob(*belief.moments(problem.x[out]), belief.settings.log_noise)
            for belief in beliefs
        ]
        return np.asarray(stacking_weights(np.stack(scores), weight=held.weight))
