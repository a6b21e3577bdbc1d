from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions.categorical import Categorical
from credo.families import (
    BetaBernoulli,
    CategoricalStatistics,
    Components,
    DirichletCategorical,
    GammaExponential,
    GammaPoisson,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    Product,
    SphericalNormalInverseGamma,
)
from credo.inference import (
    BlockedGibbs,
    CollapsedGibbs,
    IncompleteRows,
    LatentClassProblem,
    PartitionLaw,
    PartitionProblem,
    run,
)
from credo.inference.latent.partition import aligned, consensus_partition
from credo.numerics.special.log_domain import log_sum_exp

X = np.array([[-1.0, 0.2], [0.0, 0.1], [0.5, -0.7], [4.0, 3.0], [5.0, 3.3]])
MIXED = np.array(
    [
        [0.2, 0.0, 2.0, 1.0, 3.0],
        [0.1, 0.0, 1.0, 0.0, 0.4],
        [np.nan, 1.0, 0.0, 1.0, 0.2],
        [3.0, 1.0, 2.0, np.nan, 9.0],
        [3.3, 1.0, 2.0, 1.0, 7.0],
    ]
)


def partitions(n, most):
    found = [[0]]
    for _ in range(n - 1):
        found = [[*one, k] for one in found for k in range(min(max(one) + 2, most))]
    return np.array(found)


def laws():
    number = np.log(0.5) * np.arange(1, 40)
    return {
        "process": PartitionLaw.process(0.8, 5),
        "finite": PartitionLaw.finite(3, 0.7, 5),
        "unknown": PartitionLaw.unknown(number, 0.7, 5),
    }


FAMILIES = {
    "vector": (X, NormalInverseWishart([0.0, 0.0], 0.3, 4.0, np.eye(2))),
    "normal": (X, NormalInverseGamma([0.0, 0.0], 0.3, 2.0, 1.0)),
    "product": (
        MIXED,
        Product.by_column(
            {
                0: NormalInverseGamma(0.0, 0.3, 2.0, 1.0),
                1: BetaBernoulli(1.5, 0.5),
                2: DirichletCategorical([1.0, 0.5, 2.0]),
                3: GammaPoisson(1.0, 0.5),
                4: GammaExponential(2.0, 1.0),
            }
        ),
    ),
}


def exact(x, rows, law):
    every = partitions(len(x), len(law.log_new))
    logs = []
    for one in every:
        statistics = rows.statistics_by_group(x, one, one.max() + 1)
        each = np.sum(rows.log_evidence(statistics))
        logs.append(law.log_prob(one) + float(each))
    return every, np.array(logs)


@pytest.mark.parametrize("law", ["process", "finite", "unknown"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n_moves", [0, 2])
def test_partitions_are_drawn_as_often_as_enumeration_says(family, law, n_moves):
    x, rows = FAMILIES[family]
    every, logs = exact(x, rows, laws()[law])
    probability = np.exp(logs - log_sum_exp(logs))
    problem = PartitionProblem(x, rows, laws()[law])
    found = run(CollapsedGibbs(4000, 50, 1, 1, n_moves), problem, np.random.default_rng(1))
    place = {tuple(one): i for i, one in enumerate(every)}
    code = np.array([place[tuple(one)] for one in found.posterior.pooled])
    seen = np.bincount(code, minlength=len(every)) / len(code)
    # Draws follow each other: a few times the error of independent ones.
    error = np.sqrt(probability * (1 - probability) / len(code))
    assert np.all(np.abs(seen - probability) < 10 * error + 3e-3)
    assert_allclose(found.posterior.log_density[0], logs[code], rtol=1e-9)


def labelings():
    """Return every labeling of four numbers in two classes, and their log evidence."""
    x = np.array([[-1.0], [0.0], [4.0], [5.0]])
    prior = Components(Categorical([0.5, 0.5]), NormalKnownVariance([0.0], 5.0, 1.0))
    every = np.array(list(product([0, 1], repeat=4)))
    logs = np.array([prior.log_evidence(prior.statistics_of(x, one)) for one in every])
    return x, prior, every, logs


def test_sixteen_labelings_have_the_worked_numbers():
    _, _, every, logs = labelings()
    share = np.exp(logs - log_sum_exp(logs))
    assert_allclose(log_sum_exp(logs), -10.5851250877, atol=1e-9)
    assert_allclose(share @ (every[:, 0] == every[:, 1]), 0.9977984782, atol=1e-9)
    assert_allclose(share @ (every[:, 1] == every[:, 2]), 0.0036971708, atol=1e-9)


def test_blocked_draws_say_what_the_sixteen_labelings_say():
    x, prior, _, _ = labelings()
    problem = LatentClassProblem(IncompleteRows.unlabeled(x, 2), prior)
    found = run(BlockedGibbs(1500, 50, 1), problem, np.random.default_rng(0)).posterior
    together = found.co_clustering()
    assert abs(together[0, 1] - 0.9977984782) < 6e-3
    assert abs(together[1, 2] - 0.0036971708) < 6e-3


def test_collapsed_draws_say_what_the_sixteen_labelings_say():
    # Equal weights are those of a Dirichlet of endless pseudo-counts.
    x, _, every, logs = labelings()
    law = PartitionLaw.finite(2, 1e8, 4)
    problem = PartitionProblem(x, NormalKnownVariance([0.0], 5.0, 1.0), law)
    found = run(CollapsedGibbs(4000, 100, 2), problem, np.random.default_rng(0)).posterior
    together = found.co_clustering()
    assert abs(together[0, 1] - 0.9977984782) < 4e-3
    assert abs(together[1, 2] - 0.0036971708) < 4e-3
    # A partition is two labelings, which differ by the names of the classes; the density of
    # draws leaves out what is the same for all partitions.
    place = {tuple(one): i for i, one in enumerate(every)}
    code = [place[tuple(one)] for one in found.labels[0]]
    constant = np.log(2.0) + np.log(2e8 + np.arange(4)).sum()
    assert_allclose(found.log_density[0], logs[code] + constant, rtol=1e-6)


def test_blocked_and_collapsed_draws_agree_on_clusters():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (10, 1)), rng.normal(3, 1, (10, 1))])
    rows = NormalInverseGamma([1.5], 0.1, 2.0, 1.0)
    law = PartitionLaw.finite(2, 1.0, 20)
    one = run(CollapsedGibbs(2000, 100, 1), PartitionProblem(x, rows, law), rng).posterior
    prior = Components(DirichletCategorical([1.0, 1.0]), rows)
    problem = LatentClassProblem(IncompleteRows.unlabeled(x, 2), prior)
    two = run(BlockedGibbs(1200, 100, 1), problem, rng).posterior
    assert_allclose(one.co_clustering(), two.co_clustering(), atol=0.08)


