import numpy as np
import pytest

from credo.evaluation.laws import LawBroken, check_basis
from credo.features import PolynomialBasis, SplineBasis


class WithConstant(PolynomialBasis):
    """A basis that holds the intercept."""

    def design(self, X):
        columns = super().design(X)
        return np.column_stack([np.ones(len(columns)), columns[:, 1:]])


class Centered(PolynomialBasis):
    """Columns that depend on the other rows."""

    def design(self, X):
        columns = super().design(X)
        return columns - columns[:1]


class Exploding(PolynomialBasis):
    """A function that is infinite far outside."""

    def design(self, X):
        with np.errstate(over="ignore"):
            return super().design(X) + np.exp(np.abs(np.asarray(X)).max(axis=1))[:, None]


class OneName(PolynomialBasis):
    """Columns of the same name."""

    def names(self, feature_names):
        return ["x"] * len(super().names(feature_names))


class FirstHalfForgotten(SplineBasis):
    """A basis that is placed on the second half of the rows."""

    def place(self, X):
        return super().place(np.asarray(X)[len(X) // 2 :])


class Resting(SplineBasis):
    """Functions that claim to come to rest."""

    def follows(self, n_features):
        return ~super().follows(n_features)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (WithConstant(2), "columns and the constant are independent"),
        (Centered(2), "each row is treated alone"),
        (Exploding(2), "far inputs give finite columns"),
        (OneName(2), "names and the number of columns agree"),
        (FirstHalfForgotten(5), "the order of training rows is irrelevant"),
        (Resting(5), "what follows no input comes to rest"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_broken_basis_is_caught(broken, law):
    with pytest.raises(LawBroken, match=law):
        check_basis(broken)


def test_numbers_in_the_units_of_the_inputs_must_be_told():
    given = SplineBasis(5, placement="uniform")
    assert "units_do_not_change_the_span" in check_basis(given)
    assert "units_do_not_change_the_span" not in check_basis(given, unit_free=False)
