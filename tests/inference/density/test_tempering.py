"""Sequential Monte Carlo on targets with several modes and known evidence."""

import numpy as np
import pytest
from scipy import special, stats

from credo.distributions import Normal, Uniform
from credo.inference import (
    BatchedDensity,
    Parameters,
    ProposalProblem,
    SequentialMonteCarlo,
    Steps,
    run,
)
from credo.inference.density.tempering import systematic
from credo.numerics.array import Array
from credo.numerics.special.bijection import Interval, real
from credo.numerics.status import Status


def _modes(d: int = 2, scale: float = 0.1) -> ProposalProblem:
    """Return ``5 (0.3 N(-2, s) + 0.7 N(2, s))`` in each of d dimensions together."""

    def log_density(values: dict[str, Array]) -> Array:
        x = values["x"]
        left, right = (
            stats.norm(center, scale).logpdf(x).sum(axis=1) + np.log(share)
            for center, share in ((-2.0, 0.3), (2.0, 0.7))
        )
        return np.asarray(np.logaddexp(left, right) + np.log(5.0))

    target = BatchedDensity(Parameters({"x": real(d)}), log_density)
    return ProposalProblem(target, {"x": Normal(np.zeros(d), 3.0)})


@pytest.mark.parametrize("d", [1, 4])
def test_both_modes_are_found_with_their_shares_and_the_evidence(d: int) -> None:
    engine = SequentialMonteCarlo(1000)
    found = run(engine, _modes(d), np.random.default_rng(0), chains=4)
    assert found.status is Status.CONVERGED
    assert found.error < 0.25
    assert found.log_evidence == pytest.approx(np.log(5.0), abs=4 * found.error)
    weight, x = found.posterior.weight, found.posterior.pooled("x")
    share = float(weight @ (x[:, 0] > 0))
    assert share == pytest.approx(0.7, abs=0.12)
    right = x[x[:, 0] > 0]
    assert right.mean() == pytest.approx(2.0, abs=0.02)
    assert right.std() == pytest.approx(0.1, abs=0.02)


def test_evidence_and_moments_of_a_coin_with_its_prior_as_start() -> None:
    coin = BatchedDensity(
        Parameters({"p": Interval(0.0, 1.0)}),
        lambda v: 750 * np.log(v["p"]) + 250 * np.log1p(-v["p"]),
    )
    problem = ProposalProblem(coin, {"p": Uniform(0.0, 1.0)})
    found = run(SequentialMonteCarlo(1000), problem, np.random.default_rng(0))
    assert found.log_evidence == pytest.approx(special.betaln(751, 251), abs=4 * found.error)
    p = found.posterior["p"].ravel()
    assert p.mean() == pytest.approx(751 / 1002, abs=0.002)
    assert p.std() == pytest.approx(stats.beta(751, 251).std(), rel=0.1)


def test_errors_of_the_evidence_are_of_the_right_size() -> None:
    gaps, errors = [], []
    for rng in np.random.default_rng(0).spawn(25):
        found = run(SequentialMonteCarlo(200, n_walks=3), _modes(1, 0.3), rng)
        gaps.append(found.log_evidence - np.log(5.0))
        errors.append(found.error)
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / 5
    assert 0.4 < np.std(gaps) / np.mean(errors) < 2.0


def test_each_step_keeps_the_share_of_particles_that_was_asked_for() -> None:
    engine = SequentialMonteCarlo(500, share=0.8)
    found = run(engine, _modes(), np.random.default_rng(0))
    temperatures = [step.temperature for step in found.trace]
    assert np.all(np.diff(temperatures) > 0)
    assert temperatures[-1] == 1.0
    # A weight of relative variance 1 / 0.8 - 1 in every step but the last.
    most = (1 / 0.8 - 1) * len(found.trace) / 500
    assert found.state.relative_variance[0] == pytest.approx(most, rel=0.15)
    assert len(
        run(SequentialMonteCarlo(500, share=0.3), _modes(), np.random.default_rng(0)).trace
    ) < len(temperatures)


def test_a_target_that_is_the_proposal_takes_one_step_and_has_no_error() -> None:
    law = Normal(1.0, 2.0)
    target = BatchedDensity(Parameters({"x": real()}), lambda v: law.log_prob(v["x"]) + 3.0)
    found = run(
        SequentialMonteCarlo(100), ProposalProblem(target, {"x": law}), np.random.default_rng(0)
    )
    assert len(found.trace) == 1
    assert found.log_evidence == pytest.approx(3.0, abs=1e-9)
    assert found.error == pytest.approx(0.0, abs=1e-6)


def test_picked_positions_are_within_one_of_their_share() -> None:
    rng = np.random.default_rng(0)
    weight = rng.dirichlet(np.full(20, 0.3))
    for n in (7, 20, 50) * 20:
        count = np.bincount(systematic(weight, rng, n), minlength=20)
        assert np.all(np.abs(count - n * weight) < 1.0)
    many = np.mean([np.bincount(systematic(weight, rng), minlength=20) for _ in range(4000)], 0)
    np.testing.assert_allclose(many / 20, weight, atol=0.002)


def test_a_run_that_is_cut_short_says_so() -> None:
    with pytest.warns(UserWarning, match="reached max_steps"):
        found = run(
            SequentialMonteCarlo(100), _modes(), np.random.default_rng(0), stop=Steps(1)
        )
    assert found.status is Status.MAX_STEPS
    assert np.isnan(found.log_evidence)
    assert found.error == np.inf


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="share between 0 and 1"):
        SequentialMonteCarlo(share=1.0)
