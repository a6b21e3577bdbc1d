import numpy as np
import pandas as pd
import polars as pl
import pytest

from credo.decisions import LossMatrix
from credo.distributions import Categorical
from credo.models.contract.classifier import DensityClassifier, PredictiveClassifier

SHARES = np.array([[0.7, 0.3, 0.0], [0.2, 0.2, 0.6], [0.4, 0.4, 0.2]])


class Known(PredictiveClassifier):
    """Class probabilities that are given, one row of `SHARES` for each number in X."""

    classes_ = np.array(["a", "b", "c"])

    def predict_dist(self, X):
        rows = np.asarray(X, dtype=np.intp)[:, 0]
        return Categorical(SHARES[rows], self.classes_)


X = np.array([[0], [1], [2]])


def test_probabilities_are_those_of_the_predictive():
    np.testing.assert_array_equal(Known().predict_proba(X), SHARES)


def test_an_impossible_class_has_log_probability_of_minus_infinity_without_a_warning():
    logs = Known().predict_log_proba(X)
    assert logs[0, 2] == -np.inf
    np.testing.assert_allclose(np.exp(logs), SHARES)


def test_the_most_probable_class_is_predicted_and_the_first_of_equals():
    assert Known().predict(X).tolist() == ["a", "c", "a"]


def test_a_decision_has_the_least_expected_loss_of_all_actions():
    loss = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [5.0, 5.0, 0.0]])
    found = Known().decide(X, LossMatrix(loss, ["a", "b", "c"]))
    expected = SHARES @ loss.T
    assert found.action.tolist() == Known.classes_[expected.argmin(axis=1)].tolist()
    assert found.action.tolist() != Known().predict(X).tolist()
    np.testing.assert_allclose(found.expected_loss, expected.min(axis=1))


def test_without_a_loss_every_error_costs_one():
    found = Known().decide(X)
    assert found.action.tolist() == Known().predict(X).tolist()
    np.testing.assert_allclose(found.expected_loss, 1.0 - SHARES.max(axis=1))
    assert Known().decide(X, reject=0.35).action.tolist() == ["a", "reject", "reject"]


def test_a_row_is_rejected_where_that_costs_less_than_every_class():
    found = Known().decide(X, LossMatrix.zero_one(["a", "b", "c"]), reject=0.35)
    assert found.action.tolist() == ["a", "reject", "reject"]
    np.testing.assert_allclose(found.expected_loss, [0.3, 0.35, 0.35])


def test_a_frame_of_predictions_is_of_the_kind_and_index_of_the_inputs():
    index = ["x", "y", "z"]
    found = Known().predict_frame(pd.DataFrame({"row": X[:, 0]}, index=index))
    assert found.index.tolist() == index
    assert found["class"].tolist() == ["a", "c", "a"]
    np.testing.assert_array_equal(found["probability of b"], SHARES[:, 1])


def test_polars_gives_polars_and_an_array_gives_pandas():
    from_polars = Known().predict_frame(pl.DataFrame({"row": X[:, 0]}))
    assert isinstance(from_polars, pl.DataFrame)
    from_array = Known().predict_frame(X)
    assert isinstance(from_array, pd.DataFrame)
    assert from_polars["class"].to_list() == from_array["class"].tolist() == ["a", "c", "a"]
    assert from_polars.columns == from_array.columns.tolist()


def test_accuracy_is_the_share_of_rows_that_are_right():
    assert Known().score(X, ["a", "b", "a"]) == pytest.approx(2 / 3)


def test_the_old_name_of_a_density_of_rows_warns_and_answers():
    class Usual(DensityClassifier):
        predict_dist = Known.predict_dist

        def log_prob(self, X):
            return -np.asarray(X, dtype=float)[:, 0]

    with pytest.warns(FutureWarning, match="log_density is now Usual.log_prob"):
        np.testing.assert_array_equal(Usual().log_density(X), [0.0, -1.0, -2.0])
