import io
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import credo
from credo.app.cli.command_line import command_line, spread_values

MAIN = "from credo.app.cli.command_line import main; main()"


def run(*arguments):
    ran = CliRunner().invoke(command_line, [str(argument) for argument in arguments])
    assert ran.exit_code == 0, ran.output
    return ran


@pytest.fixture(scope="module")
def made(table, tmp_path_factory):
    """The folder and the answer of one fit, which the tests of this module share."""
    folder = tmp_path_factory.mktemp("made")
    table.to_csv(folder / "clinic.csv", index=False)
    outputs = ("--out", "model.credo", "--report", "report.html")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return folder, run("fit", "clinic.csv", "--target", "outcome", *outputs)


@pytest.fixture
def fitted(made, csv_file, monkeypatch):
    folder, ran = made
    for name in ("model.credo", "report.html"):
        shutil.copy(folder / name, csv_file.parent)
    monkeypatch.chdir(csv_file.parent)
    return ran


def test_fit_prints_one_table_and_what_the_winner_says(fitted):
    assert "The strongest weights of" not in fitted.stdout
    for text in (
        "clinic.csv: 120 rows, 4 columns used to predict 'outcome'; 96 rows to learn from, 24",
        "Column 'patient_id' is left out: it numbers the rows.",
        "90 %",
        "spline",
        "The most probable candidate is",
        "What moves the prediction most",
        "model: model.credo",
        "report: report.html",
    ):
        assert text in fitted.stdout
    assert all(line.startswith("still ") for line in fitted.stderr.splitlines())


def test_fit_takes_the_names_of_models_as_compare_does(csv_file):
    ran = run("fit", csv_file, "--target", "outcome", "--models", "Linear, spline")
    assert "spline" in ran.stdout
    assert "quadratic" not in ran.stdout
    refused = CliRunner().invoke(
        command_line, ["fit", str(csv_file), "--target", "outcome", "--models", "liner"]
    )
    assert refused.exit_code == 2
    assert "--models must name models that suit the table; found 'liner'" in refused.stderr
    assert "did you mean 'linear'?" in refused.stderr


def test_the_table_fits_into_eighty_columns(fitted):
    lines = fitted.stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if "bility" in line) - 1
    end = next(i for i, line in enumerate(lines) if line.startswith("average"))
    assert all(len(line.rstrip()) <= 80 for line in lines[start : end + 3])
    assert "±" in lines[end]
    assert not any("…" in line for line in lines[start : end + 1])


def test_fit_without_outputs_writes_nothing(csv_file, monkeypatch):
    monkeypatch.chdir(csv_file.parent)
    options = ["--target", "outcome", "--coverage", "0.5", "--test-share", "0.4", "--fast"]
    ran = run("fit", csv_file, *options)
    assert "48 held out" in ran.stdout
    assert "50 %" in ran.stdout
    assert "Add --out model.credo" in ran.stdout
    assert [path.name for path in csv_file.parent.iterdir()] == ["clinic.csv"]


def test_predictions_are_those_of_the_saved_model_in_the_order_of_the_rows(fitted, csv_file):
    run("predict", "model.credo", csv_file, "--out", "predictions.csv")
    written = pd.read_csv("predictions.csv")
    table = pd.read_csv(csv_file)
    assert list(written.columns) == ["patient_id", "mean", "sd", "low", "high"]
    assert written["patient_id"].tolist() == table["patient_id"].tolist()
    told = credo.load("model.credo").predict_frame(table.iloc[::-1]).iloc[::-1]
    for name in ("mean", "sd", "low", "high"):
        assert_allclose(written[name], told[name], rtol=1e-7)
    is_inside = (written["low"] < table["outcome"]) & (table["outcome"] < written["high"])
    assert is_inside.mean() > 0.8


def test_predictions_of_rows_whose_target_is_known_are_scored(fitted, csv_file):
    table = pd.read_csv(csv_file)
    ran = run("predict", "model.credo", csv_file, "--out", "predictions.csv")
    score = credo.load("model.credo").score(table)
    note = " ".join(ran.stderr.split())
    assert (
        f"On 120 rows whose 'outcome' is known, predictions are off by {score.rmse:.3f}" in note
    )
    assert "of the rows are inside their interval of 90 %; log score per row" in note
    table["outcome"] = "unknown"
    table.to_csv("text.csv", index=False)
    told = run("predict", "model.credo", "text.csv", "--out", "more.csv")
    assert told.exit_code == 0
    assert "The predictions were not scored: target 'outcome'" in " ".join(told.stderr.split())


