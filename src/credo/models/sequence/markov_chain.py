"""Markov chains: symbols of which each depends on the few before it.

Given the ``m`` symbols before it, the next one is categorical, with a Dirichlet belief for each
context. Counts of contexts and successors are all that sequences say, so that posterior,
predictive and evidence are exact, and orders are compared by their evidence for the same
successors. The classical test of order ``m`` against a higher one is the likelihood ratio
``2 sum n log(p_high / p_low)``, which is chi-squared in large samples [billingsley1961]_.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.beta import Beta
from credo.inference.engine.finite_chain import FiniteChain
from credo.inference.sequence.transition import TransitionBelief
from credo.models.contract.column_kinds import ColumnKinds, read_columns
from credo.models.contract.inputs import FittedInputs, generator, require_count
from credo.models.sequence.sequences import joined
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form
from credo.numerics.quotation import quote

__all__ = ["MarkovChain", "OrderTest"]

Codes = NDArray[np.int64]

MOST_CELLS = 1 << 24
"""Entries of a table of contexts and successors."""


class OrderTest(NamedTuple):
    """The likelihood ratio test of an order against a higher one.

    Attributes
    ----------
    statistic
        Twice the log of the ratio of the largest likelihoods.
    df
        Degrees of freedom: how many more free numbers the higher order has, in contexts that
        were seen.
    p_value
        Probability of a statistic as large if the lower order holds, in large samples.
    """

    statistic: float
    df: int
    p_value: float


class MarkovChain(FittedInputs, DensityMixin, BaseEstimator):
    """Sequences of symbols, each of which depends on the ``order`` symbols before it.

    ``P(s_1:T) = a(s_1:m) prod A(s_(t-m):(t-1), s_t)``.

    Parameters
    ----------
    order
        How many symbols back, m; `order_table` says what the data think of several.
    concentration
        Pseudo-count of each successor in each context; 1 for all tables equally probable.

    Attributes
    ----------
    symbols_
        The symbols, in rising order; codes are places in it.
    counts_
        Transitions that were seen, shape (K^order, K); contexts in the order of their codes,
        the last symbol running fastest.
    transition_
        Expected probabilities of the next symbol after each context, (K^order, K).
    start_
        Expected probabilities of the first context, shape (K^order,).
    posterior_
        Belief about the rows of ``transition_``.
    log_evidence_, evidence_method_
        Log probability of the sequences, tables integrated out: exact.

    Examples
    --------
    >>> model = MarkovChain().fit(list("aabbaabbab"))
    >>> model.transition_.round(3)
    array([[0.429, 0.571],
           [0.5  , 0.5  ]])
    >>> model.predict_ahead(["b"], 2).round(3)
    array([[0.5  , 0.5  ],
           [0.464, 0.536]])
    """

    columns_: ColumnKinds
    counts_: Annotated[Array, Form("c k", 0.0)]
    first_counts_: Annotated[Array, Form("c", 0.0)]
    transition_: Annotated[Array, Form("c k", 0.0, 1.01)]
    start_: Annotated[Array, Form("c", 0.0, 1.01)]
    posterior_: TransitionBelief
    n_rows_: Annotated[float, Form(low=SMALLEST)]
    log_evidence_: Annotated[float, Form(low=-np.inf, high=np.inf)]
    evidence_method_: str

    def __init__(self, order: int = 1, concentration: float = 1.0) -> None:
        self.order = order
        self.concentration = concentration

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        rows = np.tile([0.0, 1.0, 1.0, 2.0, 0.0, 2.0], 10)[:, None]
        settings = {"X": rows, "unit_free": False}
        return (Example(cls(), **settings), Example(cls(order=2), **settings))

    def fit(self, X: Any, y: object = None, lengths: Any = None) -> Self:
        """Learn from sequences of symbols.

        Parameters
        ----------
        X
            Symbols of all sequences in turn, or a list of arrays, one for each: text or whole
            numbers, of one axis or as one column.
        lengths
            Symbols of each sequence; None for a single one, or for a list; or the column of a
            pandas table that names the sequence of each row.
        """
        self._require_settings()
        code, ends = self._read(X, lengths, is_first=True)
        k, m = len(self.symbols_), int(self.order)
        self.n_rows_ = float(len(code))
        self.counts_ = _counts(code, ends, m, k)
        self.first_counts_ = _first_counts(code, ends, m, k)
        prior = self._prior(k)
        first = TransitionBelief(np.full(k**m, float(self.concentration)))
        self.posterior_ = prior.update(self.counts_)
        self.transition_ = self.posterior_.mean()
        self.start_ = first.update(self.first_counts_).mean()
        about_first = first.log_evidence(self.first_counts_)
        self.log_evidence_ = prior.log_evidence(self.counts_) + about_first
        self.evidence_method_ = "exact"
        return self

    @property
    def symbols_(self) -> NDArray[Any]:
        """The symbols, in rising order."""
        return np.array(self.columns_.states[0])

    def log_prob(self, X: Any, lengths: Any = None) -> Array:
        """Return the log probability of each sequence at the expected tables.

        A sequence shorter than the order has the probability of all contexts that begin as it.
        """
        check_is_fitted(self, "posterior_")
        code, ends = self._read(X, lengths)
        k, m = len(self.symbols_), int(self.order)
        context, successor, row = _transitions(code, ends, m, k)
        with np.errstate(divide="ignore"):
            logs = np.log(self.transition_)[context, successor]
            first = np.log([_start_of(self.start_, one, m, k) for one in _split(code, ends)])
        sequence = np.searchsorted(ends, row, side="right") - 1
        return np.asarray(first + np.bincount(sequence, logs, len(ends) - 1))

    def score(self, X: Any, y: object = None, lengths: Any = None) -> float:
        """Return the mean log probability of a symbol, given those before it."""
        total = self.log_prob(X, lengths)
        return float(total.sum() / self._read(X, lengths)[1][-1])

    def predict_ahead(self, X: Any, h: int = 1) -> Array:
        """Return the probability of each symbol 1, ..., h steps behind a sequence, (h, K)."""
        check_is_fitted(self, "posterior_")
        require_count("h", h)
        code, ends = self._read(X, None)
        k, m = len(self.symbols_), int(self.order)
        if len(ends) != 2 or len(code) < m:
            raise ValueError(
                f"X must be one sequence of at least {m} symbols; found {len(ends) - 1} of "
                f"{len(code)} symbols. Pass the last {m} symbols."
            )
        now = np.zeros(k**m)
        now[_context(code[len(code) - m :], k)] = 1.0
        answer = np.empty((h, k))
        for step in range(h):
            pair = now[:, None] * self.transition_
            answer[step] = pair.sum(axis=0)
            now = pair.reshape(k, -1).sum(axis=0) if m else now
        return answer

    def sample(self, n: int = 1, random_state: Any = None) -> NDArray[Any]:
        """Return a new sequence of ``n`` symbols at the expected tables."""
        check_is_fitted(self, "posterior_")
        require_count("n", n)
        rng = generator(random_state)
        k, m = len(self.symbols_), int(self.order)
        context = int(rng.choice(k**m, p=self.start_))
        path = [context // k ** (m - 1 - i) % k for i in range(m)]
        ends = np.cumsum(self.transition_, axis=1)
        for u in rng.random(max(n - m, 0)):
            own = ends[context]
            successor = min(int(np.searchsorted(own, u * own[-1], side="right")), k - 1)
            path.append(successor)
            context = (context * k + successor) % k**m
        return np.asarray(self.symbols_[np.array(path[:n], dtype=np.intp)])

    def stationary(self) -> Array:
        """Return the distribution of symbols that the chain keeps, shape (K,)."""
        check_is_fitted(self, "posterior_")
        k, m = len(self.symbols_), int(self.order)
        if m == 0:
            return np.asarray(self.transition_[0])
        kept = FiniteChain(self._by_context()).stationary()
        return np.asarray(kept.reshape(-1, k).sum(axis=0))

    def transition_interval(self, coverage: float = 0.9) -> Array:
        """Return central intervals of each transition probability, shape (K^order, K, 2)."""
        check_is_fitted(self, "posterior_")
        own = self.posterior_.concentration
        marginal = Beta(own, own.sum(axis=1, keepdims=True) - own)
        outside = 0.5 * (1.0 - coverage)
        ends = [marginal.quantile(outside), marginal.quantile(1.0 - outside)]
        return np.stack(ends, axis=-1)

    def sample_posterior(self, n: int = 1, random_state: Any = None) -> Array:
        """Return tables drawn from the posterior, shape (n, K^order, K)."""
        check_is_fitted(self, "posterior_")
        rng = generator(random_state)
        return np.stack([self.posterior_.sample(rng) for _ in range(n)])

    def order_table(
        self, X: Any, orders: ArrayLike = (0, 1, 2, 3), lengths: Any = None
    ) -> pd.DataFrame:
        """Return the evidence of several orders for the same successors, and what follows.

        Columns are ``log_evidence`` of all symbols that have as many before them as the highest
        order looks at; the ``probability`` of each order, if all are equally probable before;
        ``bic``; and the number of free ``parameters``.
        """
        self._require_settings()
        numbers = [int(m) for m in np.ravel(np.asarray(orders))]
        if not numbers or min(numbers) < 0:
            raise ValueError(f"orders must be 0 or more; found {quote(numbers)}. Pass some.")
        other = MarkovChain(self.order, self.concentration)
        code, ends = other._read(X, lengths, is_first=True)
        k = len(other.symbols_)
        table = pd.DataFrame(index=pd.Index(numbers, name="order"))
        for m in numbers:
            counts = _counts(code, ends, m, k, skip=max(numbers))
            prior = TransitionBelief(np.full((k**m, k), float(self.concentration)))
            table.loc[m, "log_evidence"] = prior.log_evidence(counts)
            n_free = k**m * (k - 1)
            log_likelihood = _largest_log_likelihood(counts)
            table.loc[m, "bic"] = n_free * np.log(counts.sum()) - 2.0 * log_likelihood
            table.loc[m, "parameters"] = n_free
        logs = table["log_evidence"].to_numpy()
        table["probability"] = np.exp(logs - special.logsumexp(logs))
        return table

    def test_order(self, X: Any, higher: int | None = None, lengths: Any = None) -> OrderTest:
        """Return the test of this order against a higher one, by default the next."""
        self._require_settings()
        low = int(self.order)
        high = low + 1 if higher is None else higher
        if not high > low:
            raise ValueError(
                f"higher must be above the order {low}; found {quote(higher)}. Leave it out."
            )
        other = MarkovChain(self.order, self.concentration)
        code, ends = other._read(X, lengths, is_first=True)
        k = len(other.symbols_)
        both = [_counts(code, ends, m, k, skip=high) for m in (low, high)]
        statistic = 2.0 * (_largest_log_likelihood(both[1]) - _largest_log_likelihood(both[0]))
        # Successors that a context of the lower order never had are free numbers of neither.
        is_seen = both[0] > 0
        free_low = int((is_seen.sum(axis=1) - 1)[is_seen.any(axis=1)].sum())
        width = is_seen.sum(axis=1)[np.arange(k**high) % k**low]
        free_high = int((width - 1)[both[1].any(axis=1)].sum())
        df = max(free_high - free_low, 1)
        return OrderTest(float(statistic), df, float(special.chdtrc(df, statistic)))

    def _prior(self, k: int) -> TransitionBelief:
        return TransitionBelief(np.full((k ** int(self.order), k), float(self.concentration)))

    def _by_context(self) -> Array:
        """Return the table of transitions between contexts, (K^order, K^order)."""
        k, m = len(self.symbols_), int(self.order)
        if m == 1:
            return self.transition_
        table = np.zeros((k**m, k**m))
        context = np.arange(k**m)
        for successor in range(k):
            table[context, (context * k + successor) % k**m] = self.transition_[:, successor]
        return table

    def _read(self, X: Any, lengths: Any, *, is_first: bool = False) -> tuple[Codes, Codes]:
        """Return the code of each symbol, and where sequences begin."""
        table = joined(X, lengths)
        known = "categorical" if is_first else self.columns_
        rows, kinds = read_columns(self, table.rows, known, "normal", is_strict=not is_first)
        if rows.shape[1] != 1:
            raise ValueError(
                f"X must hold one column of symbols; found {rows.shape[1]} columns. Join them "
                "into one symbol, or use HiddenMarkov."
            )
        if np.isnan(rows).any():
            raise ValueError(
                "X must have a symbol in every row; found a gap in row "
                f"{int(np.isnan(rows[:, 0]).argmax())}. Cut the sequence there, or use "
                "HiddenMarkov, which takes gaps."
            )
        if is_first:
            self.columns_ = kinds
        return rows[:, 0].astype(np.int64), table.ends

    def _require_settings(self) -> None:
        if not isinstance(self.order, int | np.integer) or not 0 <= self.order <= 20:
            raise ValueError(
                f"order must be a whole number from 0 to 20; found {quote(self.order)}. Pass 1."
            )
        if not 0 < self.concentration < np.inf:
            raise ValueError(
                f"concentration must be positive; found {quote(self.concentration)}. Pass 1.0 "
                "for tables that are all equally probable."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # What comes next depends on the rows before it.
        tags.non_deterministic = True
        return tags


def _transitions(
    code: Codes, ends: Codes, m: int, k: int, skip: int | None = None
) -> tuple[Codes, Codes, Codes]:
    """Return context, successor and row of each transition, ``skip`` rows into its sequence."""
    if k**m * k > MOST_CELLS:
        raise ValueError(
            f"the table must have at most {MOST_CELLS} entries; found {k} symbols and order "
            f"{m}. Use a lower order, or fewer symbols."
        )
    n = len(code)
    turn = np.arange(n) - np.repeat(ends[:-1], np.diff(ends))
    row = np.flatnonzero(turn >= (m if skip is None else skip))
    context = np.zeros(len(row), dtype=np.int64)
    for back in range(m, 0, -1):
        context = context * k + code[row - back]
    return context, code[row], row


def _counts(code: Codes, ends: Codes, m: int, k: int, skip: int | None = None) -> Array:
    context, successor, _ = _transitions(code, ends, m, k, skip)
    return np.bincount(context * k + successor, minlength=k**m * k).reshape(-1, k).astype(float)


def _first_counts(code: Codes, ends: Codes, m: int, k: int) -> Array:
    """Return how often each context begins a sequence; short sequences say nothing."""
    begin = ends[:-1][np.diff(ends) >= m]
    context = np.zeros(len(begin), dtype=np.int64)
    for i in range(m):
        context = context * k + code[begin + i]
    return np.bincount(context, minlength=k**m).astype(float)


def _split(code: Codes, ends: Codes) -> list[Codes]:
    return np.split(code, ends[1:-1])


def _context(code: Codes, k: int) -> int:
    place = 0
    for one in code.tolist():
        place = place * k + one
    return place


def _start_of(start: Array, code: Codes, m: int, k: int) -> float:
    """Return the probability of the first symbols of a sequence, at most ``m`` of them."""
    length = min(m, len(code))
    return float(start.reshape(k**length, -1)[_context(code[:length], k)].sum())


def _largest_log_likelihood(counts: Array) -> float:
    total = counts.sum(axis=1, keepdims=True)
    return float((special.xlogy(counts, counts) - special.xlogy(counts, total)).sum())
