"""A run counts what came of its cases, and goes on where it was stopped."""

import json
import runpy
from pathlib import Path

import pytest
from fuzz.campaign import Campaign, Goal
from fuzz.outcome import Outcome, Verdict
from fuzz.store import store
from fuzz.worker import Limits, Surface

ROOT = Path(__file__).resolve().parents[2]
script = runpy.run_path(str(ROOT / "docs" / "write_fuzzing.py"))


def run(prepared, random, folder):
    """Fail in every fifth case."""
    is_bad = int(folder.name) % 5 == 4
    return Verdict(Outcome.CRASH if is_bad else Outcome.WORKED, "act", ("tag",), folder.name)


ACTS = Surface("acts", lambda: None, run, Limits(batch=4))
OTHERS = Surface("others", lambda: None, run, Limits(batch=4))
GOALS = {"acts": Goal(10), "others": Goal(8, "tag")}


def quiet(name, case, verdict):
    """Say nothing."""


def campaign(tmp_path):
    return Campaign.resumed(3, "abc", tmp_path / "state.json")


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    whole = Campaign.resumed(3, "abc", tmp_path / "whole.json")
    whole.run([ACTS, OTHERS], GOALS, quiet)
    campaign(tmp_path).run([ACTS, OTHERS], {"acts": Goal(3), "others": Goal(4, "tag")}, quiet)
    resumed = campaign(tmp_path)
    assert resumed.tally("acts").n_cases == 3
    resumed.run([ACTS, OTHERS], GOALS, quiet)
    for name, n_cases in (("acts", 10), ("others", 8)):
        one, other = (c.plain()["surfaces"][name] for c in (whole, resumed))
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
        assert one["cases"] == n_cases


def test_every_outcome_is_counted_and_faults_are_described(tmp_path):
    told = []
    run = campaign(tmp_path)
    run.run([ACTS], GOALS, lambda *what: told.append(what))
    tally = run.tally("acts")
    assert tally.outcomes == {Outcome.WORKED: 8, Outcome.CRASH: 2}
    assert tally.n_faults == 2
    assert [fault["case"] for fault in tally.faults] == [4, 9]
    assert len(told) == 10


def test_a_state_of_another_commit_or_seed_is_refused(tmp_path):
    campaign(tmp_path).keep()
    for seed, commit in ((4, "abc"), (3, "abd")):
        with pytest.raises(ValueError, match=r"must be of seed .* found seed 3 and commit abc"):
            Campaign.resumed(seed, commit, tmp_path / "state.json")


def test_a_stored_run_replaces_the_one_of_its_commit_and_seed(tmp_path):
    path = tmp_path / "results.json"
    for seed, note in ((1, "old"), (2, "other"), (1, "new")):
        store({"commit": "abc", "seed": seed, "surfaces": note}, path)
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert [(run["seed"], run["surfaces"]) for run in runs] == [(2, "other"), (1, "new")]


def test_the_page_quotes_the_last_stored_run(tmp_path):
    made = campaign(tmp_path)
    made.run([ACTS, OTHERS], GOALS, quiet)
    store({"commit": "old", "seed": 1, "surfaces": {}}, tmp_path / "results.json")
    store(made.plain(), tmp_path / "results.json")
    text = script["page"](script["read_runs"](tmp_path / "results.json"))
    assert "## Seed 3, commit abc" in text
    assert "| acts | 10 |  | 8 | 0 | 0 | 2 |" in text


def test_the_page_of_the_project_is_what_the_script_writes_from_stored_runs():
    text = (ROOT / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    assert text == script["page"](script["read_runs"]()), "run: python docs/write_fuzzing.py"
