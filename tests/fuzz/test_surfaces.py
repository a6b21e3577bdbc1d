"""A fixed short part of the fuzzer: every case works, or is refused cleanly."""

import pytest
from fuzz.__main__ import surface_named
from fuzz.outcome import FAULTS, Outcome
from fuzz.worker import verdicts

SHORT = {
    "command_line": 3,
    "estimators": 50,
    "model_files": 150,
    "network_files": 100,
    "networks": 30,
}
SEED = 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SHORT)
def test_no_case_ends_as_none_should(name):
    surface = surface_named(name)
    # The others prepare nothing but compiled code, which so few cases do not repay.
    prepared = surface.prepare() if name == "model_files" else None
    found = list(verdicts(surface, prepared, SEED, range(SHORT[name])))
    assert [(case, v) for case, v in found if v.outcome in FAULTS] == []
    assert len(found) == SHORT[name]
    n_worked = sum(verdict.outcome is Outcome.WORKED for _, verdict in found)
    assert n_worked >= SHORT[name] // 8
