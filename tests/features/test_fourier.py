import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features.fourier import FourierBasis


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


@pytest.mark.parametrize("settings", [{"n_harmonics": 0}, {"period": 0.0}, {"period": [1, -1]}])
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        FourierBasis(**settings)
