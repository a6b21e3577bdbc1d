"""A discrete variable that tells between which thresholds a noisy real score fell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

from credo.graphs.node.conditional import Values
from credo.graphs.node.parent_state import (
    discrete_parents,
    linear_score,
    node_array,
    real_parents,
    require_positive,
    setting_codes,
    setting_shape,
)
from credo.graphs.node.table_spec import require_discrete
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.special.log_domain import log1m_exp
from credo.numerics.special.logistic_integral import log_logistic_normal_mean

__all__ = ["ThresholdNode", "log_shares"]

LINKS = ("probit", "logit")


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

    kind = "threshold"

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        size, grade = Variable("size"), Variable("grade", ("c", "b", "a"))
        edges = as_float([-1.0, 0.5])
        return (cls(grade, (size,), edges, as_float([0.8]), as_float(0.7), "logit", (0, 1, 2)),)

    def __post_init__(self) -> None:
        child, shape = self.child, setting_shape(self.parents)
        require_discrete(child, discrete_parents(self.parents))
        wide = (*shape, len(real_parents(self.parents)))
        node_array(child, "thresholds", self.thresholds, (*shape, child.n_states - 1))
        node_array(child, "coefficients", self.coefficients, wide)
        require_positive(child, "scale", node_array(child, "scale", self.scale, shape))
        if self.link not in LINKS or sorted(self.order) != list(range(child.n_states)):
            raise ValueError(
                f"link of {child.name} must be one of {list(LINKS)} and its order list every "
                f"state once; found {self.link!r} and {list(self.order)}. Bind a Probit or "
                "Logit instead."
            )

    @property
    def discrete_parents(self) -> tuple[Variable, ...]:
        """Parents whose states choose the parameters."""
        return discrete_parents(self.parents)

    @property
    def real_parents(self) -> tuple[Variable, ...]:
        """Parents that enter the score."""
        return real_parents(self.parents)

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
        scale = self.scale[setting]
        edges = (self.thresholds[setting] - score[..., None]) / scale[..., None]
        ascending = log_shares(edges, np.zeros(edges.shape[:-1]), self.link)
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


def log_shares(edges: Array, spread: Array, link: str) -> Array:
    """Return the log probability of each interval between ascending edges, in both tails exact.

    The probability of ending below an edge is the mean of ``F(edge + spread * z)`` over a
    standard normal ``z``: the score itself may be uncertain.

    Parameters
    ----------
    edges
        Thresholds less the mean of the score, in units of the noise, shape (..., K - 1).
    spread
        Standard deviation of the score in these units, shape (...) ; zero if it is known.

    Returns
    -------
    Array
        Shape (..., K).
    """
    wide = np.broadcast_to(spread[..., None], edges.shape)
    below, above = _log_cdf(edges, wide, link), _log_cdf(-edges, wide, link)
    # Intervals on the upper side are mirrored: F(b) - F(a) = F(-a) - F(-b).
    is_upper = edges[..., :-1] > -edges[..., 1:]
    larger = np.where(is_upper, above[..., :-1], below[..., 1:])
    smaller = np.where(is_upper, above[..., 1:], below[..., :-1])
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isneginf(larger), -1.0, smaller - larger)
    between = larger + log1m_exp(np.minimum(gap, 0.0))
    return np.concatenate([below[..., :1], between, above[..., -1:]], axis=-1)


def _log_cdf(x: Array, spread: Array, link: str) -> Array:
    if link == "probit":
        return np.asarray(special.log_ndtr(x / np.hypot(1.0, spread)))
    if not np.any(spread):
        return np.asarray(special.log_expit(x))
    return log_logistic_normal_mean(x, spread)
