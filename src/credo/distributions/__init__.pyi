from credo.distributions.bernoulli import Bernoulli as Bernoulli
from credo.distributions.beta import Beta as Beta
from credo.distributions.binomial import Binomial as Binomial
from credo.distributions.categorical import Categorical as Categorical
from credo.distributions.dirichlet import Dirichlet as Dirichlet
from credo.distributions.dirichlet_process import ChineseRestaurant as ChineseRestaurant
from credo.distributions.dirichlet_process import DirichletProcess as DirichletProcess
from credo.distributions.dirichlet_process import StickBreaking as StickBreaking
from credo.distributions.distribution import Distribution as Distribution
from credo.distributions.empirical import Empirical as Empirical
from credo.distributions.estimate import Estimate as Estimate
from credo.distributions.estimate import box_muller as box_muller
from credo.distributions.estimate import clt_interval as clt_interval
from credo.distributions.estimate import expectation as expectation
from credo.distributions.estimate import monte_carlo as monte_carlo
from credo.distributions.estimate import polar_normal as polar_normal
from credo.distributions.estimate import (
    polynomial_regression_data as polynomial_regression_data,
)
from credo.distributions.estimate import root_mean_square as root_mean_square
from credo.distributions.estimate import sample_covariance as sample_covariance
from credo.distributions.estimate import sample_mean as sample_mean
from credo.distributions.estimate import sample_variance as sample_variance
from credo.distributions.estimate import standardize as standardize
from credo.distributions.exponential import Exponential as Exponential
from credo.distributions.gamma import Gamma as Gamma
from credo.distributions.independent_columns import IndependentColumns as IndependentColumns
from credo.distributions.inverse_gamma import InverseGamma as InverseGamma
from credo.distributions.joint_table import JointTable as JointTable
from credo.distributions.laplace import Laplace as Laplace
from credo.distributions.lomax import Lomax as Lomax
from credo.distributions.mixture import Mixture as Mixture
from credo.distributions.multinomial import Multinomial as Multinomial
from credo.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from credo.distributions.multivariate_student_t import (
    MultivariateStudentT as MultivariateStudentT,
)
from credo.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
from credo.distributions.normal import Normal as Normal
from credo.distributions.poisson import Poisson as Poisson
from credo.distributions.predictive import Predictive as Predictive
from credo.distributions.student_t import StudentT as StudentT
from credo.distributions.uniform import Uniform as Uniform
from credo.distributions.univariate import Univariate as Univariate
from credo.distributions.wishart import InverseWishart as InverseWishart
from credo.distributions.wishart import Wishart as Wishart
