import json

import pytest
from mutants.__main__ import kept_rows, store

ROWS = {name: {"symbol": f"credo.{name}", "test": f"tests/{name}.py::test"} for name in "abcd"}


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "results.json"
    store(ROWS, {name: ROWS[name] | {"outcomes": {"raises": "caught"}} for name in "abc"}, path)
    return path


def stored(path):
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def test_rows_that_were_not_run_stay_as_they_are_stored(results):
    found = {name: ROWS[name] | {"outcomes": {"raises": "survived"}} for name in "da"}
    store(ROWS, found, results)
    outcomes = {name: row["outcomes"]["raises"] for name, row in stored(results).items()}
    assert outcomes == {"a": "survived", "b": "caught", "c": "caught", "d": "survived"}
    assert list(outcomes) == ["a", "b", "c", "d"]


def test_rows_with_another_test_and_rows_that_are_gone_are_dropped(results):
    changed = {"a": ROWS["a"], "b": ROWS["b"] | {"test": "tests/b.py::test_more"}}
    store(changed, {}, results)
    assert list(stored(results)) == ["a"]


def test_nothing_is_kept_where_nothing_was_stored(tmp_path):
    assert kept_rows(ROWS, tmp_path / "results.json") == {}
