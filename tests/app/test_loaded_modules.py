import json
import subprocess
import sys

import pytest

import credo

ARRAYS = {"numpy", "scipy", "pandas", "sklearn", "numba", "rich"}
PICTURES = {"matplotlib", "credo.plots.style"}
COMPARISONS = {"credo.evaluation.compare", "sklearn.metrics", "sklearn.model_selection"}
NETWORKS = {"networkx", "credo.models.network", "credo.graphs.variable"}

RUN_IN_TURN = """
import contextlib, io, json, sys
from credo.app.command_line import command_line

def loaded_after(command):
    silence = io.StringIO()
    with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
        command_line(command, standalone_mode=False)
    return list(sys.modules)

print(json.dumps([loaded_after(command) for command in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module")
def loaded(result, table, tmp_path_factory):
    """Modules that are loaded after each command of a process that runs one by one."""
    folder = tmp_path_factory.mktemp("commands")
    credo.save(result.model, folder / "model.credo")
    table.head(20).to_csv(folder / "table.csv", index=False)
    commands = {
        "help": ["--help"],
        "predict": ["predict", "model.credo", "table.csv"],
        "inspect": ["inspect", "model.credo"],
        "fit": ["fit", "table.csv", "--target", "outcome"],
    }
    ran = subprocess.run(
        [sys.executable, "-c", RUN_IN_TURN, json.dumps(list(commands.values()))],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return dict(zip(commands, map(set, json.loads(ran.stdout)), strict=True))


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("help", ARRAYS | PICTURES | COMPARISONS | NETWORKS),
        ("predict", PICTURES | COMPARISONS | NETWORKS | {"numba", "credo.app.job"}),
        ("inspect", PICTURES | COMPARISONS | NETWORKS | {"numba", "credo.app.job"}),
        ("fit", PICTURES | COMPARISONS | NETWORKS | {"numba", "credo.app.report"}),
    ],
)
def test_a_command_does_not_wait_for_what_it_does_not_use(loaded, command, unused):
    assert loaded[command] & unused == set()
