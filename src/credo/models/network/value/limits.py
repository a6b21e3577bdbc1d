"""What exact inference in a network may cost."""

from __future__ import annotations

from dataclasses import dataclass

from credo.inference.discrete.exact_inference import MAX_SECONDS
from credo.numerics.memory import bytes_of

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Memory and time that exact inference may take before it is given up.

    Attributes
    ----------
    memory
        Bytes for one plan or joint answer; None is 2 GiB, whatever the machine has.
    seconds
        Time for one row of findings where a plan only fits in pieces.
    """

    memory: float | None = None
    seconds: float = MAX_SECONDS

    def within(self, memory: float | str | None, seconds: float | None) -> Limits:
        """Return other limits; what is None stays, and a text such as "12GB" has a unit."""
        return Limits(
            self.memory if memory is None else bytes_of(memory),
            self.seconds if seconds is None else seconds,
        )

    def __post_init__(self) -> None:
        for what, limit in (("memory", self.memory), ("seconds", self.seconds)):
            if limit is not None and not limit > 0:
                raise ValueError(
                    f"{what} for exact inference must be positive; found {limit}. Leave it out "
                    'for the usual limit, or pass method="importance" for no exact answer.'
                )
