"""Every benchmark imports and runs, at a size at which only mistakes take time."""

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import pytest
from benchmarks.cases import commands, whole_job
from benchmarks.harness import run_case
from benchmarks.linear_data import linear_data

from benchmarks import cases
from credo.app.cli.command_line import command_line

NAMES = sorted(module.name for module in iter_modules(cases.__path__))
SIZES = {
    "N_SAMPLES": 250,
    "N_FEATURES": 4,
    "N_FOLDS": 2,
    "N_QUERIES": 20,
    "N_ROUNDS": 3,
    "N_SWEEPS": 2,
    "SIZE": 6,
    "CHUNK": 50,
}
IN_NEW_PROCESSES = {"cold", "commands", "stream", "whole_job"}
OF_WHOLE_NETWORKS = {"network_files", "network_query", "network_rows"}


def toy(name, monkeypatch):
    """A benchmark whose data are small."""
    module = import_module(f"benchmarks.cases.{name}")
    for size, value in SIZES.items():
        if hasattr(module, size):
            monkeypatch.setattr(module, size, value)
    if hasattr(module, "linear_data"):
        monkeypatch.setattr(module, "linear_data", lambda n, d, **kw: linear_data(60, 4, **kw))
    return module


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_imports_and_its_goals_are_of_its_contenders(name):
    found = import_module(f"benchmarks.cases.{name}").CASES
    assert len({case.name for case in found}) == len(found) > 0
    for case in found:
        assert {case.reference, *(g.contender for g in case.goals)} <= set(case.contenders)


@pytest.mark.parametrize("name", sorted({*NAMES} - IN_NEW_PROCESSES - OF_WHOLE_NETWORKS))
@pytest.mark.filterwarnings("ignore")
def test_every_benchmark_of_one_process_runs_at_toy_size(name, monkeypatch):
    case = toy(name, monkeypatch).CASES[0]
    # Contenders that start processes would take most of the time.
    kept = {name: c for name, c in case.contenders.items() if "process" not in name}
    outcome = run_case(replace(case, contenders=kept, goals=(), repeats=1))
    assert {r.contender for r in outcome.results} | {*outcome.absent} == {*kept}


def test_benchmarks_of_new_processes_make_their_data_at_toy_size(monkeypatch):
    assert toy("cold", monkeypatch).table().read_text().count("\n") == 61
    assert whole_job.table(30, n_classes=3).read_text().count("\n") == 31
    assert whole_job.wide_table(8, 40).read_text().count("\n") == 9
    found = toy("stream", monkeypatch).stream(100)
    assert found["error"] < 1.0


def test_the_start_of_every_command_is_measured():
    groups = {name: getattr(c, "commands", None) for name, c in command_line.commands.items()}
    plain = [name for name, parts in groups.items() if not parts]
    nested = [f"{name} {part}" for name, parts in groups.items() for part in parts or ()]
    measured = tuple(commands.COMMANDS.values())
    for name in [*plain, *nested]:
        words = [m for m in measured if m.startswith(f"{name} ") and "--help" not in m]
        assert words, name


@pytest.mark.slow
def test_every_measured_command_succeeds():
    outcome = run_case(replace(commands.CASES[0], repeats=1))
    assert len(outcome.results) == len(commands.COMMANDS)
