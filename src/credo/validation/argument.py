"""Arguments of scores in scikit-learn's order: what came true, then what was predicted.

Before, what was predicted came first. A call in the old order or with an old name works for one
release and warns where it cannot be mistaken for a new one, and is refused with the new order
where it can. Whatever is no array of the kind that a score wants is refused here too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from credo.distributions.categorical import Categorical
from credo.distributions.distribution import Distribution
from credo.numerics.array import Array, as_float, unmasked
from credo.numerics.quotation import quote
from credo.validation.outcome import coded, flat_column

__all__ = [
    "as_categorical",
    "class_column",
    "event_column",
    "is_fractional",
    "label_column",
    "label_pair",
    "old_arguments",
    "predicted_first",
    "require_no_model",
    "score_column",
    "score_second",
]

P = ParamSpec("P")
R = TypeVar("R")


Given = tuple[Any, ...]
Named = Mapping[str, Any]


def old_arguments(
    is_old: Callable[[Given, Named], bool], order: str, **renamed: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that lets calls of the last release work, with a FutureWarning.

    Parameters
    ----------
    is_old
        Whether arguments given by place, of which there is one at least, beside those given by
        name, are in the old order beyond doubt.
    order
        The new names of the arguments in the old order, with spaces between.
    **renamed
        New names of arguments by their old ones.

    Examples
    --------
    >>> is_old = lambda args, named: isinstance(args[0], str)
    >>> @old_arguments(is_old, "word number", n="number")
    ... def repeated(number, word):
    ...     return word * number
    >>> repeated(2, "ha")
    'haha'
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        by_name: Callable[..., R] = function

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            stale = [name for name in kwargs if name in renamed]
            is_swapped = bool(args) and is_old(args, kwargs)
            if not stale and not is_swapped:
                return function(*args, **kwargs)
            warnings.warn(_new_call(function, stale, renamed), FutureWarning, stacklevel=2)
            named: dict[str, Any] = {renamed.get(k, k): v for k, v in kwargs.items()}
            if is_swapped:
                return by_name(**_by_place(order.split(), args), **named)
            return by_name(*args, **named)

        return call

    return decorated


def _by_place(order: Sequence[str], args: Sequence[Any]) -> dict[str, Any]:
    """Return arguments by their names; refuse more than there are names."""
    if len(args) > len(order):
        raise TypeError(
            f"the call must have at most {len(order)} arguments by place; found {len(args)}. "
            "Pass the others by name."
        )
    return dict(zip(order, args, strict=False))


def predicted_first(args: Given, named: Named) -> bool:
    """Return whether a predictive distribution comes first, as it did in the last release."""
    return isinstance(args[0], Distribution)


def score_second(wanted: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator, below `old_arguments`, for functions of classes and their scores.

    Arrays of both kinds can be alike, and until the last release the scores came first. More
    than two arguments by place are refused. A FutureWarning says the order if two arrays by
    place would have been a valid call in the old order too: the first holds numbers, and the
    second whole ones that could be classes. Arguments by name are never doubted.

    Parameters
    ----------
    wanted
        The call in full, such as ``"roc_curve(y_true, y_score)"``.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if len(args) > 2:
                raise TypeError(
                    f"{wanted} takes two arrays by place; found {len(args)} arguments. What "
                    "came true is first, the score second, and the rest is passed by name."
                )
            if len(args) == 2 and _could_be_swapped(args, kwargs):
                warnings.warn(
                    f"{wanted} takes what came true first, as scikit-learn does; in the last "
                    "release the score came first, and these arrays could be either. Pass them "
                    "by name if the order is right.",
                    FutureWarning,
                    stacklevel=3,
                )
            return function(*args, **kwargs)

        return call

    return decorated


def _could_be_swapped(args: Given, named: Named) -> bool:
    arrays, pos_label = [np.asarray(unmasked(array)) for array in args], named.get("pos_label")
    if any(array.dtype.kind not in "biuf" or is_fractional(array) for array in arrays):
        return False
    names = np.unique(arrays[1]).tolist()
    return len(names) == 2 if pos_label is None else pos_label in names


def _new_call(function: Callable[..., Any], stale: list[str], renamed: Named) -> str:
    first, second, *_ = (name for name in signature(function).parameters if name != "cls")
    called = [f"{old} is now {renamed[old]}" for old in stale]
    what = f" ({', '.join(called)})" if called else ""
    name = getattr(function, "__qualname__", "it")
    return (
        f"{name} takes {first} first and {second} second, as scikit-learn does, and the rest "
        f"by name{what}; the old call goes with the next release."
    )


def label_pair(y_true: Any, y_pred: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return true and predicted classes, one of each for every row.

    Examples
    --------
    >>> label_pair([1, 0], [0.8, 0.1])
    Traceback (most recent call last):
    ValueError: y_pred must hold classes; found numbers such as 0.8 that are no class of y_true.
    Pass model.predict(X), not probabilities.
    """
    true = label_column("y_true", y_true)
    predicted = label_column("y_pred", y_pred)
    if is_fractional(predicted):
        known = set(coded(true)[0].tolist())
        strange = [value for value in coded(predicted)[0].tolist() if value not in known]
        if strange:
            raise ValueError(
                f"y_pred must hold classes; found numbers such as {strange[-1]:g} that are no "
                "class of y_true. Pass model.predict(X), not probabilities."
            )
    elif is_fractional(true):
        raise ValueError(
            f"y_true must hold classes; found {_example(true)}, and whole classes in y_pred. "
            "Pass (y_true, y_pred) in this order, and classes in both."
        )
    return true, predicted


