from credo.families.bernoulli import BernoulliStatistics as BernoulliStatistics
from credo.families.bernoulli import BetaBernoulli as BetaBernoulli
from credo.families.categorical import CategoricalStatistics as CategoricalStatistics
from credo.families.categorical import DirichletCategorical as DirichletCategorical
from credo.families.component import Components as Components
from credo.families.component import ComponentStatistics as ComponentStatistics
from credo.families.exponential import ExponentialStatistics as ExponentialStatistics
from credo.families.exponential import GammaExponential as GammaExponential
from credo.families.known import Known as Known
from credo.families.known import KnownStatistics as KnownStatistics
from credo.families.linear import LinearResponse as LinearResponse
from credo.families.linear import LinearStatistics as LinearStatistics
from credo.families.linear_gaussian import LinearGaussianBelief as LinearGaussianBelief
from credo.families.linear_gaussian import LinearGaussianGamma as LinearGaussianGamma
from credo.families.multivariate_normal import (
    MultivariateNormalStatistics as MultivariateNormalStatistics,
)
from credo.families.multivariate_normal import NormalInverseWishart as NormalInverseWishart
from credo.families.multivariate_normal import (
    TiedNormalInverseWishart as TiedNormalInverseWishart,
)
from credo.families.normal import NormalInverseGamma as NormalInverseGamma
from credo.families.normal import NormalStatistics as NormalStatistics
from credo.families.normal import SphericalNormalInverseGamma as SphericalNormalInverseGamma
from credo.families.normal_known_variance import NormalKnownVariance as NormalKnownVariance
from credo.families.poisson import GammaPoisson as GammaPoisson
from credo.families.poisson import PoissonStatistics as PoissonStatistics
from credo.families.product import Product as Product
from credo.families.product import ProductStatistics as ProductStatistics
from credo.families.ridge_belief import RidgeBelief as RidgeBelief
from credo.families.stick_breaking import StickBreakingCategorical as StickBreakingCategorical
