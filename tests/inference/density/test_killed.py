"""Every sampler of densities goes on to the same bits after its process was killed."""

import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

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
sys.path[:0] = sys.argv[3:]
from inference.density.test_killed import checked
print("begun", flush=True)
checked(sys.argv[1], sys.argv[2], lambda n, step: time.sleep(0.05))
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


def killed(name, path, after):
    """Start a sampler in a process of its own, and kill it without warning."""
    command = [sys.executable, "-c", CHILD, name, str(path), str(Path(__file__).parents[2])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    until = time.monotonic() + 60.0
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.002)
    time.sleep(after)
    os.kill(process.pid, signal.SIGKILL)
    return process.communicate(timeout=60)[0]


def goes_on(name, path, after):
    whole = checked(name, None)
    assert killed(name, path, after) == ""
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
