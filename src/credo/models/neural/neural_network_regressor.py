"""Regression by a neural network whose weights are integrated out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.distributions.student_t import StudentT
from credo.distributions.univariate import Univariate
from credo.inference.engine.engine import Inference
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.outcome import (
    NormalOutcome,
    Outcome,
    VaryingNormalOutcome,
    expected_variance,
)
from credo.models.contract.inputs import generator, require_choice, row_weight, validated
from credo.models.contract.regressor import PredictiveRegressor
from credo.models.neural.neural_setting import (
    Standardized,
    check_network_settings,
    learned_network,
    unit_rows,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example

__all__ = ["NeuralNetworkRegressor"]

LEAST_FREEDOM = 3.0


class NeuralNetworkRegressor(PredictiveRegressor):
    """Regression by layers of units, ``y = h(x, w) + noise``, with a posterior of ``w``.

    Columns and outcomes are scaled inside, so that units do not matter. The prior precision of
    the weights of each layer and the noise are learned from the evidence while the network is
    trained; biases are not shrunk.

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
        How many parameters the data determine.
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

        Each is the network with weights of its own, without noise.
        """
        rows, k = self._rows(X), len(self.y_units_.scale)
        draws = self.posterior_.sample(generator(random_state), n)
        network = self.posterior_.network
        outputs = np.stack([network.outputs(draw, rows)[:, :k] for draw in draws])
        found = self.y_units_.center + outputs * self.y_units_.scale
        return np.asarray(found[..., 0] if self._is_single else found)

    @property
    def weight_precision_(self) -> Array:
        """Learned prior precisions of the weights of each layer, the mean over members."""
        return self._mean_setting("log_precision")

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
