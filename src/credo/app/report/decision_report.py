"""The part of a report on the decisions that a loss asks for."""

from __future__ import annotations

from credo.app.report.class_picture import losses
from credo.app.report.page import card, figure, paragraph, section, table
from credo.decisions.loss_matrix import LossMatrix
from credo.study.remark.decision_remark import DECISION_HEADINGS, decision_cells
from credo.study.result.classification_result import JudgedClassification

__all__ = ["decision_section"]


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
