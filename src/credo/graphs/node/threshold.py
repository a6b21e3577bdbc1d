"""Probit and logit nodes: a discrete variable tells between which thresholds a real score fell.

The score is linear in the real parents, with noise; with discrete parents its parameters belong
to each of their joint states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.graphs.node.conditional import Values
from credo.graphs.node.parent_state import (
    coefficient_vector,
    discrete_parents,
    linear_score,
    node_array,
    parts_in_order,
    real_parents,
    require_positive,
    setting_codes,
    setting_shape,
)
from credo.graphs.node.table_spec import require_discrete
from credo.graphs.variable import Variable
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.special.log_domain import log1m_exp
from credo.numerics.special.logistic_integral import log_logistic_normal_mean

__all__ = ["ConditionalThreshold", "Logit", "Probit", "ThresholdNode", "log_shares"]

LINKS = ("probit", "logit")


@dataclass(frozen=True, eq=False)
class Threshold:
    """Thresholds on a noisy linear score of the real parents; `Probit` or `Logit`.

    With a single number ``t`` the child has two states, and the one that happens where the
    score is low must be named, ``P(below) = F((t - score) / scale)``, or the one where it is
    high, ``P(above) = F((score - t) / scale)``. With a list of ``K - 1`` ascending numbers the
    child has ``K`` states in the order of the score, and
    ``P(k-th or before) = F((t_k - score) / scale)``.
    """

    thresholds: Array
    scale: float
    coefficients: Mapping[str, float] | None
    below: Any
    above: Any
    link: ClassVar[str]
    is_discrete: ClassVar[bool] = True

    def __init__(
        self,
        threshold: ArrayLike,
        scale: float = 1.0,
        coefficients: Mapping[str, float] | None = None,
        *,
        below: Any = None,
        above: Any = None,
    ) -> None:
        edges = as_float(threshold)
        if (
            edges.ndim > 1
            or not np.all(np.isfinite(edges))
            or np.any(np.diff(edges.ravel()) <= 0)
        ):
            raise ValueError(
                "threshold must be a finite number or a list of ascending numbers; found "
                f"{edges.tolist()}. Order the thresholds from low to high."
            )
        if not (np.isfinite(scale) and scale > 0):
            raise ValueError(
                f"scale must be positive; found {scale}. Pass the scale of the noise on the "
                "score; a small one makes the threshold sharp."
            )
        _check_side(edges, below, above)
        named = None if coefficients is None else dict(coefficients)
        for name, value in zip(
            ("thresholds", "scale", "coefficients", "below", "above"),
            (edges, float(scale), named, below, above),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        size, go = Variable("size"), Variable("go", (False, True))
        grade = Variable("grade", ("c", "b", "a"))
        return (
            Example(cls(2.0, 0.7, below=True), child=go, parents=(size,)),
            Example(cls([-1.0, 0.5], 0.2, {"size": 0.5}), child=grade, parents=(size,)),
        )

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...]:
        """Return states for a child that was given none."""
        n_states = self.thresholds.size + 1
        return (False, True) if n_states == 2 else tuple(range(n_states))

    def bind(self, child: Variable, parents: Sequence[Variable]) -> ThresholdNode:
        """Return the conditional distribution of ``child`` given its real ``parents``."""
        discrete = [parent.name for parent in discrete_parents(parents)]
        if discrete:
            raise ValueError(
                f"parents of {child.name} must be real-valued for {type(self).__name__}; found "
                f"discrete {discrete}. Use ConditionalThreshold with one per setting."
            )
        return _bound(child, parents, [self])

    def vector(self, child: Variable, parents: Sequence[Variable]) -> Array:
        """Return the coefficients of the real parents; a single parent has 1 by default."""
        names = [parent.name for parent in real_parents(parents)]
        if not names:
            raise ValueError(
                f"{child.name} must have a real-valued parent to compare with a threshold; "
                f"found {[p.name for p in parents]}. Give it a table instead."
            )
        if self.coefficients is None and len(names) > 1:
            raise ValueError(
                f"coefficients of {child.name} must be given for several real-valued parents "
                f"{names}; found none. Pass coefficients={{parent: number}}."
            )
        default = {name: 1.0 for name in names}
        return coefficient_vector(child, parents, self.coefficients or default)

    def order(self, child: Variable) -> tuple[int, ...]:
        """Return the positions of the child's states from the lowest score to the highest."""
        if not child.is_discrete or child.n_states != self.thresholds.size + 1:
            found = list(child.labels) if child.is_discrete else "a real-valued variable"
            raise ValueError(
                f"{child.name} must have {self.thresholds.size + 1} states, one more than "
                f"thresholds; found {found}. Change its states or the thresholds."
            )
        if self.thresholds.ndim:
            return tuple(range(child.n_states))
        if self.below is not None:
            low = child.index(self.below)
            return low, 1 - low
        high = child.index(self.above)
        return 1 - high, high


