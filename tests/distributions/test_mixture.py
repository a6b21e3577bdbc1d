import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from credo.distributions import Empirical, Gamma, Mixture, Normal, Poisson, StudentT, Uniform

ROWS = 5
RNG = np.random.default_rng(0)
BATCH = Mixture(
    RNG.dirichlet([1.0, 1.0, 1.0], size=ROWS),
    (
        Normal(RNG.normal(size=ROWS), 0.1),
        Normal(RNG.normal(size=ROWS), 1.0),
        Normal(3.0, RNG.uniform(1, 5, size=ROWS)),
    ),
)


def test_moments_follow_the_law_of_total_variance():
    w = BATCH.weights
    means = np.column_stack([np.broadcast_to(c.mean(), ROWS) for c in BATCH.components])
    variances = np.column_stack([np.broadcast_to(c.variance(), ROWS) for c in BATCH.components])
    mean = (w * means).sum(axis=1)
    assert_allclose(BATCH.mean(), mean)
    assert_allclose(
        BATCH.variance(), (w * (variances + (means - mean[:, None]) ** 2)).sum(axis=1)
    )


def test_crps_of_normal_mixture_agrees_with_quadrature_of_the_same_mixture():
    y = np.linspace(-2, 4, ROWS)
    numeric = BATCH.expected_distance(y) - 0.5 * super(Mixture, BATCH).mean_difference()
    assert_allclose(BATCH.crps(y), numeric, rtol=1e-8)


def test_mean_difference_by_pairs_agrees_with_the_integral_of_the_cdf():
    rng, n = np.random.default_rng(1), 20
    parts = (
        StudentT(5.0, rng.normal(size=n), 0.1),
        Gamma(0.5, rng.uniform(0.1, 5.0, size=n)),
        Normal(rng.normal(size=n), rng.uniform(0.01, 3.0, size=n)),
    )
    d = Mixture([0.2, 0.3, 0.5], parts)
    # A few nodes per piece are worth about six digits.
    assert_allclose(d.mean_difference(), super(Mixture, d).mean_difference(), rtol=2e-6)
    assert_allclose(d[7].mean_difference(), d.mean_difference()[7], rtol=1e-12)


def test_narrow_component_inside_a_wide_one_is_not_missed():
    d = Mixture([0.3, 0.7], (Normal(0.0, 1e-3), Normal(0.5, 2.0)))
    cuts = [-30, -1, -0.01, -0.002, 0.0, 0.002, 0.01, 1, 30]
    pieces = [
        integrate.quad(lambda x: -d.prob(x) * d.log_prob(x), a, b, epsabs=1e-12)[0]
        for a, b in itertools.pairwise(cuts)
    ]
    assert_allclose(d.entropy(), sum(pieces), rtol=1e-7)
    assert abs(d.mode()) < 1e-6
    assert_allclose(d.cdf(d.quantile([0.2, 0.45, 0.6])), [0.2, 0.45, 0.6], rtol=1e-12)


def test_mode_is_the_higher_of_two_peaks_and_lies_between_close_ones():
    apart = Mixture([0.45, 0.55], (Normal(-3.0, 1.0), Normal(3.0, 1.0)))
    assert_allclose(apart.mode(), 3.0, atol=1e-4)
    close = Mixture([0.5, 0.5], (Normal(-0.5, 1.0), Normal(0.5, 1.0)))
    assert_allclose(close.mode(), 0.0, atol=1e-6)
    assert_allclose(
        Mixture([0.5, 0.5], (Uniform(0, 1), Normal(0.5, 0.1))).mode(), 0.5, atol=1e-6
    )


def test_component_without_weight_changes_nothing():
    alone, padded = (
        StudentT(5.0, 1.0, 2.0),
        Mixture([1.0, 0.0], (StudentT(5.0, 1.0, 2.0), StudentT(1.5, 50.0, 1.0))),
    )
    assert_allclose(padded.variance(), alone.variance())
    assert_allclose(padded.log_prob(0.3), alone.log_prob(0.3))
    assert_allclose(padded.quantile([0.01, 0.5]), alone.quantile([0.01, 0.5]), rtol=1e-12)
    # Quadrature on one side, closed form on the other.
    assert_allclose(padded.crps(0.3), alone.crps(0.3), rtol=1e-6)


def test_gamma_mixture_with_singular_density_keeps_its_entropy():
    d = Mixture([0.5, 0.5], (Gamma(0.7, 1.0), Gamma(4.0, 2.0)))
    left = integrate.quad(lambda u: -2 * u * d.prob(u * u) * d.log_prob(u * u), 0, 1)[0]
    right = integrate.quad(lambda x: -d.prob(x) * d.log_prob(x), 1, 60)[0]
    # A density that is infinite at zero costs the outcome grid some digits.
    assert_allclose(d.entropy(), left + right, rtol=1e-4)


