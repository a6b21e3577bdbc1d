import numpy as np
import pandas as pd
import polars as pl

from credo.models.contract.frame import frame_like

COLUMNS = {"mean": np.array([1.0, 2.0]), "class": np.array(["a", "b"])}


def test_pandas_keeps_its_index():
    found = frame_like(pd.DataFrame({"x": [0, 0]}, index=["p", "q"]), COLUMNS)
    assert found.index.tolist() == ["p", "q"]
    assert found.to_dict("list") == {"mean": [1.0, 2.0], "class": ["a", "b"]}


def test_polars_gives_polars():
    found = frame_like(pl.DataFrame({"x": [0, 0]}), COLUMNS)
    assert isinstance(found, pl.DataFrame)
    assert found.to_dict(as_series=False) == {"mean": [1.0, 2.0], "class": ["a", "b"]}


def test_an_array_or_a_list_gives_pandas_with_rows_numbered():
    for rows in (np.zeros((2, 1)), [[0.0], [0.0]]):
        found = frame_like(rows, COLUMNS)
        assert isinstance(found, pd.DataFrame)
        assert found.index.tolist() == [0, 1]
