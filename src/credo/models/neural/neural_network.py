"""Bayesian neural networks: regression and classification, weights integrated out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.distributions.univariate import Univariate
from credo.inference.density.trajectory import NoUTurnSampling
from credo.inference.density.variational import GaussianVariational
from credo.inference.engine.engine import Inference, run
from credo.inference.logistic.softmax import class_coding, integrated_log_probability
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.outcome import (
    LEAST_VARIANCE,
    ClassOutcome,
    NormalOutcome,
    Outcome,
    VaryingNormalOutcome,
    expected_variance,
)
from credo.inference.neural.problem import NetworkProblem
from credo.inference.neural.sampling import (
    USUAL_CLIMB,
    USUAL_DRAWS,
    closest_gaussian,
    drawn_networks,
)
from credo.inference.neural.training import NetworkEnsemble, NetworkLaplace
from credo.models.contract.classifier import LogClassifier
from credo.models.contract.inputs import (
    first_labeled_rows,
    generator,
    inference_name,
    require_choice,
    row_weight,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import Array, as_float, is_constant, merged_rows
from credo.numerics.example import Example
from credo.numerics.form import Form
from credo.numerics.layers.activation import activation_named
from credo.numerics.layers.layered_network import LayeredNetwork
from credo.numerics.parallel.threads import threads_for
from credo.numerics.quotation import quote
from credo.numerics.special.log_domain import log_sum_exp, softmax

__all__ = ["NeuralNetworkClassifier", "NeuralNetworkRegressor", "Standardized"]

ENGINES: dict[str, type | None] = {
    "laplace": NetworkLaplace,
    "last_layer": None,
    "ensemble": NetworkEnsemble,
    "variational": GaussianVariational,
    "nuts": NoUTurnSampling,
    "map": None,
}
"""The engine that each way of learning stands for."""


@dataclass(frozen=True, eq=False)
class Standardized:
    """Columns that vary, each less its center and divided by its scale.

    Attributes
    ----------
    used
        Places of the columns that vary.
    center, scale
        Mean and standard deviation of each of these over the training rows.
    """

    used: Annotated[NDArray[np.intp], Form("d", 0)]
    center: Annotated[Array, Form("d")]
    scale: Annotated[Array, Form("d", 0.0)]

    @classmethod
    def of(cls, x: Array, weight: Array) -> Self:
        """Return the units of rows (n, m), each counted with its weight."""
        share = weight / weight.sum()
        # About the first row, so that numbers far from zero lose no digits.
        origin = x[0]
        center = share @ (x - origin)
        spread = np.sqrt(share @ (x - origin - center) ** 2)
        center = center + origin
        is_varying = ~is_constant(center, spread) & (np.ptp(x, axis=0) > 0) & (spread > 0)
        used = np.flatnonzero(is_varying)
        return cls(used, center[used], spread[used])

    def rows(self, x: Array) -> Array:
        """Return rows in these units, shape (n, d)."""
        return np.asarray((x[:, self.used] - self.center) / self.scale)


class Learned(NamedTuple):
    """What is believed of the parameters, and the whole answer of the engine."""

    posterior: NetworkMixture
    inference: Inference


def check_network_settings(hidden: Any, activation: Any, inference: Any) -> None:
    """Refuse settings of a network that cannot be."""
    hidden_sizes(hidden)
    unit, name = activation_named(activation), inference_name(inference, ENGINES)
    if not unit.has_slope and name in ("variational", "nuts"):
        raise ValueError(
            f"inference={name!r} must follow the slope of the units; found {activation!r} "
            "units, which have none. Use activation='sigmoid', or inference='laplace', which "
            "learns the weights of the outputs."
        )


def hidden_sizes(hidden: Any) -> tuple[int, ...]:
    """Return the number of units of each hidden layer; one number stands for one layer."""
    sizes = list(hidden) if isinstance(hidden, Sequence | np.ndarray) else [hidden]
    is_good = all(
        isinstance(n, Integral) and not isinstance(n, bool) and int(n) > 0 for n in sizes
    )
    if isinstance(hidden, str) or not is_good:
        raise ValueError(
            "hidden must hold the number of units of each hidden layer, each at least 1; found "
            f"{quote(hidden)}. Pass a tuple such as (50,), or () for no hidden layer."
        )
    return tuple(int(n) for n in sizes)


def unit_rows(x: Array, y: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return rows that differ, their outcomes (n, k), and the weight of all that are alike.

    They are rounded, and in an order set by their values, so that no answer depends on the
    order of rows, on copies in place of weights, or on units.
    """
    rows, total = merged_rows(np.column_stack([x, y]), weight)
    return np.ascontiguousarray(rows[:, : x.shape[1]]), rows[:, x.shape[1] :], total


