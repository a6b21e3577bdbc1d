"""A first prediction by a loaded estimator, so that its parts are known to agree."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import get_tags

from credo.data.error import ModelFileError

__all__ = ["require_flow", "require_predicts"]

N_ROWS = 3


def require_predicts(estimator: Any) -> None:
    """Raise a `ModelFileError` unless a fitted estimator of ours answers for some rows.

    The rows hold nothing where gaps are allowed, else zeros, which are at most some 1e16
    standard deviations from any data: an estimator that learned from data answers for them.
    Counts may make zeros impossible; normal classes take both, for a gap does not ask after
    their means.
    """
    _require_coded_members(estimator)
    allows_gaps = get_tags(estimator).input_tags.allow_nan
    fillers: tuple[Any, ...] = (np.nan,) * allows_gaps
    if not allows_gaps or _is_normal(estimator):
        # Of symbols any one that was seen will do.
        fillers = (*fillers, *getattr(estimator, "symbols_", [0.0])[:1])
    for filler in fillers:
        require_flow([estimator], filler)


def require_flow(steps: Sequence[Any], filler: Any) -> None:
    """Raise a `ModelFileError` unless rows pass through steps, and the last one answers.

    Parameters
    ----------
    steps
        Fitted transformers, and any fitted estimator as the last.
    filler
        A number, or a row, that the rows hold.
    """
    estimator = steps[-1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            rows = _rows(steps[0], filler)
            for step in steps[:-1]:
                rows = _transformed(step, rows)
            answers = _answers(estimator, rows)
        except ModelFileError:
            raise
        # Whatever parts that do not agree make a prediction raise, the file is at fault.
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
            raise ModelFileError(
                f"must hold a {type(estimator).__name__} whose parts agree; found that it "
                f"cannot predict ({reason})"
            ) from error
    for answer in answers:
        if len(answer) != N_ROWS or (answer.dtype.kind == "f" and np.isnan(answer).any()):
            raise ModelFileError(
                f"must hold a {type(estimator).__name__} that predicts numbers; found NaN or "
                "another number of rows"
            )


def _transformed(step: Any, rows: Any) -> Any:
    found = step.transform(rows)
    if not np.isfinite(np.asarray(found, dtype=np.float64)).all():
        raise ModelFileError(
            f"must hold a {type(step).__name__} that gives finite numbers; found others"
        )
    return found


def _require_coded_members(estimator: Any) -> None:
    """Refuse members of a vote that answer with codes of classes that are not there."""
    for member in getattr(estimator, "members_", ()):
        codes = getattr(member, "classes_", np.arange(0))
        if not np.isin(codes, np.arange(len(estimator.classes_))).all():
            raise ModelFileError(
                f"must hold members that vote for {len(estimator.classes_)} classes; found "
                "one that votes for others"
            )


def _require_columns(estimator: Any, probability: NDArray[Any]) -> None:
    if hasattr(estimator, "classes_"):
        n = len(estimator.classes_)
    elif hasattr(estimator, "n_components_"):
        n = estimator.n_components_
    else:
        n = len(estimator.start_)
    if probability.shape[1] != n:
        raise ModelFileError(
            f"must hold a {type(estimator).__name__} of {n} classes; "
            f"found that it gives {probability.shape[1]} probabilities"
        )


def _is_normal(estimator: Any) -> bool:
    return type(estimator).__name__ == "GaussianClassConditional"


def _is_of_sequences(estimator: Any) -> bool:
    return hasattr(estimator, "start_") and hasattr(estimator, "transition_")


def _rows(estimator: Any, filler: Any) -> Any:
    """Return rows that a fitted estimator takes, by name if it knows its columns by name."""
    rows = np.full((N_ROWS, estimator.n_features_in_), filler)
    names = getattr(estimator, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=list(names))


def _answers(estimator: Any, rows: Any) -> list[NDArray[Any]]:
    """Return what the verbs of an estimator say of rows."""
    if hasattr(estimator, "transform"):
        return [np.asarray(_transformed(estimator, rows))]
    verbs = ("predict", "predict_proba", "decision_function", "log_prob")
    found = {v: np.asarray(getattr(estimator, v)(rows)) for v in verbs if hasattr(estimator, v)}
    if "predict_proba" in found:
        _require_columns(estimator, found["predict_proba"])
    elif hasattr(estimator, "predict_dist"):
        found["predict_dist"] = np.asarray(estimator.predict_dist(rows).quantile(0.5))
    if _is_of_sequences(estimator):
        # All rows together are one sequence.
        found["log_prob"] = np.repeat(found["log_prob"], N_ROWS)
    return list(found.values())
