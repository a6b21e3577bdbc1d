"""The commands for tables without a target: check the outputs, work, write files, print."""

from __future__ import annotations

from pathlib import Path

from credo import study
from credo.app.console.console import print_places, progress_bar, stderr, stdout
from credo.app.console.csv_place import CsvPlace
from credo.app.terminal.latent_terminal import (
    print_anomalies,
    print_clusters,
    print_completion,
    print_reduction,
)
from credo.data.output import atomic_file, require_apart, require_writable

__all__ = ["anomalies", "cluster", "impute", "reduce"]

N_DIGITS = 8


def cluster(
    table: Path,
    n_clusters: int | None,
    seed: int,
    ignore: tuple[str, ...],
    place: CsvPlace,
    report: Path | None,
) -> None:
    """Find clusters, print them, and write probabilities and the report if asked to."""
    _require_places(table, place, report)
    with progress_bar(stderr()) as progress:
        found = study.cluster_table(table, n_clusters, seed, ignore, progress)
        page = None if report is None else study.cluster_page(found).encode()
    _write(report, page)
    if place.path is not None:
        place.write(found.frame, N_DIGITS)
    console = stdout()
    print_clusters(console, found)
    places = {"probabilities": place.path, "report": report}
    print_places(console, {what: path for what, path in places.items() if path})


def anomalies(
    table: Path,
    rate: float,
    seed: int,
    ignore: tuple[str, ...],
    place: CsvPlace,
    report: Path | None,
) -> None:
    """Find odd rows, print why they are odd, and write scores and the report if asked to."""
    _require_places(table, place, report)
    with progress_bar(stderr()) as progress:
        found = study.anomaly_table(table, rate, seed, ignore, progress)
        page = None if report is None else study.anomaly_page(found).encode()
    _write(report, page)
    if place.path is not None:
        place.write(found.frame, N_DIGITS)
    console = stdout()
    print_anomalies(console, found)
    places = {"scores": place.path, "report": report}
    print_places(console, {what: path for what, path in places.items() if path})


def impute(
    table: Path,
    settings: tuple[int, float, int],
    ignore: tuple[str, ...],
    place: CsvPlace,
    draws: CsvPlace,
    report: Path | None,
) -> None:
    """Draw what is missing, print how sure it is, and write tables and the report.

    ``settings`` are the number of completed tables, the probability of intervals, and the seed.
    """
    _require_places(table, place, report)
    _require_places(table, draws, report)
    if place.path is not None and draws.path is not None:
        require_apart(draws.path, place.path)
    with progress_bar(stderr()) as progress:
        found = study.impute_table(table, *settings, ignore, progress)
        page = None if report is None else study.completion_page(found).encode()
    _write(report, page)
    if place.path is not None:
        place.write(found.frame, N_DIGITS)
    if draws.path is not None:
        draws.write(found.draws, N_DIGITS)
    console = stdout()
    print_completion(console, found)
    places = {"completed table": place.path, "draws": draws.path, "report": report}
    print_places(console, {what: path for what, path in places.items() if path})


def reduce(
    table: Path,
    n_axes: int | None,
    seed: int,
    ignore: tuple[str, ...],
    place: CsvPlace,
    report: Path | None,
) -> None:
    """Find axes, print what they mean, and write coordinates and the report if asked to."""
    _require_places(table, place, report)
    with progress_bar(stderr()) as progress:
        found = study.reduce_table(table, n_axes, seed, ignore, progress)
        page = None if report is None else study.reduction_page(found).encode()
    _write(report, page)
    if place.path is not None:
        place.write(found.frame, N_DIGITS)
    console = stdout()
    print_reduction(console, found)
    places = {"coordinates": place.path, "report": report}
    print_places(console, {what: path for what, path in places.items() if path})


def _require_places(table: Path, place: CsvPlace, report: Path | None) -> None:
    """Raise an `OutputError` for an output that cannot be written, before any work."""
    if place.path is not None:
        place.require_free(table)
    if report is not None:
        require_writable(report)
        require_apart(report, table)
        if place.path is not None:
            require_apart(report, place.path)


def _write(path: Path | None, content: bytes | None) -> None:
    if path is not None and content is not None:
        with atomic_file(path) as file:
            file.write(content)
