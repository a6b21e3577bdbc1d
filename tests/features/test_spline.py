import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import BSpline

from credo.features.spline import SplineBasis


@pytest.mark.parametrize("placement", ["quantile", "uniform"])
def test_inside_the_range_columns_are_scipy_b_splines_without_the_first(placement):
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=50) * 3 + 100
    basis = SplineBasis(6, placement=placement).place(x[:, None])
    knots = np.quantile(x, np.linspace(0, 1, 6))
    if placement == "uniform":
        knots = np.linspace(x.min(), x.max(), 6)
    padded = np.r_[[x.min()] * 3, knots, [x.max()] * 3]
    expected = BSpline.design_matrix(np.sort(x), padded, 3).toarray()
    assert_allclose(basis.design(np.sort(x)[:, None]), expected[:, 1:], atol=1e-12)


def test_outside_the_range_each_function_follows_its_tangent():
    x = np.random.default_rng(0).normal(size=(40, 1))
    basis = SplineBasis(5).place(x)
    for end, outward in ((x.min(), -1.0), (x.max(), 1.0)):
        h = 1e-6 * outward
        at, inside, far = basis.design([[end], [end - h], [end + 3 * outward]])
        slope = (at - inside) / h
        assert_allclose(far, at + 3 * outward * slope, rtol=1e-3, atol=1e-3)


def test_a_straight_line_is_reproduced_everywhere():
    x = np.sort(np.random.default_rng(0).normal(size=30))
    basis = SplineBasis(5).place(x[:, None])
    design = np.column_stack([np.ones(30), basis.design(x[:, None])])
    weights = np.linalg.lstsq(design, 2 - 3 * x)[0]
    new = np.array([-50.0, -1.0, 0.5, 70.0])
    fitted = np.column_stack([np.ones(4), basis.design(new[:, None])]) @ weights
    assert_allclose(fitted, 2 - 3 * new, rtol=1e-9)


def test_a_cubic_is_reproduced_inside_the_range():
    x = np.linspace(-1, 2, 25)
    design = SplineBasis(4).place(x[:, None]).design(x[:, None])
    y = x**3 - x
    full = np.column_stack([np.ones(25), design])
    assert_allclose(full @ np.linalg.lstsq(full, y)[0], y, atol=1e-12)


def test_equal_quantiles_are_merged():
    x = np.concatenate([np.zeros(70), np.linspace(1, 10, 30)])[:, None]
    basis = SplineBasis(8).place(x)
    design = basis.design(x)
    knots = basis.placed_knots[0]
    assert len(knots) < 8
    assert (np.diff(knots) > 0).all()
    full = np.column_stack([np.ones(100), design])
    assert np.linalg.matrix_rank(full) == full.shape[1]


@pytest.mark.parametrize("n_values", [2, 3, 4, 5, 6, 9])
def test_columns_never_outnumber_what_distinct_values_can_tell_apart(n_values):
    x = np.repeat(np.arange(float(n_values)), 5)[:, None]
    design = SplineBasis(8).place(x).design(x)
    full = np.column_stack([np.ones(len(x)), design])
    assert design.shape[1] == (1 if n_values < 4 else n_values - 1)
    assert np.linalg.matrix_rank(full) == full.shape[1]


def test_functions_are_local():
    x = np.linspace(0, 1, 101)
    design = SplineBasis(11).place(x[:, None]).design(x[:, None])
    assert (np.count_nonzero(design > 1e-12, axis=1) <= 4).all()
    assert_allclose(design[x > 0.31].sum(axis=1), 1.0)


@pytest.mark.parametrize("settings", [{"n_knots": 1}, {"placement": "random"}])
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        SplineBasis(**settings)
