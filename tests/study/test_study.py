from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import credo
from credo.data.error import DataError, ModelFileError, TableError
from credo.decisions import LossMatrix
from credo.study import FitSettings, Study, fit_table


@pytest.fixture(scope="module")
def numbers(table):
    return credo.fit(table, target="outcome", fast=True)


@pytest.fixture(scope="module")
def classes(clinic_classes):
    return credo.fit(clinic_classes, target="outcome")


def test_the_front_door_and_the_command_line_study_a_table_alike(numbers, result, table):
    assert numbers.model.scores == pytest.approx(result.model.scores, nan_ok=True) or [
        repr(score) for score in numbers.model.scores
    ] == [repr(score) for score in result.model.scores]
    told = result.model.predict(table).frame
    assert_allclose(numbers.predict(table), told["mean"])
    pd.testing.assert_frame_equal(numbers.predict_frame(table), told)


def test_a_misspelled_task_is_refused_before_the_table_is_read():
    with pytest.raises(TableError, match="did you mean 'classification'"):
        credo.fit("no such file.csv", target="outcome", task="clasification")


def test_a_path_a_pandas_frame_and_a_polars_frame_are_the_same_table(csv_file, table):
    quick = {"models": ("linear",), "n_folds": 2}
    studies = [
        credo.fit(source, "outcome", **quick)
        for source in (table, csv_file, str(csv_file), pl.from_pandas(table))
    ]
    for study in studies[1:]:
        assert_allclose(study.predict(table), studies[0].predict(table), rtol=1e-9)


def test_numbers_come_as_mean_distribution_and_frame(numbers, table):
    predictive, frame = numbers.predict_dist(table), numbers.predict_frame(table, coverage=0.5)
    assert_allclose(numbers.predict(table), predictive.mean())
    assert_allclose(frame["mean"], predictive.mean())
    assert_allclose(frame[["low", "high"]], predictive.interval(0.5), rtol=1e-6)
    pd.testing.assert_series_equal(frame["patient_id"], table["patient_id"])
    assert any("missing value" in note for note in frame.attrs["notes"])


def test_what_is_predicted_of_a_number_tells_both_parts_of_its_spread(numbers, table):
    empty = pd.DataFrame({name: [None] for name in numbers.inputs})
    for rows in (table, empty):
        predictive = numbers.predict_dist(rows)
        parts = predictive.aleatoric_std**2 + predictive.epistemic_std**2
        assert_allclose(parts, predictive.variance())
        assert_allclose(predictive.median(), predictive.quantile(0.5))
        assert "epistemic std" in predictive._repr_html_()


def test_predictions_have_the_index_of_a_pandas_frame_and_no_other(numbers, table, csv_file):
    shuffled = table.set_axis([f"case {i}" for i in range(len(table))]).iloc[::-3]
    frame = numbers.predict_frame(shuffled)
    assert frame.index.equals(shuffled.index)
    assert_allclose(frame["mean"], numbers.predict(shuffled))
    for other in (pl.from_pandas(table), csv_file):
        assert numbers.predict_frame(other).index.equals(pd.RangeIndex(len(table)))


@pytest.mark.parametrize("dtype", ["int64", "Int64", "str", "float64"])
def test_columns_that_number_rows_keep_their_type_to_be_merged_by(dtype, numbers, table):
    numbered = table.assign(patient_id=table["patient_id"].astype(dtype))
    frame = numbers.predict_frame(numbered)
    assert frame["patient_id"].dtype == numbered["patient_id"].dtype
    assert len(numbered.merge(frame, on="patient_id")) == len(table)


def test_numbers_of_rows_in_a_file_are_as_they_are_written(numbers, csv_file, table):
    found = numbers.predict_frame(csv_file)["patient_id"].tolist()
    assert found == table["patient_id"].astype(str).tolist()


