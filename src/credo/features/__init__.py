"""Functions of the inputs: basis functions, placed once on the training inputs."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
