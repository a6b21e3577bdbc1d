"""What a study has found, as values that the terminal and the report both read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from credo.data.table.target import Task, require_task
from credo.decisions.loss_matrix import LossMatrix
from credo.distributions.distribution import Distribution
from credo.distributions.estimate import Estimate
from credo.study.partial_dependence import Profile
from credo.study.result.data_summary import DataSummary
from credo.study.result.held_out import HeldOut
from credo.study.result.table_model import Remark, TableModel

__all__ = ["FitSettings", "Judged", "names_given"]


@dataclass(frozen=True)
class FitSettings:
    """How the main job is done.

    Parameters
    ----------
    test_share
        Part of the rows that is held out of training.
    seed
        Of the random choice of test rows and folds.
    coverage
        Probability of the intervals.
    n_folds
        Folds of the cross-validation within the training rows.
    task
        Whether the target is predicted as classes or as a number; "auto" decides by what it
        holds.
    loss
        What each action costs in each class, for a target of classes; a `LossMatrix`, or a
        file of it.
    reject
        What it costs to leave a row undecided; every error costs one if there is no file.
    ignore
        Columns that are not used.
    models
        Names of the candidates, besides the simplest; all that suit the table if None.
    fast
        Whether to leave out candidates that take seconds: Gaussian processes, support and
        relevance vectors.

    Examples
    --------
    >>> FitSettings(coverage=90)
    Traceback (most recent call last):
    ValueError: coverage must be above 0 and below 1; found 90; pass a share such as 0.9.
    """

    test_share: float = 0.2
    seed: int = 0
    coverage: float = 0.9
    n_folds: int = 10
    task: Task = "auto"
    loss: LossMatrix | Path | None = None
    reject: float | None = None
    ignore: tuple[str, ...] = ()
    models: tuple[str, ...] | None = None
    fast: bool = False

    def __post_init__(self) -> None:
        for name, example in (("test_share", 0.2), ("coverage", 0.9)):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise ValueError(
                    f"{name} must be above 0 and below 1; found {value:g}; pass a share such "
                    f"as {example}."
                )
        require_task(self.task)
        if self.seed < 0:
            raise ValueError(f"seed must not be negative; found {self.seed}; pass 0 or more.")
        if self.reject is not None and not 0 < self.reject < float("inf"):
            raise ValueError(
                f"reject must be positive and finite; found {self.reject:g}; pass the cost of "
                "leaving a row undecided."
            )

    @property
    def has_decisions(self) -> bool:
        """Whether actions are to be chosen, and judged."""
        return self.loss is not None or self.reject is not None


P = TypeVar("P", bound=Distribution)


def names_given(names: str | int | Sequence[str | int]) -> tuple[str, ...]:
    """Return names of columns or models, of which one may be given by itself."""
    return (str(names),) if isinstance(names, str | int) else tuple(map(str, names))


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged(ABC, Generic[P]):
    """Candidates for a target, mixed, and judged on rows that they have not seen.

    Attributes
    ----------
    settings, data
        How it was done, and on what.
    training
        The candidates fitted to the training rows, and their mixture: a `ModelAverage` by
        evidence, or a `Stack` by cross-validation.
    scores
        One for each candidate, simplest first, and then the mixture.
    columns_gain
        Mean cross-validated log score of the mixture above that of the simplest candidate,
        which uses no column.
    held_out
        The test rows.
    profiles
        How the prediction moves with the columns that move it most.
    slate_notes
        A sentence for each candidate that was left out, and on the folds.
    remarks
        What to believe of it and what not to: the answer first, cautions last.
    model
        The same candidates fitted to all rows, for use on new ones; None before that.
    """

    settings: FitSettings
    data: DataSummary
    training: Any
    scores: tuple[Any, ...]
    columns_gain: Estimate
    held_out: HeldOut[P]
    profiles: tuple[Profile, ...]
    slate_notes: tuple[str, ...]
    remarks: tuple[Remark, ...] = ()
    model: TableModel | None = None

    @property
    @abstractmethod
    def winner(self) -> Any:
        """The scores of the best single candidate."""

    @property
    @abstractmethod
    def n_folds(self) -> int:
        """Number of folds that the training rows allowed."""

    @property
    def candidates(self) -> tuple[Any, ...]:
        """The scores of the candidates."""
        return self.scores[:-1]

    @property
    def mixture(self) -> Any:
        """The scores of the mixture of all candidates."""
        return self.scores[-1]

    @property
    def simplest(self) -> Any:
        """The scores of the candidate that uses no column."""
        return self.scores[0]
