"""The example scripts run, and the numbers they claim hold."""

import runpy
import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs_and_its_claims_hold(script, tmp_path):
    # Pictures are drawn beside a copy, so that those of the pages stay as they were looked at.
    for folder in ("examples", "docs/pictures"):
        (tmp_path / folder).mkdir(parents=True)
    copy = shutil.copy(script, tmp_path / "examples")
    runpy.run_path(str(copy), run_name="__main__")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_ends_in_an_assertion(script):
    last = script.read_text(encoding="utf-8").strip().splitlines()[-1]
    assert last.startswith("assert ")
