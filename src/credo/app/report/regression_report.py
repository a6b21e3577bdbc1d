"""The report on a target of numbers."""

from __future__ import annotations

import numpy as np

from credo.app.report import picture
from credo.app.report.page import Making, card, figure, in_turn, page, section, table, tile
from credo.app.report.report_part import belief_section, data_section, footer, header
from credo.study.candidates.candidate import described
from credo.study.candidates.slate import AVERAGE
from credo.study.remark.regression_remark import headline
from credo.study.remark.remark import FEWEST_FOR_SHARES
from credo.study.result.effect import strongest_effects
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.wording import number, percent, score_cells

__all__ = ["regression_page"]

N_WEIGHTS = 12
N_EXAMPLES = 9


def regression_page(result: JudgedRegression, making: Making = in_turn) -> str:
    """Return the report as the text of a self-contained HTML file."""
    parts = [
        lambda: _header(result),
        lambda: belief_section(result.remarks),
        lambda: _models(result),
        lambda: _predictions(result),
        lambda: _columns(result),
        lambda: data_section(result.data, result.slate_notes),
        lambda: footer(result.settings, result.n_folds, result.data.fingerprint),
    ]
    return page(f"{result.data.target}: credo report", making(parts))


def _header(result: JudgedRegression) -> str:
    data, average, errors = result.data, result.mixture, result.errors
    shares = [
        tile(errors.share, "of the variance of test rows explained"),
        tile(
            percent(average.coverage),
            f"of test rows inside their {percent(result.settings.coverage)} interval",
        ),
    ]
    tiles = [
        tile(
            number(errors.median),
            "median error: half of the test rows are closer to the truth",
        ),
        tile(
            number(errors.rmse),
            f"root mean squared error {errors.left_out}".rstrip()
            + f"; {number(result.alone_rmse)} for the mean of the training rows alone",
        ),
        *(shares if data.n_test >= FEWEST_FOR_SHARES else []),
        tile(f"{data.n_test:,}", f"test rows; {data.n_train:,} rows to learn from"),
    ]
    return header(data, headline(result), tiles)


def _models(result: JudgedRegression) -> str:
    headings = [
        "model",
        "log evidence",
        "probability",
        "cv weight",
        "cv log score",
        "test log score",
        "test RMSE",
        f"{percent(result.settings.coverage)} coverage",
    ]
    strong = (result.winner.name, AVERAGE)
    rows = [score_cells(score) for score in result.scores]
    lead = (
        "The evidence is the probability of the training rows under a candidate, all its "
        "unknowns averaged over: it rewards a good fit and charges for freedom. Predictions "
        "average over the candidates by their probability. The cv weight is what a candidate "
        "would have in the average that cross-validation likes best."
    )
    chart = figure(
        "Probability of each candidate",
        "Under its name is its log evidence; 3 less than another is 20 times less probable.",
        picture.probabilities(result),
    )
    judged = figure(
        "Log score of each candidate, and of their average",
        "Test rows, and cross-validation within the training rows; further right is better; "
        "bars are one standard error.",
        picture.log_scores(result.scores),
    )
    numbers = table(headings, rows, strong)
    scores = card("All numbers", "± is one standard error.", numbers, is_wide=True)
    estimators = zip(result.training.names_, result.training.estimators_, strict=True)
    what = card(
        "What each candidate is",
        "The expression makes it again in Python, for columns coded as numbers.",
        table(["model", "terms", "in Python"], described(estimators), is_words=True),
        is_wide=True,
    )
    grid = f'<div class="grid">{chart}{judged}{scores}{what}</div>'
    return section("The candidates", lead, grid)


def _predictions(result: JudgedRegression) -> str:
    level, step = percent(result.settings.coverage), picture.row_step(result)
    some = f"One of {step} test rows, and the {picture.N_WORST} with the largest errors, each"
    who = "Each test row" if step == 1 else some
    figures = [
        figure(
            "Predicted and true",
            f"{who} with its {level} interval; the line is a perfect prediction.",
            picture.truth(result),
        ),
        figure(
            "Do intervals keep their promise?",
            "Share of test rows inside intervals of every size. The band around it is where "
            "the share of endless rows may lie, with 95 % confidence at each size: where it "
            "leaves out the dashed line, chance is no excuse.",
            picture.coverage(result),
        ),
        figure(
            "What is left over",
            "Truth minus prediction, in units of its sd; a pattern is something that no "
            "candidate caught.",
            picture.residuals(result),
        ),
        card(
            "What a prediction looks like",
            f"Test rows from the lowest prediction to the highest, with {level} intervals.",
            _examples(result),
        ),
    ]
    lead = f"All {result.data.n_test:,} rows below were held out of training."
    return section(
        "Predictions on test rows", lead, f'<div class="grid">{"".join(figures)}</div>'
    )


def _examples(result: JudgedRegression) -> str:
    """Return a table of test rows spread over the range of predictions."""
    held_out = result.held_out
    mean = held_out.predictive.mean()
    spread = np.linspace(0, len(mean) - 1, min(N_EXAMPLES, len(mean))).astype(int)
    rows = np.argsort(mean, kind="stable")[spread]
    low, high = held_out.predictive[rows].interval(result.settings.coverage).T
    cells = [
        [number(value, 4) for value in values]
        for values in zip(mean[rows], low, high, held_out.y[rows], strict=True)
    ]
    return table(["predicted", "low", "high", "true"], cells)


def _columns(result: JudgedRegression) -> str:
    if result.winner.name == result.simplest.name:
        return ""
    figures = [
        card(
            "One column at a time",
            "Prediction when one column moves over the middle 95 % of its values and all "
            "others stay as in the most typical row; the band is the doubt about the mean. The "
            "farthest reach is first, columns that may not matter at all are last.",
            f'<div class="small">{"".join(picture.profiles(result))}</div>',
            is_wide=True,
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
        figures.append(shown)
    lead = "These describe the models, not what would happen if someone changed a column."
    return section(
        "What moves the prediction", lead, f'<div class="grid">{"".join(figures)}</div>'
    )
