import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features.sigmoid import SigmoidBasis


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


@pytest.mark.parametrize("settings", [{"n_centers": 2.5}, {"slope": -1.0}])
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        SigmoidBasis(**settings)
