"""The counts of the house: what is a fragment, which files are opened, and how many of them."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
script = runpy.run_path(str(ROOT / "docs" / "count_house.py"))
MOST_FRAGMENTS = 0.15
MOST_FILES = {"_query": 20, "_classification": 15}
MOST_FILES_OF_COMMAND = 30
A_FILE = {"_query": "inference/engine/network.py", "_classification": "numerics/array.py"}


def test_an_import_through_a_stub_counts_for_the_module_behind_it():
    holder = script["_holder"]
    assert holder("credo.distributions", "Normal") == "credo.distributions.normal"
    assert holder("credo.numerics", "array") == "credo.numerics.array"
    assert holder("credo.numerics.array", "Array") == "credo.numerics.array"


def test_few_modules_are_fragments_of_their_only_importer():
    importers, public = script["importers"](), script["public_modules"]()
    one = [name for name, users in importers.items() if len(users) == 1]
    fragments = set(one) - public
    assert "credo.distributions.normal" in public
    assert "credo.numerics.array" not in one
    assert 0 < len(fragments) <= len(one) <= MOST_FRAGMENTS * len(importers)


@pytest.mark.parametrize("flow", MOST_FILES)
def test_one_call_is_followed_through_few_files(flow):
    found = script["files_opened"](script[flow]())
    assert A_FILE[flow] in found
    assert len(found) <= MOST_FILES[flow]


def test_the_command_is_counted_once_all_that_it_imports_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["credo"])
    found = script["files_opened"](script["_command"](tmp_path), until=script["ENGINES"])
    assert "app/cli/command_line.py" in found
    assert "study/candidates/process.py" in found
    assert not {"inference/engine/engine.py", "inference/kernel/search.py"} & found
    assert len(found) <= MOST_FILES_OF_COMMAND


def test_nothing_is_opened_after_the_last_call_to_follow():
    def first():
        second()

    def second():
        script["modules"]()

    assert script["files_opened"](first, until=[first]) == set()
