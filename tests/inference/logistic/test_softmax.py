"""Loss, gradient and curvature of labeled rows, against finite differences and each other."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo.inference.logistic.softmax import (
    SoftmaxRows,
    class_coding,
    expected_softmax,
    integrated_log_probability,
    log_expected_softmax,
)
from credo.numerics.special.logistic_integral import log_logistic_normal_mean

RNG = np.random.default_rng(0)
module = importlib.import_module("credo.inference.logistic.softmax")


def rows(n=60, m=3, n_classes=4, offset=0.0):
    x = RNG.normal(size=(n, m)) * [1.0, 10.0, 0.1][:m] + offset
    return SoftmaxRows(
        x,
        RNG.integers(n_classes, size=n),
        RNG.uniform(0.5, 2.0, size=n),
        x.mean(axis=0),
        1.0 / x.std(axis=0),
        class_coding(n_classes),
    )


def by_hand(data, parameters):
    seen = np.hstack([(data.x - data.center) * data.scale, np.ones((len(data.x), 1))])
    logs = special.log_softmax(seen @ parameters.T @ data.coding.T, axis=1)
    return -data.weight @ logs[np.arange(len(logs)), data.code]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_value_is_minus_the_log_likelihood_of_the_classes(n_classes):
    data = rows(n_classes=n_classes)
    parameters = RNG.normal(size=data.shape)
    assert_allclose(data.value_and_gradient(parameters)[0], by_hand(data, parameters))
    assert_allclose(data.derivatives(parameters)[0], by_hand(data, parameters))


@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_derivatives_are_those_of_finite_differences(n_classes, has_intercept):
    data = replace(rows(n_classes=n_classes), has_intercept=has_intercept)
    parameters = RNG.normal(size=data.shape)
    value, gradient, curvature = data.derivatives(parameters)
    moves = 1e-5 * np.eye(parameters.size).reshape(-1, *data.shape)
    ends = [[data.value_and_gradient(parameters + s * m) for s in (1, -1)] for m in moves]
    slope = [(up[0] - down[0]) / 2e-5 for up, down in ends]
    bend = [(up[1] - down[1]).ravel() / 2e-5 for up, down in ends]
    assert_allclose(gradient.ravel(), slope, atol=1e-6)
    assert_allclose(curvature, bend, atol=1e-6)
    assert value == data.value_and_gradient(parameters)[0]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_loop_over_rows_equals_the_blocks(n_classes, monkeypatch):
    data = rows(n=5000, n_classes=n_classes)
    parameters = RNG.normal(size=data.shape)
    expected = data.value_and_gradient(parameters)
    monkeypatch.setattr(module, "WORTH_A_LOOP", 0)
    found = data.value_and_gradient(parameters)
    assert_allclose(found[0], expected[0], rtol=1e-12)
    assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-9)


def test_curvature_does_not_depend_on_how_pairs_of_classes_are_summed(monkeypatch):
    data = rows(n=500)
    parameters = RNG.normal(size=data.shape)
    kept = data.derivatives(parameters)[2]
    assert data.products is not None
    monkeypatch.setattr(module, "MOST_PAIRS", 0)
    packed = replace(data).derivatives(parameters)[2]
    assert_allclose(packed, kept, rtol=1e-10, atol=1e-12)
    monkeypatch.setattr(module, "PACKED_PAIRS", 0)
    assert_allclose(replace(data).derivatives(parameters)[2], kept, rtol=1e-10, atol=1e-12)


def test_a_large_offset_of_the_inputs_costs_no_digits():
    data = rows()
    data = replace(data, x=np.round(data.x * 1024) / 1024, center=np.zeros(3))
    moved = replace(data, x=data.x + 2.0**30, center=data.center + 2.0**30)
    parameters = RNG.normal(size=data.shape)
    for near, far in zip(
        data.derivatives(parameters), moved.derivatives(parameters), strict=True
    ):
        assert_allclose(far, near, rtol=1e-12)


def test_scores_of_many_classes_sum_to_zero_in_orthonormal_coordinates():
    for n_classes in (3, 4, 9):
        coding = class_coding(n_classes)
        assert_allclose(coding.T @ coding, np.eye(n_classes - 1), atol=1e-12)
        assert_allclose(coding.sum(axis=0), 0.0, atol=1e-12)


def test_extreme_scores_overflow_nowhere():
    data = rows(n_classes=2)
    value, gradient, curvature = data.derivatives(np.full(data.shape, 1e4))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert np.isfinite(curvature).all()


def test_means_over_parameters_without_spread_are_values_at_a_point():
    rng = np.random.default_rng(0)
    coding = class_coding(4)
    some = SoftmaxRows(
        rng.normal(size=(30, 2)),
        rng.integers(0, 4, 30),
        rng.uniform(size=30),
        np.array([0.3, -1.0]),
        np.array([2.0, 0.5]),
        coding,
    )
    parameters = rng.normal(size=(3, 3))
    value, gradient, curvature = some.derivatives(parameters)
    coordinates = some.coordinates(parameters)
    found = some.expected(coordinates, np.zeros((30, 6)))
    assert_allclose(some.weight @ found.loss, value, rtol=1e-5)
    assert_allclose(some.expected_derivatives(found)[0], gradient, atol=1e-4)
    assert_allclose(some.expected_derivatives(found)[1], curvature, atol=1e-3)
    many = np.stack([parameters, 0.5 * parameters])
    sides = some.mirrored_values(np.zeros_like(parameters), many)
    assert_allclose(sides[0, 0], value)
    assert_allclose(sides[0, 1], some.value_and_gradient(many[1])[0])
    assert_allclose(sides[1, 1], some.value_and_gradient(-many[1])[0])


PAIRS = ((0, 1), (0, 2), (1, 2))


def test_variances_are_those_of_differences_of_scores():
    rng = np.random.default_rng(0)
    x, scale = rng.normal(size=(20, 2)), np.array([2.0, 0.5])
    some = SoftmaxRows(
        x, rng.integers(0, 3, 20), np.ones(20), np.zeros(2), scale, class_coding(3)
    )
    half = rng.normal(size=(6, 6))
    covariance = half @ half.T
    found = some.variances(covariance.reshape(2, 3, 2, 3))
    draws = (np.eye(6) @ half.T).reshape(6, 2, 3)
    seen = np.column_stack([x * scale, np.ones(20)])
    spread = np.einsum("qjm,nm->nqj", draws, seen)
    scores = spread @ class_coding(3).T
    expected = [((scores[..., k] - scores[..., j]) ** 2).sum(axis=1) for k, j in PAIRS]
    assert_allclose(found, np.transpose(expected))


def test_variances_of_many_classes_are_those_of_few(monkeypatch):
    rng = np.random.default_rng(0)
    x, code = rng.normal(size=(30, 3)), np.arange(30) % 5
    coding = class_coding(5)
    rows = SoftmaxRows(x, code, np.ones(30), x.mean(axis=0), np.ones(3), coding)
    root = rng.normal(size=(16, 16))
    covariance = (root @ root.T).reshape(4, 4, 4, 4)
    kept = rows.variances(covariance)
    assert rows.products is not None
    monkeypatch.setattr(module, "MOST_PAIRS", 0)
    assert_allclose(replace(rows).variances(covariance), kept, rtol=1e-10)
    monkeypatch.setattr(module, "FEW_CLASSES", 4)
    assert_allclose(replace(rows).variances(covariance), kept, rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("size", [1.0, 300.0])
def test_values_on_both_sides_of_a_point_are_those_of_each(n_classes, size):
    data = rows(n_classes=n_classes)
    middle = RNG.normal(size=data.shape)
    steps = size * RNG.normal(size=(2 * module.VALUES_AT_ONCE + 3, *data.shape))
    far = np.abs(data.coordinates(steps[0]) @ data.coding.T).max()
    assert (far > module.FARTHEST) == (size > 1.0)
    up, down = data.mirrored_values(middle, steps)
    assert_allclose(up, [by_hand(data, middle + one) for one in steps])
    assert_allclose(down, [by_hand(data, middle - one) for one in steps])


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_rough_means_are_those_of_moderated_scores_and_bend_as_they_do(n_classes):
    data = rows(n_classes=n_classes)
    parameters, direction = RNG.normal(size=(2, *data.shape))
    exact = data.derivatives(parameters)
    point = data.moderated(data.coordinates(parameters), np.zeros(len(data.x)))
    assert_allclose(point.gradient(), exact[1])
    along = direction.ravel() @ exact[2] @ direction.ravel()
    assert_allclose(point.bend_along(data.coordinates(direction)), along)
    n_codes, m = data.shape
    blocks = exact[2].reshape(n_codes, m, n_codes, m)
    shared = np.mean([blocks[j, :, j] for j in range(n_codes)], axis=0)
    assert_allclose(point.shared_curvature(), shared, atol=1e-9 * np.abs(shared).max())
    covariance = np.kron(np.eye(n_codes), np.linalg.inv(shared + np.eye(m)))
    spread = data.forms(np.linalg.inv(shared + np.eye(m)))
    each = data.variances(covariance.reshape(*data.shape, *data.shape))
    assert_allclose(data.pair_variances(spread), each)
    means = data.expected(data.coordinates(parameters), each)
    wide = data.moderated(data.coordinates(parameters), spread)
    far = np.abs(wide.probability - means.probability).max()
    assert far < 0.5 * np.abs(point.probability - means.probability).max()


@pytest.mark.parametrize("n_rows", [40, 9000])
def test_curvature_of_more_columns_than_are_multiplied_at_once(n_rows):
    x, code = RNG.normal(size=(n_rows, 19)), RNG.integers(6, size=n_rows)
    weight = RNG.uniform(0.5, 2.0, size=n_rows)
    data = SoftmaxRows(x, code, weight, np.zeros(19), np.ones(19), class_coding(6))
    parameters = 0.3 * RNG.normal(size=data.shape)
    seen = np.hstack([x, np.ones((n_rows, 1))])
    share = special.softmax(seen @ parameters.T @ data.coding.T, axis=1)
    inner = np.einsum("nk,kl->nkl", share, np.eye(6)) - share[:, :, None] * share[:, None]
    bend = np.einsum("n,kj,nkl,li->nji", weight, data.coding, inner, data.coding, optimize=True)
    expected = np.einsum("nji,na,nb->jaib", bend, seen, seen, optimize=True)
    found = data.derivatives(parameters)[2]
    assert_allclose(found, expected.reshape(found.shape), rtol=1e-9, atol=1e-9 * n_rows)


def scores(n, n_classes, size=2.0, seed=0):
    rng = np.random.default_rng(seed)
    j = n_classes - 1
    mean = size * rng.normal(size=(n, j))
    root = np.linalg.cholesky(
        np.stack([np.cov(rng.normal(size=(j, j + 3)) * size).reshape(j, j) for _ in range(n)])
    )
    return mean, root, class_coding(n_classes)


def between(root, coding):
    first, second = np.triu_indices(len(coding), 1)
    return (((coding[first] - coding[second]) @ root) ** 2).sum(axis=2)


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_means_are_those_over_many_draws(n_classes):
    mean, root, coding = scores(6, n_classes, size=1.0)
    z = np.random.default_rng(1).normal(size=(100_000, n_classes - 1))
    first, second = np.triu_indices(n_classes, 1)
    code = np.arange(6) % n_classes
    found = expected_softmax(mean @ coding.T, between(root, coding), code)
    logs = log_expected_softmax(mean, root, coding)
    for i in range(len(mean)):
        drawn = (mean[i] + z @ root[i].T) @ coding.T
        log_share = drawn - np.logaddexp.reduce(drawn, axis=1)[:, None]
        share = np.exp(log_share)
        assert_allclose(found.loss[i], -log_share[:, code[i]].mean(), rtol=0.06)
        assert_allclose(found.probability[i], share.mean(axis=0), atol=0.06)
        assert_allclose(np.exp(logs[i]), share.mean(axis=0), atol=0.015)
        products = (share[:, first] * share[:, second]).mean(axis=0)
        assert_allclose(found.bend[i], products, atol=0.012)


def test_two_classes_are_those_of_the_logistic_integral():
    mean, spread = np.array([-3.0, 0.5, 8.0]), np.array([0.3, 1.0, 2.5])
    both = np.stack([np.zeros(3), mean], axis=1)
    found = expected_softmax(both, spread[:, None] ** 2, np.array([1, 0, 1]))
    second = np.exp(log_logistic_normal_mean(mean, spread))
    assert_allclose(found.probability, np.stack([1.0 - second, second], axis=1), atol=3e-6)
    step = 1e-4
    slope = np.exp(log_logistic_normal_mean(mean + step, spread)) - second
    assert_allclose(found.bend[:, 0], slope / step, atol=1e-5)
    z = np.linspace(-9.0, 9.0, 2001)
    density = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    wrong = np.array([-1.0, 1.0, -1.0])[:, None] * (mean[:, None] + spread[:, None] * z)
    assert_allclose(found.loss, np.logaddexp(0.0, wrong) @ density, atol=1e-5)


def test_without_variance_they_are_values_at_a_point_however_far():
    at = np.array([[900.0, 0.0, -900.0], [0.3, 0.2, -1.0]])
    found = expected_softmax(at, np.zeros((2, 3)), np.array([2, 1]))
    share = np.exp(at - np.logaddexp.reduce(at, axis=1)[:, None])
    assert_allclose(found.probability, share, atol=1e-5)
    assert_allclose(found.loss, [1800.0, -np.log(share[1, 1])], rtol=1e-5)
    products = [share[:, 0] * share[:, 1], share[:, 0] * share[:, 2], share[:, 1] * share[:, 2]]
    assert_allclose(found.bend, np.transpose(products), atol=2e-5)
    wide = expected_softmax(at, np.full((2, 3), 1e12), np.array([2, 1]))
    assert np.isfinite(wide.loss).all()
    assert_allclose(wide.probability, 1.0 / 3.0, atol=0.01)


def test_far_tails_keep_their_digits():
    coding = class_coding(3)
    mean = np.array([[900.0, 0.0, -900.0]]) @ coding
    logs = log_expected_softmax(mean, np.eye(2)[None], coding)
    assert np.isfinite(logs).all()
    assert_allclose(logs[0, 2], -1800.0, atol=20.0)


def wide_rows(n_classes, variance, n=12):
    """Return means (n, K) and covariances (n, K, K) of scores with about this variance."""
    rng = np.random.default_rng(7)
    mixing = rng.standard_normal((n, n_classes, n_classes)) * np.sqrt(variance / n_classes)
    mean = rng.standard_normal((n, n_classes)) * np.sqrt(variance)
    return mean, mixing @ np.swapaxes(mixing, 1, 2)


def by_coordinates(mean, covariance):
    coding = class_coding(mean.shape[1])
    logs = integrated_log_probability(mean @ coding, coding.T @ covariance @ coding, coding)
    return np.exp(logs)


@pytest.mark.parametrize("variance", [0.1, 1.0, 10.0, 100.0])
def test_probabilities_of_three_classes_are_those_of_a_fine_grid(variance):
    mean, covariance = wide_rows(3, variance)
    found = by_coordinates(mean, covariance)
    coding, grid = class_coding(3), np.linspace(-7.0, 7.0, 401)
    nodes = np.array(np.meshgrid(grid, grid)).reshape(2, -1)
    weight = special.softmax(-0.5 * np.square(nodes).sum(axis=0))
    roots = np.linalg.cholesky(coding.T @ covariance @ coding)
    for row, root in enumerate(roots):
        scores = (mean[row] @ coding + (root @ nodes).T) @ coding.T
        assert_allclose(found[row], weight @ special.softmax(scores, axis=1), atol=5e-4)
    order = [2, 0, 1]
    other = by_coordinates(mean[:, order], covariance[:, order][:, :, order])
    assert_allclose(other, found[:, order], atol=1e-12)


@pytest.mark.parametrize("n_classes", [4, 10])
def test_probabilities_of_more_classes_are_close_where_scores_are_wide(n_classes):
    mean, covariance = wide_rows(n_classes, 100.0, 40)
    found = by_coordinates(mean, covariance)
    normal = np.random.default_rng(0).standard_normal((n_classes, 20_000))
    wanted = [
        special.softmax(m[:, None] + np.linalg.cholesky(c) @ normal, axis=0).mean(axis=1)
        for m, c in zip(mean, covariance, strict=True)
    ]
    # The standard error of the draws is below 0.0035.
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.008
