"""The report on a target of classes, and on the decisions that a loss asks for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.app.report import class_picture, picture
from credo.app.report.class_picture import losses
from credo.app.report.page import (
    Making,
    card,
    figure,
    in_turn,
    page,
    paragraph,
    section,
    table,
    tile,
)
from credo.app.report.report_part import belief_section, data_section, footer, header
from credo.decisions.loss_matrix import LossMatrix
from credo.study.candidates.candidate import CLASS_MEANINGS, STACK, described
from credo.study.remark.class_remark import DECISION_HEADINGS, class_headline, decision_cells
from credo.study.remark.remark import FEWEST_FOR_SHARES
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.wording import class_score_cells, count, decimals, percent

__all__ = [
    "classification_page",
    "decision_section",
]


def decision_section(result: JudgedClassification) -> str:
    """Return what the decisions cost on the test rows, or nothing if no loss was given."""
    if result.decisions is None or result.loss is None:
        return ""
    given = paragraph("Loss of each action (down) in each class (across), as given:")
    costs = card(
        "What the decisions cost",
        "Mean loss per test row ± one standard error, beside what was expected and what one "
        "action for all rows would have cost; the last column says how often each was taken.",
        table(DECISION_HEADINGS, decision_cells(result.decisions), ("decisions",))
        + given
        + _losses(result.loss),
    )
    chart = (
        figure(
            "Which action when",
            "Expected loss of each action by the probability of a class; the lowest is taken.",
            losses(result.loss),
        )
        if len(result.loss.labels) == 2
        else ""
    )
    lead = (
        "For each row the action of least expected loss under its probabilities is taken. "
        + result.decisions.verdict
    )
    return section("Decisions", lead, f'<div class="grid">{costs}{chart}</div>')


def _losses(loss: LossMatrix) -> str:
    rows = [
        [str(action), *(f"{value:g}" for value in row)]
        for action, row in zip(loss.actions, loss.loss, strict=True)
    ]
    return table(["action", *(str(label) for label in loss.labels)], rows)


N_EXAMPLES = 9
N_DECIMALS = 3
"""Of log scores, wherever they stand on the page."""
MOST_BESIDE = 3
"""Up to so many classes their table can be read beside another picture."""


def classification_page(result: JudgedClassification, making: Making = in_turn) -> str:
    """Return the report as the text of a self-contained HTML file."""
    parts = [
        lambda: header(result.data, class_headline(result), _tiles(result)),
        lambda: belief_section(result.remarks),
        lambda: _models(result),
        lambda: _predictions(result),
        lambda: decision_section(result),
        lambda: _columns(result),
        lambda: data_section(result.data, result.slate_notes),
        lambda: footer(result.settings, result.n_folds, result.data.fingerprint),
    ]
    return page(f"{result.data.target}: credo report", making(parts))


def _tiles(result: JudgedClassification) -> Iterator[str]:
    data, stack = result.data, result.mixture
    if data.n_test >= FEWEST_FOR_SHARES:
        yield tile(
            f"{100 * stack.error_rate:.1f} %",
            f"of test rows wrong; {100 * result.simplest.error_rate:.1f} % if always "
            f"{result.common!r}",
        )
        yield tile(f"{stack.mcc:.2f}", "Matthews' correlation (MCC); 1 is perfect, 0 chance")
    if np.isfinite([stack.log_score, result.simplest.log_score]).all():
        yield tile(
            decimals(stack.log_score, N_DECIMALS),
            f"log score per row; {decimals(result.simplest.log_score, N_DECIMALS)} for class "
            "frequencies alone",
        )
    yield tile(f"{data.n_test:,}", f"test rows; {data.n_train:,} rows to learn from")


def _models(result: JudgedClassification) -> str:
    headings = ["model", "weight", "cv log score", "test log score", "test error", "test MCC"]
    rows = [class_score_cells(score, STACK, N_DECIMALS) for score in result.scores]
    lead = (
        "Each classifier is fitted to the training rows, and to all but one of their folds in "
        "turn as long as it could get a weight, with the settings that it chose on all of "
        "them; logistic ones get there by one step from the first fit where that is short. The "
        "weights are those of the mixture that predicts the left-out folds best; evidences are "
        "not used, since those of densities of rows and of classes given rows do not compare."
    )
    chart = figure(
        "Weight of each classifier",
        "Classifiers that say the same share a weight: one without any may be as good alone.",
        class_picture.weights(result),
    )
    judged = figure(
        "Log score of each classifier, and of their stack",
        "Test rows, and cross-validation within the training rows; further right is better; "
        "bars are one standard error.",
        picture.log_scores(result.scores),
    )
    numbers = table(headings, rows, (result.winner.name, STACK))
    explained = "± is one standard error; in brackets are 95 % intervals."
    scores = card("All numbers", explained, numbers, is_wide=True)
    pairs = zip(result.training.names_, result.training.estimators_, strict=True)
    what = card(
        "What each classifier is",
        "The expression makes it again in Python, for columns coded as numbers.",
        table(
            ["model", "what it is", "in Python"],
            described(pairs, CLASS_MEANINGS),
            is_words=True,
        ),
        is_wide=True,
    )
    grid = f'<div class="grid">{chart}{judged}{scores}{what}</div>'
    return section("The classifiers", lead, grid)


def _predictions(result: JudgedClassification) -> str:
    figures = [
        figure(
            "Do probabilities keep their promise?",
            "How often what was given a probability came true, in groups of test rows with "
            "95 % intervals; on the dashed line, as often as promised. Gray is how often each "
            "probability was said.",
            class_picture.reliability(result),
        ),
        figure(
            "How well rows are ranked (ROC)",
            f"{_ranked(result)} As the threshold falls more rows of the class are found, and "
            "more others taken for it; the dashed line is chance.",
            class_picture.roc(result),
        ),
        figure(
            "What was taken for what",
            "Test rows by true class (down) and predicted class (across); below each count its "
            "share of the true class with its 95 % interval.",
            class_picture.confusion(result),
            is_wide=len(result.confusion.labels) > MOST_BESIDE,
        ),
        card(
            "What a prediction looks like",
            "Test rows from the least sure prediction to the surest.",
            _examples(result),
        ),
    ]
    lead = f"All {result.data.n_test:,} rows below were held out of training."
    body = f'<div class="grid">{"".join(figures)}</div>'
    return section("Predictions on test rows", lead, body)


def _ranked(result: JudgedClassification) -> str:
    labels = [str(label) for label in result.training.classes_]
    if len(labels) == 2:
        return f"Test rows in the order of their probability of {labels[1]!r}."
    return "Test rows in the order of their probability of one class against all others."


def _examples(result: JudgedClassification) -> str:
    """Return a table of test rows spread over how sure their predictions are."""
    predictive, y = result.held_out.predictive, result.held_out.y
    sure = predictive.probability.max(axis=1)
    spread_out = np.linspace(0, len(sure) - 1, min(N_EXAMPLES, len(sure))).astype(int)
    rows = np.argsort(sure, kind="stable")[spread_out]
    cells = [
        [str(called), percent(float(share)), str(true), "" if called == true else "wrong"]
        for called, share, true in zip(
            predictive.mode()[rows], sure[rows], y[rows], strict=True
        )
    ]
    return table(["predicted", "probability", "true", ""], cells)


def _columns(result: JudgedClassification) -> str:
    if not result.profiles:
        return ""
    shown = card(
        "One column at a time",
        f"Probability of {_drawn(result)} when one column moves over the middle 95 % of its "
        "values and all others stay as in the most typical row; the farthest reach is first.",
        f'<div class="small">{"".join(class_picture.class_profile_pictures(result))}</div>',
        is_wide=True,
    )
    lead = "These describe the models, not what would happen if someone changed a column."
    return section("What moves the probabilities", lead, f'<div class="grid">{shown}</div>')


def _drawn(result: JudgedClassification) -> str:
    """Return which classes are drawn, in words."""
    places = class_picture.drawn_classes(result)
    labels = [str(label) for label in result.training.classes_]
    if len(labels) == 2:
        return repr(labels[1])
    if len(places) == len(labels):
        return "each class"
    counts = result.confusion.table.sum(axis=1)
    if counts[places].min() > np.delete(counts, places).max():
        return f"the {count(len(places), 'most frequent class')}"
    return f"{len(places)} of the {count(len(labels), 'class')}"
