"""Minima of smooth functions: descent, Newton, constraints, and checks of gradients."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    renamed={
        "MinimumStatus": "Status",
    },
)
