"""The pictures of a report on classes: which of its numbers each of them shows."""

from __future__ import annotations

import numpy as np

from credo.decisions.loss_matrix import LossMatrix
from credo.evaluation.classes.ranking import roc_curve
from credo.evaluation.classes.reliability import reliability_curve
from credo.plots.calibration import drawn_reliability
from credo.plots.confusion import drawn_confusion
from credo.plots.decision import drawn_losses
from credo.plots.drawing import COLORS, Dependence, DependenceLine, RocCurves, Shares
from credo.plots.ranking import drawn_roc
from credo.study.partial_dependence import Profile
from credo.study.report.content import Picture
from credo.study.report.picture import SMALL, SQUARE, list_size, tick_names
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import JudgedClassification

__all__ = [
    "class_profiles",
    "confusion",
    "drawn_classes",
    "losses",
    "reliability",
    "roc",
    "shares",
]

ROWS_PER_GROUP = 15
N_GROUPS = (3, 10)


def shares(result: JudgedClassification) -> Picture:
    """Return the weight of each classifier in the stack."""
    scores = result.candidates
    weight = np.array([score.weight for score in scores])
    drawing = Shares(tuple(score.name for score in scores), weight, "weight in the stack")
    return Picture("weights", list_size(scores), drawing)


def class_profiles(result: JudgedClassification) -> tuple[Picture, ...]:
    """Return the probabilities along each of the columns that move them most."""
    places = drawn_classes(result)
    labels = [str(label) for label in result.training.classes_]

    def drawn(place: int, profile: Profile) -> Dependence:
        share = profile.predictive.probability
        lines = tuple(DependenceLine(labels[k], share[:, k]) for k in places)
        has_legend = place == 0 and len(places) > 1
        ticks, limits = tick_names(profile.x, profile.labels), (-0.02, 1.02)
        return Dependence(profile.name, profile.x, ticks, lines, limits, has_legend)

    return tuple(
        Picture(f"profile{place}", SMALL, drawn(place, profile))
        for place, profile in enumerate(result.profiles)
    )


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
