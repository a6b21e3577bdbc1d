"""How well settings did on held-out rows, as a map over two of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from credo.numerics.array import Array
from credo.plots.style import INK, ORANGE, axes_of, shortened, tidy

__all__ = ["settings_map"]

MOST_NUMBERS = 150
"""Cells up to which the score is written into each."""

MOST_LETTERS = 45
"""Letters of labels, with the space between them, that have room beside each other."""

DIGITS_KEPT = 5
"""Letters of a number up to which it is written as it is."""


def settings_map(
    search: Any, x: str | None = None, y: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the mean held-out score of settings as color over two of them, the best framed.

    Where other settings were tried as well, each cell is the best of them.

    Parameters
    ----------
    search
        Fitted, with ``cv_results_``: a support vector machine that was given several C, kernels
        or epsilons, an `EvidenceSearch`, or scikit-learn's `GridSearchCV`.
    x, y
        Names of the two settings; if None, the two with the most values, which is horizontal
        first.

    Examples
    --------
    >>> from credo import SupportVectorClassifier
    >>> from credo.features import SquaredExponential
    >>> rows = np.linspace(-3.0, 3.0, 40)[:, None]
    >>> kernels = [SquaredExponential(length) for length in (0.1, 0.5, 2.5)]
    >>> model = SupportVectorClassifier(kernels, C=(0.1, 1.0, 10.0, 100.0))
    >>> ax = settings_map(model.fit(rows, np.sin(2.0 * rows[:, 0]) > 0))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('C', 'kernel: SquaredExponential(length_scale=…)')
    """
    ax = axes_of(ax)
    table = _results(search)
    tried = {
        name.removeprefix("param_"): list(column)
        for name, column in table.items()
        if name.startswith("param_")
    }
    across, upward = _chosen(tried, x, y)
    columns, rows = _distinct(tried[across]), _distinct(tried[upward])
    score = np.full((len(rows), len(columns)), np.nan)
    for a, b, value in zip(tried[across], tried[upward], table["mean_test_score"], strict=True):
        place = rows.index(b), columns.index(a)
        score[place] = np.fmax(score[place], value)
    image = ax.imshow(score, origin="lower", aspect="auto", cmap="cividis")
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label("mean held-out score")
    bar.outline.set_visible(False)
    _write(ax, score)
    words, about = _words(columns)
    ax.set_xticks(np.arange(len(columns)), words)
    if len("  ".join(words)) > MOST_LETTERS:
        ax.tick_params(axis="x", rotation=90)
    words_up, about_up = _words(rows)
    ax.set_yticks(np.arange(len(rows)), words_up)
    return tidy(ax, across + about, upward + about_up)


def _results(search: Any) -> dict[str, Any]:
    table = getattr(search, "cv_results_", None)
    if not table:
        raise ValueError(
            "settings_map needs a fitted search with cv_results_; found "
            f"{type(search).__name__} without. Pass several values of C or of the kernel."
        )
    return dict(table)


def _chosen(tried: dict[str, list[Any]], x: str | None, y: str | None) -> tuple[str, str]:
    """Return the names of the two settings to draw."""
    for name in (x, y):
        if name is not None and name not in tried:
            raise ValueError(
                f"settings_map draws settings that were tried; found {name!r}. Choose from "
                f"{sorted(tried)}."
            )
    by_number = sorted(tried, key=lambda name: -len(_distinct(tried[name])))
    free = [name for name in by_number if name not in (x, y)]
    if len(free) + (x is not None) + (y is not None) < 2:
        raise ValueError(
            f"settings_map needs two settings; found {sorted(tried)}. Try several values of "
            "two of them."
        )
    across = free.pop(0) if x is None else x
    return across, free.pop(0) if y is None else y


def _distinct(values: list[Any]) -> list[Any]:
    """Return the values once each: numbers rising, others as they came."""
    if all(isinstance(value, int | float | np.number) for value in values):
        return sorted(set(values))
    found: dict[str, Any] = {}
    for value in values:
        found.setdefault(repr(value), value)
    return list(found.values())


def _words(values: Sequence[Any]) -> tuple[list[str], str]:
    """Return values as labels, and what stands around the part in which they differ."""
    if all(isinstance(value, int | float | np.number) for value in values):
        return [f"{value:.3g}" for value in values], ""
    words = _short_numbers([repr(value) for value in values])
    before = re.sub(r"[\w.]*$", "", _shared_start(words))
    after = re.sub(r"^[\w.]*", "", _shared_start([word[::-1] for word in words])[::-1])
    if len(words) < 2 or not before or not after:
        return [shortened(word) for word in words], ""
    inner = [shortened(word[len(before) : len(word) - len(after)]) for word in words]
    return inner, f": {before}…{after}"


def _short_numbers(words: list[str]) -> list[str]:
    """Return words whose numbers have three digits, if these tell them apart."""
    short = [re.sub(r"\d+\.\d+(e[+-]?\d+)?", _three_digits, word) for word in words]
    return short if len(set(short)) == len(set(words)) else words


def _three_digits(found: re.Match[str]) -> str:
    return f"{float(found[0]):.3g}" if len(found[0]) > DIGITS_KEPT else found[0]


def _shared_start(words: Sequence[str]) -> str:
    """Return the letters that all words begin with."""
    shortest = min(words, key=len)
    n = 0
    while n < len(shortest) and all(word[n] == shortest[n] for word in words):
        n += 1
    return shortest[:n]


def _write(ax: Axes, score: Array) -> None:
    """Write scores into their cells if these are few, and frame the best."""
    low, high = np.nanmin(score), np.nanmax(score)
    if score.size <= MOST_NUMBERS:
        for (r, c), value in np.ndenumerate(score):
            if np.isfinite(value):
                is_dark = value < 0.5 * (low + high)
                color = "white" if is_dark else INK
                ax.text(c, r, f"{value:.3g}", ha="center", va="center", color=color, size=7)
    r, c = np.unravel_index(np.nanargmax(score), score.shape)
    corner = (float(c) - 0.5, float(r) - 0.5)
    ax.add_patch(Rectangle(corner, 1.0, 1.0, fill=False, edgecolor=ORANGE, lw=2.5))
