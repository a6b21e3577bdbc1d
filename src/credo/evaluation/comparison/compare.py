"""Models compared on the same rows, by evidence, log score, accuracy or error.

The trials of the models give losses, contrasts of pairs, a table, and a posterior over the
models whose evidences mean the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from credo.distributions.estimate import root_mean_square, sample_mean
from credo.evaluation.classes.confusion import Confusion
from credo.evaluation.classes.rates import matthews_correlation
from credo.evaluation.comparison.comparison import Comparison, score_title
from credo.evaluation.comparison.difference import correlated_t, paired_difference
from credo.evaluation.comparison.verdict import Contrast, Kind, Verdict, judge, percent
from credo.inference.engine.model_evidence import Evidence, model_posterior
from credo.inference.engine.stacking import stacking_weights
from credo.numerics.array import Array, as_float
from credo.validation.cross_validation import planned_scores
from credo.validation.named_models import named_models
from credo.validation.outcome import MISSING, Outcome, flat_column
from credo.validation.predictive import has_predictive
from credo.validation.proportion import proportion_interval
from credo.validation.split_plan import NEVER, SplitPlan
from credo.validation.splits import TrainingRows

__all__ = [
    "EvidenceRanking",
    "Trial",
    "compare",
    "contrasts",
    "row_losses",
    "summary_table",
    "trial",
]

Rows = NDArray[np.intp]

COVERAGE = 0.95


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of one model.

    Attributes
    ----------
    name
        Of the model.
    log_score
        Of each held-out row, shape (n,); NaN where the model gives no probabilities. Of a
        regressor that only has ``predict``, that of a normal fitted to its residuals.
    predicted
        What it would have answered in each held-out row, a class or a number.
    evidence
        Of the fit to all rows.
    seconds
        That fitting all rows took.
    failure
        Why the model could not be fitted; None if it could.
    has_own_spread
        Whether the model says by itself how far off it may be.
    """

    name: str
    log_score: Array
    predicted: NDArray[Any]
    evidence: Evidence
    seconds: float
    failure: Exception | None = None
    has_own_spread: bool = True

    @property
    def error(self) -> str:
        """The failure in words, with what it came from; empty if there is none."""
        return "" if self.failure is None else _words(self.failure)


def trial(name: str, model: Any, X: Any, outcome: Outcome, plan: SplitPlan) -> Trial:
    """Return held-out scores, evidence and time of a model, or why it failed.

    A failure is that data or settings were refused, or that numbers or a run went wrong. Other
    errors, such as a wrong name, are mistakes in a program: they are raised, and say in which
    model.
    """
    rows = TrainingRows.of(X, outcome, None)
    try:
        held = planned_scores(model, rows, plan)
        _require_predictions(outcome, held.predicted, plan.fold != NEVER)
        start = time.perf_counter()
        fitted = rows.fit(model)
        seconds = time.perf_counter() - start
        evidence = Evidence.of_model(fitted)
    except (ValueError, TypeError, ArithmeticError, RuntimeError) as failure:
        nothing = np.empty(0)
        return Trial(name, nothing, nothing, Evidence(np.nan, "none", "", ()), 0.0, failure)
    except Exception as error:
        error.add_note(f"This happened while {name!r} was compared with other models.")
        raise
    has_own_spread = outcome.classes is not None or has_predictive(fitted)
    return Trial(name, held.log_score, held.predicted, evidence, seconds, None, has_own_spread)


def _require_predictions(
    outcome: Outcome, predicted: NDArray[Any], is_held_out: NDArray[np.bool_]
) -> None:
    if outcome.classes is None and np.isnan(predicted[is_held_out]).any():
        raise ValueError(
            "predictions must have a mean in every held-out row; found rows without one, as of "
            "a Student t with 1 degree of freedom, learned from 2 rows. Add rows, or use more "
            "folds, so that each is learned from more."
        )


