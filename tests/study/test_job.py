import dataclasses

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import credo
from credo.app.cli.command_line import command_line
from credo.data.error import TableError
from credo.data.sets.embedded_table import load_set
from credo.data.table.preparation import TablePreparation, TableSchema
from credo.data.table.table import as_table
from credo.inference.engine.model_evidence import model_posterior
from credo.study.compare_job import compare_table
from credo.study.job import MIN_ROWS, fit_table
from credo.study.result.result import FitSettings
from credo.validation.splits import hold_out

FAST = FitSettings(fast=True)


def split_of(table, seed=0):
    split_rng, _ = np.random.default_rng(seed).spawn(2)
    return hold_out(len(table), 0.2, split_rng)


def inputs_of(table, train, rows):
    checked = as_table(table)
    schema = TableSchema.of(checked, leave_out=("outcome",))
    preparation = TablePreparation.learn(checked.rows(train), "outcome", schema)
    return preparation.prepare(checked.rows(rows)).frame


def test_probabilities_are_the_model_posterior_of_the_evidences(result):
    evidences = [score.log_evidence for score in result.candidates]
    probabilities = [score.probability for score in result.candidates]
    assert_allclose(probabilities, model_posterior(evidences))


def test_the_average_is_the_mixture_of_the_candidates(result, table):
    train, test = split_of(table)
    X = inputs_of(table, train, test)
    known = np.flatnonzero(~result.held_out.has_gap)
    parts = [model.predict_dist(X.iloc[known]) for model in result.training.estimators_]
    shares = np.array([score.probability for score in result.candidates])
    y, predictive = result.held_out.y[known], result.held_out.predictive[known]
    density = sum(p * part.prob(y) for p, part in zip(shares, parts, strict=True))
    mean = sum(p * part.mean() for p, part in zip(shares, parts, strict=True))
    # Rows with gaps have no part in candidates that are all but impossible.
    assert_allclose(predictive.prob(y), density, rtol=1e-5)
    assert_allclose(predictive.mean(), mean, rtol=1e-5)
    whole, y = result.held_out.predictive, result.held_out.y
    assert result.mixture.log_score == pytest.approx(np.mean(whole.log_prob(y)))
    assert result.mixture.rmse == pytest.approx(np.sqrt(np.mean((y - whole.mean()) ** 2)))


def test_scores_of_the_constant_are_those_of_the_training_mean(result, table):
    train, test = split_of(table)
    y = table["outcome"].to_numpy()
    error = np.sqrt(np.mean((y[test] - y[train].mean()) ** 2))
    assert result.simplest.rmse == pytest.approx(error)


def test_cross_validation_meets_only_training_rows(result, table):
    train, _ = split_of(table)
    y = table["outcome"].to_numpy()[train]
    # Ten folds leave the mean of the other nine: each row is scored by a normal around it.
    assert result.simplest.cv_log_score == pytest.approx(
        -0.5 * np.log(2 * np.pi * np.e * y.var()), abs=0.05
    )


def test_test_rows_never_influence_training(result, table):
    _, test = split_of(table)
    changed = table.copy()
    rng = np.random.default_rng(1)
    changed.loc[test, "outcome"] = rng.permutation(changed.loc[test, "outcome"].to_numpy()) + 50
    changed.loc[test, "dose"] = rng.uniform(0, 10, len(test))
    changed.loc[test, "site"] = "moon"
    other = fit_table(changed, "outcome", FitSettings(fast=True))
    for one, two in zip(result.training.estimators_, other.training.estimators_, strict=True):
        assert_array_equal(one.coef_, two.coef_)
        assert one.log_evidence_ == two.log_evidence_
    for field in ("log_evidence", "probability", "cv_log_score", "cv_log_score_error"):
        assert [getattr(score, field) for score in result.candidates] == [
            getattr(score, field) for score in other.candidates
        ]
    assert result.mixture.rmse != other.mixture.rmse


