import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from credo.inference.discrete.exact.contraction_tree import Leaf, contraction_tree

LETTERS = "abcdefghijkl"


def random_leaves(rng, n=6, has_heads=True, dropped=0.0):
    """Return leaves, their tables, and the numbers of states; some variables lack a table."""
    n_states = [int(k) for k in rng.integers(2, 4, size=n)]
    leaves, tables = [], []
    for child in range(n):
        parents = [i for i in range(child) if rng.random() < 0.4]
        scope = (*parents, child)
        if rng.random() < dropped:
            continue
        values = rng.random([n_states[i] for i in scope]) + 0.05
        is_conditional = has_heads and rng.random() < 0.7
        if is_conditional:
            values /= values.sum(axis=-1, keepdims=True)
        leaves.append(Leaf(frozenset(scope), child=child if is_conditional else None))
        tables.append((scope, values))
    return leaves, tables, n_states


def contract(left, right, kept):
    """Return the product of two labelled tables summed down to some variables."""
    operands = [item for item in (left, right) if item is not None]
    names = [i for scope, _ in operands for i in scope]
    out = tuple(i for i in dict.fromkeys(names) if i in kept)
    text = ",".join("".join(LETTERS[i] for i in scope) for scope, _ in operands)
    text += "->" + "".join(LETTERS[i] for i in out)
    return out, np.einsum(text, *(values for _, values in operands))


def walked(tree, tables):
    """Return the value of every node, computed upwards without any shortcut."""
    values = []
    for node in tree.nodes:
        if node.leaf is not None:
            values.append(tables[node.leaf])
            continue
        right = None if node.right is None else values[node.right]
        values.append(contract(values[node.left], right, node.scope))
    return values


def product_of(tables, kept):
    """Return the sum of the product of all tables over all but some variables."""
    text = ",".join("".join(LETTERS[i] for i in scope) for scope, _ in tables)
    text += "->" + "".join(LETTERS[i] for i in kept)
    return np.einsum(text, *(values for _, values in tables))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_tops_multiply_to_the_sum_over_all_states(seed, has_heads):
    rng = np.random.default_rng(seed)
    leaves, tables, n_states = random_leaves(rng, has_heads=has_heads, dropped=0.2)
    if not leaves:
        return
    order = [int(i) for i in rng.permutation(6)]
    tree = contraction_tree(leaves, [order], n_states)
    values = walked(tree, tables)
    total = np.prod([float(values[root][1]) for root in tree.roots])
    assert_allclose(total, product_of(tables, ()), rtol=1e-10)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_variables_that_are_kept_end_in_one_joint_table(seed, n_kept):
    rng = np.random.default_rng(seed)
    leaves, tables, n_states = random_leaves(rng)
    order = [int(i) for i in rng.permutation(6)]
    kept = sorted(order[:n_kept])
    tree = contraction_tree(leaves, [order[n_kept:]], n_states, kept)
    (root,) = tree.roots
    scope, values = walked(tree, tables)[root]
    expected = product_of(tables, kept)
    found = np.transpose(values, [scope.index(i) for i in kept])
    assert_allclose(found, expected, rtol=1e-10)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_nodes_said_to_be_one_are_one_and_numeric_scopes_tell_what_matters(seed):
    rng = np.random.default_rng(seed)
    leaves, tables, n_states = random_leaves(rng, dropped=0.3)
    order = [int(i) for i in rng.permutation(6)]
    tree = contraction_tree(leaves, [order], n_states)
    for node, (scope, values) in zip(tree.nodes, walked(tree, tables), strict=True):
        assert node.numeric <= node.scope
        if node.is_one:
            assert_allclose(values, np.ones(values.shape), rtol=1e-10)
        for axis, i in enumerate(scope):
            if i not in node.numeric:
                assert_allclose(values, np.take(values, [0], axis=axis) * np.ones(values.shape))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_every_variable_goes_once_and_every_node_is_used_once(seed):
    rng = np.random.default_rng(seed)
    leaves, _, n_states = random_leaves(rng)
    tree = contraction_tree(leaves, [[int(i) for i in rng.permutation(6)]], n_states)
    gone = [i for node in tree.nodes for i in node.gone]
    assert sorted(gone) == list(range(6))
    used = [i for node in tree.nodes for i in (node.left, node.right) if i is not None]
    assert sorted([*used, *tree.roots]) == list(range(len(tree.nodes)))
    assert all(i < n for n, node in enumerate(tree.nodes) for i in (node.left, node.right)
               if i is not None)  # fmt: skip
    assert [node.leaf for node in tree.nodes if node.leaf is not None] == list(range(6))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_no_variable_of_a_later_phase_goes_before_all_of_an_earlier_one(seed):
    rng = np.random.default_rng(seed)
    leaves, _, n_states = random_leaves(rng, has_heads=False)
    order = [int(i) for i in rng.permutation(6)]
    tree = contraction_tree(leaves, [order[:3], order[3:]], n_states)
    time = {i: n for n, node in enumerate(tree.nodes) for i in node.gone}
    assert set(time) == set(range(6))
    for node in tree.nodes:
        assert not (node.gone & set(order[:3]) and node.gone & set(order[3:]))
    # A later variable waits for every earlier one below it in the tree.
    below = [set() for _ in tree.nodes]
    for n, node in enumerate(tree.nodes):
        below[n] |= node.gone
        for i in (node.left, node.right):
            if i is not None:
                below[n] |= below[i]
        if node.gone & set(order[3:]):
            assert not (node.scope & set(order[:3]))


def test_a_product_moves_with_the_row_if_a_part_does():
    leaves = [Leaf(frozenset([0])), Leaf(frozenset([0, 1]), moves=True), Leaf(frozenset([2]))]
    tree = contraction_tree(leaves, [[0, 1, 2]], [2, 2, 2])
    moves = {tuple(sorted(node.gone)): node.moves for node in tree.nodes if node.leaf is None}
    assert moves[(2,)] is False
    assert any(node.moves for node in tree.nodes if 0 in node.gone)
    assert [tree.nodes[root].moves for root in tree.roots].count(True) == 1


@pytest.mark.parametrize("n", [11, 12, 13, 14, 40])
def test_many_tables_of_one_variable_are_multiplied_all_the_same(n):
    rng = np.random.default_rng(n)
    tables = [((0,), rng.random(3)) for _ in range(n)]
    tree = contraction_tree([Leaf(frozenset([0]))] * n, [[0]], [3])
    (root,) = tree.roots
    value = float(walked(tree, tables)[root][1])
    assert_allclose(value, np.prod([values for _, values in tables], axis=0).sum(), rtol=1e-12)


def test_a_conditional_distribution_summed_over_its_child_is_one():
    tree = contraction_tree([Leaf(frozenset([0, 1]), child=1)], [[1]], [2, 2], kept=[0])
    first = next(node for node in tree.nodes if node.gone == {1})
    assert first.is_one
    assert (first.scope, first.numeric) == (frozenset([0]), frozenset())
    parent = contraction_tree([Leaf(frozenset([0, 1]), child=0)], [[1]], [2, 2], kept=[0])
    summed = next(node for node in parent.nodes if node.gone == {1})
    assert not summed.is_one
    assert summed.numeric == frozenset([0])