def learned_network(
    x: Array,
    outcome: Outcome,
    hidden: Any,
    activation: str,
    inference: Any,
    random_state: Any,
) -> Learned:
    """Return what the rows say of a network, by the way of learning that is asked for."""
    sizes = (x.shape[1], *hidden_sizes(hidden), outcome.n_outputs)
    network = LayeredNetwork(sizes, activation)
    first = 0 if network.unit.has_slope else network.n_layers - 1
    problem = NetworkProblem(network, x, outcome, first)
    with threads_for(float(len(x)) * network.n_parameters**2):
        return _learned(problem, inference, generator(random_state))


def _learned(problem: NetworkProblem, inference: Any, rng: Generator) -> Learned:
    name = inference_name(inference, ENGINES)
    given = None if isinstance(inference, str) else inference
    if name == "ensemble":
        return Learned(*(given or NetworkEnsemble()).learn(problem, rng))
    engine = given if isinstance(given, NetworkLaplace) else NetworkLaplace()
    if name == "last_layer":
        engine = replace(engine, layers="last")
    found = run(engine, problem, rng)
    belief: NetworkBelief = found.posterior
    if name == "map":
        belief = replace(belief, precision=None)
    if name == "variational":
        belief, found = closest_gaussian(problem, belief, given or USUAL_CLIMB, rng)
    if name == "nuts":
        return Learned(*drawn_networks(problem, found, given or USUAL_DRAWS, rng))
    n_draws = getattr(engine, "n_draws", 0)
    parts = belief.points(rng, n_draws) if n_draws else (belief,)
    posterior = NetworkMixture(parts, np.full(len(parts), 1.0 / len(parts)))
    return Learned(posterior, replace(found, posterior=None, state=None))


LEAST_FREEDOM = 3.0


