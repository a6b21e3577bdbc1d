"""Losses, and the action that minimizes expected loss under a predictive distribution."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.decisions.decision import Decision as Decision
    from credo.decisions.decision import decide as decide
    from credo.decisions.loss_matrix import LossMatrix as LossMatrix

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"decision": ["Decision", "decide"], "loss_matrix": ["LossMatrix"]},
)
