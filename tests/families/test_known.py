import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions import Categorical, Mixture, MultivariateNormal, Normal, StudentT
from credo.families import CategoricalStatistics, Known, KnownStatistics


def test_evidence_is_the_log_likelihood_of_the_rows():
    rows = np.array([[0.3, 1.0], [np.nan, -2.0], [1.5, 0.2]])
    belief = Known(StudentT(4.0, [0.0, 1.0], 2.0))
    found = belief.log_evidence(belief.statistics_of(rows, [1.0, 2.0, 0.5]))
    logs = np.nan_to_num(belief.distribution.log_prob(rows))
    assert_allclose(found, [1.0, 2.0, 0.5] @ logs)


def test_a_known_distribution_takes_the_statistics_of_its_family():
    known = Known(Categorical([0.2, 0.0, 0.8]))
    seen = CategoricalStatistics.of([0, 2, 2], n_states=3)
    assert_allclose(known.log_evidence(seen), np.log(0.2 * 0.8 * 0.8))
    impossible = CategoricalStatistics.of([1], n_states=3)
    assert known.log_evidence(impossible) == -np.inf


def test_each_component_is_summed_under_its_own_distribution():
    rows = np.array([[0.0], [1.0], [4.0]])
    belief = Known(Normal([[0.0], [3.0]], 1.0))
    seen = belief.statistics_by_group(rows, [0, 0, 1], 2)
    expected = [Normal(0.0, 1.0).log_prob([0.0, 1.0]).sum(), Normal(3.0, 1.0).log_prob(4.0)]
    assert_allclose(seen.total[:, 0], expected)


def test_rows_that_are_vectors_have_one_log_density_and_no_gaps():
    rows = np.array([[0.0, 1.0], [1.0, -1.0]])
    vectors = Known(MultivariateNormal([0.0, 0.0], np.eye(2)))
    seen = vectors.statistics_of(rows)
    assert seen.total.shape == ()
    assert_allclose(seen.total, Normal(0.0, 1.0).log_prob(rows).sum())
    with pytest.raises(ValueError, match="complete"):
        vectors.statistics_of([[0.0, np.nan]])


def test_impossible_rows_without_weight_say_nothing():
    seen = KnownStatistics.of([[2.0], [np.inf - np.inf]], distribution=Normal(0.0, 1.0))
    assert seen.weight == [1.0]
    shared = KnownStatistics.by_share(
        [[7.0], [1.0]], [[0.0], [1.0]], distribution=Categorical([0.5, 0.5])
    )
    assert_allclose(shared.total, np.log(0.5))


def test_no_data_change_it_and_only_itself_is_near():
    mixture = Mixture([0.5, 0.5], (Normal(0.0, 1.0), Normal(2.0, 1.0)))
    belief = Known(mixture)
    assert belief.update(belief.statistics_of([[3.0]])) is belief
    assert belief.kl(Known(mixture)) == 0.0
    assert belief.kl(Known(Normal(0.0, 1.0))) == np.inf
    other = Mixture([0.4, 0.6], (Normal(0.0, 1.0), Normal(2.0, 1.0)))
    assert belief.kl(Known(other)) == np.inf
