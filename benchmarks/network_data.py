"""Published networks, findings drawn from them, and the same networks in pyAgrum."""

import gzip
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from credo.data.network_file.network_file import load_network

__all__ = [
    "FOR_PGMPY",
    "NETWORKS",
    "agrum_network",
    "codes",
    "missing_at_random",
    "network",
    "network_path",
    "network_text",
    "pgmpy_engine",
    "quiet_import",
    "some_columns",
]

NETWORKS = (
    "alarm",
    "win95pts",
    "hepar2",
    "insurance",
    "hailfinder",
    "pathfinder",
    "andes",
    "pigs",
    "munin",
    "diabetes",
    "water",
    "mildew",
    "barley",
)


FOR_PGMPY = ("alarm", "win95pts", "insurance", "hailfinder", "hepar2")
"""Networks on which pgmpy answers in a time that a benchmark can wait for."""


def quiet_import(module: str) -> Any:
    """Return a module of a peer, imported without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(module)


def network_path(name: str) -> Path:
    """Return the packed BIF file of a network that comes with pgmpy."""
    spec = find_spec("pgmpy")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            "pgmpy must be installed, whose package holds the networks; found none. Install "
            "the packages of the group 'peers'."
        )
    folder = Path(spec.submodule_search_locations[0], "utils", "example_models")
    return folder / f"{name}.bif.gz"


def network(name: str) -> Any:
    """Return a published network, with no plan made yet."""
    return load_network(network_path(name))


def network_text(name: str) -> str:
    """Return the text of the BIF file of a network."""
    return gzip.decompress(network_path(name).read_bytes()).decode()


def agrum_network(net: Any) -> Any:
    """Return ``net`` in pyAgrum with all digits; pyAgrum's own reader keeps seven of them."""
    pyagrum = quiet_import("pyagrum")
    peer = pyagrum.BayesNet()
    for name, variable in net.variables.items():
        peer.add(pyagrum.LabelizedVariable(name, "", variable.n_states))
    for name, conditional in net.conditionals.items():
        for parent in conditional.parents:
            peer.addArc(parent.name, name)
    for name, conditional in net.conditionals.items():
        table = peer.cpt(name)
        axes = [*(parent.name for parent in conditional.parents), name]
        # The first variable of a table of pyAgrum changes fastest.
        order = [axes.index(axis) for axis in reversed(table.names)]
        table.fillWith(conditional.table().table().transpose(order).ravel().tolist())
    return peer


def pgmpy_engine(name: str) -> Any:
    """Return pgmpy's variable elimination in a network."""
    reader = quiet_import("pgmpy.readwrite").BIFReader
    engine = quiet_import("pgmpy.inference").VariableElimination
    return engine(reader(string=network_text(name)).get_model())


def some_columns(rows: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return ``n`` columns chosen at random, in their order."""
    return rows.iloc[:, np.sort(rng.choice(rows.shape[1], n, replace=False))]


def missing_at_random(
    rows: pd.DataFrame, share: float, rng: np.random.Generator
) -> pd.DataFrame:
    """Return ``rows`` with each cell empty with probability ``share``."""
    return rows.mask(rng.random(rows.shape) < share)


def codes(net: Any, rows: pd.DataFrame) -> list[dict[str, int]]:
    """Return the places of the known states of each row, by variable."""
    variables = [net.variables[name] for name in rows.columns]
    return [
        {
            variable.name: variable.index(state)
            for variable, state in zip(variables, row, strict=True)
            if not pd.isna(state)
        }
        for row in rows.itertuples(index=False, name=None)
    ]
