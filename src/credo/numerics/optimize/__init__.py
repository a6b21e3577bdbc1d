"""Minima of smooth functions: descent, Newton, L-BFGS-B, and checks of their gradients."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    renamed={
        "MinimumStatus": "Status",
    },
)
