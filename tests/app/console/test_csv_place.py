import io

import pandas as pd
import pytest
from click.testing import CliRunner

from credo.app.cli.command_line import command_line
from credo.app.console.csv_place import CsvPlace
from credo.data import OutputError

FRAME = pd.DataFrame(
    {
        "@id": ["=1+1", "+a", "-3", "@SUM(A1)", "\tx", "\rx", "a=b", "", None],
        "n": [-1.5, 2, 3, 4, 5, 6, 7, 8, 9],
    }
)


def written(tmp_path, frame, **settings):
    path = tmp_path / "p.csv"
    CsvPlace(path, **settings).write(frame, 4)
    return pd.read_csv(path, keep_default_na=False, lineterminator="\n")


def test_text_is_written_as_it_is_unless_asked_otherwise(tmp_path):
    found = written(tmp_path, FRAME)
    assert found["@id"].tolist() == [*FRAME["@id"][:-1], ""]


def test_text_that_looks_like_a_formula_is_quoted_and_numbers_are_not(tmp_path):
    found = written(tmp_path, FRAME, quotes_formulas=True)
    quoted = ["'=1+1", "'+a", "'-3", "'@SUM(A1)", "'\tx", "'\rx", "a=b", "", ""]
    assert found["'@id"].tolist() == quoted
    assert found["n"].tolist() == FRAME["n"].tolist()


def test_half_a_character_is_written_as_its_code(tmp_path):
    half = pd.Series(["x\ud800"], dtype=object)
    CsvPlace(tmp_path / "p.csv").write(pd.DataFrame({"a": half}), 4)
    assert (tmp_path / "p.csv").read_text() == "a\nx\\ud800\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "shown"),
    [(Terminal(), "a\\x1b[2J\\x9b\\x07"), (io.StringIO(), "a\x1b[2J\x9b\x07")],
)
def test_a_terminal_is_shown_control_characters_and_does_not_obey_them(
    stream, shown, monkeypatch
):
    monkeypatch.setattr("sys.stdout", stream)
    CsvPlace().write(pd.DataFrame({"class": ["a\x1b[2J\x9b\x07", "b\tc"]}), 4)
    assert stream.getvalue() == f"class\n{shown}\nb\tc\n"


def test_a_place_that_is_read_is_refused(tmp_path):
    with pytest.raises(OutputError, match="must not be written over"):
        CsvPlace(tmp_path / "a.csv").require_free(None, tmp_path / "a.csv")
    CsvPlace().require_free(tmp_path / "a.csv")


@pytest.mark.parametrize("command", [["query", "x.bif"], ["predict", "m.credo", "t.csv"]])
def test_both_commands_take_the_option(command, monkeypatch):
    places = []
    monkeypatch.setattr(
        "credo.app.cli.network_job.query", lambda *given: places.append(given[3])
    )
    monkeypatch.setattr(
        "credo.app.cli.predict_job.predict", lambda *given: places.append(given[2])
    )
    CliRunner().invoke(command_line, [*command, "--quote-formulas"])
    assert places == [CsvPlace(None, True)]
