"""Two trees are compared by turns, each with its own code, and only where both can run."""

import json
import runpy
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest
from benchmarks.before_after import Pair, Tree, compared, line, main, summary
from benchmarks.harness import Case, Contender

from benchmarks import before_after, store, tree_process

ROOT = Path(__file__).resolve().parents[2]
page = runpy.run_path(str(ROOT / "docs" / "write_benchmarks.py"))["page"]

HARNESS = """
    from dataclasses import dataclass
    from typing import Any

    @dataclass
    class Contender:
        run: Any
        package: str | None = None
        share: float = 1.0

    @dataclass
    class Case:
        name: str
        data: Any
        contenders: dict
"""

SLEEP = """
    import time
    from benchmarks.harness import Case, Contender
    import credo

    def note(data):
        with open(data, "a") as file:
            file.write(credo.NAME)
        print("what contenders print is no answer")
        time.sleep(credo.SECONDS)

    CASES = [
        Case("rest", lambda: {log!r}, {{
            "credo": Contender(note, share=0.5),
            "credo, only {name}": Contender(note),
            "peer": Contender(lambda data: 1 / 0, "numpy"),
            "fails": Contender(lambda data: 1 / 0),
        }})
    ]
"""

COMMAND = """
    from benchmarks.harness import Case, Contender

    CASES = [Case("any tree", lambda: iter("abc"), {"credo": Contender(next)})]
"""


def write(path, text, **words):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text.format(**words) if words else text))


def tree(folder, name, seconds, log):
    """A tree whose code is a number of seconds to sleep."""
    root = folder / name
    write(root / "src" / "credo" / "__init__.py", f"NAME, SECONDS = {name[0]!r}, {seconds}")
    write(root / "benchmarks" / "__init__.py", "")
    write(root / "benchmarks" / "harness.py", HARNESS)
    write(root / "benchmarks" / "cases" / "__init__.py", "")
    write(root / "benchmarks" / "cases" / "sleep.py", SLEEP, name=name, log=str(log))
    return root


@pytest.fixture
def trees(tmp_path):
    log = tmp_path / "log"
    before, after = tree(tmp_path, "before", 0.11, log), tree(tmp_path, "after", 0.33, log)
    write(after / "benchmarks" / "cases" / "command.py", COMMAND)
    return before, after, log


def test_trees_take_turns_and_each_times_its_own_code(trees, tmp_path):
    before, after, log = trees
    found = list(compared("sleep", Tree(before, tmp_path), Tree(after, tmp_path), runs=2))
    pairs = {pair.contender: pair for pair in found}
    assert log.read_text() == "baba"
    assert "peer" not in pairs
    # Sleep is at least as long as asked for; a run does half of the work.
    assert 0.22 <= pairs["credo"].before < 0.66 <= pairs["credo"].after
    assert pairs["credo"].runs == 2


def test_what_is_in_one_tree_only_or_fails_is_named(trees, tmp_path):
    before, after, _ = trees
    found = list(compared("sleep", Tree(before, tmp_path), Tree(after, tmp_path), runs=1))
    problems = {pair.contender: pair.problem for pair in found}
    assert problems["credo, only after"] == "not before: no such contender"
    assert problems["credo, only before"] == "not after: no such contender"
    assert problems["fails"] == "not before: ZeroDivisionError: division by zero"
    assert sum("not compared: sleep, rest" in line(pair) for pair in found) == 3


def test_a_benchmark_that_one_tree_lacks_is_run_in_both(trees, tmp_path):
    before, after, _ = trees
    (pair,) = compared("command", Tree(before, tmp_path), Tree(after, tmp_path), runs=2)
    assert (pair.case, pair.contender, pair.problem) == ("any tree", "credo", "")


def test_a_benchmark_that_no_tree_can_load_is_named(trees, tmp_path):
    before, after, _ = trees
    write(after / "benchmarks" / "cases" / "broken.py", "import no_such_module")
    (pair,) = compared("broken", Tree(before, tmp_path), Tree(after, tmp_path), runs=2)
    assert pair.problem.count("No module named 'no_such_module'") == 2
    assert summary([pair]) == ["no contender could be compared"]


def test_the_mean_of_ratios_is_geometric_and_each_above_its_bound_is_named():
    pairs = [Pair("a", "b", "c", 1.0, 4.0), Pair("a", "b", "d", 1.0, 0.25)]
    assert summary(pairs) == [
        "slower: a, b, c: 4.000",
        "geometric mean of 2 ratios: 1.000, goal at most 1.02 reached",
        "largest ratio: 4.000, goal at most 1.1 MISSED",
    ]


def test_what_does_not_run_any_more_is_missed():
    pairs = [
        Pair("a", "b", "c", 1.0, 1.0, 7),
        Pair("a", "b", "d", problem="not after: KeyError"),
    ]
    assert "MISSED, since it does not run after: a, b, d" in summary(pairs)


def test_a_long_contender_runs_a_few_times():
    class Slow:
        def seconds(self, case, contender):
            return 21.0

    assert before_after.by_turns(Pair("a", "b", "c"), Slow(), Slow(), runs=7).runs == 3


def test_brief_runs_are_repeated_and_the_least_is_kept(monkeypatch):
    ticks = iter([0.0, 0.08, 1.0, 1.03])
    case = Case("a", lambda: None, {"credo": Contender(lambda data: None)})
    benchmark = SimpleNamespace(CASES=[case])
    monkeypatch.setattr(tree_process, "benchmark", lambda path: benchmark)
    stage = tree_process.Stage(lambda: next(ticks))
    assert stage.contenders(Path("any.py")) == {"a": ["credo"]}
    assert stage.seconds("a", "credo") == pytest.approx(0.03)


def test_a_whole_run_is_stored_with_both_commits_and_shown_on_the_page(
    trees, tmp_path, monkeypatch, capsys
):
    before, after, _ = trees
    monkeypatch.setattr(store.store, "__defaults__", (tmp_path,))
    monkeypatch.setattr(before_after, "RESULTS", tmp_path)
    monkeypatch.setattr(before_after, "ROOT", after)
    main([str(before), "--after", str(after), "--runs", "1", "--store"])
    assert "geometric mean of 2 ratios" in capsys.readouterr().out
    main([str(before), "sleep", "--after", str(after), "--runs", "2", "--store"])
    assert "geometric mean of 2 ratios" in capsys.readouterr().out
    stored = json.loads((tmp_path / "before_after.json").read_text())
    (run,) = stored["runs"]
    assert (run["before"], run["commit"], run["clock"]) == ("unknown", "unknown", "wall")
    text = page([stored])
    assert "| command | any tree | credo |" in text
    assert "geometric mean" in text


def test_the_least_of_two_comparisons_is_kept():
    once, again = Pair("a", "b", "c", 2.0, 5.0, 7), Pair("a", "b", "c", 3.0, 3.0, 3)
    other = Pair("a", "b", "d", 1.0, 1.0, 7)
    assert before_after.with_pair([once, other], again) == [
        other,
        Pair("a", "b", "c", 2.0, 3.0, 10),
    ]
    failed = Pair("a", "b", "c", problem="not after: no such case")
    assert before_after.with_pair([once], failed) == [failed]


def test_names_that_are_no_benchmarks_are_refused(trees):
    with pytest.raises(SystemExit, match="2"):
        main([str(trees[0]), "--after", str(trees[1]), "nothing"])
