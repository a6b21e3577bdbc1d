import dataclasses

import numpy as np
import pandas as pd
import pytest

from credo.distributions.estimate import Estimate
from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive
from credo.study.job import fit_table
from credo.study.remark.class_remark import class_remarks
from credo.study.remark.regression_remark import headline, regression_remarks
from credo.study.report.report import report_page
from credo.study.result.result import FitSettings
from credo.study.result.wording import number


def judged(result, y, sd, is_outside=None, has_gap=None):
    """Return the result as if test rows had been predicted as 0 with that sd."""
    n = len(y)
    predictive = Predictive(
        Normal(np.linspace(-1e-6, 1e-6, n), sd), np.zeros(n), np.full(n, sd)
    )
    held_out = dataclasses.replace(
        result.held_out,
        y=np.asarray(y, dtype=float),
        predictive=predictive,
        is_outside=np.zeros(n, dtype=bool) if is_outside is None else is_outside,
        has_gap=np.zeros(n, dtype=bool) if has_gap is None else has_gap,
        gap_columns=() if has_gap is None else ("age",),
    )
    data = dataclasses.replace(result.data, n_test=n)
    return dataclasses.replace(result, held_out=held_out, data=data)


def texts(result, tone):
    return [found.text for found in regression_remarks(result) if found.tone == tone]


def normal_outcomes(n, sd):
    """Return outcomes whose quantiles are exactly normal, in an order without pattern."""
    levels = (np.arange(n) + 0.5) / n
    return np.random.default_rng(0).permutation(Normal(0.0, sd).quantile(levels))


