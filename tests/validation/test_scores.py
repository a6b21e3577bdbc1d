import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from credo.distributions import Mixture, Normal, Poisson, Predictive, StudentT
from credo.evaluation import (
    absolute_error,
    crps_score,
    evaluate,
    interval_score,
    is_covered,
    log_score,
    needed_coverage,
    squared_error,
)

LOC = np.array([-1.0, 0.0, 2.0, 5.0])
SCALE = np.array([0.5, 1.0, 2.0, 0.1])
Y = np.array([-1.2, 1.7, -4.0, 5.05])
PREDICTIVE = Predictive(Normal(LOC, SCALE), np.zeros(4), SCALE)


def test_log_score_is_the_log_density():
    assert_allclose(log_score(Y, PREDICTIVE), stats.norm(LOC, SCALE).logpdf(Y))


def test_crps_is_the_integral_of_the_squared_distance_of_the_cdf_from_the_step():
    def integrated(loc, scale, y):
        below = integrate.quad(lambda x: stats.norm.cdf(x, loc, scale) ** 2, loc - 40, y)[0]
        above = integrate.quad(lambda x: stats.norm.sf(x, loc, scale) ** 2, y, loc + 40)[0]
        return below + above

    expected = [integrated(*row) for row in zip(LOC, SCALE, Y, strict=True)]
    assert_allclose(crps_score(Y, PREDICTIVE), expected, rtol=1e-6)


def test_errors_are_distances_from_the_mean():
    assert_allclose(squared_error(Y, PREDICTIVE), (Y - LOC) ** 2)
    assert_allclose(absolute_error(Y, PREDICTIVE), np.abs(Y - LOC))


def test_interval_score_fines_each_side_by_its_distance():
    score = interval_score([0.0, 3.0, -2.0], Normal([0.0, 0.0, 0.0], 1.0), coverage=0.8)
    z = stats.norm.ppf(0.9)
    assert_allclose(score, [2 * z, 2 * z + 10 * (3 - z), 2 * z + 10 * (2 - z)])


def test_the_expected_interval_score_is_least_for_the_true_distribution():
    truth = np.linspace(0.0005, 0.9995, 1000)
    outcomes = stats.norm.ppf(truth)
    scales = np.array([0.8, 0.9, 1.0, 1.1, 1.25])
    means = [interval_score(outcomes, Normal(np.zeros(1000), s)).mean() for s in scales]
    assert np.argmin(means) == 2


@pytest.mark.parametrize("coverage", [0.0, 0.25, 0.5, 0.9, 0.999])
@pytest.mark.parametrize(
    "predictive",
    [
        PREDICTIVE,
        StudentT(3.0, LOC, SCALE),
        Mixture([0.3, 0.7], [Normal(LOC, SCALE), Normal(LOC + 1, 1.0)]),
    ],
    ids=["normal", "student", "mixture"],
)
def test_an_outcome_is_covered_where_it_lies_in_the_interval(predictive, coverage):
    low, high = predictive.interval(coverage).T
    assert_array_equal(is_covered(Y, predictive, coverage), (low <= Y) & (high >= Y))


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_count_is_covered_where_it_lies_in_the_interval(is_wrapped):
    counts = np.arange(15.0)
    predictive = Poisson(np.full(15, 4.3))
    if is_wrapped:
        predictive = Predictive(predictive, np.zeros(15), predictive.std())
    for coverage in (0.5, 0.8, 0.95):
        low, high = predictive.interval(coverage).T
        inside = (low <= counts) & (counts <= high)
        assert_array_equal(is_covered(counts, predictive, coverage), inside)


def test_the_needed_coverage_gives_an_interval_that_ends_at_the_outcome():
    needed = needed_coverage(Y, PREDICTIVE)
    for row, share in enumerate(needed):
        ends = PREDICTIVE.interval(float(share))[row]
        assert np.min(np.abs(ends - Y[row])) < 1e-9


