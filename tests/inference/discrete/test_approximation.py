import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.discrete.approximation import (
    PROVEN_IMPOSSIBLE,
    approximate,
    approximate_mode,
    approximate_total,
)
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.engine.engine import ConvergenceWarning
from credo.inference.engine.method import engine_of, methods

PAIR = np.array([[4.0, 2.0], [3.0, 1.0]])
POSSIBLE = FactorProblem((2, 2), (table_of((0, 1), PAIR),))
IMPOSSIBLE = FactorProblem(
    (2, 2), (table_of((0, 1), np.eye(2)), table_of((0, 1), 1 - np.eye(2)))
)


def of_tables(question):
    return [m for m in methods(question) if m not in ("exact", "likelihood_weighting")]


@pytest.mark.parametrize("method", of_tables("marginals"))
def test_every_engine_finds_the_marginals_of_a_pair(method):
    found = approximate(POSSIBLE, engine_of(method, "marginals"))
    assert_allclose(found.probability[0], [0.6, 0.4], atol=0.03)
    assert_allclose(found.probability[1], [0.7, 0.3], atol=0.03)


@pytest.mark.parametrize("method", of_tables("marginals"))
def test_every_engine_proves_a_contradiction(method):
    found = approximate(IMPOSSIBLE, engine_of(method, "marginals"))
    assert found.probability is None
    assert found.log_total == -np.inf
    assert found.account is PROVEN_IMPOSSIBLE


@pytest.mark.parametrize("method", of_tables("mode"))
def test_every_engine_of_modes_proves_a_contradiction(method):
    problem = FactorProblem(
        (2, 2), (table_of((0, 1), np.eye(2)), table_of((0,), np.array([1.0, 0.0])),
                 table_of((1,), np.array([0.0, 1.0]))),
    )  # fmt: skip
    assert approximate_mode(problem, engine_of(method, "mode")) == (None, PROVEN_IMPOSSIBLE)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("importance", "standard error"),
        ("belief_propagation", "exact"),
        ("mean_field", "lower bound"),
    ],
)
def test_a_total_tells_what_its_error_means(method, kind):
    total, account = approximate_total(POSSIBLE, engine_of(method, "total"))
    assert account.error_kind == kind
    assert_allclose(total, np.log(10.0), atol=0.02)
    assert total <= np.log(10.0) + 1e-9


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            "gibbs",
            r"largest standard error of 0\.\d+ after.*how far off it may be",
        ),
        ("belief_propagation", r"largest change of a message.*Do not rely on it, or ask again"),
    ],
)
def test_an_engine_asked_for_by_name_that_does_not_settle_says_what_that_means(method, said):
    with pytest.warns(ConvergenceWarning, match=said):
        approximate(frustrated(6), engine_of(method, "marginals"))


def frustrated(n):
    """Return a square of spins with strong couplings of both signs."""
    rng = np.random.default_rng(3)
    spot = np.arange(n * n).reshape(n, n)
    down, right = (spot[1:], spot[:-1]), (spot[:, 1:], spot[:, :-1])
    edges = np.hstack([np.reshape(pair, (2, -1)) for pair in (down, right)]).T
    tables = [table_of((i,), np.exp(0.3 * rng.normal(size=2))) for i in spot.flat]
    for i, j in edges:
        w = 4.0 * rng.normal()
        tables.append(table_of((int(i), int(j)), np.exp([[w, -w], [-w, w]])))
    return FactorProblem((2,) * n**2, tuple(tables))