class Probit(Threshold):
    """A two-state or ordered child whose score has normal noise, ``F`` the normal cdf.

    Parameters
    ----------
    threshold
        A number ``t`` for a child of two states, with ``below`` or ``above``. Or an ascending
        list: the states in order share out the score between the thresholds.
    scale
        Standard deviation of the noise on the score.
    coefficients
        Of the real parents in the score; may be left out for a single parent, which is then
        the score itself. A negative one turns the direction round.
    below, above
        With a single threshold one of them must be given: the state that happens below it,
        with probability ``Phi((t - score) / scale)``, or the one that happens above it.

    Examples
    --------
    >>> spec = Probit(120.0, scale=15.0, below=True)
    >>> go = spec.bind(Variable("go", (False, True)), (Variable("size"),))
    >>> np.exp(go.log_table({"size": np.array([100.0])})).round(4)
    array([[0.0912, 0.9088]])
    """

    link: ClassVar[str] = "probit"


class Logit(Threshold):
    """A two-state or ordered child whose score has logistic noise; settings as in `Probit`.

    Examples
    --------
    >>> spec = Logit(120.0, scale=10.0, below=True)
    >>> go = spec.bind(Variable("go", (False, True)), (Variable("size"),))
    >>> np.exp(go.log_table({"size": np.array([100.0])})).round(4)
    array([[0.1192, 0.8808]])
    """

    link: ClassVar[str] = "logit"


@dataclass(frozen=True, eq=False)
class ConditionalThreshold:
    """One `Probit` or `Logit` for each setting of the discrete parents.

    Attributes
    ----------
    parts
        By state of the one discrete parent, or by tuple of states of several in the order of
        the parents. All of one link, with equally many thresholds and the same state below.

    Examples
    --------
    >>> spec = ConditionalThreshold(
    ...     {"wet": Probit(80.0, 15.0, below=True), "dry": Probit(120.0, 15.0, below=True)})
    >>> road, size = Variable("road", ("dry", "wet")), Variable("size")
    >>> go = spec.bind(Variable("go", (False, True)), (road, size))
    >>> np.exp(go.log_prob({"road": [0, 1], "size": [100.0, 100.0], "go": [1, 1]})).round(4)
    array([0.9088, 0.0912])
    """

    parts: Mapping[Any, Threshold]
    is_discrete: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return examples for the laws, and for saving."""
        size, flu, go = Variable("size"), Variable("flu", ("n", "y")), Variable("go", (0, 1))
        parts = {"n": Logit(0.1, 2.0, below=1), "y": Logit(0.3, 1.0, below=1)}
        return (Example(cls(parts), child=go, parents=(size, flu)),)

    def __post_init__(self) -> None:
        parts = dict(self.parts)
        kinds = {
            (type(p).__name__, p.thresholds.shape, p.below, p.above) for p in parts.values()
        }
        if len(kinds) != 1:
            raise ValueError(
                "parts must share one link, number of thresholds and state below; found "
                f"{sorted(map(str, kinds))}. Use Probit or Logit throughout."
            )
        object.__setattr__(self, "parts", parts)

    def child_states(self, parents: Sequence[Variable] = ()) -> tuple[Any, ...]:
        """Return states for a child that was given none."""
        return next(iter(self.parts.values())).child_states(parents)

    def bind(self, child: Variable, parents: Sequence[Variable]) -> ThresholdNode:
        """Return the conditional distribution of ``child`` given ``parents``."""
        return _bound(child, parents, parts_in_order(child, parents, self.parts))


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


def _check_side(edges: Array, below: Any, above: Any) -> None:
    """Raise unless exactly one side of a single threshold is named."""
    named = [name for name, side in (("below", below), ("above", above)) if side is not None]
    if edges.ndim and named:
        raise ValueError(
            f"below and above must be left out where a list of thresholds is given; found "
            f"{named[0]}. Order the states by the score, or pass one number as threshold."
        )
    if not edges.ndim and len(named) != 1:
        raise ValueError(
            "a single threshold must say which state happens on one side of it; found "
            f"{' and '.join(named) or 'neither below nor above'}. Pass below=state for the one "
            "where the score is low, or above=state for the one where it is high."
        )


def _bound(
    child: Variable, parents: Sequence[Variable], parts: Sequence[Threshold]
) -> ThresholdNode:
    shape, first = setting_shape(parents), parts[0]
    order = first.order(child)
    return ThresholdNode(
        child,
        tuple(parents),
        np.reshape([part.thresholds for part in parts], (*shape, first.thresholds.size)),
        np.reshape([part.vector(child, parents) for part in parts], (*shape, -1)),
        np.reshape([part.scale for part in parts], shape),
        first.link,
        order,
    )


def _log_cdf(x: Array, spread: Array, link: str) -> Array:
    if link == "probit":
        return np.asarray(special.log_ndtr(x / np.hypot(1.0, spread)))
    if not np.any(spread):
        return np.asarray(special.log_expit(x))
    return log_logistic_normal_mean(x, spread)
