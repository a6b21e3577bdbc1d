"""Functions of the inputs: basis functions, and the kernels that stand for their products."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
