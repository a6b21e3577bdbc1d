import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.discrete.loops.flat_tables import flat_tables, walk
from credo.inference.discrete.loops.messages import (
    beliefs,
    bethe_log_partition,
    decoded_states,
    empty_messages,
    sweep,
)


def settled(net, n_sweeps=2, **how):
    order, message = walk(net), empty_messages(net)
    for _ in range(n_sweeps):
        message, change = sweep(net, order, message, **how)
    return order, message, change


def test_one_sweep_settles_a_forest():
    rng = np.random.default_rng(0)
    scopes = [(i, int(rng.integers(i))) for i in range(1, 40)]
    rng.shuffle(scopes)
    net = flat_tables([3] * 40, [tuple(s) for s in scopes], list(rng.random((39, 3, 3))))
    _, message, change = settled(net, 1)
    assert change > 0.1
    after, change = sweep(net, walk(net), message)
    assert change < 1e-12
    assert_allclose(after, message, atol=1e-12)


def test_a_sweep_leaves_its_argument_alone():
    net = flat_tables([2], [(0,)], [np.array([1.0, 2.0])])
    message = empty_messages(net)
    sweep(net, walk(net), message)
    assert_allclose(message, 0.0)


def test_the_message_to_a_variable_leaves_out_what_it_says_itself():
    table = np.array([[0.9, 0.1], [0.3, 0.7]])
    net = flat_tables(
        [2, 2], [(0,), (1,), (0, 1)], [np.array([0.2, 0.8]), np.array([0.6, 0.4]), table]
    )
    _, message, _ = settled(net)
    to_first, to_second = np.exp(message[4:6]), np.exp(message[6:8])
    assert_allclose(
        to_first / to_first.sum(), (table @ [0.6, 0.4]) / (table @ [0.6, 0.4]).sum()
    )
    expected = np.array([0.2, 0.8]) @ table
    assert_allclose(to_second, expected / expected.max())


def test_an_impossible_state_of_one_neighbor_does_not_spoil_the_others():
    certain, table = np.array([0.0, 1.0]), np.array([[0.9, 0.1], [0.3, 0.7]])
    net = flat_tables([2, 2, 2], [(0,), (0, 1), (0, 2)], [certain, table, table])
    _, message, _ = settled(net)
    assert_allclose(beliefs(net, message), [0, 1, 0.3, 0.7, 0.3, 0.7])
    assert_allclose(bethe_log_partition(net, message), 0.0, atol=1e-12)


def test_a_table_does_not_hear_its_own_verdict_back():
    # What is impossible for the second variable is so because of the first; the table must
    # not tell the first one so as if it were news.
    net = flat_tables([2, 2], [(0,), (0, 1)], [np.array([0.0, 1.0]), np.eye(2)])
    _, message, _ = settled(net, 3)
    assert_allclose(message[2:4], 0.0)
    assert_allclose(np.exp(message[4:6]), [0.0, 1.0])


def test_tables_that_contradict_each_other_give_nan():
    net = flat_tables([2], [(0,), (0,)], [np.array([0.0, 1.0]), np.array([1.0, 0.0])])
    assert np.isnan(settled(net)[2])


def test_damping_slows_but_leads_to_the_same_messages():
    rng = np.random.default_rng(1)
    scopes = [(0, 1), (1, 2), (2, 0)]
    net = flat_tables([2] * 3, scopes, list(1 + rng.random((3, 2, 2))))
    _, plain, change = settled(net, 60)
    _, damped, _ = settled(net, 200, damping=0.6)
    assert change < 1e-12
    assert_allclose(damped, plain, atol=1e-10)
    _, early, late = settled(net, 3, damping=0.6)
    assert late > 1e-6
    assert not np.allclose(early, plain)


def test_messages_far_below_the_smallest_float_keep_their_digits():
    n = 3000
    table = np.array([[0.6, 0.4], [0.1, 0.9]])
    net = flat_tables(
        [2] + [1] * n,
        [(0,), *((0, i + 1) for i in range(n))],
        [np.array([0.5, 0.5])] + [table[:, :1]] * n,
    )
    _, message, _ = settled(net)
    expected = np.logaddexp(np.log(0.5) + n * np.log(0.6), np.log(0.5) + n * np.log(0.1))
    assert_allclose(bethe_log_partition(net, message), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_read_off_one_table_after_the_other(seed):
    rng = np.random.default_rng(seed)
    equal = np.eye(2) if seed % 2 else 1 - np.eye(2)
    scopes = [(i, int(rng.integers(i))) for i in range(1, 8)]
    net = flat_tables([2] * 8, scopes, [equal] * 7)
    order, message, _ = settled(net, is_max=True)
    states = decoded_states(net, order, message)
    assert all(equal[states[i], states[j]] for i, j in scopes)
