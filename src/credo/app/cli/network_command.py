"""The commands ``credo query`` and ``credo network``: their arguments and options.

One option may be followed by several values, as in ``--given a=1 b=2``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import click

from credo import app
from credo.app.cli.option import FilePath, InOrder, quote_formulas
from credo.data.network_file.formats import main_extensions

__all__ = ["ManyValues", "network", "query", "spread_values"]


ASSIGNMENTS = ("--given", "--do")
NAMES = ("--of",)


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


def named_formats(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose help names the formats of network files."""
    command.__doc__ = (command.__doc__ or "").format(formats=main_extensions())
    return command


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


@click.command(cls=ManyValues)
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
@named_formats
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


@click.group(cls=InOrder, invoke_without_command=True)
@click.pass_context
def network(context: click.Context) -> None:
    """Look at, convert and draw networks."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@network.command()
@click.argument("network", type=FilePath)
@named_formats
def info(network: Path) -> None:
    """Say what a network is made of, what exact answers cost, and what looks odd.

    NETWORK is a file of the kind {formats}, also with .gz.
    """
    app.network_job.info(network)


@network.command()
@click.argument("network", type=FilePath)
@click.argument("out", type=FilePath)
@named_formats
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
@named_formats
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
