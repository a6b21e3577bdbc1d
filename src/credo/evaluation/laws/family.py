"""Laws of conjugate families: statistics add up, beliefs obey the rules of probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.numerics.array import Array, as_float

__all__ = ["check_family", "check_statistics"]

Reader = Callable[[Callable[[Array], Array], Array], Array]


def check_family(
    prior: Any,
    statistics: Any,
    rows: ArrayLike,
    settings: Mapping[str, Any] | None = None,
    read: Reader | None = None,
    n_draws: int = 4000,
    maximum_likelihood: bool = True,
) -> list[str]:
    """Check the laws of a conjugate family; return the names of the laws that were run.

    Parameters
    ----------
    prior
        A proper belief with ``update``, ``predictive``, ``log_evidence``, ``mean``, ``mode``,
        ``sample(rng, n)``, ``expected_log_density`` and ``kl``.
    statistics
        The class whose ``of(rows, weight)`` summarizes rows; ``by_group`` is checked if it
        is there.
    rows
        At least six rows of data from the support of the family, none missing.
    settings
        Further arguments of ``of`` and ``by_group``, such as ``n_states``.
    read
        How to read a log density at one row, if not by calling it: ``read(function, row)``.
    n_draws
        Draws for the laws that need Monte Carlo; 0 leaves these laws out.
    maximum_likelihood
        False where ``statistics.maximum_likelihood()`` speaks of another model, as when
        several beliefs share statistics.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from credo.families import BernoulliStatistics, BetaBernoulli
    >>> rows = [[0.0], [1.0], [1.0], [0.0], [1.0], [1.0]]
    >>> names = check_family(BetaBernoulli(1.0, 2.0), BernoulliStatistics, rows)
    >>> "subtraction_forgets" in names
    True
    """
    case = Family(
        prior,
        statistics,
        as_float(rows),
        settings or {},
        read or _call,
        n_draws,
        maximum_likelihood,
    )
    laws = STATISTICS_LAWS + BELIEF_LAWS + (MONTE_CARLO_LAWS if n_draws else ())
    return run(laws, case)


def check_statistics(
    statistics: Any, rows: ArrayLike, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Check the laws of additive statistics alone; return the names of the laws that were run.

    Parameters are those of `check_family`.

    Examples
    --------
    >>> from credo.families import NormalStatistics
    >>> len(check_statistics(NormalStatistics, np.arange(14.0).reshape(7, 2)))
    9
    """
    case = Family(None, statistics, as_float(rows), settings or {}, _call, 0, False)
    return run(STATISTICS_LAWS, case)


@dataclass(frozen=True)
class Family:
    """A belief, its statistics and the rows to try them on."""

    prior: Any
    statistics: Any
    rows: Array
    settings: Mapping[str, Any]
    read: Reader
    n_draws: int
    maximum_likelihood: bool
    weight: Array = field(init=False)

    def __post_init__(self) -> None:
        steps = np.arange(len(self.rows))
        object.__setattr__(self, "weight", 0.25 + (steps * 0.618) % 1.0)

    def of(self, rows: Array, weight: ArrayLike = 1.0) -> Any:
        """Return the statistics of rows."""
        return self.statistics.of(rows, weight, **self.settings)

    @cached_property
    def draws(self) -> tuple[Any, Any]:
        """The posterior, and observation distributions drawn from it."""
        belief = self.prior.update(self.total)
        return belief, belief.sample(np.random.default_rng(0), self.n_draws)

    @cached_property
    def parts(self) -> tuple[Any, Any]:
        """Statistics of the first third and of the rest, with uneven weights."""
        cut = len(self.rows) // 3
        first = self.of(self.rows[:cut], self.weight[:cut])
        return first, self.of(self.rows[cut:], self.weight[cut:])

    @cached_property
    def total(self) -> Any:
        """Statistics of all rows, with uneven weights."""
        return self.of(self.rows, self.weight)

    def expected_log_likelihood(self, belief: Any) -> Array:
        """Return the mean over a belief of the log density of all weighted rows."""
        terms = [self.read(belief.expected_log_density, row) for row in self.rows]
        return np.asarray(sum(w * t for w, t in zip(self.weight, terms, strict=True)))


def _call(function: Callable[[Array], Array], row: Array) -> Array:
    return function(row)


