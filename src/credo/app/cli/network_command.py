"""The commands ``credo query`` and ``credo network``: what each of them is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from credo import app
from credo.app.cli.many_values import ManyValues
from credo.app.cli.option import QuoteFormulas, with_fields

__all__ = ["add_network_commands"]

NetworkPath = Annotated[
    Path, typer.Argument(help="Network file: .bif, .xmlbif, .uai or .json, also with .gz.")
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
        str, typer.Option(help="auto, exact, or the name of an approximation.")
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
    out: Annotated[Path, typer.Argument(help="File to write; its extension is the format.")],
) -> None:
    """Write a network in another format: .bif, .xmlbif, .uai or .json."""
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
