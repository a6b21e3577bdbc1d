"""Arrays in, arrays out: stable linear algebra, log-space sums, optimizers."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from credo.numerics import optimize as optimize
    from credo.numerics.array import Array as Array
    from credo.numerics.array import as_float as as_float
    from credo.numerics.clustering import Clustering as Clustering
    from credo.numerics.clustering import kmeans as kmeans
    from credo.numerics.distance import nearest as nearest
    from credo.numerics.distance import squared_distances as squared_distances
    from credo.numerics.linear_algebra import Cholesky as Cholesky
    from credo.numerics.linear_algebra import NotPositiveDefinite as NotPositiveDefinite
    from credo.numerics.linear_algebra import block_inverse as block_inverse
    from credo.numerics.linear_algebra import cholesky as cholesky
    from credo.numerics.linear_algebra import log_gaussian_integral as log_gaussian_integral
    from credo.numerics.linear_algebra import solve_lower as solve_lower
    from credo.numerics.linear_algebra import symmetrize as symmetrize
    from credo.numerics.log_domain import log1m_exp as log1m_exp
    from credo.numerics.log_domain import log_normal_cdf as log_normal_cdf
    from credo.numerics.log_domain import log_normalize as log_normalize
    from credo.numerics.log_domain import log_sigmoid as log_sigmoid
    from credo.numerics.log_domain import log_sum_exp as log_sum_exp
    from credo.numerics.log_domain import normal_cdf as normal_cdf
    from credo.numerics.log_domain import sigmoid as sigmoid
    from credo.numerics.log_domain import softmax as softmax
    from credo.numerics.moments import Moments as Moments
    from credo.numerics.neighbors import NeighborSearch as NeighborSearch

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["optimize"],
    submod_attrs={
        "array": ["Array", "as_float"],
        "clustering": ["Clustering", "kmeans"],
        "distance": ["nearest", "squared_distances"],
        "linear_algebra": [
            "Cholesky",
            "NotPositiveDefinite",
            "block_inverse",
            "cholesky",
            "log_gaussian_integral",
            "solve_lower",
            "symmetrize",
        ],
        "log_domain": [
            "log1m_exp",
            "log_normal_cdf",
            "log_normalize",
            "log_sigmoid",
            "log_sum_exp",
            "normal_cdf",
            "sigmoid",
            "softmax",
        ],
        "moments": ["Moments"],
        "neighbors": ["NeighborSearch"],
    },
)
