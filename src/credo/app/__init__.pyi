from credo.app.cli import draw_job as draw_job
from credo.app.cli import inspect_job as inspect_job
from credo.app.cli import network_job as network_job
from credo.app.cli import predict_job as predict_job
from credo.app.cli import terminal_job as terminal_job
from credo.app.cli.draw_job import DrawSettings as DrawSettings
from credo.app.cli.network_job import QuerySettings as QuerySettings
from credo.app.console.csv_place import CsvPlace as CsvPlace
from credo.app.report.class_report import class_blocks as class_blocks
from credo.app.report.compare_report import comparison_page as comparison_page
from credo.app.report.number_report import number_blocks as number_blocks
from credo.app.report.page import page_html as page_html
from credo.app.report.report import report_content as report_content
from credo.app.report.report import report_page as report_page
from credo.app.terminal.compare_terminal import print_comparison as print_comparison
from credo.study.candidates.class_slate import class_slate as class_slate
from credo.study.candidates.slate import regression_slate as regression_slate
from credo.study.classification_job import judged_classification as judged_classification
from credo.study.compare_job import compare_table as compare_table
from credo.study.compare_job import model_names as model_names
from credo.study.job import fit_table as fit_table
from credo.study.regression_job import judged_regression as judged_regression
from credo.study.remark.class_remark import class_findings as class_findings
from credo.study.remark.regression_remark import findings as findings
from credo.study.remark.remark import Finding as Finding
from credo.study.result.classification_result import (
    ClassificationResult as ClassificationResult,
)
from credo.study.result.result import FitSettings as FitSettings
from credo.study.result.result import RegressionResult as RegressionResult
