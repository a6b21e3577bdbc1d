"""What a report says and shows of a target of classes, and decisions that a loss asks for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.decisions.loss_matrix import LossMatrix
from credo.evaluation.classes.ranking import roc_curve
from credo.evaluation.classes.reliability import reliability_curve
from credo.evaluation.decision_report import DecisionReport
from credo.plots.classes import drawn_confusion, drawn_losses, drawn_roc
from credo.plots.drawing import COLORS, Dependence, DependenceLine, RocCurves, Shares
from credo.plots.prediction import drawn_reliability
from credo.study.candidates.candidate import CLASS_MEANINGS, STACK, described
from credo.study.partial_dependence import Profile
from credo.study.remark.class_remark import DECISION_HEADINGS, decision_cells
from credo.study.remark.remark import FEWEST_FOR_SHARES
from credo.study.report.content import (
    Blocks,
    Card,
    Picture,
    Section,
    Sentences,
    Table,
    Text,
    Tile,
    figure,
)
from credo.study.report.picture import SMALL, SQUARE, list_size, log_scores, tick_names
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.wording import class_score_cells, count, decimals, percent

__all__ = ["class_blocks"]

N_EXAMPLES = 9
N_DECIMALS = 3
"""Of log scores, wherever they stand on the page."""

MOST_BESIDE = 3
"""Up to so many classes their table can be read beside another picture."""

ROWS_PER_GROUP = 15
N_GROUPS = (3, 10)


def class_blocks(result: JudgedClassification) -> Blocks:
    """Return what is said of a target of classes."""
    said = Sentences(tuple((remark.tone, remark.text) for remark in result.remarks))
    tiles, sections = tuple(_tiles(result)), tuple(_sections(result))
    return Blocks(result.remarks[0].text, tiles, said, sections)


def _tiles(result: JudgedClassification) -> Iterator[Tile]:
    """Yield error rate and correlation where there are rows enough, and the log score."""
    data, stack, baseline = result.data, result.mixture, result.simplest
    if data.n_test >= FEWEST_FOR_SHARES:
        yield Tile(
            f"{100 * stack.error_rate:.1f} %",
            f"of test rows wrong; {100 * baseline.error_rate:.1f} % if always "
            f"{result.common!r}",
        )
        yield Tile(f"{stack.mcc:.2f}", "Matthews' correlation (MCC); 1 is perfect, 0 chance")
    if np.isfinite([stack.log_score, baseline.log_score]).all():
        yield Tile(
            decimals(stack.log_score, N_DECIMALS),
            f"log score per row; {decimals(baseline.log_score, N_DECIMALS)} for class "
            "frequencies alone",
        )
    yield Tile(f"{data.n_test:,}", f"test rows; {data.n_train:,} rows to learn from")


def _sections(result: JudgedClassification) -> Iterator[Section]:
    """Yield the classifiers, their predictions and decisions, and what moves these."""
    yield _models(result)
    yield _predictions(result)
    if result.decisions is not None and result.loss is not None:
        yield _decisions(result.decisions, result.loss)
    if result.profiles:
        yield _columns(result)


def _models(result: JudgedClassification) -> Section:
    headings = ("model", "weight", "cv log score", "test log score", "test error", "test MCC")
    rows = tuple(class_score_cells(score, STACK, N_DECIMALS) for score in result.scores)
    pairs = zip(result.training.names_, result.training.estimators_, strict=True)
    meanings = tuple(described(pairs, CLASS_MEANINGS))
    return Section(
        "The classifiers",
        "Each classifier is fitted to the training rows, and to all but one of their folds in "
        "turn as long as it could get a weight, with the settings that it chose on all of "
        "them; logistic ones get there by one step from the first fit where that is short. The "
        "weights are those of the mixture that predicts the left-out folds best; evidences are "
        "not used, since those of densities of rows and of classes given rows do not compare.",
        (
            figure(
                "Weight of each classifier",
                "Classifiers that say the same share a weight: one without any may be as good "
                "alone.",
                _shares_picture(result),
            ),
            figure(
                "Log score of each classifier, and of their stack",
                "Test rows, and cross-validation within the training rows; further right is "
                "better; bars are one standard error.",
                log_scores(result.scores),
            ),
            Card(
                "All numbers",
                "± is one standard error; in brackets are 95 % intervals.",
                (Table(headings, rows, (result.winner.name, STACK)),),
                is_wide=True,
            ),
            Card(
                "What each classifier is",
                "The expression makes it again in Python, for columns coded as numbers.",
                (Table(("model", "what it is", "in Python"), meanings, is_words=True),),
                is_wide=True,
            ),
        ),
    )


def _predictions(result: JudgedClassification) -> Section:
    roc = _roc_picture(result)
    return Section(
        "Predictions on test rows",
        f"All {result.data.n_test:,} rows below were held out of training.",
        (
            figure(
                "Do probabilities keep their promise?",
                "How often what was given a probability came true, in groups of test rows with "
                "95 % intervals; on the dashed line, as often as promised. Gray is how often "
                "each probability was said.",
                _reliability_picture(result),
            ),
            Card(
                "How well rows are ranked (ROC)",
                f"{_ranked(result)} As the threshold falls more rows of the class are found, "
                "and more others taken for it; the dashed line is chance.",
                () if roc is None else (roc,),
            ),
            figure(
                "What was taken for what",
                "Test rows by true class (down) and predicted class (across); below each count "
                "its share of the true class with its 95 % interval.",
                _confusion_picture(result),
                is_wide=len(result.confusion.labels) > MOST_BESIDE,
            ),
            Card(
                "What a prediction looks like",
                "Test rows from the least sure prediction to the surest.",
                (_examples(result),),
            ),
        ),
    )


def _ranked(result: JudgedClassification) -> str:
    labels = [str(label) for label in result.training.classes_]
    if len(labels) == 2:
        return f"Test rows in the order of their probability of {labels[1]!r}."
    return "Test rows in the order of their probability of one class against all others."


def _examples(result: JudgedClassification) -> Table:
    """Return a table of test rows spread over how sure their predictions are."""
    predictive, y = result.held_out.predictive, result.held_out.y
    sure = predictive.probability.max(axis=1)
    spread_out = np.linspace(0, len(sure) - 1, min(N_EXAMPLES, len(sure))).astype(int)
    rows = np.argsort(sure, kind="stable")[spread_out]
    cells = tuple(
        (str(called), percent(float(share)), str(true), "" if called == true else "wrong")
        for called, share, true in zip(
            predictive.mode()[rows], sure[rows], y[rows], strict=True
        )
    )
    return Table(("predicted", "probability", "true", ""), cells)


def _decisions(decisions: DecisionReport, loss: LossMatrix) -> Section:
    costs = Card(
        "What the decisions cost",
        "Mean loss per test row ± one standard error, beside what was expected and what one "
        "action for all rows would have cost; the last column says how often each was taken.",
        (
            Table(tuple(DECISION_HEADINGS), tuple(decision_cells(decisions)), ("decisions",)),
            Text("Loss of each action (down) in each class (across), as given:"),
            _losses(loss),
        ),
    )
    chart = (
        figure(
            "Which action when",
            "Expected loss of each action by the probability of a class; the lowest is taken.",
            _loss_picture(loss),
        )
        if len(loss.labels) == 2
        else None
    )
    return Section(
        "Decisions",
        "For each row the action of least expected loss under its probabilities is taken. "
        + decisions.verdict,
        (costs,) if chart is None else (costs, chart),
    )


def _losses(loss: LossMatrix) -> Table:
    rows = tuple(
        (str(action), *(f"{value:g}" for value in row))
        for action, row in zip(loss.actions, loss.loss, strict=True)
    )
    return Table(("action", *(str(label) for label in loss.labels)), rows)


def _columns(result: JudgedClassification) -> Section:
    shown = Card(
        "One column at a time",
        f"Probability of {_drawn(result)} when one column moves over the middle 95 % of its "
        "values and all others stay as in the most typical row; the farthest reach is first.",
        _profile_pictures(result),
        is_wide=True,
        is_small=True,
    )
    lead = "These describe the models, not what would happen if someone changed a column."
    return Section("What moves the probabilities", lead, (shown,))


def _drawn(result: JudgedClassification) -> str:
    """Return which classes are drawn, in words."""
    places = _drawn_classes(result)
    labels = [str(label) for label in result.training.classes_]
    if len(labels) == 2:
        return repr(labels[1])
    if len(places) == len(labels):
        return "each class"
    counts = result.confusion.table.sum(axis=1)
    if counts[places].min() > np.delete(counts, places).max():
        return f"the {count(len(places), 'most frequent class')}"
    return f"{len(places)} of the {count(len(labels), 'class')}"


def _shares_picture(result: JudgedClassification) -> Picture:
    """Return the weight of each classifier in the stack."""
    scores = result.candidates
    weight = np.array([score.weight for score in scores])
    drawing = Shares(tuple(score.name for score in scores), weight, "weight in the stack")
    return Picture("weights", list_size(scores), drawing)


def _profile_pictures(result: JudgedClassification) -> tuple[Picture, ...]:
    """Return the probabilities along each of the columns that move them most."""
    places = _drawn_classes(result)
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


def _reliability_picture(result: JudgedClassification) -> Picture:
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


def _roc_picture(result: JudgedClassification) -> Picture | None:
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


def _confusion_picture(result: JudgedClassification) -> Picture:
    """Return which classes were taken for which, with the intervals of the shares."""
    side = 3.4 + 0.35 * len(result.confusion.labels)
    size = (max(SQUARE[0], 1.2 * side), max(SQUARE[1], side))
    return Picture("confusion", size, drawn_confusion(result.confusion, CONFIDENCE))


def _loss_picture(loss: LossMatrix) -> Picture:
    """Return what each action is expected to cost by the probability of one of two classes."""
    return Picture("losses", SQUARE, drawn_losses(loss))


def _drawn_classes(result: JudgedClassification) -> list[int]:
    """Return the places of the classes that are drawn: one of two, or the most frequent."""
    counts = result.confusion.table.sum(axis=1)
    if len(counts) == 2:
        return [1]
    kept = np.argsort(-counts, kind="stable")[: len(COLORS)]
    return sorted(int(k) for k in kept)
