from credo.numerics.optimize.constraint import FreeCovariance as FreeCovariance
from credo.numerics.optimize.constraint import FreeSimplex as FreeSimplex
from credo.numerics.optimize.constraint import project_to_simplex as project_to_simplex
from credo.numerics.optimize.coordinate import coordinate_descent as coordinate_descent
from credo.numerics.optimize.descent import Root as Root
from credo.numerics.optimize.descent import adam_epochs as adam_epochs
from credo.numerics.optimize.descent import bracketed_root as bracketed_root
from credo.numerics.optimize.descent import gradient_descent as gradient_descent
from credo.numerics.optimize.descent import newton as newton
from credo.numerics.optimize.descent import newton_root as newton_root
from credo.numerics.optimize.difference import Differences as Differences
from credo.numerics.optimize.difference import GradientReport as GradientReport
from credo.numerics.optimize.difference import check_gradient as check_gradient
from credo.numerics.optimize.difference import (
    finite_difference_gradient as finite_difference_gradient,
)
from credo.numerics.optimize.difference import separate as separate
from credo.numerics.optimize.lagrange import ConstrainedProblem as ConstrainedProblem
from credo.numerics.optimize.lagrange import DualMaximum as DualMaximum
from credo.numerics.optimize.lagrange import Multipliers as Multipliers
from credo.numerics.optimize.lagrange import SmoothFunction as SmoothFunction
from credo.numerics.optimize.lagrange import StationaryPoint as StationaryPoint
from credo.numerics.optimize.lagrange import dual_maximum as dual_maximum
from credo.numerics.optimize.lagrange import stationary_points as stationary_points
from credo.numerics.optimize.minimum import EarlyStop as EarlyStop
from credo.numerics.optimize.minimum import KKTResidual as KKTResidual
from credo.numerics.optimize.minimum import Minimum as Minimum
from credo.numerics.optimize.minimum import StepInfo as StepInfo
from credo.numerics.optimize.minimum import Termination as Termination
from credo.numerics.optimize.minimum import early_stop as early_stop
from credo.numerics.optimize.quadratic import QuadraticForm as QuadraticForm
from credo.numerics.optimize.quadratic import SumOfSquares as SumOfSquares
from credo.numerics.optimize.quadratic import (
    iteratively_reweighted_least_squares as iteratively_reweighted_least_squares,
)
from credo.numerics.optimize.quadratic import sum_of_squares as sum_of_squares
from credo.numerics.optimize.quadratic import taylor as taylor
from credo.numerics.optimize.quadratic_program import InfeasibleProgram as InfeasibleProgram
from credo.numerics.optimize.quadratic_program import MarginPlane as MarginPlane
from credo.numerics.optimize.quadratic_program import ProgramMinimum as ProgramMinimum
from credo.numerics.optimize.quadratic_program import ProgramMultipliers as ProgramMultipliers
from credo.numerics.optimize.quadratic_program import QuadraticProgram as QuadraticProgram
from credo.numerics.optimize.quadratic_program import UnboundedProgram as UnboundedProgram
from credo.numerics.optimize.quadratic_program import (
    maximum_margin_plane as maximum_margin_plane,
)
from credo.numerics.optimize.quasi_newton import bfgs as bfgs
from credo.numerics.optimize.quasi_newton import lbfgs as lbfgs
from credo.numerics.status import Status as Status
