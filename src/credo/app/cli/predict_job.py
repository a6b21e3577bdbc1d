"""The command ``credo predict``: open a model, and say what it makes of each row."""

from __future__ import annotations

from pathlib import Path

from credo.app.console.console import print_notes, print_places, progress_bar, stderr
from credo.app.console.csv_place import CsvPlace
from credo.data.error import ModelFileError, TableError
from credo.data.model_file.model_file import load
from credo.data.table.loss_file import read_losses
from credo.data.table.table import Table
from credo.data.table.table_input import TablePrediction
from credo.study.result.table_model import TableClassification, TableModel, TableRegression
from credo.study.study import Study

__all__ = ["predict"]

N_DIGITS = 8


def predict(
    model: Path,
    table: Path,
    place: CsvPlace,
    coverage: float | None,
    losses: Path | None = None,
) -> None:
    """Write the predictions of a table as CSV, to a file or to standard output."""
    place.require_free(table, model)
    console = stderr()
    with progress_bar(console) as advance:
        advance(0.0, "opening the model")
        study = _loaded(model)
        advance(0.2, "predicting")
        rows = study.model.preparation.read(table)
        prediction = _predicted(study.model, model.name, rows, coverage, losses)
        score = _score_note(study, rows)
    place.write(prediction.frame, N_DIGITS)
    print_notes(console, [*prediction.notes, *score])
    if place.path is not None:
        print_places(console, {"predictions": place.path})


def _predicted(
    model: TableModel, name: str, table: Table, coverage: float | None, losses: Path | None
) -> TablePrediction:
    """Return the predictions of a model, with what concerns its kind of target."""
    if isinstance(model, TableClassification):
        if coverage is not None:
            raise ModelFileError(
                f"`coverage` needs a model of numbers, which has intervals; found that "
                f"{name} predicts classes; leave it out."
            )
        loss = None if losses is None else read_losses(losses, model.class_names)
        return model.predict(table, loss)
    if losses is not None:
        raise ModelFileError(
            f"`decide` needs a model of classes; found that {name} predicts the number "
            f"{model.target!r}; leave it out."
        )
    assert isinstance(model, TableRegression)
    return model.predict(table, coverage)


def _score_note(study: Study, rows: Table) -> tuple[str, ...]:
    """Return how good the predictions are, if the table has the target and it can be read."""
    if study.target not in rows.columns or not rows.frame[study.target].notna().any():
        return ()
    try:
        return (study.score(rows).sentence(study.target),)
    except TableError as error:
        return (f"The predictions were not scored: {error}",)


def _loaded(path: Path) -> Study:
    value = load(path)
    if not isinstance(value, Study):
        raise ModelFileError(
            f"{path.name} must hold a model that takes tables; found a "
            f"{type(value).__name__}; use a file that credo fit wrote."
        )
    return value
