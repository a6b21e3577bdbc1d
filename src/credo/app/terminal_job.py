"""What each command does: check the outputs, work, write whole files, and tell."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from credo import app
from credo.app import terminal
from credo.app.candidate import described
from credo.app.class_slate import CLASS_MEANINGS
from credo.app.compare_job import compare_table, model_names
from credo.app.compare_report import comparison_page
from credo.app.compare_terminal import print_comparison
from credo.app.effect import N_EFFECTS, EffectList, strongest_effects
from credo.app.job import fit_table
from credo.app.result import FitSettings
from credo.app.wording import count
from credo.data.column_name import quoted
from credo.data.error import ModelFileError, OutputError
from credo.data.loss_file import read_losses
from credo.data.model_file import ModelFileInfo, load, model_file_info, save
from credo.data.output import atomic_file, require_apart, require_writable
from credo.data.sets import set_path
from credo.data.table_classification import TableClassification
from credo.data.table_input import TablePrediction
from credo.data.table_regression import MIN_PROBABILITY, TableRegression
from credo.data.target import Task
from credo.plots.wording import probability

__all__ = ["compare", "demo", "fit", "inspect", "list_models", "predict"]

TableModel = TableRegression | TableClassification


def fit(
    table: Path, target: str, settings: FitSettings, out: Path | None, report: Path | None
) -> None:
    """Fit a table, print what was found, and write the model and the report if asked to."""
    _require_places(table, out, report)
    result = _written(table, target, settings, out, report)
    console = terminal.stdout()
    terminal.print_result(console, result)
    places = {"model": out, "report": report}
    _print_places(console, {what: path for what, path in places.items() if path})
    if out is None:
        console.print(Text("Add --out model.credo to keep the model for credo predict.", "dim"))


def predict(
    model: Path,
    table: Path,
    out: Path | None,
    coverage: float | None,
    losses: Path | None = None,
) -> None:
    """Write the predictions of a table as CSV, to a file or to standard output."""
    if out is not None:
        _require_places(table, out, None)
        require_apart(out, model)
    console = terminal.stderr()
    with terminal.progress_bar(console) as tell:
        tell(0.0, "opening the model")
        fitted = _loaded(model)
        tell(0.2, "predicting")
        prediction = _predicted(fitted, model.name, table, coverage, losses)
        tell(0.9, "writing")
        text = prediction.frame.to_csv(index=False, float_format="%.8g", lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
    else:
        with atomic_file(out) as file:
            file.write(text.encode())
    terminal.print_notes(console, prediction.notes)
    if out is not None:
        _print_places(console, {"predictions": out})


def compare(
    table: Path,
    target: str,
    names: list[str] | None,
    task: Task,
    seed: int,
    report: Path | None,
    ignore: tuple[str, ...] = (),
) -> None:
    """Compare models on a table, print what may be said, and write a page if asked to."""
    _require_places(table, None, report)
    with terminal.progress_bar(terminal.stderr()) as progress:
        progress(0.1, "fitting each model in each fold")
        found = compare_table(table, target, names, task, seed, ignore)
    if report is not None:
        with atomic_file(report) as file:
            file.write(comparison_page(found).encode())
    console = terminal.stdout()
    print_comparison(console, found)
    _print_places(console, {} if report is None else {"report": report})


def list_models() -> None:
    """Print the names of all models that can be compared, and what they are."""
    console = terminal.stdout()
    for has_classes, what in ((True, "classes"), (False, "a number")):
        console.print(Text(f"To predict {what}:", "bold"))
        known = model_names(has_classes)
        terminal.print_notes(console, [f"{name}: {meaning}" for name, meaning in known.items()])


def inspect(model: Path) -> None:
    """Print what a model file says of itself, and what the model in it says."""
    info = model_file_info(model)
    value = load(model)
    weights = _weights(model, value) if isinstance(value, TableRegression) else None
    console = terminal.stdout()
    _print_info(console, model, info)
    if weights is not None:
        _print_regression(console, value, weights)
    if isinstance(value, TableClassification):
        _print_classification(console, value)


def demo(folder: Path) -> None:
    """Do the main job on the concrete set, and leave model and report in ``folder``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} must be a folder that can be made; found that it cannot "
            f"({error.strerror}); choose another with --folder."
        ) from error
    fit(
        set_path("concrete"),
        "strength",
        FitSettings(),
        folder / "concrete.credo",
        folder / "concrete.html",
    )


