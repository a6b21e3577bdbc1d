"""A noisy image of two values, and what each way of removing the noise makes of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from credo.numerics.array import Array, as_float
from credo.plots.style import INK, ORANGE

__all__ = ["denoising_figure"]

NAMES = {
    "icm": "iterated conditional modes",
    "mean_field": "mean field",
    "gibbs": "Gibbs",
    "max_flow": "max-flow",
    "exact": "exact",
}
N_COLUMNS = 3
PANEL, TITLE = 3.5, 0.65


def denoising_figure(
    noisy: ArrayLike, answers: Mapping[str, ArrayLike], truth: ArrayLike | None = None
) -> Figure:
    """Draw the noisy image and the denoised ones side by side, with wrong pixels marked.

    Parameters
    ----------
    noisy
        Pixels with noise around -1 and 1, shape (n_rows, n_columns).
    answers
        Denoised images of -1 and 1, by the method of `IsingModel.denoise` or any name.
    truth
        The image without noise, -1 and 1, if it is known.
    """
    image = as_float(noisy)
    panels = {"noisy": image, **{name: as_float(a) for name, a in answers.items()}}
    if truth is not None:
        panels = {"truth": as_float(truth), **panels}
    n_rows = -(-len(panels) // N_COLUMNS)
    height = PANEL * image.shape[0] / image.shape[1] + TITLE
    figure = Figure(figsize=(PANEL * N_COLUMNS, height * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, N_COLUMNS, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    for ax, (name, panel) in zip(axes, panels.items(), strict=False):
        _draw(ax, panel, name, panels.get("truth"))
    if truth is not None:
        figure.supxlabel("orange: wrong pixels", fontsize="medium", color=ORANGE)
    return figure


def _draw(ax: Axes, image: Array, name: str, truth: Array | None) -> None:
    is_noisy = name == "noisy"
    span = 3.0 if is_noisy else 1.0
    ax.imshow(image, cmap="gray_r", vmin=-span, vmax=span, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_color(INK)
    title = NAMES.get(name, name)
    if truth is not None and name != "truth":
        is_wrong = np.where(image < 0, -1, 1) != truth
        title = f"{title}\n{100 * is_wrong.mean():.2f} % wrong"
        if not is_noisy:
            row, column = np.nonzero(is_wrong)
            ax.plot(column, row, "s", color=ORANGE, ms=1.8, mew=0)
    ax.set_title(title, fontsize="medium")
