import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import factorial

from credo.numerics.optimize import QuadraticForm, check_gradient, taylor

QUARTIC = np.polynomial.Polynomial([22, -2.5, -7, -0.5, 1])
PEAK = 2.1436974804
WORKED = QuadraticForm([[2.0, 1.0], [0.0, 3.0]], [1.0, -2.0], 0.5)


def test_stationary_point_and_value_match_the_worked_numbers():
    assert_allclose(WORKED.stationary_point(), [-0.3478260870, 0.3913043478], atol=5e-11)
    assert_allclose(WORKED.stationary_value(), -0.0652173913, atol=5e-11)
    assert_allclose(WORKED(WORKED.stationary_point()), WORKED.stationary_value())


def test_only_the_sum_of_the_two_cross_terms_counts():
    x = np.array([[0.3, -2.0], [1.0, 4.0]])
    as_given = [v @ np.array([[2.0, 1.0], [0.0, 3.0]]) @ v + v @ [1, -2] + 0.5 for v in x]
    assert_allclose(WORKED(x), as_given)
    assert_allclose(QuadraticForm([[2.0, -4.0], [5.0, 3.0]], [1.0, -2.0], 0.5)(x), as_given)


def test_gradient_matches_finite_differences():
    rng = np.random.default_rng(0)
    form = QuadraticForm(rng.normal(size=(4, 4)), rng.normal(size=4), 1.0)
    assert check_gradient(form, form.gradient, rng.normal(size=4)).error < 1e-7
    assert_allclose(form.gradient(np.zeros(4)), form.b)
    one = QuadraticForm([[3.0]], [2.0], 1.0)
    assert_allclose([one([2.0]), *one.gradient([2.0])], [17.0, 14.0])


def test_completed_square_equals_the_form():
    x = np.random.default_rng(0).normal(size=(5, 2))
    gap = x - WORKED.stationary_point()
    square = np.einsum("ni,ij,nj->n", gap, WORKED.A, gap) + WORKED.stationary_value()
    assert_allclose(square, WORKED(x))


def test_a_parabola_has_the_textbook_vertex():
    parabola = QuadraticForm(2.0, -3.0, 1.0)
    assert_allclose(parabola.stationary_point(), 3 / 4)
    assert_allclose(parabola.stationary_value(), 1 - 9 / 8)
    assert_allclose(parabola(2.0), 3.0)


@pytest.mark.parametrize(
    ("diagonal", "kind"),
    [
        ([1.0, 2.0], "minimum"),
        ([-1.0, -2.0], "maximum"),
        ([1.0, -2.0], "saddle"),
        ([1.0, 0.0], "degenerate"),
    ],
)
def test_kind_follows_the_signs_of_the_eigenvalues(diagonal, kind):
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert QuadraticForm(turn @ np.diag(diagonal) @ turn.T, [0.0, 0.0]).kind() == kind


def test_least_squares_form_has_the_regression_weights_as_its_minimum():
    x, y = np.arange(4.0), np.array([0.2, 0.9, 2.1, 2.8])
    form = QuadraticForm.least_squares(np.column_stack([np.ones(4), x]), y)
    assert_allclose(form.stationary_point(), [0.15, 0.9])
    assert_allclose(form.stationary_value(), 4 * 0.0125)


def test_a_flat_valley_gives_the_shortest_stationary_point():
    form = QuadraticForm(np.ones((2, 2)), [2.0, 2.0])
    assert_allclose(form.stationary_point(), [-0.5, -0.5])


def test_a_slope_without_curvature_has_no_stationary_point():
    with pytest.raises(ValueError, match="falls forever"):
        QuadraticForm(np.ones((2, 2)), [1.0, -1.0]).stationary_point()


def test_shapes_must_match():
    with pytest.raises(ValueError, match="A must be square and match b"):
        QuadraticForm(np.eye(3), [1.0, 2.0])


@pytest.mark.parametrize(
    ("x", "exact", "first", "second", "third"),
    [
        (1.8, 0.0905729206, 0.5142080787, 0.0661728825, 0.0918456539),
        (2.0, 0.3678794412, 0.5142080787, 0.3593231442, 0.3680363310),
        (2.3, 0.3260840855, 0.5142080787, 0.3364959380, 0.3262787663),
        (2.5, 0.0387742078, 0.5142080787, 0.0567763584, 0.0394041822),
    ],
)
def test_taylor_reproduces_the_worked_table_of_the_quartic(x, exact, first, second, third):
    derivatives = [QUARTIC.deriv(j)(PEAK) if j else QUARTIC(PEAK) for j in range(4)]
    assert_allclose(derivatives, [0.6651272730, 0.0, 34.7141742073, 48.4487395290], atol=5e-9)
    approximations = [np.exp(-taylor(x, PEAK, *derivatives[: k + 1])) for k in (1, 2, 3)]
    assert_allclose(approximations, [first, second, third], atol=5e-10)
    assert_allclose(np.exp(-taylor(x, PEAK, *derivatives, 24.0)), exact, atol=5e-10)


def test_taylor_of_a_polynomial_to_its_degree_is_exact_anywhere():
    x = np.linspace(-3, 3, 7)
    derivatives = [np.polynomial.Polynomial.deriv(QUARTIC, j)(-1.0) for j in range(1, 5)]
    assert_allclose(taylor(x, -1.0, QUARTIC(-1.0), *derivatives), QUARTIC(x))


def test_taylor_of_several_variables_matches_the_quadratic_form():
    rng = np.random.default_rng(0)
    center, gradient, x = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 3))
    root = rng.normal(size=(3, 3))
    hessian = root + root.T
    form = QuadraticForm.expansion(center, 1.5, gradient, hessian)
    assert_allclose(form(x), taylor(x, center, 1.5, gradient, hessian))
    assert_allclose(form.gradient(center), gradient)
    assert_allclose(taylor(x, center, 1.5, gradient), 1.5 + (x - center) @ gradient)
    assert_allclose(taylor(x[0], center, 1.5), 1.5)


def test_newton_step_is_the_stationary_point_of_the_expansion():
    center, gradient = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    hessian = np.array([[4.0, 1.0], [1.0, 2.0]])
    form = QuadraticForm.expansion(center, 0.0, gradient, hessian)
    assert_allclose(form.stationary_point(), center - np.linalg.solve(hessian, gradient))


def test_exponential_series_error_is_the_next_term():
    error = np.exp(0.1) - taylor(0.1, 0.0, 1, 1, 1, 1)
    assert_allclose(error, 0.1**4 / factorial(4), rtol=0.03)


def test_third_derivatives_of_several_variables_are_refused():
    with pytest.raises(ValueError, match="second order"):
        taylor([1.0, 1.0], [0.0, 0.0], 1.0, [0.0, 0.0], np.eye(2), 0.0)
