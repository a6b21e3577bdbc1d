"""Hidden Markov models: rows in sequences, each of a state that follows a Markov chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator, DensityMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.distributions.independent_columns import IndependentColumns
from credo.distributions.mixture import Mixture
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.multivariate_student_t import MultivariateStudentT
from credo.distributions.normal import Normal
from credo.distributions.student_t import StudentT
from credo.families.belief import Belief
from credo.families.categorical import DirichletCategorical
from credo.families.known import Known
from credo.families.multivariate_normal import NormalInverseWishart, TiedNormalInverseWishart
from credo.families.normal import NormalInverseGamma, SphericalNormalInverseGamma
from credo.families.normal_component import COVARIANCES, mixture_belief
from credo.families.product import Product
from credo.inference.engine.engine import Inference, run
from credo.inference.engine.finite_chain import FiniteChain
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows
from credo.inference.latent.mixture_search import MixtureHistory, MixtureSearch
from credo.inference.latent.partition import (
    BlockedGibbs,
    PartitionDraws,
    aligned,
    kept_draws,
)
from credo.inference.sequence.hidden_chain import filtered
from credo.inference.sequence.hidden_markov import (
    HiddenChain,
    HiddenChainBelief,
    HiddenMarkovProblem,
    require_possible,
)
from credo.inference.sequence.transition import FixedTable, TransitionBelief
from credo.models.contract.column_kinds import (
    ColumnKinds,
    VaryingColumns,
    column_belief,
    read_columns,
)
from credo.models.contract.inputs import (
    generator,
    inference_name,
    require_choice,
    require_count,
)
from credo.models.sequence.sequences import SequenceTable, joined
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form
from credo.numerics.quotation import quote
from credo.numerics.special.log_domain import log_sum_exp

__all__ = ["FilterState", "HiddenMarkov"]

Codes = NDArray[np.int64]

ENGINES: Mapping[str, type | None] = MappingProxyType(
    {"map": ExpectationMaximization, "ml": None, "variational": None, "gibbs": BlockedGibbs}
)
STARTS = ("free", "stationary")
TABLES = ("free", "left-to-right")
EMISSIONS = ("normal", "vector", "categorical", "bernoulli", "poisson", "exponential")
ROUNDING = 1e-6

N_STRETCHES = 4
"""Stretches of rows in each fold."""


class HiddenMarkov(VaryingColumns, DensityMixin, BaseEstimator):
    """Sequences of rows whose states are hidden and follow a Markov chain.

    ``p(s, y) = a(s_1) prod A(s_(t-1), s_t) prod p(y_t | s_t)``. Gaps (NaN) are integrated out,
    rows without any value as well.

    Parameters
    ----------
    n_states
        How many states, K; `state_table` says what the data think of several numbers.
    emission
        What rows are in a state: "normal", of a ``covariance``; "categorical", "bernoulli",
        "poisson" or "exponential" for all columns, independent of each other; a mapping from
        column (name or position) to one of these or "vector", the others being what their type
        says; or a belief from `credo.families` about the rows of any state.
    covariance
        Of normal rows: "full", "tied", "diagonal" or "spherical".
    inference
        "map" for the most probable parameters under a weak prior, "ml" for those of largest
        likelihood, "variational" for a belief about them and a bound of the evidence, "gibbs"
        for draws of parameters and whole paths; or an engine with limits, such as
        ``BlockedGibbs(2000)`` for "gibbs".
    start
        "free" probabilities of the first state, or "stationary" ones, as the chain keeps them.
    transition
        "free"; "left-to-right" for states that are never gone back to, begun in the first; a
        table of truth values that says which transitions may be made; or a table of
        probabilities that is fixed.
    n_restarts
        Starts, from the best of which states are split and merged.
    max_steps
        Steps of expectation maximization after which it gives up, with a warning.
    random_state
        Where starts come from.

    Attributes
    ----------
    start_, transition_
        Probabilities of the first and the next state, shapes (K,) and (K, K).
    emission_
        Density of a row in each state, in the columns that vary.
    chain_
        All three, by which questions are answered.
    chains_
        Chains that probabilities of rows and of states are averaged over: several if inference
        is "gibbs", of which ``chain_`` is the one under which the rows are likeliest.
    posterior_
        Parameters as a `HiddenChain`, the belief about them, or draws of states as
        `PartitionDraws`.
    bound_
        Lower bound of the log evidence; NaN unless inference is "variational".
    log_evidence_, evidence_method_
        The bound, or minus half of BIC, and which.
    history_
        Parameters and objective at each step, and all climbs of the search.
    inference_
        The answer of the engine.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> calm, wild = rng.normal(0.0, 1.0, (60, 1)), rng.normal(0.0, 5.0, (40, 1))
    >>> model = HiddenMarkov(2).fit(np.concatenate([calm, wild, calm]))
    >>> np.sqrt(model.emission_.variance()).ravel().round(1)
    array([0.9, 4.9])
    >>> model.decode([[0.1], [-7.0], [8.0], [0.3]])
    array([0, 1, 1, 1])
    """

    columns_: ColumnKinds
    prior_: HiddenChainBelief
    posterior_: HiddenChain | HiddenChainBelief | PartitionDraws
    chains_: tuple[HiddenChain, ...]
    inference_: Inference
    chain_: HiddenChain
    emission_: Distribution
    start_: Annotated[Array, Form("k", 0.0, 1.01)]
    transition_: Annotated[Array, Form("k k", 0.0, 1.01)]
    n_rows_: Annotated[float, Form(low=SMALLEST)]
    n_sequences_: Annotated[int, Form(low=1)]
    bound_: Annotated[float, Form(low=-np.inf, high=np.inf, has_gaps=True)]
    log_evidence_: Annotated[float, Form(low=-np.inf, high=np.inf, has_gaps=True)]
    evidence_method_: str
    history_: MixtureHistory

    def __init__(
        self,
        n_states: int = 2,
        emission: Any = "normal",
        covariance: str = "full",
        inference: Any = "map",
        start: str = "free",
        transition: Any = "free",
        n_restarts: int = 4,
        max_steps: int = 2000,
        random_state: Any = 0,
    ) -> None:
        self.n_states = n_states
        self.emission = emission
        self.covariance = covariance
        self.inference = inference
        self.start = start
        self.transition = transition
        self.n_restarts = n_restarts
        self.max_steps = max_steps
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (
            Example(cls(n_restarts=1), rtol=0.03),
            Example(
                cls(covariance="diagonal", inference="variational", n_restarts=1), rtol=0.05
            ),
        )

    @classmethod
    def from_parameters(
        cls, start: ArrayLike, transition: ArrayLike, emission: Any, **settings: Any
    ) -> Self:
        """Return a model with given parameters.

        Parameters
        ----------
        start, transition
            Probabilities, shapes (K,) and (K, K), of rows that sum to one.
        emission
            Distribution of a row in each state: of vectors, batch shape (K,), or of independent
            columns, (K, d); or a table (K, n_symbols) of probabilities of symbols 0, 1, ...

        Examples
        --------
        >>> symbols = [[0.9, 0.1], [0.5, 0.5]]
        >>> coin = HiddenMarkov.from_parameters([1, 0], [[0, 1], [1, 0]], symbols)
        >>> float(np.exp(coin.log_prob([0, 0, 1])[0]).round(4))
        0.045
        """
        first = _probabilities("start", start, 1)
        table = _probabilities("transition", transition, 2)
        k = len(first)
        if table.shape != (k, k):
            raise ValueError(
                f"transition must be a table of {k} rows and columns, as many as start has "
                f"states; found the shape {table.shape}. Give a row for each state."
            )
        states: tuple[str, ...] = ()
        if not isinstance(emission, Distribution):
            symbols = _probabilities("emission", emission, 2)
            emission = Categorical(symbols[:, None, :])
            states = tuple(map(str, range(symbols.shape[1])))
        shape = emission.event_shape or emission.batch_shape[-1:]
        if emission.batch_shape[:1] != (k,) or len(shape) != 1:
            raise ValueError(
                f"emission must have the batch shape ({k},) for vectors or ({k}, n_columns) "
                f"for independent columns; found {emission.batch_shape} and events of shape "
                f"{emission.event_shape}. Give one density for each state."
            )
        d = int(shape[0])
        model = cls(k, **settings)
        kind = "categorical" if states else "normal"
        model.columns_ = ColumnKinds((kind,) * d, (states,) * d)
        model.n_features_in_ = d
        model.varying_, model.constant_ = np.arange(d), np.zeros(d)
        return model._with_chain(HiddenChain(first, table, emission))

    def fit(
        self,
        X: Any,
        y: object = None,
        lengths: Any = None,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X
            Rows (n, d) of all sequences in turn, or a list of arrays, one for each; whole
            numbers or text of one axis are one column. NaN is missing.
        lengths
            Rows of each sequence; None for a single one, or for a list; or the column of a
            pandas table that names the sequence of each row.
        labels
            The state of each row, from 0 to K - 1, or -1 where it is not known.
        """
        self._require_settings()
        table = joined(X, lengths)
        rows = self._read(table, is_first=True)
        label = _state_labels(labels, table, int(self.n_states))
        return self._fitted(rows, label, table.ends)

    def _fitted(
        self, rows: Array, label: NDArray[np.intp], ends: Codes, usual: int = 0
    ) -> Self:
        """Learn from coded rows, by priors that are usual for some number of states."""
        k = int(self.n_states)
        _require_values(rows, min(k, 2) if any(self.columns_.states) else k)
        rows = self._without_constants(rows, np.ones(len(rows)), not self._is_free_of_units)
        data = IncompleteRows(rows, label, np.ones(len(rows)), k)
        self.n_rows_, self.n_sequences_ = float(len(rows)), len(ends) - 1
        self.prior_ = self._prior(data, usual or k)
        is_draws = self._way == "gibbs"
        problem = HiddenMarkovProblem(
            data,
            ends,
            self.prior_,
            self._way != "variational",
            self._way in ("map", "gibbs"),
            is_stationary=self.start == "stationary",
        )
        engine = ExpectationMaximization(1e-8, int(self.max_steps))
        if isinstance(self.inference, ExpectationMaximization):
            engine = self.inference
        # Chains settle slowly: which start leads highest shows late.
        search = MixtureSearch(engine, int(self.n_restarts), 4, 200, 1e-6)
        rng = generator(self.random_state)
        found, self.history_ = search.best(problem, rng)
        return self._drawn(problem, found, rng) if is_draws else self._learned(found)

    def predict_proba(self, X: Any, lengths: Any = None, given: str = "all") -> Array:
        """Return the probability of each state for each row, shape (n, K).

        Parameters
        ----------
        given
            "all" rows of the sequence, or "past" ones up to the row itself.
        """
        require_choice("given", given, ("all", "past"))
        rows, table = self._asked(X, lengths)
        if given == "past":
            found = [chain.filtered(rows, table.ends) for chain in self.chains_]
        else:
            found = [chain.smoothed(rows, table.ends).belief for chain in self.chains_]
        if len(found) == 1:
            return table.in_place(found[0])
        logs = np.stack([chain.log_prob(rows, table.ends) for chain in self.chains_])
        share = np.exp(logs - log_sum_exp(logs, axis=0))
        of_row = np.repeat(share, np.diff(table.ends), axis=1)
        return table.in_place(np.einsum("sn,snk->nk", of_row, np.stack(found)))

    def predict(self, X: Any, lengths: Any = None) -> Codes:
        """Return the most probable state of each row, each by itself, shape (n,).

        Together they may make a transition that is impossible; `decode` never does.
        """
        return np.asarray(self.predict_proba(X, lengths).argmax(axis=1))

    def decode(self, X: Any, lengths: Any = None) -> Codes:
        """Return the most probable path of each sequence as a whole, shape (n,)."""
        rows, table = self._asked(X, lengths)
        return table.in_place(self.chain_.best_path(rows, table.ends))

    def sample_paths(
        self, X: Any, n: int = 1, lengths: Any = None, random_state: Any = None
    ) -> Codes:
        """Return paths drawn given all rows, shape (n, n_rows)."""
        rows, table = self._asked(X, lengths)
        rng = generator(random_state)
        paths = [self.chain_.drawn_path(rows, table.ends, rng) for _ in range(n)]
        return np.stack([table.in_place(path) for path in paths])

    def path_log_prob(self, X: Any, path: ArrayLike, lengths: Any = None) -> Array:
        """Return the log probability of a path given all rows, for each sequence."""
        rows, table = self._asked(X, lengths)
        states = np.asarray(path, dtype=np.int64)
        if states.shape != (len(rows),) or states.min() < 0 or states.max() >= len(self.start_):
            raise ValueError(
                f"path must be a state from 0 to {len(self.start_) - 1} for each of "
                f"{len(rows)} rows; found {quote(states.tolist()[:8])}. Number states from 0."
            )
        states = states if table.place is None else states[table.place]
        joint = self.chain_.log_joint(rows, states, table.ends)
        return np.asarray(joint - self.chain_.log_prob(rows, table.ends))

    def log_prob(self, X: Any, lengths: Any = None) -> Array:
        """Return the log density of each sequence, shape (n_sequences,)."""
        rows, table = self._asked(X, lengths)
        return self._log_prob(rows, table)

    def _log_prob(self, rows: Array, table: SequenceTable) -> Array:
        """Return the log density of each sequence, averaged over chains."""
        if len(self.chains_) == 1:
            return self.chain_.log_prob(rows, table.ends)
        logs = np.stack([chain.log_prob(rows, table.ends) for chain in self.chains_])
        return np.asarray(log_sum_exp(logs, axis=0) - np.log(len(self.chains_)))

    def score(self, X: Any, y: object = None, lengths: Any = None) -> float:
        """Return the mean log density of a row, given the rows before it."""
        rows, table = self._asked(X, lengths)
        return float(self._log_prob(rows, table).sum() / len(rows))

    def filter(self, X: Any) -> FilterState:
        """Return what is known of the state after the rows of one sequence.

        Examples
        --------
        >>> model = HiddenMarkov.from_parameters(
        ...     [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]]
        ... )
        >>> known = model.filter([0, 1])
        >>> known.update(1).belief.round(4)
        array([0.0485, 0.9515])
        """
        rows, table = self._asked(X, None)
        if len(table.ends) != 2:
            raise ValueError(
                f"X must be one sequence; found {len(table.ends) - 1}. Filter one at a time."
            )
        belief, log_prob = self.chain_.last_belief(rows, table.ends)
        require_possible(log_prob)
        return FilterState(self, belief[0], float(log_prob[0]), len(rows))

    def forecast(self, X: Any, h: int = 1) -> Mixture:
        """Return the distribution of each of the ``h`` rows behind those of one sequence.

        A mixture over states for each step, batch shape (h,), or (h, d) column by column; of
        columns of several families, of whole rows.
        """
        return self.filter(X).forecast(h)

    def sample(
        self, n: int = 1, n_sequences: int = 1, random_state: Any = None
    ) -> tuple[Any, Codes]:
        """Return rows of new sequences of length ``n``, and the states they are in.

        Rows have the shape (n_sequences * n, d), with the symbols that came in.
        """
        check_is_fitted(self, "chain_")
        require_count("n", n)
        require_count("n_sequences", n_sequences)
        lengths = np.full(n_sequences, n, dtype=np.int64)
        drawn, path = self.chain_.sample(generator(random_state), lengths)
        rows = np.repeat(self.constant_[None], len(drawn), axis=0)
        rows[:, self.varying_] = drawn
        names = getattr(self, "feature_names_in_", None)
        if names is None and any(self.columns_.states):
            return _symbols(self.columns_, rows), path
        return self.columns_.table(rows, names), path

    def stationary(self) -> Array:
        """Return the distribution of states that the chain keeps, shape (K,)."""
        check_is_fitted(self, "chain_")
        return FiniteChain(self.transition_).stationary()

    def expected_durations(self) -> Array:
        """Return how many rows in a row a state is expected to last, shape (K,)."""
        check_is_fitted(self, "chain_")
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (1.0 - np.diagonal(self.transition_)))

    def bic(self, X: Any = None, lengths: Any = None) -> float:
        """Return ``-2 log likelihood + n_parameters log n`` of the data, or of other rows."""
        check_is_fitted(self, "chain_")
        if X is None:
            return -2.0 * self.log_evidence_ if self.evidence_method_ == "bic" else np.nan
        rows, table = self._asked(X, lengths)
        log_likelihood = float(self.chain_.log_prob(rows, table.ends).sum())
        return -2.0 * log_likelihood + self.n_parameters * float(np.log(len(rows)))

    def state_table(
        self,
        X: Any,
        counts: Sequence[int] = (1, 2, 3, 4),
        lengths: Any = None,
        n_folds: int = 5,
    ) -> pd.DataFrame:
        """Return what three ways say of several numbers of states, side by side.

        Columns are ``bic`` of the most probable fit, lower is better; ``bound`` of the log
        evidence under one prior for all K, with the log of the number of ways to name states
        that have rows; ``held_out``, the mean log density of rows of left-out stretches given
        all others, and its standard error over folds.
        """
        table = joined(X, lengths)
        rows = clone(self)._read(table, is_first=True)
        numbers = [int(count) for count in counts]
        answer = pd.DataFrame(index=pd.Index(numbers, name="n_states"))
        block = np.arange(len(rows)) * n_folds * N_STRETCHES // len(rows)
        for k in numbers:
            answer.loc[k, "bic"] = self._other(k, "map", rows, table).bic()
            answer.loc[k, "bound"] = self._bound(k, rows, table, max(numbers))
            scores = [
                self._held_out(k, rows, table, block % n_folds == fold)
                for fold in range(n_folds)
            ]
            answer.loc[k, "held_out"] = np.mean(scores)
            answer.loc[k, "held_out_error"] = np.std(scores, ddof=1) / np.sqrt(n_folds)
        return answer

    def _other(
        self, k: int, inference: str, rows: Array, table: SequenceTable, usual: int = 0
    ) -> Self:
        """Return another number of states, fitted to coded rows."""
        model: Self = clone(self).set_params(n_states=k, inference=inference)
        model._require_settings()
        model._read(table, is_first=True)
        return model._fitted(rows, np.full(len(rows), -1), table.ends, usual)

    def _bound(self, k: int, rows: Array, table: SequenceTable, most: int) -> float:
        """Return the bound of K states under a prior that is the same for all K."""
        usual = max(1, round(float(np.sqrt(most))))
        base = clone(self).set_params(start="free")
        model = base._other(k, "variational", rows, table, usual)
        share = model.chain_.smoothed(rows[:, model.varying_], table.ends).belief
        n_empty = int((share.sum(axis=0) < 0.5).sum())
        ways = special.gammaln(k + 1.0) - special.gammaln(n_empty + 1.0)
        return float(model.bound_ + ways)

    def _held_out(
        self, k: int, rows: Array, table: SequenceTable, is_out: NDArray[np.bool_]
    ) -> float:
        """Return the mean log density of some rows, given all others, that fitting had not."""
        seen = np.where(is_out[:, None], np.nan, rows)
        model = self._other(k, "map", seen, table)
        both = [one[:, model.varying_] for one in (rows, seen)]
        whole, others = (model.chain_.log_prob(one, table.ends).sum() for one in both)
        return float(whole - others) / int(is_out.sum())

    @property
    def n_parameters(self) -> int:
        """Free numbers of the first state, of transitions and of rows."""
        check_is_fitted(self, "prior_")
        prior, k = self.prior_, int(self.n_states)
        n_free = 0
        for one, rows in ((prior.start, 1), (prior.transition, k)):
            if isinstance(one, TransitionBelief):
                n_free += int(one.is_possible.sum()) - rows
        if self.start == "stationary":
            n_free -= k - 1
        return n_free + _row_parameters(prior.rows, k)

    def _learned(self, found: Inference) -> Self:
        """Set what is known from the answer of an engine."""
        self.inference_, self.posterior_ = found, found.posterior
        if isinstance(found.posterior, HiddenChainBelief):
            self.bound_ = self.log_evidence_ = float(found.log_evidence)
            self.evidence_method_ = "bound"
            return self._with_chain(found.posterior.predictive())
        chain: HiddenChain = found.posterior
        log_likelihood = float(self.history_.objective[-1])
        if self._way == "map":
            prior = self.prior_
            if self.start == "stationary":
                prior = replace(prior, start=FixedTable(chain.start))
            log_likelihood -= prior.log_density_at(chain)
        self.bound_, self.evidence_method_ = np.nan, "bic"
        self.log_evidence_ = log_likelihood - 0.5 * self.n_parameters * np.log(self.n_rows_)
        return self._with_chain(chain)

    def _drawn(
        self, problem: HiddenMarkovProblem, begun: Inference, rng: np.random.Generator
    ) -> Self:
        """Learn by draws of parameters and paths, from the most probable ones on."""
        label = problem.best_path(begun.posterior)
        share = np.eye(problem.data.n_classes)[label]
        free = replace(problem, is_point=False, has_prior=False, share=share)
        engine = self.inference if isinstance(self.inference, BlockedGibbs) else BlockedGibbs()
        found = run(engine, free, rng)
        draws: PartitionDraws = found.posterior
        labels: NDArray[Any] = draws.pooled[kept_draws(draws, len(label))]
        if (problem.data.label < 0).all() and problem.is_exchangeable:
            labels = aligned(labels, label, problem.data.n_classes)
        beliefs = [free.completed(path, rng) for path in labels]
        self.inference_, self.posterior_ = found, draws
        self.bound_ = self.log_evidence_ = np.nan
        self.evidence_method_ = "none"
        chains = tuple(belief.predictive() for belief in beliefs)
        logs = [float(one.log_prob(free.data.x, free.ends).sum()) for one in chains]
        self._with_chain(chains[int(np.argmax(logs))])
        self.chains_ = chains
        return self

    def _with_chain(self, chain: HiddenChain) -> Self:
        self.chain_, self.chains_, self.emission_ = chain, (chain,), chain.density
        self.start_, self.transition_ = chain.start, chain.transition
        return self

    def _prior(self, data: IncompleteRows, usual: int) -> HiddenChainBelief:
        """Return a weak belief about all parameters, in the units of the data."""
        k = data.n_classes
        first: TransitionBelief | FixedTable = TransitionBelief(np.ones(k))
        next_state: TransitionBelief | FixedTable = TransitionBelief(np.ones((k, k)))
        if not isinstance(self.transition, str):
            given = np.asarray(self.transition)
            if given.dtype == np.bool_:
                next_state = TransitionBelief(given.astype(np.float64))
            else:
                next_state = FixedTable(_probabilities("transition", given, 2))
        elif self.transition == "left-to-right":
            next_state = TransitionBelief(np.triu(np.ones((k, k))))
            first = FixedTable(np.eye(k)[0])
        return HiddenChainBelief(first, next_state, self._row_belief(data, usual))

    def _row_belief(self, data: IncompleteRows, usual: int) -> Any:
        """Return a belief about the rows of each state, with a leading axis."""
        k, is_point = data.n_classes, self._way in ("map", "ml")
        # Beliefs about states that share a covariance have an axis for them.
        own = k if self.covariance == "tied" else usual
        if isinstance(self.emission, Belief):
            belief: Any = self.emission
        elif self.emission == "normal":
            belief = mixture_belief(self.covariance, data.pooled(), own, is_point)
        else:
            columns = self.columns_.chosen(self.varying_)
            belief = column_belief(columns, data, own, is_point)
        return _by_state(belief, k)

    @property
    def _is_free_of_units(self) -> bool:
        """Whether a column that does not vary is to be left out: its density is endless."""
        return isinstance(self.emission, str) and self.emission in ("normal", "vector")

    def _read(self, table: SequenceTable, *, is_first: bool) -> Array:
        """Return rows as numbers, with codes of symbols."""
        emission = self.emission
        families = "normal" if isinstance(emission, Belief) else emission
        known = families if is_first else self.columns_
        rows, kinds = read_columns(self, table.rows, known, "normal", is_strict=not is_first)
        if is_first:
            self.columns_ = kinds
        return rows

    def _asked(self, X: Any, lengths: Any) -> tuple[Array, SequenceTable]:
        """Return the rows that a fitted model is asked about, and their sequences."""
        check_is_fitted(self, "chain_")
        table = joined(X, lengths)
        rows = self._read(table, is_first=False)
        if len(self.varying_) < rows.shape[1]:
            rows = np.ascontiguousarray(rows[:, self.varying_])
        return rows, table

    @property
    def _way(self) -> str:
        return inference_name(self.inference, ENGINES)

    def _require_settings(self) -> None:
        require_count("n_states", self.n_states)
        require_count("n_restarts", self.n_restarts)
        require_count("max_steps", self.max_steps)
        require_choice("covariance", self.covariance, tuple(COVARIANCES))
        require_choice("start", self.start, STARTS)
        if isinstance(self.emission, str | Mapping):
            named = self.emission
            for kind in [named] if isinstance(named, str) else named.values():
                require_choice("emission", kind, EMISSIONS)
        elif not isinstance(self.emission, Belief):
            raise ValueError(
                f"emission must be one of {EMISSIONS}, a mapping from columns to these, or a "
                f"belief from credo.families; found {quote(self.emission)}. Choose from these."
            )
        k = int(self.n_states)
        if isinstance(self.transition, str):
            require_choice("transition", self.transition, TABLES)
        else:
            given = np.asarray(self.transition)
            if given.shape != (k, k) or not given.any(axis=1).all():
                raise ValueError(
                    f"transition must be one of {TABLES}, or a table of {k} x {k} truth values "
                    f"or probabilities with a way out of each state; found the shape "
                    f"{given.shape}. Give a row for each state."
                )
        if self.start == "stationary" and (
            self._way in ("variational", "gibbs") or self.transition == "left-to-right"
        ):
            raise ValueError(
                "start must be 'free' for beliefs and draws, and for left-to-right chains, "
                "which settle in the last state; found 'stationary'. Use inference='map'."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # What is said of a row depends on the rows around it, so that checks which ask for
        # rows one by one, or in another order, are not for sequences.
        tags.non_deterministic = True
        return tags


@dataclass(frozen=True, eq=False)
class FilterState:
    """What is known of the state of a sequence after the rows so far.

    Attributes
    ----------
    model
        The fitted model.
    belief
        Probability of each state at the last row, shape (K,).
    log_prob
        Log density of the rows so far.
    n_rows
        Rows so far.
    """

    model: HiddenMarkov
    belief: Array
    log_prob: float
    n_rows: int

    def update(self, y: Any) -> FilterState:
        """Return what is known after one more row; this state stays as it is.

        Parameters
        ----------
        y
            A row of shape (d,), or a number or symbol of a single column; NaN is missing.
        """
        row = y if isinstance(y, pd.DataFrame) else np.atleast_1d(np.asarray(y))[None]
        rows, table = self.model._asked(row, None)
        chain = self.model.chain_
        logs = chain.log_densities(rows)
        found = filtered(logs, self.ahead()[0], chain.transition, table.ends, is_kept=False)
        require_possible(found.log_prob)
        total = self.log_prob + float(found.log_prob[0])
        return FilterState(self.model, found.last[0], total, self.n_rows + 1)

    def ahead(self, h: int = 1) -> Array:
        """Return the probability of each state 1, 2, ..., h steps ahead, shape (h, K)."""
        require_count("h", h)
        answer = np.empty((h, len(self.belief)))
        now = self.belief
        for step in range(h):
            now = now @ self.model.transition_
            answer[step] = now / now.sum()
        return answer

    def forecast(self, h: int = 1) -> Mixture:
        """Return the distribution of each of the next rows, as `HiddenMarkov.forecast`."""
        share = self.ahead(h)
        density: Any = self.model.emission_
        if isinstance(density, IndependentColumns):
            return Mixture(share, [density[k] for k in range(len(self.belief))])
        parts = [_columns_of(density, k) for k in range(len(self.belief))]
        d = len(self.model.varying_)
        if d == 1:
            return Mixture(share, [part[0] for part in parts])
        return Mixture(np.repeat(share[:, None], d, axis=1), parts)


def _columns_of(density: Any, k: int) -> Any:
    """Return the distributions of the columns of a row in one state, batch shape (d,)."""
    one = density[k]
    if isinstance(one, MultivariateNormal):
        return Normal(one.loc, np.sqrt(np.diagonal(one.form.dense())))
    if isinstance(one, MultivariateStudentT):
        scale = np.sqrt(np.diagonal(one.form.dense()))
        return StudentT(np.broadcast_to(one.df, scale.shape), one.loc, scale)
    return one


def _probabilities(name: str, values: ArrayLike, n_axes: int) -> Array:
    table = np.asarray(values, dtype=np.float64)
    total = table.sum(axis=-1) if table.ndim else table
    is_right = table.ndim == n_axes and bool((table >= 0).all())
    is_right = is_right and float(np.abs(total - 1.0).max(initial=0.0)) < ROUNDING
    if not is_right:
        raise ValueError(
            f"{name} must hold probabilities in {n_axes} axes, of which each row sums to one; "
            f"found the shape {table.shape} and sums {quote(np.ravel(total)[:5].tolist())}. "
            "Divide each row by its sum."
        )
    return np.asarray(table / total[..., None])


def _symbols(columns: ColumnKinds, rows: Array) -> NDArray[Any]:
    """Return coded rows with the symbols that codes stand for, numbers if all are."""
    each = [
        np.array(states)[code.astype(np.intp)] if states else code
        for code, states in zip(rows.T, columns.states, strict=True)
    ]
    try:
        return np.column_stack([column.astype(np.float64) for column in each])
    except ValueError:
        return np.column_stack([column.astype(object) for column in each])


def _row_parameters(rows: Any, k: int) -> int:
    """Return the free numbers of the rows of ``k`` states, of which there is a belief."""
    if isinstance(rows, Product):
        return sum(_row_parameters(part, k) for part in rows.parts)
    if isinstance(rows, Known):
        return 0
    if isinstance(rows, NormalInverseWishart | TiedNormalInverseWishart):
        d = rows.location.shape[-1]
        n_tables = k if isinstance(rows, NormalInverseWishart) else 1
        return int(k * d + n_tables * d * (d + 1) // 2)
    n_numbers = int(np.prod(rows.batch_shape))
    if isinstance(rows, SphericalNormalInverseGamma):
        return int(k * (rows.location.shape[-1] + 1))
    if isinstance(rows, NormalInverseGamma):
        return 2 * n_numbers
    if isinstance(rows, DirichletCategorical):
        return n_numbers * (int(rows.concentration.shape[-1]) - 1)
    return n_numbers


def _by_state(belief: Any, k: int) -> Any:
    """Return a belief about rows with a leading axis of states."""
    if belief.has_components:
        return belief
    own = () if belief.is_joint else (belief.batch_shape[-1:] or (1,))
    leading = belief.batch_shape[: len(belief.batch_shape) - len(own)]
    return belief if leading == (k,) else belief.spread((k, *own))


def _require_values(rows: Array, least: int) -> None:
    is_empty = np.isnan(rows).all(axis=0)
    if is_empty.any():
        raise ValueError(
            "each column must have a value in some row; found none in column "
            f"{int(np.argmax(is_empty))}. Leave the column out."
        )
    n_distinct = len(np.unique(rows[~np.isnan(rows).all(axis=1)], axis=0))
    if n_distinct < least:
        raise ValueError(
            f"X must have at least {least} distinct rows for so many states; found "
            f"{n_distinct} of n_samples = {len(rows)}. Pass more rows, or a smaller n_states."
        )


def _state_labels(labels: ArrayLike | None, table: SequenceTable, k: int) -> NDArray[np.intp]:
    n = int(table.ends[-1])
    if labels is None:
        return np.full(n, -1, dtype=np.intp)
    given = np.asarray(labels, dtype=np.float64)
    known = np.where(np.isnan(given), -1.0, given)
    is_right = (known >= -1) & (known < k) & (known == np.floor(known))
    if given.shape != (n,) or not is_right.all():
        raise ValueError(
            f"labels must be a state from 0 to {k - 1} for each of {n} rows, or -1 where it is "
            f"not known; found the shape {given.shape}. Number the states from 0."
        )
    return known.astype(np.intp) if table.place is None else known.astype(np.intp)[table.place]