def _same(law: str, found: Any, expected: Any, atol: float = 1e-9) -> None:
    """Break the law unless two values of one type have equal fields."""
    for part in fields(expected):
        one, two = getattr(found, part.name), getattr(expected, part.name)
        where = f"{law} ({type(expected).__name__}.{part.name})"
        if is_dataclass(two):
            expect(where, type(one) is type(two), type(two).__name__, type(one).__name__)
            _same(law, one, two, atol)
            continue
        # A mean of values that cancel is as exact as the values, not as itself.
        size = float(np.abs(two).max(initial=0.0))
        expect_close(where, one, two, rtol=1e-7, atol=atol * (1.0 + size))


def nothing_is_the_identity(case: Family) -> None:
    """Check that adding no rows changes nothing."""
    law = "statistics of no rows change nothing"
    nothing = case.of(case.rows[:0])
    _same(law, nothing + case.total, case.total)
    _same(law, case.total + nothing, case.total)


def addition_pools(case: Family) -> None:
    """Statistics of pooled rows are the sum of statistics."""
    first, second = case.parts
    _same("statistics of pooled rows are the sum of statistics", first + second, case.total)


def addition_commutes(case: Family) -> None:
    """Check that ``a + b = b + a``."""
    first, second = case.parts
    _same("a + b = b + a", first + second, second + first)


def row_order_is_irrelevant(case: Family) -> None:
    """Rows are exchangeable."""
    backward = case.of(case.rows[::-1], case.weight[::-1])
    _same("the order of rows is irrelevant", backward, case.total)


def subtraction_forgets(case: Family) -> None:
    """Check that ``a + b - b = a``."""
    first, second = case.parts
    _same("a + b - b = a", first + second - second, first, atol=1e-8)
    _same("a - a + b = b", first - first + second, second)


def weight_two_is_the_row_twice(case: Family) -> None:
    """Check that a weight counts copies of a row."""
    twice = case.of(np.concatenate([case.rows, case.rows]))
    _same("a weight of two is the row twice", case.of(case.rows, 2.0), twice)


def weight_zero_is_absent(case: Family) -> None:
    """Check that a row without weight was not seen."""
    weight = (np.arange(len(case.rows)) % 2).astype(np.float64)
    _same(
        "a row of weight zero is absent", case.of(case.rows, weight), case.of(case.rows[1::2])
    )


def missing_is_absent(case: Family) -> None:
    """Check that a NaN carries no weight, and tells nothing about other features."""
    law = "a missing value is an absent value"
    rows = case.rows.copy()
    rows[::2, 0] = np.nan
    try:
        found = case.of(rows, case.weight)
    except ValueError as refusal:
        raise NotApplicable from refusal
    kept = ~np.isnan(rows[:, 0])
    _same(law, found[0], case.of(rows[kept][:, [0]], case.weight[kept])[0])
    for j in range(1, rows.shape[1]):
        _same(law, found[j], case.of(rows[:, [j]], case.weight)[0])


def groups_are_separate(case: Family) -> None:
    """``by_group`` equals one call per group, with and without rows in it."""
    if not hasattr(case.statistics, "by_group"):
        raise NotApplicable
    label = np.arange(len(case.rows)) % 3
    label[label == 1] = 3
    grouped = case.statistics.by_group(case.rows, label, 4, case.weight, **case.settings)
    for group in range(4):
        alone = case.of(case.rows[label == group], case.weight[label == group])
        _same("by_group equals one summary per group", grouped[group], alone)
    if hasattr(grouped, "pooled"):
        _same("groups pool to the whole", grouped.pooled(), case.total)


def no_rows_leave_the_belief_alone(case: Family) -> None:
    """Without data the posterior is the prior, and the evidence one."""
    nothing = case.of(case.rows[:0])
    after = case.prior.update(case.total)
    _same("no rows leave the belief alone", after.update(nothing), after)
    expect_close("no rows have probability one", after.log_evidence(nothing), 0.0)


def update_by_parts_is_update_by_sum(case: Family) -> None:
    """Yesterday's posterior is today's prior."""
    first, second = case.parts
    by_parts = case.prior.update(first).update(second)
    _same("update by parts is update by the sum", by_parts, case.prior.update(first + second))


def posterior_has_the_type_of_the_prior(case: Family) -> None:
    """Check that the family is conjugate."""
    posterior = case.prior.update(case.total)
    expected, found = type(case.prior).__name__, type(posterior).__name__
    expect("prior and posterior are one type", expected == found, expected, found)


def evidence_is_the_product_of_predictives(case: Family) -> None:
    """``p(x1, x2, ...) = p(x1) p(x2 | x1) ...``."""
    total: Any = 0.0
    belief = case.prior
    for row in case.rows:
        total = total + case.read(belief.predictive().log_prob, row)
        belief = belief.update(case.of(row[None]))
    law = "evidence is the product of one-step predictives"
    expect_close(law, case.prior.log_evidence(case.of(case.rows)), total, rtol=1e-8)


