"""Ranks of the truth among draws of an engine: even if the engine is right."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from credo.evaluation.laws.calibration import RankCalibration
from credo.evaluation.order_test import stated_p
from credo.plots.drawing import RankHistogram
from credo.plots.style import axes_of, shortened

__all__ = ["rank_figure", "rank_plot"]

COVERAGE = 0.95
N_COLUMNS = 3
WIDTH, HEIGHT, ABOVE = 3.4, 2.5, 0.45


def rank_plot(
    calibration: RankCalibration, ax: Axes | None = None, name: str | None = None
) -> Axes:
    """Draw the ranks of one quantity over the band in which 95 % of bins lie by chance.

    High at both ends: posteriors are too narrow. High in the middle: too wide. Higher to the
    right: too low, and to the left: too high. The title says what the test found; if that is a
    fault, bins outside of the band are orange. One bin of twenty is outside by chance.

    Parameters
    ----------
    calibration
        What `credo.evaluation.laws.simulated_ranks` found.
    name
        The quantity; the one with the most uneven ranks if None.
    """
    return _drawn(calibration, calibration.worst if name is None else name).draw(axes_of(ax))


def rank_figure(calibration: RankCalibration) -> Figure:
    """Draw the ranks of every quantity, each as `rank_plot` does.

    Examples
    --------
    >>> import numpy as np
    >>> ranks = np.random.default_rng(0).integers(20, size=(200, 2))
    >>> figure = rank_figure(RankCalibration(("slope", "noise"), ranks, 19))
    >>> [ax.get_title() for ax in figure.axes]
    ['slope: calibrated, p = 0.9', 'noise: calibrated, p = 0.2']
    """
    names = calibration.names
    n_columns = min(N_COLUMNS, len(names))
    n_rows = -(-len(names) // n_columns)
    size = (WIDTH * n_columns, HEIGHT * n_rows + ABOVE)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True).ravel()
    for ax in axes[len(names) :]:
        ax.remove()
    for place, (ax, name) in enumerate(zip(axes, names, strict=False)):
        _drawn(calibration, name).draw_bins(ax)
        if place % n_columns:
            ax.set_ylabel("")
    tallest = max(max(calibration.counts(name)) for name in names)
    axes[0].set_ylim(0.0, 1.08 * max(tallest, calibration.band(COVERAGE)[1]))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", frameon=False, fontsize="small")
    return figure


def _drawn(calibration: RankCalibration, name: str) -> RankHistogram:
    """Return the numbers that ranks are drawn by."""
    verdict, p = calibration.verdict(name), stated_p(calibration.p_value(name), 1)
    low, high = calibration.band(COVERAGE)
    return RankHistogram(
        calibration.counts(name),
        low,
        high,
        COVERAGE,
        calibration.n_draws,
        f"{shortened(name)}: {verdict}, {p}",
        verdict == "calibrated",
    )
