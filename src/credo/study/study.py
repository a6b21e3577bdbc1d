"""The front door for tables: ``credo.fit`` returns a `Study`, and ``credo.load`` opens one.

A `TableScore` says how good its predictions are, once targets are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo import study
from credo.data.error import DataError, ModelFileError, TableError
from credo.data.model_file.model_file import save
from credo.data.output import atomic_file, require_writable
from credo.data.table.column_name import quoted
from credo.data.table.target import Task, known_outcomes
from credo.decisions.decision import Decision
from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.numerics.array import Array
from credo.numerics.form import LATER
from credo.study.progress import Progress, silent
from credo.study.result.result import FitSettings, Judged, names_given
from credo.study.result.table_model import (
    Remark,
    TableClassification,
    TableModel,
    TableRegression,
)
from credo.study.result.wording import count, number, percent, plus_minus
from credo.validation.mixture_score import mean_score
from credo.validation.scores import is_covered, squared_error

__all__ = ["Study", "TableScore", "fit"]


def fit(
    data: Any,
    target: str | int,
    *,
    task: Task = "auto",
    ignore: Sequence[str] = (),
    models: Sequence[str] | None = None,
    fast: bool = False,
    test_share: float = 0.2,
    coverage: float = 0.9,
    n_folds: int = 10,
    loss: LossMatrix | str | PathLike[str] | None = None,
    reject: float | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Study:
    """Return a study of a table: models for one of its columns, judged on rows held out.

    Columns of numbers, text, categories, dates and gaps are taken as they are. Some rows are
    held out; candidates from a constant to curved surfaces learn from the others, are mixed,
    and judged on the held-out rows. For new rows all of them learn from all rows.

    Parameters
    ----------
    data
        A data frame (pandas, polars or any that narwhals reads), or the path of a CSV or
        Parquet file.
    target
        Name of the column to predict; rows where it is missing are left out.
    task
        "regression" or "classification"; "auto" decides by what the target holds.
    ignore
        Columns that are not used.
    models
        Names of the candidates, such as ("linear", "spline"), besides the simplest; all that
        suit the table if None.
    fast
        Whether to leave out candidates that take seconds: Gaussian processes, support vectors.
    test_share
        Part of the rows that is held out.
    coverage
        Probability of the intervals.
    n_folds
        Folds of the cross-validation within the rows that are learned from.
    loss
        What each action costs in each class, for a target of classes; or a file of it.
    reject
        What it costs to leave a row undecided.
    seed
        Of the random choice of test rows and folds.
    progress
        Called with the share of the work that is done, and what comes next.

    Raises
    ------
    TableError
        If the table or the target cannot be learned from, before any work.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"dose": rng.uniform(0, 9, 80), "site": ["a", "b"] * 40})
    >>> frame["effect"] = 2 * frame["dose"] + 3 * (frame["site"] == "b") + rng.normal(size=80)
    >>> study = fit(frame, target="effect")
    >>> study
    Study(predicts the number 'effect' from 'dose', 'site'; learned from 80 rows)
    >>> study.predict(pd.DataFrame({"dose": [1.0, 4.0], "site": ["a", None]})).round()
    array([ 2., 10.])
    """
    losses = loss if loss is None or isinstance(loss, LossMatrix) else Path(fspath(loss))
    settings = FitSettings(
        test_share=test_share,
        seed=seed,
        coverage=coverage,
        n_folds=n_folds,
        fast=fast,
        task=task,
        loss=losses,
        reject=reject,
        ignore=names_given(ignore),
        models=None if models is None else names_given(models),
    )
    return Study.of(study.fit_table(data, target, settings, progress))


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """A table that was studied: a model for new rows, and how good it is on rows held out.

    Attributes
    ----------
    model
        The candidates fitted to all rows, and the rules from table to numbers.
    fingerprint
        SHA-256 of the table.
    judged
        All that was measured on the held-out rows; None in a study opened from a file, which
        keeps the scores and the remarks.
    models, n_folds, seed, ignore
        What `fit` was asked for, which the estimator inside has as settings.
    """

    model: TableModel
    fingerprint: str
    judged: Judged[Any] | None = None
    models: tuple[str, ...] | None = field(default=None, metadata=LATER)
    n_folds: int = field(default=FitSettings.n_folds, metadata=LATER)
    seed: int = field(default=FitSettings.seed, metadata=LATER)
    ignore: tuple[str, ...] = field(default=(), metadata=LATER)

    @classmethod
    def of(cls, judged: Judged[Any]) -> Study:
        """Return the study whose candidates were judged, and fitted to all rows."""
        assert judged.model is not None
        asked = judged.settings
        fingerprint = judged.data.fingerprint
        settings = (asked.models, asked.n_folds, asked.seed, asked.ignore)
        return cls(judged.model, fingerprint, judged, *settings)

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.model.target

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that predictions need."""
        return self.model.preparation.inputs

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of their probabilities; a number has none.

        They have the type of the column that was learned from: truth values, numbers or text.
        """
        return self._classification("classes").classes_

    @cached_property
    def estimator(self) -> Any:
        """The scikit-learn estimator inside, a `TableRegressor` or `TableClassifier`.

        Its settings are those of the study, so that a clone learns in the same way; it takes
        every column that it is given but those to be ignored, and no target.
        """
        if isinstance(self.model, TableRegression):
            regressor = study.TableRegressor(self.model.coverage, self.models, self.ignore)
            return regressor.with_model(self.model)
        assert isinstance(self.model, TableClassification)
        settings = (self.n_folds, self.seed, self.models, self.ignore)
        classifier = study.TableClassifier(*settings)
        return classifier.with_model(self.model)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Plain sentences: the answer, facts, and cautions on what not to believe."""
        return self.model.remarks

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the predictive mean of each row, or its most probable class.

        Parameters
        ----------
        rows
            A data frame or a file with the input columns, in any order; other columns are
            ignored, and gaps are averaged over.
        """
        return self.model.point(self.model.predict_dist(rows))

    def predict_dist(self, rows: Any) -> Distribution:
        """Return what is predicted of each row: a `Predictive`, or a `Categorical` of classes.

        Numbers have mean, median, intervals, and noise and doubt as parts of their spread.
        """
        return self.model.predict_dist(rows)

    def predict_proba(self, rows: Any) -> Array:
        """Return the probability of each class, shape (n_rows, n_classes)."""
        return self._classification("predict_proba").predict_proba(rows)

    def decide(self, rows: Any, loss: Any = None, reject: float | None = None) -> Decision:
        """Return the action of least expected loss for each row, of a target of classes.

        Parameters
        ----------
        rows
            As of `predict`.
        loss
            A `LossMatrix`, or an array with the loss of each action (row) for each class
            (column) in the order of `classes_`. If None every error costs 1.
        reject
            What it costs to leave a row undecided; never rejected if None.
        """
        return self._classification("decide").decide(rows, loss, reject)

    def predict_frame(
        self, rows: Any, coverage: float | None = None, loss: LossMatrix | None = None
    ) -> pd.DataFrame:
        """Return predictions as a data frame, after the columns that number the rows.

        Numbers have mean, standard deviation and interval; classes have the likeliest and the
        probability of each. ``frame.attrs["notes"]`` holds sentences on gaps, new levels and
        rows outside the training range.

        Parameters
        ----------
        rows
            As of `predict`.
        coverage
            Probability of the intervals of numbers; that of `fit` if not given.
        loss
            What each action costs in each class; adds the action of least expected loss.
        """
        if isinstance(self.model, TableRegression):
            if loss is not None:
                raise TableError(
                    f"`loss` needs a target of classes; found that {self.target!r} is a "
                    "number; leave it out."
                )
            prediction = self.model.predict(rows, coverage)
        else:
            if coverage is not None:
                raise TableError(
                    "`coverage` needs a target of numbers, which has intervals; found that "
                    f"{self.target!r} has classes; leave it out."
                )
            prediction = self._classification("loss").predict(rows, loss)
        prediction.frame.attrs["notes"] = list(prediction.notes)
        return prediction.frame

    def score(self, rows: Any) -> TableScore:
        """Return how good the predictions of rows are whose target is known.

        Of the table that was learned from they are no test, and ``is_training`` says so.

        Parameters
        ----------
        rows
            As of `predict`, with the target as a column; rows without it are left out.
        """
        table = self.model.preparation.read(rows)
        names = self.model.class_names if isinstance(self.model, TableClassification) else None
        target = known_outcomes(table, self.target, names)
        if not len(target.y):
            raise TableError(
                f"target {self.target!r} of {table.name} must be known in at least one row to "
                "score by; found none; add it."
            )
        if names is not None and not np.isin(target.y, names).any():
            raise TableError(
                f"target {self.target!r} of {table.name} must have classes that the model "
                f"knows, {quoted(names)}; found {quoted(np.unique(target.y), 3)}; "
                "write them as in training."
            )
        predictive = self.model.predict_dist(table.rows(target.rows))
        if isinstance(predictive, Categorical):
            predictive = Categorical(predictive.probability, labels=names)
        score = TableScore.of(predictive, target.y, getattr(self.model, "coverage", 0.9))
        return replace(score, is_training=table.fingerprint() == self.fingerprint)

    def table(self) -> pd.DataFrame:
        """Return the scores of all candidates and of their mixture, which predicts."""
        return pd.DataFrame([asdict(score) for score in self.model.scores]).set_index("name")

    def report(self, path: str | PathLike[str]) -> None:
        """Write the report: one HTML file that says what was found and how far to trust it.

        Parameters
        ----------
        path
            Where to; written whole or not at all.
        """
        if self.judged is None:
            raise DataError(
                "a report needs the rows that were held out; found a study opened from a file, "
                "which keeps the model and its scores; fit again, or keep the report that was "
                "written with the model."
            )
        place = Path(fspath(path))
        require_writable(place)
        page = study.report_page(self.judged)
        with atomic_file(place) as file:
            file.write(page.encode())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model and its scores to a file that ``credo.load`` opens.

        The rows themselves are not in it, nor what is needed for a report.
        """
        save(replace(self, judged=None), path, self.fingerprint)

    def require_usable(self) -> None:
        """Raise an error unless rows can be predicted; `load` calls this on what it read.

        Settings must be such that the estimator inside can learn again.
        """
        if self.n_folds < 2 or self.seed < 0:
            raise ModelFileError(
                "must have at least 2 folds, and a seed that is not negative; found "
                f"n_folds={self.n_folds} and seed={self.seed}"
            )
        self.model.require_usable()

    def __repr__(self) -> str:
        what = "the number"
        if isinstance(self.model, TableClassification):
            what = f"one of {len(self.model.classes_)} classes of"
        shown = ", ".join(map(repr, self.inputs[:4])) + ", ..." * (len(self.inputs) > 4)
        return (
            f"Study(predicts {what} {self.target!r} from {shown}; learned from "
            f"{self.model.n_rows:,} rows)"
        )

    def _repr_html_(self) -> str:
        remarks = "".join(f"<li>{escape(remark.text)}</li>" for remark in self.remarks)
        scores = self.table().to_html(float_format=lambda value: f"{value:.4g}")
        return f"<p>{escape(repr(self))}</p>{scores}<ul>{remarks}</ul>"

    def _classification(self, asked: str) -> TableClassification:
        if not isinstance(self.model, TableClassification):
            raise TableError(
                f"`{asked}` needs a target of classes; found that {self.target!r} is a number; "
                "use predict_dist, whose intervals and quantiles say how sure it is."
            )
        return self.model


