import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from credo.app.cli.command_line import command_line
from credo.data.error import TableError
from credo.study.compare_job import compare_table


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=90), rng.normal(size=90)
    y = np.where(x + 0.5 * rng.normal(size=90) > 0, "up", "down")
    return pd.DataFrame({"x": x, "z": z, "y": y, "size": 2 * x + 0.3 * z})


@pytest.fixture
def work(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("data.csv", index=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(command_line, [str(argument) for argument in arguments])


def test_too_few_rows_are_refused_in_one_sentence(frame):
    with pytest.raises(TableError, match="must have at least 10 rows with a target"):
        compare_table(frame.head(3), "size")


def test_a_model_that_reads_the_columns_is_better_than_one_that_does_not(frame):
    data = frame.drop(columns="size")
    found = compare_table(data, "y", ["linear", "baseline"]).comparison
    assert found.best("log_score") == "linear"
    assert found.kind == "classifier"
    share = np.log(frame["y"].value_counts(normalize=True))
    entropy = -(np.exp(share) * share).sum()
    assert_allclose(found.table.loc["baseline", "log_score"], -entropy, atol=0.02)


def test_numbers_are_compared_as_numbers(frame):
    found = compare_table(frame.drop(columns="y"), "size", ["constant", "linear"])
    assert found.comparison.kind == "regressor"
    assert found.comparison.best("log_score") == "linear"


def test_names_may_be_spelled_with_dashes_and_capitals(frame):
    found = compare_table(frame, "y", ["Naive-Bayes", "naive_bayes", "baseline"])
    assert found.comparison.names == ["naive bayes", "baseline"]


@pytest.mark.parametrize(
    ("names", "part"),
    [
        (["linear", "bosting"], "found 'bosting'; did you mean 'boosting'? choose from"),
        (["linear", "qqq"], "found 'qqq'; choose from 'baseline', 'linear'"),
        (["linear", "cubic"], "found 'cubic'"),
        (["linear"], "at least 2 different models; found 'linear'"),
        (["linear", ""], "found ''"),
    ],
)
def test_names_that_are_no_models_are_answered_with_those_that_are(frame, names, part):
    with pytest.raises(TableError) as caught:
        compare_table(frame, "y", names)
    assert part in str(caught.value)


def test_a_model_that_does_not_suit_the_table_is_refused_with_the_reason():
    frame = pd.DataFrame({"x": [0, 1] * 20, "y": list("aabbabab") * 5})
    with pytest.raises(TableError, match="spline was left out: on these columns"):
        compare_table(frame, "y", ["linear", "spline"])


def test_the_command_prints_verdicts_and_writes_a_page(work):
    ran = run(
        "compare",
        "data.csv",
        "--target",
        "y",
        "--models",
        "linear,baseline",
        "--report",
        "r.html",
    )
    assert ran.exit_code == 0, ran.output
    assert "2 models in 10 folds" in ran.stdout
    assert "By log score: linear is best." in ran.stdout
    assert re.search(r"linear is better than baseline: (above )?9", ran.stdout)
    page = Path("r.html").read_text()
    assert "<svg" in page
    assert "linear is better than baseline" in page


def test_the_names_of_all_models_can_be_listed_without_a_table():
    ran = run("compare", "--list-models")
    assert ran.exit_code == 0, ran.output
    for name in ("boosting", "naive bayes", "spline + radial"):
        assert f"· {name}: " in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["data.csv", "--target", "why"], "target column 'why' must be in data.csv"),
        (["nowhere.csv", "--target", "y"], "nowhere.csv must be a file"),
        (["data.csv", "--target", "y", "--models", "linear"], "at least 2 different models"),
        (["data.csv", "--target", "y", "--report", "no/such/r.html"], "folder that exists"),
        (["data.csv", "--target", "y", "--task", "guess"], "'--task'"),
    ],
)
def test_a_bad_comparison_is_refused_in_one_sentence(work, arguments, part):
    ran = run("compare", *arguments)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert part in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert os.listdir(work) == ["data.csv"]
