"""The categorical distribution of a label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import special

from credo.distributions.distribution import Distribution
from credo.distributions.parameter import simplex
from credo.numerics.array import Array, as_float
from credo.numerics.lookup import places
from credo.numerics.markup import MOST_ROWS, html_page, html_table
from credo.numerics.quotation import quote

__all__ = ["Categorical", "random_index"]

MOST_CLASSES = 8
"""Labels that a notebook shows in a row."""


@dataclass(frozen=True, eq=False)
class Categorical(Distribution):
    """One of finitely many labels, each with its probability.

    Attributes
    ----------
    probability
        Probabilities that sum to one along the last axis, shape (*batch, K).
    labels
        K distinct names or numbers; 0 to K - 1 if not given. Outcomes are labels.

    Examples
    --------
    >>> weather = Categorical([0.2, 0.8], labels=["rain", "sun"])
    >>> str(weather.mode()), float(weather.prob("rain").round(2))
    ('sun', 0.2)
    """

    probability: Array
    labels: NDArray[Any]
    _event_dims: ClassVar[dict[str, int]] = {"probability": 1}
    _shared: ClassVar[frozenset[str]] = frozenset({"labels"})

    def __init__(
        self, probability: ArrayLike, labels: Sequence[Any] | NDArray[Any] | None = None
    ) -> None:
        shares = simplex("probability", probability)
        names = np.arange(shares.shape[-1]) if labels is None else _label_array(labels)
        if names.shape != shares.shape[-1:] or len(np.unique(names)) < names.size:
            raise ValueError(
                f"labels must be {shares.shape[-1]} distinct values, one per probability; "
                f"found {quote(names.tolist())}. Name every state once."
            )
        self._set(probability=shares, labels=names)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return examples for the laws, and for saving."""
        first, second = cls([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]), cls([0.4, 0.4, 0.2])
        return first, second, cls([0.1, 0.2, 0.7], labels=["rain", "sun", "snow"])

    @property
    def is_discrete(self) -> bool:
        """Whether single outcomes have positive probability: yes."""
        return True

    def log_prob(self, x: ArrayLike) -> Array:
        """Return the log probability of labels; -inf for a label that is none of these."""
        index = self._index(_outcomes(x))
        shape = np.broadcast_shapes(index.shape, self.batch_shape)
        shares = np.broadcast_to(self.probability, shape + self.labels.shape)
        wide = np.broadcast_to(index, shape)[..., None]
        chosen = np.take_along_axis(shares, np.maximum(wide, 0), axis=-1)
        with np.errstate(divide="ignore"):
            answer = np.log(np.where(wide < 0, 0.0, chosen)[..., 0])
        return np.where(_is_nan(np.asarray(x)), np.nan, answer)

    def _repr_html_(self) -> str:
        """Return the probabilities of the first rows as a table, as notebooks show them."""
        shown = self[:MOST_ROWS] if self.batch_shape else self
        table = shown.probability.reshape(-1, len(self.labels))
        total = self.probability.reshape(-1, len(self.labels)).sum(axis=0)
        kept = np.sort(np.argsort(-total, kind="stable")[:MOST_CLASSES])
        places = [", ".join(map(str, place)) for place in np.ndindex(shown.batch_shape)]
        modes = np.ravel(shown.mode()).tolist()
        rows = [
            [place, str(mode), *(f"{share:.3f}" for share in shares[kept])]
            for place, mode, shares in zip(places, modes, table, strict=True)
        ][:MOST_ROWS]
        headings = ["row", "most probable", *(f"P({name})" for name in self.labels[kept])]
        n, k = int(np.prod(self.batch_shape)), len(self.labels)
        lines = [f"{len(rows)} of {n:,} rows are shown."] * (n > len(rows))
        lines += [f"The {len(kept)} most probable of {k:,} labels are shown."] * (k > len(kept))
        return html_page("Categorical", html_table(headings, rows), lines=lines)

    def mean(self) -> Array:
        """Return the mean label, for labels that are numbers."""
        return np.asarray(self.probability @ self._numbers())

    def variance(self) -> Array:
        """Return the variance of the label, for labels that are numbers."""
        distance = self._numbers() - self.mean()[..., None]
        return np.asarray((self.probability * distance**2).sum(axis=-1))

    def mode(self) -> NDArray[Any]:
        """Return the most probable label, the first if several are equally probable."""
        return np.asarray(self.labels[self.probability.argmax(axis=-1)])

    def entropy(self) -> Array:
        """Return the expectation of ``-log_prob``, in nats."""
        return np.asarray(special.entr(self.probability).sum(axis=-1))

    def _numbers(self) -> Array:
        if self.labels.dtype.kind in "biuf":
            return as_float(self.labels)
        raise TypeError(
            f"a mean needs labels that are numbers; found {quote(self.labels[:3].tolist())}. "
            "Read `probability`, or take the mode."
        )

    def _index(self, x: NDArray[Any]) -> NDArray[np.intp]:
        """Return the position of each label, -1 where it is none of these."""
        if (x.dtype.kind in "US") != (self.labels.dtype.kind in "US"):
            raise TypeError(
                f"outcomes must be labels such as {quote(self.labels[:3].tolist())}; found "
                f"values of type {x.dtype}. Pass labels, not positions."
            )
        return places(x, self.labels)

    def _draw(self, rng: Generator, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.asarray(self.labels[random_index(rng, self.probability, shape)])

    def _kl(self, other: Self) -> Array:
        if not np.array_equal(self.labels, other.labels):
            raise ValueError(
                "kl needs equal labels in equal order; found "
                f"{quote(self.labels[:3].tolist())} and "
                f"{quote(other.labels[:3].tolist())}. Reorder one of them."
            )
        return np.asarray(special.rel_entr(self.probability, other.probability).sum(axis=-1))


def random_index(
    rng: Generator, probability: Array, shape: tuple[int, ...]
) -> NDArray[np.intp]:
    """Return random positions, shape ``shape``, from probabilities along the last axis."""
    edges = np.cumsum(probability, axis=-1)
    uniform = rng.uniform(size=shape)
    if probability.ndim == 1:
        return np.searchsorted(edges[:-1] / edges[-1], uniform, side="right")
    index = np.zeros(shape, dtype=np.intp)
    for k in range(probability.shape[-1] - 1):
        # Relative to the last edge, so that rounding cannot select an impossible last state.
        index += uniform * edges[..., -1] >= edges[..., k]
    return index


def _outcomes(x: ArrayLike) -> NDArray[Any]:
    """Return outcomes in NumPy's type for text, where a table gave Python strings."""
    values = np.asarray(x)
    is_text = values.dtype.kind == "O" and all(isinstance(v, str) for v in values.flat)
    return values.astype(str) if is_text else values


def _is_nan(x: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, dtype=bool)


def _label_array(labels: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    texts = [isinstance(label, str) for label in labels]
    if any(texts) and not all(texts):
        raise ValueError(
            f"labels must be all text or all numbers; found {quote(list(labels)[:5])}. "
            "Turn the numbers into text."
        )
    return _outcomes(labels)