def test_gaps_of_vectors_are_drawn_and_known_classes_stay():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, (20, 2)), rng.normal(6, 1, (20, 2))])
    x[3, 0], x[25, 1] = np.nan, np.nan
    rows = NormalInverseWishart([3.0, 3.0], 0.1, 4.0, np.eye(2))
    label = np.full(40, -1)
    label[:2], label[-1] = 1, 0
    data = IncompleteRows(x, label, np.ones(40), 2)
    prior = Components(DirichletCategorical([1.0, 1.0]), rows)
    found = run(BlockedGibbs(60, 30, 1), LatentClassProblem(data, prior), rng).posterior
    assert (found.labels[..., :20] == 1).mean() > 0.99
    assert (found.labels[..., 20:] == 0).mean() > 0.99
    problem = PartitionProblem(x, rows, PartitionLaw.process(1.0, 40), (1.0, 1.0))
    free = run(CollapsedGibbs(60, 60, 1), problem, rng).posterior
    assert free.co_clustering()[3, :3].min() > 0.8
    assert free.co_clustering()[3, 25] < 0.1


def test_the_law_of_unknown_numbers_is_that_of_all_numbers_together():
    number = np.log(np.array([0.2, 0.5, 0.3]))
    law = PartitionLaw.unknown(number, 0.7, 4)
    every = partitions(4, 3)

    def finite(one, k):
        sizes = np.bincount(one)
        from_dirichlet = DirichletCategorical(np.full(k, 0.7))
        ways = np.prod(np.arange(k - len(sizes) + 1, k + 1)) if k >= len(sizes) else 0.0
        counts = np.append(sizes, np.zeros(max(k - len(sizes), 0)))[:k]
        return ways * np.exp(from_dirichlet.log_evidence(CategoricalStatistics(counts)))

    expected = np.array(
        [sum(np.exp(number[k - 1]) * finite(one, k) for k in (1, 2, 3)) for one in every]
    )
    found = np.exp([law.log_prob(one) for one in every])
    assert_allclose(found / found.sum(), expected / expected.sum())
    given = law.number_given(2, 4)
    parts = [np.exp(number[k - 1]) * finite(np.array([0, 0, 1, 1]), k) for k in (1, 2, 3)]
    assert_allclose(given, np.array(parts) / np.sum(parts), atol=1e-12)


def test_a_concentration_is_learned_as_its_posterior_says():
    # Rows that never share a cluster: p(a | 6 clusters of 6 rows) on a grid.
    x = np.arange(6.0)[:, None] * 1e6
    rows = NormalInverseGamma([0.0], 1e-12, 2.0, 1.0)
    problem = PartitionProblem(x, rows, PartitionLaw.process(1.0, 6), (2.0, 0.5))
    found = run(CollapsedGibbs(4000, 100, 1), problem, np.random.default_rng(0)).posterior
    assert (found.n_clusters == 6).all()
    grid = np.linspace(1e-3, 80.0, 80_000)
    logs = stats.gamma(2.0, scale=2.0).logpdf(grid) + 6 * np.log(grid)
    logs -= np.log(grid[:, None] + np.arange(6)).sum(axis=1)
    weight = np.exp(logs - logs.max())
    assert_allclose(found.concentration.mean(), grid @ weight / weight.sum(), rtol=0.06)


def test_clusters_that_share_parameters_are_refused():
    rows = SphericalNormalInverseGamma([0.0, 0.0], 1.0, 1.0, 1.0)
    problem = PartitionProblem(X, rows, laws()["process"])
    with pytest.raises(TypeError, match="must be of conjugate families"):
        run(CollapsedGibbs(10, 0, 1), problem, np.random.default_rng(0))


def test_classes_are_renamed_to_those_of_the_reference():
    labels = np.array([[2, 2, 0, 1], [1, 1, 2, 0]])
    assert aligned(labels, np.array([0, 0, 1, 2]), 3).tolist() == [[0, 0, 1, 2], [0, 0, 1, 2]]


def test_a_consensus_has_the_least_expected_loss_of_all_partitions():
    rng = np.random.default_rng(3)
    draws = rng.integers(3, size=(30, 5))
    together = (draws[:, :, None] == draws[:, None]).mean(axis=0)
    found = consensus_partition(together.copy(), draws)

    def loss(one):
        return np.abs((one[:, None] == one) - together).sum()

    assert loss(found) <= min(loss(one) for one in partitions(5, 5)) + 1e-9