def test_predictions_without_out_go_to_standard_output_and_notes_do_not(fitted, csv_file):
    table = pd.read_csv(csv_file).drop(columns="outcome").head(8)
    table.loc[0, "site"] = "moon"
    table.loc[1, "dose"] = 99.0
    table.loc[2, "age"] = np.nan
    table.assign(extra=1).to_csv("new.csv", index=False)
    ran = run("predict", "model.credo", "new.csv")
    assert len(pd.read_csv(io.StringIO(ran.stdout))) == 8
    for note in ("'moon'", "by 'dose' 1", "of 'age'", "ignored: 'extra'"):
        assert note in ran.stderr


def test_a_wider_coverage_gives_wider_intervals(fitted, csv_file):
    widths = []
    for coverage in ("0.5", "0.9", "0.99"):
        ran = run("predict", "model.credo", csv_file, "--coverage", coverage)
        frame = pd.read_csv(io.StringIO(ran.stdout))
        widths.append((frame["high"] - frame["low"]).mean())
    assert widths == sorted(widths)
    assert widths[0] < widths[1] < widths[2]


def test_inspect_tells_what_the_file_holds(fitted, csv_file):
    text = run("inspect", "model.credo").stdout
    table = credo.data.read_table(csv_file)
    for part in (
        "a Study written",
        table.fingerprint(),
        f"credo-bayes {credo.__version__}",
        "Probabilities after all rows: constant <0.001",
        "learned from 120 rows",
        "Too improbable to take part in predictions, below 1e-06: constant",
        "» Predictions of 'outcome' are off by",
        "· Column 'patient_id' is left out",
        "! Only 24 rows served as a test",
    ):
        assert part in text


def test_inspect_tells_the_class_of_any_model_file(tmp_path):
    path = tmp_path / "plain.credo"
    credo.save(credo.LinearRegression().fit(np.eye(4), [1.0, 2.0, 3.0, 5.0]), path)
    assert "a LinearRegression written" in run("inspect", path).stdout


def test_demo_leaves_a_model_and_a_report(tmp_path):
    ran = run("demo", "--folder", tmp_path / "deep" / "demo")
    assert "concrete.csv: 1,030 rows" in ran.stdout
    names = sorted(path.name for path in (tmp_path / "deep" / "demo").iterdir())
    assert names == ["concrete.credo", "concrete.html"]


def test_version_and_bare_command_answer():
    assert run("--version").stdout.strip() == f"credo {credo.__version__}"
    assert "Usage" in run().stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from credo.app.cli.command_line import command_line\n"
        "try: command_line(['--help'])\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'sklearn', 'pandas', 'matplotlib', 'scipy', 'numba', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)), code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1] == "[] 0"


def test_a_terminal_that_knows_only_ascii_still_gets_an_answer(csv_file):
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, "fit", str(csv_file), "--target", "outcome", "--fast"],
        capture_output=True,
        check=True,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )
    assert b"The most probable candidate is" in ran.stdout


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("n.bif --given a=1 b=2", "n.bif --given a=1 --given b=2"),
        ("n.bif --given a=1 --given b=2", "n.bif --given a=1 --given b=2"),
        ("n.bif --given=a=1 b=2 --of x", "n.bif --given=a=1 --given b=2 --of x"),
        ("--given a=1 b=2 n.bif --of x", "--given a=1 --given b=2 n.bif --of x"),
        ("--of x n.bif --do a=1 b=2", "--of x n.bif --do a=1 --do b=2"),
        ("n.bif --of x y z --out f.csv", "n.bif --of x --of y --of z --out f.csv"),
        ("n.bif --out f.csv --of x", "n.bif --out f.csv --of x"),
        ("--out f.csv --of x n.bif", "--out f.csv --of x n.bif"),
        ("n.bif --joint --of x y", "n.bif --joint --of x --of y"),
    ],
)
def test_every_value_gets_the_option_before_it(typed, read):
    assert " ".join(spread_values(typed.split())) == read


def test_a_table_may_come_from_standard_input(fitted, csv_file):
    told = CliRunner().invoke(
        command_line, ["predict", "model.credo", "-"], input=csv_file.read_bytes()
    )
    assert told.exit_code == 0, told.output
    assert told.stdout == run("predict", "model.credo", csv_file).stdout
    wrong = CliRunner().invoke(command_line, ["predict", "model.credo", "-"], input="x\n1\n")
    assert wrong.exit_code == 2
    assert "must be in standard input" in wrong.stderr
