"""A fixed short part of the fuzzer: every case works, or is refused cleanly."""

import pytest
from fuzz.__main__ import surface_named
from fuzz.outcome import FAULTS, Outcome
from fuzz.worker import verdicts

SHORT = {
    "command_line": 5,
    "estimators": 60,
    "model_files": 150,
    "network_files": 150,
    "networks": 50,
}
SEED = 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHORT)
def test_no_case_ends_as_none_should(name):
    surface = surface_named(name)
    found = list(verdicts(surface, surface.prepare(), SEED, range(SHORT[name])))
    assert [(case, v) for case, v in found if v.outcome in FAULTS] == []
    assert len(found) == SHORT[name]
    n_worked = sum(verdict.outcome is Outcome.WORKED for _, verdict in found)
    assert n_worked >= SHORT[name] // 5
