import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.numerics.optimize import (
    ConstrainedProblem,
    Multipliers,
    QuadraticForm,
    QuadraticProgram,
    SmoothFunction,
    maximum_margin_plane,
)

SEEDS = st.integers(0, 100_000)


def canonical(X, y):
    """Return the normal and offset of least length where ``y (w . x + b) >= 1``."""
    d = X.shape[1]
    signed = y[:, None] * np.column_stack([X, np.ones(len(X))])
    curvature = np.diag(np.repeat([1.0, 0.0], [d, 1]))
    program = QuadraticProgram(curvature, np.zeros(d + 1), None, (-signed, -np.ones(len(y))))
    found = program.minimum().x
    return found[:d], found[d]


def unit_norm_problem(X, y):
    """Minimize -m over (w, b, m) where ``y (w . x + b) >= m`` and ``|w|^2 = 1``."""
    n, d = X.shape
    length, flat = np.diag(np.repeat([1.0, 0.0], [d, 2])), np.zeros((d + 2, d + 2))
    signed = np.column_stack([-y[:, None] * np.column_stack([X, np.ones(n)]), np.ones(n)])
    last = np.append(np.zeros(d + 1), -1.0)
    return ConstrainedProblem(
        SmoothFunction.of(QuadraticForm(flat, last)),
        [SmoothFunction.of(QuadraticForm(length, np.zeros(d + 2), -1.0))],
        [SmoothFunction.of(QuadraticForm(flat, row)) for row in signed],
    )


def residual(X, y, plane):
    at = np.append(plane.normal, [plane.offset, plane.margin])
    multipliers = Multipliers(np.array([plane.margin / 2]), plane.multipliers)
    return unit_norm_problem(X, y).kkt_residual(at, multipliers)


def separable(seed, n=25, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1, d) + 5 * rng.normal(size=d)
    scores = X @ rng.normal(size=d)
    return X, np.where(scores > np.median(scores), 1.0, -1.0)


def overlapping(seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    return rng.normal(size=(20, 2)) * [1, 3] + 0.4 * np.outer(y, rng.normal(size=2)), y


def test_the_plane_of_the_worked_rows():
    X, y = np.array([[0.0, 0], [1, 0], [3, 0], [3, 2]]), np.array([-1.0, -1, 1, 1])
    plane = maximum_margin_plane(X, y)
    assert_allclose(plane.normal, [1.0, 0.0], atol=1e-12)
    assert_allclose([plane.offset, plane.margin], [-2.0, 1.0])
    assert_allclose(plane.multipliers, [0.0, 0.5, 0.5, 0.0], atol=1e-12)
    w, b = canonical(X, y)
    assert_allclose(plane.normal, w / np.linalg.norm(w), atol=1e-12)
    assert_allclose([plane.margin, plane.offset], np.array([1.0, b]) / np.linalg.norm(w))


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_the_unit_norm_form_has_the_plane_and_margin_of_the_canonical_form(seed):
    X, y = separable(seed)
    plane, (w, b) = maximum_margin_plane(X, y), canonical(X, y)
    length = np.linalg.norm(w)
    assert_allclose(plane.margin, 1 / length, rtol=1e-8)
    assert_allclose(plane.normal, w / length, atol=1e-7)
    assert_allclose(plane.offset, b / length, atol=1e-6)
    assert_allclose(plane.margin, (y * (X @ plane.normal + plane.offset)).min(), rtol=1e-8)


@settings(max_examples=6, deadline=None)
@given(SEEDS)
def test_multipliers_prove_the_plane_in_its_own_form(seed):
    for X, y in (separable(seed), overlapping(seed)):
        plane = maximum_margin_plane(X, y)
        assert residual(X, y, plane).largest < 1e-9
        assert_allclose(plane.multipliers @ np.column_stack([y, y**2]), [0.0, 1.0], atol=1e-10)
        assert_allclose((plane.multipliers * y) @ X, plane.margin * plane.normal, atol=1e-9)


def test_exclusive_or_in_squared_features_has_the_worked_margin():
    x, z = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]).T
    features = np.column_stack([x**2, z**2, 2**0.5 * x * z, 2**0.5 * x, 2**0.5 * z])
    plane = maximum_margin_plane(features, x * z)
    assert_allclose(plane.margin, 1.4142135624)
    assert_allclose(plane.normal, [0.0, 0.0, 1.0, 0.0, 0.0], atol=1e-12)


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_the_overlap_is_the_least_of_all_directions_of_the_plane(seed):
    X, y = overlapping(seed)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    scores = np.column_stack([np.cos(angles), np.sin(angles)]) @ X.T
    margins = 0.5 * (scores[:, y > 0].min(axis=1) - scores[:, y < 0].max(axis=1))
    plane = maximum_margin_plane(X, y)
    step = (angles[1] - angles[0]) * np.linalg.norm(X, axis=1).max()
    assert margins.max() - 1e-9 <= plane.margin <= margins.max() + step
    assert_allclose(np.linalg.norm(plane.normal), 1.0)


def test_rows_in_more_columns_than_rows_are_parted_in_the_space_they_span():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 40)), np.where(np.arange(12) % 2, 1.0, -1.0)
    plane, (w, b) = maximum_margin_plane(X, y), canonical(X, y)
    assert_allclose(plane.normal, w / np.linalg.norm(w), atol=1e-9)
    assert_allclose([plane.margin, plane.offset], np.array([1, b]) / np.linalg.norm(w))


def test_units_and_origin_of_the_rows_move_the_plane_along():
    X, y = separable(1)
    plane, moved = maximum_margin_plane(X, y), maximum_margin_plane(1e5 * X + 3e6, y)
    assert_allclose(moved.margin, 1e5 * plane.margin, rtol=1e-8)
    assert_allclose(moved.normal, plane.normal, atol=1e-9)


def test_a_row_that_is_not_at_the_margin_can_be_moved_or_left_out():
    X, y = separable(2)
    plane = maximum_margin_plane(X, y)
    inner = np.flatnonzero(plane.multipliers == 0)
    assert len(inner) > 15
    moved = X.copy()
    moved[inner] += (y[inner] * np.linspace(0, 9, len(inner)))[:, None] * plane.normal
    is_kept = plane.multipliers > 0
    for other in (
        maximum_margin_plane(moved, y),
        maximum_margin_plane(X[is_kept], y[is_kept]),
    ):
        assert_allclose(other.normal, plane.normal, atol=1e-9)
        assert_allclose([other.margin, other.offset], [plane.margin, plane.offset])


def test_rows_that_only_touch_have_no_margin():
    plane = maximum_margin_plane(
        [[0.0, 0.0], [0.0, 2.0], [0.0, 1.0], [1.0, 1.0]], [-1, -1, 1, 1]
    )
    assert_allclose(plane.margin, 0.0, atol=1e-12)
    assert_allclose(plane.normal, [1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("X", "sign", "message"),
    [
        ([[0.0], [1.0]], [1, 1], "sign must hold 1 and -1"),
        ([[0.0], [1.0]], [0, 1], "sign must hold 1 and -1"),
        ([[0.0], [1.0]], [1, -1, 1], r"shape \(n, d\) and sign \(n,\)"),
        ([0.0, 1.0], [1, -1], r"shape \(n, d\) and sign \(n,\)"),
        ([[0.0], [np.nan]], [1, -1], "X must be finite; found nan"),
    ],
)
def test_bad_input_is_named(X, sign, message):
    with pytest.raises(ValueError, match=message):
        maximum_margin_plane(X, sign)
