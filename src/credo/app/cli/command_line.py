"""The command ``credo``; it reads its arguments before it loads anything heavy.

One option on networks may be followed by several values, as in ``--given a=1 b=2``.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

import credo
from credo import app, study
from credo.app.cli.report_process import report_process
from credo.app.console.flag import with_flags
from credo.data.error import DataError
from credo.data.network_file.formats import main_extensions

__all__ = ["ManyValues", "command_line", "main", "spread_values"]

READER_LEFT = 141
"""What a shell says of a tool whose reader left: 128 + SIGPIPE."""
USER_ERROR = 2
INTERRUPTED = 130

ASSIGNMENTS = ("--given", "--do")
NAMES = ("--of",)

FilePath = click.Path(path_type=Path)

_NO_ROOM = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EPIPE})


class _InOrder(click.Group):
    """Commands that help lists as they were written, not by their letters."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)


class _OneSentence(_InOrder):
    """Commands whose user errors are one sentence and exit code 2; bugs keep a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C ends it without a word of click."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.Abort from error

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command; where it stands alone, end the process with its exit code."""
        stands_alone = settings.pop("standalone_mode", True)
        settings["standalone_mode"] = False
        if not stands_alone:
            return super().main(*args, **settings)
        try:
            exit_code = super().main(*args, **settings) or 0
        except DataError as error:
            _fail(with_flags(str(error)))
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "credo"
            _fail(f"{error.format_message().rstrip('.')}; see {command} --help.")
        except click.Abort:
            _fail("stopped; each output is whole or as it was before.", INTERRUPTED)
        except SystemExit as end:
            # Asked to return, click still ends the process where a reader has left.
            raise SystemExit(READER_LEFT) from end
        except MemoryError:
            _fail("the memory must suffice for the work; found too little; use less data.")
        sys.exit(exit_code)


def _fail(sentence: str, exit_code: int = USER_ERROR) -> NoReturn:
    click.echo(f"credo: {' '.join(sentence.split())}", err=True)
    sys.exit(exit_code)


def _share_like(example: float) -> Callable[..., float | None]:
    """Return a check of a share, whose complaint names an example that makes sense."""

    def check(
        context: click.Context, parameter: click.Parameter, value: float | None
    ) -> float | None:
        if value is not None and not 0 < value < 1:
            raise click.BadParameter(
                f"it must be above 0 and below 1; found {value:g}; pass a share such as "
                f"{example}"
            )
        return value

    return check


