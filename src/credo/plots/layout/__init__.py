"""Where boxes and edges of a drawn graph stand: layered (Sugiyama) and by stress."""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
