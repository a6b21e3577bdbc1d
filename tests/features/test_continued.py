import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.features import (
    ContinuedBasis,
    LinearBasis,
    PolynomialBasis,
    RadialBasis,
    SplineBasis,
)

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.uniform(0, 4, 80), RNG.normal(size=80)])
LOW, HIGH = X.min(axis=0), X.max(axis=0)
INSIDE = {
    "linear": LinearBasis(),
    "cubic": PolynomialBasis(3),
    "orthogonal": PolynomialBasis(3, orthogonal=True),
    "spline": SplineBasis(),
    "radial": LinearBasis() + RadialBasis(9),
    "sum": SplineBasis() + PolynomialBasis(2, orthogonal=True),
}
every_basis = pytest.mark.parametrize("basis", INSIDE.values(), ids=INSIDE.keys())


def central(x):
    return np.quantile(x, [0.025, 0.975], axis=0)


def least_squares_slopes(x, function):
    """Return the slopes of a function of the columns of ``x``, by a second way."""
    with_constant = np.column_stack([np.ones(len(x)), x])
    return np.linalg.lstsq(with_constant, function, rcond=None)[0][1:]


@every_basis
def test_inside_the_box_nothing_changes(basis):
    continued = ContinuedBasis(basis).place(X)
    within = RNG.uniform(LOW, HIGH, (50, 2))
    for rows in (X, within):
        assert_array_equal(continued.design(rows), basis.place(X).design(rows))
    assert len(continued.beyond(within).rows) == 0


@every_basis
def test_far_outside_every_function_is_a_straight_line_in_each_direction(basis):
    continued = ContinuedBasis(basis).place(X)
    for direction in ([1.0, 0.0], [0.0, -1.0], [2.0, 3.0], [-1.0, 5.0]):
        edge = np.where(np.array(direction) > 0, HIGH, LOW)
        along = edge + np.linspace(8, 58, 26)[:, None] * direction
        bends = np.diff(continued.design(along), n=2, axis=0)
        assert_allclose(bends, 0.0, atol=1e-6 * np.abs(continued.design(along)).max())


@every_basis
def test_there_is_no_jump_at_the_edge(basis):
    continued = ContinuedBasis(basis).place(X)
    edge = np.array([[HIGH[0], 0.0], [2.0, LOW[1]]])
    outside = edge + np.diag([1e-9, -1e-9])
    assert_allclose(continued.design(outside), continued.design(edge), atol=1e-6)


@pytest.mark.parametrize("basis", [PolynomialBasis(3), SplineBasis(4)])
def test_the_slope_beyond_is_that_of_least_squares_over_the_training_inputs(basis):
    x = X[:, :1]
    continued = ContinuedBasis(basis).place(x)
    slope = least_squares_slopes(x, basis.place(x).design(x))[0]
    low, high = central(x)[:, 0]
    for far, start in ((19.0, high), (-17.0, low)):
        expected = basis.place(x).design([[start]])[0] + (far - start) * slope
        assert_allclose(continued.design([[far]])[0], expected, rtol=1e-9, atol=1e-9)


def test_near_the_edge_the_value_there_counts_and_farther_out_the_central_part():
    x = X[:, :1]
    continued = ContinuedBasis(PolynomialBasis(2)).place(x)
    slope = least_squares_slopes(x, x[:, 0] ** 2)[0]
    edge, start, extent = x.max(), central(x)[1, 0], np.ptp(x)
    for ranges in (0.01, 0.1, 0.4):
        far = edge + ranges * extent
        near, later = (c**2 + (far - c) * slope for c in (edge, start))
        kept = np.exp(-0.5 * (ranges / 0.2) ** 2)
        expected = kept * near + (1 - kept) * later
        assert_allclose(continued.design([[far]])[0, 1], expected)


def test_a_product_goes_on_by_its_slopes_in_both_factors():
    continued = ContinuedBasis(PolynomialBasis(2)).place(X)
    column = continued.names(["a", "b"]).index("a*b")
    slopes = least_squares_slopes(X, X[:, 0] * X[:, 1])
    corner, start = np.array([30.0, -20.0]), np.diagonal(central(X)[::-1])
    expected = start.prod() + (corner - start) @ slopes
    assert_allclose(continued.design(corner[None])[0, column], expected)


def test_a_straight_line_goes_on_as_it_is():
    far = np.array([[100.0, -30.0], [1.0, 12.0]])
    assert_array_equal(ContinuedBasis(LinearBasis()).place(X).design(far), far)
    powers = ContinuedBasis(PolynomialBasis(3)).place(X).design(far)
    assert_allclose(powers[:, :2], far, rtol=1e-9)


def test_straight_lines_of_many_inputs_bend_by_none_of_them():
    lines = ContinuedBasis(LinearBasis()).place(X)
    beyond = lines.beyond(3 * X)
    assert beyond.doubt.shape == (len(beyond.rows), 0)
    assert list(beyond.bends) == []
    assert_array_equal(beyond.edge, np.clip(3 * X, LOW, HIGH)[beyond.rows])


