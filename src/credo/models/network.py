"""The questions that every network answers, labelled by names and states."""

from __future__ import annotations

from credo.graphs.variable import Variable

__all__ = ["Network"]


class Network:
    """What Bayesian networks, Markov random fields and factor graphs have in common."""

    variables: dict[str, Variable]
