"""Plans whose tables differ from row to row, against sums over everything."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.inference.engine.error import InferenceTooLarge
from credo.inference.hybrid.row_factor import RowTable, gathered, spread
from credo.inference.hybrid.strong_inference import RowInference, RowProblem

NAMES = ("a", "b", "c", "d", "e")
SIZES = dict(zip(NAMES, (2, 3, 2, 2, 3), strict=True))
VARIABLES = [Variable(name, tuple(range(n))) for name, n in SIZES.items()]


def random_case(seed, n_rows=4):
    """Return a prior of each variable as shared tables, and row tables over some of them."""
    rng = np.random.default_rng(seed)
    factors = []
    for i, child in enumerate(VARIABLES):
        k = int(rng.integers(0, min(2, i) + 1))
        parents = [VARIABLES[j] for j in rng.choice(i, k, replace=False)] if i else []
        scope = [*parents, child]
        sizes = [v.n_states for v in parents]
        table = rng.dirichlet(np.ones(child.n_states), size=sizes or None)
        factors.append(Factor(scope, table))
    tables = []
    for _ in range(3):
        k = int(rng.integers(0, 4))
        scope = tuple(rng.choice(NAMES, size=k, replace=False))
        rows = n_rows if rng.random() < 0.7 else 1
        values = rng.normal(scale=3.0, size=(rows, *(SIZES[n] for n in scope)))
        zero = (rng.random(values.shape) < 0.2) & (k > 0)
        tables.append(RowTable(scope, np.where(zero, -np.inf, values)))
    return (
        RowInference(factors, VARIABLES, None),
        RowProblem(n_rows, {}, tuple(tables)),
        factors,
    )


def joint(problem, factors):
    """Return the log of the whole product, shape (n_rows, 2, 3, 2, 2, 3)."""
    whole = np.zeros((problem.n_rows, *SIZES.values()))
    for table in problem.tables:
        whole = whole + spread(table.log_values, table.scope, NAMES)
    for factor in factors:
        whole = whole + spread(factor.log_table()[None], factor.names, NAMES)
    return whole


@pytest.mark.parametrize("seed", range(12))
def test_totals_and_joints_equal_sums_over_everything(seed):
    plans, problem, factors = random_case(seed)
    weight = np.exp(joint(problem, factors))
    total = weight.sum(axis=(1, 2, 3, 4, 5))
    groups = [("d", "a"), ("b",), ("e", "c", "a"), ("c",), ()]
    found, log_total = plans.joints(problem, groups)
    with np.errstate(divide="ignore"):
        assert_allclose(log_total, np.log(total), rtol=1e-10)
        assert_allclose(plans.total(problem), np.log(total), rtol=1e-10)
    for group in groups:
        others = tuple(1 + i for i, n in enumerate(NAMES) if n not in group)
        left = [n for n in NAMES if n in group]
        table = weight.sum(axis=others).transpose(0, *(1 + left.index(n) for n in group))
        with np.errstate(invalid="ignore"):
            expected = table / total.reshape(-1, *[1] * len(group))
        assert_allclose(found[group], expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_given_states_are_a_cut_through_the_tables(seed):
    plans, problem, factors = random_case(seed)
    codes = np.array([2, 0, 1, 2])
    free = tuple(t for t in problem.tables if "b" not in t.scope)
    whole = joint(RowProblem(4, {}, free), factors)[np.arange(4), :, codes]
    given = RowProblem(4, {"b": codes}, free)
    weight = np.exp(whole)
    found, log_total = plans.joints(given, [("a", "e")])
    assert_allclose(log_total, np.log(weight.sum(axis=(1, 2, 3, 4))), rtol=1e-10)
    expected = weight.sum(axis=(2, 3)) / weight.sum(axis=(1, 2, 3, 4))[:, None, None]
    assert_allclose(found["a", "e"], expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("names", [NAMES, ("d", "b")])
def test_best_states_reach_the_maximum_once_the_others_are_summed_out(seed, names):
    plans, problem, factors = random_case(seed)
    others = tuple(1 + i for i, n in enumerate(NAMES) if n not in names)
    with np.errstate(divide="ignore"):
        left = np.log(np.exp(joint(problem, factors)).sum(axis=others))
    states, log_total = plans.best(problem, names)
    best = left.reshape(problem.n_rows, -1).max(axis=1)
    assert_allclose(log_total, best, rtol=1e-10)
    cell = tuple(states[name] for name in NAMES if name in names)
    possible = np.flatnonzero(best > -np.inf)
    found = left[(np.arange(problem.n_rows), *cell)]
    assert_allclose(found[possible], best[possible], rtol=1e-10)


def test_draws_have_the_joint_frequencies():
    plans, problem, factors = random_case(1, n_rows=2)
    n = 60_000
    draws, _ = plans.draws(problem, n, np.random.default_rng(0))
    weight = np.exp(joint(problem, factors)).reshape(2, -1)
    expected = weight / weight.sum(axis=1, keepdims=True)
    flat = np.ravel_multi_index([draws[name] for name in NAMES], list(SIZES.values()))
    for row in range(2):
        share = np.bincount(flat[row], minlength=72) / n
        assert np.all(np.abs(share - expected[row]) < 5 * np.sqrt(expected[row] / n) + 1e-4)


@pytest.mark.parametrize("n_rows", [1, 20])
def test_logs_far_apart_do_not_underflow(n_rows):
    a, b = Variable("a", (0, 1)), Variable("b", (0, 1, 2))
    factors = [Factor((a,), [0.5, 0.5]), Factor((a, b), [[0.0, 0.0, 1.0], [0.2, 0.3, 0.5]])]
    tables = (
        RowTable(("a",), np.tile([[-1e6, -2e6]], (n_rows, 1))),
        RowTable(("b",), np.array([[0.0, -1.0, -np.inf]])),
    )
    plans, problem = RowInference(factors, [a, b], None), RowProblem(n_rows, {}, tables)
    found, total = plans.joints(problem, [("a",), ("a", "b")])
    expected = np.log(0.5) - 2e6 + np.log(0.2 + 0.3 * np.exp(-1.0))
    assert_allclose(total, expected, rtol=1e-14)
    assert_allclose(found["a",], [[0.0, 1.0]] * n_rows)
    states, best = plans.best(problem, ["a", "b"])
    assert (states["a"] == 1).all()
    assert (states["b"] == 0).all()
    assert_allclose(best, np.log(0.5 * 0.2) - 2e6, rtol=1e-14)
    draws, _ = plans.draws(problem, 200, np.random.default_rng(0))
    assert (draws["a"] == 1).all()
    assert set(np.unique(draws["b"])) == {0, 1}


def test_rows_ruled_out_are_nan_and_others_are_not():
    plans, problem, _ = random_case(3)
    nothing = RowTable(("a",), np.array([[0.0, 0.0], [-np.inf, -np.inf], [0, 0], [0, 0]]))
    found, total = plans.joints(
        RowProblem(4, {}, (*problem.tables, nothing)), [("b",), ("c", "d")]
    )
    assert np.isneginf(total[1])
    assert np.isnan(found["b",][1]).all()
    assert np.isnan(found["c", "d"][1]).all()


def test_plans_that_do_not_fit_are_refused():
    _, _, factors = random_case(0)
    small = RowInference(factors, VARIABLES, 8.0)
    table = RowTable(NAMES, np.zeros((1, *SIZES.values())))
    with pytest.raises(InferenceTooLarge):
        small.joints(RowProblem(4, {}, (table,)), [NAMES])


def test_gathering_indexes_each_row_by_its_own_states():
    values = np.arange(24.0).reshape(2, 3, 4)
    codes = {"a": np.array([1, 0]), "c": np.array([3, 1])}
    part, left = gathered(values, ("a", "b", "c"), codes)
    assert left == ("b",)
    assert_allclose(part, [values[1, :, 3], values[0, :, 1]])
    trailing, left = gathered(values, ("a", "b"), {"b": np.array([2])}, n_trailing=1)
    assert left == ("a",)
    assert_allclose(trailing, [values[:, 2]])