def label_column(name: str, values: Any) -> NDArray[Any]:
    """Return one class for each row, shape (n_samples,)."""
    require_no_model(name, values, "classes, one for each row", "model.predict(X)")
    if isinstance(values, Distribution):
        raise TypeError(
            f"{name} must hold classes, one for each row; found {type(values).__name__}, a "
            "distribution. Pass model.predict(X), or the mode() of the distribution."
        )
    labels = np.asarray(unmasked(flat_column(values)))
    if labels.ndim != 1:
        raise ValueError(
            f"{name} must hold classes, one for each row; found shape {labels.shape}"
            f"{_as_of_probability(labels)}. Pass one column of classes, such as "
            "model.predict(X)."
        )
    return labels


def score_column(name: str, values: Any, wanted: str) -> Array:
    """Return one number for each row, shape (n_samples,).

    Parameters
    ----------
    wanted
        The call whose argument this is, such as ``"roc_curve(y_true, y_score)"``.
    """
    column = "model.predict_proba(X)[:, 1]"
    require_no_model(name, values, "numbers, one for each row", column)
    if isinstance(values, Distribution):
        raise TypeError(
            f"{name} must hold numbers, one for each row; found {type(values).__name__}, a "
            f"distribution. Pass the probability of one class, such as {column}."
        )
    numbers = np.asarray(unmasked(flat_column(values)))
    if numbers.dtype.kind not in "biuf" and not _holds_numbers(numbers):
        raise ValueError(
            f"{name} must hold numbers, one for each row; found {quote(str(numbers.flat[0]))}. "
            f"Call {wanted}: what came true is first."
        )
    if numbers.ndim != 1:
        raise ValueError(
            f"{name} must hold numbers, one for each row; found shape {numbers.shape}"
            f"{_as_of_probability(numbers)}. Pass one column, such as {column}."
        )
    return as_float(numbers)


def class_column(y_true: Any, wanted: str) -> NDArray[Any]:
    """Return what came true in each row, refusing scores in its place."""
    labels = label_column("y_true", y_true)
    if is_fractional(labels):
        raise ValueError(
            f"y_true must hold classes; found {_example(labels)}. Call {wanted}: what came "
            "true is first."
        )
    return labels


