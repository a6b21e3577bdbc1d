"""The command ``credo``; it reads its arguments before it loads anything heavy."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

import credo
from credo import app
from credo.app.cli.network_command import add_network_commands
from credo.app.cli.option import QuoteFormulas, named_columns, with_fields
from credo.app.report.report_process import report_process
from credo.data.error import DataError

__all__ = ["command_line", "main"]

READER_LEFT = 141
"""What a shell says of a tool whose reader left: 128 + SIGPIPE."""
USER_ERROR = 2
INTERRUPTED = 130

_NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EPIPE})

# Typer brings its own copy of click in some versions; this is the class in either.
_UsageError: Any = typer.BadParameter.__mro__[1]


class _OneSentence(TyperGroup):
    """Commands whose user errors are one sentence and exit code 2; bugs keep a traceback."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command; where it stands alone, end the process with its exit code."""
        stands_alone = settings.pop("standalone_mode", True)
        settings["standalone_mode"] = False
        if not stands_alone:
            return super().main(*args, **settings)
        try:
            exit_code = super().main(*args, **settings) or 0
        except DataError as error:
            _fail(str(error))
        except _UsageError as error:
            command = error.ctx.command_path if error.ctx else "credo"
            _fail(f"{error.format_message().rstrip('.')}; see {command} --help.")
        except typer.Abort:
            exit_code = INTERRUPTED
        except MemoryError:
            _fail("the memory must suffice for the work; found too little; use less data.")
        # Typer makes this of Ctrl-C, without a word.
        if exit_code == INTERRUPTED:
            _fail("stopped; each output is whole or as it was before.", INTERRUPTED)
        sys.exit(exit_code)


def _fail(sentence: str, exit_code: int = USER_ERROR) -> NoReturn:
    typer.echo(f"credo: {' '.join(sentence.split())}", err=True)
    sys.exit(exit_code)


command_line = typer.Typer(
    cls=_OneSentence,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Predictions with honest uncertainty, from a table of numbers, categories and dates.",
)


def _share_like(example: float) -> Callable[[float | None], float | None]:
    """Return a check of a share, whose complaint names an example that makes sense."""

    def check(value: float | None) -> float | None:
        if value is not None and not 0 < value < 1:
            raise typer.BadParameter(
                f"it must be above 0 and below 1; found {value:g}; pass a share such as "
                f"{example}"
            )
        return value

    return check


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(
            f"it must be positive and finite; found {value:g}; pass a cost such as 0.2"
        )
    return value


