"""Loading published networks from plain BIF files.

pyAgrum keeps about seven digits of every number; the sum of the squares of all table entries
says whether contenders read the same.
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import Case, Contender, Goal
from benchmarks.network_data import NETWORKS, network_text, quiet_import
from credo.data.network_file.network_file import load_network
from credo.models.network.bayesian_network import BayesianNetwork

__all__ = ["CASES"]

pyagrum = quiet_import("pyagrum")
BIFReader = quiet_import("pgmpy.readwrite").BIFReader


def path_of(name: str) -> str:
    path = Path(tempfile.mkdtemp(), f"{name}.bif")
    path.write_text(network_text(name), encoding="utf-8")
    return str(path)


def agrum(path: str) -> Any:
    return pyagrum.loadBN(path)


def pgmpy(path: str) -> Any:
    return BIFReader(path).get_model()


def tables(net: Any) -> list[Any]:
    if isinstance(net, BayesianNetwork):
        return [factor.table() for factor in net.factors]
    if isinstance(net, pyagrum.BayesNet):
        return [net.cpt(i).toarray() for i in net.nodes()]
    return [cpd.values for cpd in net.get_cpds()]


def n_entries(path: str, net: Any) -> float:
    return float(sum(table.size for table in tables(net)))


def sum_of_squares(path: str, net: Any) -> float:
    return float(sum((table**2).sum() for table in tables(net)))


def case(name: str) -> Case:
    # pgmpy parses by a general grammar, too slowly for the large files.
    slow = {"pgmpy BIFReader": Contender(pgmpy, "pgmpy")} if name == "alarm" else {}
    return Case(
        name=name,
        data=lambda: path_of(name),
        contenders={
            "credo": Contender(load_network),
            "pyAgrum loadBN": Contender(agrum, "pyagrum"),
            **slow,
        },
        quality={"table entries": n_entries, "sum of squares": sum_of_squares},
        goals=(Goal("credo", at_most=1.0, measure="seconds"),),
        repeats=3,
    )


CASES = tuple(case(name) for name in NETWORKS)
