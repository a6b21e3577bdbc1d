"""Engines that turn a problem into a posterior."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.inference.engine import ConvergenceWarning as ConvergenceWarning
    from credo.inference.engine import Engine as Engine
    from credo.inference.engine import Inference as Inference
    from credo.inference.engine import Info as Info
    from credo.inference.engine import Status as Status
    from credo.inference.engine import run as run
    from credo.inference.evidence import EvidenceMaximization as EvidenceMaximization
    from credo.inference.evidence import PrecisionProblem as PrecisionProblem

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "engine": ["ConvergenceWarning", "Engine", "Inference", "Info", "Status", "run"],
        "evidence": ["EvidenceMaximization", "PrecisionProblem"],
    },
)
