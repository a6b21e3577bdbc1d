"""Bayesian neural networks on the 20 standard splits of four sets, beside published results.

The sets are not part of the project: give the folder that holds ``concrete``, ``energy``,
``yacht`` and ``wine-quality-red``, each with ``data.csv.gz`` and ``test_index.csv.gz``::

    python -m benchmarks.neural_splits FOLDER [SET ...] [--store]

Root mean squared error and mean log density of the test rows, with standard errors over splits,
and the share of them inside 90 % intervals, of a network of 50 units with settings as they
come. ``--store`` keeps them in ``benchmarks/sets/neural_splits.json``.
"""

from __future__ import annotations

import sys

from benchmarks.gp_splits import compare
from credo import NeuralNetworkRegressor

__all__ = ["PUBLISHED", "main"]

PUBLISHED: dict[str, dict[str, tuple[float | None, float]]] = {
    "yacht": {
        "PBP": (1.02, -1.63),
        "dropout": (0.67, -1.25),
        "ensembles": (1.58, -1.18),
        "laplace-torch": (1.06, -1.37),
    },
    "energy": {
        "PBP": (1.80, -2.04),
        "dropout": (0.54, -1.21),
        "ensembles": (2.09, -1.38),
        "laplace-torch": (1.58, -1.88),
    },
    "concrete": {
        "PBP": (5.67, -3.16),
        "dropout": (4.82, -2.93),
        "ensembles": (6.03, -3.06),
        "laplace-torch": (5.55, -3.09),
    },
    "wine-quality-red": {
        "PBP": (0.64, -0.97),
        "dropout": (0.62, -0.93),
        "ensembles": (0.64, -0.94),
    },
}
"""Root mean squared error and mean log density: as published, but for laplace-torch 0.3, which
was run on the same splits with 50 tanh units, 300 steps of Adam, the full curvature, and 100
steps of its marginal likelihood."""


def network() -> NeuralNetworkRegressor:
    """Return a network with settings as they come, and a seed."""
    return NeuralNetworkRegressor(random_state=0)


def main(arguments: list[str]) -> int:
    """Print a line for each set, and store them if asked."""
    return compare("neural_splits", network, PUBLISHED, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
