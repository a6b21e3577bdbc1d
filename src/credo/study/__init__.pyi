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