def test_a_constant_of_many_inputs_takes_no_matrix_of_them():
    wide = np.random.default_rng(1).normal(size=(5, 2000))
    tracemalloc.start()
    constant = ContinuedBasis(PolynomialBasis(0)).place(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2000**2 / 10
    assert constant.design(2 * wide).shape == (5, 0)


def test_functions_of_other_inputs_and_bumps_stay_where_they_are():
    edge, far = np.array([[HIGH[0], 0.3]]), np.array([[HIGH[0] + 40.0, 0.3]])
    continued_spline = ContinuedBasis(SplineBasis()).place(X)
    for basis in (SplineBasis(), PolynomialBasis(3, orthogonal=True), RadialBasis(9)):
        continued = ContinuedBasis(basis).place(X)
        moved = (continued.design(far) != continued.design(2 * far - edge))[0]
        assert_array_equal(moved, continued.follows(2)[0])
    edge_and_far = np.concatenate([edge, far])
    is_of_other = continued_spline.follows(2)[1]
    assert_array_equal(*continued_spline.design(edge_and_far)[:, is_of_other])


def test_inputs_that_determine_each_other_share_a_slope():
    twins = np.column_stack([X[:, 0], 2 * X[:, 0]])
    continued = ContinuedBasis(PolynomialBasis(2)).place(twins)
    whole = continued.design([[30.0, 60.0]])[0] - continued.design([[29.0, 58.0]])[0]
    assert_allclose(whole[:2], [1.0, 2.0])
    alone = ContinuedBasis(PolynomialBasis(2)).place(X[:, :1])
    square = alone.design([[30.0]])[0] - alone.design([[29.0]])[0]
    assert_allclose(whole[2], square[1])


def test_doubt_starts_at_zero_and_grows_with_the_distance():
    continued = ContinuedBasis(SplineBasis()).place(X)
    ranges = np.array([1e-9, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0])
    rows = np.column_stack([HIGH[0] + ranges * np.ptp(X[:, 0]), np.zeros(7)])
    doubt = continued.beyond(rows).doubt
    assert doubt.shape == (7, 1)
    assert doubt[0] < 1e-12
    assert (np.diff(doubt, axis=0) > 0).all()
    assert_array_equal(continued.beyond(rows * [1.0, 0.5]).doubt, doubt)


def test_a_step_is_trusted_for_one_range_and_then_as_the_logarithm_grows():
    continued = ContinuedBasis(LinearBasis()).place(X)
    ranges = np.array([0.1, 1.0, 2.0, 10.0])
    rows = np.column_stack([LOW[0] - ranges * np.ptp(X[:, 0]), np.zeros(4)])
    expected = [1.0, 1.0, (1 + np.log(2)) / 2, (1 + np.log(10)) / 10]
    assert_allclose(continued.beyond(rows).trust, expected)


def test_bends_are_what_straight_lines_leave_of_functions_of_an_input():
    x = X[:40, :1]
    continued = ContinuedBasis(PolynomialBasis(2)).place(x)
    (bends,) = continued.beyond([[9.0]]).bends
    left = x[:, 0] ** 2 - np.polyval(np.polyfit(x[:, 0], x[:, 0] ** 2, 1), x[:, 0])
    assert_allclose(bends, np.column_stack([np.zeros(40), left]), atol=1e-9)


def test_only_functions_that_depend_on_an_input_bend_with_it():
    continued = ContinuedBasis(SplineBasis() + RadialBasis(5)).place(X)
    first, second = continued.beyond([[9.0, 0.0], [1.0, 9.0]]).bends
    of_spline = SplineBasis().place(X).follows(2)
    for bends, is_own in ((first, of_spline[0]), (second, of_spline[1])):
        expected = np.append(is_own, np.ones(5, dtype=bool))
        assert_array_equal(bends.any(axis=0), expected)


def test_a_constant_input_has_no_slope_and_no_doubt():
    flat = np.column_stack([X[:, 0], np.full(80, 3.0)])
    continued = ContinuedBasis(PolynomialBasis(2, orthogonal=True)).place(flat)
    rows = np.array([[1.0, 3.0], [1.0, 9.0]])
    assert_array_equal(*continued.design(rows))
    assert continued.beyond(rows).doubt.shape == (1, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"placed_lowest": np.zeros(3)},
        {"placed_highest": None},
        {"placed_highest": np.array([np.inf, 1.0])},
        {"placed_lowest": np.array([9.0, 9.0])},
        {"placed_center": np.zeros(2)},
        {"placed_trend": None},
        {"placed_trend": np.zeros((2, 3))},
        {"placed_bends": np.zeros((0, 5))},
        {"placed_bends": np.full((7, 5), np.nan)},
        {"basis": PolynomialBasis(3)},
    ],
    ids=str,
)
def test_parts_that_do_not_belong_together_are_refused(change):
    placed = ContinuedBasis(PolynomialBasis(2)).place(X)
    with pytest.raises(ValueError, match="placed"):
        replace(placed, **change)


def test_what_is_no_basis_is_refused():
    with pytest.raises(TypeError, match="must be a basis"):
        ContinuedBasis("spline")


def test_trends_depend_on_rows_and_not_on_their_order_or_period():
    rng = np.random.default_rng(1)
    hours = np.resize(np.arange(24.0), 9600)
    rows = np.column_stack([hours, np.round(hours**2 + rng.normal(size=9600), 2)])
    placed = ContinuedBasis(PolynomialBasis(2)).place(rows)
    shuffled = ContinuedBasis(PolynomialBasis(2)).place(rows[rng.permutation(9600)])
    assert_array_equal(shuffled.placed_center, placed.placed_center)
    assert_allclose(shuffled.placed_trend, placed.placed_trend, rtol=1e-6, atol=1e-6)
    assert_allclose(shuffled.placed_bends, placed.placed_bends, atol=1e-6)
    every_fourth = ContinuedBasis(PolynomialBasis(2)).place(rows[::4])
    assert_allclose(placed.placed_center[:, 0], central(hours))
    assert_allclose(every_fourth.placed_center[:, 0], central(hours[::4]))


def test_a_period_of_the_rows_does_not_make_an_input_constant():
    phase = np.resize(np.arange(4.0), 8000)
    placed = ContinuedBasis(PolynomialBasis(2)).place(phase[:, None])
    assert_allclose(placed.placed_trend, [[1.0, 3.0]], atol=0.05)
