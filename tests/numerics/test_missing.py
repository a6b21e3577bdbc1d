import numpy as np
from numpy.testing import assert_array_equal

from credo.numerics.missing import missing_patterns


def test_every_row_is_in_the_one_pattern_of_its_present_columns():
    rng = np.random.default_rng(0)
    x = np.where(rng.random((200, 11)) < 0.15, np.nan, 1.0)
    seen = []
    for columns, rows in missing_patterns(x):
        for row in rows:
            assert_array_equal(np.flatnonzero(~np.isnan(x[row])), columns)
        seen.extend(rows)
    assert sorted(seen) == list(range(200))
    sets = [tuple(columns) for columns, _ in missing_patterns(x)]
    assert len(set(sets)) == len(sets)


def test_complete_rows_are_one_pattern():
    ((columns, rows),) = missing_patterns(np.ones((3, 2)))
    assert columns.tolist() == [0, 1]
    assert rows.tolist() == [0, 1, 2]
