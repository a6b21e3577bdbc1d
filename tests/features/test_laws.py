"""Laws that every basis obeys."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from credo.features import (
    ContinuedBasis,
    FourierBasis,
    LinearBasis,
    PolynomialBasis,
    RadialBasis,
    SigmoidBasis,
    SplineBasis,
)

PLACED_BY_RULE = {
    "orthogonal": PolynomialBasis(3, orthogonal=True),
    "clusters": RadialBasis(8),
    "uniform": RadialBasis(3, centers="uniform", width="mean_square", width_scale=1.5),
    "data": RadialBasis(centers="data", per_center=True, width_scale=0.3),
    "fourier": FourierBasis(2),
    "sigmoid": SigmoidBasis(3),
    "spline": SplineBasis(5),
    "even spline": SplineBasis(5, placement="uniform"),
    "sum": SplineBasis(4) + RadialBasis(3),
    "continued": ContinuedBasis(PolynomialBasis(3, orthogonal=True)),
    "continued sum": ContinuedBasis(SplineBasis(4) + RadialBasis(3)),
}
BASES = PLACED_BY_RULE | {
    "linear": LinearBasis(),
    "polynomial": PolynomialBasis(3),
    "given bumps": RadialBasis(centers=[[0.0, 0.0], [1.0, 1.0]], width=0.7),
    "given period": FourierBasis(2, period=[1.5, 2.0]),
    "given slope": SigmoidBasis(2, slope=0.4),
}
every_basis = pytest.mark.parametrize("basis", BASES.values(), ids=BASES.keys())
every_rule = pytest.mark.parametrize(
    "basis", PLACED_BY_RULE.values(), ids=PLACED_BY_RULE.keys()
)


def inputs(n_samples=40, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, 2))


def projection(design):
    """Return the projector on the span of a design and the constant."""
    left, sizes, _ = np.linalg.svd(np.column_stack([np.ones(len(design)), design]))
    left = left[:, : np.count_nonzero(sizes > 1e-9 * sizes[0])]
    return left @ left.T


@every_basis
def test_columns_and_the_constant_are_independent(basis):
    # One row more than columns is needed where every row has its own column.
    X = np.vstack([inputs(), inputs(1, seed=1)])
    design = basis.place(X[:40]).design(X)
    with_constant = np.column_stack([np.ones(len(X)), design / np.linalg.norm(design, axis=0)])
    assert np.linalg.matrix_rank(with_constant, tol=1e-10) == design.shape[1] + 1


@every_basis
@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.integers(0, 19), max_size=30))
def test_a_placed_basis_treats_each_row_alone(basis, rows):
    placed, X = basis.place(inputs()), inputs(20, seed=1)
    assert_allclose(placed.design(X)[rows], placed.design(X[rows]), rtol=1e-12, atol=1e-14)


@every_rule
@settings(max_examples=15, deadline=None)
@given(
    scale=st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)),
    shift=st.floats(-100, 100),
)
def test_units_do_not_change_the_span(basis, scale, shift):
    X = inputs()
    Z = X * scale + shift * np.array(scale)
    before, after = basis.place(X).design(X), basis.place(Z).design(Z)
    assert_allclose(projection(after), projection(before), atol=1e-6)


@every_basis
def test_the_order_of_training_rows_does_not_matter(basis):
    X, new = inputs(), inputs(7, seed=1)
    shuffled = np.random.default_rng(2).permutation(X)
    a, b = basis.place(X).design(new), basis.place(shuffled).design(new)
    assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@every_basis
def test_columns_names_and_count_agree(basis):
    placed = basis.place(inputs())
    names = placed.names(["age", "dose"])
    assert placed.design(inputs(3)).shape == (3, placed.n_columns(2))
    assert len(set(names)) == len(names) == placed.n_columns(2)


@every_basis
@pytest.mark.parametrize("distance", [1e3, 1e12, 1e80])
def test_far_outside_the_training_range_columns_stay_finite(basis, distance):
    far = np.array([[distance, -distance], [-distance, 0.0]])
    assert np.isfinite(basis.place(inputs()).design(far)).all()


@every_basis
def test_placing_returns_a_new_value_of_the_same_kind_and_keeps_the_settings(basis):
    placed = basis.place(inputs())
    assert type(placed) is type(basis)
    for item in fields(basis):
        if not item.name.startswith(("placed", "parts", "basis")):
            assert_array_equal(getattr(placed, item.name), getattr(basis, item.name))


@every_basis
def test_placing_again_on_the_same_inputs_changes_nothing(basis):
    X = inputs()
    once = basis.place(X)
    assert_array_equal(once.place(X).design(X), once.design(X))


@every_basis
def test_no_rows_give_no_rows(basis):
    placed = basis.place(inputs())
    assert placed.design(np.empty((0, 2))).shape == (0, placed.n_columns(2))


@every_rule
def test_a_constant_feature_does_no_harm(basis):
    X = np.column_stack([inputs()[:, 0], np.full(40, 3.0)])
    assert np.isfinite(basis.place(X).design(X)).all()


@every_rule
def test_an_unplaced_basis_says_so(basis):
    with pytest.raises(ValueError, match="must be placed before it is used"):
        basis.design(inputs())


@every_rule
def test_a_different_number_of_features_is_refused(basis):
    with pytest.raises(ValueError, match="placed on 2 features; found 3"):
        basis.place(inputs()).design(np.zeros((4, 3)))


@pytest.mark.parametrize("basis", [FourierBasis(1), PolynomialBasis(2, orthogonal=True)])
def test_names_for_another_number_of_features_are_refused(basis):
    with pytest.raises(ValueError, match="placed on 2 features; found 1"):
        basis.place(inputs()).names(["age"])


def test_settings_are_kept_as_plain_numbers():
    basis = RadialBasis(np.int64(3), width=np.float64(0.5), per_center=np.bool_(True))
    assert [type(basis.n_centers), type(basis.width), type(basis.per_center)] == [
        int,
        float,
        bool,
    ]


@every_basis
def test_a_function_that_follows_no_input_depends_on_it_nowhere_or_comes_to_rest(basis):
    placed = basis.place(inputs())
    follows = placed.follows(2)
    assert follows.shape == (2, placed.n_columns(2))
    for feature in range(2):
        far = np.zeros((2, 2))
        far[:, feature] = [1e6, 2e6]
        moved = np.ptp(placed.design(far), axis=0) > 1e-9
        assert not (moved & ~follows[feature]).any()
