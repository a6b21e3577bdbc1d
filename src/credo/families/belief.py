"""What all beliefs share: parameters as arrays of one batch shape, and rows to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from credo.distributions.parameter import Batched
from credo.families.rows import as_share
from credo.numerics.array import Array, as_float

__all__ = ["Belief"]


@dataclass(frozen=True, eq=False)
class Belief(Batched):
    """A conjugate distribution over the parameters of an observation distribution.

    Prior and posterior are one type. Parameters broadcast against each other, and against
    the leading group axis of statistics; ``belief[i]`` picks a group.

    Attributes
    ----------
    learns_from
        Class of the statistics that update it, for beliefs about rows.
    has_components
        Whether it is about several components at once, which its parameters have an axis for.
    """

    learns_from: ClassVar[Any] = None
    _is_joint: ClassVar[bool] = False
    has_components: ClassVar[bool] = False

    @property
    def is_joint(self) -> bool:
        """Whether a row has one log density, and not one for each of its features."""
        return self._is_joint

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of statistics beside rows and weights."""
        return {}

    def statistics_of(self, x: ArrayLike, weight: ArrayLike = 1.0) -> Any:
        """Return the statistics of rows (n, d) from which this belief learns."""
        return self._statistics.of(x, weight, **self.settings)

    def statistics_by_group(
        self, x: ArrayLike, label: ArrayLike, k: int, weight: ArrayLike = 1.0
    ) -> Any:
        """Return the statistics of each of ``k`` groups of rows, in one pass."""
        return self._statistics.by_group(x, label, k, weight, **self.settings)

    def statistics_by_share(self, x: ArrayLike, share: ArrayLike) -> Any:
        """Return the statistics of components in which every row has a share (n, K).

        In one pass over the rows; of a family that has only ``by_group``, one row for each
        component.
        """
        if hasattr(self._statistics, "by_share"):
            return self._statistics.by_share(x, share, **self.settings)
        rows = as_float(x)
        shares = as_share(share, len(rows))
        k = shares.shape[1]
        pairs = np.repeat(rows, k, axis=0)
        return self.statistics_by_group(
            pairs, np.tile(np.arange(k), len(rows)), k, shares.ravel()
        )

    def maximum_likelihood(self, statistics: Any) -> Any:
        """Return the observation distribution of largest likelihood, whatever is believed."""
        return statistics.maximum_likelihood()

    def log_density_at(self, observation: Any) -> Array:
        """Return the log density of the parameters of an observation distribution.

        Of the parameters that ``mode`` speaks of: the mean and the covariance of a normal.
        """
        raise TypeError(
            f"{type(self).__name__} must say the log density of its parameters; found no "
            "log_density_at. Learn a belief instead of the most probable parameters."
        )

    def row_total(self, values: ArrayLike) -> Array:
        """Return one number for each row, from one for each of its features.

        What is NaN was missing, and adds nothing. Numbers of a joint belief stay as they are.
        """
        numbers = as_float(values)
        if self.is_joint:
            return numbers
        return np.asarray(np.where(np.isnan(numbers), 0.0, numbers).sum(axis=-1))

    def component(self, c: int) -> Belief:
        """Return the belief about one of the entries along the first axis."""
        return self[c]

    def spread(self, shape: Sequence[int]) -> Self:
        """Return the same belief with the given batch shape, one copy for each entry."""
        full = tuple(shape)
        if full == self.batch_shape:
            return self
        values: dict[str, Any] = {"batch_shape": full}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, np.ndarray):
                event = value.shape[value.ndim - self._event_dims.get(part.name, 0) :]
                value = np.broadcast_to(value, full + event)
            values[part.name] = value
        return self._rebuild(**values)

    @property
    def _statistics(self) -> Any:
        if self.learns_from is None:
            raise TypeError(
                f"{type(self).__name__} must say from which statistics it learns; found "
                "learns_from = None. Add to the class a line learns_from = its statistics."
            )
        return self.learns_from

    def _fill(self, **values: Array) -> None:
        """Set the fields, each seen with the batch shape of all: one copy per entry."""
        self._set(**values)
        for name, value in values.items():
            event = value.shape[value.ndim - self._event_dims.get(name, 0) :]
            object.__setattr__(self, name, np.broadcast_to(value, self.batch_shape + event))
