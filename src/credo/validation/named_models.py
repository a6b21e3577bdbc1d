"""Models by name, from whatever form they were given in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

__all__ = ["named_models"]


def named_models(models: Any) -> dict[str, Any]:
    """Return models by name, in their order; empty if there are none.

    Parameters
    ----------
    models
        Estimators by name, pairs of name and estimator, or estimators alone. These have the
        names of their classes; equal names get a number.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> list(named_models([Ridge(), Lasso(), Ridge(2.0)]))
    ['Ridge 1', 'Lasso', 'Ridge 2']
    >>> list(named_models([("small", Ridge(0.1))]))
    ['small']
    """
    if isinstance(models, Mapping):
        return dict(models)
    if not isinstance(models, list | tuple):
        return {}
    pairs = [(str(m[0]), m[1]) if _is_pair(m) else (type(m).__name__, m) for m in models]
    totals, seen = Counter(name for name, _ in pairs), Counter[str]()
    named = {}
    for name, model in pairs:
        seen[name] += 1
        named[f"{name} {seen[name]}" if totals[name] > 1 else name] = model
    return named


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple | list) and len(entry) == 2
