"""Pictures of densities of rows: mixtures with their ellipses, and kernel densities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.distributions.class_conditional import ClassConditional
from credo.families.component import Components
from credo.inference.latent.kernel_density import Bumps
from credo.inference.latent.partition import PartitionDraws, kept_draws
from credo.models.latent.kernel_density import KernelDensity
from credo.models.latent.mixture import Mixture
from credo.numerics.array import Array
from credo.plots.drawing import DensityCurves, DensityMap
from credo.plots.style import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["density_plot", "drawn_density"]

N_POINTS = 400
N_SIDE = 120
"""Places at which a density is drawn, of one column and along each side of two."""

SHARES = (0.5, 0.9, 0.99)
"""Shares of all rows within the regions of two columns that are shaded."""

ELLIPSE = 0.9
"""Share of the rows of a normal component within its ellipse."""

STATES = ("categorical", "bernoulli")
"""Kinds of columns that have no density to draw."""

N_DRAWS = 12
"""Draws of a belief whose ellipses or curves are thin lines."""


def density_plot(
    model: Mixture | KernelDensity,
    X: ArrayLike,
    columns: int | Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows and the density that a mixture or a kernel density gives them.

    Of one column a histogram, the density, and the part of each component below it. Of two
    columns regions that hold 50, 90 and 99 % of all rows, and the ellipse of each component,
    within which 90 % of its rows lie if it is normal; other columns are integrated out. Rows
    have the colors of their components, mixed as surely as they are of each. Thin lines are
    draws from what is believed of a component, where the model has a belief or draws.

    Parameters
    ----------
    columns
        One or two positions; None for the first two that vary.
    """
    return drawn_density(model, X, columns).draw(axes_of(ax))


