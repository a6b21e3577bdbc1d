"""The command ``credo inspect``: what a model file says of itself, and the model in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from credo.app.console.console import print_notes, print_remark, stdout
from credo.app.terminal.score_terminal import print_class_scores, print_scores
from credo.data.error import ModelFileError
from credo.data.model_file.model_file import ModelFileInfo, load, model_file_info
from credo.data.table.column_name import quoted
from credo.plots.wording import probability
from credo.study.candidates.candidate import CLASS_MEANINGS, described
from credo.study.result.effect import N_EFFECTS, EffectList, strongest_effects
from credo.study.result.table_model import MIN_PROBABILITY, TableClassification, TableRegression
from credo.study.result.wording import count
from credo.study.study import Study

__all__ = ["inspect"]


def inspect(model: Path) -> None:
    """Print what a model file says of itself, and what the model in it says."""
    info = model_file_info(model)
    opened = load(model)
    value: Any = opened.model if isinstance(opened, Study) else opened
    weights = _weights(model, value) if isinstance(value, TableRegression) else None
    console = stdout()
    _print_info(console, model, info)
    if weights is not None:
        _print_regression(console, value, weights)
    if isinstance(value, TableClassification):
        _print_classification(console, value)


def _weights(path: Path, model: TableRegression) -> EffectList:
    """Return the strongest weights, or a `ModelFileError` if the file holds none to read."""
    try:
        return strongest_effects(model.average, N_EFFECTS, model.coverage)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path.name} must hold weights for each term; found that they cannot be read "
            f"({type(error).__name__}); save the model again."
        ) from error


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
            f"predicts {model.target!r} ({quoted(model.class_names)}) from {inputs}; learned "
            f"from {model.n_rows:,} rows"
        )
    )
    # Those that were dropped, and judged by fewer folds, are not in the stack.
    kept = [score for score in model.scores if score.name in model.stack.names_]
    winner = max(kept, key=lambda score: score.cv_log_score)
    print_class_scores(console, model.scores, winner.name)
    console.print()
    named = zip(model.stack.names_, model.stack.estimators_, strict=True)
    parts = [
        f"{name}: {meaning}; {made}."
        for name, meaning, made in described(named, CLASS_MEANINGS)
    ]
    print_notes(console, parts)
    for remark in model.remarks:
        print_remark(console, remark)


def _print_regression(console: Console, model: TableRegression, weights: EffectList) -> None:
    inputs = ", ".join(repr(name) for name in model.preparation.inputs)
    console.print(
        Text(f"predicts {model.target!r} from {inputs}; learned from {model.n_rows:,} rows")
    )
    winner = max(model.scores[:-1], key=lambda score: score.probability)
    print_scores(console, model.scores, model.coverage, winner.name)
    console.print()
    shares = zip(model.average.names_, model.average.probability_, strict=True)
    text = ", ".join(f"{name} {probability(share)}" for name, share in shares)
    print_notes(console, [f"Probabilities after all rows: {text}."])
    named = zip(model.average.names_, model.average.estimators_, strict=True)
    parts = [f"{name}: {meaning}; {made}." for name, meaning, made in described(named)]
    print_notes(console, parts)
    if model.left_out:
        said = f"Too improbable to take part in predictions, below {MIN_PROBABILITY:g}"
        print_notes(console, [f"{said}: {', '.join(model.left_out)}."])
    print_notes(console, [weights.sentence()] if weights.effects else [])
    for remark in model.remarks:
        print_remark(console, remark)
