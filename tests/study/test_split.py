import pytest
from click.testing import CliRunner

import credo
from credo.app.cli.command_line import command_line
from credo.data.error import TableError
from credo.study.compare_job import compare_table
from credo.study.job import fit_table
from credo.study.result.result import FitSettings


def run(*arguments):
    return CliRunner().invoke(command_line, [str(argument) for argument in arguments])


def test_ignored_columns_are_no_inputs_and_predicting_says_nothing_of_them(
    csv_file, table, monkeypatch
):
    monkeypatch.chdir(csv_file.parent)
    options = ("--target", "outcome", "--ignore", "age, site", "--out", "m.credo")
    ran = run("fit", csv_file, *options)
    assert ran.exit_code == 0, ran.output
    assert "Column 'site' is left out: it is to be ignored." in ran.stdout
    model = credo.load("m.credo").model
    assert model.preparation.inputs == ("dose", "day")
    told = model.predict(table.drop(columns="age"))
    assert not any("ignored" in note for note in told.notes)
    assert told.frame["mean"].tolist() == model.predict(table).frame["mean"].tolist()


def test_a_comparison_ignores_columns_too(csv_file):
    options = ("--target", "outcome", "--models", "constant,linear")
    ran = run("compare", csv_file, *options, "--ignore", "day,site")
    assert ran.exit_code == 0, ran.output
    assert "2 columns used to predict 'outcome'" in ran.stdout


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (
            "dosis",
            "`ignore` must name columns of the table; found 'dosis'; did you mean 'dose'?",
        ),
        ("qqqqqq", "found 'qqqqqq'; choose from 'patient_id', 'dose'"),
        ("outcome", "found 'outcome', which is to be predicted"),
    ],
)
def test_names_that_cannot_be_ignored_are_refused(table, name, part):
    for work in (
        lambda: fit_table(table, "outcome", FitSettings(ignore=(name,))),
        lambda: compare_table(table, "outcome", ignore=(name,)),
    ):
        with pytest.raises(TableError) as raised:
            work()
        assert part in str(raised.value)
