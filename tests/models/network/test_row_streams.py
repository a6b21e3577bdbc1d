"""Rows of a table that are answered by draws have independent errors."""

import numpy as np
import pandas as pd
import pytest

from credo import BayesianNetwork, IsingModel
from credo.graphs import LinearGaussian

N_ROWS = 300
TABLES = BayesianNetwork(
    "a -> b; a -> c; b, c -> d; z",
    {
        "a": [0.3, 0.7],
        "b": [[0.6, 0.4], [0.1, 0.9]],
        "c": [[0.2, 0.8], [0.7, 0.3]],
        "d": [[[0.9, 0.1], [0.4, 0.6]], [[0.3, 0.7], [0.05, 0.95]]],
        "z": np.full(N_ROWS, 1 / N_ROWS),
    },
    states={"z": tuple(range(N_ROWS))},
)
MIXED = BayesianNetwork(
    "a -> x; z",
    {
        "a": [0.3, 0.7],
        "x": {False: LinearGaussian(0.0, scale=1.0), True: LinearGaussian(1.0, scale=1.0)},
        "z": LinearGaussian(0.0, scale=1.0),
    },
)
CASES = {
    "likelihood weighting": (
        MIXED,
        "likelihood_weighting",
        {"x": 0.4},
        np.linspace(-2, 2, N_ROWS),
    ),
    "weights of tables": (TABLES, "likelihood_weighting", {"d": True}, range(N_ROWS)),
    "importance": (TABLES, "importance", {"d": True}, range(N_ROWS)),
}


@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "importance")) for name in CASES],
)
def test_errors_of_two_rows_are_uncorrelated(name):
    """Rows that differ in what does not matter have one exact answer, and errors of their own.

    A stream that all rows share would give every row the same error.
    """
    net, method, given, others = CASES[name]
    rows = pd.DataFrame({**{k: [v] * N_ROWS for k, v in given.items()}, "z": list(others)})
    exact = float(net.query("a", given)[True])
    error = net.predict_proba(rows, "a", method=method)[True].to_numpy() - exact
    spread = error.std()
    assert spread > 1e-4
    assert abs(error.mean()) < 4.5 * spread / np.sqrt(N_ROWS)
    left, right = error[::2], error[1::2]
    assert abs(np.corrcoef(left, right)[0, 1]) < 4 / np.sqrt(N_ROWS / 2)


@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
def test_an_answer_by_draws_does_not_depend_on_the_rows_around_it():
    rows = pd.DataFrame({"d": [True, False, True], "z": [3, 5, 7]})
    together = TABLES.predict_proba(rows, "a", method="importance")
    alone = TABLES.predict_proba(rows.iloc[[2]], "a", method="importance")
    again = TABLES.query("a", {"d": True, "z": 7}, method="importance")
    assert together.iloc[2].tolist() == alone.iloc[0].tolist() == again.tolist()


@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
@pytest.mark.parametrize("method", ["importance", "gibbs", "likelihood_weighting"])
def test_another_generator_gives_other_draws_and_the_same_one_the_same(method):
    first, again, other, usual = (
        net.query("a", {"d": True}, method=method)
        for net in (TABLES.with_rng(1), TABLES.with_rng(1), TABLES.with_rng(2), TABLES)
    )
    assert first.tolist() == again.tolist()
    assert len({first[True], other[True], usual[True]}) == 3
    exact = TABLES.query("a", {"d": True})
    assert TABLES.with_rng(1).query("a", {"d": True}).tolist() == exact.tolist()
    for answer in (first, other, usual):
        assert abs(answer[True] - exact[True]) < 5 * answer.attrs["error"]


@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
def test_log_totals_of_an_ising_model_by_draws_follow_the_generator_too():
    model = IsingModel((5, 5), 0.4, 0.1)
    one, same, other = (
        model.with_rng(seed).log_partition(method="annealing") for seed in (1, 1, 2)
    )
    assert one == same != other
