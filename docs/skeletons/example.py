"""A network that travels with credo: a skeleton for a new example.

An example is a file in ``src/credo/data/sets``: a ``.bif`` file is a network, a ``.csv`` file a
data set whose target is the last column. Their names are their listing, so that no line is
needed elsewhere; say in ``sets/README.md`` who published it and under which license. Run a
script such as this one once, and keep the file.
"""

from __future__ import annotations

import sys

from credo import BayesianNetwork, save_network

__all__ = ["SPRINKLER"]

SPRINKLER = BayesianNetwork(
    "rain -> sprinkler; rain -> wet; sprinkler -> wet",
    cpts={
        "rain": {"no": 0.8, "yes": 0.2},
        "sprinkler": {"no": {"off": 0.6, "on": 0.4}, "yes": {"off": 0.99, "on": 0.01}},
        "wet": {
            ("no", "off"): {"no": 1.0, "yes": 0.0},
            ("no", "on"): {"no": 0.1, "yes": 0.9},
            ("yes", "off"): {"no": 0.2, "yes": 0.8},
            ("yes", "on"): {"no": 0.01, "yes": 0.99},
        },
    },
)

if __name__ == "__main__":
    save_network(SPRINKLER, sys.argv[1])
