"""Nodes that were set from outside."""

import numpy as np
import pytest

from credo.graphs.node.conditional import Conditional
from credo.graphs.variable import Variable
from credo.inference.hybrid.draw_engine import InterventionNode


def test_a_set_value_tells_nothing():
    node = InterventionNode(Variable("dose"))
    assert isinstance(node, Conditional)
    assert node.log_prob({"dose": np.array([1.0, -7.0, 1e9])}).tolist() == [0.0, 0.0, 0.0]
    assert node.parents == ()
    assert node.n_parameters == 0


def test_a_node_that_was_cut_off_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"dose must be set .* Pass it in do"):
        InterventionNode(Variable("dose")).sample({}, 3, np.random.default_rng(0))
