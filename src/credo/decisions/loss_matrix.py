"""What each action costs in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.distributions.parameter import require
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = ["LossMatrix", "name_array"]

# Probabilities of classifiers that count in single precision sum to one only so closely.
SUM_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class LossMatrix:
    """Loss of each action (row) in each class (column).

    There may be more actions than classes, such as "ask a human", or fewer.

    Attributes
    ----------
    loss
        Finite numbers, shape (n_actions, n_classes); only differences within a column matter
        for the choice, so that gains are negative losses.
    labels
        The classes, in the order of the columns.
    actions
        Names of the actions, in the order of the rows; the classes if not given.

    Examples
    --------
    >>> costs = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])
    >>> costs.conditional_risk([0.8, 0.2])
    array([2. , 0.8])
    """

    loss: Array
    labels: NDArray[Any]
    actions: NDArray[Any]

    def __init__(
        self,
        loss: ArrayLike,
        labels: Sequence[Any] | NDArray[Any],
        actions: Sequence[Any] | NDArray[Any] | None = None,
    ) -> None:
        classes = _distinct("labels", labels)
        costs = _costs(loss, len(classes), None if actions is None else len(actions))
        object.__setattr__(self, "loss", costs)
        object.__setattr__(self, "labels", classes)
        named = classes if actions is None else _distinct("actions", actions)
        object.__setattr__(self, "actions", named)

    @classmethod
    def zero_one(cls, labels: Sequence[Any] | NDArray[Any]) -> LossMatrix:
        """Return the loss under which every error costs one: the most probable class wins.

        Examples
        --------
        >>> LossMatrix.zero_one(["cat", "dog"]).conditional_risk([0.3, 0.7])
        array([0.7, 0.3])
        """
        return cls(1.0 - np.eye(len(labels)), labels)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, labels: Sequence[Any] | NDArray[Any] | None = None
    ) -> LossMatrix:
        """Return the losses of a table with one row per action and one column per class.

        Parameters
        ----------
        frame
            The index names the actions, the columns name the classes.
        labels
            The classes of a model. A table read from a file names them by text; a name that
            is the text of one of these stands for it.

        Examples
        --------
        >>> frame = pd.DataFrame({"0": [0, 1], "1": [5, 0]}, index=["0", "call"])
        >>> LossMatrix.from_frame(frame, labels=[0, 1]).labels
        array([0, 1])
        """
        try:
            values = frame.to_numpy(dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"a table of losses must hold numbers only; found {error}. Keep the names of "
                "the actions in the index, as pandas.read_csv(path, index_col=0) does."
            ) from error
        found = cls(values, frame.columns.tolist(), frame.index.tolist())
        return found if labels is None else found.named_as(labels)

    def to_frame(self) -> pd.DataFrame:
        """Return the losses as a table, one row per action, one column per class."""
        return pd.DataFrame(
            self.loss,
            index=pd.Index(self.actions, name="action"),
            columns=pd.Index(self.labels, name="class"),
        )

    def named_as(self, labels: Sequence[Any] | NDArray[Any]) -> LossMatrix:
        """Return the same losses where a name that is the text of a label is that label.

        Examples
        --------
        >>> LossMatrix.zero_one(["0", "1"]).named_as([0, 1]).labels
        array([0, 1])
        """
        known = {_text(label): label for label in _listed(labels)}
        columns, rows = (
            [known.get(_text(name), name) for name in names.tolist()]
            for names in (self.labels, self.actions)
        )
        return LossMatrix(self.loss, columns, rows)

    def with_action(self, name: Any, loss: ArrayLike) -> LossMatrix:
        """Return the losses with one more action, at one loss, or one for each class.

        Examples
        --------
        >>> costs = LossMatrix.zero_one(["well", "ill"]).with_action("test again", [0.2, 0.1])
        >>> costs.actions.tolist()
        ['well', 'ill', 'test again']
        """
        row = as_float(loss)
        if row.shape not in ((), self.labels.shape):
            raise ValueError(
                f"loss of an action must be one number, or one for each of "
                f"{len(self.labels)} classes; found shape {row.shape}. Give the losses in the "
                f"order of labels, {_brief(self.labels)}."
            )
        added = np.vstack([self.loss, np.broadcast_to(row, self.labels.shape)])
        return LossMatrix(added, self.labels, [*self.actions.tolist(), name])

    def with_reject(self, cost: float, name: Any = "reject") -> LossMatrix:
        """Return the losses with the action to leave undecided, at the same cost always."""
        return self.with_action(name, require("cost", cost, np.isfinite, "finite", "Pass it."))

    def aligned(self, labels: Sequence[Any] | NDArray[Any]) -> LossMatrix:
        """Return the same losses with columns in the order of ``labels``.

        Raises
        ------
        ValueError
            If the classes are not the same, with those that are missing and unknown.
        """
        own, wanted = self.labels.tolist(), _listed(labels)
        missing = [label for label in wanted if label not in own]
        unknown = [label for label in own if label not in wanted]
        if missing or unknown:
            raise ValueError(
                f"labels of the loss must be the classes of the predictions, "
                f"{_brief(wanted)}; found no loss for {_brief(missing)} and losses for the "
                f"unknown {_brief(unknown)}. Name every class once, by its value."
            )
        order = [own.index(label) for label in wanted]
        return LossMatrix(self.loss[:, order], self.labels[order], self.actions)

    def conditional_risk(self, probability: ArrayLike) -> Array:
        """Return the expected loss of each action, shape (*batch, n_actions).

        ``R(a | x) = sum_j loss[a, j] P(class j | x)``.

        Parameters
        ----------
        probability
            Class probabilities in the order of ``labels``, shape (*batch, n_classes).
        """
        return np.asarray(self.probabilities(probability) @ self.loss.T)

    def probabilities(self, probability: ArrayLike) -> Array:
        """Return class probabilities that sum to one, refusing what are none."""
        shares = as_float(probability)
        if shares.ndim == 0 or shares.shape[-1] != len(self.labels):
            raise ValueError(
                f"probability must have one column for each of {len(self.labels)} classes, "
                f"{_brief(self.labels)}; found shape {shares.shape}. Pass predict_proba(X)."
            )
        advice = "Pass probabilities, not scores or percentages."
        require("probability", shares, lambda p: (p >= 0) & (p <= 2), "in [0, 1]", advice)
        total = shares.sum(axis=-1)
        require(
            "the sum of the probabilities of a row",
            total,
            lambda t: np.abs(t - 1.0) <= SUM_TOLERANCE,
            "1",
            "Pass all classes, and divide by the sum if they are weights.",
        )
        return np.asarray(shares / total[..., None])


def name_array(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return names as an array that keeps numbers numbers, also beside text."""
    items = _listed(values)
    if len({isinstance(item, str) for item in items}) < 2:
        return np.asarray(items)
    mixed = np.empty(len(items), dtype=object)
    mixed[:] = items
    return mixed


