import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import BSpline

from credo.features.additive import FourierBasis, SigmoidBasis, SplineBasis


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


def test_columns_are_the_harmonics_that_their_names_say():
    x = np.linspace(-3, 9, 11)
    basis = FourierBasis(2, period=7.0).place(x[:, None])
    t = 2 * np.pi * x / 7
    expected = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), np.cos(2 * t)])
    assert_allclose(basis.design(x[:, None]), expected, atol=1e-12)
    assert basis.names(["t"]) == ["sin(t)", "cos(t)", "sin(2*t)", "cos(2*t)"]


def test_without_a_period_the_training_range_is_one_period():
    x = np.array([[2.0], [3.0], [6.0]])
    basis = FourierBasis(2).place(x)
    new = np.array([[2.3], [5.0]])
    assert_allclose(basis.design(new), basis.design(new + 4.0), atol=1e-12)
    assert_allclose(basis.design([[3.0]])[0, :2], [1.0, 0.0], atol=1e-12)


def test_least_squares_recovers_the_amplitudes_of_a_wave():
    x = np.random.default_rng(0).uniform(0, 50, 40)
    y = 3 * np.sin(2 * np.pi * x / 12) - 0.5 * np.cos(4 * np.pi * x / 12)
    design = FourierBasis(2, period=12.0).place(x[:, None]).design(x[:, None])
    assert_allclose(np.linalg.lstsq(design, y)[0], [3.0, 0.0, 0.0, -0.5], atol=1e-12)


def test_each_feature_may_have_its_own_period():
    X = np.random.default_rng(0).random((10, 2))
    basis = FourierBasis(1, period=[7.0, 24.0]).place(X)
    assert_allclose(basis.design(X + np.array([7.0, 24.0])), basis.design(X), atol=1e-12)


def test_columns_are_logistic_steps_at_even_centers():
    x = np.linspace(10, 18, 9)
    basis = SigmoidBasis(3, slope=0.7).place(x[:, None])
    expected = 1 / (1 + np.exp(-(x[:, None] - [12.0, 14.0, 16.0]) / 0.7))
    assert_allclose(basis.design(x[:, None]), expected)


def test_without_a_slope_steps_rise_over_the_distance_between_centers():
    x = np.linspace(10, 18, 9)[:, None]
    assert_allclose(
        SigmoidBasis(3).place(x).design(x), SigmoidBasis(3, slope=2.0).place(x).design(x)
    )


@pytest.mark.parametrize(
    ("basis", "settings"),
    [
        (SplineBasis, {"n_knots": 1}),
        (SplineBasis, {"placement": "random"}),
        (FourierBasis, {"n_harmonics": 0}),
        (FourierBasis, {"period": 0.0}),
        (FourierBasis, {"period": [1, -1]}),
        (SigmoidBasis, {"n_centers": 2.5}),
        (SigmoidBasis, {"slope": -1.0}),
    ],
)
def test_settings_that_cannot_be_are_refused(basis, settings):
    with pytest.raises(ValueError, match="must be"):
        basis(**settings)
