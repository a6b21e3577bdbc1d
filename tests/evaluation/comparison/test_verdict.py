import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from credo.evaluation.comparison.verdict import Contrast, holm, judge, percent, rounded_count


def contrast(estimate, scale, df=9.0, rope=0.01, names=("A", "B")):
    p = 2 * special.stdtr(df, -abs(estimate) / scale)
    return Contrast(*names, estimate, scale, df, p, rope)


def test_holm_is_the_step_down_procedure():
    p = np.array([0.02, 0.001, 0.9, 0.015, 0.2])
    found = holm(p)
    assert_allclose(found, [0.06, 0.005, 0.9, 0.06, 0.4])
    assert (found >= p).all()


def test_a_clear_difference_names_the_better_with_its_probability():
    (verdict,) = judge([contrast(-0.3, 0.1)], "log_score", 300)
    assert (verdict.kind, verdict.first, verdict.second) == ("better", "B", "A")
    assert_allclose(verdict.probability, stats.t(9).cdf(3.0))
    assert verdict.sentence.startswith("B is better than A: 99")
    assert np.isnan(verdict.needed_rows)
    assert verdict.low > 0


def test_a_negligible_difference_is_called_practically_equal_even_if_it_is_certain():
    (verdict,) = judge([contrast(0.005, 0.0005)], "log_score", 300)
    assert verdict.kind == "practically equal"
    assert "within 0.01" in verdict.sentence
    (same,) = judge([Contrast("A", "B", 0.0, 0.0, 9.0, 1.0, 0.01)], "log_score", 300)
    assert same.kind == "practically equal"


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_practically_equal_needs_the_whole_level(level):
    # A rope as wide as the central interval of a coverage holds just that much.
    for coverage, kind in (
        (level - 0.005, "not distinguishable"),
        (level + 0.005, "practically equal"),
    ):
        rope = 0.02 * stats.t(9).ppf(0.5 + 0.5 * coverage)
        (verdict,) = judge([contrast(0.0, 0.02, rope=rope)], "log_score", 300, level)
        assert verdict.kind == kind
        assert_allclose(verdict.equal_probability, coverage)


def test_practically_equal_is_said_of_each_pair_by_itself():
    rope = 0.02 * stats.t(9).ppf(0.5 + 0.5 * 0.96)
    pairs = [contrast(0.0, 0.02, rope=rope)] * 10
    assert {v.kind for v in judge(pairs, "log_score", 300)} == {"practically equal"}


def test_the_more_pairs_are_looked_at_the_more_a_claim_needs():
    alone = judge([contrast(0.25, 0.1)], "log_score", 300)
    crowd = judge([contrast(0.25, 0.1)] + [contrast(0.01, 0.1)] * 9, "log_score", 300)
    assert alone[0].kind == "better"
    assert crowd[0].kind == "not distinguishable"
    assert crowd[0].probability < alone[0].probability


@pytest.mark.parametrize(("estimate", "rope"), [(0.03, 0.01), (0.03, 0.0), (0.002, 0.02)])
def test_with_the_needed_rows_and_the_difference_seen_there_would_be_a_verdict(estimate, rope):
    n = 300
    (verdict,) = judge([contrast(estimate, 0.05, rope=rope)], "log_score", n)
    assert verdict.kind == "not distinguishable"
    needed = verdict.needed_rows
    for rows, kinds in (
        (0.99 * needed, {"not distinguishable"}),
        (1.01 * needed, {"better", "practically equal"}),
    ):
        scaled = contrast(estimate, 0.05 * np.sqrt(n / rows), rope=rope)
        if rope > estimate and kinds != {"not distinguishable"}:
            assert scaled.equal_probability >= 0.95
        elif rope < estimate:
            assert judge([scaled], "log_score", n)[0].kind in kinds


@pytest.mark.parametrize(("n_folds", "is_said"), [(2, False), (4, False), (5, True)])
def test_few_folds_are_no_ground_for_a_number_of_rows(n_folds, is_said):
    pair = Contrast("A", "B", 2.9, 1.5, n_folds - 1.0, p_value=0.2, rope=0.01)
    (verdict,) = judge([pair], "log_score", 300)
    assert verdict.kind == "not distinguishable"
    assert np.isfinite(verdict.needed_rows) == is_said
    end = f"; {n_folds} folds are too few to say how many would be needed"
    assert verdict.sentence.endswith(end) != is_said


def test_the_number_of_needed_rows_is_said():
    (verdict,) = judge([contrast(0.05, 0.05, rope=0.0)], "log_score", 300)
    assert_allclose(verdict.needed_rows, 300 * stats.t(9).ppf(0.975) ** 2)
    assert verdict.sentence == (
        "A and B are not distinguishable with 300 rows; about 1,600 would be needed to tell "
        "them apart"
    )
    (near,) = judge([contrast(0.001, 0.05, rope=0.04)], "log_score", 300)
    assert_allclose(near.needed_rows, 300 * (stats.t(9).ppf(0.975) * 0.05 / 0.039) ** 2)
    assert near.sentence.endswith("would be needed to call them practically equal")
    (vain,) = judge([contrast(1e-6, 0.05, rope=0.0)], "log_score", 300)
    assert vain.sentence.endswith("more than 300,000 would be needed for a verdict")
    (none,) = judge([contrast(0.0, 0.05, rope=0.0)], "log_score", 300)
    assert none.sentence.endswith("more than 300,000 would be needed for a verdict")


def test_equal_models_are_called_different_in_at_most_the_stated_share_of_data_sets():
    # Four equal models: fold scores with the correlation that shared training rows cause.
    rng = np.random.default_rng(0)
    n_false = 0
    for _ in range(600):
        shared = np.sqrt(0.1) * rng.normal(size=(4, 1))
        score = shared + np.sqrt(0.9) * rng.normal(size=(4, 10))
        pairs = []
        for i in range(4):
            for j in range(i):
                d = score[i] - score[j]
                scale = d.std(ddof=1) * np.sqrt(1 / 10 + 1 / 9)
                pairs.append(contrast(d.mean(), scale, rope=0.0, names=(str(i), str(j))))
        n_false += any(v.kind == "better" for v in judge(pairs, "log_score", 100))
    # Five percent of 600, and three standard errors.
    assert n_false <= 30 + 16


def test_percentages_never_round_to_certainty():
    assert percent(0.99951) == "above 99.9 %"
    assert percent(0.5) == "50 %"
    assert percent(0.9949) == "99.5 %"
    assert rounded_count(7.2) == "8"
    assert rounded_count(139502.6) == "140,000"
