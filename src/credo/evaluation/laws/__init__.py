"""Laws that every distribution, conjugate family and estimator must obey, credo's or yours.

Each law is a small named function that raises `LawBroken`; ``check_*`` runs all that apply
to its subject and returns their names.
"""

from credo.exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
