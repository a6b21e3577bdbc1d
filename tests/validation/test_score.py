import numpy as np
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions.estimate import Estimate
from credo.evaluation import Score, score_table
from credo.validation.score import weighted_mean


def test_the_score_of_a_mean_has_the_normal_interval():
    score = Score.of_estimate("crps", Estimate(np.array(2.0), np.array(0.5)), 0.9, False)
    assert_allclose([score.low, score.high], stats.norm(2.0, 0.5).interval(0.9))
    assert not score.higher_is_better


def test_a_score_is_written_with_its_interval_direction_and_note():
    score = Score("coverage", 0.88, 0.8, 0.93, None, "exact", "best if 0.9")
    assert str(score) == "coverage 0.88 (0.8 to 0.93); best if 0.9"


def test_a_table_has_a_row_for_each_score():
    table = score_table([Score("a", 1.0, 0.5, 2.0, True, "exact", "x")])
    assert table.loc["a"].tolist() == [1.0, 0.5, 2.0, True, "exact", "x"]


def test_equal_weights_give_the_usual_standard_error_and_no_weight_is_no_row():
    values = np.random.default_rng(0).normal(size=20)
    mean = weighted_mean(values, np.full(20, 3.0))
    assert_allclose([mean.value, mean.standard_error], [values.mean(), stats.sem(values)])
    padded = weighted_mean(np.append(values, -np.inf), np.append(np.full(20, 3.0), 0.0))
    assert_allclose(padded.standard_error, mean.standard_error)
