import pandas as pd
import pytest

from credo.data.error import TableError
from credo.data.network_file.case_table import read_cases
from credo.graphs.variable import Variable

VARIABLES = {
    "car": Variable("car", ("None", "old", "new")),
    "age": Variable("age", (1, 2, 3)),
    "claim": Variable("claim", (False, True)),
    "height": Variable("height"),
}


def cases(folder, text, asked=()):
    path = folder / "cases.csv"
    path.write_text(text)
    return read_cases(path, VARIABLES, asked)


def test_cells_become_states_of_their_own_types_and_gaps_stay_gaps(tmp_path):
    found = cases(tmp_path, "id,car,age,claim,height\na,old,1,true,1.5\nb,,NA,False,\n")
    first, second = found.findings.to_dict("records")
    assert first == {"car": "old", "age": 1, "claim": True, "height": 1.5}
    assert type(first["age"]) is int
    assert first["claim"] is True
    assert pd.isna(second["car"])
    assert pd.isna(second["age"])
    assert second["claim"] is False
    assert pd.isna(second["height"])
    assert found.others["id"].tolist() == ["a", "b"]


def test_a_state_called_none_is_a_state_and_elsewhere_it_is_a_gap(tmp_path):
    found = cases(tmp_path, "car,age\nNone,None\nnew,2\n")
    assert found.findings["car"].tolist() == ["None", "new"]
    assert pd.isna(found.findings["age"][0])


def test_columns_that_are_asked_for_are_left_out(tmp_path):
    found = cases(tmp_path, "car,age\nold,1\n", asked=["car"])
    assert list(found.findings.columns) == ["age"]
    assert found.left_out == ("car",)


def test_a_table_of_asked_columns_and_names_gives_rows_without_findings(tmp_path):
    found = cases(tmp_path, "id,car\nx,old\ny,new\n", asked=["car"])
    assert found.findings.shape == (2, 0)


def test_a_cell_that_is_no_state_is_named_with_its_row(tmp_path):
    with pytest.raises(TableError) as raised:
        cases(tmp_path, "car,age\nold,1\nnwe,2\n")
    assert "cases.csv, row 2: state of car must be one of" in str(raised.value)
    assert "Did you mean 'new'?" in str(raised.value)


def test_a_table_without_a_variable_is_refused_with_the_nearest_names(tmp_path):
    with pytest.raises(TableError) as raised:
        cases(tmp_path, "Cars,Years\nold,1\n")
    assert "found only 'Cars', 'Years'" in str(raised.value)
    assert "did you mean 'car'" in str(raised.value)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_whole_numbers_beside_gaps_are_the_states_written_so(tmp_path, dtype):
    path = tmp_path / "cases.parquet"
    frame = pd.DataFrame({"grade": pd.Series([1.0, None, 2.0], dtype=dtype)})
    frame.to_parquet(path)
    grade = Variable("grade", ("1", "2"))
    found = read_cases(path, {"grade": grade}).findings["grade"]
    assert found[[0, 2]].tolist() == ["1", "2"]
    assert pd.isna(found[1])
    decimal = read_cases(path, {"grade": Variable("grade", ("1.0", "2.0"))})
    assert decimal.findings["grade"][[0, 2]].tolist() == ["1.0", "2.0"]
    with pytest.raises(TableError, match="row 3: state of grade"):
        read_cases(path, {"grade": Variable("grade", ("1", "3"))})


def test_parquet_cells_keep_their_types(tmp_path):
    path = tmp_path / "cases.parquet"
    frame = pd.DataFrame({"age": [1, 3], "claim": [True, False], "height": [1.5, None]})
    frame.to_parquet(path)
    found = read_cases(path, VARIABLES)
    assert found.findings["age"].tolist() == [1, 3]
    assert found.findings["claim"].tolist() == [True, False]
    assert pd.isna(found.findings["height"][1])