def hits(n, n_hits):
    """Return outcomes of which that many lie in 90 % intervals of sd 1, in equal shares of
    the lower and the upper predictions, and half of all in the 50 % interval."""
    y = np.where(np.arange(n) < n // 2, 0.1, 1.0)
    y[n - (n - n_hits) :] = 5.0
    return np.random.default_rng(0).permutation(y)


def test_intervals_that_hold_as_often_as_promised_are_good_news(result):
    found = texts(judged(result, normal_outcomes(200, 1.0), 1.0), "good")
    assert found[-1] == (
        "90 % intervals held 180 of 200 (90 %) test rows, close to what they promise "
        "(chance allows 171 to 188)."
    )


@pytest.mark.parametrize(
    ("n_hits", "tone"), [(31, "caution"), (32, "fact"), (33, "fact"), (34, "good")]
)
def test_a_share_is_praised_only_where_it_is_close_to_the_promise(result, n_hits, tone):
    # Of 40 true 90 % intervals chance lets 32 to 39 hold, and 34 to 38 in four of five tables.
    said = f"90 % intervals held {n_hits} of 40"
    assert any(said in text for text in texts(judged(result, hits(40, n_hits), 1.0), tone))


def test_rows_with_gaps_are_counted_apart_and_cautioned_about(result):
    y = np.where(np.arange(200) % 5 == 0, 5.0, 0.1)
    gappy = judged(result, y, 1.0, has_gap=np.arange(200) % 5 == 0)
    assert (
        "Where inputs are missing intervals are too narrow: 90 % intervals held 0 of 40 (0 %) "
        "test rows with gaps ('age'), and 160 of 160 (100 %) others."
    ) in texts(gappy, "caution")


def test_rows_with_gaps_are_not_blamed_for_what_the_others_are(result):
    found = judged(result, np.full(200, 0.01), 1.0, has_gap=np.arange(200) < 18)
    assert any("Intervals are too wide" in text for text in texts(found, "caution"))
    assert not any("missing" in text for text in texts(found, "caution"))
    assert any("18 of 18 (100 %) test rows with gaps" in text for text in texts(found, "fact"))


def test_few_rows_with_gaps_cannot_tell(result):
    y = normal_outcomes(200, 1.0)
    few = judged(result, y, 1.0, has_gap=np.arange(200) < 6)
    (text,) = [text for text in texts(few, "fact") if "with gaps" in text]
    assert "not knowing a missing input; 6 test rows with gaps cannot tell how well" in text
    many = judged(result, y, 1.0, has_gap=np.arange(200) < 100)
    (text,) = [text for text in texts(many, "fact") if "with gaps" in text]
    assert text.startswith("Intervals include not knowing a missing input: 90 % intervals held")


@pytest.mark.parametrize(("sd", "verdict"), [(0.5, "narrow"), (2.0, "wide")])
def test_intervals_of_the_wrong_size_are_a_caution(result, sd, verdict):
    found = texts(judged(result, normal_outcomes(200, 1.0), sd), "caution")
    assert any(f"Intervals are too {verdict}" in text for text in found)
    (said,) = [text for text in found if text.startswith("Intervals are too")]
    assert said.endswith("test rows, unlikely by chance.")


def test_few_test_rows_are_never_called_a_kept_promise(result):
    few = judged(result, normal_outcomes(12, 1.0), 1.0)
    assert not any("promise" in text for text in texts(few, "good"))
    assert any("Only 12 rows served as a test" in text for text in texts(few, "caution"))


def test_noise_that_grows_with_the_prediction_is_a_caution(result):
    y = np.concatenate([normal_outcomes(150, 0.2), normal_outcomes(150, 1.4)])
    found = texts(judged(result, y, 1.0), "caution")
    assert any(
        "too wide where predictions are low and too narrow where predictions are high" in text
        for text in found
    )


def test_heavy_tails_are_a_caution(result):
    # Nine tenths inside, as promised, but nearly all of them close to zero.
    y = np.concatenate([np.full(180, 0.01), np.full(20, 5.0)])[
        np.random.default_rng(0).permutation(200)
    ]
    found = texts(judged(result, y, 1.0), "caution")
    assert any("Errors are not shaped like the normal noise" in text for text in found)


def gained(result, test, folds, constant=0.0):
    """Return the result as if it had gained so much over the mean, the error being 0.1."""
    held_out = dataclasses.replace(
        result.held_out, gain=Estimate(np.array(test), np.array(0.1))
    )
    scores = (dataclasses.replace(result.scores[0], probability=constant), *result.scores[1:])
    columns_gain = Estimate(np.array(folds), np.array(0.1))
    return dataclasses.replace(
        result, held_out=held_out, scores=scores, columns_gain=columns_gain
    )


@pytest.mark.parametrize(("gain", "is_certain"), [(0.5, True), (0.05, False), (-0.5, False)])
def test_the_answer_claims_only_what_beats_the_mean_beyond_chance(result, gain, is_certain):
    text = headline(gained(result, gain, 0.05))
    assert ("say nothing certain" in text) is not is_certain


@pytest.mark.parametrize(
    ("folds", "constant", "is_told"), [(0.5, 0.0, True), (0.05, 0.0, False), (0.5, 0.3, False)]
)
def test_what_folds_and_evidence_show_is_not_denied_by_few_test_rows(
    result, folds, constant, is_told
):
    text = headline(gained(result, 0.05, folds, constant))
    assert ("say nothing certain" in text) is not is_told
    said = "cross-validation gains 0.50 ± 0.10 of log score per row over the mean alone"
    assert (said in text) is is_told
    assert ("the 24 test rows cannot confirm it" in text) is is_told


@pytest.mark.parametrize(
    ("size", "test", "folds", "is_refuted"),
    [
        (20.0, -9.0, 0.5, True),
        (20.0, -9.0, 0.05, True),
        (20.0, -0.05, 0.05, True),
        (0.1, -9.0, 0.5, True),
        (0.1, -9.0, 0.05, False),
        (1.0, -0.05, 0.5, False),
        (20.0, 0.5, 0.5, False),
    ],
)
def test_predictions_that_the_test_rows_refute_are_not_to_be_used(
    result, size, test, folds, is_refuted
):
    y = size * result.simplest.rmse * (-1.0) ** np.arange(40)
    text = headline(gained(judged(result, y, 1.0), test, folds))
    assert text.startswith("Do not use these predictions of 'outcome'") is is_refuted
    assert ("cannot confirm" in text) is (test == -0.05 and folds == 0.5)
    if is_refuted:
        assert f"log score per row is lower than its by {number(-test, 2)} ± 0.10" in text


@pytest.mark.parametrize(
    ("score", "probability", "is_told"),
    [
        (-174.0, 0.026, True),
        (-174.0, 1e-5, False),
        (-0.9, 0.026, False),
        (-np.inf, 0.5, False),
    ],
)
def test_a_candidate_that_fails_in_the_folds_is_a_caution_and_no_check_mark(
    result, score, probability, is_told
):
    alone, winner = result.simplest, result.winner
    best = max(one.cv_log_score for one in result.candidates) + 1
    scores = [
        dataclasses.replace(one, cv_log_score=best) if one.name == winner.name else one
        for one in result.scores
    ]
    scores[1] = dataclasses.replace(
        scores[1],
        cv_log_score=alone.cv_log_score + score,
        cv_log_score_error=32.0,
        probability=probability,
    )
    failing = gained(dataclasses.replace(result, scores=tuple(scores)), 0.5, 0.5)
    said = f"Cross-validation gives linear ({number(alone.cv_log_score + score)} ± 32) far less"
    assert any(text.startswith(said) for text in texts(failing, "caution")) is is_told
    agrees = [text for text in texts(failing, "good") if "Cross-validation agrees" in text]
    assert bool(agrees) is not is_told


@pytest.mark.parametrize(("gain", "tone"), [(0.5, "good"), (0.05, "fact")])
def test_no_check_mark_stands_beside_an_answer_that_found_nothing(result, gain, tone):
    winner = result.winner
    scores = tuple(
        dataclasses.replace(score, cv_log_score=0.0 if score.name == winner.name else -9.0)
        for score in result.scores
    )
    agreeing = gained(dataclasses.replace(result, scores=scores), gain, 0.05)
    (found,) = [
        f for f in regression_remarks(agreeing) if f.text.startswith("Cross-validation agrees")
    ]
    assert found.tone == tone


def test_a_row_that_decides_about_the_error_is_a_caution_and_left_out_of_the_answer(result):
    y = normal_outcomes(200, 1.0)
    usual = judged(result, y, 1.0)
    assert not any("decides about the error" in text for text in texts(usual, "caution"))
    odd = gained(judged(result, np.append(y, 1e4), 1.0), 0.5, 0.5)
    rmse = number(float(np.sqrt(np.mean(y**2))))
    (said,) = [text for text in texts(odd, "caution") if "decides about the error" in text]
    assert f"and by {rmse} without the worst row, of which one is off by 10,000" in said
    answer = headline(odd)
    assert f"are off by {rmse} on rows never seen before without the worst row" in answer
    assert "half of them by at most 0.6" in answer
    mean = float(result.training.named_estimators_["constant"].intercept_)
    alone = number(float(np.sqrt(np.mean((y - mean) ** 2))))
    assert answer.endswith(f"the mean of the training rows alone is off by {alone}.")
    assert result.alone_rmse == pytest.approx(result.simplest.rmse)


def test_the_answer_and_the_tile_say_the_same_share(result):
    bad = gained(judged(result, 3.0 + np.arange(40) % 2, 1.0), 0.5, 0.5)
    assert ", none of the variance among them explained" in headline(bad)
    assert not any("Cross-validation agrees" in text for text in texts(bad, "good"))
    assert "<b>none</b><span>of the variance of test rows explained</span>" in report_page(bad)


def test_numbers_that_stand_for_missing_are_a_caution(table):
    marked = table.assign(age=table["age"].fillna(-999.0))
    found = fit_table(marked, "outcome", FitSettings(n_folds=2))
    n = int((marked["age"] == -999).sum())
    assert any(
        text.startswith(f"'age' is exactly -999 in {n} rows and ")
        for text in texts(found, "caution")
    )


@pytest.mark.parametrize(("error", "tone"), [(0.01, "caution"), (1.0, "fact")])
def test_evidence_and_cross_validation_that_disagree_are_told(result, error, tone):
    best = result.winner.cv_log_score + 0.2
    scores = (dataclasses.replace(result.scores[1], cv_log_score=best), *result.scores[2:])
    disagreeing = dataclasses.replace(
        result,
        scores=(result.scores[0], *scores),
        cv_gain=Estimate(np.array(0.2), np.array(error)),
    )
    told = f"Evidence prefers {result.winner.name}, cross-validation linear, by 0.20"
    (text,) = [text for text in texts(disagreeing, tone) if told in text]
    heaviest = max(result.candidates, key=lambda score: score.cv_weight)
    weights = f"cross-validation would take {heaviest.name} {heaviest.cv_weight:.2f}"
    assert (weights in text) is (tone == "caution")


def test_many_rows_outside_the_training_range_are_a_caution(result):
    notes = ("50 of 100 rows lie outside.",)
    for share, tone in ((0.5, "caution"), (0.05, "fact")):
        y = normal_outcomes(100, 1.0)
        other = judged(result, y, 1.0, np.arange(100) < 100 * share)
        held_out = dataclasses.replace(other.held_out, notes=notes)
        other = dataclasses.replace(other, held_out=held_out)
        assert any(notes[0] in text for text in texts(other, tone))


def test_the_answer_says_whose_variance_is_explained_unless_test_rows_are_very_few(result):
    share = f"{100 * result.mixture.r_squared:.0f} % of the variance among them explained; the"
    assert f"{share} mean of the training rows alone is off by" in headline(result)
    few = dataclasses.replace(result, data=dataclasses.replace(result.data, n_test=9))
    assert "%" not in headline(few)


def test_what_is_left_over_is_not_called_noise_alone(result):
    (text,) = [text for text in texts(result, "fact") if "spread of a typical" in text]
    assert "cannot explain (noise, or structure they lack)" in text


def test_a_spread_that_is_not_finite_is_told_in_words(result):
    predictive = dataclasses.replace(
        result.held_out.predictive, epistemic_std=np.full(len(result.held_out.y), np.inf)
    )
    held_out = dataclasses.replace(result.held_out, predictive=predictive)
    said = texts(dataclasses.replace(result, held_out=held_out), "fact")
    (text,) = [text for text in said if "spread of a typical" in text]
    assert "is unknown" in text
    assert " inf " not in text


def test_a_target_of_two_values_is_a_caution():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "sick": (x + rng.normal(size=60) > 0).astype(int)})
    found = texts(fit_table(frame, "sick", FitSettings(task="regression")), "caution")
    assert any("only two values" in text and "not probabilities" in text for text in found)


def test_a_target_of_more_values_is_no_cause_for_that_caution(result):
    assert not any("only two values" in text for text in texts(result, "caution"))


def test_a_test_of_rows_among_the_dates_is_no_test_of_forecasts(result, sorted_rows, table):
    for found in (regression_remarks(result), class_remarks(sorted_rows)):
        (said,) = [one.text for one in found if one.tone == "fact" and "forecasts" in one.text]
        assert said.startswith("Test rows lie among the training rows by 'day':")
    without = fit_table(table.drop(columns="day"), "outcome", FitSettings(n_folds=2))
    assert not any("forecasts" in text for text in texts(without, "fact"))
