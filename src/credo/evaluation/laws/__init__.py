"""Laws that distributions, families, bases, nodes, engines and estimators obey, also yours.

Each law is a small named function that raises `LawBroken`; ``check_*`` runs all that apply
to its subject and returns their names, `check_class` on all examples that a class gives.
"""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
