"""The pictures of a report on numbers: which of its numbers each of them shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credo.evaluation.calibration import coverage_curve
from credo.plots.calibration import drawn_coverage
from credo.plots.drawing import Dependence, DependenceLine, Shares, Weights
from credo.plots.prediction import drawn_predictions, drawn_residuals
from credo.study.partial_dependence import Profile
from credo.study.report.content import Picture
from credo.study.report.picture import SMALL, SQUARE, tick_names
from credo.study.result.effect import EffectList
from credo.study.result.regression_result import JudgedRegression

__all__ = [
    "MAX_POINTS",
    "N_WORST",
    "coverage",
    "drawn_rows",
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


def probabilities(result: JudgedRegression) -> Picture:
    """Return the probability of each candidate, its evidence beside it."""
    average = result.training
    labels = tuple(
        f"{name}\nlog evidence {evidence:.1f}"
        for name, evidence in zip(average.names_, average.log_evidences_, strict=True)
    )
    drawing = Shares(labels, average.probability_, "posterior probability")
    return Picture("models", (5.2, 0.7 + 0.5 * len(labels)), drawing)


def truth(result: JudgedRegression) -> Picture:
    """Return predictions with intervals against what came true."""
    rows, level = drawn_rows(result), result.settings.coverage
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]
    return Picture("truth", SQUARE, drawn_predictions(predictive, y, level))


def coverage(result: JudgedRegression) -> Picture:
    """Return how many outcomes lie in intervals of every size."""
    curve = coverage_curve(result.held_out.y, result.held_out.predictive)
    return Picture("coverage", SQUARE, drawn_coverage(curve))


def residuals(result: JudgedRegression) -> Picture:
    """Return truth minus prediction against the prediction."""
    rows, level = drawn_rows(result), result.settings.coverage
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]
    return Picture("residuals", SQUARE, drawn_residuals(predictive, y, level))


def weights(effects: EffectList) -> Picture:
    """Return the strongest weights with their intervals, the largest first."""
    terms, mean, _, low, high = zip(*effects.effects, strict=True)
    drawing = Weights(terms, np.array(mean), np.array(low), np.array(high), len(terms))
    return Picture("weights", (6.4, 0.7 + 0.3 * len(terms)), drawing)


def profiles(result: JudgedRegression) -> tuple[Picture, ...]:
    """Return the prediction along each of the columns that move it most, on one scale."""
    bands = [profile.band() for profile in result.profiles]
    # Doubt about numbers of extreme size may have no end, which no picture can show.
    known = np.concatenate([band[np.isfinite(band)] for band in bands])
    limits = (float(known.min()), float(known.max())) if len(known) else None

    def drawn(profile: Profile, band: NDArray[np.float64]) -> Dependence:
        lines = (DependenceLine("", profile.predictive.mean(), band),)
        return Dependence(
            profile.name, profile.x, tick_names(profile.x, profile.labels), lines, limits
        )

    drawings = map(drawn, result.profiles, bands)
    return tuple(Picture(f"profile{i}", SMALL, drawing) for i, drawing in enumerate(drawings))


def drawn_rows(result: JudgedRegression) -> NDArray[np.intp]:
    """Return every so many-th test row, and those with the largest errors."""
    held_out = result.held_out
    errors = np.abs(held_out.y - held_out.predictive.mean())
    worst = np.argsort(-errors, kind="stable")[:N_WORST]
    return np.union1d(np.arange(0, len(errors), row_step(result)), worst)


def row_step(result: JudgedRegression) -> int:
    """Return 1 if every test row is drawn, 2 if every second of many is, and so on."""
    return -(-len(result.held_out.y) // MAX_POINTS)
