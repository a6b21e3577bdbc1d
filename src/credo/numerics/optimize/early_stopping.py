"""Early stopping: judge every iterate on held-out rows and go back to the best."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from credo.numerics.array import Array

__all__ = ["EarlyStop", "early_stop"]

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
