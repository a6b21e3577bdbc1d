"""What decisions cost on rows with known outcomes, against what was promised and could be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.decisions.decision import Decision, class_decision_problem, decide
from credo.decisions.loss_matrix import LossMatrix
from credo.decisions.numeric_loss import NumericLoss
from credo.distributions.empirical import Empirical
from credo.distributions.estimate import Estimate, sample_mean
from credo.distributions.parameter import require
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote
from credo.validation.argument import old_arguments, predicted_first

__all__ = ["DecisionReport", "judge_decisions"]

Labels = Sequence[Any] | NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class DecisionReport:
    """What decisions cost on rows with known outcomes; every loss is per row.

    Attributes
    ----------
    n_rows
        Number of rows.
    realized
        Mean loss that came true.
    promised
        Mean loss that the predictions expected, and the standard error that chance gives the
        mean of this many rows if they are right.
    surprise
        Realized minus promised, with the standard error of ``promised``, which does not depend
        on whether a rare and dear loss happened to be met: above zero if predictions were too
        sure.
    constant
        One row for each action taken always: its ``loss`` and ``standard_error``. For a
        numeric loss the single best number in hindsight.
    best_constant
        The action that would have cost least if always taken.
    saving
        Loss of ``best_constant`` minus realized loss, paired by row. The constant was chosen in
        hindsight, so that the saving is if anything too small; but where dear losses are so
        rare that few were met, its error is too small as well.
    oracle
        Mean loss with the outcome known beforehand: no rule can do better.
    share
        How often each action was taken, by action; empty for a numeric loss.
    coverage
        Probability of the intervals in ``verdict``.
    """

    n_rows: int
    realized: Estimate
    promised: Estimate
    surprise: Estimate
    constant: pd.DataFrame
    best_constant: Any
    saving: Estimate
    oracle: float
    share: pd.Series[float]
    coverage: float

    @property
    def verdict(self) -> str:
        """What the decisions were worth, and whether their promise was kept, in words."""
        return f"{self._worth()} {self._trust()}"

    def table(self) -> pd.DataFrame:
        """Return the losses per row, smallest bound first: oracle, decisions, constants."""
        rows: dict[str, tuple[float, float]] = {
            "outcome known": (self.oracle, np.nan),
            "promised": _pair(self.promised),
            "decisions": _pair(self.realized),
        }
        for action, loss, error in self.constant.itertuples():
            rows[f"always {_name(action)}"] = (loss, error)
        columns = ["loss", "standard_error"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def _worth(self) -> str:
        low, high = self.saving.interval(self.coverage)
        always = f"always {_name(self.best_constant)}"
        if self.n_rows == 1:
            return (
                f"Decisions cost {self.realized.value:.4g} on the only row; one row cannot "
                f"tell whether they save anything against {always}."
            )
        loss = f"Decisions cost {self.realized.value:.4g} per row on {self.n_rows:,} rows"
        if low == high:
            return f"{loss}, as much as {always}."
        span = f"({100 * self.coverage:g} % interval {low:.3g} to {high:.3g})"
        if low > 0:
            return f"{loss}; they save {self.saving.value:.3g} against {always} {span}."
        if high < 0:
            return f"{loss}; {always} would have cost {-self.saving.value:.3g} less {span}."
        return f"{loss}; that is not distinguishable from {always} {span}."

    def _trust(self) -> str:
        low, high = self.surprise.interval(self.coverage)
        expected = f"{self.promised.value:.4g} was expected"
        if low > 0:
            return f"Only {expected}: the predictions are too sure."
        if high < 0:
            return f"{expected}: the predictions are too cautious."
        return f"{expected}, which agrees."


def _is_predicted_first(args: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether predictions come first: distributions, or a row of shares for each row."""
    return predicted_first(args, named) or (np.ndim(args[0]) == 2 and np.shape(args[0])[1] > 1)


@old_arguments(
    _is_predicted_first,
    "y_pred y_true loss reject labels coverage",
    predictive="y_pred",
    y="y_true",
)
def judge_decisions(
    y_true: ArrayLike,
    y_pred: Any,
    loss: Any,
    reject: float | None = None,
    labels: Labels = None,
    coverage: float = 0.95,
) -> DecisionReport:
    """Return what decisions by predictions cost on rows whose outcomes are known.

    Parameters
    ----------
    y_true
        What came true, shape (n,): classes, or numbers for a numeric loss.
    y_pred, loss, reject, labels
        Predictions and the rest as for `credo.decide`.
    coverage
        Probability of the intervals in the verdict.

    Examples
    --------
    >>> costs = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])
    >>> proba = [[0.99, 0.01], [0.7, 0.3], [0.95, 0.05], [0.4, 0.6]]
    >>> report = judge_decisions(["well", "well", "well", "ill"], proba, costs)
    >>> float(report.realized.value), report.best_constant, float(report.saving.value)
    (0.25, 'treat', 0.5)
    """
    if isinstance(loss, NumericLoss):
        return _numeric_report(y_true, y_pred, loss, reject, coverage)
    probability, costs = class_decision_problem(y_pred, loss, reject, labels)
    code = _codes(y_true, costs, probability)
    by_action = costs.loss[:, code]
    decision = decide(probability, costs)
    taken = (probability @ costs.loss.T).argmin(axis=-1)
    realized = by_action[taken, np.arange(len(code))]
    constant = [sample_mean(row) for row in by_action]
    best = int(np.argmin([float(mean.value) for mean in constant]))
    counts = np.bincount(taken, minlength=len(costs.actions))
    index = pd.Index(costs.actions, name="action")
    mean_square = (probability * costs.loss[taken] ** 2).sum(axis=1)
    return DecisionReport(
        constant=_constants(index, constant),
        best_constant=costs.actions.tolist()[best],
        saving=sample_mean(by_action[best] - realized),
        oracle=float(by_action.min(axis=0).mean()),
        share=pd.Series(counts / len(code), index=index, name="share"),
        coverage=coverage,
        **_common(decision, realized, mean_square),
    )


