import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.evaluation.comparison.difference import (
    OptimisticTestWarning,
    corrected_resampled_t,
    correlated_t,
    five_by_two_f,
    paired_t,
)

D = np.array([0.02, -0.01, 0.03, 0.0, 0.01, 0.02, 0.04, -0.02, 0.01, 0.03])


def test_paired_t_over_folds_matches_the_worked_numbers_and_warns_of_its_bias():
    with pytest.warns(OptimisticTestWarning, match="share training rows"):
        found = paired_t(D)
    assert_allclose(found.estimate, 0.013, atol=1e-12)
    assert_allclose(found.standard_error, 0.0059721576, atol=1e-9)
    assert_allclose((found.high - found.low) / 2, 0.0135099591, atol=1e-9)
    assert_allclose(found.p_value, 0.0574763688, atol=1e-9)
    assert_allclose(found.p_value, stats.ttest_1samp(D, 0).pvalue, rtol=1e-9)


def test_corrected_t_widens_by_the_share_of_tested_rows():
    found = corrected_resampled_t(D, test_share=0.1)
    error = D.std(ddof=1) * np.sqrt(1 / 10 + 1 / 9)
    assert_allclose(found.standard_error, error)
    assert_allclose(found.p_value, 2 * stats.t(9).sf(0.013 / error), rtol=1e-9)
    assert_allclose(found.one_sided_p_value, stats.t(9).sf(0.013 / error), rtol=1e-9)


def test_five_by_two_f_is_that_of_the_definition():
    d = np.random.default_rng(0).normal(0.3, 1.0, size=(5, 2))
    scatter = sum(np.var(pair) * 2 for pair in d)
    expected = stats.f(10, 5).sf((d**2).sum() / (2 * scatter))
    assert_allclose(five_by_two_f(d).p_value, expected, rtol=1e-9)
    assert five_by_two_f(np.zeros((5, 2))).p_value == 1.0
    assert five_by_two_f(np.full((5, 2), 0.1)).p_value == 0.0


def test_bayesian_correlated_t_is_the_student_t_of_the_definition():
    found = correlated_t(D, rope=0.01)
    scale = D.std(ddof=1) * np.sqrt(1 / 10 + 0.1 / 0.9)
    posterior = stats.t(9, 0.013, scale)
    assert_allclose(found.left, posterior.cdf(-0.01), rtol=1e-9)
    assert_allclose(found.right, posterior.sf(0.01), rtol=1e-9)
    assert_allclose(found.left + found.rope + found.right, 1.0)
    assert_allclose(found.positive, posterior.sf(0.0), rtol=1e-9)
    assert_allclose([found.low, found.high], posterior.interval(0.95))
    assert "practically equal" in str(found)


def test_turning_the_order_of_the_two_turns_the_answer():
    one, two = correlated_t(D), correlated_t(-D)
    assert_allclose([one.left, one.rope, one.right], [two.right, two.rope, two.left])


def test_differences_that_do_not_vary_are_certain():
    same = correlated_t(np.zeros(5))
    assert (same.left, same.rope, same.right, same.positive) == (0.0, 1.0, 0.0, 0.5)
    better = correlated_t(np.full(5, 0.2))
    assert (better.left, better.rope, better.right, better.positive) == (0.0, 0.0, 1.0, 1.0)
    worse = correlated_t(np.full(5, -0.2))
    assert (worse.left, worse.right, worse.positive) == (1.0, 0.0, 0.0)
    assert correlated_t(np.full(5, 0.005)).rope == 1.0


def test_correction_holds_its_level_where_the_paired_t_does_not():
    # Differences as folds give them: equal variances, correlation 1 / n_folds.
    rng = np.random.default_rng(3)
    shared = np.sqrt(0.1) * rng.normal(size=(1500, 1))
    d = shared + np.sqrt(0.9) * rng.normal(size=(1500, 10))
    corrected = np.mean([corrected_resampled_t(row, 0.1).p_value < 0.05 for row in d])
    with pytest.warns(OptimisticTestWarning):
        naive = np.mean([paired_t(row).p_value < 0.05 for row in d])
    assert corrected < 0.065
    assert naive > 0.09


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: correlated_t([0.1]), "at least 2 folds"),
        (lambda: correlated_t([0.1, -np.inf]), "leave that model out"),
        (lambda: correlated_t(D, rope=-1.0), "rope must not be negative"),
        (lambda: correlated_t(D, correlation=1.0), "from 0 to below 1"),
        (lambda: corrected_resampled_t(D, 1.5), "from 0 to below 1"),
        (lambda: five_by_two_f(D), r"shape \(5, 2\)"),
    ],
)
def test_what_are_no_differences_of_folds_is_refused(call, part):
    with pytest.raises(ValueError, match=part):
        call()
