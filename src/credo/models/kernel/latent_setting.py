"""Settings that estimators of hidden functions share: their kernel, engine, and how learned."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from credo.features.basis import column_spread
from credo.features.kernels.equality import Constant
from credo.features.kernels.kernel import Kernel
from credo.features.kernels.parted import has_white
from credo.features.kernels.stationary import StationaryKernel
from credo.inference.kernel.inducing import greedy_rows
from credo.inference.kernel.latent_process import HiddenRows, SiteEngine
from credo.inference.kernel.search import Learned
from credo.inference.site.expectation_propagation import ExpectationPropagation
from credo.inference.site.laplace import SiteLaplace
from credo.inference.site.likelihood import Likelihood
from credo.models.contract.inputs import (
    inference_name,
    merged_rows,
    require_choice,
    require_count,
)
from credo.numerics.array import Array
from credo.numerics.quotation import quote
from credo.numerics.warning import warn_user

__all__ = [
    "INDUCING",
    "LEARNING_ROWS",
    "MOST_EXACT",
    "MOST_EXACT_CLASSES",
    "TOLERANCE",
    "engine_name",
    "inducing_rows",
    "latent_rows",
    "require_settings",
    "site_engine",
    "usual_kernel",
    "warn_of_bounds",
    "work_rows",
]

ENGINES: Mapping[str, type | None] = MappingProxyType(
    {"ep": ExpectationPropagation, "laplace": SiteLaplace}
)
TOLERANCE = 1e-4
"""What another step of a search for settings must promise, in nats."""

MOST_EXACT, MOST_EXACT_CLASSES = 2_000, 3_000
"""Rows up to which one function is exact, and several; see `work_rows`."""

LEARNING_ROWS = 1_000
"""Rows from which settings are learned where all would take long; see `work_rows`."""

INDUCING = 300
OWN_SCALES = 12
"""Columns up to which each has a length scale of its own by default."""


def require_settings(model: Any) -> None:
    """Raise an error unless the settings that all have are what they must be."""
    if not (model.kernel is None or isinstance(model.kernel, Kernel)):
        raise TypeError(
            "kernel must be None or a kernel from credo.features, such as Matern52(); "
            f"found {quote(model.kernel)}. Pass an instance."
        )
    engine_name(model.inference)
    require_choice("learning", model.learning, ("map", "ml"))
    if model.n_inducing is not None:
        require_count("n_inducing", model.n_inducing)


def work_rows(n_rows: int, n_functions: int) -> float:
    """Return how many rows of one function take as long to factor as rows of several.

    Examples
    --------
    >>> round(work_rows(1000, 8))
    2000
    """
    return float(n_rows * np.cbrt(n_functions))


def latent_rows(
    kernel: Kernel | None, x: Array, y: Array, weight: Array
) -> tuple[Array, Array, Array]:
    """Return rows that have hidden values of their own: distinct inputs, outcomes, weights.

    Copies of a row share one, unless the kernel has white noise, which each has for itself.

    Examples
    --------
    >>> from credo.features import Matern52, White
    >>> x, y = np.array([[1.0], [0.0]]), np.array([3.0, 2.0])
    >>> latent_rows(Matern52() + White(), x, y, np.array([2.0, 1.0]))[1]
    array([2., 3., 3.])
    """
    x, y, weight = merged_rows(x, y, weight)
    if kernel is None or not has_white(kernel):
        return x, y, weight
    copies = np.rint(weight)
    if np.any(np.abs(weight - copies) > 1e-9 * weight):
        odd = weight[np.abs(weight - copies) > 1e-9 * weight]
        raise ValueError(
            "sample_weight must be a whole number of copies of each row for a kernel with "
            f"White, which each copy has for itself; found {odd[0]:g}. Pass whole numbers, or "
            "leave White out."
        )
    place = np.repeat(np.arange(len(x)), copies.astype(np.intp))
    return x[place], y[place], np.ones(len(place))


def engine_name(inference: Any) -> str:
    """Return "ep" or "laplace" for a name or an engine, or say what is wrong with it."""
    return inference_name(inference, ENGINES)


def site_engine(inference: str | SiteEngine, tolerance: float | None = None) -> SiteEngine:
    """Return the engine of a name, of some tolerance if it is given; or the engine itself."""
    if not isinstance(inference, str):
        return inference
    kind: Any = ENGINES[inference]
    found: SiteEngine = kind() if tolerance is None else kind(tolerance)
    return found


def warn_of_bounds(model: Any, found: Learned) -> None:
    """Warn of parameters at a bound, unless weak priors have kept them from infinity."""
    if found.at_bounds and model.learning == "ml":
        warn_user(
            "parameters must be learned between their bounds; found "
            f"{quote(list(found.at_bounds))} at one. Hold them, or use another kernel.",
            UserWarning,
        )


def usual_kernel(kind: type[StationaryKernel], x: Array) -> Kernel:
    """Return a random function with a level, in which the units of columns do not matter.

    It has a length scale for each of a few columns, or one for all of many, in which each is
    measured by its spread over the rows.

    Examples
    --------
    >>> from credo.features import Matern52
    >>> usual_kernel(Matern52, np.zeros((5, 2)))
    1 * Matern52(length_scale=(1.0, 1.0)) + Constant(variance=1.0)
    >>> len(usual_kernel(Matern52, np.eye(20)).parameters)
    3
    """
    d = x.shape[1]
    is_own = d <= OWN_SCALES
    shape = kind((1.0,) * d) if is_own else kind(1.0).in_units(column_spread(x, 1.0))
    return 1.0 * shape + Constant()


def inducing_rows(
    kernel: Kernel, data: HiddenRows, likelihood: Likelihood, n_inducing: int
) -> Array:
    """Return rows that leave little of the others unknown, to be inducing inputs.

    What is little depends on how far the function may move before outcomes tell.
    """
    noise = likelihood.landmark(data.y)[1] ** 2
    return np.asarray(data.x[greedy_rows(kernel, data.x, noise, n_inducing)])
