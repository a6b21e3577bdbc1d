"""Probability distributions as immutable values."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.distributions.distribution import Distribution as Distribution
    from credo.distributions.gamma import Gamma as Gamma
    from credo.distributions.mixture import Mixture as Mixture
    from credo.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
    from credo.distributions.normal import Normal as Normal
    from credo.distributions.student_t import StudentT as StudentT
    from credo.distributions.univariate import Univariate as Univariate

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "distribution": ["Distribution"],
        "gamma": ["Gamma"],
        "mixture": ["Mixture"],
        "multivariate_normal": ["MultivariateNormal"],
        "normal": ["Normal"],
        "student_t": ["StudentT"],
        "univariate": ["Univariate"],
    },
)