def event_column(y_true: Any, pos_label: Any, wanted: str) -> Array:
    """Return whether an event came true in each row, 1 or 0.

    It did where ``y_true`` is ``pos_label``; if that is None, where ``y_true`` is 1 or True, or
    the second of two classes.
    """
    labels = class_column(y_true, wanted)
    names = coded(labels)[0].tolist()
    if pos_label is not None:
        return as_float(labels == pos_label)
    if set(names) <= {0, 1}:
        return as_float(labels)
    if len(names) != 2:
        raise ValueError(
            f"y_true must hold 2 classes if pos_label is not given; found {quote(names[:8])}. "
            "Name the class that counts as positive."
        )
    return as_float(labels == names[1])


def as_categorical(y_true: Any, y_proba: Any, labels: ArrayLike | None) -> Categorical:
    """Return class probabilities of any form as one distribution for each row.

    Parameters
    ----------
    y_true
        The classes that came true, which name the columns if nothing else does.
    y_proba
        A `Categorical`, a table whose columns are classes, an array of shape (n, K), or of
        shape (n,) with the probabilities of the second of two classes.
    labels
        The classes in the order of the columns; the distinct ones of ``y_true``, in rising
        order, if None.

    Examples
    --------
    >>> as_categorical(["no", "yes"], [0.1, 0.8], None).probability
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    wanted = "probabilities of the classes, or a Categorical"
    require_no_model("y_proba", y_proba, wanted, "model.predict_dist(X)")
    if isinstance(y_proba, Categorical):
        return y_proba
    if isinstance(y_proba, Distribution):
        raise TypeError(
            f"y_proba must hold {wanted}; found {type(y_proba).__name__}. Pass predictions of "
            "a classifier."
        )
    if labels is None and isinstance(y_proba, pd.DataFrame):
        labels = y_proba.columns.tolist()
    columns = np.asarray(unmasked(y_proba))
    if columns.dtype.kind not in "biuf" and not _holds_numbers(columns):
        raise ValueError(
            f"y_proba must hold {wanted}; found {quote(str(columns.flat[0]))}. Pass "
            "model.predict_proba(X), and what came true before it."
        )
    if columns.ndim == 1 and columns.dtype.kind in "biu" and len(columns):
        raise ValueError(
            f"y_proba must hold {wanted}; found {quote(columns.flat[0].item())}, a label. Pass "
            "model.predict_proba(X); a rule that is certain has probabilities 0.0 and 1.0."
        )
    names = coded(label_column("y_true", y_true))[0] if labels is None else np.asarray(labels)
    if columns.ndim == 1 and len(names) == 2:
        columns = np.stack([1.0 - as_float(columns), as_float(columns)], axis=1)
    if columns.ndim != 2 or columns.shape[1] != len(names):
        raise ValueError(
            f"y_proba must hold a column for each of the {len(names)} classes "
            f"{quote(names[:8].tolist())}; found shape {columns.shape}. Pass "
            "model.predict_proba(X) with labels=model.classes_."
        )
    return Categorical(as_float(columns), names)


def require_no_model(name: str, values: Any, wanted: str, instead: str) -> None:
    """Refuse a model, a single value or nothing where an array is wanted."""
    kind = type(values).__name__
    if hasattr(values, "fit") or hasattr(values, "predict"):
        raise TypeError(f"{name} must hold {wanted}; found {kind}, a model. Pass {instead}.")
    if not isinstance(values, Distribution) and (
        isinstance(values, dict) or np.ndim(values) == 0
    ):
        raise TypeError(f"{name} must hold {wanted}; found {kind}. Pass {instead}.")


def is_fractional(values: NDArray[Any]) -> bool:
    """Return whether some are numbers that are not whole: scores rather than classes."""
    if values.dtype.kind != "f":
        return False
    finite = values[np.isfinite(values)]
    return bool((finite != np.round(finite)).any())


def _holds_numbers(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "O" and all(
        isinstance(value, float | int | np.number) for value in values.flat
    )


def _example(values: NDArray[Any]) -> str:
    finite = values[np.isfinite(values)]
    return f"numbers such as {finite[finite != np.round(finite)][0]:g}"


def _as_of_probability(values: NDArray[Any]) -> str:
    return ", as class probabilities have" if values.ndim == 2 else ""
