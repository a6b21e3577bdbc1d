import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features import FourierBasis, SigmoidBasis, SplineBasis


@pytest.mark.parametrize("basis", [FourierBasis(3), SigmoidBasis(4), SplineBasis(5)])
def test_each_feature_is_treated_on_its_own(basis):
    X = np.random.default_rng(0).normal(size=(30, 2))
    both = basis.place(X).design(X)
    alone = [basis.place(column[:, None]).design(column[:, None]) for column in X.T]
    assert_allclose(both, np.hstack(alone))


@pytest.mark.parametrize("basis", [FourierBasis(3), SigmoidBasis(4), SplineBasis(5)])
def test_an_indicator_enters_as_itself(basis):
    X = np.column_stack([np.linspace(-1, 1, 20), np.arange(20) % 2, np.full(20, 4.0)])
    placed = basis.place(X)
    assert placed.names(["a", "b", "c"])[-2:] == ["b", "c"]
    assert_allclose(placed.design(X)[:, -2:], X[:, 1:] - [0.0, 4.0])


@pytest.mark.parametrize("basis", [FourierBasis(30), SigmoidBasis(60), SplineBasis(60)])
def test_too_many_columns_are_refused(basis):
    with pytest.raises(ValueError, match=r"at most 5000 columns; found .* fewer than 100"):
        basis.place(np.random.default_rng(0).random((70, 100)))
