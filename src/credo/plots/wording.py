"""Probabilities as people read them; loads nothing that draws."""

from __future__ import annotations

__all__ = ["probability"]


def probability(share: float) -> str:
    """Return a probability to three decimals, or as a bound next to 0 and 1.

    Examples
    --------
    >>> probability(0.84262), probability(2e-9), probability(0.99999)
    ('0.843', '<0.001', '>0.999')
    """
    if 0 <= share < 0.0005:
        return "<0.001"
    return ">0.999" if share > 0.9995 else f"{share:.3f}"
