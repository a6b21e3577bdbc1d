"""Mixtures of normals: by likelihood, most probable parameters, beliefs, or draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.class_conditional import ClassConditional
from credo.families.categorical import DirichletCategorical
from credo.families.component import Components
from credo.families.normal import NormalStatistics
from credo.families.normal_component import COVARIANCES, mixture_belief
from credo.inference.engine.engine import Inference, run
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import (
    ChunkedClassProblem,
    IncompleteRows,
    LatentClassProblem,
)
from credo.inference.latent.mixture_search import (
    USUAL,
    MixtureHistory,
    MixtureSearch,
    descended,
)
from credo.inference.latent.partition import (
    BlockedGibbs,
    CollapsedGibbs,
    PartitionDraws,
    PartitionLaw,
    PartitionProblem,
    aligned,
    drawn_belief,
    drawn_rows,
    kept_draws,
)
from credo.models.contract.inputs import (
    generator,
    inference_name,
    require_choice,
    require_count,
    row_weight,
    validated,
)
from credo.models.latent.mixture import Mixture, incomplete_rows, number_posterior
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import FINITE, SMALLEST, Form

__all__ = ["GaussianMixture"]

ENGINES: Mapping[str, type | None] = MappingProxyType(
    {
        "map": ExpectationMaximization,
        "ml": None,
        "variational": None,
        "gibbs": CollapsedGibbs,
        "gradient": None,
    }
)


class GaussianMixture(Mixture):
    """Rows from several normals, where it is not known which row is from which.

    ``p(x) = sum over k of w_k N(x; m_k, S_k)``. Gaps (NaN) are integrated out, weights count
    copies of rows, and ``labels`` may say of some rows which component they are of.

    Parameters
    ----------
    n_components
        How many normals, K; `component_table` says what the data think of several numbers.
    covariance
        "full" matrices, one "tied" matrix for all, "diagonal" ones, or "spherical" ones.
    inference
        "map" for the most probable parameters under a weak prior, which keeps components from
        shrinking to a point; "gradient" for the same by quasi-Newton steps; "ml" for those of
        largest likelihood, which refuses components that shrink; "variational" for a belief
        about them and a bound of the evidence; "gibbs" for draws of which row is of which
        component, parameters integrated out; or an engine with limits, such as
        ``ExpectationMaximization(1e-10, 5000)`` for "map" or ``CollapsedGibbs(2000)``.
    prior
        Belief about weights and normals, a `Components`; if None, weights are uniform, and
        normals have about the weight of one row, in the units of the data [fraley2007]_.
    n_restarts
        Starts by k-means, from the best of which components are split and merged.
    random_state
        Where starts come from.

    Attributes
    ----------
    weights_, means_, covariances_
        Shapes (K,), (K, d) and (K, d, d); heaviest component first, unless there are labels.
    posterior_
        Parameters as a `ClassConditional`, the belief about them as `Components`, or draws of
        components as `PartitionDraws`.
    predictive_
        Weight of each component and density of a new row of it.
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
    >>> rows = np.concatenate([rng.normal(0, 1, (60, 2)), rng.normal(6, 1, (40, 2))])
    >>> model = GaussianMixture(2).fit(rows)
    >>> model.weights_.round(2), model.predict([[0.5, 0.0], [5.0, 6.0]])
    (array([0.6, 0.4]), array([0, 1]))
    """

    posterior_: Components | ClassConditional | PartitionDraws
    prior_: Components
    inference_: Inference
    weights_: Annotated[Array, Form("k", 0.0, 1.0)]
    means_: Annotated[Array, Form("k d")]
    covariances_: Annotated[Array, Form("k d d", -FINITE, FINITE)]
    n_rows_: Annotated[float, Form(low=SMALLEST)]

    def __init__(
        self,
        n_components: int = 2,
        covariance: str = "full",
        inference: str | ExpectationMaximization | CollapsedGibbs = "map",
        prior: Components | None = None,
        n_restarts: int = 4,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.inference = inference
        self.prior = prior
        self.n_restarts = n_restarts
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        engine = ExpectationMaximization(1e-11, 5000)
        return (
            Example(cls(inference=engine, n_restarts=1), rtol=1e-3),
            Example(cls(covariance="tied", inference=engine, n_restarts=1), rtol=1e-3),
        )

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows ``X`` (n, d), in which NaN is missing.

        Parameters
        ----------
        labels
            The component of each row, from 0 to K - 1, or -1 where it is not known.
        """
        name = self._require_settings()
        rows = np.asarray(
            validated(self, X, dtype=np.float64, ensure_all_finite="allow-nan"),
        )
        weight = row_weight(sample_weight, rows)
        k = int(self.n_components)
        if name == "gibbs":
            rows, weight, labels = _counted(rows, weight, labels)
        rows = self._without_constants(rows, weight, self.prior is not None)
        data, _ = incomplete_rows(rows, weight, labels, k)
        rng = generator(self.random_state)
        self.prior_ = self._prior(data, name)
        self.n_components_, self.n_rows_ = k, float(data.weight.sum())
        self.component_ = np.arange(k)
        problem = self._problem(data, name)
        search = MixtureSearch(self._engine(), int(self.n_restarts))
        if name == "gibbs":
            return self._drawn(problem, search, rng)
        found, history = search.best(problem, rng)
        if name == "gradient":
            found, history = self._descended(problem, history)
        return self._learned(found, history)

    def fit_chunks(self, chunks: Any, n_seeds: int = 20_000) -> Self:
        """Learn from rows that come in chunks, in memory that does not grow with them.

        Each step is a pass over all chunks, whose statistics add. The start is found from the
        first ``n_seeds`` rows.

        Parameters
        ----------
        chunks
            A list of arrays, or a function that returns an iterator over arrays (n, d) anew
            each time it is called.
        """
        name = self._require_settings()
        if name not in ("map", "ml", "variational"):
            raise ValueError(
                "inference must be 'map', 'ml' or 'variational' for chunks; found "
                f"{self.inference!r}. Draws and gradients need all rows at once."
            )
        parts = chunks if callable(chunks) else lambda: iter(chunks)
        k = int(self.n_components)
        seeds, pooled = self._seeds(parts, n_seeds)
        rng = generator(self.random_state)
        self.prior_ = self._prior(seeds, name, pooled)
        self.n_components_, self.n_rows_ = k, float(np.max(pooled.weight))
        self.component_ = np.arange(k)
        problem = self._problem(seeds, name)
        begun, _ = MixtureSearch(self._engine(), int(self.n_restarts)).best(problem, rng)

        def read() -> Iterator[IncompleteRows]:
            for part in parts():
                yield IncompleteRows.unlabeled(self._chunk(part, False)[:, self.varying_], k)

        streamed = ChunkedClassProblem(read, problem, begun.posterior)
        found = run(self._engine(), streamed)
        objective = np.array([step.objective for step in found.trace])
        return self._learned(found, MixtureHistory(objective, (), ()))

    def _chunk(self, part: ArrayLike, is_first: bool) -> Array:
        options = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        return np.asarray(validated(self, part, reset=is_first, **options))

    def _seeds(self, parts: Any, n_seeds: int) -> tuple[IncompleteRows, NormalStatistics]:
        """Return the first rows, and weight, mean and scatter of each column of all."""
        kept: list[Array] = []
        pooled: NormalStatistics | None = None
        for part in parts():
            rows = self._chunk(part, not kept)
            left = n_seeds - sum(map(len, kept))
            kept.append(rows[: max(left, 0)])
            own = NormalStatistics.of(rows)
            pooled = own if pooled is None else pooled + own
        if pooled is None:
            raise ValueError("chunks must hold at least one array; found none. Pass rows.")
        first = self._with_varying(np.concatenate(kept), pooled.mean, pooled.is_constant())
        names = ("weight", "mean", "scatter")
        pooled = NormalStatistics(*(getattr(pooled, name)[self.varying_] for name in names))
        data, _ = incomplete_rows(first, np.ones(len(first)), None, int(self.n_components))
        return data, pooled

    def component_table(
        self,
        X: ArrayLike,
        counts: Sequence[int] = (1, 2, 3, 4, 5, 6),
        sample_weight: ArrayLike | None = None,
        n_folds: int = 5,
    ) -> pd.DataFrame:
        """Return what four ways say of several numbers of components, side by side.

        Columns are ``bic`` of the most probable fit, lower is better; ``bound`` of the log
        evidence under one prior for all K, with the log of the number of ways to name the
        components that have rows; ``held_out``, the mean log density of rows that were left
        out, and its standard error; and ``probability``, the posterior of the number of
        components under equal prior probabilities and the same prior, by draws of a finite
        mixture with a prior on K. The last is NaN for tied and spherical covariances.
        """
        numbers = [int(count) for count in counts]
        rows = np.asarray(
            validated(clone(self), X, dtype=np.float64, ensure_all_finite="allow-nan")
        )
        weight = row_weight(sample_weight, rows)
        table = pd.DataFrame(index=pd.Index(numbers, name="n_components"))
        base = clone(self).set_params(inference="map")
        fold = np.random.default_rng(0).permutation(len(rows)) % n_folds
        for k in numbers:
            one = clone(base).set_params(n_components=k)
            table.loc[k, "bic"] = one.fit(rows, sample_weight=weight).bic()
            table.loc[k, "bound"] = self._bound(rows, weight, k, max(numbers))
            left = np.concatenate(
                [
                    clone(one)
                    .fit(rows[fold != f], sample_weight=weight[fold != f])
                    .log_prob(rows[fold == f])
                    for f in range(n_folds)
                ]
            )
            table.loc[k, "held_out"] = left.mean()
            table.loc[k, "held_out_error"] = left.std(ddof=1) / np.sqrt(len(left))
        posterior = self._number_posterior(rows, weight, max(numbers))
        table["probability"] = [posterior[k - 1] for k in numbers]
        return table

    def _bound(self, rows: Array, weight: Array, k: int, most: int) -> float:
        """Return the bound of K components under a prior that is the same for all K."""
        model = clone(self).set_params(n_components=k, inference="variational")
        x = model._without_constants(rows, weight)
        data, _ = incomplete_rows(x, weight, None, k)
        belief = self._usual_belief(data, most, k)
        model.set_params(prior=Components(DirichletCategorical(np.ones(k)), belief))
        found = model.fit(data.x, sample_weight=data.weight)
        n_empty = int((found.predict_proba(data.x).T @ data.weight < 0.5).sum())
        ways = special.gammaln(k + 1.0) - special.gammaln(n_empty + 1.0)
        return float(found.bound_ + ways)

    def _usual_belief(self, data: IncompleteRows, most: int, k: int = 1) -> Any:
        """Return a prior about any of up to so many components."""
        usual = max(1, round(float(np.sqrt(most))))
        belief: Any = mixture_belief(self.covariance, data.pooled(), usual, is_point=False)
        if self.covariance != "tied":
            return belief
        return mixture_belief(self.covariance, data.pooled(), k, is_point=False)

    def _number_posterior(self, rows: Array, weight: Array, most: int) -> Array:
        """Return the posterior probability of 1, 2, ... components, of equal ones before."""
        if self.covariance not in ("full", "diagonal"):
            return np.full(most, np.nan)
        rows, weight, _ = _counted(rows, weight, None)
        rows = clone(self)._without_constants(rows, weight)
        data, _ = incomplete_rows(rows, weight, None, 1)
        belief = self._usual_belief(data, most)
        rng = generator(self.random_state)
        return number_posterior(data.x, belief, most, rng, CollapsedGibbs())

    def bic(self, X: ArrayLike | None = None) -> float:
        """Return ``-2 log likelihood + n_parameters log n`` of the data, or of other rows."""
        check_is_fitted(self, "predictive_")
        if X is None:
            return -2.0 * self.log_evidence_ if self.evidence_method_ == "bic" else np.nan
        log_likelihood = float(self.log_prob(X).sum())
        return -2.0 * log_likelihood + self.n_parameters * float(np.log(len(np.asarray(X))))

    @property
    def n_parameters(self) -> int:
        """Free numbers of weights, means and covariances."""
        k, d = len(self.means_), len(self.varying_)
        spread = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2}
        spread |= {"diagonal": k * d, "spherical": k}
        return int(k - 1 + k * d + spread[self.covariance])

    def _descended(
        self, problem: LatentClassProblem, history: MixtureHistory
    ) -> tuple[Inference, MixtureHistory]:
        """Go on from the start of the best climb by gradient in place of its steps."""
        steps: list[ClassConditional] = []
        found = descended(problem, history.steps[0], steps.append)
        objective = np.array(
            [problem.expect(one).log_normalizer - problem.penalty(one) for one in steps]
        )
        is_best = np.flatnonzero(objective >= np.maximum.accumulate(objective))
        kept = tuple(steps[i] for i in is_best)
        return found, MixtureHistory(objective[is_best], kept, history.climbs)

    def _drawn(
        self, problem: LatentClassProblem, search: MixtureSearch, rng: np.random.Generator
    ) -> Self:
        """Learn by draws of components, from the most probable ones on."""
        data, k = problem.data, problem.data.n_classes
        point = replace(problem, is_point=True, has_prior=True)
        begun, self.history_ = search.best(point, rng)
        label = problem.responsibility(begun.posterior).argmax(axis=1)
        engine = self.inference if isinstance(self.inference, CollapsedGibbs) else None
        is_free = self.prior is None and (data.label < 0).all()
        found: Inference
        if is_free and self.covariance in ("full", "diagonal"):
            rows = self.prior_.rows.component(0)
            law = PartitionLaw.finite(k, 1.0, len(data.x))
            start = np.asarray(label, dtype=np.int64)
            found = run(
                engine or CollapsedGibbs(),
                PartitionProblem(data.x, rows, law, start=start),
                rng,
            )
        else:
            share = (label[:, None] == np.arange(k)).astype(np.float64)
            engine = engine or CollapsedGibbs()
            blocked = BlockedGibbs(engine.n_draws, engine.warm_up, engine.n_chains)
            found = run(blocked, replace(problem, share=share), rng)
        draws = found.posterior
        labels = draws.pooled[kept_draws(draws, len(data.x))]
        if (data.label < 0).all():
            labels = aligned(labels, label, k)
        belief = drawn_belief(self.prior_.rows, drawn_rows(problem, labels, rng), labels, k)
        count = np.stack([(labels == c).sum(axis=1) for c in range(k)], axis=1)
        classes: Any = self.prior_.classes
        weight = classes.concentration + count
        weight = weight / weight.sum(axis=1, keepdims=True)
        self.inference_, self.posterior_ = found, draws
        log_weight = np.log(weight.ravel()) - np.log(len(labels))
        self.predictive_ = ClassConditional(log_weight, belief.predictive())
        self.component_ = np.tile(np.arange(k), len(labels))
        point_of = ClassConditional(log_weight, belief.mean())
        mean, covariance = _moments(point_of)
        d = mean.shape[1]
        self.weights_ = weight.mean(axis=0)
        self._set_moments(
            mean.reshape(-1, k, d).mean(axis=0), covariance.reshape(-1, k, d, d).mean(axis=0)
        )
        self.bound_ = self.log_evidence_ = np.nan
        self.evidence_method_ = "none"
        return self

    def co_clustering(self, X: ArrayLike | None = None) -> Array:
        """Return the probability that two rows are of one component, shape (n, n).

        Parameters
        ----------
        X
            Rows; None for those that draws were made of, if inference is "gibbs".
        """
        check_is_fitted(self, "predictive_")
        if X is not None:
            return super().co_clustering(X)
        if not isinstance(self.posterior_, PartitionDraws):
            raise ValueError(
                "X must be given unless inference is 'gibbs', since rows are not kept; found "
                "None. Pass the rows."
            )
        return self.posterior_.co_clustering()

    def _learned(self, found: Inference, history: Any) -> Self:
        """Set what is known from the answer of an engine."""
        self.inference_, self.history_ = found, history
        self.posterior_ = found.posterior
        if isinstance(found.posterior, Components):
            self.predictive_ = found.posterior.predictive()
            point = found.posterior.mean()
            self.bound_ = self.log_evidence_ = float(found.log_evidence)
            self.evidence_method_ = "bound"
        else:
            self.predictive_ = point = found.posterior
            self.bound_, self.evidence_method_ = np.nan, "bic"
        self.weights_ = np.exp(point.log_weight)
        self._set_moments(*_moments(point))
        if self.evidence_method_ == "bic":
            log_prior = float(history.objective[-1])
            if self._name in ("map", "gradient"):
                log_prior -= self.prior_.log_density_at(point)
            penalty = 0.5 * self.n_parameters * np.log(self.n_rows_)
            self.log_evidence_ = float(log_prior - penalty)
        return self

    def _set_moments(self, mean: Array, covariance: Array) -> None:
        """Set means and covariances; a column that does not vary has its value."""
        d = len(self.constant_)
        self.means_ = np.repeat(self.constant_[None], len(mean), axis=0)
        self.means_[:, self.varying_] = mean
        self.covariances_ = np.zeros((len(mean), d, d))
        self.covariances_[:, self.varying_[:, None], self.varying_] = covariance

    @property
    def _name(self) -> str:
        return inference_name(self.inference, ENGINES)

    def _engine(self) -> ExpectationMaximization:
        engine = self.inference
        return engine if isinstance(engine, ExpectationMaximization) else USUAL

    def _problem(self, data: IncompleteRows, name: str) -> LatentClassProblem:
        is_belief = name in ("variational", "gibbs")
        return LatentClassProblem(
            data, self.prior_, is_point=not is_belief, has_prior=name in ("map", "gradient")
        )

    def _prior(
        self, data: IncompleteRows, name: str, pooled: NormalStatistics | None = None
    ) -> Components:
        if self.prior is not None:
            return self.prior
        k, is_point = data.n_classes, name not in ("variational", "gibbs")
        all_rows = data.pooled() if pooled is None else pooled
        rows = mixture_belief(self.covariance, all_rows, k, is_point)
        return Components(DirichletCategorical(np.ones(k)), rows)

    def _require_settings(self) -> str:
        require_count("n_components", self.n_components)
        require_count("n_restarts", self.n_restarts)
        require_choice("covariance", self.covariance, tuple(COVARIANCES))
        return self._name

    def _fitted_rows(self, X: ArrayLike) -> Array:
        check_is_fitted(self, "predictive_")
        return np.asarray(
            validated(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _counted(
    rows: Array, weight: Array, labels: ArrayLike | None
) -> tuple[Array, Array, ArrayLike | None]:
    """Return rows as often as their weights say, for draws that move rows one by one."""
    if (weight == 1.0).all():
        return rows, weight, labels
    if not (weight == np.floor(weight)).all():
        raise ValueError(
            "sample_weight must be whole numbers for draws, which move rows one by one; found "
            f"{float(weight[weight != np.floor(weight)][0]):g}. Use inference='map' or "
            "'variational'."
        )
    place = np.repeat(np.arange(len(rows)), weight.astype(np.intp))
    known = None if labels is None else np.asarray(labels)[place]
    return rows[place], np.ones(len(place)), known


def _moments(point: ClassConditional) -> tuple[Array, Array]:
    """Return means (K, d) and covariances (K, d, d) of the components."""
    density: Any = point.density
    mean = np.broadcast_to(density.mean(), (len(point.log_weight), density.loc.shape[-1]))
    if density.event_shape:
        covariance = np.asarray(density.covariance())
    else:
        variance = np.broadcast_to(density.variance(), mean.shape)
        covariance = variance[..., None] * np.eye(mean.shape[1])
    return np.array(mean), np.array(np.broadcast_to(covariance, (*mean.shape, mean.shape[1])))
