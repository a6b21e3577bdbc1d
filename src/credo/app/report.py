"""The report: one HTML file that says what was found and how far to trust it."""

from __future__ import annotations

from credo import app
from credo.app.classification_result import JudgedClassification
from credo.app.result import JudgedRegression

__all__ = ["report_page"]


def report_page(result: JudgedRegression | JudgedClassification) -> str:
    """Return the report as the text of a self-contained HTML file."""
    if isinstance(result, JudgedClassification):
        return app.classification_page(result)
    return app.regression_page(result)