def test_classes_come_as_label_probability_and_decision(classes, clinic_classes):
    probability = classes.predict_proba(clinic_classes)
    assert classes.classes_.tolist() == ["cured", "sick"]
    likeliest = classes.classes_[probability.argmax(axis=1)]
    assert_array_equal(classes.predict(clinic_classes), likeliest)
    assert_allclose(classes.predict_dist(clinic_classes).probability, probability)
    costs = LossMatrix([[0, 5], [1, 0]], ["cured", "sick"], ["wait", "treat"])
    is_treated = probability[:, 0] < 5 * probability[:, 1]
    expected = np.where(is_treated, "treat", "wait")
    assert_array_equal(classes.decide(clinic_classes, costs).action, expected)
    assert_array_equal(classes.predict_frame(clinic_classes, loss=costs)["action"], expected)


def test_what_needs_classes_is_refused_for_numbers_and_the_other_way(numbers, classes, table):
    for asked in (
        lambda: numbers.classes_,
        lambda: numbers.predict_proba(table),
        lambda: numbers.decide(table),
        lambda: numbers.predict_frame(table, loss=LossMatrix.zero_one(["a", "b"])),
    ):
        with pytest.raises(TableError, match="needs a target of classes; found that 'outcome'"):
            asked()
    with pytest.raises(TableError, match="`coverage` needs a target of numbers"):
        classes.predict_frame(table, coverage=0.9)


def test_scores_of_numbers_are_what_they_are_by_definition(numbers, table):
    new = table.assign(outcome=table["outcome"] + 1.0)
    new.loc[3, "outcome"] = np.nan
    score, rows = numbers.score(new), new.dropna(subset="outcome")
    predictive, y = numbers.predict_dist(rows), rows["outcome"].to_numpy()
    assert score.n_rows == len(table) - 1
    assert score.log_score == pytest.approx(predictive.log_prob(y).mean())
    assert score.rmse == pytest.approx(np.sqrt(np.mean((predictive.mean() - y) ** 2)))
    assert score.r_squared == pytest.approx(1 - score.rmse**2 / y.var())
    low, high = predictive.interval(0.9).T
    assert score.coverage == pytest.approx(np.mean((low <= y) & (y <= high)))
    assert np.isnan(score.accuracy)


def test_scores_of_classes_are_what_they_are_by_definition(classes, clinic_classes):
    score, y = classes.score(clinic_classes), clinic_classes["outcome"].to_numpy()
    hits = classes.predict(clinic_classes) == y
    chosen = classes.predict_proba(clinic_classes)[np.arange(len(y)), (y == "sick").astype(int)]
    assert score.accuracy == pytest.approx(hits.mean())
    assert score.log_score == pytest.approx(np.log(chosen).mean())
    with pytest.raises(
        TableError, match="must have the column 'outcome', which holds what came true"
    ):
        classes.score(clinic_classes.drop(columns="outcome"))


def test_the_table_has_the_scores_of_all_candidates_and_of_their_mixture(numbers, classes):
    assert numbers.table().index[0] == "constant"
    assert numbers.table().index[-1] == "average"
    assert numbers.table()["probability"][:-1].sum() == pytest.approx(1)
    assert classes.table()["weight"][:-1].sum() == pytest.approx(1)
    assert numbers.table().loc["average", "rmse"] == numbers.judged.mixture.rmse


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_study_saved_and_loaded_is_the_same_with_a_short_repr(kind, request, table, tmp_path):
    study = request.getfixturevalue(kind)
    study.save(tmp_path / "study.credo")
    again = credo.load(tmp_path / "study.credo")
    assert isinstance(again, Study)
    assert repr(again) == repr(study)
    assert len(repr(again)) < 200
    assert_array_equal(again.predict(table), study.predict(table))
    assert again.fingerprint == study.fingerprint == study.judged.data.fingerprint
    pd.testing.assert_frame_equal(again.table(), study.table())
    assert again.remarks == study.remarks
    assert set(again.remarks) >= set(study.judged.remarks)
    assert {"answer", "fact"} <= {remark.tone for remark in again.remarks}
    assert again._repr_html_() == study._repr_html_()
    with pytest.raises(DataError, match="a report needs the rows that were held out"):
        again.report(tmp_path / "page.html")


