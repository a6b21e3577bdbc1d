"""Functions of the inputs: basis functions, placed once on the training inputs."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.features.basis import Basis as Basis
    from credo.features.basis import ConcatenatedBasis as ConcatenatedBasis
    from credo.features.continued import ContinuedBasis as ContinuedBasis
    from credo.features.fourier import FourierBasis as FourierBasis
    from credo.features.linear import LinearBasis as LinearBasis
    from credo.features.polynomial import PolynomialBasis as PolynomialBasis
    from credo.features.radial import RadialBasis as RadialBasis
    from credo.features.sigmoid import SigmoidBasis as SigmoidBasis
    from credo.features.spline import SplineBasis as SplineBasis

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "basis": ["Basis", "ConcatenatedBasis"],
        "continued": ["ContinuedBasis"],
        "fourier": ["FourierBasis"],
        "linear": ["LinearBasis"],
        "polynomial": ["PolynomialBasis"],
        "radial": ["RadialBasis"],
        "sigmoid": ["SigmoidBasis"],
        "spline": ["SplineBasis"],
    },
)
