"""Kernels parted into a function and white noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.features import Linear, Matern52, SquaredExponential, White
from credo.features.kernels.parted import PartedKernel, is_noise

SMOOTH, NOISE = Matern52(0.7), White(0.3)
KERNELS = [
    SMOOTH,
    SMOOTH + NOISE,
    2.0 * (SMOOTH + NOISE) + Linear(),
    (2.0 * (SMOOTH + NOISE)).hold("part2.variance"),
    (SMOOTH + 0.5 * NOISE).hold("part2.variance", "part1.length_scale"),
    (Linear(0.4) + NOISE).on([1]) * (SquaredExponential((1.0, 2.0)) + White(0.2)),
    SMOOTH * NOISE + (Linear() * (SMOOTH + NOISE)).hold(),
    (SMOOTH + 2.0 * NOISE).in_units([0.5, 30.0]),
]
X = np.random.default_rng(0).standard_normal((5, 2))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_parts_add_up_to_the_kernel_at_any_settings(kernel):
    rng = np.random.default_rng(1)
    logs = kernel.log_parameters + 0.3 * rng.standard_normal(len(kernel.parameters))
    parted, whole = PartedKernel.of(kernel).at(logs), kernel.at(logs)
    variance, pull = parted.noise(X)
    assert_allclose(parted.smooth(X) + np.diag(variance), whole(X))
    assert_allclose(parted.smooth(X), whole(X, X))
    W = rng.standard_normal((5, 5))
    slopes = parted.by_parameter(parted.smooth.pullback(W, X)) + pull(np.diagonal(W))
    assert_allclose(slopes, whole.pullback(W, X), atol=1e-12)


def test_only_a_kernel_without_a_function_is_noise():
    assert is_noise(2.0 * White(0.3) * Linear())
    assert not is_noise(Linear() * (Linear() + White(0.3)))
    with pytest.raises(ValueError, match="must have a part that is not White"):
        PartedKernel.of((White(0.1) + White(0.2)).hold())