def test_notes_on_the_data_are_remarks_of_a_fresh_study(table):
    odd = table.assign(
        outcome=np.arange(len(table)) % 3, dose=table["dose"].map("{:.4f}".format)
    )
    odd["dose"] = odd["dose"].str.replace(".", ",")
    study = credo.fit(odd, "outcome", models=("linear",), n_folds=2)
    said = [remark.text for remark in study.remarks if remark.tone == "fact"]
    for part in ("has only 3 different values", "they look like numbers with decimal commas"):
        assert any(part in text for text in said)
        assert part in study._repr_html_()
    assert study.remarks[0].tone == "answer"


def test_a_file_of_the_model_alone_opens_as_a_study(result, table, tmp_path):
    credo.save(result.model, tmp_path / "m.credo", fingerprint="f")
    opened = credo.load(tmp_path / "m.credo")
    assert isinstance(opened, Study)
    assert opened.fingerprint == "f"
    assert_allclose(opened.predict(table), result.model.predict(table).frame["mean"])


def test_a_report_is_the_page_of_what_was_judged(numbers, tmp_path):
    numbers.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "Predictions of &#39;outcome&#39; are off by" in page
    assert page.count("<svg") > 3


def test_a_notebook_shows_scores_and_remarks_and_runs_nothing(table):
    odd = table.rename(columns={"dose": "<script>alert(1)</script>"})
    study = credo.fit(odd, "outcome", models=("linear",), n_folds=2)
    page = study._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "average" in page
    assert "are off by" in page


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_estimator_inside_predicts_as_the_study(kind, request, table):
    study = request.getfixturevalue(kind)
    rows = table[list(study.inputs)]
    assert_array_equal(study.estimator.predict(rows), study.predict(table))
    assert_array_equal(study.estimator.predict(table), study.predict(table))


def test_candidates_can_be_named(table):
    study = credo.fit(table, "outcome", models=("linear",), n_folds=2)
    assert study.table().index.tolist() == ["constant", "linear", "average"]
    with pytest.raises(TableError, match="`models` must name models that suit"):
        credo.fit(table, "outcome", models=("lineer",))


def test_errors_name_arguments_and_no_options(table):
    for call in (
        lambda: credo.fit(table, "outcom"),
        lambda: credo.fit(table, "outcome", ignore="doze"),
        lambda: credo.fit(table, "outcome", reject=0.2),
        lambda: fit_table(table, "outcome", FitSettings(ignore=("outcome",))),
    ):
        with pytest.raises(TableError) as caught:
            call()
        assert "--" not in str(caught.value)
        assert "`" in str(caught.value)


def test_a_few_rows_of_one_class_can_be_scored_and_unknown_classes_are_said(
    classes, clinic_classes
):
    few = clinic_classes[clinic_classes["outcome"] == "sick"].head(2)
    chosen = classes.predict_proba(few)[:, 1]
    assert classes.score(few).log_score == pytest.approx(np.log(chosen).mean())
    with pytest.raises(TableError, match="classes that the model knows, 'cured', 'sick'"):
        classes.score(few.assign(outcome="other"))
    with pytest.raises(TableError, match="must be known in at least one row"):
        classes.score(few.assign(outcome=None))
    half = few.assign(outcome=["sick", "other"])
    assert classes.score(half).accuracy == pytest.approx(np.mean(chosen[:1] > 0.5) / 2)
    assert "given no probability" in classes.score(half).sentence("outcome")


def test_losses_of_other_classes_are_refused_before_any_work(clinic_classes, monkeypatch):
    monkeypatch.setattr("credo.study.job.split_rows", None)
    with pytest.raises(TableError, match="`loss` must have a column for each class, 'cured'"):
        credo.fit(clinic_classes, "outcome", loss=LossMatrix.zero_one(["a", "b"]))


def test_one_model_or_column_may_be_named_by_itself(table):
    study = credo.fit(table, "outcome", models="linear", ignore="age", n_folds=2)
    assert study.table().index.tolist() == ["constant", "linear", "average"]
    assert "age" not in study.inputs


