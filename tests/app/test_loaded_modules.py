import json
import subprocess
import sys

import pytest

import credo

ARRAYS = {"numpy", "scipy", "pandas", "sklearn", "numba", "rich"}
TESTS = {"scipy.stats._stats_py", "numpy.testing._private", "numpy.f2py.f2py2e"}
CLASSES = {
    "credo.study.classification",
    "credo.models.margin.ada_boost",
    "scipy.spatial",
}
PICTURES = {"matplotlib", "credo.plots.style"}
COMPARISONS = {
    "credo.evaluation.comparison.compare",
    "sklearn.metrics",
    "sklearn.model_selection",
}
NETWORKS = {"networkx", "credo.models.network.network", "credo.graphs.variable"}

RUN_IN_TURN = """
import contextlib, io, json, sys
from credo.__main__ import load_quickly
load_quickly()
load_quickly()
from credo.app.cli.command_line import command_line

def loaded_after(command):
    silence = io.StringIO()
    with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
        command_line(command, standalone_mode=False)
    return list(sys.modules)

loaded = [loaded_after(command) for command in json.loads(sys.argv[1])]
import gc
import scipy.stats
finders = [type(finder).__name__ for finder in sys.meta_path].count("LoadedOnUse")
print(json.dumps([loaded, scipy.stats.norm.cdf(0.0), finders, gc.get_threshold()[0]]))
"""


@pytest.fixture(scope="module")
def ran(result, table, tmp_path_factory):
    """Modules loaded after each command of a process that runs one by one, a half, settings."""
    folder = tmp_path_factory.mktemp("commands")
    credo.save(result.model, folder / "model.credo")
    table.head(20).to_csv(folder / "table.csv", index=False)
    commands = {
        "help": ["--help"],
        "predict": ["predict", "model.credo", "table.csv"],
        "inspect": ["inspect", "model.credo"],
        "fit": ["fit", "table.csv", "--target", "outcome", "--fast"],
    }
    ran = subprocess.run(
        [sys.executable, "-c", RUN_IN_TURN, json.dumps(list(commands.values()))],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    loaded, half, *settings = json.loads(ran.stdout)
    return dict(zip(commands, map(set, loaded), strict=True)), half, settings


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("help", ARRAYS | PICTURES | COMPARISONS | NETWORKS),
        (
            "predict",
            PICTURES | TESTS | CLASSES | COMPARISONS | NETWORKS | {"numba", "credo.study.job"},
        ),
        (
            "inspect",
            PICTURES | TESTS | CLASSES | COMPARISONS | NETWORKS | {"numba", "credo.study.job"},
        ),
        (
            "fit",
            PICTURES
            | TESTS
            | CLASSES
            | COMPARISONS
            | NETWORKS
            | {"numba", "credo.study.report.report"},
        ),
    ],
)
def test_a_command_does_not_wait_for_what_it_does_not_use(ran, command, unused):
    loaded, *_ = ran
    assert loaded[command] & unused == set()


def test_what_commands_do_not_use_is_there_once_it_is_asked_for(ran):
    assert ran[1] == 0.5


def test_a_process_is_made_quicker_once(ran):
    assert ran[2] == [1, 200_000]