TablePath = Annotated[Path, typer.Argument(help="CSV or Parquet file with one header line.")]
ModelPath = Annotated[Path, typer.Argument(help="Model file written by credo fit.")]
TestShare = Annotated[
    float,
    typer.Option(callback=_share_like(0.2), help="Share of the rows held out as a test."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the choice of test rows.")]
Coverage = Annotated[
    float, typer.Option(callback=_share_like(0.9), help="Probability of the intervals.")
]
OwnCoverage = Annotated[
    float | None,
    typer.Option(
        callback=_share_like(0.9),
        help="Probability of the intervals; that of training if not given.",
    ),
]


class TaskName(StrEnum):
    """What a target is predicted as."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


TaskChoice = Annotated[
    TaskName,
    typer.Option("--task", help="Predict classes or a number; auto decides by the column."),
]
LossPath = Annotated[
    Path | None,
    typer.Option(help="CSV file of losses: a row for each action, a column for each class."),
]
RejectCost = Annotated[
    float | None,
    typer.Option(callback=_positive, help="Cost of leaving a row undecided."),
]
Ignored = Annotated[
    str | None, typer.Option(help="Names of columns not to use, separated by commas.")
]


@command_line.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Predictions with honest uncertainty, from a table of numbers, categories and dates."""
    if version:
        typer.echo(f"credo {credo.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@dataclass(frozen=True)
class FitOptions:
    """What ``credo fit`` is told."""

    table: TablePath
    target: Annotated[str, typer.Option(help="Name of the column to predict.")]
    out: Annotated[Path | None, typer.Option(help="Where to save the model.")] = None
    report: Annotated[Path | None, typer.Option(help="Where to write an HTML report.")] = None
    test_share: TestShare = 0.2
    seed: Seed = 0
    coverage: Coverage = 0.9
    task: TaskChoice = TaskName.auto
    loss: LossPath = None
    reject: RejectCost = None
    ignore: Ignored = None


def fit(options: FitOptions) -> None:
    """Learn to predict a column, and say how well and how surely."""
    with report_process(options.report is not None) as maker:
        settings = app.FitSettings(
            test_share=options.test_share,
            seed=options.seed,
            coverage=options.coverage,
            task=options.task.value,
            loss=options.loss,
            reject=options.reject,
            ignore=named_columns(options.ignore),
        )
        app.terminal_job.fit(
            options.table, options.target, settings, options.out, options.report, maker
        )


command_line.command()(with_fields(FitOptions, fit))


@command_line.command()
def predict(
    model: ModelPath,
    table: TablePath,
    out: Annotated[Path | None, typer.Option(help="Where to write a CSV file.")] = None,
    coverage: OwnCoverage = None,
    decide: Annotated[
        Path | None,
        typer.Option(help="CSV file of losses; adds the action of least expected loss."),
    ] = None,
    quote_formulas: QuoteFormulas = False,
) -> None:
    """Predict each row of a table: mean, sd and interval, or class and probabilities."""
    place = app.CsvPlace(out, quote_formulas)
    app.predict_job.predict(model, table, place, coverage, decide)


def _print_models(is_wanted: bool) -> None:
    if is_wanted:
        app.terminal_job.list_models()
        raise typer.Exit


@dataclass(frozen=True)
class CompareOptions:
    """What ``credo compare`` is told."""

    table: TablePath
    target: Annotated[str, typer.Option(help="Name of the column to predict.")]
    models: Annotated[
        str | None,
        typer.Option(help="Names of models, separated by commas; all if not given."),
    ] = None
    report: Annotated[Path | None, typer.Option(help="Where to write an HTML report.")] = None
    seed: Seed = 0
    task: TaskChoice = TaskName.auto
    ignore: Ignored = None
    list_models: Annotated[
        bool,
        typer.Option(
            "--list-models",
            callback=_print_models,
            is_eager=True,
            help="Print the names of all models, and what they are.",
        ),
    ] = False


def compare(options: CompareOptions) -> None:
    """Say which models predict a column better, and which cannot be told apart."""
    app.terminal_job.compare(
        options.table,
        options.target,
        None if options.models is None else options.models.split(","),
        options.task.value,
        options.seed,
        options.report,
        named_columns(options.ignore),
    )


command_line.command()(with_fields(CompareOptions, compare))


@command_line.command()
def inspect(model: ModelPath) -> None:
    """Say what a model file holds and how good it was."""
    app.inspect_job.inspect(model)


@command_line.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the results go.")] = Path("credo-demo"),
) -> None:
    """Fit the strength of concrete from its mixture and age, on data that come with credo."""
    with report_process(is_wanted=True) as maker:
        app.terminal_job.demo(folder, maker)


add_network_commands(command_line)


def main() -> None:
    """Run the command line."""
    sys.stdout, sys.stderr = (_or_nowhere(stream) for stream in (sys.stdout, sys.stderr))
    sys.stdout = _whole_writes(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        try:
            command_line()
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        # Typer makes 1 of a reader that left.
        if isinstance(end.__context__, BrokenPipeError):
            sys.exit(READER_LEFT)
        raise
    except OSError as error:
        # A long text is not kept by the stream that could not write it.
        is_long = error.filename is None and error.errno in _NO_ROOM
        if not (_is_stuck(sys.stdout) or is_long):
            raise
        if isinstance(error, BrokenPipeError):
            sys.exit(READER_LEFT)
        _fail(
            "standard output must take all that is written; found that it does not "
            f"({error.strerror}); free the place, or write to another."
        )


def _or_nowhere(stream: TextIO | None) -> TextIO:
    """Return a stream, or one that forgets what it is told where a closed one left none."""
    return Path(os.devnull).open("w", encoding="utf-8") if stream is None else stream


def _whole_writes(stream: TextIO) -> TextIO:
    """Return a stream that writes on where a write was cut short.

    An unbuffered stream, as containers ask for, forgets what a full disk did not take.
    """
    raw = getattr(stream, "buffer", None)
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(raw, io.RawIOBase):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=stream.encoding, line_buffering=True
    )


def _is_stuck(stream: TextIO) -> bool:
    """Whether a stream cannot write what it holds, which is then thrown away.

    Otherwise the interpreter would try once more at its end, and complain.
    """
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return True
    return False