@pytest.mark.parametrize(
    "cells",
    [
        lambda n: [[1, i] for i in range(n)],
        lambda n: [{i} for i in range(n)],
        lambda n: [object() for _ in range(n)],
        lambda n: np.arange(n) + 1j,
        lambda n: np.where(np.arange(n) == 3, np.inf, 1.0),
        lambda n: ["1"] * (n - 1) + ["a"],
    ],
)
def test_columns_that_are_ignored_or_extra_may_hold_anything(cells, table, numbers):
    quick = {"models": "linear", "n_folds": 2}
    odd = table.assign(odd=cells(len(table)))
    study = credo.fit(odd, "outcome", ignore="odd", **quick)
    plain = credo.fit(table, "outcome", **quick)
    assert_array_equal(study.predict(odd), plain.predict(table))
    assert_array_equal(numbers.predict(odd), numbers.predict(table))
    assert repr(numbers.score(odd)) == repr(replace(numbers.score(table), is_training=False))


def test_the_habit_of_passing_x_and_y_gets_a_sentence(table):
    X = table.drop(columns="outcome")
    for rows in (X, X.to_numpy()):
        with pytest.raises(TableError, match="or use TableRegressor or TableClassifier"):
            credo.fit(rows, table["outcome"])


def test_columns_may_be_named_by_numbers(table):
    numbered = table[["dose", "age", "outcome"]].set_axis([0, 1, 5], axis=1)
    study = credo.fit(numbered, target=5, ignore=[1], models="linear", n_folds=2)
    assert (study.target, study.inputs) == ("5", ("0",))
    assert len(study.predict(numbered)) == len(numbered)


def test_a_score_without_the_truth_says_what_is_needed(numbers, table):
    with pytest.raises(TableError) as caught:
        numbers.score(table.drop(columns="outcome").rename(columns={"age": "outcomes"}))
    assert "must have the column 'outcome', which holds what came true" in str(caught.value)
    assert "`target" not in str(caught.value)


def test_scores_print_what_applies(numbers, table, classes, clinic_classes):
    shown = repr(numbers.score(table))
    assert shown.startswith("TableScore(n_rows=120, log_score=")
    assert "rmse=" in shown
    assert "accuracy" not in shown
    shown = repr(classes.score(clinic_classes))
    assert "accuracy=" in shown
    assert "nan" not in shown


QUICK = {"task": "classification", "models": ("linear",), "n_folds": 2}


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([False, True] * 30),
        pd.Series([9, 10] * 30),
        pd.Series([9, 10] * 30, dtype="Int64"),
        pd.Series([9, 10] * 30, dtype="int8").astype("category"),
        pd.Series([1.0, 2.0] * 30),
        pd.Series([0.1, 2.5] * 30, dtype="float32"),
        pd.Series([True, False] * 30, dtype=object),
        pd.Series(["10", "9"] * 30),
        pd.Series(["a", "b"] * 30, dtype="category"),
    ],
    ids=lambda column: f"{column.dtype}-{column[0]}",
)
def test_classes_keep_the_type_of_the_column_in_a_file_too(column, table, tmp_path):
    frame = table.head(60).assign(outcome=column, dose=np.arange(60) % 2)
    study = credo.fit(frame, "outcome", **QUICK)
    study.save(tmp_path / "study.credo")
    distinct = np.unique(np.array(column.tolist()))
    for one in (study, credo.load(tmp_path / "study.credo")):
        assert one.classes_.dtype.kind == distinct.dtype.kind
        assert one.classes_.tolist() == distinct.tolist()
        assert one.estimator.classes_.tolist() == distinct.tolist()
        assert one.predict(frame).tolist() == column.tolist()
        assert one.predict_frame(frame)["class"].tolist() == column.tolist()
        assert one.predict_dist(frame).labels.tolist() == distinct.tolist()
        assert_allclose(one.predict_proba(frame), one.estimator.predict_proba(frame))
        assert one.score(frame).accuracy == 1.0
        assert one.estimator.predict(frame).tolist() == column.tolist()


def test_whole_numbers_of_a_text_file_are_integers_with_gaps_or_without(table, tmp_path):
    frame = table.head(60).assign(outcome=np.tile([0, 1], 30), dose=np.arange(60) % 2)
    frame["outcome"] = frame["outcome"].astype(object)
    frame.loc[3, "outcome"] = None
    frame.to_csv(tmp_path / "cases.csv", index=False)
    study = credo.fit(tmp_path / "cases.csv", "outcome", **QUICK)
    assert study.classes_.dtype == np.int64
    assert study.predict(frame).tolist() == [0, 1] * 30