def _listed(values: Sequence[Any] | NDArray[Any]) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _distinct(role: str, values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    names = name_array(values)
    items = names.tolist()
    twice = [item for i, item in enumerate(items) if item in items[:i]]
    if names.ndim != 1 or twice:
        found = f"{_brief(twice)} twice" if twice else f"shape {names.shape}"
        raise ValueError(
            f"{role} must be distinct names along one axis; found {found}. Name each once."
        )
    return names


def _costs(loss: ArrayLike, n_classes: int, n_actions: int | None) -> Array:
    costs = as_float(loss)
    wanted = (n_classes if n_actions is None else n_actions, n_classes)
    if costs.shape != wanted:
        raise ValueError(
            f"loss must have one row for each of {wanted[0]} actions and one column for each "
            f"of {n_classes} classes; found shape {costs.shape}. Name actions other than the "
            "classes by LossMatrix(loss, labels, actions)."
        )
    if wanted[0] < 2 or n_classes < 2:
        raise ValueError(
            f"a decision needs at least 2 actions and 2 classes; found {wanted[0]} and "
            f"{n_classes}. Add the alternatives."
        )
    return require("loss", costs, np.isfinite, "finite", "Pass a large loss, not infinity.")


def _text(name: Any) -> str:
    is_whole = isinstance(name, float) and name.is_integer()
    return str(int(name)) if is_whole else str(name)


def _brief(names: Sequence[Any] | NDArray[Any]) -> str:
    listed = _listed(names)
    return quote(listed) if len(listed) <= 8 else f"{quote(listed[:8])[:-1]}, ...]"
