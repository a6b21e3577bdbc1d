"""What a search for a minimum returns, and when it ends.

Early stopping judges every iterate on held-out rows and goes back to the best.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, NamedTuple, SupportsFloat, TypeVar

import numpy as np

from credo.numerics.array import Array
from credo.numerics.status import Status

__all__ = [
    "EarlyStop",
    "Function",
    "Gradient",
    "KKTResidual",
    "Minimum",
    "Point",
    "StepInfo",
    "Termination",
    "early_stop",
    "largest",
]

Function = Callable[[Array], SupportsFloat]
Gradient = Callable[[Array], Array]


@dataclass(frozen=True)
class StepInfo:
    """What one step reports: the new value and gradient, and the step length taken.

    ``gradient_norm`` and ``step`` are NaN where a method has none or does not tell.
    """

    value: float
    gradient_norm: float
    step: float


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters, and the value and gradient there; NaN for methods that use no gradient."""

    x: Array
    value: float
    gradient: Array


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a search ended, and how it came there.

    Attributes
    ----------
    x, value, gradient
        The last parameters, and function value and gradient there; the gradient is NaN for
        methods that use none.
    status
        Why the search ended.
    n_steps
        Steps taken.
    trace
        One `StepInfo` per step.
    hessian
        About the Hessian there, shape (d, d); None for methods that do not keep it.
    n_difference_values
        Values of the function that differences in place of a gradient took.
    """

    x: Array
    value: float
    gradient: Array
    status: Status
    n_steps: int
    trace: tuple[StepInfo, ...]
    hessian: Array | None = None
    n_difference_values: int = 0


@dataclass(frozen=True)
class Termination:
    """Rules that end a search; the first that holds is named in the result.

    Parameters
    ----------
    max_steps
        Steps after which the search gives up.
    value_change
        Smallest change of the value, relative to ``max(1, |value|)``.
    parameter_change
        Smallest change of any parameter, relative to ``max(1, largest |parameter|)``.
    gradient_norm
        Largest gradient entry that counts as zero.
    max_seconds
        Wall time after which the search gives up; it is looked at after every step.

    A tolerance of zero switches its rule off.
    """

    max_steps: int = 1000
    value_change: float = 1e-12
    parameter_change: float = 1e-12
    gradient_norm: float = 1e-8
    max_seconds: float = np.inf

    def __post_init__(self) -> None:
        for name, setting in vars(self).items():
            if not setting >= 0:
                raise ValueError(
                    f"{name} must be 0 or more; found {setting}. Use 0 to switch a rule off."
                )

    def status(
        self, before: Point, after: Point, gradient_norm: float, started: float
    ) -> Status | None:
        """Return the rule that holds after a step, or None to go on.

        Parameters
        ----------
        started
            When the search began, see `begin`.
        """
        if gradient_norm < self.gradient_norm:
            return Status.GRADIENT_SMALL
        if self.is_steady(before.value, after.value):
            return Status.VALUE_STEADY
        if largest(after.x - before.x) < self.parameter_change * max(1.0, largest(after.x)):
            return Status.PARAMETERS_STEADY
        return Status.MAX_SECONDS if self.is_late(started) else None

    @staticmethod
    def begin() -> float:
        """Return the time by which the seconds of a search are counted."""
        return monotonic()

    def is_late(self, started: float) -> bool:
        """Whether the time of a search is used up."""
        return self.begin() - started >= self.max_seconds

    def is_steady(self, before: float, after: float) -> bool:
        """Whether two values differ by less than the tolerance."""
        return abs(after - before) < self.value_change * max(1.0, abs(after))


def largest(x: Array) -> float:
    """Return the largest absolute entry."""
    return float(np.abs(x).max(initial=0.0))


State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class EarlyStop(Generic[State]):
    """The best iterate, how many steps led to it, and the error of every one tried."""

    best: State
    n_steps: int
    errors: Array


def early_stop(
    iterates: Iterable[State], error: Callable[[State], float], patience: int | None = None
) -> EarlyStop[State]:
    """Return the iterate of least held-out error, the first where several are equally good.

    Parameters
    ----------
    iterates
        Any sequence of states of learning, made as they are asked for.
    error
        Error of a state on rows that had no part in learning. Rows that choose the iterate no
        longer measure it: keep a test part besides.
    patience
        Steps without a new least error after which to stop; if None, try them all.

    Notes
    -----
    What is found depends on the path of the optimizer, not only on the function it minimizes.

    Examples
    --------
    >>> found = early_stop([0.0, 0.5, 1.0, 1.5, 2.0], lambda w: (w - 1.1) ** 2)
    >>> found.best, found.n_steps
    (1.0, 3)
    """
    kept: list[State] = []
    errors: list[float] = []
    n_steps, best = 0, np.inf
    for state in iterates:
        errors.append(float(error(state)))
        if errors[-1] < best or not kept:
            kept, n_steps, best = [state], len(errors), errors[-1]
        if patience is not None and len(errors) - n_steps >= patience:
            break
    if not kept:
        raise ValueError(
            "iterates must hold at least one state; found none. Take a step first."
        )
    return EarlyStop(kept[0], n_steps, np.array(errors))


class KKTResidual(NamedTuple):
    """How far a point and its multipliers are from the Karush-Kuhn-Tucker conditions.

    All parts are relative to the sizes of what cancels, and zero where the conditions hold.

    Attributes
    ----------
    stationarity
        Largest entry of the gradient of the Lagrangian.
    equality, inequality
        Largest violation of an equality and of an inequality.
    dual
        Most negative multiplier of an inequality.
    complementarity
        Largest product of an inequality and its multiplier.
    """

    stationarity: float
    equality: float
    inequality: float
    dual: float
    complementarity: float

    @property
    def largest(self) -> float:
        """The largest of the five parts."""
        return max(self)
