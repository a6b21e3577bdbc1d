import numpy as np
from numpy.testing import assert_allclose

from credo.inference.logistic.softmax import ColumnProducts

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 5))


def test_grams_are_sums_of_weighted_outer_products():
    weight = RNG.uniform(size=(40, 3))
    expected = np.einsum("nq,ni,nj->qij", weight, ROWS, ROWS)
    assert_allclose(ColumnProducts.of(ROWS).grams(weight), expected, rtol=1e-12, atol=1e-12)


def test_forms_take_matrices_that_are_not_symmetric():
    matrices = RNG.normal(size=(4, 5, 5))
    expected = np.einsum("ni,qij,nj->nq", ROWS, matrices, ROWS)
    assert_allclose(ColumnProducts.of(ROWS).forms(matrices), expected, rtol=1e-11, atol=1e-12)


def test_products_are_kept_only_if_they_are_small():
    assert ColumnProducts.fit_memory(1_347, 65)
    assert not ColumnProducts.fit_memory(100_000, 65)
