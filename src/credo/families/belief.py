"""What all beliefs share: parameters as arrays of one batch shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.distributions.parameter import Batched
from credo.numerics.array import Array

__all__ = ["Belief"]


@dataclass(frozen=True, eq=False)
class Belief(Batched):
    """A conjugate distribution over the parameters of an observation distribution.

    Prior and posterior are one type. Parameters broadcast against each other, and against
    the leading group axis of statistics; ``belief[i]`` picks a group.
    """

    def _fill(self, **values: Array) -> None:
        """Set the fields, each seen with the batch shape of all: one copy per entry."""
        self._set(**values)
        for name, value in values.items():
            event = value.shape[value.ndim - self._event_dims.get(name, 0) :]
            object.__setattr__(self, name, np.broadcast_to(value, self.batch_shape + event))
