import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from credo.evaluation import compare
from credo.plots import comparison, evidence_against_complexity, model_comparison

EVIDENCES = np.array([-12.0, -8.0, -9.0, -30.0])


@pytest.mark.parametrize("prior", [None, [1.0, 1.0, 4.0, 1.0]])
def test_evidence_is_a_line_and_probability_are_bars(prior, ax):
    assert evidence_against_complexity(range(4), EVIDENCES, ax, prior=prior) is ax
    assert_allclose(ax.lines[0].get_ydata(), EVIDENCES)
    assert_allclose(ax.lines[1].get_data(), [[1], [-8.0]])
    (bars,) = [other for other in ax.figure.axes if other is not ax]
    share = np.exp(EVIDENCES) * (1.0 if prior is None else prior)
    assert_allclose([bar.get_height() for bar in bars.patches], share / share.sum())
    assert ax.get_zorder() > bars.get_zorder()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1", "2", "3"]


def test_every_evidence_needs_a_label(ax):
    with pytest.raises(ValueError, match="found 3 labels for 4"):
        evidence_against_complexity(range(3), EVIDENCES, ax)


def test_models_are_bars_with_their_numbers_under_their_names(ax):
    table = pd.DataFrame(
        {"log_evidence": [-10.25, -9.0], "probability": [0.2227, 0.7773]},
        index=["line", "a curve with a name too long to fit beside the axis"],
    )
    model_comparison(table, ax)
    assert_allclose([bar.get_width() for bar in ax.patches], table["probability"])
    assert [text.get_text() for text in ax.texts] == ["0.223", "0.777"]
    names = [text.get_text().split("\n") for text in ax.get_yticklabels()]
    assert names[0] == ["line", "log evidence -10.2"]
    assert len(names[1][0]) == 28
    assert ax.yaxis_inverted()


def test_log_scores_are_written_where_there_are_some(ax):
    table = pd.DataFrame(
        {
            "log_evidence": [-9.0],
            "probability": [1.0],
            "log_score": [-1.25],
            "log_score_error": [0.1],
        },
        index=["line"],
    )
    model_comparison(table, ax)
    assert ax.texts[0].get_text() == ">0.999"
    written = ax.get_yticklabels()[0].get_text()
    assert written == "line\nlog evidence -9.0\nlog score -1.250 ± 0.100"


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"score": [1.0]}), pd.DataFrame({"log_evidence": [], "probability": []})],
)
def test_a_table_without_models_is_refused(table, ax):
    with pytest.raises(ValueError, match="table must have rows"):
        model_comparison(table, ax)


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    models = {
        "constant": DummyClassifier(strategy="prior"),
        "logistic": LogisticRegression(),
        "twin": LogisticRegression(C=0.99),
    }
    return compare(models, x, y, cv=5)


@pytest.mark.parametrize("by", [None, "log_score", "accuracy"])
def test_models_are_drawn_by_how_far_they_are_behind_the_leader(compared, by, ax):
    assert comparison(compared, ax, by) is ax
    names = [text.get_text().split("\n")[0] for text in ax.get_yticklabels()]
    assert names[2] == "constant"
    assert {names[0], names[1]} == {"logistic", "twin"}
    verdict = compared.verdict(names[0], "constant", by or "log_score")
    points = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert_allclose(points[-1], -verdict.difference)
    assert [text.get_text() for text in ax.texts] == ["practically equal", "worse"]


@pytest.mark.parametrize(
    ("by", "title"),
    [
        ("accuracy", "negative squared error"),
        ("rmse", "negative RMSE in standard deviations"),
    ],
)
def test_regressors_are_drawn_by_the_error_asked_for(ax, by, title):
    x = np.arange(30.0)[:, None]
    models = {"ridge": Ridge(), "mean": DummyRegressor()}
    found = compare(models, x, x[:, 0] + np.sin(9 * x[:, 0]), by=["log_score", by], cv=5)
    comparison(found, ax, by=by)
    assert ax.get_xlabel() == f"{title}, less that of ridge"
    verdict = found.verdict("ridge", "mean", by=by)
    assert_allclose(ax.lines[1].get_xdata(), [-verdict.difference])


def test_a_comparison_by_evidence_alone_has_no_such_picture(compared, ax):
    with pytest.raises(ValueError, match=r"verdicts by one of \['log_score', 'accuracy'"):
        comparison(compared, ax, "evidence")
