import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from credo.features import (
    Constant,
    ExponentialKernel,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    SquaredExponential,
    White,
)
from credo.inference.kernel.series import (
    TAIL,
    NoStateSpace,
    StateSpace,
    harmonics_left_out,
    terms_of,
)

TIMES = np.array([0.3, 0.9, 2.5, 2.6, 7.1])

KERNELS = [
    2.5 * ExponentialKernel(0.7),
    Matern32(1.3) + 0.3 * Matern52((2.0,)),
    Matern32(1.3) * Matern52(2.0) * ExponentialKernel(4.0),
    Linear(0.4) + Constant(2.0) + Polynomial(3, 0.8),
    (Linear(0.4) * Matern52(3.0)).on([0]),
    1.5 * Matern32(4.0) * Periodic(0.9, 1.7),
    Periodic(1.4, (2.3,)) * Periodic(2.0, 0.7).hold("period"),
]


def by_state(kernel, times):
    """Return the Gram matrix that the state space model has, by its generator."""
    terms = terms_of(kernel, times, origin=1.1).terms
    total = np.zeros((len(times), len(times)))
    for term in terms:
        space = StateSpace.of([term])
        steady, generator = np.ones((1, 1)), np.zeros((1, 1))
        for step, rate in term.factors:
            one = StateSpace((((step, rate),),))
            size = step + 1
            own = np.zeros((size, size))
            for o in range(size):
                for j in range(size - o):
                    own[j, j + o] = own[j + o, j] = one.start[o, j]
            chain = rate * (np.eye(size, k=1) - np.eye(size))
            generator = np.kron(generator, np.eye(size)) + np.kron(
                np.eye(len(generator)), chain
            )
            steady = np.kron(steady, own)
        assert space.n_states == len(steady)
        levels = np.broadcast_to(term.level, len(times))
        for i, late in enumerate(times):
            for j, early in enumerate(times[: i + 1]):
                value = (expm(generator * (late - early)) @ steady)[0, 0]
                total[i, j] += levels[i] * levels[j] * value
    return np.tril(total) + np.tril(total, -1).T


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_state_has_the_covariance_of_the_kernel(kernel):
    gram = kernel(TIMES[:, None])
    assert_allclose(by_state(kernel, TIMES), gram, rtol=1e-9, atol=1e-9 * gram.max())


def test_harmonics_add_up_to_the_periodic_kernel_up_to_the_tail():
    kernel = Periodic(0.6, 2.0)
    lags = np.linspace(0.0, 2.0, 41)
    first = terms_of(kernel, np.zeros(1)).terms
    then = terms_of(kernel, lags).terms
    found = sum(a.level * b.level for a, b in zip(first, then, strict=True))
    gap = np.abs(found - kernel(lags[:, None], [[0.0]])[:, 0]).max()
    assert gap < 1.01 * TAIL
    assert 0.0 < harmonics_left_out(kernel) <= TAIL
    assert len(then) == 2 * 14 + 1


@pytest.mark.parametrize(
    "kernel",
    [SquaredExponential(), Matern32() + RationalQuadratic(), 2.0 * SquaredExponential()],
)
def test_an_error_names_the_kernel_and_what_to_take(kernel):
    with pytest.raises(NoStateSpace, match=r"found (Squared|Rational).*Take Matern52"):
        terms_of(kernel, TIMES)


def test_white_noise_alone_is_refused():
    with pytest.raises(NoStateSpace, match="found White alone"):
        StateSpace.of(terms_of(White(), TIMES).terms)


def test_a_kernel_derived_from_another_is_not_taken_for_it():
    class Other(Matern32):
        pass

    with pytest.raises(NoStateSpace, match="found Other"):
        terms_of(Other(), TIMES)
