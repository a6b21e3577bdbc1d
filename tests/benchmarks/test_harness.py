"""The harness measures what it says, and the page quotes only what was stored."""

import io
import json
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import main, table
from benchmarks.harness import Case, Contender, Goal, Result, run_case
from benchmarks.store import machine, record, store
from rich.console import Console

from benchmarks import source
from credo.numerics.array import as_float

ROOT = Path(__file__).resolve().parents[2]
script = runpy.run_path(str(ROOT / "docs" / "write_benchmarks.py"))


class Clock:
    """A clock that only moves when a contender works."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, *durations):
        """Return a contender that takes these durations in turn, and sums its data."""
        left = list(durations)

        def run(data):
            self.now += left.pop(0)
            return sum(data)

        return Contender(run, package="numpy")


def two(clock, **settings):
    contenders = {"credo": clock.work(3.0, 2.0), "peer": clock.work(9.0, 10.0)}
    quality = {"error": lambda data, answer: answer - max(data)}
    return Case("tiny", lambda: [1, 2, 3], contenders, quality=quality, repeats=2, **settings)


def test_the_smallest_time_of_each_contender_is_kept_and_divided_by_the_reference():
    clock = Clock()
    credo, peer = run_case(two(clock), clock).results
    assert (credo.seconds, credo.ratio) == (2.0, 1.0)
    assert (peer.seconds, peer.ratio) == (9.0, 4.5)


def test_the_time_of_a_part_of_the_work_is_scaled_to_all_of_it():
    clock = Clock()
    part = replace(clock.work(3.0, 2.0), share=0.25)
    case = Case("tiny", lambda: [1], {"credo": clock.work(4.0, 4.0), "peer": part}, repeats=2)
    peer = run_case(case, clock).results[1]
    assert (peer.seconds, peer.ratio) == (8.0, 2.0)


def test_quality_is_measured_on_the_answer():
    clock = Clock()
    assert [r.quality for r in run_case(two(clock), clock).results] == [{"error": 3.0}] * 2


def test_contenders_run_alternately_on_data_that_is_made_once():
    seen = []
    data = [object()]
    made = []

    def contender(name):
        return Contender(lambda given: seen.append((name, given is data[0])), package="numpy")

    contenders = {"credo": contender("a"), "peer": contender("b")}
    run_case(Case("tiny", lambda: made.append(1) or data[0], contenders, repeats=2))
    assert seen == [("a", True), ("b", True)] * 2
    assert made == [1]


def test_an_absent_peer_is_named_and_the_others_still_run():
    clock = Clock()
    absent = Contender(lambda data: 1 / 0, package="no-such-distribution")
    contenders = {"credo": clock.work(1.0), "missing peer": absent}
    goals = (Goal("missing peer", at_least=8),)
    outcome = run_case(Case("tiny", lambda: [1], contenders, goals=goals, repeats=1), clock)
    assert outcome.absent == ("missing peer",)
    assert [r.contender for r in outcome.results] == ["credo"]
    assert outcome.goals == {}
    assert "not installed, not run: missing peer" in shown(outcome)


def test_a_reference_that_is_no_contender_is_refused():
    with pytest.raises(ValueError, match="reference must be a contender"):
        run_case(two(Clock(), reference="nobody"))


@pytest.mark.parametrize(
    ("goal", "reached"),
    [
        (Goal("peer", at_least=4.5), True),
        (Goal("peer", at_least=4.6), False),
        (Goal("peer", at_most=4.4), False),
        (Goal("credo", at_most=2.0, measure="seconds"), True),
        (Goal("credo", at_most=1.9, measure="seconds"), False),
        (Goal("credo", at_most=2.9, measure="error"), False),
    ],
)
def test_a_goal_is_reached_inside_its_range_only(goal, reached):
    clock = Clock()
    outcome = run_case(two(clock, goals=(goal,)), clock)
    assert outcome.goals == {str(goal): reached}
    assert ("reached" in shown(outcome)) == reached
    assert ("MISSED" in shown(outcome)) != reached


def test_goals_read_as_sentences():
    assert str(Goal("peer", at_least=8)) == "ratio of peer at least 8"
    assert str(Goal("a", at_most=5, measure="seconds")) == "seconds of a at most 5"
    assert str(Goal("a", 1, 2)) == "ratio of a at least 1 and at most 2"


def test_results_are_stored_by_commit_and_a_second_run_replaces_the_first(tmp_path):
    clock = Clock()
    run = record([run_case(two(clock), clock)], machine())
    store("tiny", run | {"commit": "one"}, tmp_path)
    store("tiny", run | {"commit": "two"}, tmp_path)
    path = store("tiny", run | {"commit": "one", "cases": []}, tmp_path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["benchmark"] == "tiny"
    assert [(r["commit"], len(r["cases"])) for r in stored["runs"]] == [("two", 1), ("one", 0)]


def test_the_record_says_on_which_machine_it_was_made():
    clock = Clock()
    run = record([run_case(two(clock), clock)], machine())
    assert run["machine"]["cores"] >= 1
    assert set(run["machine"]["versions"]) >= {"numpy", "scipy", "scikit-learn"}
    assert run["cases"][0]["results"][1]["ratio"] == 4.5


def test_the_page_quotes_the_last_stored_run(tmp_path):
    clock = Clock()
    goals = (Goal("peer", at_least=4), Goal("peer", at_least=100))
    run = record([run_case(two(clock, goals=goals), clock)], machine())
    store("tiny", run | {"commit": "old1234", "cases": []}, tmp_path)
    store("tiny", run | {"commit": "new1234"}, tmp_path)
    page = script["page"](script["read_results"](tmp_path))
    version = Contender(lambda data: None, package="numpy").version
    assert f"| peer {version} | 9 | 4.50 | 3 |" in page
    assert "Goal: ratio of peer at least 4; reached." in page
    assert "Goal: ratio of peer at least 100; **missed**." in page
    assert "new1234" in page
    assert "old1234" not in page


def test_the_page_says_what_an_absent_peer_took_when_it_was_last_there(tmp_path):
    clock = Clock()
    run = record([run_case(two(clock), clock)], machine())
    store("tiny", run | {"commit": "old1234"}, tmp_path)
    case = dict(run["cases"][0])
    case["results"] = [r for r in case["results"] if r["contender"] != "peer"]
    gone = run | {"commit": "new1234", "cases": [case | {"absent": ["peer", "other"]}]}
    store("tiny", gone, tmp_path)
    page = script["page"](script["read_results"](tmp_path))
    assert "Not installed, so not run: peer (at commit old1234, load " in page
    assert "4.50 times credo)." in page
    assert "Not installed, so not run: other.\n" in page


def test_the_page_of_the_project_is_what_the_script_writes_from_stored_results():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    written = script["page"](script["read_results"]())
    # Whether a run is older than the code changes with every change of the code.
    stale = script["STALE"]
    assert page.replace(f"\n{stale}", "") == written.replace(f"\n{stale}", ""), (
        "run: python docs/write_benchmarks.py"
    )


def test_runs_older_than_the_code_they_measure_are_marked(tmp_path):
    code = tmp_path / "src" / "credo" / "part.py"
    code.parent.mkdir(parents=True)
    code.write_text("x = 1")
    clock = Clock()
    run = record([run_case(two(clock), clock)], machine())
    run["sources"] = {"files": ["src/credo/part.py"]}
    run["sources"]["sha256"] = source._hash(run["sources"]["files"], tmp_path)
    stored = [{"benchmark": "tiny", "runs": [run]}]
    assert script["STALE"] not in script["page"](stored, tmp_path)
    code.write_text("x = 2")
    assert script["STALE"] in script["page"](stored, tmp_path)
    del run["sources"]
    assert script["STALE"] in script["page"](stored, tmp_path)


def test_a_run_stores_which_code_it_measured():
    assert as_float([1]).tolist() == [1.0]
    found = source.sources()
    assert "src/credo/numerics/array.py" in found["files"]
    assert not source.is_stale({"sources": found})


def test_a_run_of_commands_measures_all_code():
    found = set(source.sources(runs_commands=True)["files"])
    package = source.ROOT / "src" / "credo"
    assert {p.relative_to(source.ROOT).as_posix() for p in package.rglob("*.py")} < found
    assert "src/credo/__init__.pyi" in found


def test_a_name_that_is_no_benchmark_is_refused_with_the_names_that_are(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["no_such_benchmark"])
    assert "found ['no_such_benchmark']" in capsys.readouterr().err


def shown(outcome):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table("tiny", outcome))
    return console.export_text()


def test_a_result_holds_plain_numbers():
    clock = Clock()
    (first, _) = run_case(two(clock), clock).results
    assert isinstance(first, Result)
    assert type(first.quality["error"]) is float
