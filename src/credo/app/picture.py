"""The pictures of the report, each a result drawn as SVG."""

from __future__ import annotations

from collections.abc import Sized

import numpy as np
from matplotlib.axes import Axes

from credo.app.effect import EffectList
from credo.app.profile import Profile
from credo.app.result import RegressionResult
from credo.app.svg import svg_picture
from credo.evaluation.calibration import coverage_curve
from credo.numerics.array import Array

__all__ = ["comparison", "coverage", "evidence", "profiles", "residuals", "truth", "weights"]

MAX_POINTS = 600
BLUE, ORANGE, GRAY = "#22577a", "#d9822b", "#9aa5b1"


def comparison(result: RegressionResult) -> str:
    """Return the log scores of all candidates with their standard errors."""
    scores = result.candidates
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
        ax.set_xlabel("mean log score per row")
        ax.grid(axis="x", color="#eef1f4")
        ax.legend(loc="best")

    return svg_picture("comparison", _list_size(scores), draw)


def evidence(result: RegressionResult) -> str:
    """Return the log evidence of each candidate above that of the constant."""
    scores = result.candidates
    place = np.arange(len(scores))[::-1]
    gained = [score.log_evidence - result.constant.log_evidence for score in scores]
    colors = [BLUE if score.name == result.winner.name else GRAY for score in scores]

    def draw(ax: Axes) -> None:
        bars = ax.barh(place, gained, color=colors, height=0.6)
        ax.bar_label(bars, [f"{gain:,.0f}" for gain in gained], padding=3, fontsize=8)
        ax.axvline(0, color=GRAY, lw=1)
        ax.set_yticks(place, [score.name for score in scores])
        ax.set_xlabel("log evidence above the constant")
        ax.margins(x=0.12)

    return svg_picture("evidence", _list_size(scores), draw)


def truth(result: RegressionResult) -> str:
    """Return predictions with intervals against what came true."""
    rows = _some(result)
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]
    low, high = predictive.interval(result.settings.coverage).T
    is_hit = (low <= y) & (y <= high)
    ends = [min(y.min(), predictive.mean().min()), max(y.max(), predictive.mean().max())]

    def draw(ax: Axes) -> None:
        ax.plot(ends, ends, color=GRAY, lw=1)
        for is_chosen, color, label in ((is_hit, BLUE, "inside"), (~is_hit, ORANGE, "outside")):
            mean = predictive.mean()[is_chosen]
            ax.vlines(mean, low[is_chosen], high[is_chosen], color=color, lw=0.8, alpha=0.3)
            ax.plot(mean, y[is_chosen], "o", ms=3, color=color, label=f"{label} its interval")
        ax.set_xlabel(f"predicted {result.data.target}")
        ax.set_ylabel(f"true {result.data.target}")
        ax.legend(loc="best")

    return svg_picture("truth", (5.2, 4.0), draw)


def coverage(result: RegressionResult) -> str:
    """Return how many outcomes lie in intervals of every size."""
    curve = coverage_curve(result.held_out.predictive, result.held_out.y)

    def draw(ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color=GRAY, lw=1)
        ax.fill_between(curve.levels, curve.low, curve.high, color=BLUE, alpha=0.15, lw=0)
        ax.plot(curve.levels, curve.observed, color=BLUE)
        ax.set_xlabel("promised coverage")
        ax.set_ylabel("share of test rows inside")

    return svg_picture("coverage", (5.2, 4.0), draw)


def residuals(result: RegressionResult) -> str:
    """Return truth minus prediction against the prediction."""
    rows = _some(result)
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]

    def draw(ax: Axes) -> None:
        ax.axhline(0, color=GRAY, lw=1)
        ax.plot(predictive.mean(), y - predictive.mean(), "o", ms=3, color=BLUE, alpha=0.7)
        ax.set_xlabel(f"predicted {result.data.target}")
        ax.set_ylabel("true minus predicted")

    return svg_picture("residuals", (5.2, 4.0), draw)


def profiles(result: RegressionResult) -> str:
    """Return the prediction along each of the columns that move it most."""
    shown = result.profiles
    n_columns = min(3, len(shown))
    n_rows = -(-len(shown) // n_columns)

    def draw(*axes: Axes) -> None:
        bands = [profile.band() for profile in shown]
        ends = min(band.min() for band in bands), max(band.max() for band in bands)
        for ax, profile, band in zip(axes, shown, bands, strict=False):
            _draw_profile(ax, profile, band)
            ax.set_ylim(*ends)
        for ax in axes[len(shown) :]:
            ax.set_axis_off()

    size = (3.4 * n_columns, 2.5 * n_rows)
    return svg_picture("profiles", size, draw, (n_rows, n_columns))


def _draw_profile(ax: Axes, profile: Profile, band: Array) -> None:
    mean = profile.predictive.mean()
    if len(profile.x) <= 2:
        reach = np.abs(band.T - mean)
        ax.errorbar(profile.x, mean, yerr=reach, fmt="o", ms=5, color=BLUE)
        ax.set_xticks(profile.x)
        ax.margins(x=0.4)
    else:
        ax.fill_between(profile.x, band[:, 0], band[:, 1], color=BLUE, alpha=0.18, lw=0)
        ax.plot(profile.x, mean, color=BLUE)
    ax.set_xlabel(profile.name)


def weights(effects: EffectList) -> str:
    """Return the strongest weights with their intervals."""
    place = np.arange(len(effects.effects))[::-1]
    mean, low, high = np.array([effect[1:] for effect in effects.effects]).T

    def draw(ax: Axes) -> None:
        ax.axvline(0, color=GRAY, lw=1)
        ax.errorbar(mean, place, xerr=[mean - low, high - mean], fmt="o", ms=5, color=BLUE)
        ax.set_yticks(place, [effect.term for effect in effects.effects])
        ax.set_xlabel("change of the prediction")

    return svg_picture("weights", (10.4, 0.7 + 0.28 * len(place)), draw)


def _list_size(rows: Sized) -> tuple[float, float]:
    return 5.2, 0.6 + 0.42 * len(rows)


def _some(result: RegressionResult) -> slice:
    """Return every row, or every second, third ... of many; rows are in random order."""
    step = -(-len(result.held_out.y) // MAX_POINTS)
    return slice(None, None, step)