def _positive(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise click.BadParameter(
            f"it must be positive and finite; found {value:g}; pass a cost such as 0.2"
        )
    return value


def _names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    return tuple(name.strip() for name in (value or "").split(",") if name.strip())


class ManyValues(click.Command):
    """A command that takes ``--given a=1 b=2`` as ``--given a=1 --given b=2``.

    Options of click take a fixed number of values.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments after every value has its own option."""
        return super().parse_args(ctx, spread_values(args))


def spread_values(
    arguments: Sequence[str],
    assignments: Collection[str] = ASSIGNMENTS,
    names: Collection[str] = NAMES,
) -> list[str]:
    """Return arguments in which each value of an option has the option before it.

    Words with an equals sign follow an option of ``assignments``. Plain words follow an option
    of ``names``, if an argument came before it: ``--of lung asia.bif`` asks for one variable.

    Examples
    --------
    >>> spread_values(["asia.bif", "--given", "smoke=yes", "dysp=yes", "--of", "lung", "tub"])
    ['asia.bif', '--given', 'smoke=yes', '--given', 'dysp=yes', '--of', 'lung', '--of', 'tub']
    >>> spread_values(["--given", "smoke=yes", "asia.bif"])
    ['--given', 'smoke=yes', 'asia.bif']
    >>> spread_values(["--given=smoke=yes", "dysp=yes"])
    ['--given=smoke=yes', '--given', 'dysp=yes']
    """
    spread: list[str] = []
    option, n_values, has_argument = "", 0, False
    for word in arguments:
        if word.startswith("--"):
            option, sign, _ = word.partition("=")
            n_values = len(sign)
            spread.append(word)
            continue
        is_more = n_values > 0 and (
            (option in assignments and "=" in word) or (option in names and has_argument)
        )
        spread += [option, word] if is_more else [word]
        has_argument |= not is_more and (not option or n_values > 0)
        n_values += 1
    return spread


def _named_formats(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose help names the formats of network files."""
    command.__doc__ = (command.__doc__ or "").format(formats=main_extensions())
    return command


target = click.option("--target", required=True, help="Name of the column to predict.")
report = click.option("--report", type=FilePath, help="Where to write an HTML report.")
seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of the choice of test rows."
)
task = click.option(
    "--task",
    type=click.Choice(("auto", "classification", "regression")),
    default="auto",
    help="Predict classes or a number; auto decides by the column.",
)
ignore = click.option(
    "--ignore", callback=_names, help="Names of columns not to use, separated by commas."
)
models = click.option(
    "--models", help="Names of models, separated by commas; all if not given."
)
quote_formulas = click.option(
    "--quote-formulas",
    is_flag=True,
    help="Put ' before text that starts with =, +, - or @, which spreadsheets compute.",
)
given = click.option(
    "--given",
    multiple=True,
    metavar="VARIABLE=STATE ...",
    help="What is known, as variable=state, one or several; a|b is one of two states, "
    "a:0.8|b:0.2 says how likely a vague observation is in each.",
)
do = click.option(
    "--do",
    multiple=True,
    metavar="VARIABLE=STATE ...",
    help="What is set by intervention, as variable=state, one or several.",
)


@click.group(
    cls=_OneSentence, invoke_without_command=True, context_settings={"show_default": True}
)
@click.option("--version", is_flag=True, help="Print the version.")
@click.pass_context
def command_line(context: click.Context, version: bool) -> None:
    """Predictions with honest uncertainty, from a table of numbers, categories and dates."""
    if version:
        click.echo(f"credo {credo.__version__}")
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


@command_line.command()
@click.argument("table", type=FilePath)
@target
@click.option("--out", type=FilePath, help="Where to save the model.")
@report
@click.option(
    "--test-share",
    type=float,
    default=0.2,
    callback=_share_like(0.2),
    help="Share of the rows held out as a test.",
)
@seed
@click.option(
    "--coverage",
    type=float,
    default=0.9,
    callback=_share_like(0.9),
    help="Probability of the intervals.",
)
@task
@models
@click.option(
    "--fast", is_flag=True, help="Leave out models that take seconds (Gaussian processes)."
)
@click.option(
    "--loss",
    type=FilePath,
    help="CSV file of losses: a row for each action, a column for each class.",
)
@click.option(
    "--reject", type=float, callback=_positive, help="Cost of leaving a row undecided."
)
@ignore
def fit(
    table: Path,
    target: str,
    out: Path | None,
    report: Path | None,
    test_share: float,
    seed: int,
    coverage: float,
    task: Any,
    models: str | None,
    fast: bool,
    loss: Path | None,
    reject: float | None,
    ignore: tuple[str, ...],
) -> None:
    """Learn to predict a column, and say how well and how surely.

    TABLE is a CSV or Parquet file with one header line, or - for CSV from standard input.
    """
    with nullcontext() if report is None else report_process() as maker:
        settings = study.FitSettings(
            test_share=test_share,
            seed=seed,
            coverage=coverage,
            task=task,
            loss=loss,
            reject=reject,
            ignore=ignore,
            models=None if models is None else tuple(models.split(",")),
            fast=fast,
        )
        app.terminal_job.fit(table, target, settings, out, report, maker)


@command_line.command()
@click.argument("model", type=FilePath)
@click.argument("table", type=FilePath)
@click.option("--out", type=FilePath, help="Where to write a CSV file.")
@click.option(
    "--coverage",
    type=float,
    callback=_share_like(0.9),
    help="Probability of the intervals; that of training if not given.",
)
@click.option(
    "--decide",
    type=FilePath,
    help="CSV file of losses; adds the action of least expected loss.",
)
@quote_formulas
def predict(
    model: Path,
    table: Path,
    out: Path | None,
    coverage: float | None,
    decide: Path | None,
    quote_formulas: bool,
) -> None:
    """Predict each row of a table: mean, sd and interval, or class and probabilities.

    MODEL is a file written by credo fit, TABLE a CSV or Parquet file with one header line, or
    - for CSV from standard input.
    """
    place = app.CsvPlace(out, quote_formulas)
    app.predict_job.predict(model, table, place, coverage, decide)


def _print_models(context: click.Context, parameter: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        app.terminal_job.list_models()
        context.exit()


@command_line.command()
@click.argument("table", type=FilePath)
@target
@models
@report
@seed
@task
@ignore
@click.option(
    "--list-models",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_models,
    help="Print the names of all models, and what they are.",
)
def compare(
    table: Path,
    target: str,
    models: str | None,
    report: Path | None,
    seed: int,
    task: Any,
    ignore: tuple[str, ...],
) -> None:
    """Say which models predict a column better, and which cannot be distinguished.

    TABLE is a CSV or Parquet file with one header line, or - for CSV from standard input.
    """
    names = None if models is None else models.split(",")
    app.terminal_job.compare(table, target, names, task, seed, report, ignore)


@command_line.command()
@click.argument("table", type=FilePath)
@click.option(
    "--clusters",
    type=click.IntRange(min=1),
    help="How many; as many as the evidence favors if not given.",
)
@click.option("--out", type=FilePath, help="Where to write a CSV file of probabilities.")
@report
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of the search for clusters."
)
@ignore
@quote_formulas
def cluster(
    table: Path,
    clusters: int | None,
    out: Path | None,
    report: Path | None,
    seed: int,
    ignore: tuple[str, ...],
    quote_formulas: bool,
) -> None:
    """Say how many groups of rows there are, how surely, and what each is like.

    TABLE is a CSV or Parquet file with one header line, or - for CSV from standard input.
    Numbers, text, dates and gaps are taken as they are.
    """
    place = app.CsvPlace(out, quote_formulas)
    app.latent_job.cluster(table, clusters, seed, ignore, place, report)


@command_line.command()
@click.argument("table", type=FilePath)
@click.option(
    "--axes",
    type=click.IntRange(min=1),
    help="How many; as few as tell cells of rows left out as well as any if not given.",
)
@click.option("--out", type=FilePath, help="Where to write a CSV file of coordinates.")
@report
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of the choice of rows to check."
)
@ignore
@quote_formulas
def reduce(
    table: Path,
    axes: int | None,
    out: Path | None,
    report: Path | None,
    seed: int,
    ignore: tuple[str, ...],
    quote_formulas: bool,
) -> None:
    """Find few axes that carry the columns of a table, and say what each means.

    TABLE is a CSV or Parquet file with one header line, or - for CSV from standard input.
    Numbers, text, dates and gaps are taken as they are.
    """
    place = app.CsvPlace(out, quote_formulas)
    app.latent_job.reduce(table, axes, seed, ignore, place, report)


@command_line.command()
@click.argument("table", type=FilePath)
@click.option(
    "--rate",
    type=float,
    default=0.01,
    callback=_share_like(0.01),
    help="False alarms per usual row.",
)
@click.option("--out", type=FilePath, help="Where to write a CSV file of scores and reasons.")
@report
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of folds, starts and draws."
)
@ignore
@quote_formulas
def anomalies(
    table: Path,
    rate: float,
    out: Path | None,
    report: Path | None,
    seed: int,
    ignore: tuple[str, ...],
    quote_formulas: bool,
) -> None:
    """Say which rows are odd, and by which of their cells.

    TABLE is a CSV or Parquet file with one header line, or - for CSV from standard input.
    Numbers, text, dates and gaps are taken as they are.
    """
    place = app.CsvPlace(out, quote_formulas)
    app.latent_job.anomalies(table, rate, seed, ignore, place, report)


@command_line.command()
@click.argument("table", type=FilePath)
@click.option(
    "--out",
    type=FilePath,
    help="Where to write the completed table with intervals, as CSV.",
)
@click.option(
    "--draws-out",
    type=FilePath,
    help="Where to write several completed tables, one below the other, as CSV.",
)
@click.option(
    "--draws", type=click.IntRange(min=2), default=5, help="How many completed tables."
)
@click.option(
    "--coverage",
    type=float,
    default=0.9,
    callback=_share_like(0.9),
    help="Probability of the intervals.",
)
@report
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the draws.")
@ignore
@quote_formulas
def impute(
    table: Path,
    out: Path | None,
    draws_out: Path | None,
    draws: int,
    coverage: float,
    report: Path | None,
    seed: int,
    ignore: tuple[str, ...],
    quote_formulas: bool,
) -> None:
    """Say what may stand in the gaps of a table: several draws, and intervals.

    TABLE is a CSV or Parquet file with one header line, or - for CSV from standard input.
    """
    app.latent_job.impute(
        table,
        (draws, coverage, seed),
        ignore,
        app.CsvPlace(out, quote_formulas),
        app.CsvPlace(draws_out, quote_formulas),
        report,
    )


@command_line.command()
@click.argument("model", type=FilePath)
def inspect(model: Path) -> None:
    """Say what a model file holds and how good it was.

    MODEL is a file written by credo fit.
    """
    app.inspect_job.inspect(model)


@command_line.command()
@click.option(
    "--folder", type=FilePath, default=Path("credo-demo"), help="Where the results go."
)
def demo(folder: Path) -> None:
    """Fit the strength of concrete from its mixture and age, on data that come with credo."""
    with report_process() as maker:
        app.terminal_job.demo(folder, maker)


@command_line.command(cls=ManyValues)
@click.argument("network", type=FilePath)
@click.option(
    "--of",
    multiple=True,
    metavar="VARIABLE ...",
    help="Variables asked for, one or several; all that are not given by default.",
)
@given
@do
@click.option(
    "--joint", is_flag=True, help="Ask for the variables jointly, not each by itself."
)
@click.option(
    "--data",
    type=FilePath,
    help="CSV or Parquet file of cases: a column for each variable known, empty cells where "
    "nothing is known.",
)
@click.option("--out", type=FilePath, help="Where to write a CSV file.")
@click.option(
    "--method",
    default="auto",
    help="auto, exact, or the name of an approximation; any other word lists the names.",
)
@quote_formulas
@_named_formats
def query(
    network: Path,
    of: tuple[str, ...],
    given: tuple[str, ...],
    do: tuple[str, ...],
    joint: bool,
    data: Path | None,
    out: Path | None,
    method: str,
    quote_formulas: bool,
) -> None:
    """Say what is probable in a network given what is known, once or for each row of a table.

    NETWORK is a file of the kind {formats}, also with .gz.

    For example: credo query asia.bif --of lung --given smoke=yes dysp=yes
    """
    settings = app.QuerySettings(of, given, do, joint, method)
    app.network_job.query(network, settings, data, app.CsvPlace(out, quote_formulas))


@command_line.group(cls=_InOrder, invoke_without_command=True)
@click.pass_context
def network(context: click.Context) -> None:
    """Look at, convert and draw networks."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@network.command()
@click.argument("network", type=FilePath)
@_named_formats
def info(network: Path) -> None:
    """Say what a network is made of, what exact answers cost, and what looks odd.

    NETWORK is a file of the kind {formats}, also with .gz.
    """
    app.network_job.info(network)


@network.command()
@click.argument("network", type=FilePath)
@click.argument("out", type=FilePath)
@_named_formats
def convert(network: Path, out: Path) -> None:
    """Write a network in another format: {formats}.

    NETWORK is the file to read, also with .gz, and OUT the file to write; its extension is
    the format.
    """
    app.network_job.convert(network, out)


@network.command(cls=ManyValues)
@click.argument("network", type=FilePath)
@click.option(
    "--out", type=FilePath, required=True, help="Picture to write: .svg, .png or .pdf."
)
@given
@do
@click.option(
    "--max-states",
    type=click.IntRange(min=2),
    default=6,
    help="Lines per node; rarer states share one line.",
)
@click.option("--names-only", is_flag=True, help="Draw names without probabilities.")
@_named_formats
def draw(
    network: Path,
    out: Path,
    given: tuple[str, ...],
    do: tuple[str, ...],
    max_states: int,
    names_only: bool,
) -> None:
    """Draw a network, with bars for what is probable in each node.

    NETWORK is a file of the kind {formats}, also with .gz.

    For example: credo network draw asia.bif --out asia.svg --given smoke=yes dysp=yes
    """
    app.draw_job.draw(network, out, app.DrawSettings(given, do, max_states, names_only))


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
    """Return a stream, or one that forgets what is written where a closed one left none."""
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
