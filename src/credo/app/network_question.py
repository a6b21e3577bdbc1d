"""Networks from files, and questions whose failures are told in a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from credo.app.console import print_notes
from credo.app.question_error import QuestionError
from credo.data.network_file import load_network
from credo.graphs.variable import UnknownState, UnknownVariable
from credo.inference.table_plan_error import ImpossibleFindings, InferenceTooLarge
from credo.models.bayesian_network import BayesianNetwork
from credo.models.markov_random_field import MarkovRandomField
from credo.models.network import Network

__all__ = ["answering", "opened_network", "require_answers"]


def opened_network(path: Path, console: Console) -> BayesianNetwork | MarkovRandomField:
    """Return the network in a file; what was mended while reading it is told."""
    with noted_warnings(console):
        return load_network(path)


def require_answers(net: Network, source: str, do: Mapping[str, Any]) -> None:
    """Raise a `QuestionError` unless the network has tables, and arrows if some are set."""
    if do and not isinstance(net, BayesianNetwork):
        raise QuestionError(
            f"--do needs a Bayesian network, whose arrows say what causes what; found that "
            f"{source} has none; use --given for what was observed."
        )
    if isinstance(net, BayesianNetwork) and not net.conditionals:
        raise QuestionError(
            f"{source} must hold a table for each variable; found only the structure; add the "
            "tables."
        )


@contextmanager
def answering(source: str, console: Console, method: str = "auto") -> Iterator[None]:
    """Tell warnings as notes, and raise a `QuestionError` where there is no answer.

    Parameters
    ----------
    source
        What the question is about, for the messages.
    method
        How it is answered; one that was chosen may not suit the network.
    """
    try:
        with noted_warnings(console):
            yield
    except (ImpossibleFindings, UnknownState, UnknownVariable, InferenceTooLarge) as error:
        raise QuestionError(f"{source}: {error}") from error
    except ValueError as error:
        if method == "auto":
            raise
        raise QuestionError(f"{source}: {error}") from error


@contextmanager
def noted_warnings(console: Console) -> Iterator[None]:
    """Print each different warning as a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    print_notes(console, dict.fromkeys(str(warning.message) for warning in caught))
