"""Levels of a truth are uniform, and a wrong prior shows."""

import numpy as np
import pytest
from calibration.__main__ import uniformity
from calibration.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_levels_of_the_truth_are_uniform_on_average(name):
    simulate, _ = CASES[name]
    rng = np.random.default_rng(0)
    levels = np.array([simulate(rng) for _ in range(120)])
    assert np.all((levels >= 0) & (levels <= 1))
    # The mean of 120 uniform numbers has standard error 0.026; four of those.
    assert abs(levels.mean() - 0.5) < 0.106
    assert 0.2 < levels.std() < 0.38


def test_uneven_levels_are_improbable():
    rng = np.random.default_rng(0)
    assert uniformity(rng.random(4000))["p_value"] > 1e-3
    assert uniformity(rng.beta(1.3, 1.3, 4000))["p_value"] < 1e-6
