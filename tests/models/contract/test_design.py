import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from credo.features import PolynomialBasis, SplineBasis
from credo.models.contract.design import (
    design,
    fitted_design,
    placed_basis,
    require_basis,
    term_names,
)

X = np.array([[1.0], [3.0], [7.0]])


class Fitted(BaseEstimator):
    """What the design of a fitted model is read from."""

    def __init__(self, basis=None):
        self.basis = basis

    def fit(self, frame):
        self.feature_names_in_ = np.array(frame.columns, dtype=object)
        self.n_features_in_ = frame.shape[1]
        self.basis_ = placed_basis(self.basis, frame.to_numpy())
        self.coef_ = np.zeros(1)
        return self


def test_without_a_basis_the_design_is_the_inputs():
    assert placed_basis(None, X) is None
    assert design(None, X) is X


def test_rows_without_weight_do_not_place_a_basis():
    x = np.linspace(0.0, 1.0, 11)[:, None]
    far = np.append(x, [[50.0]], axis=0)
    weight = np.append(np.ones(11), 0.0)
    found = placed_basis(SplineBasis(4), far, weight)
    expected = placed_basis(SplineBasis(4), x)
    np.testing.assert_allclose(design(found, x), design(expected, x))


def test_new_rows_and_terms_go_through_the_placed_basis():
    frame = pd.DataFrame(X, columns=["age"])
    model = Fitted(PolynomialBasis(2)).fit(frame)
    np.testing.assert_allclose(fitted_design(model, frame), np.hstack([X, X**2]))
    assert term_names(model) == ["age", "age^2"]
    assert term_names(Fitted().fit(frame)) == ["age"]


def test_what_is_no_basis_is_refused_and_so_are_questions_before_the_fit():
    with pytest.raises(TypeError, match=r"basis must be None or a basis.*found 'spline'"):
        require_basis("spline")
    with pytest.raises(TypeError, match=r"found <class"):
        placed_basis(SplineBasis, X)
    with pytest.raises(NotFittedError):
        fitted_design(Fitted(), X)
