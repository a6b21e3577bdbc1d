"""The action that minimizes expected loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.decisions.loss_matrix import LossMatrix
from credo.decisions.numeric_loss import NumericLoss
from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.univariate import Univariate
from credo.numerics.array import Array, as_float
from credo.numerics.markup import MOST_ROWS, html_page, html_table, short_number

__all__ = ["Decision", "averaged_hypotheses", "class_decision_problem", "decide"]

Labels = Sequence[Any] | NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class Decision:
    """The best action for each row, what it is expected to cost, and the runner-up.

    Attributes
    ----------
    action
        Action of least expected loss, the first of equals, shape (*batch). For a numeric loss
        a number, NaN where it is left undecided.
    expected_loss
        What it is expected to cost.
    runner_up, runner_up_loss
        The second best action and its expected loss; None for numeric losses, where an action
        as good as the best lies arbitrarily close to it.
    """

    action: NDArray[Any]
    expected_loss: Array
    runner_up: NDArray[Any] | None = None
    runner_up_loss: Array | None = None

    def __len__(self) -> int:
        return len(self.action)

    def frame(self, index: Any = None) -> pd.DataFrame:
        """Return the decisions as a table, one row each.

        Parameters
        ----------
        index
            Labels of the rows, such as ``X.index``.
        """
        columns: dict[str, Any] = {
            "action": np.ravel(self.action),
            "expected_loss": np.ravel(self.expected_loss),
        }
        if self.runner_up is not None and self.runner_up_loss is not None:
            columns["runner_up"] = np.ravel(self.runner_up)
            columns["runner_up_loss"] = np.ravel(self.runner_up_loss)
        return pd.DataFrame(columns, index=index)

    def _repr_html_(self) -> str:
        """Return the first decisions as a table, as notebooks show them, and their sums."""
        frame = self.frame()
        rows = [
            [str(place), *(_cell_text(value) for value in row)]
            for place, row in zip(range(MOST_ROWS), frame.itertuples(index=False), strict=False)
        ]
        n = len(frame)
        expected = short_number(float(frame["expected_loss"].mean())) if n else "-"
        lines = [f"Expected loss {expected} per row over {n:,} rows."]
        if self.runner_up is not None:
            counts = frame["action"].value_counts().iloc[:MOST_ROWS]
            shares = [f"{action} {count:,}" for action, count in counts.items()]
            lines.append(f"Actions: {', '.join(shares)}.")
        headings = ["row", *(name.replace("_", " ") for name in frame.columns)]
        if n > len(rows):
            lines.append(f"{len(rows)} of {n:,} rows are shown.")
        return html_page("Decision", html_table(headings, rows), lines=lines)


def _cell_text(value: Any) -> str:
    is_number = isinstance(value, float | np.floating)
    return short_number(float(value)) if is_number else str(value)


def averaged_hypotheses(probability: ArrayLike, posterior: ArrayLike | None = None) -> Array:
    """Return class probabilities averaged over hypotheses, or over draws of parameters.

    ``p(class | x) = sum_h p(class | h, x) p(h | data)``. To decide by it beats to decide by the
    most probable hypothesis alone, which may be outvoted by all others.

    Parameters
    ----------
    probability
        Class probabilities under each hypothesis, shape (n_hypotheses, ..., n_classes).
    posterior
        Probability of each hypothesis; equal by default, as draws from a posterior are.

    Examples
    --------
    >>> by_hypothesis = [[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]]]
    >>> averaged_hypotheses(by_hypothesis, [0.4, 0.3, 0.3])
    array([[0.4, 0.6]])
    """
    each = as_float(probability)
    n = len(each) if each.ndim else 0
    share = np.full(n, 1.0 / max(n, 1)) if posterior is None else as_float(posterior)
    is_whole = np.isclose(share.sum(), 1.0, rtol=0, atol=1e-6) and (share >= 0).all()
    if each.ndim < 2 or share.shape != (n,) or not is_whole:
        raise ValueError(
            "posterior must be a probability for each hypothesis along the first axis of "
            f"probability, which sum to one; found the shapes {share.shape} and {each.shape} "
            f"and the sum {share.sum():.6g}. Give one for each."
        )
    return np.asarray(np.tensordot(share, each, axes=1))


def decide(
    predictive: Any, loss: Any, reject: float | None = None, labels: Labels = None
) -> Decision:
    """Return the action of least expected loss for each entry of a predictive distribution.

    Parameters
    ----------
    predictive
        What may come true: a `Categorical`, or class probabilities of any classifier, shape
        (*batch, K) (a pandas table names the classes by its columns), or the distribution of a
        number, such as ``model.predict_dist(X)`` of a regressor.
    loss
        For classes a `LossMatrix`, or its numbers as an array or a pandas table with a row for
        each action and a column for each class; for numbers a loss such as `AbsoluteLoss`.
    reject
        What it costs to leave a row undecided; never done if None.
    labels
        The classes in the order of the columns of an array of probabilities, such as
        ``model.classes_``; those of the loss if None.

    Examples
    --------
    >>> costs = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])
    >>> decision = decide([[0.95, 0.05], [0.8, 0.2]], costs)
    >>> decision.action.tolist(), decision.expected_loss.round(2)
    (['send home', 'treat'], array([0.5, 0.8]))
    """
    if isinstance(loss, NumericLoss):
        return _numeric_decision(predictive, loss, reject)
    probability, costs = class_decision_problem(predictive, loss, reject, labels)
    risk = probability @ costs.loss.T
    order = np.argsort(risk, axis=-1, kind="stable")
    ranked = np.take_along_axis(risk, order, axis=-1)
    return Decision(
        np.asarray(costs.actions[order[..., 0]]),
        np.asarray(ranked[..., 0]),
        np.asarray(costs.actions[order[..., 1]]),
        np.asarray(ranked[..., 1]),
    )


def class_decision_problem(
    predictive: Any, loss: Any, reject: float | None = None, labels: Labels = None
) -> tuple[Array, LossMatrix]:
    """Return class probabilities and the losses in the same order of classes, both checked."""
    probability, classes = _class_probability(predictive, labels)
    costs = _loss_matrix(loss, classes, probability)
    if reject is not None:
        costs = costs.with_reject(reject)
    return costs.probabilities(probability), costs


def _class_probability(predictive: Any, labels: Labels) -> tuple[Array, Labels]:
    if isinstance(predictive, Categorical):
        return predictive.probability, predictive.labels
    if isinstance(predictive, Distribution):
        raise TypeError(
            "a loss for classes needs class probabilities; found a "
            f"{type(predictive).__name__}. Use a loss for numbers, such as QuadraticLoss()."
        )
    if hasattr(type(predictive), "fit"):
        raise TypeError(
            "decide needs class probabilities; found the estimator "
            f"{type(predictive).__name__}. Pass model.predict_proba(X), "
            "labels=model.classes_."
        )
    if labels is None and isinstance(predictive, pd.DataFrame):
        labels = predictive.columns.tolist()
    return as_float(predictive), labels


def _loss_matrix(loss: Any, labels: Labels, probability: Array) -> LossMatrix:
    """Return what the user gave as losses, in the order of the classes."""
    if isinstance(loss, LossMatrix):
        return loss if labels is None else loss.aligned(labels)
    if isinstance(loss, pd.DataFrame):
        costs = LossMatrix.from_frame(loss, labels)
        return costs if labels is None else costs.aligned(labels)
    if isinstance(loss, str) or callable(loss):
        raise TypeError(
            f"loss must be a LossMatrix, a table of losses or a loss for numbers; found "
            f"{loss!r}. Write LossMatrix.zero_one(labels), or QuadraticLoss()."
        )
    n_classes = probability.shape[-1] if probability.ndim else 0
    return LossMatrix(loss, np.arange(n_classes) if labels is None else labels)


def _numeric_decision(predictive: Any, loss: NumericLoss, reject: float | None) -> Decision:
    if not isinstance(predictive, Univariate):
        raise TypeError(
            "a loss for numbers needs the distribution of a number; found "
            f"{type(predictive).__name__}. Pass predict_dist(X) of a regressor, or a "
            "LossMatrix for classes."
        )
    action = loss.action(predictive)
    expected = loss.expected_loss(predictive, action)
    if reject is None:
        return Decision(action, expected)
    is_dear = expected > reject
    return Decision(np.where(is_dear, np.nan, action), np.where(is_dear, reject, expected))
