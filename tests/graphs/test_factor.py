import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.graphs import Factor, UnknownState, UnknownVariable, Variable

A, B, C = (Variable(name, (True, False)) for name in "ABC")
LEFT = Factor([A, B], [[0.3, 0.9], [0.4, 0.1]])
RIGHT = Factor([B, C], [[0.1, 0.8], [0.8, 0.3]])
POOL = [Variable(f"v{i}", tuple(range(2 + i % 2))) for i in range(4)]


def random_factor(rng):
    scope = [POOL[i] for i in rng.permutation(4)[: rng.integers(1, 4)]]
    return Factor(scope, rng.gamma(0.5, size=[v.n_states for v in scope]), rng.normal(0, 5))


def einsum(factors, keep):
    letter = {variable.name: i for i, variable in enumerate(POOL)}
    operands = []
    for factor in factors:
        operands += [factor.table(), [letter[name] for name in factor.names]]
    return np.einsum(*operands, [letter[name] for name in keep])


def test_product_matches_shared_variables_and_has_the_printed_entries():
    product = LEFT * RIGHT
    assert product.names == ("A", "B", "C")
    printed = [0.03, 0.24, 0.72, 0.27, 0.04, 0.32, 0.08, 0.03]
    assert_allclose(product.table().ravel(), printed)


def test_summing_out_the_shared_variable_has_the_printed_entries():
    assert_allclose((LEFT * RIGHT).sum_out("B").table(), [[0.75, 0.51], [0.12, 0.35]])


def test_restricting_takes_the_entries_of_the_given_state():
    assert_allclose(LEFT.restrict({"B": False}).table(), [0.9, 0.1])
    assert_allclose(LEFT.restrict({"B": False, "A": True}).table(), 0.9)


