"""What a report says on a target of numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.study.candidates.candidate import described
from credo.study.candidates.slate import AVERAGE
from credo.study.remark.remark import FEWEST_FOR_SHARES
from credo.study.report import number_picture as picture
from credo.study.report.content import Blocks, Card, Section, Sentences, Table, Tile, figure
from credo.study.report.picture import log_scores
from credo.study.result.effect import strongest_effects
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.wording import number, percent, score_cells

__all__ = ["number_blocks"]

N_WEIGHTS = 12
N_EXAMPLES = 9


def number_blocks(result: JudgedRegression) -> Blocks:
    """Return what is said of a target of numbers."""
    said = Sentences(tuple((remark.tone, remark.text) for remark in result.remarks))
    return Blocks(result.remarks[0].text, tuple(_tiles(result)), said, tuple(_sections(result)))


def _tiles(result: JudgedRegression) -> Iterator[Tile]:
    """Yield errors, and shares where there are rows enough for them."""
    data, errors = result.data, result.errors
    yield Tile(
        number(errors.median), "median error: half of the test rows are closer to the truth"
    )
    yield Tile(
        number(errors.rmse),
        f"root mean squared error {errors.left_out}".rstrip()
        + f"; {number(result.alone_rmse)} for the mean of the training rows alone",
    )
    if data.n_test >= FEWEST_FOR_SHARES:
        yield Tile(errors.share, "of the variance of test rows explained")
        level = percent(result.settings.coverage)
        inside = f"of test rows inside their {level} interval"
        yield Tile(percent(result.mixture.coverage), inside)
    yield Tile(f"{data.n_test:,}", f"test rows; {data.n_train:,} rows to learn from")


def _sections(result: JudgedRegression) -> Iterator[Section]:
    """Yield the candidates, their predictions, and what moves these."""
    yield _models(result)
    yield _predictions(result)
    if result.winner.name != result.simplest.name:
        yield _columns(result)


def _models(result: JudgedRegression) -> Section:
    headings = (
        "model",
        "log evidence",
        "probability",
        "cv weight",
        "cv log score",
        "test log score",
        "test RMSE",
        f"{percent(result.settings.coverage)} coverage",
    )
    rows = tuple(score_cells(score) for score in result.scores)
    estimators = zip(result.training.names_, result.training.estimators_, strict=True)
    return Section(
        "The candidates",
        "The evidence is the probability of the training rows under a candidate, all its "
        "unknowns averaged over: it rewards a good fit and charges for freedom. Predictions "
        "average over the candidates by their probability. The cv weight is what a candidate "
        "would have in the average that cross-validation likes best.",
        (
            figure(
                "Probability of each candidate",
                "Under its name is its log evidence; 3 less than another is 20 times less "
                "probable.",
                picture.probabilities(result),
            ),
            figure(
                "Log score of each candidate, and of their average",
                "Test rows, and cross-validation within the training rows; further right is "
                "better; bars are one standard error.",
                log_scores(result.scores),
            ),
            Card(
                "All numbers",
                "± is one standard error.",
                (Table(headings, rows, (result.winner.name, AVERAGE)),),
                is_wide=True,
            ),
            Card(
                "What each candidate is",
                "The expression makes it again in Python, for columns coded as numbers.",
                (
                    Table(
                        ("model", "terms", "in Python"),
                        tuple(described(estimators)),
                        is_words=True,
                    ),
                ),
                is_wide=True,
            ),
        ),
    )


def _predictions(result: JudgedRegression) -> Section:
    level, step = percent(result.settings.coverage), picture.row_step(result)
    some = f"One of {step} test rows, and the {picture.N_WORST} with the largest errors, each"
    who = "Each test row" if step == 1 else some
    return Section(
        "Predictions on test rows",
        f"All {result.data.n_test:,} rows below were held out of training.",
        (
            figure(
                "Predicted and true",
                f"{who} with its {level} interval; the line is a perfect prediction.",
                picture.truth(result),
            ),
            figure(
                "Do intervals keep their promise?",
                "Share of test rows inside intervals of every size. The band around it is "
                "where the share of endless rows may lie, with 95 % confidence at each size: "
                "where it leaves out the dashed line, chance is no excuse.",
                picture.coverage(result),
            ),
            figure(
                "What is left over",
                "Truth minus prediction, in units of its sd; a pattern is something that no "
                "candidate caught.",
                picture.residuals(result),
            ),
            Card(
                "What a prediction looks like",
                f"Test rows from the lowest prediction to the highest, with {level} intervals.",
                (_examples(result),),
            ),
        ),
    )


def _examples(result: JudgedRegression) -> Table:
    """Return a table of test rows spread over the range of predictions."""
    held_out = result.held_out
    mean = held_out.predictive.mean()
    spread = np.linspace(0, len(mean) - 1, min(N_EXAMPLES, len(mean))).astype(int)
    rows = np.argsort(mean, kind="stable")[spread]
    low, high = held_out.predictive[rows].interval(result.settings.coverage).T
    cells = tuple(
        tuple(number(value, 4) for value in values)
        for values in zip(mean[rows], low, high, held_out.y[rows], strict=True)
    )
    return Table(("predicted", "low", "high", "true"), cells)


def _columns(result: JudgedRegression) -> Section:
    cards = [
        Card(
            "One column at a time",
            "Prediction when one column moves over the middle 95 % of its values and all "
            "others stay as in the most typical row; the band is the doubt about the mean. The "
            "farthest reach is first, columns that may not matter at all are last.",
            picture.profiles(result),
            is_wide=True,
            is_small=True,
        )
    ]
    weights = strongest_effects(result.training, N_WEIGHTS, result.settings.coverage)
    if weights.effects:
        shown = figure(
            f"Strongest weights of {weights.candidate}",
            "Change of the prediction when a term rises by one standard deviation, the largest "
            f"first, with {percent(weights.coverage)} intervals; levels of a category are "
            "better known against each other than each alone.",
            picture.weights(weights),
            is_wide=True,
        )
        cards.append(shown)
    lead = "These describe the models, not what would happen if someone changed a column."
    return Section("What moves the prediction", lead, tuple(cards))
