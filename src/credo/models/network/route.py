"""The short way to an answer that was asked before about other states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
import pandas as pd

from credo.graphs.variable import Variable
from credo.inference.discrete.exact.plan import TablePlan
from credo.inference.discrete.exact.plan_outline import Question
from credo.inference.engine.account import Account
from credo.models.network.answer.answers import Answers
from credo.models.network.answer.directed_answers import DirectedAnswers
from credo.models.network.answer.table_answers import TableAnswers
from credo.models.network.value.network_answer import labelled

__all__ = ["Route", "route_to"]


@dataclass(frozen=True, eq=False)
class Route:
    """The plan of one variable given the states of some, found once and used again.

    The plan is not kept alive: where it was dropped for memory, the long way makes another.

    Attributes
    ----------
    target
        The variable asked about.
    observed
        The variables whose states are given, in the order of the plan.
    plan
        A plan of the joint question about the target alone.
    """

    target: Variable
    observed: tuple[Variable, ...]
    plan: ReferenceType[TablePlan]

    def answer(self, given: Mapping[str, Any]) -> pd.Series[float] | None:
        """Return the distribution of the target, or None if only the long way can tell.

        That is so for likelihoods, gaps, unknown states and findings that are impossible.
        """
        plan = self.plan()
        if plan is None:
            return None
        try:
            codes = [v.positions.get(given[v.name], -1) for v in self.observed]
        except TypeError:
            return None
        if -1 in codes:
            return None
        found = plan.run(np.array(codes, dtype=np.int32).reshape(-1, 1))
        if found.log_total[0] == -np.inf:
            return None
        return labelled([self.target], found.columns[0], Account())


def route_to(answers: Answers, target: Variable, observed: Sequence[Variable]) -> Route | None:
    """Return the way to the plan that such a question was answered by, if there is one.

    Only a plan of tables, whole, has one; other engines answer the long way.
    """
    tables = answers.exact if isinstance(answers, DirectedAnswers) else answers
    if not isinstance(tables, TableAnswers):
        return None
    ordered = sorted(observed, key=lambda v: tables.numbers[v.name])
    numbers = tuple(tables.numbers[v.name] for v in ordered)
    question = Question("joint", (tables.numbers[target.name],), numbers)
    plan = tables.ladder.exact.plans.get(question)
    if not isinstance(plan, TablePlan) or len(plan.outputs) != 1:
        return None
    return Route(target, tuple(ordered), ref(plan))
