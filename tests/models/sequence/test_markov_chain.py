from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from credo import MarkovChain

RNG = np.random.default_rng(0)


def chain(rng, n, table):
    path = [0]
    for u in rng.random(n - 1):
        path.append(int(np.searchsorted(np.cumsum(table[path[-1]]), u)))
    return np.array(path)


TABLE = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])


def test_the_future_depends_on_the_last_symbols_alone():
    model = MarkovChain().fit(chain(RNG, 400, TABLE))
    a, table = model.start_, model.transition_
    for path in product(range(3), repeat=4):
        expected = a[path[0]] * table[path[0], path[1]]
        expected *= table[path[1], path[2]] * table[path[2], path[3]]
        assert_allclose(np.exp(model.log_prob(np.array(path))), [expected], rtol=1e-12)
    # Given its neighbors a symbol does not depend on what is further off.
    middle = [
        [model.log_prob(np.array([p, 0, s, 2, q]))[0] for s in range(3)]
        for p, q in product(range(3), repeat=2)
    ]
    share = special.softmax(np.array(middle), axis=1)
    assert_allclose(share, np.tile(share[0], (9, 1)), rtol=1e-10)


def test_marginals_are_powers_of_the_table_and_settle():
    model = MarkovChain().fit(chain(RNG, 400, TABLE))
    ahead = model.predict_ahead([2], 60)
    power = np.eye(3)[2]
    for step in range(3):
        power = power @ model.transition_
        assert_allclose(ahead[step], power, rtol=1e-12)
    assert_allclose(ahead[-1], model.stationary(), rtol=1e-9)
    assert_allclose(model.stationary() @ model.transition_, model.stationary(), rtol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_counts_tables_and_evidence_are_those_counted_by_hand(order):
    text = list("abbabaabbbab")
    model = MarkovChain(order, concentration=0.5).fit(text)
    code = [0 if c == "a" else 1 for c in text]
    counts = np.zeros((2**order, 2))
    for t in range(order, len(code)):
        context = int("".join(map(str, code[t - order : t])) or "0", 2)
        counts[context, code[t]] += 1
    assert_allclose(model.counts_, counts)
    assert_allclose(model.transition_, (counts + 0.5) / (counts.sum(axis=1) + 1.0)[:, None])
    logs, seen = 0.0, np.full((2**order, 2), 0.5)
    for t in range(order, len(code)):
        context = int("".join(map(str, code[t - order : t])) or "0", 2)
        logs += np.log(seen[context, code[t]] / seen[context].sum())
        seen[context, code[t]] += 1.0
    assert_allclose(model.log_evidence_, logs - order * np.log(2.0), rtol=1e-12)


def test_the_order_that_made_a_sequence_is_the_most_probable():
    first = chain(RNG, 600, TABLE)
    second = [0, 0]
    for u in RNG.random(800):
        second.append(int(u < (0.85 if second[-1] == second[-2] else 0.2)))
    for path, order in ((first, 1), (np.array(second), 2), (RNG.integers(3, size=500), 0)):
        table = MarkovChain().order_table(path, [0, 1, 2])
        assert table["probability"].idxmax() == order
        assert table["bic"].idxmin() == order
        assert_allclose(table["probability"].sum(), 1.0)


def test_order_test_is_uniform_under_its_order_and_finds_a_higher_one():
    levels = [MarkovChain(1).test_order(chain(RNG, 500, TABLE)).p_value for _ in range(150)]
    assert stats.kstest(levels, "uniform").pvalue > 0.005
    assert MarkovChain(0).test_order(chain(RNG, 500, TABLE)).p_value < 1e-10
    assert MarkovChain(1).test_order(chain(RNG, 500, TABLE)).df == 12
    assert MarkovChain(0).test_order(chain(RNG, 500, TABLE), higher=2).df == 16


def test_posterior_of_the_table_covers_the_truth():
    inside, draws = [], []
    for _ in range(60):
        model = MarkovChain().fit(chain(RNG, 100, TABLE))
        low, high = np.moveaxis(model.transition_interval(0.9), -1, 0)
        inside.append((low < TABLE) & (high > TABLE))
        draws.append(model.sample_posterior(2, random_state=RNG))
    assert 0.86 < np.mean(inside) < 0.95
    assert np.shape(draws[0]) == (2, 3, 3)
    assert_allclose(np.sum(draws[0], axis=-1), 1.0)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_new_sequences_have_the_table(order):
    model = MarkovChain(order).fit(chain(RNG, 300, TABLE))
    drawn = model.sample(20_000, random_state=0).astype(int)
    again = MarkovChain(order).fit(drawn)
    total = again.counts_.sum(axis=1, keepdims=True)
    gap = np.abs(again.counts_ / total - model.transition_)
    assert (gap < 5.0 * np.sqrt(0.25 / total)).all()


def test_sequences_do_not_run_into_each_other():
    model = MarkovChain().fit([np.array(["a", "b"]), np.array(["b", "a", "a"])])
    assert model.counts_.tolist() == [[1, 1], [1, 0]]
    assert model.start_.tolist() == [0.5, 0.5]
    both = model.log_prob(np.array(["a", "b", "b"]), lengths=[2, 1])
    assert_allclose(np.exp(both), [0.5 * 0.5, 0.5])


def test_a_sequence_shorter_than_the_order_has_the_probability_of_how_it_begins():
    model = MarkovChain(2).fit(chain(RNG, 200, TABLE))
    starts = model.start_.reshape(3, 3)
    assert_allclose(np.exp(model.log_prob(np.array([1]))), [starts[1].sum()])


def test_unknown_symbols_gaps_and_wrong_settings_are_refused():
    model = MarkovChain().fit(list("abab"))
    with pytest.raises(ValueError, match=r"\['a', 'b'\]; found 'c'"):
        model.log_prob(list("abc"))
    with pytest.raises(ValueError, match="a gap in row 1"):
        MarkovChain().fit(np.array(["a", None, "b"], dtype=object))
    with pytest.raises(ValueError, match="order must be"):
        MarkovChain(-1).fit(list("ab"))
    with pytest.raises(ValueError, match="concentration must be positive"):
        MarkovChain(1, 0.0).fit(list("ab"))
    with pytest.raises(ValueError, match="at least 2 symbols"):
        MarkovChain(2).fit(list("abab")).predict_ahead(["a"])
    with pytest.raises(ValueError, match="one column of symbols"):
        MarkovChain().fit(np.array([["a", "b"], ["b", "a"]]))
    with pytest.raises(ValueError, match="higher must be above"):
        MarkovChain(2).test_order(list("abab"), higher=1)
