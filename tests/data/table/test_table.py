""""""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from credo.data import TableError, as_table, load_set, read_table, set_path
from credo.data.table import table as table_module
from credo.data.table.cell import Words
from credo.data.table.table import TextTable


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def assert_refused(path, *parts, **settings):
    with pytest.raises(TableError) as caught:
        read_table(path, **settings)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    for part in parts:
        assert part in message, message


def test_a_csv_file_is_read_as_it_was_written(tmp_path):
    frame = pd.DataFrame(
        {"x": [0.1, 1 / 3, -2e-300], "n": [1, 2, 3], "color": ["red", "a,b", 'say "hi"\nyou']}
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    table = read_table(tmp_path / "data.csv")
    pd.testing.assert_frame_equal(table.frame, frame)
    assert table.name == "data.csv"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_found_in_the_header(write, separator):
    table = read_table(write("a,b,c\n1,2,x y\n3,4,z\n".replace(",", separator)))
    assert table.columns == ["a", "b", "c"]
    assert table.frame["b"].tolist() == [2, 4]


def test_a_separator_inside_quotes_does_not_count(write):
    table = read_table(write('"a;b;c;d",e\n1,2\n3,4\n'))
    assert table.columns == ["a;b;c;d", "e"]


def test_gzip_is_recognized_by_content_and_tsv_by_name(write):
    assert read_table(write(gzip.compress(b"a,b\n1,2\n"), "d.csv.gz")).columns == ["a", "b"]
    assert read_table(write("a,b\tc\n1\t2\n", "d.tsv")).columns == ["a,b", "c"]


def test_decimal_commas_are_numbers_where_commas_do_not_separate(write):
    table = read_table(write("x;y\n1,5;2\n-0,25;3\n"))
    assert table.frame["x"].tolist() == [1.5, -0.25]


def test_byte_order_mark_and_old_line_ends_do_not_matter(write):
    for content in [
        b"\xef\xbb\xbfa,b\n1,2\n",
        b"a,b\r\n1,2\r\n",
        b"a,b\r1,2\r",
        b"\n\na,b\n\n1,2",
    ]:
        table = read_table(write(content))
        assert table.columns == ["a", "b"]
        assert table.frame.to_numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize("marker", ["", "NA", "NaN", "null", "?", " NA ", "n/a", "None"])
def test_missing_markers_are_missing_and_not_text(write, marker):
    table = read_table(write(f"x,color\n1,red\n{marker},{marker}\n3,blue\n"))
    assert_array_equal(table.frame["x"], [1.0, np.nan, 3.0])
    assert table.column("color").text.tolist() == ["red", None, "blue"]


def test_a_nameless_column_is_named_by_its_position(write):
    assert read_table(write(",x\n0,5\n1,6\n")).columns == ["unnamed_1", "x"]


def test_text_columns_keep_their_leading_zeros(write):
    path = write("zip,y\n01234,1\n56789,2\n")
    assert read_table(path, text_columns=["zip"]).frame["zip"].tolist() == ["01234", "56789"]


def test_parquet_is_read_with_its_types(tmp_path):
    frame = pd.DataFrame(
        {"x": [1.5, None], "n": [1, 2], "c": ["a", "b"], "t": pd.to_datetime(["2024", "2025"])}
    )
    frame.to_parquet(tmp_path / "data.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "data.parquet").frame, frame)


def test_parquet_without_pyarrow_says_how_to_get_it(tmp_path, monkeypatch):
    pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / "data.parquet")
    monkeypatch.setattr(table_module.importlib.util, "find_spec", lambda name: None)
    assert_refused(tmp_path / "data.parquet", "pyarrow", "pip install 'credo-bayes[parquet]'")


def test_a_damaged_parquet_file_is_refused(write):
    assert_refused(write(b"PAR1 and nothing else", "d.parquet"), "d.parquet", "Parquet")


def test_an_absent_file_is_refused_with_the_nearest_name(write):
    path = write("a\n1\n", "houses.csv")
    assert_refused(path.with_name("house.csv"), "house.csv must be a file", "'houses.csv'")
    assert_refused(path.parent / "no" / "x.csv", "found no folder")


def test_a_folder_is_refused(tmp_path):
    assert_refused(tmp_path, "must be a CSV or Parquet file", "found a folder")


def test_a_workbook_is_refused_with_what_to_do(write):
    assert_refused(write(b"PK\x03\x04....", "sheet.xlsx"), "Excel", "CSV UTF-8")


def test_a_damaged_gzip_file_is_refused(write):
    whole = gzip.compress(b"a,b\n1,2\n" * 1000)
    for damaged in (whole[: len(whole) // 2], whole[:20] + b"xxxx" + whole[24:]):
        assert_refused(write(damaged, "d.csv.gz"), "d.csv.gz must be a whole gzip file")


@pytest.mark.parametrize("content", ["", "\n", " \r\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(write, content):
    assert_refused(write(content), "data.csv", "found an empty file")


def test_a_header_without_rows_is_refused(write):
    assert_refused(write("a,b,c\n"), "must have rows below its header; found none")


def test_repeated_column_names_are_refused(write):
    assert_refused(write("a,b,a\n1,2,3\n"), "'a' as columns 1 and 3", "rename")


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", 3, 2),
        ("a,b,c\n1,2,3\n4,5,6,7\n", 3, 4),
        ("a,b,c\n\n1,2,3\n   \n4,5", 5, 2),
        ('a,b,c\n"x\ny",2,3\n4,5\n', 4, 2),
        ('a,b,c\n1,2,3\n"4,5",6\n', 3, 2),
        ("a\tb\tc\n1\t2\t3\n\t\n", 3, 2),
    ],
)
def test_rows_of_unequal_length_are_refused_with_line_and_counts(write, content, line, found):
    assert_refused(write(content), "must have 3 fields", f"found {found} on line {line};")


def test_line_numbers_stay_right_beyond_one_block(write, monkeypatch):
    monkeypatch.setattr("credo.data.table.table._BLOCK", 10)
    assert_refused(write("a,b\n" + "1,2\n" * 99 + "3\n"), "found 1 on line 101;")
    assert len(read_table(write("a,b\n" + "1,2\n" * 99))) == 99


def test_an_unclosed_quote_is_refused(write):
    assert_refused(write('a,b\n1,"2\n3,4\n'), "data.csv")


def test_bytes_that_are_not_utf8_are_refused_with_their_position(write):
    assert_refused(write("name,x\nJosé,1\n".encode("latin-1")), "0xe9 at byte position 10")
    assert_refused(write("a,b\n1,2\n".encode("utf-16-le")), "zero byte at byte position 1;")


@pytest.mark.parametrize("value", ["inf", "-inf", "Infinity", "1e999"])
def test_infinite_values_are_refused_with_column_and_line(write, value):
    assert_refused(write(f"x,y\n1,2\n\n3,{value}\n"), "column 'y'", "inf", "on line 4;")


def test_text_in_a_number_column_is_refused_with_its_line(write):
    rows = "".join(f"{i},{i}.5\n" for i in range(30))
    path = write("n,x\n" + rows + "30,NA\n31,about 7\n32,2.0\n")
    assert_refused(path, "column 'x'", "31 of its 32 values", "'about 7' on line 33;")


def test_a_column_below_the_number_share_is_text(write):
    table = read_table(write("x\n1\n2\nlow\n3\n"))
    assert table.frame["x"].tolist() == ["1", "2", "low", "3"]
    nine_of_ten = "x\n" + "1\n" * 9 + "low\n"
    assert_refused(write(nine_of_ten), "'low' on line 11;")
    assert read_table(write(nine_of_ten), text_columns=["x"]).frame["x"].tolist()[-1] == "low"


def test_pandas_and_polars_frames_give_the_same_table():
    pandas = pd.DataFrame(
        {
            "x": [1.5, None, 2.0],
            "c": ["a", None, "b"],
            "b": [True, False, True],
            "t": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
        }
    )
    polars = pl.DataFrame(
        {"x": [1.5, None, 2.0], "c": ["a", None, "b"], "b": [True, False, True]}
    ).with_columns(t=pl.Series(["2024-01-01", None, "2024-01-03"]).str.to_datetime())
    left, right = as_table(pandas), as_table(polars)
    for name in pandas:
        cells = [t.column(name).text.tolist() for t in (left, right)]
        assert cells[0] == cells[1]
    assert left.fingerprint() == right.fingerprint()


def test_frames_are_checked_like_files():
    with pytest.raises(TableError, match=r"column 'x' of the table .* inf on row 2;"):
        as_table(pd.DataFrame({"x": [1.0, np.inf]}))
    with pytest.raises(TableError, match="as columns 1 and 2"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(TableError, match="found none"):
        as_table(pl.DataFrame({"x": []}))
    with pytest.raises(TableError, match=r"'v' .* values of type list"):
        as_table(pd.DataFrame({"v": [[1, 2], [3]]}))
    with pytest.raises(TableError, match=r"'v' .* values of type list"):
        as_table(pd.DataFrame({"v": [["a"], ["b"]]}), text_columns=["v"])
    with pytest.raises(TypeError, match="found int"):
        as_table(3)


def test_numbers_written_as_text_in_a_frame_become_numbers():
    assert as_table(pd.DataFrame({"x": ["1", "2.5", "?"]})).frame["x"].tolist()[:2] == [1, 2.5]


def test_rows_picks_by_position_and_by_truth_value():
    table = as_table(pd.DataFrame({"x": [1, 2, 3]}))
    assert table.rows([2, 0]).frame["x"].tolist() == [3, 1]
    assert table.rows([False, True, True]).frame["x"].tolist() == [2, 3]
    assert len(table.rows(np.array([False, True, True]))) == 2


def test_rows_are_not_read_again(monkeypatch):
    table = as_table(pd.DataFrame({"c": ["a", "b", "NA", "a"], "x": [1, 2, 3, 4]}))
    monkeypatch.setattr(Words, "of", None)
    assert table.rows([3, 2, 1]).column("c").text.tolist() == ["a", None, "b"]
    whole = table.rows(range(4))
    assert whole.column("x") is table.column("x")
    assert whole.fingerprint() == table.fingerprint()


def test_fingerprint_changes_with_any_cell_name_or_order():
    base = pd.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"]})
    others = [
        base.assign(x=[1.0, 2.5]),
        base.assign(c=["a", "c"]),
        base.rename(columns={"x": "z"}),
        base.iloc[::-1],
    ]
    prints = {as_table(frame).fingerprint() for frame in [base, *others]}
    assert len(prints) == 5
    assert as_table(base.copy()).fingerprint() in prints


def test_reading_a_file_equals_passing_its_frame():
    table = read_table(set_path("concrete"))
    assert table.fingerprint() == as_table(load_set("concrete")).fingerprint()


def test_a_packed_table_is_unpacked_up_to_a_limit_that_grows_with_its_size(write, monkeypatch):
    monkeypatch.setattr(table_module, "LARGE", 1000)
    monkeypatch.setattr(table_module, "MOST_TIMES", 10)
    assert len(read_table(write(gzip.compress(b"a\n" + b"1\n" * 400), "d.csv.gz"))) == 400
    bomb = write(gzip.compress(b"a\n" + b"1\n" * 4000), "d.csv.gz")
    assert bomb.stat().st_size < 100
    assert_refused(bomb, "d.csv.gz must unpack to at most 1,000 bytes; found more; unpack it")
    rng = np.random.default_rng(0)
    text = "a\n" + "\n".join(map(str, rng.integers(10**9, size=1000)))
    assert len(read_table(write(gzip.compress(text.encode()), "d.csv.gz"))) == 1000


def test_a_parquet_file_with_more_cells_than_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "d.parquet"
    pd.DataFrame({"a": np.zeros(50), "b": np.zeros(50)}).to_parquet(path)
    monkeypatch.setattr(table_module, "MOST_CELLS", 100)
    assert len(read_table(path)) == 50
    monkeypatch.setattr(table_module, "MOST_CELLS", 99)
    assert_refused(path, "d.parquet must have at most 99 cells; found 100")


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


def test_a_span_of_time_is_a_number_of_seconds():
    spans = pd.to_timedelta([90, None, 1.5], unit="s")
    for frame in (pd.DataFrame({"dur": spans}), pl.DataFrame({"dur": spans.to_numpy()})):
        assert_array_equal(as_table(frame).column("dur").numbers, [90.0, np.nan, 1.5])


def test_columns_that_are_not_used_are_not_looked_at(write):
    path = write("x,y\n" + "1,2\n" * 19 + "3,inf\n")
    assert_refused(path, "column 'y' of data.csv must hold finite numbers")
    assert read_table(path, is_used={"x"}.__contains__).columns == ["x", "y"]
    assert_refused(path, "finite", is_used={"y"}.__contains__)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_file_keeps_the_zeros_before_whole_numbers_beside_the_numbers(write, separator):
    lines = ["code,x,gap,day", "007,1.5,,01.02.2024", "012,00.5,010,03.02.2024"]
    table = read_table(write("\n".join(lines).replace(",", separator)))
    assert table.column("code").numbers.tolist() == [7, 12]
    assert table.as_written("code").text.tolist() == ["007", "012"]
    assert table.as_written("gap").text.tolist() == [None, "010"]
    assert table.rows([1]).as_written("code").text.tolist() == ["012"]
    assert set(table.given) == {"code", "gap"}
    assert table.as_written("x").text.tolist() == ["1.5", "0.5"]


def test_a_file_without_leading_zeros_is_read_once(write, monkeypatch):
    n_reads = []
    read = pd.read_csv
    monkeypatch.setattr(pd, "read_csv", lambda *a, **k: n_reads.append(1) or read(*a, **k))
    assert not read_table(write("a,b\n1,0.5\n10,2\n")).given
    assert len(n_reads) == 1
