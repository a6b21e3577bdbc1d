"""Compiled exponentials against those of the standard library."""

import numba
import numpy as np

from credo.numerics.special._loops_exponential import LANES, all_lanes, fast_exp, fast_tanh


def test_tangents_are_those_of_numpy_however_small_or_large():
    size = np.concatenate([np.logspace(-300.0, 3.0, 5000), [0.0, np.inf]])
    z = np.concatenate([size, -size])
    found = z.copy()
    fast_tanh(found)
    np.testing.assert_allclose(found, np.tanh(z), rtol=5e-16, atol=0.0)
    assert np.array_equal(np.signbit(found), np.signbit(z))


def test_tangents_of_what_is_no_number_are_none():
    z = np.array([np.nan, 0.5] * 40)
    fast_tanh(z)
    assert np.isnan(z[::2]).all()
    np.testing.assert_allclose(z[1::2], np.tanh(0.5), rtol=5e-16)


def exponentials(is_wide):
    @numba.njit(fastmath=LANES)
    def loop(x, out):
        if is_wide:
            all_lanes()
        for t in range(x.size):
            out[t] = fast_exp(x[t])

    return loop


def test_all_lanes_change_no_bit():
    x = np.random.default_rng(0).uniform(-50.0, 5.0, size=1001)
    usual, wide = np.empty_like(x), np.empty_like(x)
    exponentials(is_wide=False)(x, usual)
    exponentials(is_wide=True)(x, wide)
    np.testing.assert_array_equal(wide, usual)
    np.testing.assert_allclose(wide, np.exp(x), rtol=1e-15)
