"""Every sampler of densities goes on to the same bits after its process was killed."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from credo.data import CheckpointFile
from credo.inference import (
    Gibbs,
    HamiltonianMonteCarlo,
    ImportanceSampling,
    Metropolis,
    MetropolisHastings,
    NoUTurnSampling,
    RejectionSampling,
    SequentialMonteCarlo,
    run,
)
from credo.inference.engine.engine import fingerprint
from processes import killed_run

LONGER = {
    Metropolis: {"n_draws": 3000, "warm_up": 1000},
    MetropolisHastings: {"n_draws": 3000, "warm_up": 1000},
    Gibbs: {"n_draws": 3000, "warm_up": 1000},
    ImportanceSampling: {"n_draws": 4000},
    RejectionSampling: {"n_draws": 4000},
    SequentialMonteCarlo: {"share": 0.95},
    HamiltonianMonteCarlo: {"n_draws": 2000},
    NoUTurnSampling: {"n_draws": 2000},
}
SAMPLERS = {
    kind.__name__: (replace(kind.examples()[0].it, **changes), kind.examples()[0].arguments)
    for kind, changes in LONGER.items()
}
CHILD = """
import sys, time
from inference.density.test_killed import checked
print("begun", flush=True)
checked(sys.argv[2], sys.argv[1], lambda n, step: time.sleep(0.05))
print("done", flush=True)
"""


def checked(name, path, on_step=None):
    """Run a sampler that keeps a snapshot after every step."""
    engine, arguments = SAMPLERS[name]
    checkpoint = None if path is None else CheckpointFile(path, seconds=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(
            engine,
            arguments["problem"],
            np.random.default_rng(3),
            on_step=on_step,
            checkpoint=checkpoint,
        )


@cache
def whole_run(name):
    return checked(name, None)


def goes_on(name, path, after):
    whole = whole_run(name)
    assert killed_run(CHILD, path, name, after=after) == ""
    n_kept = len(CheckpointFile(path).load(0).trace)
    assert 0 < n_kept < len(whole.trace)
    found = checked(name, path)
    assert found.trace == whole.trace
    assert fingerprint(found.state) == fingerprint(whole.state)


@pytest.mark.parametrize("name", ["Gibbs", "SequentialMonteCarlo", "NoUTurnSampling"])
def test_a_sampler_that_was_killed_goes_on_to_the_same_bits(name, tmp_path):
    goes_on(name, tmp_path / "run.credo", 0.06)


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(20))
@pytest.mark.parametrize("name", SAMPLERS)
def test_wherever_a_sampler_is_killed(name, turn, tmp_path):
    goes_on(name, tmp_path / "run.credo", 0.007 * turn)
