"""Laws of estimators: scikit-learn's checks, and what a statistician expects beyond them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator as check_scikit_learn_estimator
from sklearn.utils.validation import has_fit_parameter

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.numerics.array import Array, as_float

__all__ = ["check_estimator"]

CONSTANT_RTOL = 0.03


def check_estimator(
    estimator: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    unit_free: bool = True,
    streams: bool = True,
    rtol: float = 1e-5,
) -> list[str]:
    """Check the laws of an estimator; return the names of the laws that were run.

    Chunks equal the batch, the order of rows and the units of columns are irrelevant, a
    weight of two is the row twice, a constant column says nothing, tables equal arrays, clones
    answer alike, and all forms of a prediction agree. At last scikit-learn's checks run, with
    zero expected failures.

    Parameters
    ----------
    estimator
        An unfitted estimator; it is cloned, never fitted itself.
    X, y
        Data to try it on, if not a small set made here.
    unit_free
        False for settings that are numbers in the units of the data, such as a fixed
        precision; the laws about units are then left out.
    streams
        False where the first chunk decides, as for a basis that is placed on it; chunks are
        then not expected to equal the batch.
    rtol
        How closely answers must agree, relative to the largest; iterative fits need slack.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> names = check_estimator(LinearRegression())
    >>> "units_of_y_are_irrelevant" in names
    True
    """
    if X is None:
        X, y = _example(estimator)
    target = None if y is None else np.asarray(y)
    case = Fit(estimator, as_float(X), target, unit_free, streams, rtol)
    return run(LAWS, case)


@dataclass(frozen=True)
class Fit:
    """An estimator with the data it is tried on."""

    estimator: Any
    x: Array
    y: NDArray[Any] | None
    unit_free: bool
    streams: bool
    rtol: float

    def fitted(self, **arguments: Any) -> Any:
        """Return a fitted clone."""
        return clone(self.estimator).fit(self.x, self.y, **arguments)

    def agree(self, law: str, found: list[Array], expected: list[Array]) -> None:
        """Break the law unless all answers agree, relative to the largest of each kind."""
        for one, two in zip(found, expected, strict=True):
            size = float(np.abs(two[np.isfinite(two)]).max(initial=0.0))
            expect_close(law, one, two, rtol=self.rtol, atol=self.rtol * size)

    def compare(self, law: str, fitted: Any) -> None:
        """Break the law unless ``fitted`` answers like a plain fit of the same data."""
        self.agree(law, answers(fitted, self.x), answers(self.fitted(), self.x))


def answers(fitted: Any, x: Any) -> list[Array]:
    """Return what a fitted estimator says about rows, in numbers."""
    found = []
    if hasattr(fitted, "predict_proba"):
        found.append(as_float(fitted.predict_proba(x)))
    elif hasattr(fitted, "predict"):
        found.append(as_float(fitted.predict(x)))
    if hasattr(fitted, "predict_dist"):
        found.append(as_float(fitted.predict_dist(x).std()))
    if hasattr(fitted, "transform"):
        found.append(as_float(fitted.transform(x)))
    return found


def fit_leaves_the_settings_alone(case: Fit) -> None:
    """Fitting changes no constructor argument, and a clone answers alike."""
    fitted = case.fitted()
    before, after = case.estimator.get_params(deep=False), fitted.get_params(deep=False)
    same = all(repr(before[name]) == repr(after[name]) for name in before)
    expect("fit leaves the settings alone", same, str(before), str(after))
    case.compare("a clone answers alike", clone(fitted).fit(case.x, case.y))


def row_order_is_irrelevant(case: Fit) -> None:
    """Rows are exchangeable, but for those of sequences."""
    if get_tags(case.estimator).non_deterministic:
        raise NotApplicable
    order = np.random.default_rng(1).permutation(len(case.x))
    shuffled = replace(case, x=case.x[order], y=None if case.y is None else case.y[order])
    case.compare("the order of rows is irrelevant", shuffled.fitted())


def weight_two_is_the_row_twice(case: Fit) -> None:
    """Check that a sample weight counts copies of a row, zero included."""
    if not has_fit_parameter(case.estimator, "sample_weight"):
        raise NotApplicable
    copies = np.arange(len(case.x)) % 3
    rows = np.repeat(np.arange(len(case.x)), copies)
    repeated = replace(case, x=case.x[rows], y=None if case.y is None else case.y[rows])
    weighted = case.fitted(sample_weight=copies.astype(np.float64))
    law = "a sample weight counts copies of a row"
    case.agree(law, answers(weighted, case.x), answers(repeated.fitted(), case.x))


def chunks_equal_the_batch(case: Fit) -> None:
    """``partial_fit`` by chunks equals ``fit`` on all rows."""
    if not (case.streams and hasattr(case.estimator, "partial_fit")):
        raise NotApplicable
    stream = clone(case.estimator)
    first = {}
    if is_classifier(stream) and case.y is not None:
        first["classes"] = np.unique(case.y)
    for i, rows in enumerate(np.array_split(np.arange(len(case.x)), 4)):
        target = None if case.y is None else case.y[rows]
        stream.partial_fit(case.x[rows], target, **(first if i == 0 else {}))
    case.compare("partial_fit by chunks equals fit on all rows", stream)


def units_of_x_are_irrelevant(case: Fit) -> None:
    """Other units and origins of the columns of X leave predictions as they were."""
    if not case.unit_free or hasattr(case.estimator, "transform"):
        raise NotApplicable
    scale = 10.0 ** (np.arange(case.x.shape[1]) % 5 - 2.0)
    moved = replace(case, x=case.x * scale + 3.0 * scale)
    law = "units and origins of X are irrelevant"
    case.agree(law, answers(moved.fitted(), moved.x), answers(case.fitted(), case.x))


def a_constant_column_says_nothing(case: Fit) -> None:
    """One more column that never varies leaves predictions about as they were."""
    if not case.unit_free or hasattr(case.estimator, "transform"):
        raise NotApplicable
    # Point estimates of a covariance depend slightly on the number of columns.
    alike = replace(case, rtol=max(case.rtol, CONSTANT_RTOL))
    expected = answers(case.fitted(), case.x)
    # The means of some constants are exact, those of others are off by a rounding error.
    for value in (0.1, 3.3, 7.7):
        wide = replace(case, x=np.column_stack([case.x, np.full(len(case.x), value)]))
        law = f"a constant column, of {value}, says nothing"
        alike.agree(law, answers(wide.fitted(), wide.x), expected)


def units_of_y_are_irrelevant(case: Fit) -> None:
    """Predictions carry the units and the origin of y."""
    if not (case.unit_free and is_regressor(case.estimator) and case.y is not None):
        raise NotApplicable
    scale, origin = 1000.0, 5.0
    moved = replace(case, y=case.y * scale + origin)
    found = answers(moved.fitted(), case.x)
    found[0] = found[0] - origin
    law = "predictions carry the units and origin of y"
    case.agree(law, [part / scale for part in found], answers(case.fitted(), case.x))


def tables_equal_arrays(case: Fit) -> None:
    """Check that pandas and polars frames give the answers of the array they hold."""
    names = [f"column {i}" for i in range(case.x.shape[1])]
    expected = answers(case.fitted(), case.x)
    for library in ("pandas", "polars"):
        try:
            frame = importlib.import_module(library).DataFrame
        except ImportError:
            continue
        table = frame(dict(zip(names, case.x.T, strict=True)))
        fitted = clone(case.estimator).fit(table, case.y)
        case.agree(f"a {library} table equals its array", answers(fitted, table), expected)


def predictions_agree_with_predict_dist(case: Fit) -> None:
    """Point, spread, interval and quantiles are those of the predictive distribution."""
    fitted = case.fitted()
    if not hasattr(fitted, "predict_dist"):
        raise NotApplicable
    dist = fitted.predict_dist(case.x)
    if not is_classifier(fitted):
        expect_close("predict is the predictive mean", fitted.predict(case.x), dist.mean())
    if hasattr(fitted, "predict_interval"):
        law = "predict_interval is the interval of predict_dist"
        expect_close(law, fitted.predict_interval(case.x, 0.8), dist.interval(0.8))
    if hasattr(fitted, "predict_quantiles"):
        levels = np.array([0.1, 0.5, 0.9])
        found = fitted.predict_quantiles(case.x, levels)
        columns = np.stack([dist.quantile(p) for p in levels], axis=-1)
        expect_close("predict_quantiles are those of predict_dist", found, columns)


def variance_splits_into_epistemic_and_aleatoric(case: Fit) -> None:
    """Check that the unknown and the noise add up to the predictive variance."""
    fitted = case.fitted()
    if not hasattr(fitted, "predict_dist"):
        raise NotApplicable
    dist = fitted.predict_dist(case.x)
    if not hasattr(dist, "epistemic_std"):
        raise NotApplicable
    total = as_float(dist.epistemic_std) ** 2 + as_float(dist.aleatoric_std) ** 2
    law = "epistemic and aleatoric variance add up to the variance"
    expect_close(law, total, dist.variance(), rtol=1e-6)


def predicted_class_is_the_most_probable(case: Fit) -> None:
    """Class probabilities sum to one, and ``predict`` is their argmax."""
    if not (is_classifier(case.estimator) and hasattr(case.estimator, "predict_proba")):
        raise NotApplicable
    fitted = case.fitted()
    proba = as_float(fitted.predict_proba(case.x))
    expect_close("class probabilities sum to one", proba.sum(axis=1), 1.0)
    best = fitted.classes_[proba.argmax(axis=1)]
    same = bool(np.all(fitted.predict(case.x) == best))
    expect(
        "predict is the most probable class", same, "argmax of predict_proba", "another class"
    )


def passes_the_checks_of_scikit_learn(case: Fit) -> None:
    """No check of scikit-learn fails, none is excused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_scikit_learn_estimator(case.estimator, on_skip=None, on_fail=None)
    failed = [
        f"{result['check_name']} ({_first_line(result['exception'])})"
        for result in results
        if result["status"] == "failed"
    ]
    expect("scikit-learn's checks pass", not failed, "no failures", "; ".join(failed))


