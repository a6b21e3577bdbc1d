"""Questions to networks whose failures are told in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from credo.app.console.console import noted_warnings
from credo.app.question.question_error import QuestionError
from credo.graphs.variable import UnknownState, UnknownVariable
from credo.inference.engine.error import (
    ImpossibleFindings,
    InferenceTooLarge,
    MemoryWithheld,
)
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.network import NO_LOG_PARTITION, Network

__all__ = ["answering", "log_constant", "require_answers", "told_log_prob"]

TOO_LARGE = (InferenceTooLarge, MemoryWithheld)


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


def told_log_prob(net: Network, given: Any, do: Mapping[str, Any] | None, method: str) -> Any:
    """Return the log probability of findings, NaN if the method does not tell it."""
    if do or method in NO_LOG_PARTITION:
        return net.marginals(given, do or None, method).log_prob
    return net.log_prob(given, method)


def log_constant(net: Network, method: str) -> float:
    """Return the log of the sum of a network's density, NaN if the method does not tell it."""
    if isinstance(net, BayesianNetwork):
        return 0.0
    return math.nan if method in NO_LOG_PARTITION else float(net.log_partition(method=method))


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
    except (ImpossibleFindings, UnknownState, UnknownVariable, *TOO_LARGE) as error:
        raise QuestionError(f"{source}: {error}") from error
    except ValueError as error:
        if method == "auto":
            raise
        raise QuestionError(f"{source}: {error}") from error
