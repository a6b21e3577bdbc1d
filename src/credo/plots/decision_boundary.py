"""Which class a classifier of two inputs sees where, and how surely."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import ArrayLike, NDArray

from credo.numerics.array import Array, as_float
from credo.plots.style import BLUE, INK, ORANGE, axes_of, legend_above, tidy

__all__ = ["CLASS_COLORS", "boundary"]

CLASS_COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")

N_SHOWN = 1000
MARGIN = 0.08
STRENGTH = 0.5
TIE = 1e-9


def boundary(
    classifier: Any, X: Any, y: ArrayLike, ax: Axes | None = None, n_steps: int = 300
) -> Axes:
    """Draw class probabilities as color, the lines where the best class changes, and rows.

    The surer a class, the fuller its color; equally probable classes mix. A classifier without
    probabilities is drawn in full colors.

    Parameters
    ----------
    classifier
        Fitted on two columns; of credo or of any library with scikit-learn's verbs.
    X, y
        Rows to show, shape (n, 2) or a frame of two columns, and their classes. Of more than
        a thousand every so many-th is shown.
    n_steps
        Number of places in each direction at which the classifier is asked.
    """
    ax = axes_of(ax)
    rows, labels = as_float(X), np.asarray(y)
    _require_two_inputs(classifier, rows)
    low, high = rows.min(axis=0), rows.max(axis=0)
    reach = np.where(high > low, high - low, 1.0) * MARGIN
    sides = np.linspace(low - reach, high + reach, n_steps).T
    places = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    share = _probability(classifier, _framed(places, X)).reshape(n_steps, n_steps, -1)
    colors = np.array([to_rgb(c) for c in CLASS_COLORS[: share.shape[-1]]])
    extent = (*sides[0][[0, -1]], *sides[1][[0, -1]])
    shade = 1.0 - STRENGTH * (1.0 - share @ colors)
    ax.imshow(shade, extent=extent, origin="lower", aspect="auto", interpolation="bilinear")
    _draw_lines(share, sides, ax)
    _draw_rows(classifier.classes_, rows, labels, ax)
    legend_above(ax, n_columns=4)
    names = [str(name) for name in getattr(X, "columns", ("first input", "second input"))]
    return tidy(ax, *names)


def _require_two_inputs(classifier: Any, rows: Array) -> None:
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(
            f"boundary draws classifiers of two inputs; found X of shape {rows.shape}. Fit one "
            "on two columns, and pass these."
        )
    if len(classifier.classes_) > len(CLASS_COLORS):
        raise ValueError(
            f"boundary tells at most {len(CLASS_COLORS)} classes apart by color; found "
            f"{len(classifier.classes_)}. Pool classes, or draw some of them."
        )


def _framed(places: Array, like: Any) -> Any:
    """Return places in the kind of table that ``like`` is."""
    if not hasattr(like, "columns"):
        return places
    return type(like)(dict(zip(like.columns, places.T, strict=True)))


def _probability(classifier: Any, places: Any) -> Array:
    if hasattr(classifier, "predict_proba"):
        return as_float(classifier.predict_proba(places))
    return as_float(np.asarray(classifier.predict(places))[:, None] == classifier.classes_)


def _draw_lines(share: Array, sides: Array, ax: Axes) -> None:
    """Draw where a class is as probable as the best of the others; two classes share a line.

    Areas of equal probability go to the first class, as they do in a prediction, so that the
    lines of neighboring classes coincide.
    """
    n_classes = share.shape[-1]
    ordered = share - TIE * np.arange(n_classes)
    for c in range(1 if n_classes == 2 else 0, n_classes):
        lead = ordered[..., c] - np.delete(ordered, c, axis=-1).max(axis=-1)
        if lead.min() < 0.0 < lead.max():
            ax.contour(*sides, lead, levels=[0.0], colors=INK, linewidths=1.1)


def _draw_rows(classes: NDArray[Any], rows: Array, labels: NDArray[Any], ax: Axes) -> None:
    some = np.linspace(0, len(rows) - 1, min(len(rows), N_SHOWN)).astype(np.intp)
    for name, color in zip(classes, CLASS_COLORS, strict=False):
        x, y = rows[some[labels[some] == name]].T
        n_rows = np.count_nonzero(labels == name)
        label = f"{name}: {n_rows:,} rows"
        ax.plot(x, y, "o", color=color, ms=4.5, mec="white", mew=0.6, label=label)
