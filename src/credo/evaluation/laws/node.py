"""Laws of nodes of networks: what is drawn, evaluated and tabulated is one distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.numerics.array import Array

__all__ = ["check_node"]

N_DRAWS = 8000
N_POINTS = 20_001
# The chance that a right node strays this many standard errors is below 1e-7.
ERRORS = 5.5

Columns = dict[str, NDArray[Any]]


def check_node(
    node: Any, child: Variable | None = None, parents: Sequence[Variable] = ()
) -> list[str]:
    """Check the laws of a node of a network; return the names of the laws that were run.

    Parameters
    ----------
    node
        A conditional distribution; or what people write for it, which is bound first.
    child, parents
        Variables to bind it to.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from credo.graphs import NoisyOr, Variable
    >>> cold, flu, fever = (Variable(name, (False, True)) for name in ("cold", "flu", "fever"))
    >>> names = check_node(NoisyOr({"cold": 0.4, "flu": 0.8}), fever, (cold, flu))
    >>> "factors_multiply_to_the_table" in names
    True
    """
    bound = node.bind(child, tuple(parents)) if hasattr(node, "bind") else node
    return run(LAWS, Bound(node, bound))


@dataclass(frozen=True)
class Bound:
    """A node under test, what it was written as, and settings of its parents."""

    spec: Any
    it: Any

    @cached_property
    def settings(self) -> list[dict[str, float]]:
        """Every setting of the discrete parents, with values of the real ones."""
        rng = np.random.default_rng(0)
        states = [range(p.n_states) if p.is_discrete else (0,) for p in self.it.parents]
        return [
            {
                p.name: at if p.is_discrete else float(rng.normal())
                for p, at in zip(self.it.parents, setting, strict=True)
            }
            for setting in product(*states)
        ]

    def columns(self, setting: dict[str, float], n: int) -> Columns:
        """Return the columns of the parents, all rows alike."""
        kinds = {p.name: np.intp if p.is_discrete else np.float64 for p in self.it.parents}
        return {name: np.full(n, value, kinds[name]) for name, value in setting.items()}

    def density(self, setting: dict[str, float], at: NDArray[Any]) -> Array:
        """Return the probability or density of outcomes given one setting."""
        columns = self.columns(setting, len(at)) | {self.it.child.name: at}
        return np.exp(np.asarray(self.it.log_prob(columns), dtype=np.float64))

    def draws(self, setting: dict[str, float]) -> NDArray[Any]:
        """Return draws given one setting."""
        columns = self.columns(setting, N_DRAWS)
        return np.asarray(self.it.sample(columns, N_DRAWS, np.random.default_rng(1)))

    def points(self, drawn: NDArray[Any]) -> tuple[NDArray[Any], float]:
        """Return points that cover the outcomes, and the step between them."""
        if self.it.child.is_discrete:
            return np.arange(self.it.child.n_states), 1.0
        low, high = float(drawn.min()), float(drawn.max())
        if np.array_equal(drawn, np.floor(drawn)):
            return np.arange(low - 50, high + 51), 1.0
        x = np.linspace(low - 2 * (high - low), high + 2 * (high - low), N_POINTS)
        return x, float(x[1] - x[0])


def probabilities_sum_to_one(case: Bound) -> None:
    """Whatever the parents are, the outcomes have probability one together."""
    for setting in case.settings:
        x, step = case.points(case.draws(setting))
        total = float(case.density(setting, x).sum()) * step
        # Steps across the edge of a support leave an error of their own size.
        atol = 1e-9 if step == 1.0 else 2e-3
        expect_close(f"probabilities given {setting} sum to one", total, 1.0, atol=atol)


def draws_follow_the_density(case: Bound) -> None:
    """Means of draws and of their squares, or shares of states, are what log_prob says."""
    for setting in case.settings:
        drawn = case.draws(setting)
        x, step = case.points(drawn)
        share = case.density(setting, x) * step
        for f in _functions(case.it.child):
            values = f(drawn).astype(np.float64)
            error = float(values.std()) / np.sqrt(N_DRAWS)
            slack = ERRORS * max(error, 1.0 / N_DRAWS) + (0.0 if step == 1.0 else 2e-3)
            law = f"draws given {setting} follow the density"
            expect_close(law, float(values.mean()), float((share * f(x)).sum()), atol=slack)


def the_table_is_the_density(case: Bound) -> None:
    """``table()`` holds what ``log_prob`` says, axes parents then child."""
    table = _table(case)
    states = np.arange(case.it.child.n_states)
    rows = [case.density(setting, states) for setting in case.settings]
    expect_close("table() is what log_prob says", table, np.reshape(rows, table.shape))


def factors_multiply_to_the_table(case: Bound) -> None:
    """Multiplied and summed over auxiliary variables, ``factors()`` are the table."""
    table = _table(case)
    scope = (*case.it.parents, case.it.child)
    found = _product(case.it.factors(), [v.name for v in scope])
    expect_close("factors() multiply to table()", found, table)


def the_last_variable_of_a_factor_depends_on_the_others(case: Bound) -> None:
    """Every factor is the distribution of its last variable given the others."""
    _table(case)
    for factor in case.it.factors():
        total = factor.table().sum(axis=-1)
        expect_close("a factor sums to one over its last variable", total, 1.0)


def proposed_states_can_be_bound(case: Bound) -> None:
    """As many states are proposed as can be bound; none if the child is real."""
    if not hasattr(case.spec, "child_states"):
        raise NotApplicable
    states, child = case.spec.child_states(case.it.parents), case.it.child
    is_right = states is None or (child.is_discrete and len(states) == child.n_states)
    expected = f"{child.n_states} states" if child.is_discrete else "none"
    expect("proposed states can be bound", is_right, expected, states)


def _functions(child: Variable) -> list[Any]:
    if child.is_discrete:
        return [lambda x, k=k: x == k for k in range(child.n_states)]
    return [lambda x: x, lambda x: x**2]


def _table(case: Bound) -> Array:
    if not hasattr(case.it, "table"):
        raise NotApplicable
    return np.asarray(case.it.table().table())


def _product(factors: Sequence[Factor], names: list[str]) -> Array:
    """Return the product summed over all variables but some, which become the axes."""
    places: dict[str, int] = {}
    arguments: list[Any] = []
    for factor in factors:
        for name in factor.names:
            places.setdefault(name, len(places))
        arguments += [factor.table(), [places[name] for name in factor.names]]
    return np.asarray(np.einsum(*arguments, [places[name] for name in names]))


LAWS = (
    probabilities_sum_to_one,
    draws_follow_the_density,
    the_table_is_the_density,
    factors_multiply_to_the_table,
    the_last_variable_of_a_factor_depends_on_the_others,
    proposed_states_can_be_bound,
)
