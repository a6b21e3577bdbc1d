import numpy as np
import pandas as pd
import pytest

from credo.data.table.preparation import PreparedTable, TablePreparation
from credo.data.table.table_input import TableInput, TrainingRange


@pytest.mark.parametrize(
    ("n_outside", "end"),
    [(3, "'c' 1):"), (4, "'c' 1, and 1 other column):"), (5, "'c' 1, and 2 other columns):")],
)
def test_columns_that_are_not_named_are_counted(n_outside, end):
    names = tuple("abcde")
    train = PreparedTable(np.array([[0.0] * 5, [1.0] * 5]), names, ())
    row = np.where(np.arange(5) < n_outside, 2.0, 0.5)
    (note,) = TrainingRange.of(train).notes(PreparedTable(row[None], names, ()))
    assert f"(by 'a' 1, 'b' 1, {end}" in note


def test_numbers_of_rows_in_a_file_keep_their_leading_zeros(tmp_path):
    x = np.random.default_rng(0).normal(size=30)
    frame = pd.DataFrame({"id": [f"{i:04d}" for i in range(1, 31)], "x": x, "y": 2.0 * x})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    preparation = TablePreparation.learn(path, "y")
    seen = TrainingRange.of(preparation.prepare(path))
    found = TableInput.of(path, preparation, seen).frame({"mean": x})
    assert found["id"].tolist() == frame["id"].tolist()
