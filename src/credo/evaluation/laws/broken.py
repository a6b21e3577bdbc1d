"""How a broken law is reported: which law, what was expected, what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from credo.numerics.array import as_float

__all__ = ["LawBroken", "NotApplicable", "expect", "expect_close", "run"]

Case = TypeVar("Case")


class LawBroken(AssertionError):
    """A law does not hold for the object under test."""


class NotApplicable(Exception):
    """A law says nothing about the object under test."""


def expect(law: str, holds: bool, expected: str, found: object) -> None:
    """Raise `LawBroken` unless ``holds``."""
    if not holds:
        raise LawBroken(f"law broken: {law}. Expected {expected}; found {found}.")


def expect_close(
    law: str, found: ArrayLike, expected: ArrayLike, rtol: float = 1e-7, atol: ArrayLike = 1e-9
) -> None:
    """Raise `LawBroken` unless two arrays agree; ``expected`` broadcasts to ``found``.

    NaN and infinities must be in equal places.

    Examples
    --------
    >>> expect_close("one is one", [1.0], [1.0])
    >>> try:
    ...     expect_close("one is two", [1.0], [2.0])
    ... except LawBroken as broken:
    ...     print(broken)
    law broken: one is two. Expected 2; found 1 at index 0.
    """
    left, right, slack = as_float(found), as_float(expected), as_float(atol)
    right, slack = (part.reshape(()) if part.size == 1 else part for part in (right, slack))
    try:
        right, slack = (np.broadcast_to(part, left.shape) for part in (right, slack))
    except ValueError:
        fits, shape = f"shape {right.shape}", f"shape {left.shape}"
        raise LawBroken(f"law broken: {law}. Expected {fits}; found {shape}.") from None
    with np.errstate(invalid="ignore"):
        near = np.abs(left - right) <= slack + rtol * np.abs(right)
    bad = np.argwhere(~(near | (left == right) | (np.isnan(left) & np.isnan(right))))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        place = f" at index {index[0] if len(index) == 1 else index}" if index else ""
        expect(law, False, f"{right[index]:.9g}", f"{left[index]:.9g}{place}")


def run(laws: Iterable[Callable[[Case], None]], case: Case) -> list[str]:
    """Run the ``laws`` that apply to ``case``; return their names."""
    names = []
    for law in laws:
        try:
            law(case)
        except NotApplicable:
            continue
        names.append(law.__name__)
    return names
