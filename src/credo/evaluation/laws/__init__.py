"""Laws that every distribution, conjugate family and estimator must obey, credo's or yours.

Each law is a small named function that raises `LawBroken`; ``check_*`` runs all that apply
to its subject and returns their names.
"""

from credo.exports import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
