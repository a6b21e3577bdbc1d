"""Mixtures of any family: rows of numbers, truth values, categories, counts and times."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.class_conditional import ClassConditional
from credo.distributions.independent_columns import IndependentColumns
from credo.distributions.uniform import Uniform
from credo.families.categorical import DirichletCategorical
from credo.families.component import Components, WithBackground
from credo.families.normal import NormalStatistics
from credo.families.normal_component import mixture_belief
from credo.inference.engine.engine import ConvergenceWarning, Inference, run
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows, LatentClassProblem
from credo.inference.latent.mixture_search import MixtureSearch
from credo.inference.latent.other_mixtures import StudentTMixtureProblem
from credo.inference.latent.partition import (
    BlockedGibbs,
    CollapsedGibbs,
    PartitionDraws,
    aligned,
    drawn_belief,
    drawn_rows,
    kept_draws,
)
from credo.models.contract.column_kinds import ColumnKinds, column_belief, read_columns
from credo.models.contract.inputs import (
    generator,
    require_choice,
    require_count,
    row_weight,
)
from credo.models.latent.mixture import (
    Mixture,
    incomplete_rows,
    number_posterior,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form

__all__ = ["MixtureModel"]

WAYS = ("variational", "map", "gibbs")

ROUGH = MixtureSearch(ExpectationMaximization(1e-6, 300), 1, 2)
"""How mixtures are found where numbers of components are compared."""


class MixtureModel(Mixture):
    """Rows from several components, columns of any kind, gaps anywhere.

    Given its component, a row has independent columns of the families that suit them, so that a
    table of text and numbers falls into clusters as it is. A NaN or None, and a category that
    was never seen, say nothing.

    Parameters
    ----------
    families
        "normal", "vector" (normal with full covariance), "student_t", "bernoulli",
        "categorical", "poisson" or "exponential" for all columns, or a mapping from column
        (name or position) to one of these. Columns that are not named are what their type says:
        truth values "bernoulli", text and categories "categorical", other numbers "normal".
    n_components
        How many components, K.
    inference
        "variational" for a belief about all parameters and a bound of the evidence, "map" for
        the most probable ones, "gibbs" for draws. Student-t rows are always "map".
    background
        Whether one more component is uniform over the range of the data, for rows that are of
        no other; it is the last. For complete rows of numbers.
    n_restarts
        Starts by k-means.
    random_state
        Where starts and draws come from.

    Attributes
    ----------
    columns_
        Kind and categories of each column.
    weights_
        Probability of each component, shape (K,).
    posterior_
        Belief as `Components`, parameters as `ClassConditional`, or draws.
    predictive_
        Weight of each component and density of a new row of it.
    bound_, log_evidence_, evidence_method_
        Lower bound of the log evidence, NaN where there is none.
    history_
        Parameters and objective at each step, and all climbs of the search.

    Examples
    --------
    >>> import pandas as pd
    >>> pets = pd.DataFrame({
    ...     "legs": [4.0, 4.1, 3.9, 0.2, 0.0, None],
    ...     "skin": ["fur", "fur", None, *["scales"] * 3],
    ... })
    >>> model = MixtureModel(n_components=2).fit(pets)
    >>> label = model.predict(pets)
    >>> bool((label[:3] == label[0]).all()), bool((label[3:] != label[0]).all())
    (True, True)
    """

    columns_: ColumnKinds
    prior_: Components
    posterior_: Components | ClassConditional | PartitionDraws
    inference_: Inference
    weights_: Annotated[Array, Form("k", 0.0, 1.0)]
    n_rows_: Annotated[float, Form(low=SMALLEST)]

    def __init__(
        self,
        families: str | Mapping[Any, str] | None = None,
        n_components: int = 2,
        inference: str = "variational",
        background: bool = False,
        n_restarts: int = 4,
        random_state: Any = 0,
    ) -> None:
        self.families = families
        self.n_components = n_components
        self.inference = inference
        self.background = background
        self.n_restarts = n_restarts
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        return (Example(cls(n_restarts=1), rtol=0.03),)

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows of a table or array; NaN and None are missing.

        Parameters
        ----------
        labels
            The component of each row, from 0 to K - 1, or -1 where it is not known.
        """
        require_count("n_components", self.n_components)
        require_count("n_restarts", self.n_restarts)
        require_choice("inference", self.inference, WAYS)
        rows, self.columns_ = read_columns(self, X, self.families, "normal")
        weight = row_weight(sample_weight, rows)
        k = int(self.n_components) + bool(self.background)
        rows = self._without_constants(rows, weight)
        data, _ = incomplete_rows(rows, weight, labels, k)
        self.n_components_, self.n_rows_ = k, float(data.weight.sum())
        self.component_ = np.arange(k)
        rng = generator(self.random_state)
        problem = self._problem(data)
        self.prior_ = problem.prior
        search = MixtureSearch(ExpectationMaximization(1e-8, 5000), int(self.n_restarts))
        found, self.history_ = search.best(problem, rng)
        if self.inference == "gibbs" and isinstance(problem, LatentClassProblem):
            return self._drawn(problem, found, rng)
        self.inference_, self.posterior_ = found, found.posterior
        is_belief = isinstance(found.posterior, Components)
        self.predictive_ = found.posterior.predictive() if is_belief else found.posterior
        self.weights_ = np.exp(self.predictive_.log_weight)
        self.bound_ = self.log_evidence_ = float(found.log_evidence) if is_belief else np.nan
        self.evidence_method_ = "bound" if is_belief else "none"
        return self

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Return ``n`` new rows: an array, or a table if columns have names or categories."""
        rows = super().sample(n, random_state)
        return self.columns_.table(rows, getattr(self, "feature_names_in_", None))

    def component_table(
        self,
        X: Any,
        counts: Sequence[int] = (1, 2, 3, 4, 5, 6),
        sample_weight: ArrayLike | None = None,
        n_folds: int = 5,
    ) -> pd.DataFrame:
        """Return what three ways say of several numbers of components, side by side.

        All of them learn under one prior, which is the same for all K. Columns are ``bic`` at
        the expected parameters, lower is better; ``bound`` of the log evidence, with the log of
        the number of ways to name the components that have rows; and ``held_out``, the mean log
        density of rows that were left out, and its standard error.

        Parameters
        ----------
        X, sample_weight
            As of `fit`.
        counts
            Numbers of components.
        n_folds
            Folds of the rows that are left out; none are if 0.
        """
        numbers = [int(count) for count in counts]
        data, columns, belief = self._compared(X, sample_weight, max(numbers))
        table = pd.DataFrame(index=pd.Index(numbers, name="n_components"))
        for k in numbers:
            found = self._found(data.x, data.weight, belief, k)
            table.loc[k, "bic"] = _bic(found.posterior, data, columns)
            table.loc[k, "bound"] = _named_bound(found, data, k)
            if n_folds:
                scores = self._left_out(data, belief, k, n_folds)
                table.loc[k, "held_out"] = scores.mean()
                table.loc[k, "held_out_error"] = scores.std(ddof=1) / np.sqrt(len(scores))
        return table

    def held_out(self, X: Any, n_folds: int = 5, most: int = 6) -> Array:
        """Return the log density of each row by mixtures that learned from the other folds.

        Of rows that have a value, shape (n,); under the prior of `component_table`.

        Parameters
        ----------
        most
            Largest number of components that is compared, which the prior is made for.
        """
        data, _, belief = self._compared(X, None, most)
        return self._left_out(data, belief, int(self.n_components), n_folds)

    def _left_out(self, data: IncompleteRows, belief: Any, k: int, n_folds: int) -> Array:
        fold = np.random.default_rng(0).permutation(len(data.x)) % n_folds
        answer = np.empty(len(data.x))
        for f in range(n_folds):
            is_left = fold == f
            found = self._found(data.x[~is_left], data.weight[~is_left], belief, k)
            answer[is_left] = found.posterior.predictive().log_marginal(data.x[is_left])
        return answer

    def number_posterior(
        self, X: Any, most: int = 6, engine: CollapsedGibbs | None = None
    ) -> Array:
        """Return the posterior probability of 1, 2, ... components, shape (most,).

        By draws of a finite mixture whose number of components is unknown, under equal prior
        probabilities and the prior of `component_table`.

        Parameters
        ----------
        X
            As of `fit`.
        most
            Largest number of components.
        engine
            Settings of the draws; None for the usual ones.
        """
        require_count("most", most)
        data, _, belief = self._compared(X, None, most)
        rng = generator(self.random_state)
        return number_posterior(data.x, belief, most, rng, engine or CollapsedGibbs())

    def _compared(
        self, X: Any, sample_weight: ArrayLike | None, most: int
    ) -> tuple[IncompleteRows, ColumnKinds, Any]:
        """Return rows, what their columns are, and a prior that is the same for all K."""
        if self.background:
            raise ValueError(
                "background must be False to compare numbers of components; found True. Leave "
                "it out."
            )
        reader = clone(self)
        rows, known = read_columns(reader, X, self.families, "normal")
        weight = row_weight(sample_weight, rows)
        rows = reader._without_constants(rows, weight)
        data, _ = incomplete_rows(rows, weight, None, 1)
        columns = known.chosen(reader.varying_)
        usual = max(1, round(float(np.sqrt(most))))
        return data, columns, column_belief(columns, data, usual, is_point=False)

    def _found(self, x: Any, weight: Any, belief: Any, k: int) -> Inference:
        """Return the belief about K components, of a prior about their rows."""
        data = IncompleteRows.unlabeled(x, k, weight)
        prior = Components(DirichletCategorical(np.ones(k)), belief)
        problem: LatentClassProblem = LatentClassProblem(data, prior)
        search = replace(ROUGH, n_restarts=int(self.n_restarts))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return search.best(problem, generator(self.random_state))[0]

    def profile(self) -> pd.DataFrame:
        """Return the mean of each number and the likeliest category of each component."""
        check_is_fitted(self, "predictive_")
        k = self.n_components_
        share = np.exp(self.predictive_.log_weight)
        own = self.columns_.chosen(self.varying_)
        mean = np.repeat(self.constant_[None], k, axis=0)
        mean[:, self.varying_] = _component_means(
            self.predictive_, share, self.component_, k, own
        )
        table = self.columns_.table(mean, getattr(self, "feature_names_in_", None))
        frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
        frame.insert(0, "weight", self.weights_)
        frame.index.name = "component"
        return frame

    def _problem(self, data: IncompleteRows) -> Any:
        k, columns = data.n_classes, self.columns_.chosen(self.varying_)
        kinds = set(columns.kinds)
        is_point = self.inference == "map"
        weights = DirichletCategorical(np.ones(k))
        if "student_t" in kinds:
            if kinds != {"student_t"} or np.isnan(data.x).any() or self.background:
                raise ValueError(
                    "families must be 'student_t' for all columns or for none, of complete "
                    f"rows and without a background; found {sorted(kinds)} and "
                    f"{int(np.isnan(data.x).sum())} gaps. Use 'normal' or 'vector'."
                )
            prior = Components(weights, mixture_belief("full", _middle(data), k))
            return StudentTMixtureProblem(data, prior)
        n_own = k - bool(self.background)
        rows = column_belief(columns, data, n_own, is_point)
        if self.background:
            own = Components(DirichletCategorical(np.ones(n_own)), rows).rows
            prior = Components(weights, WithBackground(own, self._uniform(data)))
        else:
            prior = Components(weights, rows)
        return LatentClassProblem(data, prior, is_point=is_point, has_prior=is_point)

    def _uniform(self, data: IncompleteRows) -> IndependentColumns:
        """Return the uniform distribution over the range of the data, with a margin."""
        if np.isnan(data.x).any() or set(self.columns_.kinds) - {"normal", "vector"}:
            raise ValueError(
                "a background must be of complete rows of numbers; found gaps or other "
                "columns. Leave background out, or fill the gaps."
            )
        low, high = data.x.min(axis=0), data.x.max(axis=0)
        margin = np.where(high > low, 0.05 * (high - low), 1.0)
        each = Uniform(low - margin, high + margin)
        return IndependentColumns((each,), (tuple(range(data.x.shape[1])),))

    def _drawn(
        self, problem: LatentClassProblem, begun: Inference, rng: np.random.Generator
    ) -> Self:
        """Learn by draws of parameters and components."""
        if self.background:
            raise ValueError(
                "background must be False for inference='gibbs'; found True. Use 'variational'."
            )
        data, k = problem.data, problem.data.n_classes
        label = problem.responsibility(begun.posterior).argmax(axis=1)
        share = (label[:, None] == np.arange(k)).astype(np.float64)
        found = run(BlockedGibbs(), replace(problem, share=share), rng)
        draws = found.posterior
        labels = draws.pooled[kept_draws(draws, len(data.x))]
        if (data.label < 0).all():
            labels = aligned(labels, label, k)
        belief = drawn_belief(self.prior_.rows, drawn_rows(problem, labels, rng), labels, k)
        count = np.stack([(labels == c) @ data.weight for c in range(k)], axis=1) + 1.0
        weight = count / count.sum(axis=1, keepdims=True)
        log_weight = np.log(weight.ravel()) - np.log(len(labels))
        self.inference_, self.posterior_ = found, draws
        self.predictive_ = ClassConditional(log_weight, belief.predictive())
        self.component_ = np.tile(np.arange(k), len(labels))
        self.weights_ = weight.mean(axis=0)
        self.bound_ = self.log_evidence_ = np.nan
        self.evidence_method_ = "none"
        return self

    def _fitted_rows(self, X: Any) -> Array:
        check_is_fitted(self, "predictive_")
        return read_columns(self, X, self.columns_, "normal")[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _middle(data: IncompleteRows) -> NormalStatistics:
    """Return weight, median and scatter of each column, by quartiles, whatever is far out."""
    low, middle, high = np.quantile(data.x, [0.25, 0.5, 0.75], axis=0)
    pooled = data.pooled()
    variance = np.square((high - low) / 1.349)
    variance = np.where(variance > 0, variance, pooled.usual_variance())
    return NormalStatistics(pooled.weight, middle, pooled.weight * variance)


def _named_bound(found: Inference, data: IncompleteRows, k: int) -> float:
    """Return the bound, with the log of the number of ways to name components with rows."""
    shares = np.exp(found.posterior.predictive().log_posterior(data.x))
    n_empty = int((shares.T @ data.weight < 0.5).sum())
    ways = special.gammaln(k + 1.0) - special.gammaln(n_empty + 1.0)
    return float(found.log_evidence + ways)


def _bic(belief: Components, data: IncompleteRows, columns: ColumnKinds) -> float:
    """Return ``-2 log likelihood + n_parameters log n`` at the expected parameters."""
    log_likelihood = float(data.weight @ belief.mean().log_marginal(data.x))
    k, n_vector = belief.n_classes, columns.kinds.count("vector")
    each = {"normal": 2, "bernoulli": 1, "poisson": 1, "exponential": 1, "vector": 1}
    pairs = zip(columns.kinds, columns.states, strict=True)
    n_own = sum(each.get(kind, len(states) - 1) for kind, states in pairs)
    n_parameters = k * (n_own + n_vector * (n_vector + 1) // 2) + k - 1
    return -2.0 * log_likelihood + n_parameters * float(np.log(data.weight.sum()))


def _component_means(
    joint: ClassConditional, share: Array, component: Any, k: int, columns: ColumnKinds
) -> Array:
    """Return the typical row of each component, shape (K, d); categories at their likeliest."""
    density: Any = joint.density
    mean = np.asarray(density.mean(), dtype=np.float64).reshape(len(share), -1)
    if "categorical" in columns.kinds:
        likely = np.asarray(density.mode(), dtype=np.float64).reshape(len(share), -1)
        is_category = np.array([kind == "categorical" for kind in columns.kinds])
        mean = np.where(is_category, likely, mean)
    best = [np.flatnonzero(component == c)[np.argmax(share[component == c])] for c in range(k)]
    return np.asarray(mean[best])
