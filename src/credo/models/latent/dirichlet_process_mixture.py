"""Mixtures without a number of components: Dirichlet processes, by draws or a belief."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from credo.distributions.class_conditional import ClassConditional
from credo.families.categorical import DirichletCategorical
from credo.families.component import Components
from credo.families.stick_breaking import StickBreakingCategorical
from credo.inference.engine.engine import Inference, run
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows, LatentClassProblem
from credo.inference.latent.mixture_search import MixtureHistory, MixtureSearch, started_share
from credo.inference.latent.other_mixtures import ProcessProblem, process_concentration
from credo.inference.latent.partition import (
    CollapsedGibbs,
    PartitionDraws,
    PartitionLaw,
    PartitionProblem,
    drawn_belief,
    drawn_rows,
    kept_draws,
)
from credo.models.contract.column_kinds import ColumnKinds, column_belief, read_columns
from credo.models.contract.inputs import generator, inference_name, require_count
from credo.models.latent.mixture import (
    Mixture,
    incomplete_rows,
)
from credo.numerics.array import Array
from credo.numerics.example import Example
from credo.numerics.form import SMALLEST, Form

__all__ = ["DirichletProcessMixture"]

WAYS: Mapping[str, Any] = {"gibbs": CollapsedGibbs, "variational": ExpectationMaximization}

USUAL_CLUSTERS = 5
"""Clusters for whose size the default prior is made."""

MOST_CONSENSUS = 2000
"""Rows up to which a consensus is found from all pairs."""

N_PARTITIONS = 500
"""Partitions drawn from a belief, from which their number of clusters is counted."""


class DirichletProcessMixture(Mixture):
    """Rows in clusters, as many as the data ask for.

    ``weights ~ a stick that is broken``, or rows that join clusters or open new ones: a
    Dirichlet process. It has no true number of clusters, and with more rows it finds more
    small ones: ask `GaussianMixture.component_table` where there is a true number.

    Parameters
    ----------
    families
        As of `MixtureModel`, by column; numbers are one normal "vector" by default.
    concentration
        How readily clusters are opened; None learns it, with a gamma prior of shape and rate 1.
    inference
        "gibbs" for draws of partitions, parameters integrated out, with splits and merges;
        "variational" for a belief that is cut after ``n_components``; or an engine such as
        ``CollapsedGibbs(2000)`` or ``ExpectationMaximization(1e-9)``.
    n_components
        Most components of "variational".
    n_restarts
        Starts of "variational".
    random_state
        Where draws and starts come from.

    Attributes
    ----------
    labels_
        Consensus partition of the rows, clusters by falling size, shape (n,).
    n_components_
        Clusters of the consensus and one more: that of rows which none of them has.
    cluster_probability_
        Probability of 1, 2, ... clusters among the rows.
    concentration_
        Expected concentration.
    posterior_
        Draws as `PartitionDraws`, or the belief as `Components`.
    predictive_
        Weight and density of each cluster, of each draw.
    bound_, log_evidence_, evidence_method_
        Lower bound of the log evidence of "variational", else NaN.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(8, 1, (30, 2))])
    >>> model = DirichletProcessMixture().fit(rows)
    >>> np.bincount(model.labels_)[:2], int(model.cluster_probability_.argmax()) + 1
    (array([40, 30]), 2)
    """

    columns_: ColumnKinds
    posterior_: Components | PartitionDraws
    inference_: Inference
    labels_: Annotated[NDArray[np.intp], Form("n", 0)]
    cluster_probability_: Annotated[Array, Form("t", 0.0, 1.0)]
    concentration_: Annotated[float, Form(low=0.0)]
    n_rows_: Annotated[float, Form(low=SMALLEST)]

    def __init__(
        self,
        families: str | Mapping[Any, str] | None = None,
        concentration: float | None = None,
        inference: str | CollapsedGibbs | ExpectationMaximization = "gibbs",
        n_components: int = 20,
        n_restarts: int = 2,
        random_state: Any = 0,
    ) -> None:
        self.families = families
        self.concentration = concentration
        self.inference = inference
        self.n_components = n_components
        self.n_restarts = n_restarts
        self.random_state = random_state

    @classmethod
    def examples(cls) -> tuple[Self | Example, ...]:
        """Return examples for the laws, and for saving."""
        quick = cls(inference="variational", n_components=2, n_restarts=1)
        return (Example(quick, rtol=0.05),)

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn from rows of a table or array; NaN and None are missing."""
        require_count("n_components", self.n_components)
        require_count("n_restarts", self.n_restarts)
        name = inference_name(self.inference, WAYS)
        self._require_concentration()
        rows, self.columns_ = read_columns(self, X, self.families, "vector")
        rows = self._without_constants(rows, np.ones(len(rows)))
        data, kept = incomplete_rows(rows, np.ones(len(rows)), None, 1)
        self.n_rows_ = float(len(data.x))
        rng = generator(self.random_state)
        columns = self.columns_.chosen(self.varying_)
        belief = column_belief(columns, data, USUAL_CLUSTERS, is_point=False)
        learned = self._drawn if name == "gibbs" else self._believed
        label = learned(data, belief, rng)
        self.labels_ = np.full(len(rows), 0, dtype=np.intp)
        self.labels_[kept] = label
        return self

    def cluster_table(self) -> pd.DataFrame:
        """Return the probability of each number of clusters among the rows."""
        check_is_fitted(self, "predictive_")
        n = pd.RangeIndex(1, len(self.cluster_probability_) + 1, name="n_clusters")
        return pd.DataFrame({"probability": self.cluster_probability_}, index=n)

    def co_clustering(self, X: Any = None) -> Array:
        """Return the probability that two rows are of one cluster, shape (n, n).

        Parameters
        ----------
        X
            Rows; None for those that draws were made of, if inference is "gibbs".
        """
        check_is_fitted(self, "predictive_")
        if X is None and isinstance(self.posterior_, PartitionDraws):
            return self.posterior_.co_clustering()
        if X is None:
            raise ValueError(
                "X must be given for inference='variational', since rows are not kept; found "
                "None. Pass the rows."
            )
        return super().co_clustering(X)

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Return ``n`` new rows: an array, or a table if columns have names or categories."""
        rows = super().sample(n, random_state)
        return self.columns_.table(rows, getattr(self, "feature_names_in_", None))

    def _drawn(
        self, data: IncompleteRows, belief: Any, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Learn by draws of partitions; return the consensus."""
        n, gamma = len(data.x), None if self.concentration is not None else (1.0, 1.0)
        law = PartitionLaw.process(self.concentration or 1.0, n)
        k = min(len(np.unique(data.x[:1000], axis=0)), USUAL_CLUSTERS)
        start = started_share(IncompleteRows.unlabeled(data.x, k), rng).argmax(axis=1)
        problem = PartitionProblem(data.x, belief, law, gamma, start.astype(np.int64))
        engine = self.inference if isinstance(self.inference, CollapsedGibbs) else None
        found = run(engine or CollapsedGibbs.usual(data.x), problem, rng)
        draws = found.posterior
        self.inference_, self.posterior_ = found, draws
        self.cluster_probability_ = draws.cluster_probability()
        self.concentration_ = float(draws.concentration.mean())
        if n <= MOST_CONSENSUS:
            label = draws.consensus()
        else:
            label = draws.pooled[int(draws.log_density.argmax())].astype(np.intp)
        label = _by_size(label)
        self._set_predictive(data, belief, label, rng)
        self.bound_ = self.log_evidence_ = np.nan
        self.evidence_method_ = "none"
        self.history_ = MixtureHistory(np.array([s.objective for s in found.trace]), (), ())
        return label

    def _set_predictive(
        self, data: IncompleteRows, belief: Any, label: NDArray[np.intp], rng: Any
    ) -> None:
        """Set the clusters of all draws that are kept, and of a row that opens one."""
        draws = self.posterior_
        assert isinstance(draws, PartitionDraws)
        chosen = kept_draws(draws, len(data.x))
        labels = draws.pooled[chosen].astype(np.intp)
        most = int(labels.max()) + 2
        prior = Components(DirichletCategorical(np.ones(most)), belief)
        problem = LatentClassProblem(IncompleteRows.unlabeled(data.x, most), prior)
        each = drawn_belief(prior.rows, drawn_rows(problem, labels, rng), labels, most)
        count = np.stack([(labels == c).sum(axis=1) for c in range(most)], axis=1)
        # The last one of each draw has no rows: it is the cluster that a row may open.
        weight = count.astype(np.float64)
        weight[:, -1] = draws.concentration.ravel()[chosen]
        weight /= weight.sum(axis=1, keepdims=True) * len(labels)
        used = weight.ravel() > 0
        self.n_components_ = int(label.max()) + 2
        component = np.empty((len(labels), most), dtype=np.intp)
        for s, one in enumerate(labels):
            table = np.zeros((most, self.n_components_))
            np.add.at(table, (one, label), 1.0)
            component[s] = np.where(count[s] > 0, table.argmax(axis=1), self.n_components_ - 1)
        self.component_ = component.ravel()[used]
        self.predictive_ = ClassConditional(
            np.log(weight.ravel()[used]), each[np.flatnonzero(used)].predictive()
        )

    def _believed(
        self, data: IncompleteRows, belief: Any, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Learn a belief that is cut; return the most probable cluster of each row."""
        n_distinct = len(np.unique(data.x, axis=0))
        k = max(2, min(int(self.n_components), n_distinct))
        wide = IncompleteRows.unlabeled(data.x, k)
        weights = StickBreakingCategorical.of_process(self.concentration or 1.0, k)
        problem: LatentClassProblem = LatentClassProblem(wide, Components(weights, belief))
        if self.concentration is None:
            problem = ProcessProblem(wide, problem.prior)
        engine = self.inference
        if not isinstance(engine, ExpectationMaximization):
            engine = ExpectationMaximization(1e-7, 2000)
        found, self.history_ = MixtureSearch(engine, int(self.n_restarts)).best(problem, rng)
        self.inference_, self.posterior_ = found, found.posterior
        self.predictive_ = found.posterior.predictive()
        self.n_components_, self.component_ = k, np.arange(k)
        self.concentration_ = float(self.concentration or 0.0)
        if self.concentration is None:
            classes: Any = found.posterior.classes
            self.concentration_ = float(process_concentration(classes, (1.0, 1.0)).mean())
        share = problem.responsibility(found.posterior)
        drawn = _counted_clusters(share, rng)
        self.cluster_probability_ = np.bincount(drawn, minlength=k + 1)[1:] / len(drawn)
        self.bound_ = self.log_evidence_ = float(found.log_evidence)
        self.evidence_method_ = "bound"
        return np.asarray(share.argmax(axis=1))

    def _require_concentration(self) -> None:
        value = self.concentration
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 < float(value) < np.inf):
            raise ValueError(
                "concentration must be a positive number, or None to learn it; found "
                f"{value!r}. Pass 1.0 for a few clusters."
            )

    def coded_rows(self, X: Any) -> Array:
        """Return rows as numbers (n, d), as a fitted model reads them."""
        check_is_fitted(self, "predictive_")
        return read_columns(self, X, self.columns_, "vector")[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _by_size(label: NDArray[Any]) -> NDArray[np.intp]:
    """Return labels renamed so that clusters come by falling size."""
    count = np.bincount(label)
    place = np.empty(len(count), dtype=np.intp)
    place[np.argsort(-count, kind="stable")] = np.arange(len(count))
    return np.asarray(place[label])


def _counted_clusters(share: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return how many components rows are in, at draws of the component of each."""
    steps = np.cumsum(share, axis=1)
    found = np.empty(N_PARTITIONS, dtype=np.intp)
    for s in range(N_PARTITIONS):
        label = (steps <= rng.uniform(size=len(share))[:, None] * steps[:, -1:]).sum(axis=1)
        found[s] = len(np.unique(label))
    return found