def evidence_obeys_the_chain_rule(case: Family) -> None:
    """``p(a, b) = p(a) p(b | a)``, fractional weights included."""
    first, second = case.parts
    expected = case.prior.log_evidence(first) + case.prior.update(first).log_evidence(second)
    law = "evidence of the whole is that of a part times that of the rest given it"
    expect_close(law, case.prior.log_evidence(case.total), expected, rtol=1e-8)


def evidence_is_fit_minus_divergence(case: Family) -> None:
    """``log p(D) = E[log p(D | parameters)] - KL(posterior | prior)``, under the posterior."""
    posterior = case.prior.update(case.total)
    expected = case.expected_log_likelihood(posterior) - posterior.kl(case.prior)
    law = "evidence is expected log likelihood minus divergence from the prior"
    expect_close(law, case.prior.log_evidence(case.total), expected, rtol=1e-7, atol=1e-8)


def divergence_is_zero_only_from_itself(case: Family) -> None:
    """``kl(self) = 0 <= kl(other)``."""
    posterior = case.prior.update(case.total)
    expect_close("kl of a belief from itself is zero", case.prior.kl(case.prior), 0.0)
    for value in (posterior.kl(case.prior), case.prior.kl(posterior)):
        expect(
            "kl is positive between different beliefs", bool((value > 0).all()), "> 0", value
        )


def predictive_averages_over_the_belief(case: Family) -> None:
    """``p(x) = E[p(x | parameters)]``, by Monte Carlo within its own error."""
    belief, draws = case.draws
    for row in case.rows[:3]:
        prob = np.exp(case.read(draws.log_prob, row))
        expected = np.exp(case.read(belief.predictive().log_prob, row))
        error = prob.std(axis=0) / np.sqrt(len(prob))
        law = "the predictive is the average of the observation distribution over the belief"
        expect_close(law, prob.mean(axis=0), expected, rtol=1e-9, atol=5.5 * error + 1e-12)


def expected_log_density_averages_over_the_belief(case: Family) -> None:
    """``E[log p(x | parameters)]`` by Monte Carlo within its own error."""
    belief, draws = case.draws
    for row in case.rows[:3]:
        log_prob = case.read(draws.log_prob, row)
        expected = case.read(belief.expected_log_density, row)
        error = log_prob.std(axis=0) / np.sqrt(len(log_prob))
        law = "expected_log_density is the average of log_prob over the belief"
        expect_close(law, log_prob.mean(axis=0), expected, rtol=1e-9, atol=5.5 * error + 1e-12)


def much_data_overrules_the_prior(case: Family) -> None:
    """Mean, mode, predictive and maximum likelihood agree when data are plentiful."""
    plenty = case.of(case.rows, 1e8)
    belief = case.prior.update(plenty)
    at = {
        "mean()": belief.mean(),
        "mode()": belief.mode(),
        "predictive()": belief.predictive(),
    }
    if case.maximum_likelihood:
        at["maximum_likelihood()"] = plenty.maximum_likelihood()
    expected = [
        case.read(belief.sample(np.random.default_rng(0)).log_prob, r) for r in case.rows
    ]
    for name, observation in at.items():
        found = [case.read(observation.log_prob, row) for row in case.rows]
        law = f"with plenty of data {name} is the observation distribution at any draw"
        # A draw is 1e-4 of its spread away from the truth; outliers enlarge that.
        expect_close(law, found, expected, rtol=1e-2, atol=1e-2)


STATISTICS_LAWS: tuple[Callable[[Family], None], ...] = (
    nothing_is_the_identity,
    addition_pools,
    addition_commutes,
    row_order_is_irrelevant,
    subtraction_forgets,
    weight_two_is_the_row_twice,
    weight_zero_is_absent,
    missing_is_absent,
    groups_are_separate,
)
BELIEF_LAWS: tuple[Callable[[Family], None], ...] = (
    no_rows_leave_the_belief_alone,
    update_by_parts_is_update_by_sum,
    posterior_has_the_type_of_the_prior,
    evidence_is_the_product_of_predictives,
    evidence_obeys_the_chain_rule,
    evidence_is_fit_minus_divergence,
    divergence_is_zero_only_from_itself,
)
MONTE_CARLO_LAWS: tuple[Callable[[Family], None], ...] = (
    predictive_averages_over_the_belief,
    expected_log_density_averages_over_the_belief,
    much_data_overrules_the_prior,
)
