"""Engines that turn a problem into a posterior."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    renamed={
        "HybridProblem": "HybridInference",
        "Info": "Move",
    },
)
