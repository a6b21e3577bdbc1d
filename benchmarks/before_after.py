"""Compare the speed of two source trees: ``python -m benchmarks.before_after BEFORE``.

Each tree runs its own cases with its own harness in a process of its own, with caches of its
own. The two take turns, and the least time of each contender of credo is kept; peers do not
run. ``git worktree add ../before COMMIT`` makes the tree of another commit. On a machine that
others use too, ``--clock processor`` says more about the code. What is stored of the same two
commits is added to: a comparison can be made in parts, and an unlucky part once more.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks.store import RESULTS, ROOT, commit, machine, store

__all__ = ["Pair", "Tree", "compared", "line", "main", "summary", "with_pair"]

PROCESS = Path(__file__).with_name("tree_process.py")

HEAD = f"{'before':>10} {'after':>10} {'ratio':>7} {'runs':>5}  benchmark, case, contender"

MEAN_AT_MOST, EACH_AT_MOST = 1.02, 1.10

LONG, FEW = 5.0, 3
"""Seconds of a run above which a contender runs only a few times, and how many."""


@dataclass(frozen=True)
class Pair:
    """Least seconds of one contender in both trees, or why they cannot be compared."""

    benchmark: str
    case: str
    contender: str
    before: float = 0.0
    after: float = 0.0
    runs: int = 0
    problem: str = ""

    @property
    def ratio(self) -> float:
        """Time after as a multiple of the time before."""
        return self.after / self.before


def main(arguments: list[str] | None = None) -> None:
    """Compare some benchmarks of two trees, or all; print every pair, the mean, the worst."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after")
    parser.add_argument("before", type=Path, help="folder of the tree to compare with")
    parser.add_argument("names", nargs="*", metavar="name", help="benchmarks; all by default")
    parser.add_argument("--after", type=Path, default=ROOT, help="folder; this tree by default")
    parser.add_argument("--runs", type=int, default=7, help="of each contender in each tree")
    parser.add_argument("--case", default="", help="only cases whose names hold these letters")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument(
        "--store", action="store_true", help="store the numbers, with those of before"
    )
    chosen = parser.parse_args(arguments)
    trees = chosen.before.resolve(), chosen.after.resolve()
    known = sorted(case_files(ROOT, *trees))
    unknown = sorted(set(chosen.names) - set(known))
    if unknown:
        parser.error(f"names must be benchmarks; found {unknown}. Choose from {known}.")
    run = {
        "commit": commit(trees[1]),
        "before": commit(trees[0]),
        "clock": chosen.clock,
        "machine": machine(),
    }
    pairs = stored_pairs(run) if chosen.store else []
    print(HEAD)
    with tempfile.TemporaryDirectory() as scratch:
        before, after = (Tree(tree, Path(scratch), chosen.clock) for tree in trees)
        for name in chosen.names or known:
            for pair in compared(name, before, after, chosen.runs, chosen.case):
                pairs = with_pair(pairs, pair)
                # A whole run takes long: each line is shown as it comes.
                print(line(pair), flush=True)
            if chosen.store:
                store("before_after", {**run, "pairs": [asdict(pair) for pair in pairs]})
    print("\n".join(summary(pairs)))


def stored_pairs(run: dict[str, Any]) -> list[Pair]:
    """Return what is stored of the same two commits by the same clock."""
    path = RESULTS / "before_after.json"
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    same = ("commit", "before", "clock")
    kept = [old for old in runs if all(old[name] == run[name] for name in same)]
    return [Pair(**pair) for old in kept for pair in old["pairs"]]


def with_pair(pairs: Sequence[Pair], pair: Pair) -> list[Pair]:
    """Return ``pairs`` with one more, or with the least seconds of that and the same one.

    Examples
    --------
    >>> once, again = Pair("a", "b", "c", 2.0, 5.0, 7), Pair("a", "b", "c", 3.0, 3.0, 7)
    >>> with_pair([once], again)
    [Pair(benchmark='a', case='b', contender='c', before=2.0, after=3.0, runs=14, problem='')]
    """
    others = [old for old in pairs if _name(old) != _name(pair)]
    for old in pairs:
        if _name(old) == _name(pair) and not old.problem and not pair.problem:
            pair = replace(
                pair,
                before=min(old.before, pair.before),
                after=min(old.after, pair.after),
                runs=old.runs + pair.runs,
            )
    return [*others, pair]


def case_files(*trees: Path) -> dict[str, Path]:
    """Return the files of the benchmarks of trees by name, those of the last that has one."""
    files = [path for tree in trees for path in (tree / "benchmarks" / "cases").glob("*.py")]
    return {path.stem: path for path in files if path.stem != "__init__"}


