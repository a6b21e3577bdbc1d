"""Laws that every basis obeys."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from credo.evaluation.laws.kind import check_example
from credo.features import (
    Basis,
    FourierBasis,
    PolynomialBasis,
    RadialBasis,
)
from rooms import every_example, named

EXAMPLES = [e for e in every_example("features") if isinstance(e.it, Basis)]


def inputs(n_samples=40, seed=0):
    return np.random.default_rng(seed).normal(size=(n_samples, 2))


def is_placed_by_rule(basis):
    try:
        basis.design(inputs())
    except ValueError:
        return True
    return False


BY_RULE = [e for e in EXAMPLES if is_placed_by_rule(e.it)]
every_basis = pytest.mark.parametrize("basis", [e.it for e in EXAMPLES], ids=str)
every_rule = pytest.mark.parametrize("basis", [e.it for e in BY_RULE], ids=str)
every_unit_free = pytest.mark.parametrize(
    "basis", [e.it for e in BY_RULE if e.arguments.get("unit_free", True)], ids=str
)


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_every_basis_of_the_room_obeys_the_laws(example):
    run = set(check_example(example))
    assert {"columns_and_the_constant_are_independent", "names_and_count_agree"} <= run
    by_rule = {"a_constant_feature_does_no_harm", "another_number_of_features_is_refused"}
    assert (by_rule <= run) is is_placed_by_rule(example.it)


def projection(design):
    """Return the projector on the span of a design and the constant."""
    left, sizes, _ = np.linalg.svd(np.column_stack([np.ones(len(design)), design]))
    left = left[:, : np.count_nonzero(sizes > 1e-9 * sizes[0])]
    return left @ left.T


@every_basis
@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.integers(0, 19), max_size=30))
def test_a_placed_basis_treats_each_row_alone(basis, rows):
    placed, X = basis.place(inputs()), inputs(20, seed=1)
    assert_allclose(placed.design(X)[rows], placed.design(X[rows]), rtol=1e-12, atol=1e-14)


@every_unit_free
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
