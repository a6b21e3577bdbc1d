import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from credo.app.cli.command_line import command_line


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], [50, 30])
    frame = pd.DataFrame(
        {"x": rng.normal(8.0 * group, 1.0), "name": np.array(["a", "b"])[group]}
    )
    frame["y"] = 2 * frame["x"] + rng.normal(0, 0.5, 80)
    frame.loc[3, "y"] = np.nan
    frame.to_csv("data.csv", index=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(command_line, [str(argument) for argument in arguments])


def test_cluster_writes_probabilities_and_a_report(work):
    done = run("cluster", "data.csv", "--out", "out.csv", "--report", "report.html")
    assert done.exit_code == 0, done.output
    assert "2 clusters" in done.output
    frame = pd.read_csv("out.csv")
    assert frame["cluster"].value_counts().tolist() == [50, 30]
    page = (work / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "Map of the rows" in page
    assert page.count("<svg ") >= 5


def test_outputs_are_not_written_over_the_input(work):
    before = (work / "data.csv").read_text()
    done = run("cluster", "data.csv", "--out", "data.csv")
    assert done.exit_code == 2
    assert (work / "data.csv").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cluster", "none.csv"), "none.csv must be a file"),
        (("cluster", "data.csv", "--ignore", "w"), "--ignore must name columns of data.csv"),
        (("cluster", "data.csv", "--clusters", "500"), "--clusters must be at most"),
    ],
)
def test_errors_are_one_sentence_with_options(work, arguments, said):
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("command", "columns", "headline"),
    [
        ("reduce", ["axis 1", "sd of axis 1", "error"], "of the spread of"),
        ("anomalies", ["row", "score", "is odd"], "odd row"),
        ("impute", ["x", "name", "y", "low y", "high y"], "1 gap in 1 column"),
    ],
)
def test_each_command_writes_a_table_and_a_report(work, command, columns, headline):
    done = run(command, "data.csv", "--out", "out.csv", "--report", "report.html")
    assert done.exit_code == 0, done.output
    assert headline in " ".join(done.output.split())
    frame = pd.read_csv("out.csv")
    assert len(frame) == 80
    assert set(columns) <= set(frame.columns)
    assert "<svg " in (work / "report.html").read_text()


def test_draws_of_gaps_go_into_a_file_of_their_own(work):
    done = run("impute", "data.csv", "--draws", "3", "--draws-out", "draws.csv")
    assert done.exit_code == 0, done.output
    frame = pd.read_csv("draws.csv")
    assert len(frame) == 240
    assert frame["y"].notna().all()
    assert frame.groupby("draw")["y"].nth(3).nunique() == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("reduce", "data.csv", "--axes", "50"), "--axes must be at most"),
        (("anomalies", "data.csv", "--rate", "2"), "--rate"),
        (("impute", "data.csv", "--coverage", "90"), "--coverage"),
        (("impute", "data.csv", "--out", "data.csv"), "data.csv"),
    ],
)
def test_wrong_settings_are_named_by_their_options(work, arguments, said):
    before = (work / "data.csv").read_text()
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert (work / "data.csv").read_text() == before
