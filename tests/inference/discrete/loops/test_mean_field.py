import numpy as np
from numpy.testing import assert_allclose

from credo.inference.discrete.loops.flat_tables import flat_tables
from credo.inference.discrete.loops.mean_field import mean_field_bound, mean_field_sweep


def test_the_bound_is_expected_log_density_plus_entropy():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3)), rng.random((3, 2))
    net = flat_tables([2, 3, 2], [(0, 1), (1, 2)], [a, b])
    q = [rng.dirichlet(np.ones(n)) for n in (2, 3, 2)]
    joint = np.einsum("i,j,k->ijk", *q)
    expected = (joint * (np.log(a)[:, :, None] + np.log(b)[None] - np.log(joint))).sum()
    assert_allclose(mean_field_bound(net, np.concatenate(q)), expected)


def test_an_update_maximizes_the_bound_over_one_variable():
    rng = np.random.default_rng(1)
    net = flat_tables([2, 3], [(0, 1), (1,)], [rng.random((2, 3)), rng.random(3)])
    start = np.concatenate([[0.5, 0.5], rng.dirichlet(np.ones(3))])
    after, _ = mean_field_sweep(net, start)
    best = mean_field_bound(net, after)
    for _ in range(50):
        other = np.concatenate([after[:2], rng.dirichlet(np.ones(3))])
        assert mean_field_bound(net, other) <= best + 1e-12


def test_a_product_that_keeps_clear_of_zeros_has_a_finite_bound():
    net = flat_tables([2, 2], [(0, 1)], [np.array([[0.0, 0.3], [0.4, 0.3]])])
    assert_allclose(mean_field_bound(net, np.array([0.0, 1.0, 1.0, 0.0])), np.log(0.4))
    after, _ = mean_field_sweep(net, np.array([0.0, 1.0, 1.0, 0.0]))
    assert_allclose(after, [0, 1, 4 / 7, 3 / 7])
    assert mean_field_bound(net, np.full(4, 0.5)) == -np.inf


def test_a_sweep_at_a_fixed_point_changes_nothing():
    net = flat_tables([2, 2], [(0,), (1,)], [np.array([0.2, 0.8]), np.array([0.5, 0.5])])
    after, _ = mean_field_sweep(net, np.full(4, 0.5))
    assert mean_field_sweep(net, after)[1] < 1e-15
