"""One figure for each thing a person would rather look at than read.

Each function draws on the ``ax`` it is given and returns it; none touches global settings, nor
pyplot, but for its current axes where no ``ax`` is given. Those called ``..._figure`` choose
the size themselves and return a whole figure.
"""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    renamed={
        "coverage_curve": "coverage_plot",
        "precision_recall_curve": "precision_recall_plot",
        "reliability_curve": "reliability_plot",
        "roc_curve": "roc_plot",
    },
)
