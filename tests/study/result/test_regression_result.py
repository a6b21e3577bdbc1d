import numpy as np
import pytest

from credo.study.result.regression_result import ErrorSummary

RNG = np.random.default_rng(0)
Y = RNG.normal(10, 5, 300)
ERROR = RNG.normal(size=300)


def test_without_odd_rows_the_figures_are_those_of_all_rows():
    found = ErrorSummary.of(Y + ERROR, Y)
    assert found.rmse == pytest.approx(np.sqrt(np.mean(ERROR**2)))
    assert found.median == pytest.approx(np.median(np.abs(ERROR)), rel=1e-2)
    assert found.r_squared == pytest.approx(1 - np.mean(ERROR**2) / Y.var())
    assert (len(found.worst), found.left_out) == (0, "")


@pytest.mark.parametrize("n_odd", [1, 3])
def test_rows_that_drown_all_others_are_put_apart(n_odd):
    error = ERROR.copy()
    error[[7, 50, 299][:n_odd]] = [1e4, -2e4, 1.5e4][:n_odd]
    found = ErrorSummary.of(Y + error, Y)
    rest = np.delete(np.arange(300), [7, 50, 299][:n_odd])
    assert set(found.worst) == set([7, 50, 299][:n_odd])
    assert found.rmse == pytest.approx(np.sqrt(np.mean(ERROR[rest] ** 2)))
    assert found.worst_error == pytest.approx([1e4, 2e4, 2e4][n_odd - 1])
    said = found.sentence(1234.0)
    assert said.startswith(f"{n_odd} test row")
    assert "off by 1,234 with and by" in said
    worst = {1: "row", 3: "3 rows"}[n_odd]
    assert found.left_out == f"without the worst {worst}"


def test_more_rows_than_a_few_are_not_put_apart():
    error = ERROR.copy()
    error[:30] *= 1e4
    assert len(ErrorSummary.of(Y + error, Y).worst) == 0


def test_errors_of_normal_noise_hardly_ever_have_a_row_apart():
    found = [ErrorSummary.of(RNG.normal(size=20), np.zeros(20)) for _ in range(300)]
    assert sum(len(summary.worst) > 0 for summary in found) <= 3


def test_a_prediction_worse_than_the_mean_explains_none():
    assert ErrorSummary.of(-Y, Y).share == "none"
    assert ErrorSummary.of(Y, Y).share == "100 %"
    assert ErrorSummary.of(np.zeros(3), np.zeros(3)).share == "-"
