"""What decisions cost on the test rows: in sentences, and as the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator

from credo.distributions.estimate import Estimate
from credo.evaluation.decision_report import DecisionReport
from credo.study.remark.remark import Finding
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.wording import percent, plus_minus

__all__ = ["DECISION_HEADINGS", "decision_cells", "decision_findings"]

DECISION_HEADINGS = ("", "loss per row", "taken for")


def decision_findings(result: JudgedClassification) -> Iterator[Finding]:
    """Yield what the test rows say of the decisions, if a loss was given."""
    report = result.decisions
    if report is None:
        return
    said = report.verdict.replace("95%", "95 %")
    if not _is_kept(report):
        yield Finding("caution", said)
    elif float(report.saving.interval(report.coverage)[0]) > 0:
        yield Finding("good", said)
    else:
        yield Finding("fact", said)


def decision_cells(report: DecisionReport) -> list[tuple[str, str, str]]:
    """Return rows of a table: the decisions, what they promised, and constants instead."""
    rows = [
        ("decisions", _told(report.realized), ""),
        ("expected of them", _told(report.promised), ""),
        ("if classes were known", f"{report.oracle:.3f}", ""),
    ]
    for action, loss, error in report.constant.itertuples():
        share = percent(float(report.share[action]))
        rows.append((f"always {action}", plus_minus(loss, error, 3), share))
    return rows


def _told(loss: Estimate) -> str:
    return plus_minus(float(loss.value), float(loss.standard_error), 3)


def _is_kept(report: DecisionReport) -> bool:
    low, high = report.surprise.interval(report.coverage)
    return bool(low <= 0 <= high)
