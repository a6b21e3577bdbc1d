"""Command line and report: read files, call the rooms, write pages."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.app import draw_job as draw_job
    from credo.app import inspect_job as inspect_job
    from credo.app import network_job as network_job
    from credo.app import predict_job as predict_job
    from credo.app import query_job as query_job
    from credo.app import terminal_job as terminal_job
    from credo.app.class_finding import class_findings as class_findings
    from credo.app.class_report import classification_page as classification_page
    from credo.app.class_slate import class_slate as class_slate
    from credo.app.classification_job import judged_classification as judged_classification
    from credo.app.classification_result import ClassificationResult as ClassificationResult
    from credo.app.compare_job import compare_table as compare_table
    from credo.app.compare_job import model_names as model_names
    from credo.app.compare_report import comparison_page as comparison_page
    from credo.app.compare_terminal import print_comparison as print_comparison
    from credo.app.csv_place import CsvPlace as CsvPlace
    from credo.app.draw_job import DrawSettings as DrawSettings
    from credo.app.finding import findings as findings
    from credo.app.job import fit_table as fit_table
    from credo.app.query_job import QuerySettings as QuerySettings
    from credo.app.regression_job import judged_regression as judged_regression
    from credo.app.regression_report import regression_page as regression_page
    from credo.app.report import report_page as report_page
    from credo.app.result import FitSettings as FitSettings
    from credo.app.result import RegressionResult as RegressionResult
    from credo.app.sentence import Finding as Finding
    from credo.app.slate import regression_slate as regression_slate

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "draw_job",
        "inspect_job",
        "network_job",
        "predict_job",
        "query_job",
        "terminal_job",
    ],
    submod_attrs={
        "class_finding": ["class_findings"],
        "class_report": ["classification_page"],
        "class_slate": ["class_slate"],
        "classification_job": ["judged_classification"],
        "classification_result": ["ClassificationResult"],
        "compare_job": ["compare_table", "model_names"],
        "compare_report": ["comparison_page"],
        "compare_terminal": ["print_comparison"],
        "csv_place": ["CsvPlace"],
        "finding": ["findings"],
        "job": ["fit_table"],
        "draw_job": ["DrawSettings"],
        "query_job": ["QuerySettings"],
        "regression_job": ["judged_regression"],
        "regression_report": ["regression_page"],
        "report": ["report_page"],
        "result": ["FitSettings", "RegressionResult"],
        "sentence": ["Finding"],
        "slate": ["regression_slate"],
    },
)
