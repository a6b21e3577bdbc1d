"""Arrays in, arrays out: stable linear algebra, log-space sums, optimizers."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