def drawn_density(
    model: Mixture | KernelDensity, X: ArrayLike, columns: int | Sequence[int] | None = None
) -> DensityCurves | DensityMap:
    """Return the numbers that a density is drawn by."""
    rows = np.asarray(model.coded_rows(X) if isinstance(model, Mixture) else X, np.float64)
    place = _places(model, columns)
    own = rows[:, place]
    is_shown = ~np.isnan(own).any(axis=1)
    own, share = own[is_shown], np.ones((int(is_shown.sum()), 1))
    parts: Callable[[Array], Array]
    draws: list[_Joint] = []
    ellipses: tuple[tuple[int, Array], ...] = ()
    if isinstance(model, Mixture):
        share = model.predict_proba(X)[is_shown]
        within = np.searchsorted(model.varying_, place)
        joint = _Joint(model.predictive_, model.component_, within, len(model.varying_))
        parts, draws = joint.densities, _drawn(model, joint)
        ellipses = joint.ellipses() if len(place) == 2 else ()
    else:
        parts = _one_part(model.density_.of_columns(place))
    labels = tuple(_name(model, j) for j in place)
    low, high = own.min(axis=0), own.max(axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    if len(place) == 1:
        x = np.linspace(low[0] - margin[0], high[0] + margin[0], N_POINTS)
        totals = [one.densities(x[:, None]).sum(axis=1) for one in draws]
        drawn = np.array(totals).reshape(-1, N_POINTS)
        return DensityCurves(own[:, 0], x, parts(x[:, None]), drawn, labels[0])
    x, y = (np.linspace(low[j] - margin[j], high[j] + margin[j], N_SIDE) for j in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    height = parts(grid).sum(axis=1).reshape(N_SIDE, N_SIDE)
    thin = tuple(ellipse for one in draws for ellipse in one.ellipses())
    return DensityMap(own, share, x, y, height, _levels(height), ellipses, thin, labels)


def _one_part(bumps: Bumps) -> Callable[[Array], Array]:
    return lambda at: np.exp(bumps.log_prob(at))[:, None]


def _places(model: Any, columns: int | Sequence[int] | None) -> list[int]:
    """Return positions of one or two columns of numbers that vary."""
    varying = model.varying_ if isinstance(model, Mixture) else range(model.n_features_in_)
    kinds = model.columns_.kinds if hasattr(model, "columns_") else ()
    numbers = [int(j) for j in varying if not kinds or kinds[j] not in STATES]
    chosen = numbers[:2] if columns is None else np.atleast_1d(np.asarray(columns)).tolist()
    if len(chosen) not in (1, 2) or not set(chosen) <= set(numbers):
        raise ValueError(
            f"columns must be one or two columns of numbers that vary, of {numbers}; found "
            f"{chosen}. Pass positions."
        )
    return [int(j) for j in chosen]


@dataclass(frozen=True, eq=False)
class _Joint:
    """What a mixture says of one or two columns.

    Attributes
    ----------
    joint, component
        Weights and densities, and the component that each is of.
    place, n_columns
        Which of how many columns are looked at.
    """

    joint: ClassConditional
    component: NDArray[np.intp]
    place: NDArray[np.intp]
    n_columns: int

    def densities(self, at: Array) -> Array:
        """Return the weighted density of each component at places (n, 1 or 2), (n, K)."""
        rows = np.full((len(at), self.n_columns), np.nan)
        rows[:, self.place] = at
        answer = np.zeros((int(self.component.max()) + 1, len(at)))
        np.add.at(answer, self.component, np.exp(self.joint.log_joint(rows)).T)
        return np.asarray(answer.T)

    def ellipses(self) -> tuple[tuple[int, Array], ...]:
        """Return the number of a component and the points of its ellipse, (n, 2), of each."""
        weight = np.exp(self.joint.log_weight)
        mean, covariance = _moments(self.joint.density, len(weight))
        mean = mean[:, self.place]
        covariance = covariance[:, self.place][:, :, self.place]
        angle = np.linspace(0.0, 2.0 * np.pi, 121)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        radius = np.sqrt(-2.0 * np.log(1.0 - ELLIPSE))
        answer = []
        for k in np.unique(self.component):
            own = self.component == k
            total = weight[own].sum()
            if total <= 0 or not np.isfinite(covariance[own]).all():
                continue
            part = weight[own] / total
            center = part @ mean[own]
            away = mean[own] - center
            spread = np.einsum("s,sij->ij", part, covariance[own]) + (away.T * part) @ away
            value, axes = np.linalg.eigh(spread)
            root = axes * np.sqrt(np.maximum(value, 0.0))
            answer.append((int(k), center + radius * circle @ root.T))
        return tuple(answer)


def _drawn(model: Any, joint: _Joint) -> list[_Joint]:
    """Return draws from the belief, or some of the draws that were kept."""
    posterior = getattr(model, "posterior_", None)
    if isinstance(posterior, Components):
        rng = np.random.default_rng(0)
        every = np.arange(posterior.n_classes)
        drawn = [posterior.sample(rng) for _ in range(N_DRAWS)]
        return [replace(joint, joint=one, component=every) for one in drawn]
    if not isinstance(posterior, PartitionDraws):
        return []
    weight, density = joint.joint.log_weight, joint.joint.density
    n_kept = len(kept_draws(posterior, posterior.labels.shape[-1]))
    k = model.n_components_
    if len(weight) != k * n_kept:
        return []
    chosen = np.unique(np.linspace(0, n_kept - 1, N_DRAWS).astype(np.intp)).tolist()
    return [
        replace(
            joint,
            joint=ClassConditional(weight[own] + np.log(n_kept), density[own]),
            component=np.arange(k),
        )
        for own in (slice(s * k, (s + 1) * k) for s in chosen)
    ]


def _moments(density: Any, k: int) -> tuple[Array, Array]:
    """Return means (K, d) and covariances (K, d, d); of independent columns diagonal."""
    mean = np.asarray(density.mean(), dtype=np.float64)
    mean = np.broadcast_to(mean, (k, mean.shape[-1]))
    d = mean.shape[1]
    if hasattr(density, "covariance"):
        return mean, np.broadcast_to(density.covariance(), (k, d, d))
    variance = np.broadcast_to(np.asarray(density.variance(), dtype=np.float64), (k, d))
    return mean, variance[..., None] * np.eye(d)


def _levels(height: Array) -> Array:
    """Return the heights above which regions hold the shares that are shaded, rising."""
    falling = np.sort(height.ravel())[::-1]
    held = np.cumsum(falling) / max(float(falling.sum()), 1e-300)
    place = np.searchsorted(held, SHARES)
    return np.asarray(falling[np.minimum(place, len(falling) - 1)][::-1])


def _name(model: Any, j: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"column {j}" if names is None else str(names[j])
