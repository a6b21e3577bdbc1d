from credo.study.classification import CLASSIFICATION as CLASSIFICATION
from credo.study.classification import class_slate as class_slate
from credo.study.compare_job import TableComparison as TableComparison
from credo.study.compare_job import compare_table as compare_table
from credo.study.compare_job import model_names as model_names
from credo.study.estimator import TableClassifier as TableClassifier
from credo.study.estimator import TableRegressor as TableRegressor
from credo.study.job import fit_table as fit_table
from credo.study.regression import REGRESSION as REGRESSION
from credo.study.regression import regression_slate as regression_slate
from credo.study.remark.class_remark import class_remarks as class_remarks
from credo.study.remark.regression_remark import regression_remarks as regression_remarks
from credo.study.report.class_report import class_blocks as class_blocks
from credo.study.report.compare_report import comparison_page as comparison_page
from credo.study.report.number_report import number_blocks as number_blocks
from credo.study.report.page import page_html as page_html
from credo.study.report.report import report_content as report_content
from credo.study.report.report import report_page as report_page
from credo.study.result.classification_result import (
    JudgedClassification as JudgedClassification,
)
from credo.study.result.regression_result import JudgedRegression as JudgedRegression
from credo.study.result.result import FitSettings as FitSettings
from credo.study.result.result import Judged as Judged
from credo.study.result.table_model import Remark as Remark
from credo.study.study import Study as Study
from credo.study.study import TableScore as TableScore
from credo.study.study import fit as fit
from credo.study.task import Task as Task
