from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.graphs import NoisyMax, NoisyOr, UnknownState, Variable
from naive import summed_product

CHILD = Variable("fever", (False, True))


def causes(n, states=(False, True)):
    return [Variable(f"cause{i}", states) for i in range(n)]


def random_max(n, n_states, seed):
    rng = np.random.default_rng(seed)
    parents = [Variable(f"p{i}", tuple(range(int(rng.integers(2, 4))))) for i in range(n)]
    effects = {p.name: rng.dirichlet(np.ones(n_states), p.n_states) for p in parents}
    spec = NoisyMax(effects, leak=rng.dirichlet(np.ones(n_states)))
    return spec, parents, Variable("effect", tuple(range(n_states)))


def test_noisy_or_is_the_product_of_failures():
    chance = {"cause0": 0.8, "cause1": 0.3, "cause2": 0.55}
    table = NoisyOr(chance, leak=0.05).bind(CHILD, causes(3)).table().table()
    for setting in product((0, 1), repeat=3):
        failures = [1 - p for p, on in zip(chance.values(), setting, strict=True) if on]
        assert_allclose(table[setting][0], 0.95 * np.prod(failures))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 12])
def test_chain_of_noisy_or_is_the_whole_table(n):
    rng = np.random.default_rng(n)
    parents = causes(n)
    node = NoisyOr({p.name: rng.uniform() for p in parents}, leak=0.1).bind(CHILD, parents)
    keep = [*(p.name for p in parents), "fever"]
    assert_allclose(summed_product(node.factors(), keep), node.table().table(), atol=1e-15)


@pytest.mark.parametrize(("n", "n_states"), [(1, 3), (2, 4), (5, 3), (7, 2)])
def test_chain_of_noisy_max_is_the_whole_table(n, n_states):
    spec, parents, child = random_max(n, n_states, seed=n)
    node = spec.bind(child, parents)
    keep = [*(p.name for p in parents), "effect"]
    assert_allclose(summed_product(node.factors(), keep), node.table().table(), atol=1e-15)


def test_noisy_max_is_the_distribution_of_the_highest_effect():
    spec, parents, child = random_max(2, 3, seed=9)
    table = spec.bind(child, parents).table().table()
    for x, y in np.ndindex(table.shape[:2]):
        wanted = np.zeros(3)
        for effects in product(range(3), repeat=3):
            rows = spec.effects["p0"][x], spec.effects["p1"][y], spec.leak
            wanted[max(effects)] += np.prod([r[e] for r, e in zip(rows, effects, strict=True)])
        assert_allclose(table[x, y], wanted)


def test_noisy_max_of_descending_states_is_the_mirror_image():
    spec, parents, child = random_max(3, 3, seed=2)
    mirrored = NoisyMax(
        {name: effect[:, ::-1] for name, effect in spec.effects.items()},
        spec.leak[::-1],
        is_descending=True,
    )
    plain, turned = spec.bind(child, parents), mirrored.bind(child, parents)
    assert_allclose(turned.table().table()[..., ::-1], plain.table().table())
    keep = [*(p.name for p in parents), "effect"]
    assert_allclose(summed_product(turned.factors(), keep), turned.table().table(), atol=1e-15)
    assert turned.n_parameters == plain.n_parameters


def test_forty_parents_stay_linear_in_size():
    parents = causes(40)
    node = NoisyOr({p.name: 0.02 for p in parents}, leak=0.001).bind(CHILD, parents)
    factors = node.factors()
    assert sum(factor.values.size for factor in factors) == 4 + 39 * 8
    assert max(len(factor.variables) for factor in factors) == 3
    every = {p.name: np.ones(1, dtype=int) for p in parents}
    wanted = np.log1p(-0.001) + 40 * np.log1p(-0.02)
    assert_allclose(node.log_prob({**every, "fever": np.array([0])}), wanted)
    with pytest.raises(MemoryError, match=r"for 40 parents. Use factors"):
        node.table()


def test_factors_are_conditional_distributions_along_the_chain():
    spec, parents, child = random_max(4, 3, seed=5)
    for factor in spec.bind(child, parents).factors():
        assert_allclose(factor.table().sum(axis=-1), 1.0)
        assert factor.values.min() >= 0


