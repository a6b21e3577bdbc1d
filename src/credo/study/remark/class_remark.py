"""Remarks on classifiers: what they say, what to believe of it, and what decisions cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.data.table.column_name import quoted
from credo.distributions.estimate import Estimate
from credo.evaluation.decision_report import DecisionReport
from credo.study.remark.remark import (
    FEW_TEST_ROWS,
    LEAST_WEIGHT,
    few_remarks,
    impossible_remarks,
    in_order,
    outside_remarks,
)
from credo.study.result.chance import CONFIDENCE
from credo.study.result.classification_result import JudgedClassification
from credo.study.result.table_model import Remark
from credo.study.result.wording import count, listed, number, percent, plus_minus
from credo.validation.proportion import proportion_interval

__all__ = ["DECISION_HEADINGS", "class_headline", "class_remarks", "decision_cells"]

DECISION_HEADINGS = ("", "loss per row", "taken for")

LEAST_REACH = 0.02
FEWEST_OF_A_CLASS = 5
HALF = 0.5
CLOSE, FAR = 1.28, 1.96
"""Distances in standard deviations that chance exceeds in 20 % and in 5 % of tests."""


def class_remarks(result: JudgedClassification) -> tuple[Remark, ...]:
    """Return all sentences on a result, the answer first and cautions after facts."""
    found = [
        Remark("answer", class_headline(result)),
        *(Remark("caution", note) for note in result.data.sentinel_notes),
        *_models(result),
        *_moves(result),
        _calibration(result),
        *_classes(result),
        *_decision_remarks(result),
        *impossible_remarks(result.scores),
        *_amount(result),
        *(Remark("fact", note) for note in result.data.date_notes),
        *_places(result),
        *(Remark("caution", note) for note in result.trap_notes),
        _use(result),
    ]
    return in_order(found)


def class_headline(result: JudgedClassification) -> str:
    """Return the answer in one sentence."""
    target, stack, alone = result.data.target, result.mixture, result.simplest
    always = f"always saying {result.common!r} is wrong for {percent(alone.error_rate)}"
    n_test, wrong = count(result.data.n_test, "test row"), percent(stack.error_rate)
    if not _is_confirmed(result) and float(result.columns_gain.interval(CONFIDENCE)[0]) > 0:
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
    if not _is_confirmed(result):
        return (
            f"The columns say nothing certain about {target!r}: on {n_test} predictions are "
            f"wrong for {wrong}, and {always}."
        )
    interval = f"{percent(stack.error_low)} to {percent(stack.error_high)}"
    return (
        f"Predictions of {target!r} are wrong for {percent(stack.error_rate)} of rows never "
        f"seen before (95 % interval {interval}); {always}."
    )


def _is_confirmed(result: JudgedClassification) -> bool:
    """Whether the test rows show that the columns tell something."""
    return float(result.held_out.gain.interval(CONFIDENCE)[0]) > 0


def _models(result: JudgedClassification) -> Iterator[Remark]:
    winner = result.winner
    ranked = sorted(result.candidates, key=lambda score: -score.weight)
    weights = [f"{s.name} {s.weight:.2f}" for s in ranked if s.weight >= LEAST_WEIGHT]
    judged = f" among those judged on all {result.n_folds} folds" * result.has_dropped
    yield Remark(
        "fact",
        f"The best single classifier by cross-validation{judged} is {winner.name}; the stack "
        f"that predicts has the weights {', '.join(weights)}.",
    )
    gain, error = float(result.stack_gain.value), float(result.stack_gain.standard_error)
    if float(result.stack_gain.interval(CONFIDENCE)[0]) > 0:
        # No praise beside an answer that says that nothing, or nothing sure, was found.
        yield Remark(
            "good" if _is_confirmed(result) else "fact",
            f"The stack beats {winner.name} in the folds, by {number(gain, 2)} ± "
            f"{number(error, 2)} of log score per row.",
        )


def _moves(result: JudgedClassification) -> Iterator[Remark]:
    """Say which columns move the probabilities, if they are worth anything."""
    moved = [profile for profile in result.profiles[:3] if profile.reach > LEAST_REACH]
    if not moved or result.winner.name == result.simplest.name:
        return
    labels = _labels(result)
    moving = [1 if len(labels) == 2 else int(p.reaches.argmax()) for p in moved]
    parts = [
        f"{profile.name!r} (that of {labels[k]!r} by {number(profile.reach, 2)})"
        for profile, k in zip(moved, moving, strict=True)
    ]
    yield Remark(
        "fact",
        "What moves a probability most, over the middle 95 % of a column with all others as in "
        f"a typical row, is {listed(parts)}.",
    )


def _calibration(result: JudgedClassification) -> Remark:
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
        return Remark(
            "caution", f"Probabilities are {wrong}: {said}, which is unlikely by chance."
        )
    if len(y) < FEW_TEST_ROWS:
        return Remark("fact", f"On the test {said}, too few rows to judge probabilities by.")
    if abs(z) > CLOSE:
        return Remark("fact", f"On the test {said}, which may be chance.")
    return Remark("good", f"Probabilities keep their promise on the test: {said}.")


def _classes(result: JudgedClassification) -> Iterator[Remark]:
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
        yield Remark("caution", f"One class is mostly missed: {missed}.")
    else:
        yield Remark("fact", f"The class missed most: {missed}.")


def _amount(result: JudgedClassification) -> Iterator[Remark]:
    n_test, counts = result.data.n_test, _counts(result)
    yield from few_remarks(n_test)
    labels = np.array(_labels(result))
    absent, labels, counts = labels[counts == 0], labels[counts > 0], counts[counts > 0]
    if len(absent):
        whose = "class" if len(absent) == 1 else f"the {count(len(absent), 'class')}"
        yield Remark(
            "caution",
            f"No test row is of {whose} {quoted(absent)}: nothing is known of how well "
            f"{'it is' if len(absent) == 1 else 'they are'} predicted.",
        )
    if counts.min() < FEWEST_OF_A_CLASS:
        label = str(labels[counts.argmin()])
        yield Remark(
            "caution",
            f"Only {count(int(counts.min()), 'test row')} of class {label!r} served as a test: "
            "what is said of it is rough.",
        )


def _places(result: JudgedClassification) -> Iterator[Remark]:
    held_out = result.held_out
    yield from outside_remarks(held_out)
    if held_out.has_gap.any():
        is_wrong = held_out.predictive.mode() != held_out.y
        gappy = is_wrong[held_out.has_gap]
        yield Remark(
            "fact",
            f"{int(gappy.sum()):,} of {count(len(gappy), 'test row')} with gaps "
            f"({quoted(held_out.gap_columns)}) were predicted wrongly, and "
            f"{int(is_wrong.sum() - gappy.sum()):,} of {len(is_wrong) - len(gappy):,} others.",
        )


def _use(result: JudgedClassification) -> Remark:
    return Remark(
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


def _decision_remarks(result: JudgedClassification) -> Iterator[Remark]:
    """Yield what the test rows say of the decisions, if a loss was given."""
    report = result.decisions
    if report is None:
        return
    said = report.verdict.replace("95%", "95 %")
    if not _is_promise_kept(report):
        yield Remark("caution", said)
    elif float(report.saving.interval(report.coverage)[0]) > 0:
        yield Remark("good", said)
    else:
        yield Remark("fact", said)


def decision_cells(report: DecisionReport) -> list[tuple[str, str, str]]:
    """Return rows of a table: the decisions, what they promised, and constants instead."""
    rows = [
        ("decisions", _loss(report.realized), ""),
        ("expected of them", _loss(report.promised), ""),
        ("if classes were known", f"{report.oracle:.3f}", ""),
    ]
    for action, loss, error in report.constant.itertuples():
        share = percent(float(report.share[action]))
        rows.append((f"always {action}", plus_minus(loss, error, 3), share))
    return rows


def _loss(loss: Estimate) -> str:
    return plus_minus(float(loss.value), float(loss.standard_error), 3)


def _is_promise_kept(report: DecisionReport) -> bool:
    low, high = report.surprise.interval(report.coverage)
    return bool(low <= 0 <= high)
