"""An image of two values to try denoising on, drawn by formulas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["letter_image"]


def letter_image(size: int = 128) -> NDArray[np.int8]:
    """Return a letter A, a ring and a bar, 1 on a ground of -1, shape (size, size).

    Examples
    --------
    >>> image = letter_image(64)
    >>> image.shape, sorted(set(image.ravel().tolist()))
    ((64, 64), [-1, 1])
    """
    row, column = (np.indices((size, size)) + 0.5) / size
    half_width = 0.32 * (row - 0.08) / 0.7
    from_center = np.abs(column - 0.42)
    is_leg = (np.abs(from_center - half_width) < 0.055) & (row > 0.08) & (row < 0.78)
    is_crossbar = (from_center < half_width) & (np.abs(row - 0.54) < 0.045)
    is_ring = np.abs(np.hypot(row - 0.22, column - 0.82) - 0.1) < 0.032
    is_bar = (np.abs(row - 0.9) < 0.025) & (np.abs(column - 0.5) < 0.42)
    return np.where(is_leg | is_crossbar | is_ring | is_bar, 1, -1).astype(np.int8)
