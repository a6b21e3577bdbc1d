"""Command line: read arguments and files, call the rooms, write to the terminal."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    moved={
        name: "credo.study"
        for name in (
            "ClassificationResult",
            "Finding",
            "FitSettings",
            "RegressionResult",
            "class_findings",
            "class_slate",
            "compare_table",
            "comparison_page",
            "findings",
            "fit_table",
            "model_names",
            "regression_slate",
            "report_page",
        )
    },
)
