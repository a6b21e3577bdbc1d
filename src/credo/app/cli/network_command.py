"""The commands ``credo query`` and ``credo network``: their arguments and options.

One option may be followed by several values, as in ``--given a=1 b=2``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from credo import app
from credo.app.cli.option import QuoteFormulas, with_fields
from credo.data.network_file.formats import main_extensions

__all__ = [
    "ManyValues",
    "add_network_commands",
    "spread_values",
]


ASSIGNMENTS = ("--given", "--do")
NAMES = ("--of",)


class ManyValues(TyperCommand):
    """A command that takes ``--given a=1 b=2`` as ``--given a=1 --given b=2``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments after every value has its own option."""
        return list(super().parse_args(ctx, spread_values(args)))


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


NetworkPath = Annotated[
    Path, typer.Argument(help=f"Network file: {main_extensions()}, also with .gz.")
]
Given = Annotated[
    list[str] | None,
    typer.Option(
        help="What is known, as variable=state, one or several; a|b is one of two states, "
        "a:0.8|b:0.2 says how likely a vague observation is in each.",
        metavar="VARIABLE=STATE ...",
    ),
]
Do = Annotated[
    list[str] | None,
    typer.Option(
        help="What is set by intervention, as variable=state, one or several.",
        metavar="VARIABLE=STATE ...",
    ),
]


@dataclass(frozen=True)
class QueryOptions:
    """What ``credo query`` is told."""

    network: NetworkPath
    of: Annotated[
        list[str] | None,
        typer.Option(
            help="Variables to tell, one or several; all that are not given by default.",
            metavar="VARIABLE ...",
        ),
    ] = None
    given: Given = None
    do: Do = None
    joint: Annotated[
        bool, typer.Option("--joint", help="Tell the variables jointly, not each by itself.")
    ] = False
    data: Annotated[
        Path | None,
        typer.Option(
            help="CSV or Parquet file of cases: a column for each variable known, "
            "empty cells where nothing is known."
        ),
    ] = None
    out: Annotated[Path | None, typer.Option(help="Where to write a CSV file.")] = None
    method: Annotated[
        str,
        typer.Option(
            help="auto, exact, or the name of an approximation; any other word lists the names."
        ),
    ] = "auto"
    quote_formulas: QuoteFormulas = False


def query(options: QueryOptions) -> None:
    """Tell what is probable in a network given what is known, once or for each row of a table.

    For example: credo query asia.bif --of lung --given smoke=yes dysp=yes
    """
    settings = app.QuerySettings(
        options.of or (),
        options.given or (),
        options.do or (),
        options.joint,
        options.method,
    )
    place = app.CsvPlace(options.out, options.quote_formulas)
    app.query_job.query(options.network, settings, options.data, place)


def info(network: NetworkPath) -> None:
    """Say what a network is made of, what exact answers cost, and what looks odd."""
    app.network_job.info(network)


def convert(
    network: NetworkPath,
    out: Annotated[
        Path, typer.Argument(help=f"File to write, the format by its end: {main_extensions()}.")
    ],
) -> None:
    """Write a network in another format."""
    app.network_job.convert(network, out)


@dataclass(frozen=True)
class DrawOptions:
    """What ``credo network draw`` is told."""

    network: NetworkPath
    out: Annotated[Path, typer.Option(help="Picture to write: .svg, .png or .pdf.")]
    given: Given = None
    do: Do = None
    max_states: Annotated[
        int, typer.Option(min=2, help="Lines per node; rarer states share one line.")
    ] = 6
    names_only: Annotated[
        bool, typer.Option("--names-only", help="Draw names without probabilities.")
    ] = False


def draw(options: DrawOptions) -> None:
    """Draw a network, with bars for what is probable in each node.

    For example: credo network draw asia.bif --out asia.svg --given smoke=yes dysp=yes
    """
    settings = app.DrawSettings(
        options.given or (), options.do or (), options.max_states, options.names_only
    )
    app.draw_job.draw(options.network, options.out, settings)


def add_network_commands(command_line: typer.Typer) -> None:
    """Add ``query`` and ``network`` to the command line."""
    command_line.command(cls=ManyValues)(with_fields(QueryOptions, query))
    network = typer.Typer(
        help="Look at, convert and draw networks.", rich_markup_mode=None, no_args_is_help=True
    )
    network.command()(info)
    network.command()(convert)
    network.command(cls=ManyValues)(with_fields(DrawOptions, draw))
    command_line.add_typer(network, name="network")
