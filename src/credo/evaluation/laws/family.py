"""Laws of conjugate families: beliefs obey the rules of probability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from credo.evaluation.laws.broken import expect, expect_close, run
from credo.evaluation.laws.statistics import STATISTICS_LAWS, Summary, same
from credo.numerics.array import Array, as_float

__all__ = ["check_family"]

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
        statistics,
        as_float(rows),
        settings or {},
        prior,
        read or _call,
        n_draws,
        maximum_likelihood,
    )
    laws = STATISTICS_LAWS + BELIEF_LAWS + (MONTE_CARLO_LAWS if n_draws else ())
    return run(laws, case)


@dataclass(frozen=True)
class Family(Summary):
    """A belief, its statistics and the rows to try them on."""

    prior: Any
    read: Reader
    n_draws: int
    maximum_likelihood: bool

    @cached_property
    def draws(self) -> tuple[Any, Any]:
        """The posterior, and observation distributions drawn from it."""
        belief = self.prior.update(self.total)
        return belief, belief.sample(np.random.default_rng(0), self.n_draws)

    def expected_log_likelihood(self, belief: Any) -> Array:
        """Return the mean over a belief of the log density of all weighted rows."""
        terms = [self.read(belief.expected_log_density, row) for row in self.rows]
        return np.asarray(sum(w * t for w, t in zip(self.weight, terms, strict=True)))


def _call(function: Callable[[Array], Array], row: Array) -> Array:
    return function(row)


def no_rows_leave_the_belief_alone(case: Family) -> None:
    """Without data the posterior is the prior, and the evidence one."""
    nothing = case.of(case.rows[:0])
    after = case.prior.update(case.total)
    same("no rows leave the belief alone", after.update(nothing), after)
    expect_close("no rows have probability one", after.log_evidence(nothing), 0.0)


def update_by_parts_is_update_by_sum(case: Family) -> None:
    """Yesterday's posterior is today's prior."""
    first, second = case.parts
    by_parts = case.prior.update(first).update(second)
    same("update by parts is update by the sum", by_parts, case.prior.update(first + second))


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


def divergence_is_never_negative(case: Family) -> None:
    """``kl(self) = 0 <= kl(other)``."""
    posterior = case.prior.update(case.total)
    expect_close("kl of a belief from itself is zero", case.prior.kl(case.prior), 0.0)
    for value in (posterior.kl(case.prior), case.prior.kl(posterior)):
        # Rounding may take a divergence of almost equal beliefs just below zero.
        expect("kl is never negative", bool(np.all(value >= -1e-12)), ">= 0", value)


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
    drawn = belief.sample(np.random.default_rng(0))
    for name, observation in at.items():
        law = f"with plenty of data {name} is the observation distribution at any draw"
        for row in case.rows:
            found, expected = (case.read(o.log_prob, row) for o in (observation, drawn))
            # A draw is 1e-4 of its spread away from the truth; outliers enlarge that.
            expect_close(law, found, expected, rtol=1e-2, atol=1e-2)


BELIEF_LAWS: tuple[Callable[[Family], None], ...] = (
    no_rows_leave_the_belief_alone,
    update_by_parts_is_update_by_sum,
    posterior_has_the_type_of_the_prior,
    evidence_is_the_product_of_predictives,
    evidence_obeys_the_chain_rule,
    evidence_is_fit_minus_divergence,
    divergence_is_never_negative,
)
MONTE_CARLO_LAWS: tuple[Callable[[Family], None], ...] = (
    predictive_averages_over_the_belief,
    expected_log_density_averages_over_the_belief,
    much_data_overrules_the_prior,
)
