"""The commands ``credo network info`` and ``credo network convert``."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from credo.app.console.console import stderr, stdout
from credo.app.question.network_question import answering
from credo.app.question.opened_network import opened_network
from credo.app.terminal.network_info import print_info
from credo.data.network_file.network_file import save_network
from credo.data.output import require_apart, require_writable

__all__ = ["convert", "info"]


def info(path: Path) -> None:
    """Print what a network is made of, what exact answers cost, and what looks odd."""
    net = opened_network(path, stderr())
    with answering(path.name, stderr()):
        print_info(stdout(), path, net)


def convert(source: Path, out: Path) -> None:
    """Write a network in the format that the extension of ``out`` says."""
    require_writable(out)
    require_apart(out, source)
    net = opened_network(source, stderr())
    save_network(net, out)
    stdout().print(Text(f"network: {out}", "bold"), soft_wrap=True)