def _words(failure: BaseException) -> str:
    found = f"{type(failure).__name__}: {failure}"
    hidden = None if failure.__suppress_context__ else failure.__context__
    source = failure.__cause__ or hidden
    return found if source is None else f"{found} (from {_words(source)})"


def row_losses(trials: Sequence[Trial], outcome: Outcome, fold: Rows, power: int = 2) -> Array:
    """Return the loss of each model in each row, shape (n_models, n).

    For classes 1 where the answer was wrong, NaN where the class is not known; for numbers
    the error, in standard deviations of y, to a power. NaN in rows that are never held out.
    """
    if outcome.codes is not None:
        wrong = np.array([t.predicted != outcome.y for t in trials], dtype=np.float64)
        return np.where((outcome.codes == MISSING) | (fold == NEVER), np.nan, wrong)
    y = as_float(outcome.y).reshape(len(outcome.y), -1)
    spread = np.where(y.std(axis=0) > 0, y.std(axis=0), 1.0)
    errors = [np.abs(as_float(t.predicted).reshape(y.shape) - y) / spread for t in trials]
    return np.where(fold == NEVER, np.nan, [(e**power).mean(axis=1) for e in errors])


def contrasts(
    score: str,
    trials: Sequence[Trial],
    losses: Array,
    plan: SplitPlan,
    rope: float,
    is_class: bool,
) -> list[Contrast]:
    """Return the difference of each two models in log score, accuracy or error.

    Models without a finite score are left out. As ``a - b = (a^2 - b^2) / (a + b)``, a
    difference of roots of mean squared errors is the mean over rows of differences of squared
    errors, divided by the sum of both roots.

    Parameters
    ----------
    losses
        What `row_losses` gives for the score.
    is_class
        Whether the outcomes are classes, so that a loss is 0 or 1.
    """
    values = np.array([t.log_score for t in trials]) if score == "log_score" else -losses
    known = ~np.isnan(losses).any(axis=0)
    values, fold = values[:, known], plan.fold[known]
    able = [i for i in range(len(trials)) if np.isfinite(values[i]).all()]
    answer = []
    for i, j in combinations(able, 2):
        names = trials[i].name, trials[j].name
        gain = values[i] - values[j]
        if score == "rmse":
            gain /= np.sqrt(-values[[i, j]].mean(axis=1)).sum() or 1.0
        found = _over_folds(names, gain, fold, plan.overlap, rope)
        if score == "accuracy" and is_class:
            rows = _over_rows(names, values[i] < 0, values[j] < 0, rope)
            found = rows if len(np.unique(fold)) == 1 else _more_cautious(rows, found)
        answer.append(found)
    return answer


def _over_folds(
    names: tuple[str, str], gain: Array, fold: Rows, overlap: float, rope: float
) -> Contrast:
    _, code = np.unique(fold, return_inverse=True)
    if not code.any():
        # One part held out: its rows are independent, given the fitted models.
        found = correlated_t(gain, rope, correlation=0.0)
    else:
        by_fold = np.bincount(code, weights=gain) / np.bincount(code)
        found = correlated_t(by_fold, rope, correlation=overlap / (1 + overlap))
    p_value = 2 * min(found.positive, 1 - found.positive)
    return Contrast(*names, found.estimate, found.scale, found.df, p_value, rope)


def _over_rows(
    names: tuple[str, str],
    is_error_first: NDArray[Any],
    is_error_second: NDArray[Any],
    rope: float,
) -> Contrast:
    found = paired_difference(is_error_first, is_error_second)
    # The spread of the interval, which is honest where no answer differed.
    reach = 0.5 * (found.high - found.low)
    unit = Contrast("", "", 0.0, 1.0, np.inf, 1.0, 0.0).reach(found.coverage)
    return Contrast(*names, -found.estimate, reach / unit, np.inf, found.p_value, rope)


