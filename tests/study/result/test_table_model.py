import copy
import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import credo
from credo.distributions.mixture import Mixture
from credo.study.result.table_model import TableRegression


def test_a_saved_model_predicts_as_it_did(result, table, tmp_path):
    credo.save(result.model, tmp_path / "model.credo", fingerprint=result.data.fingerprint)
    loaded = credo.load(tmp_path / "model.credo").model
    assert isinstance(loaded, TableRegression)
    before, after = result.model.predict(table), loaded.predict(table)
    pd.testing.assert_frame_equal(before.frame, after.frame)
    assert before.notes == after.notes
    assert loaded.notes == result.model.notes
    for one, two in zip(loaded.scores, result.scores, strict=True):
        assert repr(one) == repr(two)


def test_each_row_is_predicted_for_itself(result, table):
    whole = result.model.predict(table).frame
    part = result.model.predict(table.iloc[[5, 3]]).frame
    numbers = ["mean", "sd", "low", "high"]
    assert_allclose(part[numbers], whole.iloc[[5, 3]][numbers], rtol=1e-9)


def test_any_kind_of_frame_gives_the_same_predictions(result, table):
    told = result.model.predict(pl.from_pandas(table)).frame
    assert_allclose(told["mean"], result.model.predict(table).frame["mean"])


def test_predictives_take_what_predictions_take(result, table, csv_file):
    told = result.model.predict(table).frame
    for rows in (table, csv_file, result.model.preparation.prepare(table)):
        predictive = result.model.predict_dist(rows)
        assert_allclose(predictive.mean(), told["mean"])
        assert_allclose(predictive.interval(0.9), told[["low", "high"]], rtol=1e-6)


def weighed(model, **shares):
    """Return the model as if its candidates had these probabilities, and all others none."""
    average = copy.copy(model.average)
    average.probability_ = np.array([shares.get(name, 0.0) for name in average.names_])
    return dataclasses.replace(model, average=average)


def test_intervals_are_those_of_the_mixture_of_candidates_that_count(result, table):
    model, table = (
        weighed(result.model, linear=0.7, spline=0.3 - 9e-7, cubic=9e-7),
        table.dropna(),
    )
    prepared = model.preparation.prepare(table)
    linear, spline = (
        model.average.named_estimators_[name].predict_dist(prepared.frame).marginal
        for name in ("linear", "spline")
    )
    mixture = Mixture([0.7 / (1 - 9e-7), (0.3 - 9e-7) / (1 - 9e-7)], (linear, spline))
    frame = model.predict(table, coverage=0.5).frame
    assert_allclose(frame["mean"], mixture.mean())
    assert_allclose(frame["sd"], mixture.std())
    assert_allclose(mixture.cdf(frame["low"]), 0.25, atol=1e-6)
    assert_allclose(mixture.cdf(frame["high"]), 0.75, atol=1e-6)
    assert {"cubic", "radial"} <= set(model.left_out)
    assert not {"linear", "spline"} & set(model.left_out)


def plainly(model, name):
    """Return the model with one candidate's basis as it is, not continued by lines."""
    average = copy.copy(model.average)
    place = average.names_.index(name)
    plain = copy.copy(average.estimators_[place])
    plain.basis_ = plain.basis_.basis
    average.estimators_ = [*average.estimators_]
    average.estimators_[place] = plain
    return dataclasses.replace(model, average=average)


def test_a_candidate_out_of_the_question_does_not_carry_the_mean_away(result, table):
    far = table.head(3).assign(dose=[5.0, 1e6, 1e8])
    curved = plainly(result.model, "spline + quadratic")
    for model, share, is_carried in (
        (curved, 1e-3, True),
        (curved, 9e-7, False),
        (result.model, 1e-3, False),
    ):
        shares = {"linear": 1 - share, "spline + quadratic": share}
        told = weighed(model, **shares).predict(far)
        inside = told.frame["mean"].between(told.frame["low"], told.frame["high"])
        assert inside.tolist() == [True, not is_carried, not is_carried]
        assert is_carried == any(
            note.startswith(
                "In 2 of 3 rows the mean lies outside the interval, because spline + "
                "quadratic, a candidate of probability 0.001, is far from all others there"
            )
            for note in told.notes
        )


def test_a_column_that_numbers_rows_is_handed_through(result, table):
    frame = result.model.predict(table).frame
    assert frame["patient_id"].tolist() == table["patient_id"].tolist()
    without = result.model.predict(table.drop(columns="patient_id")).frame
    assert list(without.columns) == ["mean", "sd", "low", "high"]


@pytest.mark.parametrize(("dose", "is_told"), [(5.0, False), (11.0, True), (-1.0, True)])
def test_only_rows_outside_the_training_range_are_told(result, table, dose, is_told):
    row = table.head(1).assign(dose=dose)
    notes = " ".join(result.model.predict(row).notes)
    assert ("outside the range of the training rows (by 'dose' 1)" in notes) is is_told


def test_doubt_grows_outside_the_training_range(result, table):
    doses = np.array([5.0, 30.0])
    rows = pd.concat([table.iloc[[0]].assign(dose=dose) for dose in doses])
    frame = result.model.predict(rows).frame
    assert frame["sd"].iloc[1] > 2 * frame["sd"].iloc[0]


def test_missing_values_are_averaged_over_and_named_in_a_note(result, table):
    gaps = table.assign(dose=table["dose"].where(table.index > 2), age=50.0)
    told = result.model.predict(gaps)
    assert (
        "3 missing values of 'dose' were averaged over, given what else the rows have."
    ) in told.notes
    known = result.model.predict(table.assign(age=50.0)).frame
    assert_allclose(told.frame["mean"][3:], known["mean"][3:])
    assert np.all(told.frame["sd"][:3] > 2 * known["sd"][:3])
    assert not any("missing" in note for note in result.model.predict(gaps[3:]).notes)


def test_a_row_with_nothing_in_it_gets_the_marginal_answer(result, table):
    inputs = list(result.model.preparation.inputs)
    rows = pd.concat([pd.DataFrame({name: [None] for name in inputs}), table[inputs].head(2)])
    told = result.model.predict(rows, coverage=0.9).frame
    row, y = told.iloc[0], table["outcome"]
    assert row["mean"] == pytest.approx(y.mean(), abs=0.01 * y.std())
    assert row["sd"] == pytest.approx(y.std(), rel=0.02)
    numbers = ["mean", "sd", "low", "high"]
    alone = result.model.predict(table[inputs].head(2), coverage=0.9).frame[numbers]
    assert_allclose(told[numbers].iloc[1:], alone)
    assert row["low"] < y.quantile(0.1) < y.quantile(0.9) < row["high"]


def test_the_answer_for_a_row_with_gaps_does_not_depend_on_the_other_rows(result, table):
    gaps = table.assign(dose=table["dose"].where(table.index % 3 > 0)).iloc[:30]
    numbers = ["mean", "sd", "low", "high"]
    whole = result.model.predict(gaps).frame[numbers]
    again = result.model.predict(gaps.iloc[::-1]).frame[numbers].iloc[::-1]
    assert_allclose(again, whole, rtol=1e-9)
    assert_allclose(result.model.predict(gaps.iloc[[6]]).frame[numbers], whole.iloc[[6]])
