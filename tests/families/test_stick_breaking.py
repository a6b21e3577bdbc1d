import numpy as np
from numpy.testing import assert_allclose

from credo.families import CategoricalStatistics, DirichletCategorical, StickBreakingCategorical


def test_a_stick_with_the_right_rests_is_a_dirichlet():
    stick = StickBreakingCategorical([2.0, 1.5], [5.5, 4.0])
    whole = DirichletCategorical([2.0, 1.5, 4.0])
    seen = CategoricalStatistics.of([0, 2, 2, 1, 2], n_states=3)
    assert_allclose(stick.log_evidence(seen), whole.log_evidence(seen))
    one, two = stick.update(seen), whole.update(seen)
    assert_allclose(one.mean().probability, two.mean().probability)
    assert_allclose(one.mode().probability, two.mode().probability)
    assert_allclose(one.expected_log_density([0, 1, 2]), two.expected_log_density([0, 1, 2]))
    assert_allclose(one.kl(stick), two.kl(whole))


def test_the_evidence_is_that_of_a_process_where_the_cut_is_far():
    seen = CategoricalStatistics.of([0, 0, 1], n_states=60)
    prior = StickBreakingCategorical.of_process(1.0, 60)
    # First stick twice, then the second: E v1^2 (1 - v1) E v2 with uniform sticks.
    assert_allclose(np.exp(prior.log_evidence(seen)), (1 / 3 - 1 / 4) * 0.5)
