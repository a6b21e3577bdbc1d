"""The commands that learn: check the outputs, work, write whole files, print the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.text import Text

from credo import app, study
from credo.app.cli.report_process import ReportProcess
from credo.app.console.console import print_places
from credo.app.terminal import terminal
from credo.data.error import OutputError
from credo.data.output import atomic_file, require_apart, require_writable
from credo.data.sets.embedded_table import set_path
from credo.data.table.target import Task
from credo.study.job import fit_table
from credo.study.result.result import FitSettings
from credo.study.study import Study

__all__ = ["compare", "demo", "fit", "list_models"]


def fit(
    table: Path,
    target: str,
    settings: FitSettings,
    out: Path | None,
    report: Path | None,
    maker: ReportProcess | None,
) -> None:
    """Fit a table, print what was found, and write the model and the report if asked to.

    ``maker`` makes the page of the report; None if there is no ``report``.
    """
    _require_places(table, out, report)

    def begin(judged: Any) -> None:
        if maker is not None:
            maker.begin(study.report_content(judged))

    with terminal.progress_bar(terminal.stderr()) as progress:
        result = fit_table(table, target, settings, progress, begin)
        if maker is not None:
            progress(1.0, "drawing the report")
            page = maker.page()
    if out is not None:
        Study.of(result).save(out)
    if report is not None:
        with atomic_file(report) as file:
            file.write(page)
    console = terminal.stdout()
    terminal.print_result(console, result)
    places = {"model": out, "report": report}
    print_places(console, {what: path for what, path in places.items() if path})
    if out is None:
        console.print(Text("Add --out model.credo to keep the model for credo predict.", "dim"))


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
        found = study.compare_table(table, target, names, task, seed, ignore)
    if report is not None:
        with atomic_file(report) as file:
            file.write(study.comparison_page(found).encode())
    console = terminal.stdout()
    app.print_comparison(console, found)
    print_places(console, {} if report is None else {"report": report})


def list_models() -> None:
    """Print the names of all models that can be compared, and what they are."""
    console = terminal.stdout()
    for has_classes, what in ((True, "classes"), (False, "a number")):
        console.print(Text(f"To predict {what}:", "bold"))
        known = study.model_names(has_classes)
        terminal.print_notes(console, [f"{name}: {meaning}" for name, meaning in known.items()])


def demo(folder: Path, maker: ReportProcess) -> None:
    """Do the main job on the concrete set, and leave model and report in ``folder``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} must be a folder that can be made; found that it cannot "
            f"({error.strerror}); choose another with `folder`."
        ) from error
    fit(
        set_path("concrete"),
        "strength",
        FitSettings(),
        folder / "concrete.credo",
        folder / "concrete.html",
        maker,
    )


def _require_places(table: Path, out: Path | None, report: Path | None) -> None:
    """Raise an `OutputError` for an output that cannot be written, before any work."""
    for place in (out, report):
        if place is not None:
            require_writable(place)
            require_apart(place, table)
    if out is not None and report is not None:
        require_apart(report, out)
