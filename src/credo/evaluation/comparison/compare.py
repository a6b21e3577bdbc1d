"""Models compared on the same rows, by evidence, log score and accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from credo.evaluation.comparison.comparison import Comparison
from credo.evaluation.comparison.evidence_ranking import EvidenceRanking
from credo.evaluation.comparison.trial import Trial, trial
from credo.evaluation.comparison.trial_table import contrasts, row_losses, summary_table
from credo.evaluation.comparison.verdict import Verdict, judge, percent
from credo.validation.outcome import MISSING, Outcome, flat_column
from credo.validation.split_plan import NEVER, SplitPlan

__all__ = ["compare"]

SCORES = ("evidence", "log_score", "accuracy")
LEVEL = 0.95


def compare(
    models: Any,
    X: Any,
    y: ArrayLike,
    by: Sequence[str] = SCORES,
    cv: Any = 10,
    random_state: int = 0,
    rope: float = 0.01,
) -> Comparison:
    """Return how models compare on the same rows and folds, claiming no more than is known.

    Parameters
    ----------
    models
        Estimators by name, pairs of name and estimator, or estimators alone; all classifiers
        or all regressors, of credo or scikit-learn. They are cloned, never changed.
    X, y
        All rows.
    by
        Any of "evidence" (posterior over models of comparable evidence), "log_score" (Bayesian
        correlated t over folds) and "accuracy" (the less sure of McNemar's test on held-out
        predictions and the same t over folds; for regressors the squared error as a share of
        the variance, over folds).
    cv
        Number of folds (stratified for classes), the fold of each row, or a splitter that
        holds out each row at most once, such as ``GroupedFolds(10, groups=patients)``,
        `TimeFolds` or `HoldOut`. Rows that are never held out are learned from as the splitter
        says, and not judged.
    random_state
        Draws the folds.
    rope
        Region of practical equivalence: a difference in log score per row, or in accuracy, that
        does not matter.

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
            pairs = contrasts(score, done, losses, plan, rope, kind == "classifier")
            n_judged = int((~np.isnan(losses).any(axis=0)).sum())
            verdicts += judge(pairs, score, n_judged, LEVEL)
    table = summary_table(done, outcome, losses, evidence.probability)
    notes = _notes(done, outcome, table, plan.fold != NEVER)
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
    if isinstance(models, Mapping):
        pairs = list(models.items())
    elif isinstance(models, list | tuple):
        pairs = [
            (str(m[0]), m[1]) if isinstance(m, tuple | list) and len(m) == 2 else _own_name(m)
            for m in models
        ]
    else:
        pairs = []
    named = dict(_told_apart(pairs))
    strange = [name for name, m in named.items() if not hasattr(m, "__sklearn_tags__")]
    if len(named) < 2 or strange:
        found = f"no estimators in {strange}" if strange else f"{len(named)} models"
        raise ValueError(
            f"models must be at least two estimators, by name or in a list; found {found}. "
            "Write {'line': LinearRegression(), 'curve': ...}."
        )
    return named


def _own_name(model: Any) -> tuple[str, Any]:
    return type(model).__name__, model


def _told_apart(pairs: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the pairs with a number after names that occur more than once."""
    totals, seen = Counter(name for name, _ in pairs), Counter[str]()
    answer = []
    for name, model in pairs:
        seen[name] += 1
        answer.append((f"{name} {seen[name]}" if totals[name] > 1 else name, model))
    return answer


def _scores(by: Sequence[str]) -> tuple[str, ...]:
    scores = (by,) if isinstance(by, str) else tuple(by)
    unknown = [score for score in scores if score not in SCORES]
    if unknown or not scores:
        raise ValueError(
            f"by must name some of {list(SCORES)}; found {unknown or 'none'}. Leave it out to "
            "compare by all."
        )
    return scores


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


def _notes(
    trials: list[Trial], outcome: Outcome, table: pd.DataFrame, is_judged: NDArray[np.bool_]
) -> list[str]:
    notes = []
    n_pairs = len(trials) * (len(trials) - 1) // 2
    if n_pairs > 1:
        second = "squared error" if outcome.codes is None else "accuracy"
        notes.append(
            f"{n_pairs} pairs were looked at by each score; probabilities of being better by "
            f"log score and {second} allow for that (Holm), those of being practically equal "
            "are of each pair alone."
        )
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
    n_untold = int(np.isneginf([t.log_score for t in trials]).all(axis=0).sum())
    if n_untold:
        notes.append(
            f"what happened in {n_untold} rows was impossible to every model: weights rest on "
            "the other rows, and there are none where that was all."
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
