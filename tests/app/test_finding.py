import dataclasses

import numpy as np
import pytest

from credo.app.finding import findings, headline
from credo.distributions.estimate import Estimate
from credo.distributions.normal import Normal
from credo.distributions.predictive import Predictive


def judged(result, y, sd, is_outside=None):
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
    )
    data = dataclasses.replace(result.data, n_test=n)
    return dataclasses.replace(result, held_out=held_out, data=data)


def texts(result, tone):
    return [found.text for found in findings(result) if found.tone == tone]


def normal_outcomes(n, sd):
    """Return outcomes whose quantiles are exactly normal, in an order without pattern."""
    levels = (np.arange(n) + 0.5) / n
    return np.random.default_rng(0).permutation(Normal(0.0, sd).quantile(levels))


def test_intervals_that_hold_as_often_as_promised_are_good_news(result):
    found = texts(judged(result, normal_outcomes(200, 1.0), 1.0), "good")
    assert (
        "The intervals keep their promise: 90 % intervals held 180 of 200 test rows"
        in found[-1]
    )


@pytest.mark.parametrize(("sd", "verdict"), [(0.5, "narrow"), (2.0, "wide")])
def test_intervals_of_the_wrong_size_are_a_caution(result, sd, verdict):
    found = texts(judged(result, normal_outcomes(200, 1.0), sd), "caution")
    assert any(f"Intervals are too {verdict}" in text for text in found)


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


@pytest.mark.parametrize(("gain", "is_certain"), [(0.5, True), (0.05, False), (-0.5, False)])
def test_the_answer_claims_only_what_beats_the_mean_beyond_chance(result, gain, is_certain):
    held_out = dataclasses.replace(
        result.held_out, gain=Estimate(np.array(gain), np.array(0.1))
    )
    text = headline(dataclasses.replace(result, held_out=held_out))
    assert ("say nothing certain" in text) is not is_certain


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