def test_tiny_chances_keep_their_digits():
    node = NoisyOr({"cause0": 1e-14, "cause1": 3e-14}).bind(CHILD, causes(2))
    both = {"cause0": np.array([1]), "cause1": np.array([1]), "fever": np.array([1])}
    assert_allclose(np.exp(node.log_prob(both)), 4e-14, rtol=1e-10)


def test_log_prob_of_rows_reads_the_whole_table():
    spec, parents, child = random_max(4, 3, seed=6)
    node = spec.bind(child, parents)
    rng = np.random.default_rng(0)
    rows = {v.name: rng.integers(v.n_states, size=80) for v in (*parents, child)}
    wanted = node.table().log_table()[tuple(rows[v.name] for v in (*parents, child))]
    assert_allclose(node.log_prob(rows), wanted)


def test_draws_have_the_frequencies_of_the_table():
    spec, parents, child = random_max(2, 3, seed=7)
    node = spec.bind(child, parents)
    rng = np.random.default_rng(1)
    n = 60_000
    rows = {p.name: rng.integers(p.n_states, size=n) for p in parents}
    drawn = node.sample(rows, n, rng)
    table = node.table().table()
    for cell in np.ndindex(table.shape[:-1]):
        here = np.all([rows[p.name] == i for p, i in zip(parents, cell, strict=True)], axis=0)
        share = np.bincount(drawn[here], minlength=3) / here.sum()
        error = np.sqrt(table[cell] * (1 - table[cell]) / here.sum())
        assert np.all(np.abs(share - table[cell]) <= 4.5 * error)


def test_states_listed_yes_first_mean_the_same():
    parents, child = causes(2, ("yes", "no")), Variable("fever", ("yes", "no"))
    chance = {"cause0": 0.8, "cause1": 0.3}
    turned = NoisyOr(chance, 0.1).bind(child, parents)
    plain = NoisyOr(chance, 0.1).bind(CHILD, causes(2))
    assert_allclose(turned.table().table()[::-1, ::-1, ::-1], plain.table().table())
    keep = ["cause0", "cause1", "fever"]
    assert_allclose(summed_product(turned.factors(), keep), turned.table().table(), atol=1e-15)


def test_parameters_count_causes_and_a_leak_that_exists():
    chance = {"cause0": 0.8, "cause1": 0.3}
    assert NoisyOr(chance).bind(CHILD, causes(2)).n_parameters == 2
    assert NoisyOr(chance, 0.1).bind(CHILD, causes(2)).n_parameters == 3
    turned = Variable("fever", ("yes", "no"))
    assert NoisyOr(chance).bind(turned, causes(2)).n_parameters == 2


def test_unclear_presence_is_asked_for():
    pressure = Variable("pressure", ("high", "low"))
    spec = NoisyOr({"pressure": 0.5})
    with pytest.raises(ValueError, match=r"present=\{'pressure': 'low'\}"):
        spec.bind(CHILD, [pressure])
    told = NoisyOr({"pressure": 0.5}, present={"pressure": "high"}).bind(CHILD, [pressure])
    assert_allclose(told.table().table(), [[0.5, 0.5], [1.0, 0.0]])
    with pytest.raises(UnknownState, match="Did you mean 'high'"):
        NoisyOr({"pressure": 0.5}, present={"pressure": "hihg"}).bind(CHILD, [pressure])


def test_more_than_two_states_are_sent_to_noisy_max():
    with pytest.raises(ValueError, match=r"must have two states.*Use NoisyMax"):
        NoisyOr({"cause0": 0.5}).bind(CHILD, causes(1, (0, 1, 2)))


def test_names_must_be_those_of_the_parents():
    with pytest.raises(
        ValueError, match=r"each of its parents \['cause0', 'cause1'\]; found \['ca"
    ):
        NoisyOr({"cause0": 0.5}).bind(CHILD, causes(2))
    with pytest.raises(ValueError, match="Did you mean 'cause1'"):
        NoisyMax({"cause0": np.eye(2), "couse1": np.eye(2)}).bind(CHILD, causes(2))


@pytest.mark.parametrize("bad", [-0.1, 1.2, np.nan])
def test_chances_outside_zero_and_one_are_refused(bad):
    with pytest.raises(ValueError, match="between 0 and 1"):
        NoisyOr({"cause0": bad})
    with pytest.raises(ValueError, match="probability of leak"):
        NoisyOr({"cause0": 0.5}, leak=bad)
