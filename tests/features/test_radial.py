import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.features.radial import RadialBasis
from credo.models import LinearRegression


def sine_block():
    x = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    basis = RadialBasis(centers=[0.0, 0.5, 1.0], width=0.25)
    return basis, basis.design(x[:, None]), np.sin(2 * np.pi * x)


def test_least_squares_on_three_bumps_matches_the_worked_numbers():
    basis, design, y = sine_block()
    weights, residual = np.linalg.lstsq(design, y)[:2]
    assert_allclose(weights, [0.4397968467, 0.0, -0.4397968467], atol=1e-10)
    assert_allclose(residual, 1.4762708601, atol=1e-10)
    assert_allclose(basis.design([[0.3]]) @ weights, 0.2053460564, atol=1e-10)


def test_ridge_on_three_bumps_matches_the_worked_numbers():
    basis, design, y = sine_block()
    weights = np.linalg.solve(design.T @ design + 0.1 * np.eye(3), design.T @ y)
    assert_allclose(weights, [0.4095464778, 0.0, -0.4095464778], atol=1e-10)
    assert_allclose(basis.design([[0.3]]) @ weights, 0.1912218215, atol=1e-10)


def test_design_matches_the_formula_row_by_row():
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(5, 3)) + 1e4, rng.normal(size=(4, 3)) + 1e4
    design = RadialBasis(centers=centers, width=0.8, width_scale=2.0).design(X)
    expected = [[np.exp(-sum((x - c) ** 2) / (2 * 1.6**2)) for c in centers] for x in X]
    assert_allclose(design, expected, rtol=1e-6)


def test_uniform_centers_are_a_grid_over_the_box_of_the_data():
    X = np.array([[0.0, 10.0], [2.0, 30.0], [1.0, 11.0]])
    basis = RadialBasis(3, centers="uniform").place(X)
    expected = [[a, b] for a in (0, 1, 2) for b in (10, 20, 30)]
    assert_allclose(basis.placed_centers, expected)


def test_one_uniform_center_is_the_middle():
    assert_allclose(
        RadialBasis(1, centers="uniform").place([[0.0], [4.0]]).placed_centers, [[2]]
    )


def test_a_grid_too_large_is_refused_and_the_reason_is_the_number_of_centers():
    with pytest.raises(ValueError, match=r"found 59049. A grid of 3 .* grows as n\^D"):
        RadialBasis(3, centers="uniform").place(np.random.default_rng(0).random((5, 10)))


def test_data_centers_are_the_distinct_rows_and_interpolate():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    basis = RadialBasis(centers="data").place(np.vstack([X, X[:3]]))
    assert basis.n_columns(2) == 12
    y = rng.normal(size=12)
    assert_allclose(basis.design(X) @ np.linalg.solve(basis.design(X), y), y, atol=1e-6)


def test_cluster_centers_sit_in_the_clusters():
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 1000.0]])
    X = np.repeat(middles, 50, axis=0) + rng.normal(size=(150, 2)) * [0.1, 1.0]
    centers = RadialBasis(3).place(X).placed_centers
    assert_allclose(centers[np.lexsort(centers.round().T)], middles, atol=0.5)


@pytest.mark.parametrize(
    ("rule", "per_center", "expected"),
    [
        # Distances of 0, 1, 3 to their two neighbors: (1, 3), (1, 2), (3, 2).
        ("median", False, 2.0),
        ("median", True, [2.0, 1.5, 2.5]),
        ("mean_square", False, np.sqrt(28 / 6)),
        ("mean_square", True, np.sqrt([5.0, 2.5, 6.5])),
    ],
)
def test_widths_follow_the_neighbor_distances(rule, per_center, expected):
    X = np.array([[0.0], [4.0], [6.0], [1.0]])
    settings = {"width": rule, "per_center": per_center, "width_scale": 0.5}
    basis = RadialBasis(centers=[0.0, 1.0, 3.0], **settings).place(X)
    assert_allclose(basis.placed_widths * X.std(), 0.5 * np.array(expected))


def test_only_the_two_nearest_centers_along_a_line_are_neighbors():
    # Distances of 0, 1, 3, 7 to two neighbors: (1, 3), (1, 2), (2, 3), (4, 6).
    X = np.array([[0.0], [4.0], [6.0], [1.0]])
    basis = RadialBasis(centers=[0.0, 1.0, 3.0, 7.0], width="mean_square").place(X)
    assert_allclose(basis.placed_widths * X.std(), np.sqrt(80 / 8))


def test_a_lone_center_takes_its_width_from_the_data():
    X = np.array([[0.0], [4.0], [6.0], [2.0]])
    basis = RadialBasis(1, centers="uniform", width="mean_square").place(X)
    assert_allclose(basis.placed_widths * X.std(), np.sqrt(np.mean((X - 3.0) ** 2)))


def test_a_width_given_as_a_number_is_in_the_units_of_the_data():
    X = np.random.default_rng(0).normal(size=(30, 1)) * 100
    basis = RadialBasis(2, centers="uniform", width=5.0).place(X)
    center = basis.placed_centers[0]
    assert_allclose(basis.design([center + 5.0])[0, 0], np.exp(-0.5))


def test_fewer_distinct_rows_than_centers_give_fewer_columns():
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    assert_array_equal(np.sort(RadialBasis(10).place(X).placed_centers, axis=0), X[::4])


def test_equal_rows_give_one_finite_column():
    assert_allclose(RadialBasis(4).place(np.full((5, 2), 7.0)).design([[7.0, 7.0]]), [[1.0]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"centers": "grid"}, "centers must be given as numbers or as one of"),
        ({"centers": [0.0, 1.0, 0.0]}, "centers must be distinct; found 1 repeated"),
        ({"width": "mean"}, "width must be given as numbers or as one of"),
        ({"width": -1.0}, "width must be positive"),
        ({"n_centers": 0}, "n_centers must be a whole number, 1 or more"),
        ({"width_scale": 0.0}, "width_scale must be positive"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        RadialBasis(**settings)


def test_a_bump_below_the_resolution_of_one_is_zero():
    bumps = RadialBasis(centers=[[0.0], [100.0]], width=1.0).design([[0.0], [8.0], [9.0]])
    assert bumps[1, 0] == np.exp(-32.0)
    assert (bumps[2, 0], bumps[0, 1]) == (0.0, 0.0)


def test_a_bump_that_no_row_is_near_leaves_predictions_finite():
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 1))
    model = LinearRegression(RadialBasis(centers=[[0.0], [27.0]], width=1.0)).fit(x, x[:, 0])
    assert np.isfinite(model.predict_dist([[27.0]]).std()).all()