def _more_cautious(rows: Contrast, folds: Contrast) -> Contrast:
    """Return the difference over rows, as unsure as the less sure of two tests.

    McNemar's test leaves out the luck of training, which folds show; few errors leave folds
    without a spread, which the interval over rows has.
    """
    wider = max(rows, folds, key=lambda contrast: contrast.reach(COVERAGE))
    p_value = max(rows.p_value, folds.p_value)
    return replace(rows, scale=wider.scale, df=wider.df, p_value=p_value)


def summary_table(
    trials: Sequence[Trial], outcome: Outcome, losses: Array, probability: Array
) -> pd.DataFrame:
    """Return one row for each model with all its numbers; see `Comparison`."""
    scores = np.array([t.log_score for t in trials])
    known = np.asarray(~np.isnan(losses).any(axis=0))
    with np.errstate(invalid="ignore"):
        mean = [sample_mean(row[known]) for row in scores]
    able = ~np.isnan(scores[:, known]).all(axis=1)
    weights = np.full(len(trials), np.nan)
    if np.isfinite(scores[:, known]).any():
        weights[able] = stacking_weights(scores[np.ix_(able, known)])
    columns: dict[str, Any] = {
        "log_score": [float(m.value) for m in mean],
        "log_score_error": [float(m.standard_error) for m in mean],
        "n_impossible": np.isneginf(scores[:, known]).sum(axis=1),
        **(_class_columns if outcome.codes is not None else _number_columns)(
            trials, outcome, losses[:, known], known
        ),
        "log_evidence": [t.evidence.value for t in trials],
        "evidence_method": [t.evidence.method for t in trials],
        "probability": probability,
        "stacking_weight": weights,
        "fit_seconds": [t.seconds for t in trials],
    }
    return pd.DataFrame(columns, index=pd.Index([t.name for t in trials], name="model"))


def _class_columns(
    trials: Sequence[Trial], outcome: Outcome, losses: Array, known: NDArray[np.bool_]
) -> dict[str, Any]:
    n_errors, n = losses.sum(axis=1), losses.shape[1]
    low, high = proportion_interval(n_errors, n, coverage=0.95).T
    tables = [Confusion.of(outcome.y[known], t.predicted[known]) for t in trials]
    return {
        "error_rate": n_errors / n,
        "error_rate_low": low,
        "error_rate_high": high,
        "mcc": [matthews_correlation(table).value for table in tables],
    }


def _number_columns(
    trials: Sequence[Trial], outcome: Outcome, losses: Array, known: NDArray[np.bool_]
) -> dict[str, Any]:
    y = as_float(outcome.y).reshape(len(outcome.y), -1)
    errors = [as_float(t.predicted).reshape(y.shape) - y for t in trials]
    rmse = [
        root_mean_square(np.hypot.reduce(e[known], axis=1) / np.sqrt(e.shape[1]))
        for e in errors
    ]
    mae = [sample_mean(np.abs(e[known]).mean(axis=1)) for e in errors]
    return {
        "rmse": [float(root.value) for root in rmse],
        "rmse_error": [float(root.standard_error) for root in rmse],
        "mae": [float(mean.value) for mean in mae],
        "mae_error": [float(mean.standard_error) for mean in mae],
    }


