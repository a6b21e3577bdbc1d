"""Where boxes and edges of a drawn graph stand: layered (Sugiyama) and by stress."""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
