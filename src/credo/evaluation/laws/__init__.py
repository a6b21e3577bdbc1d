"""Laws that every distribution, conjugate family and estimator must obey, credo's or yours.

Each law is a small named function that raises `LawBroken`; ``check_*`` runs all that apply
to its subject and returns their names.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.evaluation.laws.broken import LawBroken as LawBroken
    from credo.evaluation.laws.distribution import check_distribution as check_distribution
    from credo.evaluation.laws.estimator import check_estimator as check_estimator
    from credo.evaluation.laws.family import check_family as check_family
    from credo.evaluation.laws.statistics import check_statistics as check_statistics

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "broken": ["LawBroken"],
        "distribution": ["check_distribution"],
        "estimator": ["check_estimator"],
        "family": ["check_family"],
        "statistics": ["check_statistics"],
    },
)
