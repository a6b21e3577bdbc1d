"""Joint draws from a network that is too large for exact ones, by Gibbs chains."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.approximate.flat_problem import FlatProblem, NoPossibleState
from credo.inference.discrete.factor_problem import FactorProblem
from credo.inference.discrete.findings import MISSING, Findings
from credo.inference.discrete.loops.states import gibbs_sweeps

__all__ = ["gibbs_draws", "gibbs_draws_given"]

N_CHAINS = 8
BURN_IN = 200
SWEEPS_BETWEEN = 10


def gibbs_draws(problem: FactorProblem, n: int, rng: Generator) -> NDArray[np.intp]:
    """Return ``n`` joint states, shape (n, n_variables), from a few chains in turn.

    Chains start apart and forget their first sweeps; between draws of one chain lie several
    sweeps, so that neighbors are nearly independent unless the chain mixes slowly.

    Examples
    --------
    >>> from credo.inference.discrete.factor_problem import table_of
    >>> pair = FactorProblem((2, 2), (table_of((0, 1), np.array([[4.0, 1.0], [1.0, 4.0]])),))
    >>> draws = gibbs_draws(pair, 2000, np.random.default_rng(0))
    >>> round(float(np.mean(draws[:, 0] == draws[:, 1])), 1)
    0.8
    """
    flat = FlatProblem.of(problem)
    states = flat.starts(min(max(n, 1), N_CHAINS), rng)
    states, _ = gibbs_sweeps(flat.net, states, BURN_IN, False, rng)
    found = [states]
    while len(found) * len(states) < n:
        states, _ = gibbs_sweeps(flat.net, states, SWEEPS_BETWEEN, False, rng)
        found.append(states)
    return np.concatenate(found)[:n]


def gibbs_draws_given(
    problem: FactorProblem, findings: Findings[int], n: int, rng: Generator
) -> NDArray[np.intp]:
    """Return ``n`` joint states for each row of findings, (n_rows, n, n_variables).

    They are -1 in rows that are impossible.
    """
    shape = (findings.n_rows, n, len(problem.n_states))
    found = np.full(shape, MISSING, dtype=np.intp)
    for row in range(findings.n_rows):
        known = {i: int(c[row]) for i, c in findings.codes.items() if c[row] != MISSING}
        likelihood = {i: table[:, row] for i, table in findings.likelihood.items()}
        with suppress(NoPossibleState):
            found[row] = gibbs_draws(problem.weighted(likelihood).given(known), n, rng)
            found[row][:, list(known)] = list(known.values())
    return found