@dataclass(frozen=True, eq=False)
class EvidenceRanking:
    """Posterior over the models whose evidences can be compared.

    Attributes
    ----------
    names
        Of all models.
    log_evidence
        Of each; NaN if there is none.
    probability
        Posterior probability of each, with equal prior probabilities; NaN for models that
        have no evidence, or one that means something else.
    notes
        Why models were left out.
    """

    names: tuple[str, ...]
    log_evidence: Array
    probability: Array
    notes: tuple[str, ...]

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> EvidenceRanking:
        """Return the posterior over the largest set of comparable models."""
        evidences = [t.evidence for t in trials]
        usable = [e.key for e in evidences if not e.reason]
        # Of sets of equal size the first is taken, in the order of the models.
        main = Counter(usable).most_common(1)[0][0] if usable else None
        reasons = [_reason(e, main) for e in evidences]
        values = np.array([e.value for e in evidences])
        probability = np.full(len(trials), np.nan)
        chosen = np.array([not reason for reason in reasons])
        # One model alone is certain to be the best of itself, which says nothing.
        if chosen.sum() > 1:
            probability[chosen] = model_posterior(values[chosen])
        names = tuple(t.name for t in trials)
        notes = _notes_on_left_out(names, reasons)
        if chosen.sum() == 1:
            notes += ("no two models have evidences that can be compared.",)
        return cls(names, values, probability, notes)

    def verdicts(self, n_rows: int, level: float) -> tuple[Verdict, ...]:
        """Return which of each two comparable models the data support."""
        ranked = [i for i, p in enumerate(self.probability) if np.isfinite(p)]
        return tuple(self._verdict(i, j, n_rows, level) for i, j in combinations(ranked, 2))

    def _verdict(self, i: int, j: int, n_rows: int, level: float) -> Verdict:
        if self.log_evidence[j] > self.log_evidence[i]:
            i, j = j, i
        gain = float(self.log_evidence[i] - self.log_evidence[j])
        probability = float(special.expit(gain))
        first, second = self.names[i], self.names[j]
        kind: Kind = "better" if probability >= level else "not distinguishable"
        sentence = f"{first} is more probable than {second}: {percent(probability)}"
        if kind != "better":
            sentence = (
                f"{first} and {second} are not distinguishable with {n_rows:,} rows "
                f"({percent(probability)} for {first})"
            )
        return Verdict(
            first,
            second,
            "evidence",
            kind,
            probability,
            np.nan,
            gain,
            np.nan,
            np.nan,
            n_rows,
            np.nan,
            sentence,
        )


def _notes_on_left_out(names: Sequence[str], reasons: Sequence[str]) -> tuple[str, ...]:
    """Return one sentence for each reason to leave models out."""
    left_out: dict[str, list[str]] = {}
    for name, reason in zip(names, reasons, strict=True):
        if reason:
            left_out.setdefault(reason, []).append(name)
    return tuple(
        f"not in the posterior over models, as {reason}: {', '.join(who)}."
        for reason, who in left_out.items()
    )


def _reason(evidence: Evidence, main: tuple[str, tuple[str, ...], bool] | None) -> str:
    """Return why an evidence cannot stand beside those of the main set; empty if it can."""
    if evidence.reason or main is None:
        return evidence.reason or "there is no evidence"
    of, flat, is_bound = main
    if evidence.of != of:
        return f"the evidence is of {evidence.of}, that of the others of {of}"
    if (evidence.method == "bound") != is_bound:
        return "a bound must not be compared with an evidence"
    if evidence.flat != flat:
        return f"the flat priors {list(evidence.flat)} are not those of the others {list(flat)}"
    return ""


SCORES = ("evidence", "log_score", "accuracy")
ERRORS = ("rmse", "mae")
"""Scores of regressors besides."""
LEVEL = 0.95


