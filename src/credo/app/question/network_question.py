"""Networks from files and questions to them, whose failures are one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from credo.app.console.console import noted_warnings
from credo.data.error import DataError
from credo.data.network_file.network_file import load_network
from credo.graphs.variable import UnknownState, UnknownVariable
from credo.inference.engine.error import (
    ImpossibleFindings,
    InferenceTooLarge,
    MemoryWithheld,
)
from credo.inference.engine.method import tells_total
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.network import Network

__all__ = [
    "QuestionError",
    "answering",
    "found_log_prob",
    "log_constant",
    "opened_network",
    "require_answers",
]

TOO_LARGE = (InferenceTooLarge, MemoryWithheld)


class QuestionError(DataError):
    """A question with unknown names, findings that contradict each other, or no answer."""


def opened_network(path: Path, console: Console) -> BayesianNetwork | MarkovRandomField:
    """Return the network in a file; each warning on the way is printed as a note."""
    with noted_warnings(console):
        return load_network(path)


def require_answers(net: Network, source: str, do: Mapping[str, Any]) -> None:
    """Raise a `QuestionError` unless the network has tables, and arrows if some are set."""
    if do and not isinstance(net, BayesianNetwork):
        raise QuestionError(
            f"`do` needs a Bayesian network, whose arrows say what causes what; found that "
            f"{source} has none; use `given` for what was observed."
        )
    if isinstance(net, BayesianNetwork) and not net.conditionals:
        raise QuestionError(
            f"{source} must hold a table for each variable; found only the structure; add the "
            "tables."
        )


def found_log_prob(net: Network, given: Any, do: Mapping[str, Any] | None, method: str) -> Any:
    """Return the log probability of findings, NaN if the method does not find it."""
    if do or not tells_total(method):
        return net.marginals(given, do or None, method).log_prob
    return net.log_prob(given, method)


def log_constant(net: Network, method: str) -> float:
    """Return the log of the sum of a network's density, NaN if the method does not find it."""
    if isinstance(net, BayesianNetwork):
        return 0.0
    return float(net.log_partition(method=method)) if tells_total(method) else math.nan


@contextmanager
def answering(source: str, console: Console, method: str = "auto") -> Iterator[None]:
    """Print warnings as notes, and raise a `QuestionError` where there is no answer.

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
    except (ImpossibleFindings, UnknownState, UnknownVariable, *TOO_LARGE) as error:
        raise QuestionError(f"{source}: {error}") from error
    except ValueError as error:
        if method == "auto":
            raise
        raise QuestionError(f"{source}: {error}") from error