def test_the_saved_model_is_the_same_recipe_on_all_rows(result, table):
    model = result.model
    assert model.n_rows == len(table)
    shares = zip(result.training.names_, result.training.probability_, strict=True)
    kept = [name for name, share in shares if share >= 1e-12 or name in ("constant", "linear")]
    assert model.average.names_ == kept
    assert set(model.left_out) >= set(result.training.names_) - set(kept)
    assert model.average.estimators_[0].intercept_ == pytest.approx(table["outcome"].mean())
    assert model.scores == result.scores


def test_the_seed_decides_the_test_rows_and_nothing_else_does(table):
    first, again, other = (
        fit_table(table, "outcome", FitSettings(seed=seed, fast=True)) for seed in (3, 3, 4)
    )
    assert_array_equal(first.held_out.y, again.held_out.y)
    assert first.scores[:-1] == again.scores[:-1]
    assert not np.array_equal(first.held_out.y, other.held_out.y)


def test_rows_without_a_target_are_left_out_and_counted(table):
    gappy = table.assign(outcome=table["outcome"].where(table.index % 4 > 0))
    result = fit_table(gappy, "outcome", FAST)
    assert result.data.n_rows == 90
    assert result.data.n_train + result.data.n_test == 90
    assert (
        "30 of 120 rows are left out: their target 'outcome' is missing." in result.data.notes
    )


def test_the_summary_counts_missing_values_and_names_columns_left_out(result, table):
    assert result.data.n_missing == {"age": int(table["age"].isna().sum())}
    assert [column.name for column in result.data.schema.left_out] == ["patient_id"]


def test_scores_of_concrete_are_as_good_as_published_ones():
    # Bayesian networks and sparse processes reach 5.2 to 6.0 with nine tenths of the rows.
    result = fit_table(load_set("concrete"), "strength")
    assert result.mixture.rmse < 6.0
    assert result.mixture.log_score > -3.2
    assert 0.85 < result.mixture.coverage < 0.95


def test_pure_noise_gives_the_constant_and_says_so():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcy"))
    result = fit_table(frame, "y")
    assert result.winner.name == "constant"
    assert "say nothing certain" in result.model.notes[0]


@pytest.mark.parametrize("n", [MIN_ROWS, 13, 20])
def test_few_rows_give_an_answer_with_a_caution(n, table):
    result = fit_table(table.head(n), "outcome")
    assert np.isfinite([dataclasses.astuple(score)[1:4] for score in result.candidates]).all()
    assert any("served as a test" in note for note in result.model.notes)


def test_fewer_rows_than_can_be_split_are_refused(table):
    with pytest.raises(TableError, match="at least 10 rows with a target"):
        fit_table(table.head(MIN_ROWS - 1), "outcome")


def test_a_target_that_is_constant_in_training_is_refused(table):
    rare = table.assign(outcome=np.where(table.index == split_of(table)[1][0], 1.0, 0.0))
    with pytest.raises(TableError, match="must vary"):
        fit_table(rare, "outcome", FitSettings(task="regression"))


def test_test_rows_that_repeat_training_rows_are_counted(result, table):
    assert result.held_out.n_repeated == 0
    twice = pd.concat([table, table], ignore_index=True)
    again = fit_table(twice, "outcome", FAST)
    train, test = split_of(twice)
    assert again.held_out.n_repeated == sum(
        (row + len(table)) % len(twice) in set(train) for row in test
    )
    assert any("have the same inputs as a training row" in note for note in again.model.notes)


def test_progress_rises_from_nothing_to_all(table):
    told = []
    fit_table(table, "outcome", FAST, progress=lambda share, step: told.append((share, step)))
    shares = [share for share, _ in told]
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert shares == sorted(shares)
    assert ("cross-validating spline") in [step for _, step in told]


