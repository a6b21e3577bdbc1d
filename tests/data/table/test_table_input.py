import numpy as np
import pytest

from credo.data.table.preparation import PreparedTable
from credo.data.table.table_input import TrainingRange


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
