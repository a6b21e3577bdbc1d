"""The pictures of a report: which numbers of a result each of them shows."""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import NDArray

from credo.decisions.loss_matrix import LossMatrix
from credo.evaluation.calibration import coverage_curve
from credo.evaluation.classes.ranking import roc_curve
from credo.evaluation.classes.reliability import reliability_curve
from credo.plots.calibration import drawn_coverage, drawn_reliability
from credo.plots.confusion import drawn_confusion
from credo.plots.decision import drawn_losses
from credo.plots.drawing import (
    COLORS,
    Dependence,
    DependenceLine,
    LogScores,
    RocCurves,
    Shares,
    Weights,
)
from credo.plots.prediction import drawn_predictions, drawn_residuals
from credo.plots.ranking import drawn_roc
from credo.study.partial_dependence import Profile
from credo.study.report.content import Picture
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.effect import EffectList
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.table_model import CandidateScore, ClassScore
from credo.study.result.wording import number

__all__ = [
    "MAX_POINTS",
    "N_WORST",
    "class_profiles",
    "confusion",
    "coverage",
    "drawn_classes",
    "drawn_rows",
    "list_size",
    "log_scores",
    "losses",
    "probabilities",
    "profiles",
    "reliability",
    "residuals",
    "roc",
    "row_step",
    "shares",
    "truth",
    "weights",
]

MAX_POINTS = 600
N_WORST = 20
"""Test rows with the largest errors, which are always drawn."""
ROWS_PER_GROUP = 15
N_GROUPS = (3, 10)
SQUARE, SMALL = (5.2, 4.3), (3.3, 2.3)


def probabilities(result: JudgedRegression) -> Picture:
    """Return the probability of each candidate, its evidence beside it."""
    average = result.training
    labels = tuple(
        f"{name}\nlog evidence {evidence:.1f}"
        for name, evidence in zip(average.names_, average.log_evidences_, strict=True)
    )
    drawing = Shares(labels, average.probability_, "posterior probability")
    return Picture("models", (5.2, 0.7 + 0.5 * len(labels)), drawing)


def shares(result: JudgedClassification) -> Picture:
    """Return the weight of each classifier in the stack."""
    scores = result.candidates
    weight = np.array([score.weight for score in scores])
    drawing = Shares(tuple(score.name for score in scores), weight, "weight in the stack")
    return Picture("weights", list_size(scores), drawing)


def log_scores(scores: Sequence[CandidateScore | ClassScore]) -> Picture:
    """Return the log scores of candidates and their mixture with standard errors."""
    columns = ("log_score", "log_score_error", "cv_log_score", "cv_log_score_error")
    values = [np.array([getattr(score, name) for score in scores]) for name in columns]
    drawing = LogScores(tuple(score.name for score in scores), *values)
    return Picture("scores", list_size(scores), drawing)


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
        return Dependence(profile.name, profile.x, _ticks(profile), lines, limits)

    drawings = map(drawn, result.profiles, bands)
    return tuple(Picture(f"profile{i}", SMALL, drawing) for i, drawing in enumerate(drawings))


def class_profiles(result: JudgedClassification) -> tuple[Picture, ...]:
    """Return the probabilities along each of the columns that move them most."""
    places = drawn_classes(result)
    labels = [str(label) for label in result.training.classes_]

    def drawn(place: int, profile: Profile) -> Dependence:
        share = profile.predictive.probability
        lines = tuple(DependenceLine(labels[k], share[:, k]) for k in places)
        has_legend = place == 0 and len(places) > 1
        ticks, limits = _ticks(profile), (-0.02, 1.02)
        return Dependence(profile.name, profile.x, ticks, lines, limits, has_legend)

    return tuple(
        Picture(f"profile{place}", SMALL, drawn(place, profile))
        for place, profile in enumerate(result.profiles)
    )


def _ticks(profile: Profile) -> tuple[str, ...]:
    """Return names for the places of levels, and for one or two numbers."""
    if profile.labels or len(profile.x) > 2:
        return profile.labels
    return tuple(number(float(value), 4) for value in profile.x)


def reliability(result: JudgedClassification) -> Picture:
    """Return how often probabilities came true: of one of two classes, or of that called."""
    predictive, y = result.held_out.predictive, result.held_out.y
    label = predictive.labels[1] if len(predictive.labels) == 2 else None
    if label is None:
        share, hit = predictive.probability.max(axis=1), predictive.mode() == y
    else:
        share, hit = predictive.probability[:, 1], y == label
    n_bins = int(np.clip(len(y) // ROWS_PER_GROUP, *N_GROUPS))
    curve = reliability_curve(hit, share, n_bins=n_bins, coverage=CONFIDENCE, label=label)
    return Picture("reliability", SQUARE, drawn_reliability(curve))


def roc(result: JudgedClassification) -> Picture | None:
    """Return how well the probabilities rank the rows of a class above others, if they do."""
    predictive, y = result.held_out.predictive, result.held_out.y
    labels, is_pair = predictive.labels, len(predictive.labels) == 2
    curves = tuple(
        drawn_roc(
            roc_curve(y, predictive.probability[:, k], pos_label=label, coverage=CONFIDENCE)
        )
        for k, label in enumerate(labels)
        if 0 < np.sum(y == label) < len(y) and (k == 1 or not is_pair)
    )
    return Picture("roc", SQUARE, RocCurves(curves)) if curves else None


def confusion(result: JudgedClassification) -> Picture:
    """Return which classes were taken for which, with the intervals of the shares."""
    side = 3.4 + 0.35 * len(result.confusion.labels)
    size = (max(SQUARE[0], 1.2 * side), max(SQUARE[1], side))
    return Picture("confusion", size, drawn_confusion(result.confusion, CONFIDENCE))


def losses(loss: LossMatrix) -> Picture:
    """Return what each action is expected to cost by the probability of one of two classes."""
    return Picture("losses", SQUARE, drawn_losses(loss))


def drawn_classes(result: JudgedClassification) -> list[int]:
    """Return the places of the classes that are drawn: one of two, or the most frequent."""
    counts = result.confusion.table.sum(axis=1)
    if len(counts) == 2:
        return [1]
    kept = np.argsort(-counts, kind="stable")[: len(COLORS)]
    return sorted(int(k) for k in kept)


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