@dataclass(frozen=True)
class Tree:
    """A source tree, and where and by which clock its code runs."""

    root: Path
    scratch: Path
    clock: str = "wall"

    def surroundings(self) -> dict[str, str]:
        """Return the environment in which a process finds this tree, and caches of its own."""
        loops = sha256(str(self.root).encode()).hexdigest()
        found = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(self.root)]),
            "PYTHONPYCACHEPREFIX": str(self.scratch / "bytecode"),
            "NUMBA_CACHE_DIR": str(self.scratch / loops),
        }
        # As for people, who compile a module when they load it for the first time.
        found.pop("PYTHONDONTWRITEBYTECODE", None)
        return found


class TreeProcess:
    """A benchmark of one tree, in a process that waits to be asked for one run at a time."""

    def __init__(self, tree: Tree, file: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(PROCESS), str(file), tree.clock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=tree.surroundings(),
        )
        found = self._answer()
        self.problem = found if isinstance(found, str) else "no such contender"
        cases = {} if isinstance(found, str) else found
        self.contenders = [(case, name) for case, names in cases.items() for name in names]

    def __enter__(self) -> "TreeProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

    def seconds(self, case: str, contender: str) -> float | str:
        """Return the seconds of one run, or what went wrong."""
        with suppress(BrokenPipeError):
            print(json.dumps([case, contender]), file=self._process.stdin, flush=True)
        found: float | str = self._answer()
        return found

    def _answer(self) -> Any:
        line = self._process.stdout.readline() if self._process.stdout else ""
        return json.loads(line or '"the process ended"')


def compared(name: str, before: Tree, after: Tree, runs: int, part: str = "") -> Iterator[Pair]:
    """Run one benchmark of two trees by turns, and yield a pair for each contender.

    Cases whose names do not hold ``part`` are left out.
    """
    # A tree without this benchmark tries that of another: commands are the same in all.
    file = case_files(ROOT, before.root, after.root)[name]
    with TreeProcess(before, file) as old, TreeProcess(after, file) as new:
        asked = [pair for pair in [*new.contenders, *old.contenders] if part in pair[0]]
        both = dict.fromkeys(asked)
        for case, contender in both or {("every case", "every contender"): None}:
            absent = [
                f"not {word}: {process.problem}"
                for word, process in (("before", old), ("after", new))
                if (case, contender) not in process.contenders
            ]
            pair = Pair(name, case, contender, problem="; ".join(absent))
            yield pair if absent else by_turns(pair, old, new, runs)


def by_turns(pair: Pair, old: TreeProcess, new: TreeProcess, runs: int) -> Pair:
    """Return ``pair`` with the least seconds of alternate runs in both trees."""
    found: dict[str, list[float]] = {"before": [], "after": []}
    for done in range(runs):
        if done >= FEW and min(found["after"]) > LONG:
            break
        for word, process in (("before", old), ("after", new)):
            seconds = process.seconds(pair.case, pair.contender)
            if isinstance(seconds, str):
                return replace(pair, problem=f"not {word}: {seconds}")
            found[word].append(seconds)
    before, after = (float(f"{min(seconds):.4g}") for seconds in found.values())
    return replace(pair, before=before, after=after, runs=len(found["after"]))


def line(pair: Pair) -> str:
    """Return a line of the table below `HEAD`."""
    if pair.problem:
        return f"not compared: {_name(pair)}: {pair.problem}"
    numbers = f"{pair.before:10.4g} {pair.after:10.4g} {pair.ratio:7.3f} {pair.runs:5}"
    return f"{numbers}  {_name(pair)}"


def summary(pairs: Sequence[Pair]) -> list[str]:
    """Return sentences: the mean of the ratios, and those that are above their bound."""
    ratios = {_name(pair): pair.ratio for pair in pairs if not pair.problem}
    failed = [_name(pair) for pair in pairs if pair.problem.startswith("not after")]
    if not ratios:
        return ["no contender could be compared"]
    mean, worst = geometric_mean(ratios.values()), max(ratios.values())
    slower = {name: ratio for name, ratio in ratios.items() if ratio > EACH_AT_MOST}
    return [
        *(f"slower: {name}: {ratio:.3f}" for name, ratio in slower.items()),
        *(f"MISSED, since it does not run after: {name}" for name in failed),
        f"geometric mean of {len(ratios)} ratios: {mean:.3f}, {_said(mean, MEAN_AT_MOST)}",
        f"largest ratio: {worst:.3f}, {_said(worst, EACH_AT_MOST)}",
    ]


def _name(pair: Pair) -> str:
    return f"{pair.benchmark}, {pair.case}, {pair.contender}"


def _said(ratio: float, at_most: float) -> str:
    return f"goal at most {at_most:g} {'reached' if ratio <= at_most else 'MISSED'}"


if __name__ == "__main__":
    main()