class NeuralNetworkRegressor(PredictiveRegressor):
    """Regression by layers of units, ``y = h(x, w) + noise``, with a posterior of ``w``.

    Columns and outcomes are scaled inside, so that units do not matter. The prior precision of
    the weights of each layer and the noise are learned from the evidence while the network is
    trained; biases are hardly shrunk.

    Parameters
    ----------
    hidden
        Units of each hidden layer, such as ``(50,)``; ``()`` for none, which is Bayesian
        linear regression.
    activation
        What hidden units do: "tanh", "relu", "sigmoid", "identity", or "threshold", whose
        units have no slope and stay as they were drawn.
    inference
        "laplace" for a Gaussian at the mode of the weights, in which the network is taken as
        linear; "last_layer" for a Gaussian of the weights of the outputs alone;
        "ensemble" for five such networks; "variational" for the closest Gaussian of independent
        weights, and "nuts" for draws from the posterior itself, both for small networks; "map"
        for the mode alone; or an engine with settings, such as
        ``NetworkLaplace("kronecker")``, ``NetworkEnsemble(10, "stacking")`` or
        ``NoUTurnSampling(n_draws=500)``.
    noise
        "constant", or "varying" for noise whose log variance is an output of the network.
    random_state
        Seed of the first weights.

    Attributes
    ----------
    weight_precision_
        Learned prior precision of the weights of each layer, of columns and outcomes of unit
        variance; two for the last layer if the noise varies.
    noise_variance_
        Learned variance of constant noise, in the units of y; an array (k,) of several
        outputs. NaN if it varies.
    n_effective_parameters_
        How many parameters the data determine, the mean over members.
    log_evidence_, evidence_method_, evidence_flat_
        Log probability of y by Laplace's method around one mode, learned precisions and noise
        integrated out; and which unknowns have a flat prior of density one.
    posterior_, inference_
        The belief about the parameters, and the whole answer of the engine.
    x_units_, y_units_
        How columns and outcomes are scaled.

    Examples
    --------
    >>> x = np.linspace(-2.0, 2.0, 40)[:, None]
    >>> y = np.sin(2.0 * x[:, 0])
    >>> model = NeuralNetworkRegressor((8,), random_state=0).fit(x, y)
    >>> model.predict([[0.5], [1.0]]).round(1)
    array([0.8, 0.9])
    """

    _is_single: bool
    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    inference_: Inference
    log_evidence_: float
    posterior_: NetworkMixture
    x_units_: Standardized
    y_units_: Standardized

    def __init__(
        self,
        hidden: Any = (50,),
        activation: str = "tanh",
        inference: Any = "laplace",
        noise: str = "constant",
        random_state: Any = None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.inference = inference
        self.noise = noise
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (
            cls((6,), random_state=0),
            cls((5,), "relu", noise="varying", random_state=0),
            cls((4, 3), "sigmoid", inference="last_layer", random_state=0),
            cls((), inference="map", random_state=0),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and ``y`` (n,) or (n, k), forgetting earlier data."""
        check_network_settings(self.hidden, self.activation, self.inference)
        require_choice("noise", self.noise, ("constant", "varying"))
        x, outcomes = validated(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        weight = row_weight(sample_weight, x)
        self._is_single = np.ndim(outcomes) == 1
        targets = as_float(outcomes).reshape(len(x), -1)
        is_heavy = weight > 0
        x, targets, weight = x[is_heavy], targets[is_heavy], weight[is_heavy]
        self.x_units_ = Standardized.of(x, weight)
        self.y_units_ = Standardized.of(targets, weight)
        _require_varying(targets, self.y_units_)
        rows, scaled, total = unit_rows(
            self.x_units_.rows(x), self.y_units_.rows(targets), weight
        )
        outcome: Outcome = VaryingNormalOutcome(scaled, total)
        if self.noise == "constant":
            outcome = NormalOutcome(scaled, total, np.ones(scaled.shape[1]))
        learned = learned_network(
            rows, outcome, self.hidden, self.activation, self.inference, self.random_state
        )
        self.posterior_, self.inference_ = learned
        log_scale = float(np.log(self.y_units_.scale).sum())
        self.log_evidence_ = learned.inference.log_evidence - (total.sum() - 1.0) * log_scale
        self.evidence_method_ = learned.inference.evidence_method
        is_constant = self.noise == "constant"
        self.evidence_flat_ = ("intercept", "log noise") if is_constant else ("intercept",)
        return self

    def predict_dist(self, X: ArrayLike) -> Predictive:
        """Return the distribution of the outcome, noise included, one entry per row."""
        rows, posterior = self._rows(X), self.posterior_
        parts = [self._predictive(part, rows) for part in posterior.parts]
        found = parts[0] if len(parts) == 1 else Predictive.mixed(posterior.shares, parts)
        return found[:, 0] if self._is_single else found

    def sample_functions(self, X: ArrayLike, n: int, random_state: Any = None) -> Array:
        """Return ``n`` functions drawn from the posterior of the weights, (n, m) or (n, m, k).

        Each is the network with weights of its own, without noise; weights of a Gaussian move
        it in a straight line, as in `predict_dist`.
        """
        rows, k = self._rows(X), len(self.y_units_.scale)
        outputs = self.posterior_.sample_outputs(rows, generator(random_state), n)[..., :k]
        found = self.y_units_.center + outputs * self.y_units_.scale
        return np.asarray(found[..., 0] if self._is_single else found)

    @property
    def weight_precision_(self) -> Array:
        """Learned prior precisions of the weights of each layer, the mean over members."""
        return self._mean_setting("log_precision")

    @property
    def n_effective_parameters_(self) -> float:
        """How many parameters the data determine, the mean over members."""
        check_is_fitted(self)
        return self.posterior_.n_effective

    @property
    def noise_variance_(self) -> Any:
        """Learned variance of constant noise, in the units of y."""
        if self.noise != "constant":
            return float("nan")
        variance = self.y_units_.scale**2 / self._mean_setting("log_noise")
        return float(variance[0]) if self._is_single else variance

    def _mean_setting(self, name: str) -> Array:
        check_is_fitted(self)
        logs = [getattr(part.settings, name) for part in self.posterior_.parts]
        return np.asarray(np.exp(self.posterior_.shares @ np.stack(logs)))

    def _rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return self.x_units_.rows(np.asarray(validated(self, X, reset=False, dtype=np.float64)))

    def _predictive(self, belief: NetworkBelief, rows: Array) -> Predictive:
        """Return what one belief says, in the units of the outcomes."""
        k, units = len(self.y_units_.scale), self.y_units_
        mean, covariance = belief.moments(rows)
        variance = np.diagonal(covariance, axis1=1, axis2=2)
        doubt, center = variance[:, :k], units.center + mean[:, :k] * units.scale
        marginal: Univariate
        if self.noise == "varying":
            own = expected_variance(mean[:, k:], variance[:, k:])
            marginal = Normal(center, np.sqrt(doubt + own) * units.scale)
            widening = np.ones(k)
        else:
            own = np.broadcast_to(np.exp(-belief.settings.log_noise), doubt.shape)
            freedom = np.maximum(belief.freedom, LEAST_FREEDOM)
            scale = np.sqrt(doubt + own) * units.scale
            marginal = StudentT(freedom, center, scale)
            widening = freedom / (freedom - 2.0)
        by = np.sqrt(widening) * units.scale
        return Predictive(marginal, np.sqrt(doubt) * by, np.sqrt(own) * by)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _require_varying(targets: Array, units: Standardized) -> None:
    """Refuse outcomes of which one is the same in all rows."""
    n, k = targets.shape
    if len(units.used) == k and n > 1:
        return
    flat = sorted(set(range(k)) - set(units.used.tolist()))
    found = f"y={targets[0, flat[0]]:g} in all of n_samples={n} rows" if flat else "n_samples=1"
    raise ValueError(
        f"y must vary between rows for a network to be learned; found {found}. Add rows with "
        "other outcomes, or leave out an output that is constant."
    )


class NeuralNetworkClassifier(LogClassifier):
    """Classification by layers of units, ``p(class | x) = softmax(h(x, w))``.

    Probabilities are averaged over the weights that the rows leave possible, so that they are
    moderate where rows are few. Columns are scaled inside, and the prior precision of the
    weights of each layer is learned from the evidence while the network is trained.

    Parameters
    ----------
    hidden
        Units of each hidden layer, such as ``(50,)``; ``()`` for none, which is Bayesian
        logistic regression.
    activation
        What hidden units do: "tanh", "relu", "sigmoid", "identity", or "threshold", whose
        units have no slope and stay as they were drawn.
    inference
        "laplace" for a Gaussian at the mode of the weights, in which the scores are taken as
        linear; "last_layer" for a Gaussian of the weights of the outputs alone;
        "ensemble" for five such networks; "variational" for the closest Gaussian of independent
        weights, and "nuts" for draws from the posterior itself, both for small networks; "map"
        for the mode alone; or an engine with settings, such as
        ``NetworkLaplace("kronecker")``, ``NetworkEnsemble(10, "stacking")`` or
        ``NoUTurnSampling(n_draws=500)``.
    random_state
        Seed of the first weights.

    Attributes
    ----------
    classes_
        The labels, in rising order.
    weight_precision_
        Learned prior precision of the weights of each layer, of columns of unit variance.
    n_effective_parameters_
        How many parameters the data determine, the mean over members.
    log_evidence_, evidence_method_, evidence_of_, evidence_flat_
        Log probability of y given X by Laplace's method around one mode, learned precisions
        integrated out; "y given X"; and which unknowns have a flat prior of density one.
    posterior_, inference_
        The belief about the parameters, and the whole answer of the engine.
    x_units_
        How columns are scaled.

    Examples
    --------
    >>> x = np.linspace(-3.0, 3.0, 60)[:, None]
    >>> y = np.where(np.abs(x[:, 0]) < 1.0, "in", "out")
    >>> model = NeuralNetworkClassifier((6,), random_state=0).fit(x, y)
    >>> model.predict([[-2.0], [0.0], [2.0]])
    array(['out', 'in', 'out'], dtype='<U3')
    """

    evidence_flat_: tuple[str, ...]
    evidence_method_: str
    evidence_of_: str
    inference_: Inference
    log_evidence_: float
    posterior_: NetworkMixture
    x_units_: Standardized

    def __init__(
        self,
        hidden: Any = (50,),
        activation: str = "tanh",
        inference: Any = "laplace",
        random_state: Any = None,
    ):
        self.hidden = hidden
        self.activation = activation
        self.inference = inference
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (
            cls((6,), random_state=0),
            cls((5, 3), "relu", inference="last_layer", random_state=0),
            cls((), inference="map", random_state=0),
        )

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``X`` (n, d) and labels ``y`` (n,), forgetting earlier data."""
        check_network_settings(self.hidden, self.activation, self.inference)
        labeled = first_labeled_rows(self, X, y, sample_weight)
        is_heavy = labeled.weight > 0
        x, weight = labeled.x[is_heavy], labeled.weight[is_heavy]
        self.x_units_ = Standardized.of(x, weight)
        code = as_float(labeled.code[is_heavy])[:, None]
        rows, codes, total = unit_rows(self.x_units_.rows(x), code, weight)
        outcome = ClassOutcome(np.rint(codes[:, 0]).astype(np.intp), total, len(self.classes_))
        learned = learned_network(
            rows, outcome, self.hidden, self.activation, self.inference, self.random_state
        )
        self.posterior_, self.inference_ = learned
        self.log_evidence_ = learned.inference.log_evidence
        self.evidence_method_ = learned.inference.evidence_method
        self.evidence_of_, self.evidence_flat_ = "y given X", ("intercept",)
        return self

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log class probabilities (n, K), with their digits however small they are."""
        rows, posterior = self._rows(X), self.posterior_
        logs = [self._log_probability(part, rows) for part in posterior.parts]
        if len(logs) == 1:
            return logs[0]
        return log_sum_exp(np.stack(logs), axis=0, weights=posterior.shares[:, None, None])

    def sample_probabilities(self, X: ArrayLike, n: int, random_state: Any = None) -> Array:
        """Return class probabilities under ``n`` draws of the weights, (n, n_samples, K)."""
        rows, coding = self._rows(X), class_coding(len(self.classes_))
        scores = self.posterior_.sample_outputs(rows, generator(random_state), n)
        return np.asarray(softmax(scores @ coding.T))

    @property
    def weight_precision_(self) -> Array:
        """Learned prior precisions of the weights of each layer, the mean over members."""
        check_is_fitted(self)
        logs = [part.settings.log_precision for part in self.posterior_.parts]
        return np.asarray(np.exp(self.posterior_.shares @ np.stack(logs)))

    @property
    def n_effective_parameters_(self) -> float:
        """How many parameters the data determine, the mean over members."""
        check_is_fitted(self)
        return self.posterior_.n_effective

    def _rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return self.x_units_.rows(np.asarray(validated(self, X, reset=False, dtype=np.float64)))

    def _log_probability(self, belief: NetworkBelief, rows: Array) -> Array:
        mean, covariance = belief.moments(rows)
        coding = class_coding(len(self.classes_))
        if belief.precision is None:
            scores = mean @ coding.T
            return np.asarray(scores - log_sum_exp(scores, axis=1, keepdims=True))
        covariance = covariance + LEAST_VARIANCE * np.eye(covariance.shape[1])
        return integrated_log_probability(mean, covariance, coding)
