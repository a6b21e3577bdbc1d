"""The capability table tells the truth about what imports and what is tested."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
script = runpy.run_path(str(ROOT / "docs" / "write_capabilities.py"))
TABLE = script["read_table"]()

# The sizes of the areas are part of the plan; a row that gets lost must be noticed by name.
SIZES = {
    "PRB": 38, "EST": 17, "REG": 16, "CLS": 20, "KGP": 18, "NNT": 13, "SVM": 11, "BST": 7,
    "NBR": 6, "OPT": 20, "MCM": 14, "VAR": 6, "UNS": 31, "SEQ": 17, "GMD": 36, "DEC": 10,
    "EVA": 21, "MSL": 15, "GEN": 10, "GAL": 25,
}  # fmt: skip

GOOD = {
    "name": "Array type",
    "symbol": "credo.numerics.array.as_float",
    "test": "tests/docs/test_capabilities.py::test_a_row_that_tells_the_truth_is_accepted",
    "done": True,
}


def test_there_are_exactly_351_rows_numbered_without_gaps():
    expected = [f"{code}-{i:02}" for code, n in SIZES.items() for i in range(1, n + 1)]
    assert list(TABLE["rows"]) == expected
    assert len(expected) == 351
    assert list(TABLE["areas"]) == list(SIZES)


def test_every_row_marked_done_names_a_symbol_that_imports_and_a_test_that_exists():
    assert script["claims_that_fail"](TABLE["rows"]) == []


def test_the_page_is_what_the_script_writes_from_the_data_file():
    page = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")
    assert page == script["page"](TABLE), "run: python docs/write_capabilities.py"


def test_the_page_has_one_line_for_each_row():
    page = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| ([A-Z]{3}-\d\d) ", page, flags=re.M) == list(TABLE["rows"])


def test_the_headline_counts_rows_that_are_done():
    table = {"areas": {"AAA": "A"}, "rows": {"AAA-01": GOOD, "AAA-02": {"name": "b"}}}
    assert script["headline"](table) == "1 of 2 capabilities are done."
    assert "| [A](#a) | 1 | 2 |" in script["page"](table)


def test_a_row_that_tells_the_truth_is_accepted():
    assert script["claims_that_fail"]({"AAA-01": GOOD, "AAA-02": {"name": "not yet"}}) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"symbol": "credo.numerics.array.no_such_name"}, "does not import"),
        ({"symbol": "credo.no_such_room"}, "does not import"),
        ({"symbol": "credo"}, "does not import"),
        ({"symbol": "numpy.array"}, "does not import"),
        ({"test": "tests/docs/test_capabilities.py::test_no_such_claim"}, "does not exist"),
        ({"test": "tests/docs/no_such_file.py::test_a"}, "does not exist"),
        ({"test": "tests/docs/test_capabilities.py"}, "does not exist"),
        ({"done": False}, "is not done but names its symbol, test"),
        ({"prize": "first"}, "instead of"),
    ],
)
def test_a_row_that_claims_too_much_is_named(change, complaint):
    (problem,) = script["claims_that_fail"]({"AAA-01": GOOD | change})
    assert problem.startswith("AAA-01 ")
    assert complaint in problem


def test_a_row_done_without_a_test_is_named():
    row = {key: value for key, value in GOOD.items() if key != "test"}
    (problem,) = script["claims_that_fail"]({"AAA-01": row})
    assert "is done but has the keys" in problem


def test_every_row_marked_done_is_proven_where_its_symbol_is_used():
    for key, row in TABLE["rows"].items():
        if row.get("done"):
            source = (ROOT / row["test"].split("::")[0]).read_text(encoding="utf-8")
            assert row["symbol"].rsplit(".", 1)[-1] in source, key