def test_draws_come_from_each_of_two_hundred_components():
    n_parts, n = 200, 100_000
    d = Mixture(
        np.full(n_parts, 1.0 / n_parts), [Normal(10.0 * k, 0.1) for k in range(n_parts)]
    )
    x = d.sample(np.random.default_rng(0), n)
    counts = np.bincount(np.rint(x / 10.0).astype(int), minlength=n_parts)
    assert len(counts) == n_parts
    assert np.abs(counts - n / n_parts).max() < 5 * np.sqrt(n / n_parts)
    assert abs((x - 10.0 * np.rint(x / 10.0)).std() - 0.1) < 0.002


def test_support_and_extreme_levels_leave_out_components_without_weight():
    d = Mixture([0.3, 0.7, 0.0], (Uniform(0, 1), Uniform(2, 3), Normal(0, 1)))
    assert_allclose(d.support(), [0.0, 3.0])
    assert d.quantile([0.0, 1.0]).tolist() == [0.0, 3.0]
    assert d.upper_quantile([0.0, 1.0]).tolist() == [3.0, 0.0]


def test_responsibility_is_bayes_rule():
    d = Mixture([0.3, 0.7], (Normal(0.0, 1.0), Normal(2.0, 1.0)))
    joint = np.array([0.3 * Normal(0, 1).prob(0.4), 0.7 * Normal(2, 1).prob(0.4)])
    assert_allclose(d.responsibility(0.4), joint / joint.sum())


def test_indexing_a_mixture_keeps_weights_with_their_rows():
    part = BATCH[1:3]
    assert part.batch_shape == (2,)
    assert_allclose(part.cdf(0.5), BATCH.cdf(0.5)[1:3])
    shared = Mixture([0.5, 0.5], (Normal(np.arange(3.0), 1.0), Normal(0.0, 1.0)))
    assert_allclose(shared[2].mean(), 1.0)


def test_mixture_of_draws_is_the_pooled_set_of_draws():
    a, b = Empirical([1.1, 2.3]), Empirical([2.3, 5.0, 7.7])
    pooled = Empirical([1.1, 2.3, 2.3, 5.0, 7.7], [0.2, 0.2, 0.2, 0.2, 0.2])
    d = Mixture([0.4, 0.6], (a, b))
    points = np.array([0.0, 1.1, 2.3, 5.5])
    for name in ("cdf", "log_prob", "crps"):
        assert_allclose(getattr(d, name)(points), getattr(pooled, name)(points))
    for name in ("mean", "variance", "mode", "entropy", "interval"):
        assert_allclose(getattr(d, name)(), getattr(pooled, name)())
    assert_allclose(d.quantile([0.1, 0.5, 0.9]), [1.1, 2.3, 7.7])


def test_draws_between_whole_numbers_do_not_mix_with_counts():
    with pytest.raises(ValueError, match="must be whole numbers"):
        Mixture([0.5, 0.5], (Empirical([0.5, 1.0]), Poisson(2.0)))
    d = Mixture([0.5, 0.5], (Empirical([0.0, 4.0]), Poisson(2.0)))
    assert_allclose(d.cdf(d.quantile(0.6)), 0.5 * 0.5 + 0.5 * Poisson(2.0).cdf(3.0), rtol=1e-9)


def test_discrete_quantiles_of_a_batch_of_mixtures_reach_their_level():
    d = Mixture([0.5, 0.5], (Poisson([1.0, 40.0]), Poisson(3.0)))
    q = d.quantile([[0.1], [0.5], [0.95]])
    assert np.all(d.cdf(q) >= [[0.1], [0.5], [0.95]])
    assert np.all(d.cdf(q - 1) < [[0.1], [0.5], [0.95]])


def test_a_hundred_thousand_rows_are_answered_at_once():
    n = 100_000
    loc = np.random.default_rng(1).normal(size=n)
    d = Mixture([0.2, 0.5, 0.3], (Normal(loc, 0.1), Normal(-loc, 1.0), Normal(0.0, 5.0)))
    q = d.quantile(0.05)
    assert_allclose(d.cdf(q), 0.05, rtol=1e-10)
    assert np.isfinite(d.log_prob(loc)).all()


@pytest.mark.parametrize("level", [1e-300, 1e-40, 1e-5])
def test_quantiles_stay_exact_deep_in_the_tail(level):
    d = Mixture([0.5, 0.5], (Normal(0.0, 1.0), Normal(4.0, 0.5)))
    assert_allclose(d.cdf(d.quantile(level)), level, rtol=1e-9)
    assert_allclose(d.survival(d.upper_quantile(level)), level, rtol=1e-9)
