"""Constant columns are told from columns that hardly vary."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.constant import is_constant, usual_variance
from credo.numerics.linear.moments import Moments


@pytest.mark.parametrize("n", [2, 300, 10_000, 65_536, 200_000])
@pytest.mark.parametrize("value", [0.0, 0.1, 2.5, 3.3, -7.7, 1e15, 1e-300])
def test_rounding_error_of_equal_values_is_no_spread(n, value):
    moments = Moments.of([np.full((n, 3), value)])
    spread = np.sqrt(np.diagonal(moments.scatter) / n)
    assert is_constant(moments.mean, spread).all()


@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e10])
def test_a_small_spread_is_a_spread_in_any_unit(unit):
    x = unit * (1.0 + 1e-10 * np.array([-1.0, 1.0]))
    assert not is_constant(x.mean(), x.std())
    assert not is_constant(np.array(0.0), np.array(1e-10 * unit))
    assert_allclose(usual_variance(x.mean(), x.var()), x.var())


def test_the_usual_variance_of_a_constant_carries_its_unit():
    assert_allclose(usual_variance(np.array([3.0, 3e6, 0.0]), np.zeros(3)), [9.0, 9e12, 1.0])
