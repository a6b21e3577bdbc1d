"""Answers as tables, of the kind in which the question came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import pandas as pd

__all__ = ["frame_like"]


def frame_like(X: Any, columns: Mapping[str, Any]) -> Any:
    """Return columns as a frame of the kind of ``X``, its rows labeled alike.

    pandas gives pandas with the same index, polars gives polars; an array gives pandas.

    Examples
    --------
    >>> frame_like(pd.DataFrame({"x": [1.0]}, index=["first"]), {"mean": [2.0]})
           mean
    first   2.0
    """
    if isinstance(X, pd.DataFrame):
        return pd.DataFrame(columns, index=X.index)
    if nw.dependencies.is_into_dataframe(X):
        native = nw.from_native(X, eager_only=True).implementation
        return nw.from_dict(columns, backend=native).to_native()
    return pd.DataFrame(columns)
