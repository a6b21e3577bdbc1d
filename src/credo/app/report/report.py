"""The report: one HTML file that says what was found and how far to trust it."""

from __future__ import annotations

from credo import app
from credo.app.report.page import Making, in_turn
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.regression_result import JudgedRegression

__all__ = ["report_page"]


def report_page(
    result: JudgedRegression | JudgedClassification, making: Making = in_turn
) -> str:
    """Return the report as the text of a self-contained HTML file.

    Parameters
    ----------
    result
        What was judged.
    making
        How the parts of the page are made.
    """
    if isinstance(result, JudgedClassification):
        return app.classification_page(result, making)
    return app.regression_page(result, making)
