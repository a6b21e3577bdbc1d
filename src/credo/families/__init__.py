"""Conjugate families: additive statistics and the beliefs they update."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(
    __name__,
    renamed={
        "LinearGaussian": "LinearGaussianBelief",
    },
)
