"""The pictures of the report, each a result drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from credo.app.report.svg import svg_picture
from credo.evaluation.calibration import coverage_curve
from credo.numerics.array import Array
from credo.plots.calibration import coverage_plot as draw_coverage
from credo.plots.model_support import model_comparison
from credo.plots.prediction import predictions_against_truth
from credo.plots.prediction import residuals as draw_residuals
from credo.plots.style import BLUE, INK, ORANGE, shortened, tidy
from credo.plots.weight import weights as draw_weights
from credo.study.dependence.class_profile import ClassProfile
from credo.study.dependence.profile import Profile
from credo.study.result.effect import EffectList
from credo.study.result.result import JudgedRegression
from credo.study.result.table_classification import ClassScore
from credo.study.result.table_regression import CandidateScore
from credo.study.result.wording import number

__all__ = [
    "MAX_POINTS",
    "N_WORST",
    "SQUARE",
    "coverage",
    "drawn_rows",
    "list_size",
    "log_scores",
    "name_places",
    "probabilities",
    "profiles",
    "residuals",
    "row_step",
    "truth",
    "weights",
]

MAX_POINTS = 600
N_WORST = 20
"""Test rows with the largest errors, which are always drawn."""
MAX_LETTERS = 32
SQUARE = (5.2, 4.3)


def probabilities(result: JudgedRegression) -> str:
    """Return the probability of each candidate, its evidence beside it."""
    table = result.training.table()
    return svg_picture("models", list_size(table), lambda ax: model_comparison(table, ax))


def log_scores(scores: Sequence[CandidateScore | ClassScore]) -> str:
    """Return the log scores of candidates and their mixture with standard errors."""
    place = np.arange(len(scores))[::-1]

    def draw(ax: Axes) -> None:
        for shift, color, label, prefix in (
            (0.12, BLUE, "test rows", ""),
            (-0.12, ORANGE, "cross-validation", "cv_"),
        ):
            value = [getattr(score, f"{prefix}log_score") for score in scores]
            error = [getattr(score, f"{prefix}log_score_error") for score in scores]
            ax.errorbar(value, place + shift, xerr=error, fmt="o", color=color, label=label)
        ax.set_yticks(place, [score.name for score in scores])
        ax.grid(axis="x", alpha=0.3)
        ax.legend(frameon=False)
        tidy(ax, "mean log score per row")

    return svg_picture("scores", list_size(scores), draw)


def truth(result: JudgedRegression) -> str:
    """Return predictions with intervals against what came true."""
    rows, level = drawn_rows(result), result.settings.coverage
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]
    return svg_picture(
        "truth", SQUARE, lambda ax: predictions_against_truth(predictive, y, ax, level)
    )


def coverage(result: JudgedRegression) -> str:
    """Return how many outcomes lie in intervals of every size."""
    curve = coverage_curve(result.held_out.predictive, result.held_out.y)
    return svg_picture("coverage", SQUARE, lambda ax: draw_coverage(curve, ax))


def residuals(result: JudgedRegression) -> str:
    """Return truth minus prediction against the prediction."""
    rows, level = drawn_rows(result), result.settings.coverage
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]
    return svg_picture("residuals", SQUARE, lambda ax: draw_residuals(predictive, y, ax, level))


def weights(effects: EffectList) -> str:
    """Return the strongest weights with their intervals, the largest first."""
    table = effects.table()
    size = (6.4, 0.7 + 0.3 * len(table))
    return svg_picture("weights", size, lambda ax: draw_weights(table, ax, len(table), "size"))


def profiles(result: JudgedRegression) -> list[str]:
    """Return the prediction along each of the columns that move it most, on one scale."""
    bands = [profile.band() for profile in result.profiles]
    # Doubt about numbers of extreme size may have no end, which no picture can show.
    known = np.concatenate([band[np.isfinite(band)] for band in bands])

    def drawn(place: int, profile: Profile) -> str:
        def draw(ax: Axes) -> None:
            _draw_profile(ax, profile, bands[place])
            if len(known):
                ax.set_ylim(known.min(), known.max())

        return svg_picture(f"profile{place}", (3.3, 2.3), draw)

    return [drawn(place, profile) for place, profile in enumerate(result.profiles)]


def _draw_profile(ax: Axes, profile: Profile, band: Array) -> None:
    mean = profile.predictive.mean()
    if profile.labels or len(profile.x) <= 2:
        ax.vlines(profile.x, *band.T, color=BLUE, lw=2.2, alpha=0.5)
        ax.plot(profile.x, mean, "o", color=BLUE)
        name_places(ax, profile)
        ax.margins(x=0.25)
    else:
        ax.fill_between(profile.x, *band.T, color=BLUE, alpha=0.25, lw=0)
        ax.plot(profile.x, mean, color=BLUE, lw=1.8)
    ax.tick_params(colors=INK)
    tidy(ax, shortened(profile.name, 40))


def name_places(ax: Axes, profile: Profile | ClassProfile) -> None:
    """Write the levels or numbers below the axis, or upright where there are too many."""
    labels = profile.labels or [number(float(value), 4) for value in profile.x]
    names = [shortened(label, 12) for label in labels]
    is_tight = len("".join(names)) > MAX_LETTERS
    ax.set_xticks(profile.x, names, rotation=90 if is_tight else 0)


def list_size(rows: Sized) -> tuple[float, float]:
    """Return the size of a picture with one line for each of the rows."""
    return 5.2, 0.7 + 0.4 * len(rows)


def drawn_rows(result: JudgedRegression) -> NDArray[np.intp]:
    """Return every so many-th test row, and those with the largest errors."""
    held_out = result.held_out
    errors = np.abs(held_out.y - held_out.predictive.mean())
    worst = np.argsort(-errors, kind="stable")[:N_WORST]
    return np.union1d(np.arange(0, len(errors), row_step(result)), worst)


def row_step(result: JudgedRegression) -> int:
    """Return 1 if every test row is drawn, 2 if every second of many is, and so on."""
    return -(-len(result.held_out.y) // MAX_POINTS)
