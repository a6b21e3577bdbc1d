"""Kernels: worked values, limits, gradients of any composition, refusals."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import erf
from sklearn.gaussian_process import kernels as peer

from credo.evaluation.laws import LawBroken, check_kernel
from credo.evaluation.laws.kind import check_example
from credo.features import (
    ArcSine,
    CategoricalKernel,
    Constant,
    ExponentialKernel,
    FunctionKernel,
    GammaExponentialKernel,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
    SquaredExponential,
    White,
    check_mercer,
)
from credo.numerics.linear.linear_algebra import NotPositiveDefinite
from rooms import every_example, named

KERNELS = [e for e in every_example("features") if isinstance(e.it, Kernel)]
X, Z = [[1.0, 2.0]], [[2.0, 0.0]]


def rows(n=25, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("example", KERNELS, ids=named)
def test_every_kernel_of_the_room_obeys_the_laws(example):
    assert "the_pullback_is_the_gradient" in check_example(example)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Linear(2.0), 4.0),
        (Polynomial(3, 1.0), 27.0),
        (Polynomial(2, 1.0), 9.0),
        (ExponentialKernel(1.5), 0.2252122507),
        (SquaredExponential(1.5), 0.3291929878),
        (SquaredExponential(1.5 / np.sqrt(2)), 0.1083680232),
        (SquaredExponential(1 / np.sqrt(2 * 0.3)), 0.2231301601),
        (GammaExponentialKernel(1.5, 1.3), 0.1863000229),
        (RationalQuadratic(1.5, 2.0), 0.4132653061),
        (Periodic(1.5, 3.0), 0.6329200807),
        (ArcSine(), 0.5256151410),
        (ArcSine(is_normalized=True), 0.3346169914),
    ],
    ids=str,
)
def test_worked_values(kernel, expected):
    assert_allclose(kernel(X, Z), [[expected]], rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "other"),
    [
        (SquaredExponential((0.7, 2.0)), peer.RBF([0.7, 2.0])),
        (ExponentialKernel(0.7), peer.Matern(0.7, nu=0.5)),
        (Matern32(0.7), peer.Matern(0.7, nu=1.5)),
        (Matern52((0.7, 2.0)), peer.Matern([0.7, 2.0], nu=2.5)),
        (RationalQuadratic(0.7, 1.4), peer.RationalQuadratic(0.7, 1.4)),
        (2.0 * (Linear() + Constant(0.25)), 2.0 * peer.DotProduct(0.5)),
    ],
    ids=str,
)
def test_kernels_agree_with_another_library(kernel, other):
    expected = other(rows(), rows(7, seed=1))
    assert_allclose(kernel(rows(), rows(7, seed=1)), expected, rtol=1e-10, atol=1e-12)


def test_many_columns_take_the_same_distances_as_few():
    X = rows(20, 6)
    direct = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2) / 0.9**2)
    assert_allclose(SquaredExponential(0.9)(X), direct, rtol=1e-10)


def test_the_explicit_features_of_a_polynomial_kernel_have_its_inner_products():
    def features(x, y):
        root = np.sqrt(2.0)
        return np.array([1.0, root * x, root * y, x * x, root * x * y, y * y])

    expected = features(*X[0]) @ features(*Z[0])
    assert_allclose(Polynomial(2, 1.0)(X, Z), [[expected]], rtol=1e-12)


def test_limits_equal_other_kernels():
    assert_allclose(
        GammaExponentialKernel(0.8, 1.0)(rows()), ExponentialKernel(0.8)(rows()), rtol=1e-12
    )
    square = SquaredExponential(0.8 / np.sqrt(2))(rows())
    assert_allclose(GammaExponentialKernel(0.8, 2.0)(rows()), square, rtol=1e-10)
    mixed = RationalQuadratic(0.8, 1e5)(rows())
    assert_allclose(mixed, SquaredExponential(0.8)(rows()), atol=1e-4)


def test_the_arcsine_kernel_is_the_covariance_of_a_wide_network():
    rng = np.random.default_rng(0)
    inputs = np.array([[0.3], [-1.2]])
    hidden = rng.normal(size=(200_000, 1)) * np.sqrt(1.5)
    bias = rng.normal(size=(200_000, 1)) * np.sqrt(0.4)
    units = erf(hidden * inputs.T + bias)
    expected = (units[:, 0] * units[:, 1]).mean()
    found = ArcSine(1.5, 0.4, is_normalized=True)(inputs)[0, 1]
    assert_allclose(found, expected, atol=4 * np.std(units[:, 0] * units[:, 1]) / 200_000**0.5)


def test_white_noise_goes_by_place_and_not_by_value():
    twice = np.zeros((3, 1))
    assert_allclose(White(0.4)(twice), 0.4 * np.eye(3))
    assert_allclose(White(0.4)(twice, twice), np.zeros((3, 3)))


def test_a_period_later_the_function_is_the_same():
    assert_allclose(Periodic(0.7, 3.0)([[0.2]], [[0.2 + 6.0]]), [[1.0]], rtol=1e-12)


LEAVES = st.sampled_from(
    [
        SquaredExponential((0.6, 1.4)),
        ExponentialKernel(0.9),
        Matern32((1.1, 0.8)),
        Matern52(0.7),
        GammaExponentialKernel(0.8, 1.4),
        RationalQuadratic((0.9, 1.2), 0.6),
        Linear((0.5, 1.5)),
        Polynomial(2, 0.8),
        ArcSine(0.6, 1.2),
        Periodic(1.1, (1.3, 2.1)),
        White(0.2),
        Constant(0.7),
        SquaredExponential(0.8).on([1]),
        SquaredExponential(0.8).in_units([0.3, 4.0]),
        Matern52((0.7, 1.1)).hold("length_scale[1]"),
    ]
)
COMPOSED = st.recursive(
    LEAVES,
    lambda part: st.one_of(
        st.tuples(part, part).map(lambda two: two[0] + two[1]),
        st.tuples(part, part).map(lambda two: two[0] * two[1]),
        st.tuples(st.floats(0.2, 3.0), part).map(lambda two: two[0] * two[1]),
    ),
    max_leaves=4,
)


@settings(max_examples=40, deadline=None)
@given(kernel=COMPOSED)
def test_every_composition_obeys_the_laws(kernel):
    assert "the_pullback_is_the_gradient" in check_kernel(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        SquaredExponential((1.0, 1.0)),
        2.0 * Matern32((1.0, 1.0)) + Linear((1.0, 1.0)),
        3.0 * ArcSine((1.0, 1.0)),
    ],
    ids=str,
)
def test_natural_values_follow_the_units(kernel):
    units = np.array([1e-3, 250.0])
    one = kernel.at(kernel.natural(rows(), 2.0))(rows())
    other = kernel.at(kernel.natural(rows() * units, 2.0))(rows() * units)
    assert_allclose(other, one, rtol=1e-6)


@dataclass(frozen=True)
class Reversed(SquaredExponential):
    """A kernel with the sign of its gradient reversed."""

    def slope(self, square, matrix):
        return -matrix


def test_a_wrong_gradient_breaks_a_law():
    with pytest.raises(LawBroken, match="pull-back is the gradient"):
        check_kernel(Reversed(0.7))


def test_a_function_that_is_no_kernel_is_refused_by_name():
    distance = FunctionKernel(lambda X, Z: np.abs(X - Z.T))
    with pytest.raises(NotPositiveDefinite, match="semidefinite; found the eigenvalue"):
        check_mercer(distance, rows(10, 1))
    lopsided = FunctionKernel(lambda X, Z: X + 0 * Z.T)
    with pytest.raises(NotPositiveDefinite, match="must be symmetric"):
        check_mercer(lopsided, rows(10, 1))


def test_names_tell_parameters_of_parts_apart():
    kernel = 2.0 * SquaredExponential((1.0, 3.0)) + White(0.1)
    assert [p.name for p in kernel.parameters] == [
        "part1.variance",
        "part1.length_scale[0]",
        "part1.length_scale[1]",
        "part2.variance",
    ]
    assert_allclose(np.exp(kernel.log_parameters), [2.0, 1.0, 3.0, 0.1])
    held = kernel.hold("part1.length_scale")
    assert [p.name for p in held.parameters] == ["part1.variance", "part2.variance"]
    assert_allclose(held.at([0.0, 0.0])(rows()), (kernel.at(np.log([1, 1, 3, 1]))(rows())))
    assert (
        repr(kernel) == "2 * SquaredExponential(length_scale=(1.0, 3.0)) + White(variance=0.1)"
    )


@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * (Matern32() * Linear()),
        2.0 * Matern32() * Linear(),
        Matern32() * (2.0 * Linear()),
        2.0 * (3.0 * Linear()),
        (2.0 * Matern32()).on([0]),
        (Matern32() * Linear()).hold("part1.length_scale"),
    ],
)
def test_what_a_kernel_is_written_as_makes_it_again(kernel):
    again = eval(repr(kernel), {"Matern32": Matern32, "Linear": Linear})
    assert again == kernel


def test_slopes_of_the_arcsine_are_finite_where_it_is_rounded_to_its_end():
    kernel, X = ArcSine(1.5, 0.5), np.array([[1e10], [1.0], [-2.0]])
    found = kernel.pullback(np.ones((3, 3)), X)
    ends = [kernel.at(kernel.log_parameters + h)(X).sum() for h in 1e-5 * np.eye(2)]
    starts = [kernel.at(kernel.log_parameters - h)(X).sum() for h in 1e-5 * np.eye(2)]
    assert_allclose(found, np.subtract(ends, starts) / 2e-5, rtol=1e-5)
    assert np.isfinite(kernel.evaluated_diagonal(X)[1](np.ones(3))).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: White((0.1, 0.2)), "variance of White must be one number"),
        (lambda: Constant([1.0, 2.0]), "variance of Constant must be one number"),
        (lambda: Polynomial(2, (1.0, 2.0)), "constant of Polynomial must be one number"),
        (lambda: ArcSine(1.0, (1.0, 2.0)), "bias_variance of ArcSine must be one number"),
        (lambda: SquaredExponential().on(0), "columns must be different numbers"),
        (lambda: SquaredExponential(0.0), "length_scale must be a positive number"),
        (lambda: SquaredExponential([1.0, -1.0]), "length_scale must be a positive number"),
        (lambda: SquaredExponential("long"), "length_scale must be a positive number"),
        (
            lambda: GammaExponentialKernel(1.0, 2.5),
            "above 0 and at most 2",
        ),
        (lambda: Polynomial(1.5), "degree must be a whole number"),
        (lambda: SquaredExponential((1.0, 2.0))(rows(3, 3)), "one for each of the 3 columns"),
        (lambda: SquaredExponential(1.0)([1.0, 2.0]), "must have shape"),
        (lambda: SquaredExponential(1.0)(rows(3, 2), rows(3, 1)), "the same columns"),
        (lambda: Linear().on([2])(rows()), "must be below the 2"),
        (lambda: Linear().in_units([1.0])(rows()), "one for each of the 2 columns"),
        (lambda: Linear().in_units([1.0, 0.0]), "units must be a positive number"),
        (lambda: Linear().on([]), "different numbers of columns"),
        (lambda: Linear().hold("period"), "must be parameters of the kernel"),
        (lambda: 0.0 * Linear(), "variance must be a positive number"),
        (lambda: Periodic(1.0, 2.0).check_inputs(rows()), "must have one column"),
        (
            lambda: CategoricalKernel().check_inputs(rows()),
            "fractions in column 0",
        ),
        (lambda: Linear().pullback(np.ones(3), rows()), "one weight for each pair of rows"),
        (lambda: FunctionKernel(lambda X, Z: 1.0)(rows()), "a finite number for each pair"),
        (lambda: FunctionKernel(lambda X, Z: 1.0, {"width": -1.0}), "positive numbers by name"),
    ],
)
def test_what_cannot_be_is_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_only_kernels_and_numbers_combine():
    with pytest.raises(TypeError):
        Linear() + 1.0
    with pytest.raises(TypeError):
        "two" * Linear()
