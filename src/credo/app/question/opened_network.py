"""Networks from files; what was mended while reading them is told."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from credo.app.console.console import noted_warnings
from credo.data.network_file.network_file import load_network
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

__all__ = ["opened_network"]


def opened_network(path: Path, console: Console) -> BayesianNetwork | MarkovRandomField:
    """Return the network in a file; each warning on the way is printed as a note."""
    with noted_warnings(console):
        return load_network(path)
