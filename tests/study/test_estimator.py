import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import credo
from credo.models import LinearRegression
from credo.study import TableClassifier, TableRegressor


@parametrize_with_checks(
    [TableRegressor(models=("linear",)), TableClassifier(n_folds=3, models=("linear",))]
)
def test_the_contract_of_scikit_learn_holds(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([TableRegressor(), TableClassifier()])
def test_the_contract_of_scikit_learn_holds_with_all_candidates(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows(table):
    return table.drop(columns="outcome"), table["outcome"].to_numpy()


def test_frames_with_text_dates_and_gaps_go_through_pipelines_and_searches(rows):
    X, y = rows
    search = GridSearchCV(
        make_pipeline(TableRegressor()),
        {"tableregressor__models": [("linear",), ("linear", "spline")]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_ == {"tableregressor__models": ("linear", "spline")}
    assert search.best_score_ > 0.9
    assert_allclose(search.predict(X), search.best_estimator_.predict(X))


def test_all_candidates_are_weighed_by_evidence_on_all_rows(rows):
    X, y = rows
    model = TableRegressor().fit(X[["dose"]], y)
    average = model.model_.average
    linear = LinearRegression().fit(X[["dose"]], y)
    place = average.names_.index("linear")
    assert average.estimators_[place].log_evidence_ == pytest.approx(linear.log_evidence_)
    assert average.names_[int(np.argmax(average.probability_))] not in ("constant", "linear")


def test_classes_keep_their_type_and_order_though_text_has_another(rows):
    X, y = rows
    labels = np.where(y > np.median(y), 10, 9)
    model = TableClassifier(models=("linear",)).fit(X, labels)
    assert model.classes_.tolist() == [9, 10]
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels) > 0.8
    # "10" comes before "9", as "a" does before "b".
    text = TableClassifier(models=("linear",)).fit(X, np.where(labels == 9, "b", "a"))
    assert_allclose(model.predict_proba(X), text.predict_proba(X)[:, ::-1])


def test_pandas_polars_and_more_columns_predict_alike(rows):
    X, y = rows
    model = TableRegressor(models=("linear",)).fit(X, y)
    assert_allclose(model.predict(pl.from_pandas(X)), model.predict(X))
    assert_allclose(model.predict(X.assign(more=1)), model.predict(X))
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(X.drop(columns="dose"))


@pytest.mark.parametrize("model", [TableRegressor(), TableClassifier()])
def test_a_saved_estimator_predicts_as_it_did(model, rows, tmp_path):
    X, y = rows
    model = clone(model).set_params(models=("linear",))
    model.fit(X, y if isinstance(model, TableRegressor) else y > 10)
    credo.save(model, tmp_path / "m.credo")
    assert_array_equal(credo.load(tmp_path / "m.credo").predict(X), model.predict(X))


def test_what_cannot_be_learned_from_is_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match="at least 2 rows of each class"):
        TableClassifier().fit(X, np.arange(len(X)) == 0)
    with pytest.raises(ValueError, match="infinity"):
        TableRegressor().fit(X, np.full(len(X), np.inf))
    with pytest.raises(ValueError, match="must have an input column"):
        TableRegressor().fit(pd.DataFrame({"one": np.ones(len(X))}), y)


def test_numbers_in_place_of_classes_are_told_where_to_go(rows):
    X, y = rows
    numbers = np.append(5.0 * (np.arange(3, len(y) + 2) // 3), 0.0)
    with pytest.raises(ValueError, match=r"found 1 of 0\.0\. With 41 .*: use TableRegressor"):
        TableClassifier().fit(X, numbers)


def test_a_lazy_frame_is_to_be_collected(rows):
    X, y = rows
    for call in (
        lambda lazy: TableRegressor().fit(lazy, y),
        lambda lazy: credo.fit(lazy, target="dose"),
    ):
        with pytest.raises(TypeError, match=r"found LazyFrame; call its \.collect\(\)"):
            call(pl.from_pandas(X).lazy())


def test_a_column_may_have_the_name_of_a_verb_of_frames(rows):
    X, y = rows
    model = TableRegressor(models=("linear",)).fit(X.assign(collect=np.arange(len(X)) % 7), y)
    assert "collect" in model.feature_names_in_


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.from_pandas])
def test_ignored_columns_are_used_by_no_verb(rows, as_frame):
    X, y = rows
    without = TableRegressor(models=("linear",)).fit(X, y)
    model = TableRegressor(models=("linear",), ignore=["answer", "absent"])
    model.fit(as_frame(X.assign(answer=y)), y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    for shown in (X, X.assign(answer="?")):
        assert_allclose(model.predict(as_frame(shown)), without.predict(X))
