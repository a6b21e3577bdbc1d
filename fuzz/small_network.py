"""Networks small enough to answer by writing the joint distribution down."""

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

__all__ = ["SmallNetwork", "small_network"]

ODD_NAMES = ("a b", "日本", "x=y", "a|b", "1", "<x>", "[red]", "a:b", "e\u0301", "query")
ODD_STATES = ("", " ", "0", "-1", "=1+1", "true")


@dataclass(frozen=True)
class SmallNetwork:
    """Tables of a Bayesian network, the child on the last axis, in an order of causes."""

    states: dict[str, tuple[str, ...]]
    parents: dict[str, tuple[str, ...]]
    tables: dict[str, NDArray[np.float64]]

    def network(self) -> BayesianNetwork:
        """Return it as credo has it."""
        return BayesianNetwork(self.parents, self.tables, self.states)

    def field(self) -> MarkovRandomField:
        """Return the same tables as factors without direction."""
        variables = {name: Variable(name, states) for name, states in self.states.items()}
        scopes = {name: (*self.parents[name], name) for name in self.tables}
        return MarkovRandomField(
            [
                Factor([variables[other] for other in scopes[name]], table)
                for name, table in self.tables.items()
            ]
        )

    def log_joint(self) -> NDArray[np.float64]:
        """Return the log probability of every joint state, one axis for each variable."""
        names = list(self.states)
        total = np.zeros([len(states) for states in self.states.values()])
        for name, table in self.tables.items():
            scope = [names.index(other) for other in (*self.parents[name], name)]
            lined_up = np.transpose(table, np.argsort(scope))
            absent = [axis for axis in range(len(names)) if axis not in scope]
            with np.errstate(divide="ignore"):
                total += np.log(np.expand_dims(lined_up, absent))
        return total


def small_network(random: Random, *, has_odd_names: bool = False) -> SmallNetwork:
    """Return a random network of two to six variables, with some zeros and tiny entries."""
    n = random.randint(2, 6)
    names = [f"v{i}" for i in range(n)]
    if has_odd_names:
        names = random.sample((*ODD_NAMES, *names), n)
    states = {name: _states(random, has_odd_names) for name in names}
    parents = {
        name: tuple(random.sample(names[:i], random.randint(0, min(i, 3))))
        for i, name in enumerate(names)
    }
    tables = {
        name: _table(random, tuple(len(states[other]) for other in (*parents[name], name)))
        for name in names
    }
    return SmallNetwork(states, parents, tables)


def _states(random: Random, has_odd_names: bool) -> tuple[str, ...]:
    n = random.choice((2, 2, 2, 3, 4))
    pool = ("yes", "no", "low", "high", "s1", "s2")
    return tuple(random.sample((*pool, *ODD_NAMES, *ODD_STATES) if has_odd_names else pool, n))


def _table(random: Random, shape: tuple[int, ...]) -> NDArray[np.float64]:
    rng = np.random.default_rng(random.getrandbits(32))
    values = rng.dirichlet(np.full(shape[-1], random.choice((0.1, 1.0, 10.0))), shape[:-1])
    if random.random() < 0.2:
        values = np.where(rng.random(shape) < 0.3, values * 1e-200, values)
    if random.random() < 0.3:
        values = np.where(rng.random(shape) < 0.3, 0.0, values)
    values[..., 0] += np.where(values.sum(axis=-1) <= 0.0, 1.0, 0.0)
    return np.asarray(values / values.sum(axis=-1, keepdims=True))
