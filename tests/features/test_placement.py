import numpy as np
from numpy.testing import assert_array_equal

from credo.features.placement import distinct_rows


def test_repeated_and_weightless_rows_are_left_out():
    x = np.random.default_rng(0).integers(0, 4, size=(300, 3)).astype(float)
    found = distinct_rows(x)
    assert_array_equal(
        found[np.lexsort(found.T)], np.unique(x, axis=0)[np.lexsort(np.unique(x, axis=0).T)]
    )
    weight = np.arange(300) % 2.0
    assert_array_equal(distinct_rows(x, weight), distinct_rows(x[1::2]))


def test_order_and_units_of_rows_do_not_matter():
    x = np.random.default_rng(0).normal(size=(50, 2))
    assert_array_equal(distinct_rows(x[::-1]), distinct_rows(x))
    assert_array_equal(distinct_rows(x * [1024.0, 0.5]), distinct_rows(x) * [1024.0, 0.5])
