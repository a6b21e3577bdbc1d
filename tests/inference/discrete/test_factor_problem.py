"""Problems of tables against the products of the factors that nodes give."""

import numpy as np
from numpy.testing import assert_allclose

from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.node.noisy import NoisyOr
from credo.graphs.variable import Variable
from credo.inference.discrete.factor_problem import network_problem

RAIN = Variable("rain", (False, True))
FLU = Variable("flu", (False, True))
WET = Variable("wet", ("dry", "damp", "soaked"))
COUGH = Variable("cough", (False, True))


def nodes():
    return [
        ConditionalTable(RAIN, [], [0.7, 0.3]),
        ConditionalTable(FLU, [], [0.9, 0.1]),
        ConditionalTable(WET, [RAIN], [[0.9, 0.1, 0.0], [1e-300, 0.25, 0.75]]),
        NoisyOr({"rain": 0.2, "flu": 0.8}, leak=0.05).bind(COUGH, (RAIN, FLU)),
    ]


def test_density_of_every_joint_state_is_the_product_of_the_nodes():
    problem = network_problem([RAIN, FLU, WET, COUGH], nodes())
    cells = np.indices(problem.n_states).reshape(len(problem.n_states), -1).T
    density = np.exp(problem.log_density(cells)).reshape(problem.n_states)
    found = density.sum(axis=tuple(range(4, density.ndim)))
    expected = np.ones((2, 2, 3, 2))
    for node in nodes():
        expected = (
            expected
            * node.table().spread((RAIN, FLU, WET, COUGH))
            * np.exp(node.table().log_scale)
        )
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(found.sum(), 1.0, rtol=1e-12)


def test_tables_have_largest_entry_one_and_name_their_child():
    problem = network_problem([RAIN, FLU, WET, COUGH], nodes())
    assert all(table.values.max() == 1.0 for table in problem.tables)
    assert len({table.child for table in problem.tables}) == len(problem.tables)
    assert problem.mentioned == frozenset(range(len(problem.n_states)))
    wet = next(table for table in problem.tables if table.child == 2)
    assert wet.scope == (0, 2)
    assert_allclose(np.exp(wet.log_scale) * wet.values, nodes()[2].probability, rtol=1e-15)


def test_a_network_without_nodes_has_no_tables():
    problem = network_problem([RAIN], [])
    assert problem.n_states == (2,)
    assert problem.tables == ()
