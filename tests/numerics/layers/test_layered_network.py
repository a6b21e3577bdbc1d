"""Layers of units against worked numbers, differences, and other ways to write them."""

import numpy as np
import pytest

from credo.numerics.layers.activation import ACTIVATIONS, activation_named
from credo.numerics.layers.layered_network import LayeredNetwork, LossDerivatives
from credo.numerics.optimize.difference import (
    check_gradient,
    finite_difference_gradient,
)

WORKED = np.array([0.1, -0.2, 0.4, 0.3, 0.05, -0.1, 0.7, -0.5, 0.2])


def squared_error(y):
    def loss(outputs):
        n, k = outputs.shape
        curvature = np.tile(2.0 * np.eye(k), (n, 1, 1))
        return LossDerivatives(
            float(((outputs - y) ** 2).sum()), 2.0 * (outputs - y), curvature
        )

    return loss


def problem(activation, sizes=(3, 4, 3, 2), n=7):
    rng = np.random.default_rng(0)
    network = LayeredNetwork(sizes, activation)
    x, y = rng.normal(size=(n, sizes[0])), rng.normal(size=(n, sizes[-1]))
    return network, rng.normal(size=network.n_parameters), x, y


def test_worked_network_has_the_printed_values():
    network, x = LayeredNetwork((2, 2, 1), "sigmoid"), np.array([[1.0, 2.0]])
    seen = network.forward(WORKED, x)
    np.testing.assert_allclose(seen.units[1][0], [0.7211151780, 0.5744425168], atol=1e-10)
    np.testing.assert_allclose(network.outputs(WORKED, x), 0.4175593662, atol=1e-10)
    probability = activation_named("sigmoid").value(seen.outputs[0, 0])
    np.testing.assert_allclose(probability, 0.6028990804, atol=1e-10)


def test_backpropagation_gives_the_printed_gradient():
    network, x = LayeredNetwork((2, 2, 1), "sigmoid"), np.array([[1.0, 2.0]])
    seen = network.forward(WORKED, x)
    loss = squared_error(np.array([[1.0]]))(seen.outputs)
    assert loss.value == pytest.approx(0.3392370919, abs=1e-10)
    printed = [-0.1639869230, 0.1423824541, -0.3279738460, 0.2847649080, -0.1639869230]
    printed += [0.1423824541, -0.8400135627, -0.6691573272, -1.1648812676]
    found = network.pull_back(WORKED, seen, loss.slope)
    np.testing.assert_allclose(found, printed, atol=1e-9)


@pytest.mark.parametrize("activation", ["identity", "sigmoid", "tanh", "relu"])
def test_gradient_jacobian_and_products_agree_with_differences(activation):
    network, w, x, y = problem(activation)
    loss = squared_error(y)

    def value(parameters):
        return loss(network.outputs(parameters, x)).value

    def gradient(parameters):
        seen = network.forward(parameters, x)
        return network.pull_back(parameters, seen, loss(seen.outputs).slope)

    check_gradient(value, gradient, w)
    jacobian = network.jacobian(w, x)
    for row, output in ((0, 0), (3, 1), (6, 1)):
        expected = finite_difference_gradient(
            lambda p, i=row, j=output: network.outputs(p, x)[i, j], w
        )
        np.testing.assert_allclose(jacobian[row, output], expected, atol=1e-8)
    seen = network.forward(w, x)
    direction = np.random.default_rng(1).normal(size=len(w))
    np.testing.assert_allclose(
        network.push_forward(w, seen, direction), jacobian @ direction, atol=1e-12
    )
    step = 1e-5
    expected = (gradient(w + step * direction) - gradient(w - step * direction)) / (2 * step)
    found = network.hessian_product(w, seen, loss(seen.outputs), direction)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_exact_hessian_is_that_of_differences_and_gauss_newton_where_residuals_vanish():
    network, w, x, _ = problem("tanh", (2, 3, 1))
    y = network.outputs(w, x)
    hessian = network.hessian(w, x, squared_error(y + 0.3))
    expected = np.stack(
        [
            finite_difference_gradient(
                lambda p, i=i: network.pull_back(
                    p,
                    network.forward(p, x),
                    squared_error(y + 0.3)(network.outputs(p, x)).slope,
                )[i],
                w,
            )
            for i in range(len(w))
        ]
    )
    np.testing.assert_allclose(hessian, expected, atol=1e-6)
    jacobian = network.jacobian(w, x)[:, 0]
    exact = network.hessian(w, x, squared_error(y))
    np.testing.assert_allclose(exact, 2.0 * jacobian.T @ jacobian, atol=1e-12)


def test_linear_units_are_a_product_of_matrices():
    network, w, x, _ = problem("identity")
    expected = x
    for weights, biases in network.layers(w):
        expected = expected @ weights + biases
    np.testing.assert_allclose(network.outputs(w, x), expected, atol=1e-12)


def test_jacobian_of_the_last_layers_is_the_end_of_the_whole():
    network, w, x, _ = problem("tanh")
    whole = network.jacobian(w, x)
    for first in range(network.n_layers):
        part = network.jacobian(w, x, first)
        np.testing.assert_array_equal(part, whole[..., network.ends[first] :])


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_slope_and_bend_of_each_activation_agree_with_differences(name):
    unit = ACTIVATIONS[name]
    z = np.array([-2.1, -0.3, 0.4, 1.7])
    a, h = unit.value(z), 1e-5
    slope = (unit.value(z + h) - unit.value(z - h)) / (2 * h)
    np.testing.assert_allclose(unit.slope(z, a), slope, atol=1e-9)
    ahead, behind = (unit.slope(z + s, unit.value(z + s)) for s in (h, -h))
    np.testing.assert_allclose(unit.bend(z, a), (ahead - behind) / (2 * h), atol=1e-9)


def test_threshold_units_decide_as_a_perceptron_does():
    network = LayeredNetwork((2, 1, 1), "threshold")
    w = np.array([1.0, 1.0, -1.5, 1.0, 0.0])
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(network.outputs(w, corners)[:, 0], [0.0, 0.0, 0.0, 1.0])


def test_an_unknown_activation_names_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'tanh'"):
        activation_named("tahn")
    with pytest.raises(ValueError, match="at least one unit"):
        LayeredNetwork((2, 0, 1))
