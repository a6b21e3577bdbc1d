"""Plain sentences: what the result says, what to believe of it, and what not to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.plots.wording import probability
from credo.study.remark.coverage_remark import (
    FEW_TEST_ROWS,
    FEWEST_FOR_SHARES,
    coverage_findings,
)
from credo.study.remark.remark import Finding
from credo.study.remark.score_remark import failed_findings, impossible_findings
from credo.study.result.chance import CONFIDENCE
from credo.study.result.effect import N_EFFECTS, strongest_effects
from credo.study.result.result import JudgedRegression
from credo.study.result.table_regression import MIN_PROBABILITY
from credo.study.result.wording import count, listed, number

__all__ = ["findings", "headline"]

ROWS_PER_TERM = 3.0
OFTEN_OUTSIDE = 0.1
OFTEN_REPEATED = 0.05
LEAST_WEIGHT = 0.01
EXACT = 1 - 1e-9
REFUTED = 2.0
"""Predictions that are off so many times as far as the mean alone are of no use."""


def findings(result: JudgedRegression) -> tuple[Finding, ...]:
    """Return all sentences on a result, the answer first and cautions after facts."""
    found = [
        Finding("answer", headline(result)),
        *_worst(result),
        *(Finding("caution", note) for note in result.data.sentinel_notes),
        *_models(result),
        *_moves(result),
        *_weights(result),
        *_noise(result),
        *coverage_findings(result),
        *_two_values(result),
        *impossible_findings(result.scores),
        *failed_findings(result.scores, result.constant),
        *_amount(result),
        *(Finding("fact", note) for note in result.data.date_notes),
        *_places(result),
        _use(result),
    ]
    return tuple(sorted(found, key=lambda finding: finding.tone == "caution"))


def headline(result: JudgedRegression) -> str:
    """Return the answer in one sentence."""
    target, errors, alone = result.data.target, result.errors, number(result.constant.rmse)
    n_test = count(result.data.n_test, "test row")
    if _is_told(result):
        is_few = result.data.n_test < FEWEST_FOR_SHARES
        without = f" {errors.left_out}" * bool(errors.left_out)
        explained = f", {errors.share} of the variance among them explained" * (not is_few)
        return (
            f"Predictions of {target!r} are off by {number(errors.rmse)} on rows never seen "
            f"before{without}, half of them by at most {number(errors.median)}{explained}; the "
            f"mean of the training rows alone is off by {number(result.alone_rmse)}."
        )
    rmse = number(result.average.rmse)
    if _is_refuted(result):
        lost, error = -result.held_out.gain.value, result.held_out.gain.standard_error
        return (
            f"Do not use these predictions of {target!r}: on {n_test} they are off by {rmse}, "
            f"the mean alone by {alone}, and their log score per row is lower than its by "
            f"{number(float(lost), 2)} ± {number(float(error), 2)}."
        )
    if _is_learned(result):
        gain, error = result.columns_gain.value, result.columns_gain.standard_error
        return (
            f"The columns tell something about {target!r}: cross-validation gains "
            f"{number(float(gain), 2)} ± {number(float(error), 2)} of log score per row over "
            f"the mean alone; the {n_test} cannot confirm it, predictions are off by {rmse} "
            f"there and the mean alone by {alone}."
        )
    return (
        f"The columns say nothing certain about {target!r}: on {n_test} predictions are off by "
        f"{rmse}, and the mean alone by {alone}."
    )


def _is_told(result: JudgedRegression) -> bool:
    """Whether the test rows show that the columns tell something."""
    return float(result.held_out.gain.interval(CONFIDENCE)[0]) > 0


def _is_learned(result: JudgedRegression) -> bool:
    """Whether evidence and cross-validation within the training rows both show it."""
    is_probable = result.constant.probability < 1 - CONFIDENCE
    return is_probable and float(result.columns_gain.interval(CONFIDENCE)[0]) > 0


def _is_refuted(result: JudgedRegression) -> bool:
    """Whether the test rows speak against the predictions, not only fail to confirm them."""
    gain = result.held_out.gain
    is_far = gain.value < 0 and result.errors.rmse > REFUTED * result.constant.rmse
    is_worse = float(gain.interval(CONFIDENCE)[1]) < 0
    return bool(is_far or (is_worse and _is_learned(result)))


def _worst(result: JudgedRegression) -> Iterator[Finding]:
    """Say where a few test rows decide about the error."""
    if len(result.errors.worst):
        yield Finding("caution", result.errors.sentence(result.average.rmse))


def _models(result: JudgedRegression) -> Iterator[Finding]:
    winner, best = result.winner, result.cv_winner
    share = f"with probability {probability(winner.probability)}"
    yield Finding("fact", f"The most probable candidate is {winner.name}, {share}.")
    if best.name == winner.name:
        text = f"Cross-validation agrees with the evidence that {winner.name} is best."
        # No praise beside an answer that says that nothing, or nothing sure, was found.
        is_sound = not any(failed_findings(result.scores, result.constant))
        is_good = _is_told(result) and is_sound and not result.errors.r_squared < 0
        yield Finding("good" if is_good else "fact", text)
        return
    if result.average.r_squared > EXACT:
        yield Finding("fact", f"The columns determine {result.data.target!r} exactly.")
        return
    gain, error = float(result.cv_gain.value), float(result.cv_gain.standard_error)
    is_clear = float(result.cv_gain.interval(CONFIDENCE)[0]) > 0
    verdict = (
        f"more than chance explains, so the assumptions behind {winner.name} deserve doubt; "
        f"predictions are weighed by evidence, where cross-validation would take "
        f"{_cv_weights(result)}"
        if is_clear
        else "which may be chance"
    )
    yield Finding(
        "caution" if is_clear else "fact",
        f"Evidence prefers {winner.name}, cross-validation {best.name}, by "
        f"{number(gain, 2)} ± {number(error, 2)} of log score per row, {verdict}.",
    )


def _cv_weights(result: JudgedRegression) -> str:
    """Return the candidates by their weight in cross-validation, leaving out the smallest."""
    ranked = sorted(result.candidates, key=lambda score: -score.cv_weight)
    told = [f"{s.name} {s.cv_weight:.2f}" for s in ranked if s.cv_weight >= LEAST_WEIGHT]
    return ", ".join(told)


def _moves(result: JudgedRegression) -> Iterator[Finding]:
    """Say which columns move the prediction, if it is worth anything."""
    if result.winner.name == result.constant.name:
        yield Finding("fact", "The most probable candidate uses no column at all.")
        return
    moved = [profile for profile in result.profiles[:3] if profile.sure_reach > 0]
    if moved:
        parts = [f"{profile.name!r} by {number(profile.reach)}" for profile in moved]
        yield Finding(
            "fact",
            f"What moves the prediction most, over the middle 95 % of a column with all "
            f"others as in a typical row, the largest first, is {listed(parts)}.",
        )


def _weights(result: JudgedRegression) -> Iterator[Finding]:
    weights = strongest_effects(result.training, N_EFFECTS, result.settings.coverage)
    if weights.effects:
        yield Finding("fact", weights.sentence())


def _noise(result: JudgedRegression) -> Iterator[Finding]:
    predictive = result.held_out.predictive
    noise, doubt = (
        float(np.median(part)) for part in (predictive.aleatoric_std, predictive.epistemic_std)
    )
    if not np.isfinite([noise, doubt]).all():
        yield Finding(
            "fact",
            "How much of the spread of a typical prediction is noise, and how much doubt, "
            "cannot be told: with so few rows to learn from its standard deviation is not "
            "finite.",
        )
        return
    yield Finding(
        "fact",
        f"Of the spread of a typical prediction, {number(noise)} is what these candidates "
        f"cannot explain (noise, or structure they lack), and {number(doubt)} is doubt that "
        "more rows would remove.",
    )


def _amount(result: JudgedRegression) -> Iterator[Finding]:
    n_test, n_train = result.data.n_test, result.data.n_train
    if n_test < FEW_TEST_ROWS:
        yield Finding(
            "caution",
            f"Only {count(n_test, 'row')} served as a test: the figures are rough, and another "
            "seed may give others.",
        )
    winner = result.training.named_estimators_[result.winner.name]
    n_effective = float(winner.n_effective_parameters_)
    if n_effective * ROWS_PER_TERM > n_train:
        yield Finding(
            "caution",
            f"The data are few for the freedom of {result.winner.name}: {n_train:,} "
            f"training rows determine about {n_effective:,.0f} of its parameters.",
        )


def _two_values(result: JudgedRegression) -> Iterator[Finding]:
    if result.data.n_target_values == 2:
        yield Finding(
            "caution",
            f"The target {result.data.target!r} has only two values, and is fitted as a "
            "number: predictions are not probabilities, and may lie beyond both values.",
        )


def _places(result: JudgedRegression) -> Iterator[Finding]:
    held_out = result.held_out
    is_often = held_out.is_outside.mean() > OFTEN_OUTSIDE
    if held_out.n_repeated > OFTEN_REPEATED * len(held_out.y):
        yield Finding(
            "caution",
            f"{held_out.n_repeated:,} of {len(held_out.y):,} test rows have the same inputs as "
            "a training row, once levels are pooled and coded: if they are copies, the test is "
            "easier than new rows may be.",
        )
    for note in held_out.notes:
        yield Finding("caution" if is_often else "fact", f"On the test, {note}")


def _use(result: JudgedRegression) -> Finding:
    return Finding(
        "fact",
        f"The saved model is the same average fitted to all {result.data.n_rows:,} rows, "
        f"candidates of probability below {MIN_PROBABILITY:g} left out; the test scores "
        "were measured before that, on rows it had not seen.",
    )
