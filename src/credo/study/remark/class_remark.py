"""Plain sentences on a classification: what it says, what to believe, and what not to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.data.table.column_name import quoted
from credo.study.remark.coverage_remark import FEW_TEST_ROWS
from credo.study.remark.decision_remark import decision_findings
from credo.study.remark.remark import Finding
from credo.study.remark.score_remark import impossible_findings
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.wording import count, listed, number, percent
from credo.validation.proportion import proportion_interval

__all__ = ["class_findings", "class_headline"]

LEAST_WEIGHT = 0.01
LEAST_REACH = 0.02
OFTEN_OUTSIDE = 0.1
FEWEST_OF_A_CLASS = 5
HALF = 0.5
CLOSE, FAR = 1.28, 1.96
"""Distances in standard deviations that chance exceeds in 20 % and in 5 % of tests."""


def class_findings(result: JudgedClassification) -> tuple[Finding, ...]:
    """Return all sentences on a result, the answer first and cautions after facts."""
    found = [
        Finding("answer", class_headline(result)),
        *(Finding("caution", note) for note in result.data.sentinel_notes),
        *_models(result),
        *_moves(result),
        _calibration(result),
        *_classes(result),
        *decision_findings(result),
        *impossible_findings(result.scores),
        *_amount(result),
        *(Finding("fact", note) for note in result.data.date_notes),
        *_places(result),
        *(Finding("caution", note) for note in result.trap_notes),
        _use(result),
    ]
    return tuple(sorted(found, key=lambda finding: finding.tone == "caution"))


def class_headline(result: JudgedClassification) -> str:
    """Return the answer in one sentence."""
    target, stack, alone = result.data.target, result.stack, result.baseline
    always = f"always saying {result.common!r} is wrong for {percent(alone.error_rate)}"
    n_test, wrong = count(result.data.n_test, "test row"), percent(stack.error_rate)
    if not _is_told(result) and float(result.columns_gain.interval(CONFIDENCE)[0]) > 0:
        if float(result.held_out.gain.interval(CONFIDENCE)[1]) < 0:
            lost, error = -result.held_out.gain.value, result.held_out.gain.standard_error
            return (
                f"Do not use these probabilities of {target!r}: on {n_test} their log score "
                f"per row is lower than that of class frequencies alone by "
                f"{number(float(lost), 2)} ± {number(float(error), 2)}, whatever the folds of "
                f"the training rows say; predictions are wrong for {wrong}, and {always}."
            )
        gain, error = result.columns_gain.value, result.columns_gain.standard_error
        return (
            f"The columns tell something about {target!r}: cross-validation gains "
            f"{number(float(gain), 2)} ± {number(float(error), 2)} of log score per row over "
            f"class frequencies alone; the {n_test} cannot confirm it, predictions are wrong "
            f"for {wrong} there, and {always}."
        )
    if not _is_told(result):
        return (
            f"The columns say nothing certain about {target!r}: on {n_test} predictions are "
            f"wrong for {wrong}, and {always}."
        )
    interval = f"{percent(stack.error_low)} to {percent(stack.error_high)}"
    return (
        f"Predictions of {target!r} are wrong for {percent(stack.error_rate)} of rows never "
        f"seen before (95 % interval {interval}); {always}."
    )


def _is_told(result: JudgedClassification) -> bool:
    """Whether the test rows show that the columns tell something."""
    return float(result.held_out.gain.interval(CONFIDENCE)[0]) > 0


def _models(result: JudgedClassification) -> Iterator[Finding]:
    winner = result.winner
    ranked = sorted(result.candidates, key=lambda score: -score.weight)
    told = [f"{s.name} {s.weight:.2f}" for s in ranked if s.weight >= LEAST_WEIGHT]
    judged = f" among those judged on all {result.n_folds} folds" * result.has_dropped
    yield Finding(
        "fact",
        f"The best single classifier by cross-validation{judged} is {winner.name}; the stack "
        f"that predicts has the weights {', '.join(told)}.",
    )
    gain, error = float(result.stack_gain.value), float(result.stack_gain.standard_error)
    if float(result.stack_gain.interval(CONFIDENCE)[0]) > 0:
        # No praise beside an answer that says that nothing, or nothing sure, was found.
        yield Finding(
            "good" if _is_told(result) else "fact",
            f"The stack beats {winner.name} in the folds, by {number(gain, 2)} ± "
            f"{number(error, 2)} of log score per row.",
        )


def _moves(result: JudgedClassification) -> Iterator[Finding]:
    """Say which columns move the probabilities, if they are worth anything."""
    moved = [profile for profile in result.profiles[:3] if profile.reach > LEAST_REACH]
    if not moved or result.winner.name == result.baseline.name:
        return
    labels = _labels(result)
    moving = [1 if len(labels) == 2 else int(p.reaches.argmax()) for p in moved]
    parts = [
        f"{profile.name!r} (that of {labels[k]!r} by {number(profile.reach, 2)})"
        for profile, k in zip(moved, moving, strict=True)
    ]
    yield Finding(
        "fact",
        "What moves a probability most, over the middle 95 % of a column with all others as in "
        f"a typical row, is {listed(parts)}.",
    )


def _calibration(result: JudgedClassification) -> Finding:
    """Say whether rows are right as often as their probabilities claim."""
    predictive, y = result.held_out.predictive, result.held_out.y
    claim = predictive.probability.max(axis=1)
    n_right, expected = int(np.sum(predictive.mode() == y)), float(claim.sum())
    spread = float(np.sqrt(np.sum(claim * (1 - claim))))
    said = (
        f"the predicted class had a mean probability of {percent(claim.mean())}, and "
        f"{n_right:,} of {len(y):,} ({percent(n_right / len(y))}) came true"
    )
    # Independent rows of unequal chances: their count is close to normal.
    z = (n_right - expected) / spread if spread > 0 else 0.0
    if abs(z) > FAR:
        wrong = "too sure" if z < 0 else "not sure enough"
        return Finding(
            "caution", f"Probabilities are {wrong}: {said}, which is unlikely by chance."
        )
    if len(y) < FEW_TEST_ROWS:
        return Finding("fact", f"On the test {said}, too few rows to judge probabilities by.")
    if abs(z) > CLOSE:
        return Finding("fact", f"On the test {said}, which may be chance.")
    return Finding("good", f"Probabilities keep their promise on the test: {said}.")


def _classes(result: JudgedClassification) -> Iterator[Finding]:
    """Say which class is missed most, where that is more than chance."""
    table = result.confusion.table
    totals, hits = table.sum(axis=1), np.diag(table)
    shares = np.where(totals > 0, hits / np.where(totals > 0, totals, 1), 1.0)
    worst = int(shares.argmin())
    if shares[worst] == 1:
        return
    high = float(proportion_interval(int(hits[worst]), int(totals[worst]), CONFIDENCE)[1])
    missed = (
        f"{int(hits[worst]):,} of {int(totals[worst]):,} test rows of class "
        f"{str(_labels(result)[worst])!r} were found"
    )
    if high < HALF:
        yield Finding("caution", f"One class is mostly missed: {missed}.")
    else:
        yield Finding("fact", f"The class missed most: {missed}.")


def _amount(result: JudgedClassification) -> Iterator[Finding]:
    n_test, counts = result.data.n_test, _counts(result)
    if n_test < FEW_TEST_ROWS:
        yield Finding(
            "caution",
            f"Only {count(n_test, 'row')} served as a test: the figures are rough, and another "
            "seed may give others.",
        )
    labels = np.array(_labels(result))
    absent, labels, counts = labels[counts == 0], labels[counts > 0], counts[counts > 0]
    if len(absent):
        whose = "class" if len(absent) == 1 else f"the {count(len(absent), 'class')}"
        yield Finding(
            "caution",
            f"No test row is of {whose} {quoted(absent)}: nothing is known of how well "
            f"{'it is' if len(absent) == 1 else 'they are'} predicted.",
        )
    if counts.min() < FEWEST_OF_A_CLASS:
        label = str(labels[counts.argmin()])
        yield Finding(
            "caution",
            f"Only {count(int(counts.min()), 'test row')} of class {label!r} served as a test: "
            "what is said of it is rough.",
        )


def _places(result: JudgedClassification) -> Iterator[Finding]:
    held_out = result.held_out
    is_often = held_out.is_outside.mean() > OFTEN_OUTSIDE
    for note in held_out.notes:
        yield Finding("caution" if is_often else "fact", f"On the test, {note}")
    if held_out.has_gap.any():
        is_wrong = held_out.predictive.mode() != held_out.y
        gappy = is_wrong[held_out.has_gap]
        yield Finding(
            "fact",
            f"{int(gappy.sum()):,} of {count(len(gappy), 'test row')} with gaps "
            f"({quoted(held_out.gap_columns)}) were predicted wrongly, and "
            f"{int(is_wrong.sum() - gappy.sum()):,} of {len(is_wrong) - len(gappy):,} others.",
        )


def _use(result: JudgedClassification) -> Finding:
    return Finding(
        "fact",
        f"The saved model is the same stack, its classifiers fitted to all "
        f"{result.data.n_rows:,} rows; the test scores were measured before that, on rows they "
        "had not seen.",
    )


def _labels(result: JudgedClassification) -> list[str]:
    return [str(label) for label in result.training.classes_]


def _counts(result: JudgedClassification) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the number of test rows of each class."""
    return np.asarray(result.confusion.table.sum(axis=1))
