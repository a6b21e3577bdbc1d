"""Arrays in, arrays out: stable linear algebra, log-space sums, optimizers."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