@dataclass(frozen=True, repr=False)
class TableScore:
    """Scores of predictions of rows, as plain numbers; those that do not apply are NaN.

    Attributes
    ----------
    n_rows
        Rows whose target is known.
    log_score, log_score_error
        Mean log density or probability of what came true, and its standard error.
    rmse, r_squared
        Root mean squared error, and share of the variance explained, of numbers.
    coverage, level
        Share of rows inside their interval, of numbers, and the probability that it has.
    accuracy
        Share of rows whose most probable class came true.
    is_training
        Whether they are the rows that were learned from, whose predictions are no test.
    """

    n_rows: int
    log_score: float
    log_score_error: float
    rmse: float = np.nan
    r_squared: float = np.nan
    coverage: float = np.nan
    level: float = np.nan
    accuracy: float = np.nan
    is_training: bool = False

    def __repr__(self) -> str:
        known = ((name, value) for name, value in asdict(self).items() if not np.isnan(value))
        return f"TableScore({', '.join(f'{name}={value!r}' for name, value in known)})"

    def sentence(self, target: str) -> str:
        """Return the scores of predictions of a column in one sentence."""
        rows = f"On {count(self.n_rows, 'row')} whose {target!r} is known, predictions "
        log_score = "some rows came out as what was given no probability"
        if np.isfinite(self.log_score):
            log_score = (
                f"log score per row {plus_minus(self.log_score, self.log_score_error, 3)}"
            )
        training = (
            " These are the rows that the model learned from: new rows may come out worse, as "
            "the scores on held-out rows tell."
        ) * self.is_training
        if np.isnan(self.rmse):
            return f"{rows}are wrong for {percent(1 - self.accuracy)}; {log_score}.{training}"
        return (
            f"{rows}are off by {number(self.rmse)} (RMSE), and {percent(self.coverage)} of the "
            f"rows are inside their interval of {percent(self.level)}; {log_score}.{training}"
        )

    @classmethod
    def of(cls, predictive: Any, y: NDArray[Any], coverage: float) -> TableScore:
        """Return the scores of predictions of ``y``; ``coverage`` is that of the intervals.

        Examples
        --------
        >>> predictive = Categorical([[0.8, 0.2], [0.8, 0.2]], labels=["a", "b"])
        >>> score = TableScore.of(predictive, np.array(["a", "a"]), 0.9)
        >>> score.accuracy, round(score.log_score, 3)
        (1.0, -0.223)
        """
        mean = mean_score(predictive.log_prob(y))
        common = (len(y), float(mean.value), float(mean.standard_error))
        if isinstance(predictive, Categorical):
            return cls(*common, accuracy=float(np.mean(predictive.mode() == y)))
        squared = float(squared_error(y, predictive).mean())
        return cls(
            *common,
            rmse=float(np.sqrt(squared)),
            r_squared=1 - squared / float(y.var()) if np.ptp(y) > 0 else np.nan,
            coverage=float(is_covered(y, predictive, coverage).mean()),
            level=coverage,
        )
