import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import Beta, ChineseRestaurant, Dirichlet, DirichletProcess, Normal
from credo.distributions.dirichlet_process import StickBreaking

WORKED = {
    0.5: (0.6666666667, 2.1332555302, 0.4571428571),
    1.0: (0.5, 2.9289682540, 0.25),
    5.0: (0.1666666667, 5.8411449661, 0.0178571429),
}


@pytest.mark.parametrize("concentration", WORKED)
def test_ties_distinct_values_and_runs_have_the_worked_numbers(concentration):
    tie, distinct, run = WORKED[concentration]
    law = ChineseRestaurant(concentration, 10)
    assert_allclose(law.together(), tie, atol=1e-10)
    assert_allclose(law.expected_clusters(), distinct, atol=1e-10)
    four = ChineseRestaurant(concentration, 4)
    assert_allclose(np.exp(four.log_prob([0, 0, 0, 0])), run, atol=1e-10)
    two = ChineseRestaurant(concentration, 2)
    assert_allclose(np.exp(two.log_prob(["a", "a"])), tie, atol=1e-10)
    number = law.number_of_clusters().probability
    assert_allclose(number @ np.arange(1, 11), distinct, atol=1e-10)


def partitions(n):
    found = [[0]]
    for _ in range(n - 1):
        found = [[*one, k] for one in found for k in range(max(one) + 2)]
    return np.array(found)


def test_probabilities_of_all_partitions_add_up_to_one():
    law, every = ChineseRestaurant(1.7, 5), partitions(5)
    probability = np.exp(law.log_prob(every))
    assert len(every) == 52
    assert_allclose(probability.sum(), 1.0)
    counts = np.bincount(every.max(axis=1), probability)
    assert_allclose(counts, law.number_of_clusters().probability)


def test_partitions_are_drawn_as_often_as_they_are_probable():
    law, every = ChineseRestaurant(1.7, 4), partitions(4)
    draws = law.sample(np.random.default_rng(0), 20_000)
    code = {tuple(one): i for i, one in enumerate(every)}
    seen = np.bincount([code[tuple(one)] for one in draws], minlength=len(every))
    assert stats.chisquare(seen, 20_000 * np.exp(law.log_prob(every))).pvalue > 1e-3


def test_the_mean_of_realizations_is_the_base():
    process = DirichletProcess(2.0, Normal(1.0, 2.0))
    rng = np.random.default_rng(0)
    below = []
    for _ in range(2000):
        weights, values = process.realization(rng, 60)
        below.append(weights @ (values < 0.0))
    p = float(process.mean().cdf(0.0))
    error = np.sqrt(process.variance_of(p) / 2000)
    assert abs(np.mean(below) - p) < 5 * error
    assert_allclose(np.var(below), process.variance_of(p), rtol=0.15)


def test_draws_of_an_urn_repeat_and_are_of_the_base():
    process = DirichletProcess(3.0, Normal(1.0, 0.01))
    rng = np.random.default_rng(0)
    draws = np.array([process.sample(rng, 8) for _ in range(4000)])
    assert stats.kstest(draws[:, -1], "norm", (1.0, 0.01)).pvalue > 1e-3
    ties = (draws[:, 0] == draws[:, 5]).mean()
    assert abs(ties - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)


def test_two_weights_are_a_beta_and_its_complement():
    law, v = StickBreaking([2.0], [3.0]), 0.3
    assert_allclose(law.log_prob([v, 1 - v]), Beta(2.0, 3.0).log_prob(v))
    assert_allclose(law.entropy(), Beta(2.0, 3.0).entropy())


def test_a_dirichlet_is_a_stick_whose_rest_is_the_sum_of_the_others():
    stick, whole = StickBreaking([2.0, 1.5], [5.5, 4.0]), Dirichlet([2.0, 1.5, 4.0])
    x = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 20)
    assert_allclose(stick.log_prob(x), whole.log_prob(x))
    assert_allclose(stick.mean(), whole.mean())
    assert_allclose(stick.variance(), whole.variance())
    assert_allclose(stick.mode(), whole.mode())
    assert_allclose(stick.entropy(), whole.entropy())
    assert_allclose(stick.mean_log(), whole.mean_log())


def test_a_partition_without_rows_or_of_another_length_is_refused():
    with pytest.raises(ValueError, match="size must be at least 1"):
        ChineseRestaurant(1.0, 0)
    with pytest.raises(ValueError, match="one entry for each of 3 rows"):
        ChineseRestaurant(1.0, 3).log_prob([0, 0])
    with pytest.raises(ValueError, match="concentration must be"):
        DirichletProcess(-1.0, Normal(0.0, 1.0))
