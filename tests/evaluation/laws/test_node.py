from dataclasses import dataclass

import numpy as np
import pytest

from credo.evaluation.laws import LawBroken, check_node
from credo.graphs import Factor, GaussianNode, NoisyOr, Variable
from credo.graphs.node.noisy import LargestEffect

COLD, FLU, FEVER = (Variable(name, (False, True)) for name in ("cold", "flu", "fever"))
NODE = NoisyOr({"cold": 0.4, "flu": 0.8}, leak=0.1).bind(FEVER, (COLD, FLU))


def like(node, cls):
    fields = ("child", "parents", "effects", "leak", "is_descending")
    return cls(**{name: getattr(node, name) for name in fields})


class Unnormalized(LargestEffect):
    """Probabilities that sum to two."""

    def log_prob(self, values):
        return super().log_prob(values) + np.log(2.0)


class WrongDraws(LargestEffect):
    """Draws of the other state."""

    def sample(self, values, n, rng):
        return 1 - super().sample(values, n, rng)


class Turned(LargestEffect):
    """A table whose states are exchanged."""

    def table(self):
        table = super().table()
        return Factor(table.variables, table.table()[..., ::-1])


class HalfTheFactors(LargestEffect):
    """Factors that do not multiply to the table."""

    def factors(self):
        first, last = super().factors()
        return first, Factor(last.variables, last.table()[:, ::-1])


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Unnormalized, "probabilities given .* sum to one"),
        (WrongDraws, "draws given .* follow the density"),
        (Turned, r"table\(\) is what log_prob says"),
        (HalfTheFactors, r"factors\(\) multiply to table\(\)"),
    ],
)
def test_a_broken_discrete_node_is_caught(broken, law):
    assert check_node(like(NODE, LargestEffect))
    with pytest.raises(LawBroken, match=law):
        check_node(like(NODE, broken))


class NarrowDraws(GaussianNode):
    """Draws with less spread than the density has."""

    def sample(self, values, n, rng):
        return self.mean(values) + 0.8 * self.scale * rng.standard_normal(n)


class WideDensity(GaussianNode):
    """A density without its normalization."""

    def log_prob(self, values):
        return super().log_prob(values) + np.log(self.scale)


@pytest.mark.parametrize(
    ("broken", "law"),
    [(NarrowDraws, "draws given .* follow the density"), (WideDensity, "sum to one")],
)
def test_a_broken_real_node_is_caught(broken, law):
    made = broken(Variable("x"), (), np.asarray(1.0), np.empty(0), np.asarray(3.0))
    with pytest.raises(LawBroken, match=law):
        check_node(made)


@dataclass(frozen=True)
class ThreeStates(NoisyOr):
    """A spec that proposes more states than it can be bound with."""

    def child_states(self, parents=()):
        return (0, 1, 2)


def test_states_that_cannot_be_bound_are_caught():
    with pytest.raises(LawBroken, match=r"proposed states can be bound.*2 states"):
        check_node(ThreeStates({"cold": 0.4, "flu": 0.8}), FEVER, (COLD, FLU))
