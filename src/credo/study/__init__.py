"""The workflow of a table: candidates, judgement, result and remarks."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    renamed={
        "ClassificationResult": "JudgedClassification",
        "Finding": "Remark",
        "RegressionResult": "JudgedRegression",
        "class_findings": "class_remarks",
        "findings": "regression_remarks",
    },
)