def test_maximizing_out_takes_the_largest_entry():
    assert_allclose(LEFT.max_out("A").table(), [0.4, 0.9])
    assert_allclose(LEFT.max_out("A", "B").table(), 0.9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_products_and_sums_are_those_of_einsum(seed):
    rng = np.random.default_rng(seed)
    left, right = random_factor(rng), random_factor(rng)
    product = left * right
    assert_allclose(product.table(), einsum([left, right], product.names))
    assert_allclose((right * left).spread(product.variables), product.values, rtol=1e-12)
    rest = [name for name in product.names if name != right.names[0]]
    assert_allclose(product.sum_out(right.names[0]).table(), einsum([left, right], rest))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_sums_may_move_past_factors_that_lack_the_variable(seed):
    rng = np.random.default_rng(seed)
    left, right = random_factor(rng), random_factor(rng)
    alone = [name for name in left.names if name not in right.names]
    if alone:
        inside, outside = left.sum_out(alone[0]) * right, (left * right).sum_out(alone[0])
        assert_allclose(inside.log_table(), outside.log_table(), rtol=1e-10, atol=1e-10)


def test_thousands_of_tiny_factors_neither_underflow_nor_lose_digits():
    total = Factor([A], [1.0, 1.0])
    for i in range(5001):
        total = total * Factor([A], [1e-3, 2e-3] if i % 2 else [2e-3, 1e-3])
    even = 2500 * (np.log(1e-3) + np.log(2e-3))
    assert_allclose(total.log_table(), [even + np.log(2e-3), even + np.log(1e-3)], rtol=1e-12)
    assert total.values.max() == 1.0


def test_normalized_sums_to_one_whatever_the_scale():
    factor = Factor([A, B], [[1.0, 2.0], [3.0, 4.0]], log_scale=-2000.0)
    assert_allclose(factor.normalized().table(), [[0.1, 0.2], [0.3, 0.4]])


def test_zero_everywhere_stays_zero():
    factor = Factor([A], [0.0, 0.0])
    assert np.all(np.isneginf(factor.log_table()))
    assert_allclose((factor * LEFT).table(), 0.0)


def test_series_is_labelled_by_states():
    assert LEFT.series().loc[(False, True)] == pytest.approx(0.4)
    single = LEFT.sum_out("B").series()
    assert single.index.name == "A"
    assert_allclose(single.loc[True], 1.2)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_entries_must_be_finite_and_not_negative(bad):
    with pytest.raises(ValueError, match="finite and not negative"):
        Factor([A], [1.0, bad])


def test_wrong_shapes_and_repeated_variables_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for \['A', 'B'\]; found \(4,\)"):
        Factor([A, B], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(ValueError, match="one axis per distinct variable"):
        Factor([A, A], np.ones((2, 2)))


def test_unknown_names_and_states_are_named():
    with pytest.raises(UnknownVariable, match="found 'Z'"):
        LEFT.sum_out("Z")
    with pytest.raises(UnknownState, match="state of A must be one of"):
        LEFT.restrict({"A": "maybe"})


def tiny_factors():
    """Return two tables that all but rule out a state, and one that rules out the other."""
    x = Variable("x", ("a", "b"))
    return Factor((x,), [1e-200, 1.0]), Factor((x,), [1e-200, 1.0]), Factor((x,), [1.0, 0.0])


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
def test_entries_that_no_number_holds_survive_until_they_matter(order):
    parts = tiny_factors()
    first, second, third = (parts[i] for i in order)
    for product in ((first * second) * third, first * (second * third)):
        assert product.values.tolist() == [1.0, 0.0]
        assert_allclose(product.log_scale, 2 * np.log(1e-200), rtol=1e-14)
        assert product.log_values is None


def test_sums_maxima_and_restrictions_of_lost_entries_keep_their_logs():
    first, second, _ = tiny_factors()
    y = Variable("y", (0, 1, 2))
    both = first * second * Factor((y,), [1.0, 2.0, 5.0])
    assert_allclose(both.log_table()[0], 2 * np.log(1e-200) + np.log([1, 2, 5]), rtol=1e-14)
    assert_allclose(both.restrict({"x": "a"}).table(), 0.0, atol=1e-300)
    assert_allclose(both.restrict({"x": "a"}).normalized().table(), [0.125, 0.25, 0.625])
    low = both.sum_out("y").log_table()[0]
    assert_allclose(low, 2 * np.log(1e-200) + np.log(8), rtol=1e-14)
    high = both.max_out("y").log_table()[0]
    assert_allclose(high, 2 * np.log(1e-200) + np.log(5), rtol=1e-14)
    assert_allclose(both.normalized().log_table()[0, 1], 2 * np.log(1e-200) + np.log(0.25))


def test_a_table_that_spans_more_than_numbers_do_keeps_its_digits():
    x = Variable("x", ("a", "b"))
    wide = Factor((x,), [3e-300, 1e300])
    assert_allclose(wide.log_table(), np.log([3e-300, 1e300]), rtol=1e-15)
    assert_allclose(wide.restrict({"x": "a"}).table(), 3e-300, rtol=1e-13)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_products_and_sums_of_any_range_are_those_of_logs(seed):
    rng = np.random.default_rng(seed)
    x, y = Variable("x", (0, 1, 2)), Variable("y", (0, 1))
    logs = rng.uniform(-600, 0, size=(4, 3, 2))
    logs[rng.random(logs.shape) < 0.2] = -np.inf
    product = Factor.from_logs((x, y), logs[0])
    for other in logs[1:]:
        product = product * Factor.from_logs((y, x), other.T)
    total = logs.sum(axis=0)
    assert_allclose(product.log_table(), total, rtol=1e-12)
    assert_allclose(product.sum_out("y").log_table(), np.logaddexp(*total.T), rtol=1e-12)
    assert_allclose(product.max_out("x").log_table(), total.max(axis=0), rtol=1e-12)


def test_names_instead_of_variables_are_refused():
    with pytest.raises(ValueError, match=r"must be Variables; found 'a'. Write them as"):
        Factor(("a", "b"), [[1.0, 2.0], [2.0, 1.0]])
