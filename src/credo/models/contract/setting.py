"""Settings of estimators: checks that name the argument, and random states."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from credo.numerics.quotation import quote

__all__ = ["generator", "require_choice", "require_count", "require_precision"]


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator that scikit-learn's ``random_state`` stands for."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def require_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the named choices."""
    if value not in choices:
        raise ValueError(
            f"{name} must be one of {choices}; found {quote(value)}. Choose from these."
        )


def require_count(name: str, value: Any) -> None:
    """Refuse a value that is not a whole number from 1 on."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{name} must be a whole number, at least 1; found {quote(value)}. Pass an int."
        )


def require_precision(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is neither a positive number nor one of the named choices."""
    is_known = isinstance(value, str) and value in choices
    if not is_known and not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ValueError(
            f"{name} must be a positive number or one of {choices}; found {quote(value)}. "
            "Pass an inverse variance."
        )
