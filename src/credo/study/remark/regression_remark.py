"""Remarks on regressions: what they say, what to believe of it, and how intervals held."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from credo.data.table.column_name import quoted
from credo.distributions.predictive import Predictive
from credo.plots.wording import probability
from credo.study.candidates.slate import VARYING
from credo.study.remark.remark import (
    FEW_TEST_ROWS,
    FEWEST_FOR_SHARES,
    LEAST_WEIGHT,
    failure_remarks,
    few_remarks,
    impossible_remarks,
    in_order,
    outside_remarks,
)
from credo.study.result.chance import CONFIDENCE, chance_range, verdict
from credo.study.result.effect import N_EFFECTS, strongest_effects
from credo.study.result.held_out import HeldOut
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.relevance import column_relevance
from credo.study.result.table_model import MIN_PROBABILITY, Remark
from credo.study.result.wording import count, listed, number, percent
from credo.validation.scores import is_covered

__all__ = ["headline", "regression_remarks"]

ROWS_PER_TERM = 3.0
OFTEN_REPEATED = 0.05
EXACT = 1 - 1e-9
CLOSE = 0.8
"""A count of hits is close to the promise inside this central part of what chance gives."""

MIDDLE = 0.5

REFUTED = 2.0
"""Predictions that are off so many times as far as the mean alone are of no use."""


def regression_remarks(result: JudgedRegression) -> tuple[Remark, ...]:
    """Return all sentences on a result, the answer first and cautions after facts."""
    found = [
        Remark("answer", headline(result)),
        *(Remark("fact", note) for note in result.data.code_notes),
        *_worst(result),
        *(Remark("caution", note) for note in result.data.sentinel_notes),
        *_models(result),
        *_moves(result),
        *_weights(result),
        *_relevance(result),
        *_noise(result),
        *_coverage_remarks(result),
        *_two_values(result),
        *impossible_remarks(result.scores),
        *failure_remarks(result.scores, result.simplest),
        *_amount(result),
        *(Remark("fact", note) for note in result.data.date_notes),
        *_places(result),
        _use(result),
    ]
    return in_order(found)


def headline(result: JudgedRegression) -> str:
    """Return the answer in one sentence."""
    target, errors, alone = result.data.target, result.errors, number(result.simplest.rmse)
    n_test = count(result.data.n_test, "test row")
    if _is_confirmed(result):
        is_few = result.data.n_test < FEWEST_FOR_SHARES
        without = f" {errors.left_out}" * bool(errors.left_out)
        explained = f", {errors.share} of the variance among them explained" * (not is_few)
        return (
            f"Predictions of {target!r} are off by {number(errors.rmse)} on rows never seen "
            f"before{without}, half of them by at most {number(errors.median)}{explained}; the "
            f"mean of the training rows alone is off by {number(result.alone_rmse)}."
        )
    rmse = number(result.mixture.rmse)
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


def _is_confirmed(result: JudgedRegression) -> bool:
    """Whether the test rows show that the columns tell something."""
    return float(result.held_out.gain.interval(CONFIDENCE)[0]) > 0


def _is_learned(result: JudgedRegression) -> bool:
    """Whether evidence and cross-validation within the training rows both show it."""
    is_probable = result.simplest.probability < 1 - CONFIDENCE
    return is_probable and float(result.columns_gain.interval(CONFIDENCE)[0]) > 0


def _is_refuted(result: JudgedRegression) -> bool:
    """Whether the test rows speak against the predictions, not only fail to confirm them."""
    gain = result.held_out.gain
    is_far = gain.value < 0 and result.errors.rmse > REFUTED * result.simplest.rmse
    is_worse = float(gain.interval(CONFIDENCE)[1]) < 0
    return bool(is_far or (is_worse and _is_learned(result)))


def _worst(result: JudgedRegression) -> Iterator[Remark]:
    """Say where a few test rows decide about the error."""
    if len(result.errors.worst):
        yield Remark("caution", result.errors.sentence(result.mixture.rmse))


def _models(result: JudgedRegression) -> Iterator[Remark]:
    winner, best = result.winner, result.cv_winner
    share = f"with probability {probability(winner.probability)}"
    yield Remark("fact", f"The most probable candidate is {winner.name}, {share}.")
    if best.name == winner.name:
        text = f"Cross-validation agrees with the evidence that {winner.name} is best."
        # No praise beside an answer that says that nothing, or nothing sure, was found.
        is_sound = not any(failure_remarks(result.scores, result.simplest))
        is_good = _is_confirmed(result) and is_sound and not result.errors.r_squared < 0
        yield Remark("good" if is_good else "fact", text)
        return
    if result.mixture.r_squared > EXACT:
        yield Remark("fact", f"The columns determine {result.data.target!r} exactly.")
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
    yield Remark(
        "caution" if is_clear else "fact",
        f"Evidence prefers {winner.name}, cross-validation {best.name}, by "
        f"{number(gain, 2)} ± {number(error, 2)} of log score per row, {verdict}.",
    )


def _cv_weights(result: JudgedRegression) -> str:
    """Return the candidates by their weight in cross-validation, leaving out the smallest."""
    ranked = sorted(result.candidates, key=lambda score: -score.cv_weight)
    weights = [f"{s.name} {s.cv_weight:.2f}" for s in ranked if s.cv_weight >= LEAST_WEIGHT]
    return ", ".join(weights)


def _moves(result: JudgedRegression) -> Iterator[Remark]:
    """Say which columns move the prediction, if it is worth anything."""
    if result.winner.name == result.simplest.name:
        yield Remark("fact", "The most probable candidate uses no column at all.")
        return
    moved = [profile for profile in result.profiles[:3] if profile.sure_reach > 0]
    if moved:
        parts = [f"{profile.name!r} by {number(profile.reach)}" for profile in moved]
        yield Remark(
            "fact",
            f"What moves the prediction most, over the middle 95 % of a column with all "
            f"others as in a typical row, the largest first, is {listed(parts)}.",
        )


def _weights(result: JudgedRegression) -> Iterator[Remark]:
    weights = strongest_effects(result.training, N_EFFECTS, result.settings.coverage)
    if weights.effects:
        yield Remark("fact", weights.sentence())


def _relevance(result: JudgedRegression) -> Iterator[Remark]:
    relevant = column_relevance(result.training, result.settings.coverage)
    if relevant.relevances:
        yield Remark("fact", relevant.sentence())


def _noise(result: JudgedRegression) -> Iterator[Remark]:
    predictive = result.held_out.predictive
    noise, doubt = (
        float(np.median(part)) for part in (predictive.aleatoric_std, predictive.epistemic_std)
    )
    if not np.isfinite([noise, doubt]).all():
        yield Remark(
            "fact",
            "How much of the spread of a typical prediction is noise, and how much doubt, "
            "is unknown: with so few rows to learn from its standard deviation is not "
            "finite.",
        )
        return
    yield Remark(
        "fact",
        f"Of the spread of a typical prediction, {number(noise)} is what these candidates "
        f"cannot explain (noise, or structure they lack), and {number(doubt)} is doubt that "
        "more rows would remove.",
    )


def _amount(result: JudgedRegression) -> Iterator[Remark]:
    n_test, n_train = result.data.n_test, result.data.n_train
    yield from few_remarks(n_test)
    winner = result.training.named_estimators_[result.winner.name]
    # A process has no terms to determine: its doubt says where rows are few.
    n_effective = float(getattr(winner, "n_effective_parameters_", 0.0))
    if n_effective * ROWS_PER_TERM > n_train:
        yield Remark(
            "caution",
            f"The data are few for the freedom of {result.winner.name}: {n_train:,} "
            f"training rows determine about {n_effective:,.0f} of its parameters.",
        )


def _two_values(result: JudgedRegression) -> Iterator[Remark]:
    if result.data.n_target_values == 2:
        yield Remark(
            "caution",
            f"The target {result.data.target!r} has only two values, and is fitted as a "
            "number: predictions are not probabilities, and may lie beyond both values.",
        )


def _places(result: JudgedRegression) -> Iterator[Remark]:
    held_out = result.held_out
    if held_out.n_repeated > OFTEN_REPEATED * len(held_out.y):
        yield Remark(
            "caution",
            f"{held_out.n_repeated:,} of {len(held_out.y):,} test rows have the same inputs as "
            "a training row, once levels are pooled and coded: if they are copies, the test is "
            "easier than new rows may be.",
        )
    yield from outside_remarks(held_out)


def _use(result: JudgedRegression) -> Remark:
    return Remark(
        "fact",
        f"The saved model is the same average fitted to all {result.data.n_rows:,} rows, "
        f"candidates of probability below {MIN_PROBABILITY:g} left out; the test scores "
        "were measured before that, on rows it had not seen.",
    )


def _coverage_remarks(result: JudgedRegression) -> Iterator[Remark]:
    """Yield what the test rows say of the intervals, as a whole and in parts."""
    held_out, level = result.held_out, result.settings.coverage
    is_hit = is_covered(held_out.y, held_out.predictive, level)
    yield _whole(is_hit, level)
    if not verdict(is_hit, level):
        yield from _shape(held_out)
    yield from _ends(held_out, is_hit, level, result.winner.name.endswith(VARYING))
    if held_out.has_gap.any():
        yield _with_gaps(held_out, is_hit, level)


def _whole(is_hit: NDArray[np.bool_], level: float) -> Remark:
    n_rows, n_hits = len(is_hit), int(is_hit.sum())
    said = f"{percent(level)} intervals held {_share(is_hit)} test rows"
    wrong = verdict(is_hit, level)
    if wrong:
        return Remark("caution", f"Intervals are too {wrong}: {said}, unlikely by chance.")
    if n_rows < FEW_TEST_ROWS:
        return Remark("fact", f"{said}, too few rows to judge the intervals by.")
    low, high = chance_range(n_rows, level)
    least, most = chance_range(n_rows, level, CLOSE)
    allowed = f"chance allows {low:,} to {high:,}"
    if least <= n_hits <= most:
        return Remark("good", f"{said}, close to what they promise ({allowed}).")
    return Remark("fact", f"{said}, which does not contradict them ({allowed}).")


def _shape(held_out: HeldOut[Predictive]) -> Iterator[Remark]:
    middle = is_covered(held_out.y, held_out.predictive, MIDDLE)
    wrong = verdict(middle, MIDDLE)
    if wrong:
        size = "smaller" if wrong == "wide" else "larger"
        yield Remark(
            "caution",
            "Errors are not shaped like the normal noise that the candidates assume: "
            f"{percent(middle.mean())} of the test rows are in their {percent(MIDDLE)} "
            f"interval, so that most errors are {size} than the intervals suggest.",
        )


def _ends(
    held_out: HeldOut[Predictive], is_hit: NDArray[np.bool_], level: float, is_varying: bool
) -> Iterator[Remark]:
    is_high = held_out.predictive.mean() > np.median(held_out.predictive.mean())
    low, high = (verdict(is_hit[rows], level) for rows in (~is_high, is_high))
    if low != high:
        ends = [
            f"too {wrong} where predictions are {where}"
            for wrong, where in ((low, "low"), (high, "high"))
            if wrong
        ]
        assumed = (
            "The noise does not follow the columns as was learned"
            if is_varying
            else "The noise is not the same everywhere, as the candidates assume"
        )
        yield Remark("caution", f"{assumed}: intervals are {' and '.join(ends)}.")


def _with_gaps(
    held_out: HeldOut[Predictive], is_hit: NDArray[np.bool_], level: float
) -> Remark:
    """Say apart what the intervals held where inputs were known and where they were not."""
    gappy, known = is_hit[held_out.has_gap], is_hit[~held_out.has_gap]
    others = f", and {_share(known)} others" if len(known) else ""
    said = (
        f"{percent(level)} intervals held {_share(gappy)} test rows with gaps "
        f"({quoted(held_out.gap_columns)}){others}"
    )
    wrong = verdict(gappy, level)
    if wrong and wrong != verdict(known, level):
        return Remark("caution", f"Where inputs are missing intervals are too {wrong}: {said}.")
    if len(gappy) < FEW_TEST_ROWS:
        return Remark(
            "fact",
            f"Intervals include not knowing a missing input; {count(len(gappy), 'test row')} "
            f"with gaps cannot tell how well: {said}.",
        )
    return Remark("fact", f"Intervals include not knowing a missing input: {said}.")


def _share(is_hit: NDArray[np.bool_]) -> str:
    return f"{int(is_hit.sum()):,} of {len(is_hit):,} ({percent(is_hit.mean())})"
