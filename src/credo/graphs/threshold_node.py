"""A discrete variable that tells between which thresholds a noisy real score fell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.graphs.conditional import Values
from credo.graphs.parent_setting import linear_score, setting_codes, setting_shape
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.log_domain import log1m_exp

__all__ = ["LOG_CDF", "ThresholdNode"]

LOG_CDF: dict[str, Callable[[Array], Array]] = {
    "probit": special.log_ndtr,
    "logit": special.log_expit,
}


@dataclass(frozen=True, eq=False)
class ThresholdNode:
    """``P(k-th state or one before) = F((thresholds_k - coefficients . parents) / scale)``.

    Parameters belong to a setting of the discrete parents. `Probit` and `Logit` become this
    once their parents are known.

    Attributes
    ----------
    child, parents
        The variable and its parents, of both kinds in any order.
    thresholds
        Ascending along the last axis, shape (*setting_shape, n_states - 1).
    coefficients
        Of the real parents in order, shape (*setting_shape, n_real_parents).
    scale
        Scale of the noise on the score, shape ``setting_shape``.
    link
        "probit" for normal noise, "logit" for logistic noise.
    order
        Positions of the child's states from the lowest score to the highest.
    """

    child: Variable
    parents: tuple[Variable, ...]
    thresholds: Array
    coefficients: Array
    scale: Array
    link: str
    order: tuple[int, ...]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters; the scale only counts with the other two."""
        n_settings = int(np.prod(setting_shape(self.parents)))
        per_setting = self.thresholds.shape[-1] + self.coefficients.shape[-1]
        return int(n_settings * per_setting)

    def log_table(self, values: Values) -> Array:
        """Return the log probability of every state, shape (n, n_states)."""
        setting = setting_codes(values, self.parents)
        score = linear_score(values, self.parents, self.coefficients)
        edges = self.thresholds[setting] - score[..., None]
        edges = edges / self.scale[setting][..., None]
        below = np.concatenate(
            [
                np.full((*edges.shape[:-1], 1), -np.inf),
                edges,
                np.full_like(edges[..., :1], np.inf),
            ],
            axis=-1,
        )
        ascending = _log_between(LOG_CDF[self.link], below[..., :-1], below[..., 1:])
        return ascending[..., np.argsort(self.order)]

    def log_prob(self, values: Values) -> Array:
        """Return the log probability of the child's column of positions given its parents'."""
        codes = np.asarray(values[self.child.name], dtype=np.intp)
        table = self.log_table(values)
        table = np.broadcast_to(table, (*codes.shape, table.shape[-1]))
        return as_float(np.take_along_axis(table, codes[..., None], axis=-1)[..., 0])

    def sample(self, values: Values, n: int, rng: Generator) -> NDArray[np.intp]:
        """Return ``n`` positions of states given the columns of the parents."""
        setting = setting_codes(values, self.parents)
        uniform = rng.uniform(size=n)
        noise = special.ndtri(uniform) if self.link == "probit" else special.logit(uniform)
        score = linear_score(values, self.parents, self.coefficients)
        noisy = score + self.scale[setting] * noise
        rank = (noisy[:, None] > self.thresholds[setting]).sum(axis=-1)
        return np.asarray(np.asarray(self.order, dtype=np.intp)[rank])


def _log_between(log_cdf: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return ``log(F(high) - F(low))`` of a symmetric ``F``, exact in both tails."""
    # Intervals on the upper side are mirrored: F(high) - F(low) = F(-low) - F(-high).
    is_upper = low > -high
    left = np.where(is_upper, -high, low)
    right = np.where(is_upper, -low, high)
    top = np.asarray(log_cdf(right))
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isneginf(top), -1.0, np.asarray(log_cdf(left)) - top)
    return top + log1m_exp(np.minimum(gap, 0.0))
