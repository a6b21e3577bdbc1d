"""Models compared on the same rows, by evidence, log score and accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from credo.evaluation.comparison import Comparison
from credo.evaluation.evidence_ranking import EvidenceRanking
from credo.evaluation.fold_fit import fold_codes
from credo.evaluation.outcome import MISSING, Outcome
from credo.evaluation.trial import Trial, trial
from credo.evaluation.trial_table import contrasts, row_losses, summary_table
from credo.evaluation.verdict import Verdict, judge, percent

__all__ = ["compare"]

Rows = NDArray[np.intp]

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
        correlated t over folds) and "accuracy" (McNemar's test on held-out predictions; for
        regressors the squared error as a share of the variance, over folds).
    cv
        Number of folds (stratified for classes), the fold of each row, or a splitter that
        holds out every row once.
    random_state
        Draws the folds.
    rope
        Region of practical equivalence: a difference in log score per row, or in accuracy, that
        does not matter.

    Notes
    -----
    "Better" is said of a pair by log score or accuracy if its two-sided p-value, adjusted by
    Holm for the number of pairs, is at most 5 %. Folds share training rows; the t-test
    allows for it, McNemar's test judges the fitted models as they are. Fitting runs in
    parallel under ``joblib.parallel_config(n_jobs=2)``.

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
    outcome = Outcome.of(next(iter(named.values())), y)
    kind = _kind(named, outcome)
    fold = _folds(outcome, X, cv, random_state)
    tasks = (delayed(trial)(name, m, X, outcome.y, fold) for name, m in named.items())
    trials: list[Trial] = Parallel()(tasks)
    done = _successful(trials)
    losses = row_losses(done, outcome)
    evidence = EvidenceRanking.of(done)
    verdicts: tuple[Verdict, ...] = ()
    for score in scores:
        if score == "evidence":
            verdicts += evidence.verdicts(len(fold), LEVEL)
        else:
            pairs = contrasts(score, done, losses, fold, rope)
            verdicts += judge(pairs, score, len(fold), LEVEL)
    return Comparison(
        summary_table(done, outcome, losses, evidence.probability),
        verdicts,
        scores,
        np.array([t.log_score for t in done]),
        fold,
        {t.name: t.error for t in trials if t.error},
        (*(evidence.notes if "evidence" in scores else ()), *_notes(done, outcome)),
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
        )
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


def _folds(outcome: Outcome, X: Any, cv: Any, random_state: int) -> Rows:
    """Return the fold of each row, the same for all models."""
    rng = np.random.default_rng(random_state)
    if isinstance(cv, int | np.integer):
        return fold_codes(outcome, int(cv), rng, None)
    if isinstance(cv, np.ndarray | pd.Series):
        return fold_codes(outcome, 0, None, np.asarray(cv))
    fold = np.full(len(outcome.y), -1, dtype=np.intp)
    splitter = check_cv(cv, outcome.y, classifier=outcome.classes is not None)
    n_tested = np.zeros(len(fold), dtype=np.intp)
    for i, (_, test) in enumerate(splitter.split(X, outcome.y)):
        fold[test] = i
        n_tested[test] += 1
    if not (n_tested == 1).all():
        raise ValueError(
            f"cv must hold out every row once; found {(n_tested != 1).sum()} rows held out "
            "never or often. Use a partition of the rows, such as KFold."
        )
    return fold


def _notes(trials: list[Trial], outcome: Outcome) -> list[str]:
    notes = []
    n_pairs = len(trials) * (len(trials) - 1) // 2
    if n_pairs > 1:
        notes.append(
            f"{n_pairs} pairs were looked at by each score; probabilities by log score and "
            "accuracy allow for that (Holm)."
        )
    for t in trials:
        n_impossible = int(np.isneginf(t.log_score).sum())
        if n_impossible:
            notes.append(
                f"{t.name} gave probability zero to what happened in {n_impossible} rows: its "
                "log score is minus infinity, and no difference of it can be judged."
            )
        elif np.isnan(t.log_score).all():
            notes.append(f"{t.name} gives no probabilities and has no log score.")
    if outcome.codes is not None and outcome.classes is not None:
        share = np.bincount(outcome.codes[outcome.codes != MISSING]) / len(outcome.codes)
        label = outcome.classes[share.argmax()]
        notes.append(
            f"always answering {label} would err in {percent(1 - share.max())} of rows."
        )
    return notes
