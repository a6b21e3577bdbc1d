"""Runs that are killed go on from their files to the same bits."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from credo.data import CheckpointFile, ModelFileError, load, save
from credo.evaluation.laws.kind import check_example
from credo.inference import (
    ConvergenceWarning,
    FactorProblem,
    TableGibbs,
    TableImportance,
    VariationalLogistic,
    run,
)
from credo.inference.discrete.factor_problem import table_of
from processes import killed_run
from rooms import every_example, named

RING = FactorProblem(
    (3,) * 6,
    tuple(
        table_of((i, (i + 1) % 6), np.random.default_rng(i).random((3, 3)) ** 2)
        for i in range(6)
    ),
)
ENGINE = TableGibbs(n_draws=4000, tolerance=0.0)

CHILD = """
import sys, time, warnings
import numpy as np
from data.model_file.test_checkpoint import ENGINE, RING
from credo.data import CheckpointFile
from credo.inference import run
warnings.simplefilter("ignore")
print("begun", flush=True)
checkpoint = CheckpointFile(sys.argv[1], seconds=0.0)
pause = lambda n, step: time.sleep(0.02)
run(ENGINE, RING, np.random.default_rng(8), checkpoint=checkpoint, on_step=pause)
print("done", flush=True)
"""


def quietly(*args, **settings):
    with pytest.warns(ConvergenceWarning):
        return run(*args, **settings)


def test_a_run_that_was_killed_goes_on_to_the_same_bits(tmp_path):
    path = tmp_path / "run.credo"
    whole = quietly(ENGINE, RING, np.random.default_rng(8))
    assert killed_run(CHILD, path, after=0.15) == ""
    n_kept = len(CheckpointFile(path).load(0).trace)
    assert 0 < n_kept < len(whole.trace)
    found = quietly(ENGINE, RING, np.random.default_rng(1), checkpoint=CheckpointFile(path))
    assert found.trace == whole.trace
    assert_array_equal(found.state.states, whole.state.states)
    assert_array_equal(found.state.blocks.mean, whole.state.blocks.mean)
    assert [entry.name for entry in tmp_path.iterdir() if ".credo-part" not in entry.name] == [
        "run.credo"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(20))
def test_wherever_it_is_killed(tmp_path, turn):
    path = tmp_path / "run.credo"
    whole = quietly(ENGINE, RING, np.random.default_rng(8))
    killed_run(CHILD, path, after=0.04 * turn)
    found = quietly(ENGINE, RING, np.random.default_rng(1), checkpoint=CheckpointFile(path))
    assert found.trace == whole.trace
    assert_array_equal(found.state.states, whole.state.states)


def test_every_chain_has_a_file_of_its_own(tmp_path):
    checkpoint = CheckpointFile(tmp_path / "run.credo")
    engine = TableImportance(tolerance=0.02)
    whole = run(engine, RING, np.random.default_rng(0), chains=3)
    run(engine, RING, np.random.default_rng(0), chains=3, checkpoint=checkpoint)
    names = sorted(entry.name for entry in tmp_path.iterdir())
    assert names == ["run.1.credo", "run.2.credo", "run.credo"]
    again = run(engine, RING, np.random.default_rng(9), chains=3, checkpoint=checkpoint)
    assert_array_equal(again.state.state_total, whole.state.state_total)


EXAMPLES = [e for e in every_example("inference") if type(e.it) is not VariationalLogistic]


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_the_state_of_every_engine_can_be_kept(example, tmp_path):
    """Laws check that a run goes on from a snapshot in memory; here it goes through a file."""
    assert "a_resumed_run_equals_an_uninterrupted_one" in check_example(example)
    problem = example.arguments.get("problem", RING)
    checkpoint = CheckpointFile(tmp_path / "run.credo", seconds=0.0)
    first = _any(example.it, problem, checkpoint)
    kept = checkpoint.load(0)
    save(replace(kept, trace=kept.trace[:1]), tmp_path / "run.credo")
    assert len(load(tmp_path / "run.credo").trace) == 1
    save(kept, tmp_path / "run.credo")
    again = _any(example.it, problem, checkpoint)
    assert again.trace == first.trace


def _any(engine, problem, checkpoint):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(engine, problem, np.random.default_rng(0), checkpoint=checkpoint)


def test_a_state_that_holds_all_rows_is_refused_before_anything_is_written(tmp_path):
    example = VariationalLogistic.examples()[0]
    checkpoint = CheckpointFile(tmp_path / "run.credo", seconds=0.0)
    with pytest.raises(ModelFileError, match=r"Snapshot\.state must be a number"):
        run(example.it, example.arguments["problem"], checkpoint=checkpoint)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_snapshot_is_refused(tmp_path):
    path = tmp_path / "run.credo"
    save({"level": 1.0}, path)
    with pytest.raises(ModelFileError, match="must hold a snapshot of a run; found a dict"):
        CheckpointFile(path).load(0)


def test_a_damaged_file_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "run.credo"
    engine = TableImportance(tolerance=0.02)
    run(engine, RING, np.random.default_rng(0), checkpoint=CheckpointFile(path))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ModelFileError, match="delete it to begin anew"):
        run(engine, RING, np.random.default_rng(0), checkpoint=CheckpointFile(path))


def test_a_snapshot_without_its_stream_is_refused(tmp_path):
    path = tmp_path / "run.credo"
    engine = TableImportance(tolerance=0.02)
    run(engine, RING, np.random.default_rng(0), checkpoint=CheckpointFile(path))
    kept = load(path)
    odd = [
        {},
        {"bits": {"bit_generator": "os"}, "seed": {}},
        kept.random_state | {"seed": {"entropy": "x"}},
    ]
    for state in odd:
        save(replace(kept, random_state=state), path)
        with pytest.raises(ModelFileError, match="must hold a snapshot of a run"):
            CheckpointFile(path).load(0)
