import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import credo

ROOMS = (
    *("data", "decisions", "distributions", "evaluation", "families", "features", "graphs"),
    *("inference", "models", "numerics", "plots", "study", "validation"),
)
HEAVY = ["sklearn", "numba", "matplotlib", "scipy.stats", "pandas"]
ERRORS = [
    "AnswerTooLarge",
    "ApproximationWarning",
    "ConvergenceWarning",
    "ImpossibleFindings",
    "InferenceTooLarge",
    "MemoryWithheld",
    "ModelFileError",
    "NetworkFileError",
    "NoExactAnswer",
    "NotSubmodular",
    "UnknownState",
    "UnknownVariable",
    "ZeroWeights",
]


def modules_after(statement):
    code = f"import json, sys; {statement}; print(json.dumps(list(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(answer.stdout))


def test_import_loads_nothing_heavy():
    assert modules_after("import credo").isdisjoint(HEAVY)


def test_distributions_and_families_need_neither_sklearn_nor_numba():
    loaded = modules_after(
        "from credo.distributions import Normal; from credo.families import *"
    )
    assert loaded.isdisjoint(HEAVY)


def test_linear_regression_does_not_wait_for_numba_or_matplotlib():
    loaded = modules_after("from credo import LinearRegression")
    assert loaded.isdisjoint({"numba", "matplotlib"})


def test_public_names_resolve():
    code = "import credo; print(sum(hasattr(credo, name) for name in credo.__all__))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert int(answer.stdout) == len(credo.__all__) > 10


def errors_of_rooms():
    """Return what rooms raise and warn, by name; the command line has its own."""
    rooms = [getattr(credo, name) for name in ROOMS]
    found = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {
        name: each
        for name, each in found.items()
        if isinstance(each, type) and issubclass(each, Exception)
    }


def test_every_error_and_warning_of_a_room_can_be_caught_by_its_name_in_credo():
    assert {name: getattr(credo, name, None) for name in errors_of_rooms()} == errors_of_rooms()


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_networks_and_files_are_those_that_are_raised(name):
    found = getattr(credo, name)
    assert issubclass(found, Exception)
    assert found.__name__ == name


def test_impossible_findings_are_caught_by_their_name_in_credo():
    net = credo.BayesianNetwork("a -> b", {"a": [0.0, 1.0], "b": [[0.5, 0.5], [1.0, 0.0]]})
    with pytest.raises(credo.ImpossibleFindings) as caught:
        net.query("a", given={"b": True})
    assert caught.value.conflict == {"b": True}


def test_loops_load_numba_before_its_parts():
    # A part that comes first holds its lock while it waits for the whole, and a thread that
    # loads the whole waits for the part: one of them fails.
    for path in Path(credo.__file__).parent.rglob("_loops*.py"):
        names = re.findall(r"^(?:import|from) (numba\S*)", path.read_text(), re.MULTILINE)
        assert names[:1] in ([], ["numba"]), path
