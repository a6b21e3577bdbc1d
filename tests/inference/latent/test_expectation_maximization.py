"""The engine on a problem that can be solved by hand: rows of tosses of two coins."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

from credo.inference.engine.engine import ConvergenceWarning, run
from credo.inference.engine.problem import Expectation
from credo.inference.latent.expectation_maximization import (
    ExpectationMaximization,
    LatentState,
)
from credo.numerics.status import Status

HEADS = np.array([5, 9, 8, 4, 7, 1, 2])
N_TOSSES = 10


@dataclass(frozen=True)
class TwoCoins:
    """Each row of tosses is of one of two equally frequent coins; their bias is unknown."""

    first_guess: tuple[float, float] = (0.6, 0.5)

    size = float(len(HEADS))
    evidence_method = "none"

    def start(self):
        return np.array(self.first_guess)

    def expect(self, bias):
        log_joint = log_likelihood_by_coin(bias)
        total = special.logsumexp(log_joint, axis=1)
        share = np.exp(log_joint - total[:, None])
        return Expectation((share.T @ HEADS, share.sum(axis=0)), float(total.sum()))

    def update(self, statistics):
        heads, weight = statistics
        return heads / (N_TOSSES * weight)

    def penalty(self, bias):
        return 0.0


class BoundedTwoCoins(TwoCoins):
    """The same, with a made-up penalty, to see that it is subtracted."""

    evidence_method = "bound"

    def penalty(self, bias):
        return 100.0


def log_likelihood_by_coin(bias):
    hits = special.xlogy(HEADS[:, None], bias)
    misses = special.xlog1py(N_TOSSES - HEADS[:, None], -np.asarray(bias))
    return np.log(0.5) + hits + misses


def log_likelihood(bias):
    return special.logsumexp(log_likelihood_by_coin(bias), axis=1).sum()


def test_one_step_is_the_step_by_hand():
    engine, problem = ExpectationMaximization(), TwoCoins()
    rng = np.random.default_rng(0)
    state, info = engine.step(problem, engine.init(problem, rng), rng)
    odds = np.exp(np.subtract(*log_likelihood_by_coin([0.6, 0.5]).T))
    first = odds / (1 + odds)
    assert_allclose(state.belief[0], (first @ HEADS) / (10 * first.sum()))
    assert_allclose(state.belief[1], ((1 - first) @ HEADS) / (10 * (1 - first).sum()))
    assert_allclose(info.objective, log_likelihood([0.6, 0.5]))


def test_the_end_is_the_maximum_of_the_likelihood():
    found = run(ExpectationMaximization(tolerance=1e-14), TwoCoins())
    best = optimize.minimize(
        lambda z: -log_likelihood(special.expit(z)), [1.0, -1.0], tol=1e-12
    )
    assert found.status is Status.CONVERGED
    assert_allclose(np.sort(found.posterior), np.sort(special.expit(best.x)), atol=1e-5)
    assert found.posterior[0] > found.posterior[1]
    assert np.isnan(found.log_evidence)
    assert found.evidence_method == "none"


def test_the_objective_never_falls():
    found = run(ExpectationMaximization(), TwoCoins())
    objective = [info.objective for info in found.trace]
    assert np.diff(objective).min() >= 0
    assert objective[-1] > objective[0] + 1


def test_the_change_is_the_gain_per_row():
    trace = run(ExpectationMaximization(), TwoCoins()).trace
    gain = trace[1].objective - trace[0].objective
    assert_allclose(trace[1].change, gain / 7)


def test_the_bound_is_the_log_normalizer_less_the_penalty_at_the_last_belief():
    found = run(ExpectationMaximization(), BoundedTwoCoins())
    assert_allclose(found.log_evidence, log_likelihood(found.posterior) - 100.0)
    assert found.evidence_method == "bound"
    assert found.log_evidence >= found.trace[-1].objective


def test_a_run_goes_on_from_where_an_earlier_one_stopped():
    problem = TwoCoins()
    with pytest.warns(ConvergenceWarning, match="reached max_steps after 3 steps"):
        short = run(ExpectationMaximization(max_steps=3), problem)
    resumed = run(ExpectationMaximization(), problem, state=short.state)
    assert_allclose(resumed.posterior, run(ExpectationMaximization(), problem).posterior)


def test_equal_guesses_stay_equal_for_want_of_a_reason_to_differ():
    found = run(ExpectationMaximization(), TwoCoins((0.5, 0.5)))
    assert_allclose(found.posterior, HEADS.mean() / N_TOSSES)


def bound_of(share, bias):
    """Return the bound ``E_q[log p(x, z)] + entropy of q`` for shares of the two coins."""
    log_joint = log_likelihood_by_coin(bias)
    return float((share * log_joint - special.xlogy(share, share)).sum())


def test_each_half_step_raises_the_bound_and_the_first_closes_its_gap():
    problem, bias = TwoCoins(), np.array([0.6, 0.5])
    share = np.full((len(HEADS), 2), 0.5)
    for _ in range(5):
        before = bound_of(share, bias)
        log_joint = log_likelihood_by_coin(bias)
        share = special.softmax(log_joint, axis=1)
        expectation = problem.expect(bias)
        closed = bound_of(share, bias)
        assert closed >= before
        assert_allclose(closed, log_likelihood(bias), rtol=1e-12)
        assert_allclose(expectation.log_normalizer, closed, rtol=1e-12)
        after = problem.update(expectation.statistics)
        state, report = ExpectationMaximization().step(
            problem, LatentState(bias, closed - 1.0), np.random.default_rng(0)
        )
        assert_allclose(state.belief, after, rtol=1e-12)
        assert_allclose(report.objective, closed, rtol=1e-12)
        assert_allclose(report.change, 1.0 / len(HEADS), rtol=1e-9)
        raised = bound_of(share, after)
        assert raised >= closed
        # No other parameters do better for these shares.
        for shift in (0.01, -0.01):
            assert bound_of(share, after + np.array([shift, 0.0])) < raised
            assert bound_of(share, after + np.array([0.0, shift])) < raised
        # A lower bound of the likelihood, which lies above it by a divergence.
        divergence = float(
            (
                share
                * (
                    np.log(share)
                    - np.log(special.softmax(log_likelihood_by_coin(after), axis=1))
                )
            ).sum()
        )
        assert_allclose(raised + divergence, log_likelihood(after), rtol=1e-12)
        bias = after
