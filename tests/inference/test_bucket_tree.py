"""Elimination of row-wise tables against sums over all combinations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.bucket_tree import BucketTree, bucket_order
from credo.inference.row_table import RowProblem, RowTable, gathered, spread

NAMES = ("a", "b", "c", "d", "e")
SIZES = dict(zip(NAMES, (2, 3, 2, 2, 3), strict=True))


def random_problem(seed, n_rows=4):
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(6):
        k = int(rng.integers(1, 4))
        scope = tuple(rng.choice(NAMES, size=k, replace=False))
        rows = n_rows if rng.random() < 0.5 else 1
        values = rng.normal(scale=3.0, size=(rows, *(SIZES[n] for n in scope)))
        tables.append(
            RowTable(scope, np.where(rng.random(values.shape) < 0.1, -np.inf, values))
        )
    return RowProblem(n_rows, SIZES, tuple(tables), rng.normal(size=n_rows))


def joint(problem):
    """Return the log of the whole product, shape (n_rows, 2, 3, 2, 2, 3)."""
    whole = np.zeros((problem.n_rows, *SIZES.values()))
    whole += problem.log_constant.reshape(-1, 1, 1, 1, 1, 1)
    for table in problem.tables:
        whole = whole + spread(table.log_values, table.scope, NAMES)
    return whole


@pytest.mark.parametrize("seed", range(12))
def test_totals_and_joints_equal_sums_over_everything(seed):
    problem = random_problem(seed)
    weight = np.exp(joint(problem))
    total = weight.sum(axis=(1, 2, 3, 4, 5))
    groups = [("d", "a"), ("b",), ("e", "c", "a")]
    tree = BucketTree.of(problem, groups)
    with np.errstate(divide="ignore"):
        assert_allclose(tree.log_total, np.log(total), rtol=1e-10)
    for group, found in zip(groups, tree.log_joints(groups), strict=True):
        others = tuple(1 + i for i, n in enumerate(NAMES) if n not in group)
        left = [n for n in NAMES if n in group]
        table = weight.sum(axis=others).transpose(0, *(1 + left.index(n) for n in group))
        with np.errstate(invalid="ignore"):
            expected = table / total.reshape(-1, *[1] * len(group))
        assert_allclose(np.exp(found), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_the_maximum_is_reached_by_the_states_walked_back_to(seed):
    problem = random_problem(seed)
    whole = joint(problem)
    tree = BucketTree.of(problem, maximized=NAMES)
    states = tree.assignment(NAMES)
    flat = whole.reshape(problem.n_rows, -1).max(axis=1)
    assert_allclose(tree.log_total, flat, rtol=1e-12)
    cell = tuple(states[name] for name in NAMES)
    assert_allclose(whole[(np.arange(problem.n_rows), *cell)], flat, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_some_are_maximized_after_the_others_are_summed_out(seed):
    problem = random_problem(seed)
    with np.errstate(divide="ignore"):
        left = np.log(np.exp(joint(problem)).sum(axis=(1, 3, 5)))
    tree = BucketTree.of(problem, maximized=("d", "b"))
    states = tree.assignment(("d", "b"))
    assert set(states) == {"b", "d"}
    best = left.reshape(problem.n_rows, -1).max(axis=1)
    assert_allclose(tree.log_total, best, rtol=1e-10)
    rows = np.arange(problem.n_rows)
    assert_allclose(left[rows, states["b"], states["d"]], best, rtol=1e-10)


def test_draws_have_the_joint_frequencies():
    problem = random_problem(1, n_rows=2)
    n = 60_000
    draws = BucketTree.of(problem).sample(np.repeat([0, 1], n), np.random.default_rng(0))
    weight = np.exp(joint(problem)).reshape(2, -1)
    expected = weight / weight.sum(axis=1, keepdims=True)
    flat = np.ravel_multi_index([draws[name] for name in NAMES], list(SIZES.values()))
    for row in range(2):
        share = np.bincount(flat.reshape(2, n)[row], minlength=72) / n
        assert np.all(np.abs(share - expected[row]) < 5 * np.sqrt(expected[row] / n) + 1e-4)


def test_logs_far_apart_do_not_underflow():
    tables = (
        RowTable(("a",), np.array([[-1e6, -2e6]])),
        RowTable(("a", "b"), np.array([[[-np.inf, -np.inf, -np.inf], [0.0, -1.0, -2.0]]])),
    )
    problem = RowProblem(1, {"a": 2, "b": 3}, tables, np.zeros(1))
    tree = BucketTree.of(problem)
    assert_allclose(tree.log_total, -2e6 + np.log(np.exp([0, -1, -2]).sum()))
    assert_allclose(np.exp(tree.log_joints([("a",)])[0]), [[0.0, 1.0]])


def test_variables_in_no_table_are_uniform():
    problem = RowProblem(2, {"a": 2, "b": 4}, (), np.zeros(2))
    tree = BucketTree.of(problem)
    assert_allclose(tree.log_total, np.log(8.0))
    assert_allclose(np.exp(tree.log_joints([("b",)])[0]), np.full((2, 4), 0.25))


def test_chains_are_eliminated_in_buckets_of_two():
    names = [f"x{i}" for i in range(30)]
    scopes = [(names[i], names[i + 1]) for i in range(29)]
    plan = bucket_order({name: 2 for name in names}, scopes)
    assert sorted(plan.order) == sorted(names)
    assert (plan.cells, plan.width) == (29 * 4 + 2, 1)


def test_gathering_indexes_each_row_by_its_own_states():
    values = np.arange(24.0).reshape(2, 3, 4)
    codes = {"a": np.array([1, 0]), "c": np.array([3, 1])}
    part, left = gathered(values, ("a", "b", "c"), codes)
    assert left == ("b",)
    assert_allclose(part, [values[1, :, 3], values[0, :, 1]])
    trailing, left = gathered(values, ("a", "b"), {"b": np.array([2])}, n_trailing=1)
    assert left == ("a",)
    assert_allclose(trailing, [values[:, 2]])