def compare(
    models: Any,
    X: Any,
    y: ArrayLike,
    by: str | Sequence[str] = SCORES,
    cv: Any = 10,
    random_state: int = 0,
    rope: float = 0.01,
) -> Comparison:
    """Return how models compare on the same rows and folds, claiming no more than is known.

    Parameters
    ----------
    models
        Estimators by name, pairs of name and estimator, or estimators alone; all classifiers
        or all regressors, of credo or scikit-learn. They are cloned, never changed. A
        regressor that only has ``predict`` gets a normal fitted to its out-of-fold residuals,
        so that it has a log score; the residual of a row has no part in its own.
    X, y
        All rows.
    by
        One or more of "evidence" (posterior over models of comparable evidence), "log_score"
        (Bayesian correlated t over folds), "accuracy" (the less sure of McNemar's test on
        held-out predictions and the same t over folds; for regressors the squared error as a
        share of the variance, over folds), and for regressors "rmse" and "mae" (differences in
        standard deviations of y, over folds).
    cv
        Number of folds (stratified for classes), the fold of each row, or a splitter that
        holds out each row at most once, such as ``GroupedFolds(10, groups=patients)``,
        `TimeFolds` or `HoldOut`. Rows that are never held out are learned from as the splitter
        says, and not judged.
    random_state
        Draws the folds.
    rope
        Region of practical equivalence: a difference that does not matter, in log score per
        row, in accuracy, or in an error in standard deviations of y.

    Notes
    -----
    "Better" is said of a pair by log score or accuracy if its two-sided p-value, adjusted by
    Holm for the number of pairs, is at most 5 %. Folds share training rows; the t-test
    allows for it, McNemar's test judges the fitted models as they are, so that accuracy needs
    both to agree. "Practically equal" is said of each pair by itself. A part held out once
    (`HoldOut`) is judged row by row, for the models as they were fitted.

    Models are fitted one after the other. In parallel, several at a time:
    ``with joblib.parallel_config(n_jobs=4): compare(...)``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare({"bayes": GaussianNB(), "constant": DummyClassifier()}, X, y, cv=5)
    >>> print(found.verdict("bayes", "constant", by="accuracy"))
    bayes is better than constant: above 99.9 %
    >>> found.best()
    'bayes'
    """
    named, scores = _named(models), _scores(by)
    X, y = indexable(X, y)
    # A column is one outcome for each row, whether or not a model could learn several.
    outcome = Outcome.of(next(iter(named.values())), flat_column(y))
    kind = _kind(named, outcome)
    _require_scores_of(kind, scores)
    plan = SplitPlan.of(outcome, X, cv, random_state)
    tasks = (delayed(trial)(name, m, X, outcome, plan) for name, m in named.items())
    trials: list[Trial] = Parallel()(tasks)
    done = _successful(trials)
    losses = row_losses(done, outcome, plan.fold)
    evidence = EvidenceRanking.of(done)
    verdicts: tuple[Verdict, ...] = ()
    for score in scores:
        if score == "evidence":
            verdicts += evidence.verdicts(len(plan.fold), LEVEL)
        else:
            lost = row_losses(done, outcome, plan.fold, 1) if score == "mae" else losses
            pairs = contrasts(score, done, lost, plan, rope, kind == "classifier")
            n_judged = int((~np.isnan(losses).any(axis=0)).sum())
            verdicts += judge(pairs, score, n_judged, LEVEL)
    table = summary_table(done, outcome, losses, evidence.probability)
    notes = [*_pair_notes(len(done), scores, kind), *_notes(done, outcome, table, plan.fold)]
    return Comparison(
        table,
        verdicts,
        scores,
        np.array([t.log_score for t in done]),
        plan.fold,
        {t.name: t.error for t in trials if t.error},
        (*(evidence.notes if "evidence" in scores else ()), *notes),
        kind,
        LEVEL,
        rope,
    )


def _successful(trials: list[Trial]) -> list[Trial]:
    done = [t for t in trials if not t.error]
    if not done:
        raise ValueError(
            f"at least one model must fit; found that all {len(trials)} failed, "
            f"{trials[0].name!r} with {trials[0].error}. Repair the data or the models."
        ) from trials[0].failure
    return done


def _named(models: Any) -> dict[str, Any]:
    """Return models by name, from whatever form they were given in."""
    named = named_models(models)
    strange = [name for name, m in named.items() if not hasattr(m, "__sklearn_tags__")]
    if len(named) < 2 or strange:
        found = f"no estimators in {strange}" if strange else f"{len(named)} models"
        raise ValueError(
            f"models must be at least two estimators, by name or in a list; found {found}. "
            "Write {'line': LinearRegression(), 'curve': ...}."
        )
    return named


def _scores(by: Sequence[str]) -> tuple[str, ...]:
    scores = (by,) if isinstance(by, str) else tuple(by)
    unknown = [score for score in scores if score not in SCORES + ERRORS]
    if unknown or not scores:
        raise ValueError(
            f"by must name some of {[*SCORES, *ERRORS]}; found {unknown or 'none'}. Leave it "
            "out to compare by the first three."
        )
    return scores


