"""scikit-learn estimators that take data frames with text, categories, dates and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from credo import study
from credo.data.table.preparation import PreparedTable, TablePreparation, TableSchema
from credo.data.table.table import Table, as_table
from credo.data.table.table_input import TableInput
from credo.data.table.target import FEW_VALUES
from credo.distributions.categorical import Categorical
from credo.models.contract.classifier import PredictiveClassifier
from credo.models.contract.inputs import (
    class_labels,
    require_distinct_names,
    require_moderate,
    single_column,
    validated,
)
from credo.models.contract.regressor import PredictiveRegressor
from credo.numerics.array import unmasked
from credo.numerics.quotation import quote
from credo.study.result.result import FitSettings, names_given
from credo.study.result.table_model import (
    TableClassification,
    TableModel,
    TableRegression,
    relabeled,
)

__all__ = ["TableClassifier", "TableRegressor"]


class TableRegressor(PredictiveRegressor):
    """Regressions of a table, averaged by their evidence, from a constant to curved surfaces.

    Columns of numbers, text, categories and dates are coded, gaps are averaged over, and
    columns that can say nothing are left out; ``model_.preparation.notes`` tells which. This
    is the estimator inside a study of ``credo.fit``, which judges it on held-out rows too.

    Parameters
    ----------
    coverage
        Probability of the intervals in the frames of ``model_.predict``.
    models
        Names of the candidates, such as ("linear", "spline"), besides the constant; all that
        suit the table if None.
    ignore
        Columns of data frames that are not used, at fitting or predicting; frames without
        them are fine too.
    fast
        Whether to leave out candidates that take seconds: Gaussian processes, support vectors.

    Attributes
    ----------
    model_
        The candidates, and the rules from table to numbers.

    Examples
    --------
    >>> frame = pd.DataFrame({"dose": [1.0, 2.0, None, 4.0] * 5, "site": list("aabb") * 5})
    >>> y = np.array([1.0, 2.0, 5.0, 6.0] * 5) + np.tile([0.1, -0.1], 10)
    >>> TableRegressor().fit(frame, y).predict(frame[:2]).round(1)
    array([1.1, 1.9])
    """

    model_: TableRegression

    def __init__(
        self,
        coverage: float = 0.9,
        models: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        fast: bool = False,
    ):
        self.coverage = coverage
        self.models = models
        self.ignore = ignore
        self.fast = fast

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from the rows of a data frame or an array, and their numbers.

        Parameters
        ----------
        X
            Columns of numbers, text, categories or dates, with gaps or without.
        y
            A number for each row, shape (n,).
        """
        settings = FitSettings(
            coverage=self.coverage, models=_names(self.models), fast=self.fast
        )
        rows = _checked_rows(self, X, is_first=True)
        outcome = check_array(
            _outcome(self, y, rows.table), dtype=np.float64, ensure_2d=False, input_name="y"
        )
        require_moderate("y", outcome)
        preparation, prepared = rows.learned(outcome)
        self.model_ = study.REGRESSION.learn(preparation, prepared, outcome, settings)
        return self

    def predict_dist(self, X: Any) -> Any:
        """Return the mixture of the candidates that count, averaged over gaps, by row."""
        check_is_fitted(self)
        return self.model_.predict_dist(_prepared(self, X, self.model_))

    def with_model(self, model: TableRegression) -> Self:
        """Return the estimator, fitted as a model that a study has made."""
        _hold(self, model)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: gaps and text may be in the inputs."""
        return _table_tags(super().__sklearn_tags__())


class TableClassifier(PredictiveClassifier):
    """Classifiers of a table, mixed by the weights that cross-validation finds best.

    Columns of numbers, text, categories and dates are coded, gaps are averaged over, and
    columns that can say nothing are left out; ``model_.preparation.notes`` tells which. This
    is the estimator inside a study of ``credo.fit``, which judges it on held-out rows too.

    Parameters
    ----------
    n_folds
        Folds of the cross-validation; fewer if the rarest class has fewer rows.
    random_state
        Seed of the folds.
    models
        Names of the candidates, such as ("linear", "boosting"), besides the baseline; all
        that suit the table if None.
    ignore
        Columns of data frames that are not used, at fitting or predicting; frames without
        them are fine too.

    Attributes
    ----------
    model_
        The classifiers, and the rules from table to numbers; its classes are text.

    Examples
    --------
    >>> frame = pd.DataFrame({"dose": [1.0, 2.0, None, 4.0] * 5, "site": list("aabb") * 5})
    >>> model = TableClassifier().fit(frame, [0, 0, 1, 1] * 5)
    >>> model.predict(frame[:3])
    array([0, 0, 1])
    """

    model_: TableClassification

    def __init__(
        self,
        n_folds: int = 10,
        random_state: int = 0,
        models: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
    ):
        self.n_folds = n_folds
        self.random_state = random_state
        self.models = models
        self.ignore = ignore

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from the rows of a data frame or an array, and their classes.

        Parameters
        ----------
        X
            Columns of numbers, text, categories or dates, with gaps or without.
        y
            A class for each row, shape (n,); at least two rows of each.
        """
        settings = FitSettings(
            n_folds=self.n_folds, seed=self.random_state, models=_names(self.models)
        )
        rows = _checked_rows(self, X, is_first=True)
        labels, codes = class_labels(_outcome(self, y, rows.table))
        _require_two_of_each(labels, codes)
        text = _as_text(labels)
        preparation, prepared = rows.learned(text[codes])
        self.model_ = study.CLASSIFICATION.learn(preparation, prepared, text[codes], settings)
        self.classes_ = labels
        return self

    def predict_dist(self, X: Any) -> Categorical:
        """Return the mixture of the classifiers, averaged over gaps, by row."""
        check_is_fitted(self)
        found = self.model_.predict_dist(_prepared(self, X, self.model_))
        return relabeled(found, self.classes_, _as_text(self.classes_).tolist())

    def with_model(self, model: TableClassification) -> Self:
        """Return the estimator, fitted as a model that a study has made."""
        self.classes_ = model.classes_
        _hold(self, model)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of scikit-learn: gaps and text may be in the inputs."""
        return _table_tags(super().__sklearn_tags__())


def _names(models: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if models is None else names_given(models)


class _CheckedRows(NamedTuple):
    """Rows as a table, and the columns to use whatever they look like."""

    table: Table
    kept: tuple[str, ...]

    @classmethod
    def named(cls, frame: pd.DataFrame, names: Any, text: Sequence[str]) -> Self:
        """Return a frame whose columns get names, by their places if there are none."""
        kept = [f"x{i}" for i in range(frame.shape[1])] if names is None else map(str, names)
        renamed = frame.set_axis(list(kept), axis=1)
        return cls(as_table(renamed, "X", text), tuple(renamed.columns))

    def learned(self, y: NDArray[Any]) -> tuple[TablePreparation, PreparedTable]:
        """Return the rules that the rows give, and their design matrix."""
        schema = TableSchema.of(self.table, keep=self.kept)
        preparation = TablePreparation.learn(self.table, schema=schema, y=y)
        return preparation, preparation.prepare(self.table)


def _checked_rows(estimator: Any, X: Any, is_first: bool) -> _CheckedRows:
    """Return inputs as a table, after scikit-learn's checks of names, shape and type.

    Columns without names of text are known by their places, and none of them is taken for
    a number of rows.
    """
    is_frame = nw.dependencies.is_into_dataframe(X)
    if hasattr(X, "collect") and not is_frame:
        return _CheckedRows(as_table(X, "X"), ())
    if not is_frame:
        values = validated(
            estimator,
            X,
            reset=is_first,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if is_first else 1,
        )
        frame = pd.DataFrame(values)
        names = getattr(estimator, "feature_names_in_", None)
        return _CheckedRows.named(frame, names, ())
    known = getattr(estimator, "feature_names_in_", None)
    used = _used_columns(X, names_given(estimator.ignore))
    shown = used if is_first or known is None else _known_columns(used, known)
    require_distinct_names(shown)
    validate_data(estimator, shown, reset=is_first, skip_check_array=True)
    text = () if is_first else estimator.model_.preparation.text_columns
    if hasattr(estimator, "feature_names_in_"):
        return _CheckedRows(as_table(shown, "X", text), ())
    frame = nw.from_native(shown, eager_only=True).to_pandas()
    return _CheckedRows.named(frame, None, text)


def _used_columns(X: Any, ignored: Sequence[str]) -> Any:
    """Return a frame without the columns that are to be ignored."""
    if not ignored:
        return X
    frame = nw.from_native(X, eager_only=True)
    return frame.drop([name for name in frame.columns if str(name) in ignored]).to_native()


def _known_columns(X: Any, names: Any) -> Any:
    """Return a frame without columns that fitting did not see, if it has all that it saw."""
    frame = nw.from_native(X, eager_only=True)
    known = set(map(str, names))
    kept = [name for name in frame.columns if name in known]
    has_more = len(kept) == len(known) < len(frame.columns)
    return frame.select(kept).to_native() if has_more else X


def _prepared(estimator: Any, X: Any, model: TableModel) -> PreparedTable:
    table = _checked_rows(estimator, X, is_first=False).table
    return TableInput.of(table, model.preparation, model.training_range).prepared


def _outcome(estimator: Any, y: ArrayLike, table: Table) -> Any:
    """Return one outcome for each row."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            "Pass an outcome for each row."
        )
    outcome = single_column(estimator, np.asarray(unmasked(y)))
    check_consistent_length(table.frame, outcome)
    return check_array(outcome, dtype=None, ensure_2d=False, input_name="y")


def _require_two_of_each(labels: NDArray[Any], codes: NDArray[np.intp]) -> None:
    counts = np.bincount(codes, minlength=len(labels))
    if counts.min() < 2:
        advice = "Add rows, or leave that class out"
        if labels.dtype.kind in "iuf" and len(labels) > FEW_VALUES:
            advice = (
                f"With {len(labels):,} different values y looks like a number: use "
                "TableRegressor to predict it"
            )
        raise ValueError(
            "y must have at least 2 rows of each class, to learn from one without the other; "
            f"found 1 of {quote(labels[counts.argmin()].item())}. {advice}."
        )


def _as_text(labels: NDArray[Any]) -> NDArray[np.str_]:
    text = np.array([str(label) for label in labels])
    if len(np.unique(text)) < len(text):
        raise ValueError(
            "classes must differ when written as text; found two that do not. Rename one."
        )
    return text


def _hold(estimator: Any, model: TableModel) -> None:
    estimator.model_ = model
    estimator.feature_names_in_ = np.array(model.preparation.inputs, dtype=object)
    estimator.n_features_in_ = len(model.preparation.inputs)


def _table_tags(tags: Tags) -> Tags:
    tags.input_tags.allow_nan = True
    return tags
