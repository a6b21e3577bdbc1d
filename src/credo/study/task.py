"""What differs between a target of numbers and one of classes: two `Task` values.

The job, the comparison and the pages ask a task for its candidates, how these learn and are
mixed, how they are judged, and which remarks follow; all else is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from numpy.random import Generator
from numpy.typing import NDArray

from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table import Table
from credo.data.table.target import Target
from credo.distributions.estimate import Estimate
from credo.models.gaps.gap_average import FoldCompletion, GapAverage
from credo.models.gaps.row_completion import Completion, NoGaps, RowCompletion
from credo.numerics.array import Array
from credo.study.candidates.slate import Slate
from credo.study.progress import Progress
from credo.study.result.held_out import Split
from credo.study.result.result import FitSettings, Judged
from credo.study.result.table_model import Remark, TableModel

__all__ = ["StudyRows", "Task", "TaskName", "Trained"]

TaskName = Literal["classification", "regression"]


@dataclass(frozen=True, eq=False)
class StudyRows:
    """The rows of a table, split and ready for the candidates.

    Attributes
    ----------
    table, target, settings
        What is studied, and how.
    split
        Training and test rows.
    completion, complete
        What may be in the gaps of rows, and the training rows with one guess in each gap.
    fold_rng
        Draws the folds.
    """

    table: Table
    target: Target
    settings: FitSettings
    split: Split
    completion: RowCompletion | NoGaps
    complete: Array
    fold_rng: Generator


class Trained(NamedTuple):
    """Candidates fitted to the training rows and mixed.

    Attributes
    ----------
    mixture
        The candidates and their weights; has ``predict_dist``.
    completion
        What may be in the gaps of rows to predict.
    folds
        What each candidate said in the cross-validation, where the mixture does not keep it.
    notes
        Sentences on the folds and the fits.
    dropped_notes
        Sentences on the candidates that were cross-validated in some folds only.
    """

    mixture: Any
    completion: Completion
    folds: tuple[Any, ...]
    notes: tuple[str, ...]
    dropped_notes: tuple[str, ...]


class Task(Protocol):
    """Prediction of a number, or of a class."""

    @property
    def name(self) -> TaskName:
        """What is done."""

    @property
    def doubt(self) -> str:
        """What states the doubt of a prediction: "interval", or "probabilities"."""

    def n_threaded(self, n_rows: int) -> int:
        """Return the work in one matrix product that threads may share, see `threads_for`."""

    def checked(self, target: Target, settings: FitSettings, source: str) -> FitSettings:
        """Return the settings with what their files hold, or raise a `TableError`."""

    def slate(
        self, X: Array, y: NDArray[Any], preparation: TablePreparation, is_fast: bool = False
    ) -> Slate:
        """Return the candidates for rows without gaps; if fast, only those that are quick."""

    def over_gaps(self, model: Any, completion: Completion | FoldCompletion) -> GapAverage:
        """Return a candidate that takes rows with gaps."""

    def train(self, slate: Slate, rows: StudyRows, progress: Progress) -> Trained:
        """Return the candidates fitted to the training rows, and mixed."""

    def answers(self, trained: Trained, X: Any) -> Sequence[Any]:
        """Return what each candidate says of rows, and then what the mixture says."""

    def scores(
        self, trained: Trained, answers: Sequence[Any], y: NDArray[Any], coverage: float
    ) -> tuple[Any, ...]:
        """Return the scores of each candidate, and then of the mixture."""

    def columns_gain(self, trained: Trained) -> Estimate:
        """Return the cross-validated log score above that of the simplest candidate."""

    def judged(self, trained: Trained, rows: StudyRows, common: dict[str, Any]) -> Judged[Any]:
        """Return what was judged; ``common`` holds the fields that all tasks share."""

    def finish(
        self, judge: Callable[[], Judged[Any]], refit: Callable[[], TableModel]
    ) -> tuple[Judged[Any], TableModel]:
        """Return what both pieces of work give, done in turn or side by side."""

    def refit(self, trained: Trained, rows: StudyRows) -> TableModel:
        """Return the same candidates and rules, learned from all rows; not yet scored."""

    def learn(
        self,
        preparation: TablePreparation,
        prepared: PreparedTable,
        y: NDArray[Any],
        settings: FitSettings,
    ) -> Any:
        """Return candidates that have learned from all rows, and were not judged."""

    def remarks(self, judged: Any) -> tuple[Remark, ...]:
        """Return all sentences on what was judged, the answer first and cautions last."""
