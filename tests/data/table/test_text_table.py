import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from credo.data import TableError, read_table
from credo.data.table.text_table import TextTable

RELAXED = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
plain_rows = st.lists(st.lists(st.sampled_from("abc123"), min_size=1, max_size=4), min_size=1)
words = st.text(st.sampled_from("ab ,;\t\"\n'é1"), min_size=1).map(lambda w: f"x{w}x")


def written(rows, separator=",", **settings):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n", **settings).writerows(rows)
    return text.getvalue().encode()


@RELAXED
@given(rows=plain_rows)
def test_rows_are_refused_exactly_if_one_has_another_length(rows):
    header = ["p", "q", "r"]
    table = TextTable.of(written([header, *rows]), "d.csv")
    wrong = [(i, len(row)) for i, row in enumerate(rows, start=2) if len(row) != 3]
    if wrong:
        line, found = wrong[0]
        with pytest.raises(TableError, match=f"found {found} on line {line};"):
            table.frame()
    else:
        assert table.frame().shape == (len(rows), 3)


@RELAXED
@given(
    rows=st.lists(st.tuples(words, words), min_size=1, max_size=5),
    separator=st.sampled_from(",;\t"),
)
def test_any_text_that_was_quoted_comes_back(rows, separator, tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(written([("first", "second"), *rows], separator))
    frame = read_table(path, text_columns=["first", "second"]).frame
    assert list(frame.itertuples(index=False, name=None)) == rows


@RELAXED
@given(rows=st.lists(st.tuples(words, words), min_size=1, max_size=5), row=st.data())
def test_the_line_of_a_row_is_where_it_begins_in_the_file(rows, row):
    raw = written([("first", "second"), *rows])
    index = row.draw(st.integers(0, len(rows) - 1))
    before = written([("first", "second"), *rows[:index]])
    assert TextTable.of(raw, "d.csv").line_of(index) == before.count(b"\n") + 1


@settings(RELAXED, max_examples=300)
@given(raw=st.binary(max_size=60) | st.text(st.sampled_from('a1,;\t\n\r" ?.-e'), max_size=60))
def test_no_bytes_make_anything_but_a_table_or_a_table_error(raw, tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
    try:
        table = read_table(path)
    except TableError:
        return
    assert len(table) > 0
    assert len(set(table.columns)) == len(table.columns)


@RELAXED
@given(
    cells=st.lists(st.sampled_from(["1", "2.5", "", "  ", "NA", '""']), min_size=1),
    before=st.sampled_from(["", "\n", " \n\n"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_every_line_below_a_single_name_is_a_row(cells, before, end):
    table = TextTable.of((before + end.join(["x", *cells]) + end).encode(), "d.csv")
    column = table.frame()["x"]
    assert [None if pd.isna(value) else float(value) for value in column] == [
        float(cell) if cell[:1].isdigit() else None for cell in cells
    ]
    first_line = before.count("\n") + 2
    assert [table.line_of(row) for row in range(len(cells))] == [
        first_line + row for row in range(len(cells))
    ]


def test_blank_lines_between_rows_of_two_cells_are_no_rows():
    table = TextTable.of(b"x,y\n1,2\n\n3,4\n\n", "d.csv")
    assert table.frame()["x"].tolist() == [1, 3]
    assert table.line_of(1) == 4


@RELAXED
@given(
    st.lists(
        st.tuples(
            st.floats(allow_infinity=False),
            st.integers(-(2**53), 2**53),
            st.sampled_from("uvw"),
        ),
        min_size=1,
    )
)
def test_numbers_come_back_to_the_last_digit(rows):
    frame = pd.DataFrame(rows, columns=["x", "n", "c"])
    text = frame.to_csv(index=False).encode()
    again = TextTable.of(text, "d.csv").frame()
    np.testing.assert_allclose(again["x"], frame["x"], rtol=4e-16, atol=5e-324)
    assert again["n"].tolist() == frame["n"].tolist()


TORN = b"a,b,y\n" + b"1,2,3\n" * 7 + b"1,0.\r2,3\n" + b"1,2,3\n" * 12


@pytest.mark.parametrize(
    ("raw", "line"), [(TORN, 9), (b"a\n1\r2\n3\n", 2), (b'a,b\n"x\ry",2\r3,4\n', 2)]
)
def test_a_carriage_return_inside_a_line_tears_no_row_in_silence(raw, line):
    with pytest.raises(TableError, match=f"carriage return inside line {line}, which would"):
        TextTable.of(raw, "torn.csv")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\r\r\n"])
def test_lines_may_end_in_any_way_that_all_share(end):
    raw = end.join([b"a,b", b"1,2", b"3,4", b""])
    assert TextTable.of(raw, "t.csv").frame().to_numpy().tolist() == [[1, 2], [3, 4]]


def test_a_carriage_return_in_quotes_is_part_of_its_cell():
    frame = TextTable.of(b'a,b\n"x\ry",2\nz,4\n', "t.csv").frame()
    assert frame["a"].tolist() == ["x\ry", "z"]