def test_evaluation_agrees_with_scikit_learn_and_with_rows():
    report = evaluate(Y, PREDICTIVE, coverage=0.8)
    assert report.n_rows == 4
    assert_allclose(report.rmse.value, root_mean_squared_error(Y, LOC))
    assert_allclose(report.mean_absolute_error.value, mean_absolute_error(Y, LOC))
    assert_allclose(report.r_squared, r2_score(Y, LOC))
    assert_allclose(report.log_score.value, log_score(Y, PREDICTIVE).mean())
    assert_allclose(report.log_score.standard_error, stats.sem(log_score(Y, PREDICTIVE)))
    assert_allclose(report.crps.standard_error, stats.sem(crps_score(Y, PREDICTIVE)))
    assert_allclose(report.coverage.value, is_covered(Y, PREDICTIVE, 0.8).mean())
    assert report.nominal_coverage == 0.8


def test_the_error_of_the_rmse_matches_its_spread_over_many_data_sets():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((2000, 200))
    spread = np.sqrt((noise**2).mean(axis=1)).std()
    told = [
        evaluate(row, Normal(np.zeros(200), 1.0)).rmse.standard_error for row in noise[:100]
    ]
    # The average of 100 estimates, each with a relative error near 10 %.
    assert_allclose(np.mean(told), spread, rtol=0.06)


def test_perfect_predictions_have_no_error_and_explain_everything():
    report = evaluate([1.0, 2.0], Normal([1.0, 2.0], 1.0))
    assert (float(report.rmse.value), float(report.rmse.standard_error)) == (0.0, 0.0)
    assert report.r_squared == 1.0


def test_constant_outcomes_have_no_r_squared():
    assert np.isnan(evaluate([1.0, 1.0], Normal([1.0, 2.0], 1.0)).r_squared)


def test_one_row_has_scores_without_errors():
    report = evaluate([2.0], Normal([1.0], 1.0))
    assert_allclose(report.rmse.value, 1.0)
    assert np.isnan(report.rmse.standard_error)


def test_an_impossible_outcome_makes_the_log_score_minus_infinity():
    report = evaluate([1.0, -1.0], Poisson([1.0, 2.0]))
    assert report.log_score.value == -np.inf


def test_a_missing_outcome_has_missing_scores():
    y = [0.0, np.nan]
    predictive = Normal([0.0, 0.0], 1.0)
    for scores in (log_score(y, predictive), needed_coverage(y, predictive)):
        assert_array_equal(np.isnan(scores), [False, True])


@pytest.mark.parametrize(
    ("predictive", "y", "message"),
    [
        (
            Normal(LOC, SCALE),
            [1.0, 2.0],
            r"one outcome for each prediction; found shape \(2,\)",
        ),
        (
            Normal(LOC, SCALE),
            [1.0, 2.0, np.nan, 0.0],
            "y_true must be finite; found nan at index 2",
        ),
        (Normal(np.zeros((2, 3)), 1.0), np.zeros((2, 3)), "one output"),
        (Normal(np.zeros(0), 1.0), [], "at least one row"),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(predictive, y, message):
    with pytest.raises(ValueError, match=message):
        evaluate(y, predictive)


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90.0])
def test_an_interval_score_needs_a_coverage_inside_zero_and_one(coverage):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        interval_score(Y, PREDICTIVE, coverage)


def test_a_model_in_place_of_its_predictions_is_refused_with_what_to_pass():
    with pytest.raises(TypeError, match="Pass model"):
        evaluate([1.0], object())


def test_every_score_of_an_evaluation_has_an_interval_and_a_direction():
    report = evaluate(Y, PREDICTIVE, coverage=0.8)
    table = report.table(coverage=0.9)
    assert table["higher_is_better"].to_dict() == {
        "log_score": True,
        "crps": False,
        "interval_score": False,
        "rmse": False,
        "mean_absolute_error": False,
        "coverage": None,
    }
    for name in table.index.drop("coverage"):
        estimate = getattr(report, name)
        expected = stats.norm(estimate.value, estimate.standard_error).interval(0.9)
        assert_allclose(table.loc[name, ["low", "high"]].astype(float), expected)
    assert_allclose(report.interval_score.value, interval_score(Y, PREDICTIVE, 0.8).mean())
    # Two of four outcomes lie inside.
    exact = stats.binomtest(2, 4).proportion_ci(0.9, method="exact")
    assert_allclose(
        table.loc["coverage", ["low", "high"]].astype(float), [exact.low, exact.high]
    )
    assert table.loc["coverage", "note"] == "best if 0.8"
