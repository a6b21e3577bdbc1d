"""The task of predicting a number: regressions offered, averaged by evidence, and judged.

They go from the mean alone to curved surfaces. Each is fitted to the training rows and
cross-validated in them, in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from credo.data.error import TableError
from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.target import Target
from credo.distributions.estimate import Estimate
from credo.distributions.predictive import Predictive
from credo.features.additive import LinearBasis, SplineBasis
from credo.features.basis import Basis, distinct_rows
from credo.features.continued import ContinuedBasis
from credo.features.polynomial import PolynomialBasis
from credo.features.radial import RadialBasis
from credo.inference.engine.stacking import hopeless_models
from credo.models.ensemble.average import ModelAverage
from credo.models.gaps.gap_average import (
    AskedRows,
    FoldCompletion,
    GapAverage,
    curved_completion,
)
from credo.models.gaps.row_completion import (
    CompletedRows,
    Completion,
    RowCompletion,
    WeighedCompletion,
)
from credo.models.kernel.gaussian_process_regressor import GaussianProcessRegressor
from credo.models.kernel.relevance_vector import RelevanceVectorRegressor
from credo.models.linear.linear_regression import LinearRegression
from credo.models.margin.support_vector_machine import SupportVectorRegressor
from credo.models.neural.neural_network import NeuralNetworkRegressor
from credo.numerics.array import Array, has_missing
from credo.numerics.parallel.threads import side_by_side
from credo.study.candidates.process import (
    affordable,
    fitted_process,
    has_varying_noise,
    process_slate,
    varying_candidate,
)
from credo.study.candidates.slate import (
    CONSTANT,
    LINEAR,
    NETWORK,
    NETWORK_ROWS,
    NETWORK_UNITS,
    RELEVANCE,
    RELEVANCE_ROWS,
    SUPPORT,
    UNWEIGHED,
    Proposal,
    Slate,
    n_terms,
    worthwhile,
)
from credo.study.progress import Progress
from credo.study.remark.regression_remark import regression_remarks
from credo.study.result.held_out import Part
from credo.study.result.judgment import (
    candidate_scores,
    columns_gain,
    cross_validation_gain,
    dropped_candidates,
    dropped_notes,
    predictives,
)
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.result import FitSettings, Judged
from credo.study.result.table_model import CandidateScore, Remark, TableModel, TableRegression
from credo.study.task import StudyRows, TaskName, Trained
from credo.validation.cross_validation import CrossValidation
from credo.validation.held_out import Forget
from credo.validation.scores import log_score
from credo.validation.splits import AdditiveFits, fold_labels

__all__ = [
    "MAX_CENTERS",
    "MAX_TERMS",
    "REGRESSION",
    "Training",
    "learned_average",
    "regression_slate",
    "retrained",
    "trained",
]

MAX_TERMS = 600
"""No candidate has more terms than this, nor more than there are training rows."""

SUPPORT_ROWS = (20, 1_000)
"""Fewest distinct rows, for folds within folds; most on which support vectors take a second."""

SUPPORT_COSTS, SUPPORT_WIDTH = (1.0, 10.0), 0.1
"""Costs of support vectors to choose from, and errors that cost nothing, in units of y."""

MAX_CENTERS = 200
"""Radial centers, where three fifths of the training rows allow as many."""

HOPELESS = 1e-12
"""Probability given some rows below which that given more is not asked for."""

CLOSE_BEHIND = 5.0
"""Log evidence by which a process may lag and noise that varies still put it ahead."""

FIRST_FOLDS = 3
"""Folds after which a candidate that cannot count is not asked about the others."""


class _Regression:
    """Prediction of a number."""

    name: TaskName = "regression"
    doubt = "interval"

    def n_threaded(self, n_rows: int) -> int:
        """Return that candidates run side by side, with many small products between them."""
        return 0

    def checked(self, target: Target, settings: FitSettings, source: str) -> FitSettings:
        """Return the settings; raise a `TableError` if decisions are asked for."""
        if settings.has_decisions:
            raise TableError(
                f"`loss` and `reject` need a target of classes; found that {target.name!r} of "
                f"{source} is a number; leave them out, or pass `task` classification."
            )
        named = {name.strip().casefold() for name in settings.models or ()}
        unweighed = [name for name in UNWEIGHED if name in named]
        if unweighed and named <= {*UNWEIGHED, CONSTANT}:
            raise TableError(
                f"`models` must name one that may count in an average; found "
                f"{' and '.join(unweighed)} with at most the mean beside them; name another as "
                f"well, such as {LINEAR}, or fit a SupportVectorRegressor, "
                "RelevanceVectorRegressor or NeuralNetworkRegressor by itself."
            )
        return settings

    def slate(
        self, X: Array, y: NDArray[Any], preparation: TablePreparation, is_fast: bool = False
    ) -> Slate:
        """Return the regressions for rows without gaps; if fast, without a process."""
        return regression_slate(X, is_fast, y)

    def over_gaps(self, model: Any, completion: Completion | FoldCompletion) -> GapAverage:
        """Return a candidate that takes rows with gaps."""
        return GapAverage(model, completion)

    def train(self, slate: Slate, rows: StudyRows, progress: Progress) -> Trained:
        """Return the regressions fitted to the training rows, averaged by evidence."""
        train = rows.split.train
        progress(0.05, "fitting the candidates")
        completion = curved_completion(
            rows.completion, _linear(slate.candidates), train.prepared.X, train.y
        )
        offered = _affordable(slate, completion, train.prepared.X, train.y)
        n_folds = min(rows.settings.n_folds, len(train.y))
        labels = fold_labels(len(train.y), n_folds, rows.fold_rng)
        may_add = rows.settings.models is None
        average, folds = trained(offered, completion, train, labels, progress, may_add)
        progress(0.7, "judging on the test rows")
        dropped = dropped_notes(dropped_candidates(average.names_, folds), n_folds)
        return Trained(average, completion, folds, offered.notes[len(slate.notes) :], dropped)

    def answers(self, trained: Trained, X: Any) -> list[Predictive]:
        """Return what each candidate says of rows, and then the average of those that count."""
        return predictives(trained.mixture, X, trained.completion)

    def scores(
        self, trained: Trained, answers: Sequence[Any], y: NDArray[Any], coverage: float
    ) -> tuple[CandidateScore, ...]:
        """Return the scores of each candidate, and then of the average."""
        return candidate_scores(trained.mixture, trained.folds, answers, y, coverage)

    def columns_gain(self, trained: Trained) -> Estimate:
        """Return the cross-validated log score of the average above that of the constant."""
        return columns_gain(trained.folds)

    def judged(
        self, trained: Trained, rows: StudyRows, common: dict[str, Any]
    ) -> JudgedRegression:
        """Return what was judged, with what evidence and cross-validation say of each other."""
        dropped = dropped_candidates(trained.mixture.names_, trained.folds)
        return JudgedRegression(
            **common,
            cv_gain=cross_validation_gain(trained.mixture, trained.folds),
            dropped=tuple(dropped),
        )

    def finish(
        self, judge: Callable[[], Judged[Any]], refit: Callable[[], TableModel]
    ) -> tuple[Judged[Any], TableModel]:
        """Return what both give, in turn: each of them keeps all cores busy."""
        return judge(), refit()

    def refit(self, trained: Trained, rows: StudyRows) -> TableRegression:
        """Return the same candidates and rules, learned from all rows."""
        labeled, target, split = rows.table.rows(rows.target.rows), rows.target, rows.split
        preparation = TablePreparation.learn(labeled, target.name, split.schema, y=target.y)
        prepared = preparation.prepare(labeled)
        weighed, start = trained.completion, None
        is_same = prepared.names == split.train.prepared.names
        if isinstance(weighed, WeighedCompletion) and is_same:
            start = weighed.curve
        average = trained.mixture
        winner = max(
            _linear(average.estimators),
            key=lambda one: average.probability_[average.names_.index(one[0])],
        )
        drawn = RowCompletion.learn(prepared.X, target.y, preparation.level_places)
        completion = curved_completion(drawn, [winner], prepared.X, target.y, start)
        again = retrained(average, completion, prepared, target.y)
        return TableRegression.unscored(
            preparation,
            prepared,
            drawn,
            len(split.test.y),
            average=again,
            coverage=rows.settings.coverage,
        )

    def learn(
        self,
        preparation: TablePreparation,
        prepared: PreparedTable,
        y: Array,
        settings: FitSettings,
    ) -> TableRegression:
        """Return regressions of all rows, averaged by evidence, that were not judged."""
        drawn = RowCompletion.learn(prepared.X, y, preparation.level_places)
        complete = drawn.training(prepared.X, y).one_of_each().X
        slate = self.slate(complete, y, preparation, settings.fast).only(settings.models)
        completion = curved_completion(drawn, _linear(slate.candidates), prepared.X, y)
        offered = _affordable(slate, completion, prepared.X, y)
        kept = [one for one in offered.candidates if one[0] not in UNWEIGHED]
        average = learned_average(kept, completion, prepared, y)
        return TableRegression.unscored(
            preparation, prepared, drawn, 0, average=average, coverage=settings.coverage
        )

    def remarks(self, judged: JudgedRegression) -> tuple[Remark, ...]:
        """Return all sentences on regressions that were judged."""
        return regression_remarks(judged)


REGRESSION = _Regression()


def regression_slate(X: ArrayLike, is_fast: bool = False, y: ArrayLike | None = None) -> Slate:
    """Return the candidates for training inputs ``X``, shape (n_rows, n_columns).

    Most are linear regressions whose precisions are learned by evidence, the last a Gaussian
    process where that takes seconds, unless it is to be fast. The constant and
    the linear one are always there; one with more terms than rows, or than `MAX_TERMS`, is
    left out with a note, and so is one that can say no more and no less about these inputs
    than a simpler one: twice the same candidate would have twice its probability; and so is
    what takes long on so many rows.

    Machines of support and of relevance vectors and neural networks are judged by folds and
    test rows only. The first need outcomes ``y``, in whose units their settings are.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> slate = regression_slate(X, is_fast=True)
    >>> [name for name, _ in slate.candidates]
    ['constant', 'linear', 'quadratic', 'cubic', 'spline', 'radial', 'spline + quadratic']
    >>> slate.notes
    ('spline + radial was left out: its 51 terms are more than the 40 training rows allow.',)
    >>> regression_slate(X).candidates[-2:]
    (('relevance vectors', RelevanceVectorRegressor()),
     ('process', GaussianProcessRegressor(method='exact')))
    """
    rows = np.asarray(X, dtype=np.float64)
    kept, notes = worthwhile(rows, _proposals(rows), (CONSTANT, LINEAR), MAX_TERMS)
    candidates = tuple((name, LinearRegression(_continued(basis))) for name, basis, _ in kept)
    if is_fast:
        return Slate(candidates, tuple(notes))
    n_distinct, n_rows = len(distinct_rows(rows)), len(rows)
    slow: list[Slate] = []
    if n_distinct >= SUPPORT_ROWS[0] and y is not None:
        slow.append(_support(np.asarray(y)).within(n_rows, SUPPORT_ROWS[1]))
    if n_distinct >= RELEVANCE_ROWS[0]:
        relevance = Slate(((RELEVANCE, RelevanceVectorRegressor()),), ())
        slow.append(relevance.within(n_rows, RELEVANCE_ROWS[1]))
    if n_distinct >= NETWORK_ROWS[0]:
        network = NeuralNetworkRegressor(NETWORK_UNITS, random_state=0)
        slow.append(Slate(((NETWORK, network),), ()).within(n_rows, NETWORK_ROWS[1]))
    slow.append(process_slate(rows))
    return Slate(candidates, tuple(notes)).joined(slow)


def _support(y: Array) -> Slate:
    """Return the machine whose costs and width suit the spread of outcomes, if they vary."""
    unit = float(np.std(y))
    if not unit > 0:
        return Slate((), ())
    costs = tuple(float(f"{factor * unit:.2g}") for factor in SUPPORT_COSTS)
    width = float(f"{SUPPORT_WIDTH * unit:.2g}")
    machine = SupportVectorRegressor(C=costs, epsilon=width, probability=True)
    return Slate(((SUPPORT, machine),), ())


class Training(NamedTuple):
    """The average of candidates fitted to all training rows, and what each said in folds.

    Candidates that were not asked about every fold have NaN for the rows of the others.
    """

    average: ModelAverage
    folds: tuple[CrossValidation, ...]


def trained(
    slate: Slate,
    completion: Completion,
    train: Part,
    fold: NDArray[np.intp],
    progress: Progress,
    may_add: bool = True,
) -> Training:
    """Return the candidates of a slate, each learned from all rows and from all folds but one.

    Statistics of the folds add up to those of all rows, so that the rows are read once, with
    each basis placed once on the inputs of them all; a process forgets a fold in closed form.
    Rows with gaps are completed once, for all candidates. A candidate that has no probability
    given all rows, and after the first folds could have no weight in a mixture either, is not
    asked about the other folds; only the constant always is, since all are compared with it.

    Parameters
    ----------
    slate
        The candidates.
    completion
        What may be in the gaps of the rows.
    train
        The training rows.
    fold
        Which fold each row is in, 0, 1, ...
    progress
        Called with the candidate that has its turn, from a fifth of the work to seven tenths.
    may_add
        Whether noise that follows the columns is tried where a process leads and its
        residuals ask for it.
    """
    rows = _TrainingRows.of(completion, train, fold)
    first, *others = _fold_parts(completion, train, fold)
    telling, begun = Lock(), iter(range(len(slate.candidates)))

    def begin(candidate: tuple[str, Any]) -> _Judged:
        with telling:
            share = 0.2 + 0.5 * next(begun, len(slate.candidates)) / len(slate.candidates)
            progress(share, f"cross-validating {candidate[0]}")
        judged = _Judged.of(candidate[1], rows)
        judged.ask(first)
        return judged

    # The last candidates take longest: the cores end together if these come first.
    candidates = list(slate.candidates)
    found = side_by_side(begin, candidates[::-1])[::-1]
    more = rows.with_varying_noise(candidates, found) if may_add else []
    candidates, found = [*candidates, *more], [*found, *map(begin, more)]
    average = ModelAverage(candidates).weigh(
        [judged.whole for judged in found], takes_bounds=True, unheard=UNWEIGHED
    )
    is_dropped = (average.probability_ < HOPELESS) & hopeless_models(
        [judged.log_prob[first.rows] for judged in found]
    )
    kept = [
        judged
        for judged, (name, _), is_out in zip(found, candidates, is_dropped, strict=True)
        if name == CONSTANT or not is_out
    ]
    side_by_side(lambda pair: pair[0].ask(pair[1]), list(product(kept[::-1], others)))
    return Training(average, tuple(judged.cross_validation(fold) for judged in found))


def retrained(
    average: ModelAverage, completion: Completion, prepared: PreparedTable, y: Array
) -> ModelAverage:
    """Return the same candidates learned from other rows, and weighed anew.

    Those far too improbable to count are not worth another fit, but for the first two: a
    constant and straight lines, which any candidate is compared with. Processes keep the
    settings that they have learned, as long as the columns are the same.
    """
    named = zip(average.estimators, average.probability_, strict=True)
    kept = [
        candidate
        for candidate, share in named
        if share >= HOPELESS or candidate[0] in (CONSTANT, LINEAR)
    ]
    is_same = tuple(average.feature_names_in_) == prepared.names
    settled = average.named_estimators_ if is_same else {}
    return learned_average(kept, completion, prepared, y, settled)


def learned_average(
    candidates: Sequence[tuple[str, Any]],
    completion: Completion,
    prepared: PreparedTable,
    y: Array,
    settled: Mapping[str, Any] = MappingProxyType({}),
) -> ModelAverage:
    """Return candidates learned from rows with gaps, weighed by their evidence.

    Parameters
    ----------
    settled
        Fits to other rows of the same columns, from which processes take their settings.
    """
    rows = completion.training(prepared.X, y)
    inputs, outcome = prepared._replace(X=rows.X).frame, y[rows.row]

    def fitted(candidate: tuple[str, Any]) -> Any:
        name, model = candidate
        if isinstance(model, GaussianProcessRegressor):
            if name in settled:
                return settled[name].conditioned(inputs, outcome, rows.given_weight)
            return fitted_process(model, rows, inputs, y)
        return clone(model).fit(inputs, outcome, sample_weight=rows.given_weight)

    found = side_by_side(fitted, candidates[::-1])[::-1]
    return ModelAverage(list(candidates)).weigh(found, takes_bounds=True)


def _linear(candidates: Sequence[tuple[str, Any]]) -> list[tuple[str, LinearRegression]]:
    """Return the candidates that are linear in a basis."""
    return [one for one in candidates if isinstance(one[1], LinearRegression)]


def _affordable(slate: Slate, completion: Completion, X: Array, y: Array) -> Slate:
    """Return the slate, without processes if rows with gaps have too many completions."""
    if len(_linear(slate.candidates)) == len(slate.candidates) or not has_missing(X):
        return slate
    return affordable(slate, len(completion.training(X, y).row))


def _proposals(X: Array) -> Iterator[Proposal]:
    n_rows, n_columns = X.shape
    # Orthogonal columns do not depend on where the zero of an input lies.
    quadratic, cubic = (PolynomialBasis(degree, orthogonal=True) for degree in (2, 3))
    spline = SplineBasis()
    n_centers = max(1, min(MAX_CENTERS, 3 * n_rows // 5))
    radial = RadialBasis(n_centers)
    n_quadratic = n_terms(quadratic, X, PolynomialBasis(2).n_columns(n_columns))
    n_cubic = n_terms(cubic, X, PolynomialBasis(3).n_columns(n_columns))
    n_spline = n_terms(spline, X, (spline.n_knots + 1) * n_columns)
    yield Proposal(CONSTANT, PolynomialBasis(0), 0)
    yield Proposal(LINEAR, None, n_columns)
    yield Proposal("quadratic", quadratic, n_quadratic)
    yield Proposal("cubic", cubic, n_cubic)
    yield Proposal("spline", spline, n_spline)
    yield Proposal("radial", LinearBasis() + radial, n_columns + n_centers)
    yield Proposal("spline + quadratic", spline + quadratic, n_spline + n_quadratic)
    yield Proposal("spline + radial", spline + radial, n_spline + n_centers)


def _continued(basis: Basis | None) -> ContinuedBasis:
    """Return a basis that no odd row can make run away; None is the inputs themselves."""
    return ContinuedBasis(LinearBasis() if basis is None else basis)


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """Completed rows to learn from, with outcomes and folds."""

    learned: CompletedRows
    inputs: pd.DataFrame
    y: Array
    fold: NDArray[np.intp]

    @classmethod
    def of(cls, completion: Completion, train: Part, fold: NDArray[np.intp]) -> _TrainingRows:
        learned = completion.training(train.prepared.X, train.y)
        inputs = train.prepared._replace(X=learned.X).frame
        return cls(learned, inputs, train.y, fold)

    @property
    def outcome(self) -> Array:
        """The outcome of each completed row."""
        return self.y[self.learned.row]

    def with_varying_noise(
        self, candidates: Sequence[tuple[str, Any]], found: Sequence[_Judged]
    ) -> list[tuple[str, Any]]:
        """Return the best process with noise that follows the columns, if worth a try."""
        evidence = np.array([_log_evidence(judged.whole, -np.inf) for judged in found])
        is_process = np.array([isinstance(m, GaussianProcessRegressor) for _, m in candidates])
        best = int(np.argmax(np.where(is_process, evidence, -np.inf)))
        if not is_process[best] or evidence[best] < evidence.max() - CLOSE_BEHIND:
            return []
        if not has_varying_noise(found[best].whole, self.inputs, self.outcome, self.learned):
            return []
        return [varying_candidate(candidates[best][0])]


@dataclass(frozen=True, eq=False)
class _FoldPart:
    """Some folds, the training rows in them, and what is asked about these rows."""

    folds: NDArray[np.intp]
    rows: NDArray[np.intp]
    asked: AskedRows
    place: NDArray[np.intp]
    each: Sequence[_FoldPart] = ()


def _fold_parts(
    completion: Completion, train: Part, fold: NDArray[np.intp]
) -> Iterator[_FoldPart]:
    """Yield the first folds, and then the others in two parts, which two cores may share."""

    def part(folds: NDArray[np.intp], each: Sequence[_FoldPart] = ()) -> _FoldPart:
        rows = np.flatnonzero(np.isin(fold, folds))
        asked = AskedRows.of(completion, train.prepared.frame.iloc[rows])
        return _FoldPart(folds, rows, asked, np.searchsorted(folds, fold[rows]), each)

    n_folds = int(fold.max()) + 1
    rest = np.arange(min(FIRST_FOLDS, n_folds), n_folds)
    for folds in (np.arange(min(FIRST_FOLDS, n_folds)), *np.array_split(rest, 2)):
        if len(folds):
            yield part(folds, [part(folds[k : k + 1]) for k in range(len(folds))])


class _Said(NamedTuple):
    """What fits without some folds say of rows in these, and the evidence of each fit."""

    answers: Iterable[tuple[NDArray[np.intp], Predictive]]
    evidences: Sequence[float]


class _Folds(Protocol):
    """A candidate fitted to all rows, which can do without any fold."""

    @property
    def whole(self) -> Any:
        """The fit to all rows."""

    def said(self, part: _FoldPart) -> _Said:
        """Return what fits without each of some folds say of the rows in it."""


@dataclass(frozen=True, eq=False)
class _AdditiveFolds:
    """A linear regression, whose statistics add."""

    fits: AdditiveFits
    whole: LinearRegression

    @classmethod
    def of(cls, candidate: LinearRegression, rows: _TrainingRows) -> _AdditiveFolds:
        fold, weight = rows.fold[rows.learned.row], rows.learned.given_weight
        fits = AdditiveFits.of(candidate, rows.inputs, rows.outcome, fold, weight)
        return cls(fits, fits.whole())

    def said(self, part: _FoldPart) -> _Said:
        """Return what fits without each of some folds say of the rows in it."""
        models = [self.fits.without(k) for k in part.folds]
        groups = part.place[part.asked.row]
        said = self.fits.model.predict_groups(part.asked.X, groups, models)
        answers = [(part.rows[own], found) for own, found in part.asked.parts(said)]
        return _Said(answers, [model.log_evidence_ for model in models])


@dataclass(frozen=True, eq=False)
class _ForgottenFolds:
    """A process, which forgets a fold at the settings learned from all rows."""

    whole: GaussianProcessRegressor
    forget: Forget
    fold: NDArray[np.intp]

    @classmethod
    def of(cls, candidate: GaussianProcessRegressor, rows: _TrainingRows) -> _ForgottenFolds:
        whole = fitted_process(candidate, rows.learned, rows.inputs, rows.y)
        forget = whole.forgetting(rows.inputs, rows.outcome, rows.learned.given_weight)
        assert forget is not None
        return cls(whole, forget, rows.fold[rows.learned.row])

    def said(self, part: _FoldPart) -> _Said:
        """Return what it says of the rows in each of some folds, having forgotten these."""
        answers, evidences = [], []
        for one in part.each:
            model = self.forget(np.flatnonzero(self.fold == one.folds[0]))
            said = one.asked.parts(model.predict_dist(one.asked.X))
            answers += [(one.rows[own], found) for own, found in said]
            evidences.append(model.log_evidence_)
        return _Said(answers, evidences)


@dataclass(frozen=True, eq=False)
class _RefittedFolds:
    """A candidate that is learned anew without each fold, with settings found in all if any."""

    whole: Any
    settled: Any
    rows: _TrainingRows

    @classmethod
    def of(cls, candidate: Any, rows: _TrainingRows) -> _RefittedFolds:
        whole = _fitted(candidate, rows, np.ones(len(rows.outcome), dtype=np.bool_))
        settled = whole.settled() if hasattr(whole, "settled") else candidate
        return cls(whole, settled, rows)

    def said(self, part: _FoldPart) -> _Said:
        """Return what fits without each of some folds say of the rows in it."""
        fold = self.rows.fold[self.rows.learned.row]
        answers, evidences = [], []
        for one in part.each:
            model = _fitted(self.settled, self.rows, fold != one.folds[0])
            said = one.asked.parts(model.predict_dist(one.asked.X))
            answers += [(one.rows[own], found) for own, found in said]
            evidences.append(_log_evidence(model))
        return _Said(answers, evidences)


def _fitted(candidate: Any, rows: _TrainingRows, kept: NDArray[np.bool_]) -> Any:
    weight = rows.learned.given_weight
    given = {} if weight is None else {"sample_weight": weight[kept]}
    return clone(candidate).fit(rows.inputs[kept], rows.outcome[kept], **given)


def _log_evidence(model: Any, otherwise: float = np.nan) -> float:
    """Return the evidence of a model that may count in an average."""
    if isinstance(model, RelevanceVectorRegressor | NeuralNetworkRegressor):
        return otherwise
    return float(getattr(model, "log_evidence_", otherwise))


@dataclass(frozen=True, eq=False)
class _Judged:
    """A candidate fitted to all rows, and what it said of rows whose fold it had not seen."""

    folds: _Folds
    y: Array
    log_prob: Array
    mean: Array
    evidences: Array

    @classmethod
    def of(cls, candidate: Any, rows: _TrainingRows) -> _Judged:
        kinds = {GaussianProcessRegressor: _ForgottenFolds, LinearRegression: _AdditiveFolds}
        kind: Any = kinds.get(type(candidate), _RefittedFolds)
        log_prob, mean = np.full((2, len(rows.y)), np.nan)
        evidences = np.full(int(rows.fold.max()) + 1, np.nan)
        return cls(kind.of(candidate, rows), rows.y, log_prob, mean, evidences)

    @property
    def whole(self) -> Any:
        """The fit to all rows."""
        return self.folds.whole

    def ask(self, part: _FoldPart) -> None:
        """Keep what fits without each of some folds say of the rows in it."""
        # Without one fold a target may be constant: infinitely sure, and infinitely wrong.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            said = self.folds.said(part)
            for rows, predictive in said.answers:
                self.log_prob[rows] = log_score(self.y[rows], predictive)
                self.mean[rows] = predictive.mean()
        self.evidences[part.folds] = said.evidences

    def cross_validation(self, fold: NDArray[np.intp]) -> CrossValidation:
        """Return what was said, folds not asked about left out."""
        return CrossValidation.of_numbers(self.log_prob, self.mean, fold, self.evidences)
