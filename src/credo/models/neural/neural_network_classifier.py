"""Classification by a neural network whose weights are integrated out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.inference.engine.engine import Inference
from credo.inference.logistic.softmax import class_coding, integrated_log_probability
from credo.inference.neural.belief import NetworkBelief, NetworkMixture
from credo.inference.neural.outcome import LEAST_VARIANCE, ClassOutcome
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import first_labeled_rows, generator, validated
from credo.models.neural.neural_setting import (
    Standardized,
    check_network_settings,
    learned_network,
    unit_rows,
)
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.special.log_domain import log_sum_exp, softmax

__all__ = ["NeuralNetworkClassifier"]


class NeuralNetworkClassifier(PredictiveClassifier):
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

    def predict_dist(self, X: ArrayLike) -> Categorical:
        """Return the distribution of the class, weights integrated out, one entry per row."""
        return Categorical(np.exp(self.predict_log_proba(X)), self.classes_)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return log class probabilities (n, K), with their digits however small they are."""
        rows, posterior = self._rows(X), self.posterior_
        logs = [self._log_probability(part, rows) for part in posterior.parts]
        if len(logs) == 1:
            return logs[0]
        return log_sum_exp(np.stack(logs), axis=0, weights=posterior.shares[:, None, None])

    def decision_function(self, X: ArrayLike) -> Array:
        """Return log odds (n,) of the second of two classes, or log probabilities (n, K)."""
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def sample_probabilities(self, X: ArrayLike, n: int, random_state: Any = None) -> Array:
        """Return class probabilities under ``n`` draws of the weights, (n, n_samples, K)."""
        rows, coding = self._rows(X), class_coding(len(self.classes_))
        draws = self.posterior_.sample(generator(random_state), n)
        network = self.posterior_.network
        return np.stack([softmax(network.outputs(draw, rows) @ coding.T) for draw in draws])

    @property
    def weight_precision_(self) -> Array:
        """Learned prior precisions of the weights of each layer, the mean over members."""
        check_is_fitted(self)
        logs = [part.settings.log_precision for part in self.posterior_.parts]
        return np.asarray(np.exp(self.posterior_.shares @ np.stack(logs)))

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