def test_losses_may_name_classes_by_their_text_or_as_they_are(table):
    frame = table.head(60).assign(outcome=np.tile([9, 10], 30))
    costs = [[0.0, 5.0], [1.0, 0.0]]
    named = [LossMatrix(costs, labels) for labels in ([9, 10], ["9", "10"])]
    studies = [credo.fit(frame, "outcome", loss=loss, **QUICK) for loss in named]
    for study in studies:
        assert study.judged.decisions.verdict == studies[0].judged.decisions.verdict
        expected = studies[0].decide(frame, np.array(costs)).action
        assert expected.dtype.kind == "i"
        for loss in named:
            assert_array_equal(study.decide(frame, loss).action, expected)
            assert_array_equal(study.predict_frame(frame, loss=loss)["action"], expected)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_scores_of_the_rows_learned_from_say_that_they_are_no_test(kind, request, tmp_path):
    study = request.getfixturevalue(kind)
    rows = request.getfixturevalue("table" if kind == "numbers" else "clinic_classes")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    study.save(tmp_path / "study.credo")
    for same in (rows, tmp_path / "rows.csv"):
        score = credo.load(tmp_path / "study.credo").score(same)
        assert score.is_training
        assert "These are the rows that the model learned from" in score.sentence("outcome")
    other = study.score(rows.iloc[1:])
    assert not other.is_training
    assert "learned from" not in other.sentence("outcome")


def test_the_estimator_inside_has_the_settings_of_the_study(table, clinic_classes, tmp_path):
    asked = {"models": ("linear",), "n_folds": 3, "seed": 7, "ignore": "site"}
    numbers = credo.fit(table, "outcome", coverage=0.5, **asked)
    classes = credo.fit(clinic_classes, "outcome", **asked)
    kept = {"models": ("linear",), "ignore": ("site",)}
    for study, expected in (
        (numbers, {"coverage": 0.5, "fast": False, **kept}),
        (classes, {"n_folds": 3, "random_state": 7, **kept}),
    ):
        study.save(tmp_path / "study.credo")
        for one in (study, credo.load(tmp_path / "study.credo")):
            assert one.estimator.get_params() == expected
    for X in (table[list(numbers.inputs)], table.drop(columns="outcome")):
        again = clone(numbers.estimator).fit(X, table["outcome"])
        assert again.model_.names == numbers.model.names
        assert again.model_.preparation.inputs == numbers.inputs
        assert_allclose(again.predict(X), numbers.predict(table))


@pytest.mark.parametrize("wrong", [{"n_folds": 1}, {"n_folds": -3}, {"seed": -1}])
def test_settings_that_no_fit_takes_are_refused_in_files(numbers, wrong):
    with pytest.raises(ModelFileError, match="at least 2 folds, and a seed"):
        replace(numbers, **wrong).require_usable()


def test_labels_and_tones_that_do_not_fit_the_model_are_refused(classes):
    model = classes.model
    for labels in (np.array([0, 1]), np.array([0.0, np.nan]), np.array(3.0)):
        with pytest.raises(ModelFileError, match="must have one label for each class"):
            replace(model, labels=labels).require_usable()
    with pytest.raises(ModelFileError, match="must have a tone for each note"):
        replace(model, tones=("fact",) * (len(model.notes) + 1)).require_usable()


def test_numbers_that_may_be_classes_are_spoken_of_first():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "grade": np.arange(60) % 4})
    said = []
    study = credo.fit(
        frame, "grade", models="linear", progress=lambda share, text: said.append(text)
    )
    assert "number and not as classes (`task`)" in said[0]
    assert study.remarks[0].tone == "answer"
    assert "pass `task='classification'`" in study.remarks[1].text
    classes = credo.fit(frame, "grade", task="classification", models="linear")
    assert not any("task=" in remark.text for remark in classes.remarks)
