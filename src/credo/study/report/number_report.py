"""What a report says on a target of numbers, and the pictures that show it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from credo.distributions.estimate import Estimate
from credo.evaluation.calibration import coverage_curve
from credo.models.ensemble.average import ModelAverage
from credo.models.kernel.gaussian_process_regressor import GaussianProcessRegressor
from credo.numerics.array import Array
from credo.plots.drawing import (
    Curve,
    Dependence,
    DependenceLine,
    Relevances,
    Shares,
    Surface,
    Weights,
)
from credo.plots.prediction import drawn_coverage, drawn_predictions, drawn_residuals
from credo.study.candidates.candidate import described
from credo.study.candidates.slate import AVERAGE
from credo.study.partial_dependence import Profile
from credo.study.remark.remark import FEWEST_FOR_SHARES
from credo.study.report.content import (
    Blocks,
    Card,
    Picture,
    Section,
    Sentences,
    Table,
    Tile,
    figure,
)
from credo.study.report.picture import SMALL, SQUARE, log_scores, tick_names
from credo.study.result.effect import EffectList, strongest_effects
from credo.study.result.regression_result import JudgedRegression
from credo.study.result.relevance import RelevanceList, column_relevance
from credo.study.result.wording import number, percent, score_cells

__all__ = [
    "MAX_POINTS",
    "N_WORST",
    "drawn_rows",
    "number_blocks",
    "profile_pictures",
]
MAX_DOTS = 1_000
"""Training rows that a picture shows."""

N_WEIGHTS = 12
N_EXAMPLES = 9
MAX_POINTS = 600

N_WORST = 20
"""Test rows with the largest errors, which are always drawn."""


def number_blocks(result: JudgedRegression) -> Blocks:
    """Return what is said of a target of numbers."""
    said = Sentences(tuple((remark.tone, remark.text) for remark in result.remarks))
    return Blocks(result.remarks[0].text, tuple(_tiles(result)), said, tuple(_sections(result)))


def profile_pictures(result: JudgedRegression) -> tuple[Picture, ...]:
    """Return the prediction along each of the columns that move it most, on one scale."""
    bands = [profile.band() for profile in result.profiles]
    # Doubt about numbers of extreme size may have no end, which no picture can show.
    known = np.concatenate([band[np.isfinite(band)] for band in bands])
    limits = (float(known.min()), float(known.max())) if len(known) else None

    def drawn(profile: Profile, band: NDArray[np.float64]) -> Dependence:
        lines = (DependenceLine("", profile.predictive.mean(), band),)
        return Dependence(
            profile.name, profile.x, tick_names(profile.x, profile.labels), lines, limits
        )

    drawings = map(drawn, result.profiles, bands)
    return tuple(Picture(f"profile{i}", SMALL, drawing) for i, drawing in enumerate(drawings))


def drawn_rows(result: JudgedRegression) -> NDArray[np.intp]:
    """Return every so many-th test row, and those with the largest errors."""
    held_out = result.held_out
    errors = np.abs(held_out.y - held_out.predictive.mean())
    worst = np.argsort(-errors, kind="stable")[:N_WORST]
    return np.union1d(np.arange(0, len(errors), _row_step(result)), worst)


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
                _probability_picture(result),
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
    level, step = percent(result.settings.coverage), _row_step(result)
    some = f"One of {step} test rows, and the {N_WORST} with the largest errors, each"
    who = "Each test row" if step == 1 else some
    return Section(
        "Predictions on test rows",
        f"All {result.data.n_test:,} rows below were held out of training.",
        (
            figure(
                "Predicted and true",
                f"{who} with its {level} interval; the line is a perfect prediction.",
                _truth_picture(result),
            ),
            figure(
                "Do intervals keep their promise?",
                "Share of test rows inside intervals of every size. The band around it is "
                "where the share of endless rows may lie, with 95 % confidence at each size: "
                "where it leaves out the dashed line, chance is no excuse.",
                _coverage_picture(result),
            ),
            figure(
                "What is left over",
                "Truth minus prediction, in units of its sd; a pattern is something that no "
                "candidate caught.",
                _residual_picture(result),
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
            profile_pictures(result),
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
            _weight_picture(weights),
            is_wide=True,
        )
        cards.append(shown)
    relevant = column_relevance(result.training, result.settings.coverage)
    if relevant.relevances:
        shown = figure(
            f"Relevance of columns to {relevant.candidate}",
            "One standard deviation of a column in length scales, the distance over which the "
            f"surface bends, with {percent(relevant.coverage)} intervals: far below 1 it is a "
            "straight line in the column, or does not depend on it.",
            _relevance_picture(relevant),
            is_wide=True,
        )
        cards.append(shown)
    whole = list(_surface_cards(result))
    # One column at a time is all of the curve where there is but one.
    cards = [*whole, *(cards[1:] if len(whole) == 1 else cards)]
    lead = "These describe the models, not what would happen if someone changed a column."
    return Section("What moves the prediction", lead, tuple(cards))


def _probability_picture(result: JudgedRegression) -> Picture:
    """Return the probability of each candidate, its evidence beside it."""
    average = result.training
    labels = tuple(
        f"{name}\nlog evidence {evidence:.1f}"
        for name, evidence in zip(average.names_, average.log_evidences_, strict=True)
        if not np.isnan(evidence)
    )
    shares = average.probability_[~np.isnan(average.log_evidences_)]
    drawing = Shares(labels, shares, "posterior probability")
    return Picture("models", (5.2, 0.7 + 0.5 * len(labels)), drawing)


def _truth_picture(result: JudgedRegression) -> Picture:
    """Return predictions with intervals against what came true."""
    rows, level = drawn_rows(result), result.settings.coverage
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]
    return Picture("truth", SQUARE, drawn_predictions(y, predictive, level))


def _coverage_picture(result: JudgedRegression) -> Picture:
    """Return how many outcomes lie in intervals of every size."""
    curve = coverage_curve(result.held_out.y, result.held_out.predictive)
    return Picture("coverage", SQUARE, drawn_coverage(curve))


def _residual_picture(result: JudgedRegression) -> Picture:
    """Return truth minus prediction against the prediction."""
    rows, level = drawn_rows(result), result.settings.coverage
    predictive, y = result.held_out.predictive[rows], result.held_out.y[rows]
    return Picture("residuals", SQUARE, drawn_residuals(y, predictive, level))


def _relevance_picture(relevant: RelevanceList) -> Picture:
    """Return the most relevant columns with their intervals, the largest first."""
    names, *values = zip(*relevant.relevances[:N_WEIGHTS], strict=True)
    drawing = Relevances(names, *map(np.array, values))
    return Picture("relevance", (6.4, 0.7 + 0.3 * len(names)), drawing)


def _surface_cards(result: JudgedRegression) -> Iterator[Card]:
    """Yield the prediction over all of one or two inputs of numbers, with its uncertainty."""
    average, walks = result.training, sorted(result.profiles, key=lambda one: one.name)
    names = tuple(sorted(map(str, average.feature_names_in_)))
    is_numeric = all(len(walk.x) > 2 and not walk.labels for walk in walks)
    if not is_numeric or names != tuple(walk.name for walk in walks):
        return
    level = result.settings.coverage
    if len(names) == 1:
        said = average.predict_dist(pd.DataFrame({names[0]: walks[0].x}))
        band = Estimate(said.mean(), said.epistemic_std).interval(level)
        rows, outcomes = _rows_learned(average, names)
        drawing = Curve(
            names[0],
            walks[0].x,
            said.mean(),
            band,
            said.interval(level),
            np.column_stack([rows, outcomes]),
            level,
        )
        text = (
            f"The blue band holds the mean with probability {percent(level)}, and more rows "
            "make it narrow; the gray one holds the next outcome, and stays."
        )
        yield figure("The whole curve", text, Picture("curve", (6.4, 4.0), drawing), True)
    elif len(names) == 2:
        x, y = np.meshgrid(walks[0].x, walks[1].x)
        grid = dict(zip(names, (x.ravel(), y.ravel()), strict=True))
        said = average.predict_dist(pd.DataFrame(grid)[list(average.feature_names_in_)])
        rows, _ = _rows_learned(average, names)
        shown = (
            ("surface", "The whole surface", "The mean of the prediction", said.mean()),
            ("doubt", "Doubt about the surface", "One sd of the mean", said.epistemic_std),
        )
        for name, title, text, height in shown:
            surface = Surface(
                (names[0], names[1]), walks[0].x, walks[1].x, height.reshape(x.shape), rows
            )
            where = "; dots are training rows" * bool(len(rows))
            yield figure(title, f"{text}{where}.", Picture(name, SQUARE, surface))


def _rows_learned(average: ModelAverage, names: tuple[str, ...]) -> tuple[Array, Array]:
    """Return inputs, in the order of names, and outcomes of some rows.

    There are none unless a process keeps them.
    """
    for model in average.estimators_:
        if isinstance(model, GaussianProcessRegressor):
            order = [list(model.feature_names_in_).index(name) for name in names]
            known = model.posterior_.data
            shown = np.random.default_rng(0).permutation(len(known.x))[:MAX_DOTS]
            return known.x[shown][:, order], known.y[shown, 0] * model.outcome_scale_[0]
    return np.empty((0, len(names))), np.empty(0)


def _weight_picture(effects: EffectList) -> Picture:
    """Return the strongest weights with their intervals, the largest first."""
    terms, mean, _, low, high = zip(*effects.effects, strict=True)
    drawing = Weights(terms, np.array(mean), np.array(low), np.array(high), len(terms))
    return Picture("weights", (6.4, 0.7 + 0.3 * len(terms)), drawing)


def _row_step(result: JudgedRegression) -> int:
    """Return 1 if every test row is drawn, 2 if every second of many is, and so on."""
    return -(-len(result.held_out.y) // MAX_POINTS)
