"""Losses, and the action that minimizes expected loss under a predictive distribution."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.decisions.decision import Decision as Decision
    from credo.decisions.decision import decide as decide
    from credo.decisions.loss_matrix import LossMatrix as LossMatrix
    from credo.decisions.margin_loss import ExponentialMargin as ExponentialMargin
    from credo.decisions.margin_loss import HingeMargin as HingeMargin
    from credo.decisions.margin_loss import LogisticMargin as LogisticMargin
    from credo.decisions.margin_loss import MarginLoss as MarginLoss
    from credo.decisions.margin_loss import QuadraticMargin as QuadraticMargin
    from credo.decisions.margin_loss import ZeroOneMargin as ZeroOneMargin
    from credo.decisions.numeric_loss import AbsoluteLoss as AbsoluteLoss
    from credo.decisions.numeric_loss import AsymmetricLinearLoss as AsymmetricLinearLoss
    from credo.decisions.numeric_loss import LinexLoss as LinexLoss
    from credo.decisions.numeric_loss import NumericLoss as NumericLoss
    from credo.decisions.numeric_loss import PinballLoss as PinballLoss
    from credo.decisions.numeric_loss import QuadraticLoss as QuadraticLoss
    from credo.decisions.numeric_loss import ZeroOneLoss as ZeroOneLoss
    from credo.decisions.risk import ActionRegions as ActionRegions
    from credo.decisions.risk import action_regions as action_regions
    from credo.decisions.risk import bayes_risk as bayes_risk
    from credo.decisions.risk import binary_threshold as binary_threshold
    from credo.decisions.risk import reject_threshold as reject_threshold

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "decision": ["Decision", "decide"],
        "loss_matrix": ["LossMatrix"],
        "margin_loss": [
            "ExponentialMargin",
            "HingeMargin",
            "LogisticMargin",
            "MarginLoss",
            "QuadraticMargin",
            "ZeroOneMargin",
        ],
        "numeric_loss": [
            "AbsoluteLoss",
            "AsymmetricLinearLoss",
            "LinexLoss",
            "NumericLoss",
            "PinballLoss",
            "QuadraticLoss",
            "ZeroOneLoss",
        ],
        "risk": [
            "ActionRegions",
            "action_regions",
            "bayes_risk",
            "binary_threshold",
            "reject_threshold",
        ],
    },
)
