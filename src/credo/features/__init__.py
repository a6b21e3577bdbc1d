"""Functions of the inputs: basis functions, placed once on the training inputs."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