def _require_scores_of(kind: str, scores: tuple[str, ...]) -> None:
    errors = [score for score in scores if score in ERRORS]
    if kind == "classifier" and errors:
        raise ValueError(
            f"by must name scores of classes, {list(SCORES)}, where models are classifiers; "
            f"found {errors}. Compare by accuracy, or regressors by the error of numbers."
        )


def _kind(named: Mapping[str, Any], outcome: Outcome) -> str:
    kinds = {name: get_tags(model).estimator_type for name, model in named.items()}
    distinct = set(kinds.values())
    if len(distinct) > 1 or not distinct <= {"classifier", "regressor"}:
        raise ValueError(
            "models must be all classifiers or all regressors, so that they answer the same "
            f"question; found {kinds}. Compare each kind by itself."
        )
    if outcome.classes is not None and len(outcome.classes) < 2:
        raise ValueError(
            f"y must hold at least 2 classes; found {outcome.classes.tolist()}. Add rows of "
            "another class."
        )
    return str(distinct.pop())


def _pair_notes(n_models: int, scores: tuple[str, ...], kind: str) -> list[str]:
    n_pairs = n_models * (n_models - 1) // 2
    tested = [score_title(score, kind) for score in scores if score != "evidence"]
    if n_pairs < 2 or not tested:
        return []
    named = ", ".join(tested[:-1])
    listed = f"{named} and {tested[-1]}" if named else tested[-1]
    return [
        f"{n_pairs} pairs were looked at by each score; probabilities of being better by "
        f"{listed} allow for that (Holm), those of being practically equal are of each pair "
        "alone."
    ]


def _notes(trials: list[Trial], outcome: Outcome, table: pd.DataFrame, fold: Rows) -> list[str]:
    notes, is_judged = [], fold != NEVER
    if not is_judged.all():
        notes.append(
            f"{(~is_judged).sum():,} of {len(is_judged):,} rows were never held out and are "
            "not judged."
        )
    for t in trials:
        n_impossible = int(np.isneginf(t.log_score).sum())
        if n_impossible:
            notes.append(
                f"{t.name} gave probability zero to what happened in {n_impossible} rows: it "
                "has no log score, and no difference of it can be judged. Smooth it, join rare "
                "classes, or use folds in which every class can be learned."
            )
        elif np.isnan(t.log_score).all():
            notes.append(f"{t.name} gives no probabilities and has no log score.")
    foreign = [t.name for t in trials if not t.has_own_spread]
    if foreign and not np.isnan([t.log_score for t in trials]).all():
        notes.append(
            "predictions without a spread are scored by a normal fitted to the out-of-fold "
            f"residuals of other rows: {', '.join(foreign)}."
        )
    n_impossible = int(np.isneginf([t.log_score for t in trials]).all(axis=0).sum())
    if n_impossible:
        notes.append(
            f"what happened in {n_impossible} rows was impossible to every model: weights rest "
            "on the other rows, and there are none where that was all."
        )
    if outcome.codes is not None and outcome.classes is not None:
        codes = outcome.codes[is_judged & (outcome.codes != MISSING)]
        notes += _constant_notes(outcome.classes, codes, table)
    return notes


def _constant_notes(
    classes: NDArray[Any], codes: NDArray[np.intp], table: pd.DataFrame
) -> list[str]:
    """Return what models that look at no input would score, and who is no better."""
    share = np.bincount(codes) / len(codes)
    error, label = 1 - share.max(), classes[share.argmax()]
    score = float(special.xlogy(share, share).sum())
    return [
        f"always answering {label} would err in {percent(error)} of rows"
        + _no_better(table["error_rate"] >= error),
        f"always naming the shares of the classes would have a log score of {score:.3f}"
        + _no_better(table["log_score"] <= score),
    ]


def _no_better(is_behind: pd.Series[bool]) -> str:
    names = [str(name) for name in is_behind.index[is_behind]]
    return f"; not seen to be better: {', '.join(names)}." if names else "."