def _first_line(exception: object) -> str:
    lines = str(exception).strip().splitlines() or [type(exception).__name__]
    return lines[0][:100]


def _example(estimator: Any) -> tuple[Array, NDArray[Any] | None]:
    """Return a small noisy data set that suits the kind of estimator."""
    rng = np.random.default_rng(0)
    x = rng.normal(loc=(0.0, 2.0, -1.0), size=(60, 3))
    y = x @ [1.0, -2.0, 0.5] + np.sin(2.0 * x[:, 0]) + 0.3 * rng.normal(size=60)
    if get_tags(estimator).input_tags.positive_only:
        x = x - x.min(axis=0)
    if is_classifier(estimator):
        return x, (y > np.median(y)).astype(np.intp)
    return x, y if is_regressor(estimator) else None


LAWS: tuple[Callable[[Fit], None], ...] = (
    fit_leaves_the_settings_alone,
    row_order_is_irrelevant,
    weight_two_is_the_row_twice,
    chunks_equal_the_batch,
    units_of_x_are_irrelevant,
    a_constant_column_says_nothing,
    units_of_y_are_irrelevant,
    tables_equal_arrays,
    predictions_agree_with_predict_dist,
    variance_splits_into_epistemic_and_aleatoric,
    predicted_class_is_the_most_probable,
    passes_the_checks_of_scikit_learn,
)
