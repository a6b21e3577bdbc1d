"""What several commands share: options, types of arguments, and the order of help."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["FilePath", "InOrder", "quote_formulas"]

FilePath = click.Path(path_type=Path)

quote_formulas = click.option(
    "--quote-formulas",
    is_flag=True,
    help="Put ' before text that starts with =, +, - or @, which spreadsheets compute.",
)


class InOrder(click.Group):
    """Commands that help lists as they were written, not by their letters."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)
