"""Every mistake a person can make gets one sentence, exit code 2, and leaves nothing behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from credo import save
from credo.app.cli.command_line import command_line
from credo.models import LinearRegression

ROWS = "".join(f"{i},{2 * i + (i % 3)}\n" for i in range(20))


def scaled(x, y):
    """Return a table whose columns are in other units."""
    rows = "".join(f"{i * x},{(2 * i + i % 3) * y}\n" for i in range(20))
    return f"x,y\n{rows}".encode()


TABLES = {
    "empty file": (b"", "found none|found an empty|must have a header|empty"),
    "header only": (b"x,y\n", "must have rows below its header"),
    "one row": (b"x,y\n1,2\n", "at least 2 rows; found 1 row"),
    "few rows": (b"x,y\n1,2\n3,4\n5,6\n", "at least 10 rows with a target"),
    "text in a number column": (
        f"x,y\n{ROWS}20,high\n".encode(),
        "'y' of data.csv must hold numbers only.*found the text 'high' on line 22",
    ),
    "infinite value": (f"x,y\n{ROWS}inf,3\n".encode(), "must hold finite numbers; found inf"),
    "duplicate column names": (b"x,x,y\n1,2,3\n", "must differ; found 'x' as columns 1 and 2"),
    "rows of unequal length": (f"x,y\n{ROWS}1,2,3\n".encode(), "line 22"),
    "huge target": (scaled(1, 1e200), "'y' of data.csv must hold numbers within 1e.70 of 0"),
    "tiny target": (scaled(1, 1e-200), "'y' of data.csv must .*found a range of .*; change"),
    "huge input": (scaled(-1e160, 1), "found -1e.160 on line 3; change the unit"),
    "target of zeros": (scaled(1, 0), "'y' of data.csv must vary; found 0 in all 20 rows"),
    "constant target": (
        ("x,y\n" + "".join(f"{i},7\n" for i in range(20))).encode(),
        "'y' of data.csv must vary; found 7 in all 20 rows",
    ),
    "one class only": (
        ("x,y\n" + "".join(f"{i},a\n" for i in range(20))).encode(),
        "'y' of data.csv must have at least 2 classes; found 'a' in all 20 rows",
    ),
    "a class with one row": (
        ("x,y\n" + "".join(f"{i},{'b' if i == 3 else 'a'}\n" for i in range(20))).encode(),
        "must have at least 3 rows of each class, .*; found 1 of 'b'; add rows",
    ),
    "a target of free text": (
        ("x,y\n" + "".join(f"{i},name {i}\n" for i in range(99))).encode(),
        "'y' of data.csv must have at most 50 classes; found 99 different values",
    ),
    "all-missing target": (
        ("x,y\n" + "".join(f"{i},\n" for i in range(20))).encode(),
        "found all its values missing",
    ),
    "nothing to learn from": (
        ("x,y\n" + "".join(f",{i}\n" for i in range(20))).encode(),
        "must have an input column to learn from",
    ),
    "not UTF-8": ("x,y\n1,é\n".encode("latin-1"), "UTF-8"),
    "binary junk": (bytes(range(256)) * 4, "data.csv"),
    "zip archive": (b"PK\x03\x04 something", "save the sheet as 'CSV UTF-8'"),
    "missing target column": (
        f"x,z,why\n{ROWS.replace(chr(10), ',1' + chr(10))}".encode(),
        "target column 'y' must be in data.csv",
    ),
}


def refusal(arguments):
    """Return the one sentence of a command that must fail."""
    ran = CliRunner().invoke(command_line, [str(argument) for argument in arguments])
    assert ran.exit_code == 2, ran.output
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert ran.stderr.startswith("credo: ")
    assert ran.stderr.strip().endswith((".", "help."))
    return ran.stderr


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def good(work):
    (work / "good.csv").write_text("x,y\n" + ROWS)
    return work / "good.csv"


@pytest.fixture
def model(good):
    ran = CliRunner().invoke(
        command_line, ["fit", str(good), "--target", "y", "--out", "good.credo"]
    )
    assert ran.exit_code == 0, ran.output
    return Path("good.credo")


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table_is_refused_in_one_sentence(case, work):
    content, pattern = TABLES[case]
    (work / "data.csv").write_bytes(content)
    outputs = ["--out", "model.credo", "--report", "report.html"]
    sentence = refusal(["fit", "data.csv", "--target", "y", *outputs])
    assert re.search(pattern, sentence), sentence
    assert os.listdir(work) == ["data.csv"]


@pytest.mark.parametrize("x", [1e-69, 1.0, 1e67])
@pytest.mark.parametrize("y", [1e-69, 1e67])
def test_extreme_units_within_the_limits_give_the_same_answer(x, y, work):
    (work / "usual.csv").write_bytes(scaled(1, 1))
    (work / "odd.csv").write_bytes(scaled(x, y))
    means = {}
    for name in ("usual", "odd"):
        for arguments in (
            ["fit", f"{name}.csv", "--target", "y", "--out", "m.credo", "--report", "r.html"],
            ["predict", "m.credo", f"{name}.csv", "--out", "p.csv"],
        ):
            ran = CliRunner().invoke(command_line, arguments)
            assert ran.exit_code == 0, ran.output
        means[name] = np.genfromtxt("p.csv", delimiter=",", skip_header=1)[:, 0]
    np.testing.assert_allclose(means["odd"] / y, means["usual"], rtol=1e-5)


def test_a_column_whose_differences_vanish_is_left_out_with_a_note(work):
    table = "".join(f"{i},{i % 7}e-200,{2 * i + i % 3}\n" for i in range(20))
    (work / "data.csv").write_text("x,tiny,y\n" + table)
    ran = CliRunner().invoke(command_line, ["fit", "data.csv", "--target", "y"])
    assert ran.exit_code == 0, ran.output
    assert "Column 'tiny' is left out: its values differ by less than 1e-70" in ran.stdout


def test_every_line_of_a_single_column_is_predicted(model):
    Path("new.csv").write_text("x\n1\n\n3\n")
    ran = CliRunner().invoke(command_line, ["predict", str(model), "new.csv"])
    assert len(ran.stdout.splitlines()) == 4
    assert "1 missing value of 'x' was averaged over" in ran.stderr


def test_a_misspelled_target_is_answered_with_the_nearest_names(work):
    (work / "data.csv").write_text(f"size,strength\n{ROWS}")
    sentence = refusal(["fit", "data.csv", "--target", "strenght"])
    assert "the nearest name is 'strength'; pass --target strength." in sentence


def test_an_all_missing_column_is_left_out_with_a_note(work):
    (work / "data.csv").write_text("x,gone,y\n" + ROWS.replace(",", ",,"))
    ran = CliRunner().invoke(command_line, ["fit", "data.csv", "--target", "y"])
    assert ran.exit_code == 0
    assert "Column 'gone' is left out: all its values are missing." in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["fit", "nowhere.csv", "--target", "y"], "nowhere.csv must be a file"),
        (["fit", ".", "--target", "y"], ". must be a CSV or Parquet file; found a folder;"),
        (["fit", "good.csv"], "Missing option '--target'"),
        (["fit", "good.csv", "--target"], "--target"),
        (["fit", "good.csv", "--target", "y", "--coverage", "90"], "below 1; found 90;"),
        (["fit", "good.csv", "--target", "y", "--test-share", "0"], "above 0 and below 1"),
        (["fit", "good.csv", "--target", "y", "--test-share", "2"], "a share such as 0.2"),
        (["fit", "good.csv", "--target", "y", "--coverage", "90"], "a share such as 0.9"),
        (
            ["fit", "good.csv", "--target", "y", "--test-share", "0.9"],
            "must leave at least 3 training rows; found 2; add rows, or pass a smaller",
        ),
        (["fit", "good.csv", "--target", "y", "--seed", "-1"], "'--seed'"),
        (["fit", "good.csv", "--target", "y", "--seed", "x"], "'--seed'"),
        (["fit", "good.csv", "--target", "y", "--nonsense"], "--nonsense"),
        (["predict", "nowhere.credo", "good.csv"], "nowhere.credo must be a file"),
        (["predict", ".", "good.csv"], ". must be a model file; found a folder;"),
        (["inspect", "."], ". must be a model file; found a folder;"),
        (["predict", "good.csv", "good.csv"], "good.csv must be a whole credo model file"),
        (["inspect", "good.csv"], "found that it is not a model file; pass one that"),
        (["inspect"], "Missing argument"),
        (["guess"], "No such command 'guess'"),
    ],
)
def test_a_bad_argument_is_refused_in_one_sentence(arguments, pattern, good):
    sentence = refusal(arguments)
    assert pattern in sentence
    assert "Error" not in sentence
    assert "BadZip" not in sentence
    assert os.listdir(good.parent) == ["good.csv"]


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize(
    ("place", "pattern"),
    [
        ("no/such/folder/file", "must be in a folder that exists"),
        (".", "must be a file name; found a folder"),
        ("good.csv", "must not be written over"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    option, place, pattern, good, monkeypatch
):
    monkeypatch.setattr("credo.app.cli.terminal_job.fit_table", None)
    assert pattern in refusal(["fit", "good.csv", "--target", "y", option, place])
    assert os.listdir(good.parent) == ["good.csv"]


def test_model_and_report_must_be_different_files(good):
    both = ["--out", "same", "--report", "same"]
    assert "must not be written over" in refusal(["fit", "good.csv", "--target", "y", *both])


def test_a_write_that_fails_at_the_end_leaves_nothing(good, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("credo.data.output.os.fsync", full)
    sentence = refusal(["fit", "good.csv", "--target", "y", "--out", "m.credo"])
    assert "No space left on device" in sentence
    assert os.listdir(good.parent) == ["good.csv"]


def test_a_truncated_model_file_is_refused(model):
    whole = model.read_bytes()
    model.write_bytes(whole[: len(whole) // 2])
    assert "found one that is cut short or damaged" in refusal(["inspect", model])
    sentence = refusal(["predict", model, "good.csv", "--out", "p.csv"])
    assert "must be a whole credo model file" in sentence
    assert not Path("p.csv").exists()


def test_a_table_without_the_columns_of_training_is_refused(model):
    Path("new.csv").write_text("z\n1\n2\n")
    sentence = refusal(["predict", model, "new.csv", "--out", "p.csv"])
    assert "column 'x' must be in new.csv" in sentence
    assert not Path("p.csv").exists()


def test_text_in_a_number_column_of_new_rows_is_refused(model):
    Path("new.csv").write_text("x\nlow\nhigh\n")
    sentence = refusal(["predict", model, "new.csv"])
    assert "column 'x' of new.csv must hold finite numbers" in sentence


@pytest.mark.parametrize("x", ["1e60", "-3e69"])
def test_a_number_that_no_model_can_extrapolate_to_is_refused(x, model):
    Path("new.csv").write_text(f"x\n1\n{x}\n")
    sentence = refusal(["predict", model, "new.csv"])
    assert "'x' of new.csv must lie within 1e+20 times the range of" in sentence
    assert f"found {float(x):g} in row 2; correct it" in sentence


def test_a_number_far_outside_is_predicted_with_doubt(model):
    Path("new.csv").write_text("x\n1\n1e19\n-1e19\n")
    ran = CliRunner().invoke(command_line, ["predict", str(model), "new.csv"])
    assert ran.exit_code == 0, ran.output
    rows = np.genfromtxt(ran.stdout.splitlines(), delimiter=",", skip_header=1)
    assert np.isfinite(rows).all()
    assert (rows[1:, 1] > 1e9 * rows[0, 1]).all()


def test_a_model_that_takes_no_tables_is_refused_at_prediction(good):
    save(LinearRegression().fit(np.eye(4), [1.0, 2.0, 3.0, 5.0]), "plain.credo")
    sentence = refusal(["predict", "plain.credo", "good.csv"])
    assert "found a LinearRegression; use a file that credo fit wrote." in sentence


def test_an_unusable_demo_folder_is_refused(good):
    assert "choose another with --folder" in refusal(["demo", "--folder", "good.csv/inside"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "nowhere.csv", "--target", "y"],
        ["fit", "good.csv", "--target", "why", "--out", "m.credo", "--report", "r.html"],
        ["predict", "good.csv", "good.csv", "--out", "p.csv"],
    ],
)
def test_a_real_process_ends_with_code_2_and_one_sentence(arguments, good):
    command = [sys.executable, "-c", "from credo.app.cli.command_line import main; main()"]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert len(ran.stderr.strip().splitlines()) == 1
    assert "Traceback" not in ran.stderr
    assert os.listdir(good.parent) == ["good.csv"]


def test_a_bug_keeps_its_traceback(good, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("credo.app.cli.terminal_job.fit_table", broken)
    ran = CliRunner().invoke(command_line, ["fit", "good.csv", "--target", "y"])
    assert isinstance(ran.exception, ZeroDivisionError)