def _numeric_report(
    y_true: ArrayLike, y_pred: Any, loss: NumericLoss, reject: float | None, coverage: float
) -> DecisionReport:
    decision = decide(y_pred, loss, reject)
    outcomes = as_float(y_true)
    if outcomes.shape != decision.action.shape or outcomes.ndim != 1 or not len(outcomes):
        raise ValueError(
            "y_true must hold one outcome for each of at least one prediction; found shape "
            f"{outcomes.shape} for predictions of shape {decision.action.shape}. Pass the "
            "outcomes of the same rows, in the same order."
        )
    require("y_true", outcomes, np.isfinite, "finite", "Leave out rows without an outcome.")
    undecided = np.isnan(decision.action)
    realized = np.where(undecided, reject or 0.0, loss.loss(decision.action, outcomes))
    best = float(loss.action(Empirical(outcomes)))
    always = loss.loss(best, outcomes)
    return DecisionReport(
        constant=_constants(pd.Index([best], name="action"), [sample_mean(always)]),
        best_constant=best,
        saving=sample_mean(always - realized),
        oracle=float(loss.loss(outcomes, outcomes).mean()),
        share=pd.Series(np.zeros(0), index=pd.Index([], name="action"), name="share"),
        coverage=coverage,
        **_common(decision, realized, _mean_square(y_pred, loss, decision)),
    )


def _mean_square(predictive: Any, loss: NumericLoss, decision: Decision) -> Array:
    """Return the expected square of the loss in each row, or that of rejecting it."""
    undecided = np.isnan(decision.action)
    action = np.where(undecided, 0.0, decision.action)
    with np.errstate(over="ignore"):
        square = predictive.expectation(lambda y: loss.loss(action, y) ** 2)
    return np.where(undecided, decision.expected_loss**2, square)


def _common(decision: Decision, realized: Array, mean_square: Array) -> dict[str, Any]:
    expected, n = decision.expected_loss, len(realized)
    with np.errstate(invalid="ignore"):
        variance = np.maximum(mean_square - expected**2, 0.0)
    error = np.asarray(np.sqrt(variance.sum()) / n)
    return {
        "n_rows": n,
        "realized": sample_mean(realized),
        "promised": Estimate(np.asarray(expected.mean()), error),
        "surprise": Estimate(np.asarray((realized - expected).mean()), error),
    }


def _constants(index: pd.Index[Any], means: list[Estimate]) -> pd.DataFrame:
    columns = {
        "loss": [float(mean.value) for mean in means],
        "standard_error": [float(mean.standard_error) for mean in means],
    }
    return pd.DataFrame(columns, index=index)


def _codes(y: ArrayLike, costs: LossMatrix, probability: Array) -> NDArray[np.intp]:
    """Return the column of each outcome; an outcome without a column is refused."""
    outcomes = np.asarray(y).tolist()
    if np.ndim(y) != 1 or probability.ndim != 2 or len(outcomes) != len(probability):
        raise ValueError(
            "y_true must hold one class for each row of predictions; found shape "
            f"{np.shape(y)} for predictions of shape {probability.shape}. Pass the "
            "classes of the same rows."
        )
    if not outcomes:
        raise ValueError(
            "y_true must hold at least one row; found none. Pass rows with outcomes."
        )
    place = {label: j for j, label in enumerate(costs.labels.tolist())}
    unknown = sorted({str(label) for label in outcomes if label not in place})
    if unknown:
        raise ValueError(
            f"y_true must hold classes of the predictions, {quote(costs.labels[:8].tolist())}; "
            f"found {quote(unknown[:5])}. Leave out rows without a class, or predict every "
            "class."
        )
    return np.array([place[label] for label in outcomes], dtype=np.intp)


def _pair(estimate: Estimate) -> tuple[float, float]:
    return float(estimate.value), float(estimate.standard_error)


def _name(action: Any) -> str:
    return f"{action:.4g}" if isinstance(action, float) else repr(action)
