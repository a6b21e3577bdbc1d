"""One figure for each thing a person would rather look at than read.

Each function draws on the ``ax`` it is given and returns it; none touches global settings, nor
pyplot, but for its current axes where no ``ax`` is given. Those called ``..._figure`` choose
the size themselves and return a whole figure.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.plots.band import predictive_band as predictive_band
    from credo.plots.boundary import boundary as boundary
    from credo.plots.calibration import coverage_curve as coverage_curve
    from credo.plots.comparison import comparison as comparison
    from credo.plots.comparison import (
        evidence_against_complexity as evidence_against_complexity,
    )
    from credo.plots.comparison import model_comparison as model_comparison
    from credo.plots.confusion import confusion_table as confusion_table
    from credo.plots.decision import expected_losses as expected_losses
    from credo.plots.distribution import density as density
    from credo.plots.distribution import prior_posterior as prior_posterior
    from credo.plots.ising import denoising_figure as denoising_figure
    from credo.plots.loss import losses as losses
    from credo.plots.network import network_figure as network_figure
    from credo.plots.prediction import predictions_against_truth as predictions_against_truth
    from credo.plots.prediction import residuals as residuals
    from credo.plots.ranking import precision_recall_curve as precision_recall_curve
    from credo.plots.ranking import roc_curve as roc_curve
    from credo.plots.reliability import reliability_curve as reliability_curve
    from credo.plots.weight import weights as weights

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "band": ["predictive_band"],
        "boundary": ["boundary"],
        "calibration": ["coverage_curve"],
        "comparison": ["comparison", "evidence_against_complexity", "model_comparison"],
        "decision": ["expected_losses"],
        "confusion": ["confusion_table"],
        "distribution": ["density", "prior_posterior"],
        "ising": ["denoising_figure"],
        "loss": ["losses"],
        "network": ["network_figure"],
        "prediction": ["predictions_against_truth", "residuals"],
        "ranking": ["precision_recall_curve", "roc_curve"],
        "reliability": ["reliability_curve"],
        "weight": ["weights"],
    },
)
