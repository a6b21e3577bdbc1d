import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from credo.decisions import (
    ExponentialMargin,
    HingeMargin,
    LogisticMargin,
    QuadraticMargin,
    ZeroOneMargin,
)
from credo.decisions.margin_loss import MARGIN_LOSSES, SmoothHingeMargin

Z = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0])
WORKED = {
    ZeroOneMargin(): [1, 1, 0, 0, 0, 0],
    LogisticMargin(): [
        2.1269280110,
        1.3132616875,
        0.6931471806,
        0.4740769842,
        0.3132616875,
        0.1269280110,
    ],
    HingeMargin(): [3, 2, 1, 0.5, 0, 0],
    QuadraticMargin(): [9, 4, 1, 0.25, 0, 1],
    ExponentialMargin(): [
        7.3890560989,
        2.7182818285,
        1.0,
        0.6065306597,
        0.3678794412,
        0.1353352832,
    ],
}
CONVEX = [
    LogisticMargin(),
    HingeMargin(),
    ExponentialMargin(),
    QuadraticMargin(),
    SmoothHingeMargin(0.3),
]
SMOOTH = np.linspace(-3.0, 3.0, 41) + 0.0123


@pytest.mark.parametrize("loss", WORKED, ids=str)
def test_values_match_the_worked_table(loss):
    assert_allclose(loss.value(Z), WORKED[loss], rtol=1e-9)


def test_logistic_in_bits_matches_the_worked_table():
    bits = [3.0685084939, 1.8946361240, 1.0, 0.6839485141, 0.4519410831, 0.1831184121]
    assert_allclose(LogisticMargin.bound_factor * LogisticMargin().value(Z), bits, rtol=1e-9)


@pytest.mark.parametrize("loss", CONVEX, ids=str)
def test_gradients_and_curvatures_match_differences(loss):
    step = 1e-5
    slope = (loss.value(SMOOTH + step) - loss.value(SMOOTH - step)) / (2 * step)
    assert_allclose(loss.gradient(SMOOTH), slope, rtol=1e-6, atol=1e-8)
    bend = (loss.gradient(SMOOTH + step) - loss.gradient(SMOOTH - step)) / (2 * step)
    assert_allclose(loss.curvature(SMOOTH), bend, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", CONVEX[:4], ids=str)
def test_each_loss_is_an_upper_bound_on_errors(loss):
    z = np.linspace(-5, 5, 1001)
    assert (loss.bound_factor * loss.value(z) >= ZeroOneMargin().value(z) - 1e-12).all()
    assert_allclose(loss.bound_factor * loss.value(0.0), 1.0)


def test_logistic_loss_is_no_bound_in_nats():
    assert LogisticMargin().value(-0.1) < ZeroOneMargin().value(-0.1)


@pytest.mark.parametrize("loss", [*WORKED, SmoothHingeMargin(0.4)], ids=str)
@pytest.mark.parametrize("p", [0.05, 0.3, 0.62, 0.9])
def test_the_best_score_has_the_least_expected_loss_and_the_sign_of_the_likelier_class(loss, p):
    best = float(loss.best_score(p))
    # A score of zero is no answer: there both classes would count as right.
    grid = np.linspace(-4, 4, 4000)
    assert loss.expected(best, p) <= loss.expected(grid, p).min() + 1e-12
    assert np.sign(best) == np.sign(p - 0.5)


@pytest.mark.parametrize("loss", [LogisticMargin(), ExponentialMargin()], ids=str)
def test_probability_undoes_the_best_score(loss):
    p = np.array([1e-6, 0.2, 0.5, 0.99])
    assert_allclose(loss.probability(loss.best_score(p)), p)
    assert loss.has_probability


@pytest.mark.parametrize("loss", [ZeroOneMargin(), HingeMargin(), QuadraticMargin()], ids=str)
def test_losses_that_tell_no_probability_say_so(loss):
    assert not loss.has_probability
    with pytest.raises(TypeError, match=f"found {type(loss).__name__}"):
        loss.probability(0.3)


@pytest.mark.parametrize("loss", CONVEX, ids=str)
@pytest.mark.parametrize("slope", [0.15, 0.5, 0.85])
def test_the_dual_is_the_least_of_loss_plus_slope_times_margin(loss, slope):
    found = optimize.minimize_scalar(
        lambda z: float(loss.value(z) + slope * z), bounds=(-20, 20), method="bounded"
    )
    assert_allclose(loss.dual(slope), found.fun, atol=1e-5)


def test_the_smooth_hinge_is_below_the_hinge_by_no_more_than_its_lag():
    smooth, z = HingeMargin().smoothed(0.2), np.linspace(-2, 3, 501)
    below = HingeMargin().value(z) - smooth.value(z)
    assert below.min() >= 0
    assert_allclose(below.max(), smooth.lag)


def test_hinge_and_logistic_grow_alike_while_quadratic_and_exponential_grow_faster():
    far = np.array([-30.0])
    assert_allclose(LogisticMargin().gradient(far), HingeMargin().gradient(far))
    assert QuadraticMargin().gradient(far) < -10
    assert ExponentialMargin().gradient(far) < -10


def test_losses_compare_by_value_and_are_found_by_name():
    assert MARGIN_LOSSES["hinge"] == HingeMargin()
    assert len(MARGIN_LOSSES) == 5
    assert_array_equal(ExponentialMargin().value([-1e6]), [np.inf])