@pytest.mark.parametrize(
    ("n", "others"),
    [(60, "a line"), (60, "a wave and a line"), (200, "none"), (200, "a wave and a line")],
)
def test_a_column_that_does_nothing_moves_no_mean_far_outside_and_widens_intervals(n, others):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame({"nothing": rng.lognormal(size=n), "noise": rng.normal(size=n)})
    y = rng.normal(size=n)
    if others != "none":
        frame["a"] = rng.uniform(0, 1, n)
        y = 5 * frame["a"] + y
    if others == "a wave and a line":
        frame["b"] = rng.uniform(-1, 1, n)
        y = 4 * np.sin(6 * frame["b"]) + y
    model = fit_table(frame.assign(y=y), "y", FitSettings(n_folds=2)).model
    typical = frame.median().to_frame().T
    span = np.ptp(frame["nothing"])
    ends = frame["nothing"].max() + 10 * span, frame["nothing"].min() - 10 * span
    rows = pd.concat([typical, *(typical.assign(nothing=end) for end in ends)])
    found = model.predict(rows.reset_index(drop=True)).frame
    moves = np.abs(found["mean"][1:] - found["mean"][0])
    assert (moves < 3 * np.std(y)).all()
    widths = found["high"] - found["low"]
    assert (widths[1:] > widths[0]).all()


def test_one_odd_row_does_not_wreck_the_answer():
    rng = np.random.default_rng(0)
    size = rng.uniform(3, 8, 200)
    frame = pd.DataFrame({"width": size * rng.normal(1, 0.02, 200), "height": size})
    frame["price"] = 40 * size**2 + rng.normal(0, 40, 200)
    # The height of one test row is written without its decimal point.
    row = split_of(frame)[1][0]
    frame.loc[row, "height"] *= 10
    odd = fit_table(frame, "price", FitSettings(n_folds=2))
    place = list(split_of(frame)[1]).index(row)
    predictive = odd.held_out.predictive
    # So far out a straight line would be 30 standard deviations away, a square hundreds.
    assert abs(predictive.mean()[place] - frame["price"][row]) < 8 * frame["price"].std()
    low, high = predictive[place].interval(0.9)
    assert low < frame["price"][row] < high


def run(*arguments):
    return CliRunner().invoke(command_line, [str(argument) for argument in arguments])


def test_ignored_columns_are_no_inputs_and_predicting_says_nothing_of_them(
    csv_file, table, monkeypatch
):
    monkeypatch.chdir(csv_file.parent)
    options = ("--target", "outcome", "--ignore", "age, site", "--out", "m.credo")
    ran = run("fit", csv_file, *options)
    assert ran.exit_code == 0, ran.output
    assert "Column 'site' is left out: it is to be ignored." in ran.stdout
    model = credo.load("m.credo").model
    assert model.preparation.inputs == ("dose", "day")
    told = model.predict(table.drop(columns="age"))
    assert not any("ignored" in note for note in told.notes)
    assert told.frame["mean"].tolist() == model.predict(table).frame["mean"].tolist()


def test_a_comparison_ignores_columns_too(csv_file):
    options = ("--target", "outcome", "--models", "constant,linear")
    ran = run("compare", csv_file, *options, "--ignore", "day,site")
    assert ran.exit_code == 0, ran.output
    assert "2 columns used to predict 'outcome'" in ran.stdout


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (
            "dosis",
            "`ignore` must name columns of the table; found 'dosis'; did you mean 'dose'?",
        ),
        ("qqqqqq", "found 'qqqqqq'; choose from 'patient_id', 'dose'"),
        ("outcome", "found 'outcome', which is to be predicted"),
    ],
)
def test_names_that_cannot_be_ignored_are_refused(table, name, part):
    for work in (
        lambda: fit_table(table, "outcome", FitSettings(ignore=(name,))),
        lambda: compare_table(table, "outcome", ignore=(name,)),
    ):
        with pytest.raises(TableError) as raised:
            work()
        assert part in str(raised.value)