def _written(
    table: Path, target: str, settings: FitSettings, out: Path | None, report: Path | None
) -> terminal.Result:
    with terminal.progress_bar(terminal.stderr()) as progress:
        result = fit_table(table, target, settings, progress)
        if report is not None:
            progress(1.0, "drawing the report")
            page = app.report_page(result).encode()
    if out is not None:
        save(result.model, out, fingerprint=result.data.fingerprint)
    if report is not None:
        with atomic_file(report) as file:
            file.write(page)
    return result


def _require_places(table: Path, out: Path | None, report: Path | None) -> None:
    """Raise an `OutputError` for an output that cannot be written, before any work."""
    for place in (out, report):
        if place is not None:
            require_writable(place)
            require_apart(place, table)
    if out is not None and report is not None:
        require_apart(report, out)


def _predicted(
    model: TableModel, name: str, table: Path, coverage: float | None, losses: Path | None
) -> TablePrediction:
    """Return the predictions of a model, with what concerns its kind of target."""
    if isinstance(model, TableClassification):
        if coverage is not None:
            raise ModelFileError(
                f"--coverage needs a model of numbers, which has intervals; found that "
                f"{name} predicts classes; leave it out."
            )
        labels = [str(label) for label in model.classes_]
        return model.predict(table, None if losses is None else read_losses(losses, labels))
    if losses is not None:
        raise ModelFileError(
            f"--decide needs a model of classes; found that {name} predicts the number "
            f"{model.target!r}; leave it out."
        )
    return model.predict(table, coverage)


def _loaded(path: Path) -> TableModel:
    value = load(path)
    if not isinstance(value, TableModel):
        raise ModelFileError(
            f"{path.name} must hold a model that takes tables; found a "
            f"{type(value).__name__}; use a file that credo fit wrote."
        )
    return value


def _weights(path: Path, model: TableRegression) -> EffectList:
    """Return the strongest weights, or a `ModelFileError` if the file holds none to read."""
    try:
        return strongest_effects(model.average, N_EFFECTS, model.coverage)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path.name} must hold weights for each term; found that they cannot be read "
            f"({type(error).__name__}); save the model again."
        ) from error


def _print_places(console: Console, places: dict[str, Path]) -> None:
    if places:
        console.print()
    for what, path in places.items():
        console.print(Text(f"{what}: {path}", "bold"), soft_wrap=True)


def _print_info(console: Console, path: Path, info: ModelFileInfo) -> None:
    libraries = ", ".join(f"{name} {version}" for name, version in info.libraries.items())
    console.print(Text(f"{path.name}: a {info.class_name} written {info.created}", "bold"))
    console.print(
        Text(f"{count(info.n_arrays, 'array')} in {info.n_bytes:,} bytes, by {libraries}")
    )
    console.print(Text(f"data fingerprint: {info.fingerprint or 'none'}"))


def _print_classification(console: Console, model: TableClassification) -> None:
    inputs = ", ".join(repr(name) for name in model.preparation.inputs)
    console.print(
        Text(
            f"predicts {model.target!r} ({quoted(model.classes_)}) from {inputs}; learned from "
            f"{model.n_rows:,} rows"
        )
    )
    winner = max(model.scores[:-1], key=lambda score: score.cv_log_score)
    terminal.print_class_scores(console, model.scores, winner.name)
    console.print()
    named = zip(model.stack.names_, model.stack.estimators_, strict=True)
    parts = [
        f"{name}: {meaning}; {made}."
        for name, meaning, made in described(named, CLASS_MEANINGS)
    ]
    terminal.print_notes(console, parts)
    terminal.print_notes(console, model.notes)


def _print_regression(console: Console, model: TableRegression, weights: EffectList) -> None:
    inputs = ", ".join(repr(name) for name in model.preparation.inputs)
    console.print(
        Text(f"predicts {model.target!r} from {inputs}; learned from {model.n_rows:,} rows")
    )
    winner = max(model.scores[:-1], key=lambda score: score.probability)
    terminal.print_scores(console, model.scores, model.coverage, winner.name)
    console.print()
    shares = zip(model.average.names_, model.average.probability_, strict=True)
    told = ", ".join(f"{name} {probability(share)}" for name, share in shares)
    terminal.print_notes(console, [f"Probabilities after all rows: {told}."])
    named = zip(model.average.names_, model.average.estimators_, strict=True)
    parts = [f"{name}: {meaning}; {made}." for name, meaning, made in described(named)]
    terminal.print_notes(console, parts)
    if model.left_out:
        said = f"Too improbable to take part in predictions, below {MIN_PROBABILITY:g}"
        terminal.print_notes(console, [f"{said}: {', '.join(model.left_out)}."])
    terminal.print_notes(console, [weights.sentence()] if weights.effects else [])
    terminal.print_notes(console, model.notes)
