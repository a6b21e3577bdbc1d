"""Command line and report: read files, call the rooms, write pages."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    moved={
        name: "credo.study"
        for name in (
            "FitSettings",
            "class_slate",
            "compare_table",
            "fit_table",
            "model_names",
            "regression_slate",
        )
    },
)
