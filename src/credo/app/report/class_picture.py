"""The pictures of a report on classes, each a result drawn as SVG."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from credo.app.report.picture import SQUARE, list_size, name_places
from credo.app.report.svg import svg_picture
from credo.decisions.loss_matrix import LossMatrix
from credo.evaluation.classes.ranking import roc_curve
from credo.evaluation.classes.reliability import reliability_curve
from credo.plots.calibration import reliability_plot as draw_reliability
from credo.plots.confusion import confusion_table
from credo.plots.decision import expected_losses
from credo.plots.ranking import COLORS
from credo.plots.ranking import roc_plot as draw_roc
from credo.plots.style import BLUE, GRAY, INK, legend_above, shortened, tidy
from credo.plots.wording import probability
from credo.study.dependence.class_profile import ClassProfile
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import JudgedClassification

__all__ = [
    "class_profile_pictures",
    "confusion",
    "drawn_classes",
    "losses",
    "reliability",
    "roc",
    "weights",
]


ROWS_PER_GROUP = 15
N_GROUPS = (3, 10)


def drawn_classes(result: JudgedClassification) -> list[int]:
    """Return the places of the classes that are drawn: one of two, or the most frequent."""
    counts = result.confusion.table.sum(axis=1)
    if len(counts) == 2:
        return [1]
    kept = np.argsort(-counts, kind="stable")[: len(COLORS)]
    return sorted(int(k) for k in kept)


def weights(result: JudgedClassification) -> str:
    """Return the weight of each classifier in the stack as a bar."""
    scores = result.candidates
    place = np.arange(len(scores))

    def draw(ax: Axes) -> None:
        share = [score.weight for score in scores]
        colors = [BLUE if value == max(share) else GRAY for value in share]
        ax.barh(place, share, height=0.6, color=colors, alpha=0.75)
        for row, value in enumerate(share):
            ax.text(value + 0.015, row, probability(value), va="center", color=INK)
        ax.set_yticks(place, [score.name for score in scores])
        ax.invert_yaxis()
        ax.set_xlim(0, 1.14)
        ax.set_xticks(np.linspace(0, 1, 5))
        tidy(ax, "weight in the stack")

    return svg_picture("weights", list_size(scores), draw)


def reliability(result: JudgedClassification) -> str:
    """Return how often probabilities came true: of one of two classes, or of that called."""
    predictive, y = result.held_out.predictive, result.held_out.y
    label = predictive.labels[1] if len(predictive.labels) == 2 else None
    if label is None:
        share, hit = predictive.probability.max(axis=1), predictive.mode() == y
    else:
        share, hit = predictive.probability[:, 1], y == label
    n_bins = int(np.clip(len(y) // ROWS_PER_GROUP, *N_GROUPS))
    curve = reliability_curve(share, hit, n_bins, CONFIDENCE, label=label)
    return svg_picture("reliability", SQUARE, lambda ax: draw_reliability(curve, ax))


def roc(result: JudgedClassification) -> str:
    """Return how well the probabilities rank the rows of a class above others."""
    predictive, y = result.held_out.predictive, result.held_out.y
    labels, is_pair = predictive.labels, len(predictive.labels) == 2
    curves = [
        roc_curve(predictive.probability[:, k], y, label, CONFIDENCE)
        for k, label in enumerate(labels)
        if 0 < np.sum(y == label) < len(y) and (k == 1 or not is_pair)
    ]
    return svg_picture("roc", SQUARE, lambda ax: draw_roc(curves, ax)) if curves else ""


def confusion(result: JudgedClassification) -> str:
    """Return which classes were taken for which, with the intervals of the shares."""
    table = result.confusion
    side = 3.4 + 0.35 * len(table.labels)
    size = (max(SQUARE[0], 1.2 * side), max(SQUARE[1], side))
    return svg_picture("confusion", size, lambda ax: confusion_table(table, ax, CONFIDENCE))


def losses(loss: LossMatrix) -> str:
    """Return what each action is expected to cost by the probability of one of two classes."""
    return svg_picture("losses", SQUARE, lambda ax: expected_losses(loss, ax))


def class_profile_pictures(result: JudgedClassification) -> list[str]:
    """Return the probabilities along each of the columns that move them most."""
    places = drawn_classes(result)
    labels = [str(label) for label in result.training.classes_]

    def drawn(order: int, profile: ClassProfile) -> str:
        def draw(ax: Axes) -> None:
            for color, k in zip(COLORS, places, strict=False):
                _draw_line(ax, profile, profile.predictive.probability[:, k], color, labels[k])
            if profile.labels or len(profile.x) <= 2:
                name_places(ax, profile)
                ax.margins(x=0.25)
            ax.set_ylim(-0.02, 1.02)
            ax.tick_params(colors=INK)
            if len(places) > 1 and order == 0:
                legend_above(ax)
            tidy(ax, shortened(profile.name, 40))

        return svg_picture(f"profile{order}", (3.3, 2.3), draw)

    return [drawn(order, profile) for order, profile in enumerate(result.profiles)]


def _draw_line(
    ax: Axes,
    profile: ClassProfile,
    share: np.ndarray[tuple[int], np.dtype[np.float64]],
    color: str,
    label: str,
) -> None:
    style = "o" if profile.labels or len(profile.x) <= 2 else "-"
    ax.plot(profile.x, share, style, color=color, lw=1.8, label=shortened(label, 14))
