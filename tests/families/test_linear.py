import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from credo.distributions.gamma import Gamma
from credo.families.linear import LinearStatistics, Rows
from credo.families.linear_gaussian import LinearGaussianBelief, LinearGaussianGamma
from credo.numerics.linear.moments import Moments

DESIGN = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
TARGET = np.array([0.2, 0.9, 2.1, 2.8])
PRIOR = LinearGaussianBelief(np.zeros(2), 0.5 * np.eye(2), 4.0)
PRIOR_GAMMA = LinearGaussianGamma(
    np.array([0.3, -0.2]), np.array([[0.5, 0.1], [0.1, 0.8]]), Gamma(1.5, 0.7)
)

blocks = arrays(float, st.tuples(st.integers(3, 12), st.just(3)), elements=st.floats(-50, 50))


def of(block, weight=None):
    return LinearStatistics.of(block[:, :2], block[:, 2], weight)


def assert_same(a, b, atol=1e-7):
    a, b = a.moments, b.moments
    assert_allclose(a.weight, b.weight, atol=1e-9)
    assert_allclose(a.mean, b.mean, rtol=1e-7, atol=atol)
    assert_allclose(a.scatter, b.scatter, rtol=1e-7, atol=1e4 * atol)


@settings(max_examples=40, deadline=None)
@given(blocks, blocks)
def test_statistics_of_pooled_rows_is_the_sum_in_either_order(a, b):
    pooled = of(np.vstack([a, b]))
    assert_same(of(a) + of(b), pooled)
    assert_same(of(b) + of(a), pooled)


@settings(max_examples=40, deadline=None)
@given(blocks, blocks)
def test_subtracting_a_chunk_forgets_it(a, b):
    assert_same(of(a) + of(b) - of(b), of(a))


@settings(max_examples=40, deadline=None)
@given(blocks)
def test_weight_two_is_a_row_given_twice(a):
    weight = np.arange(len(a)) % 3
    assert_same(of(a, weight), of(np.repeat(a, weight, axis=0)))


def test_groups_in_one_pass_equal_separate_statistics():
    rng = np.random.default_rng(0)
    x, y, label = rng.normal(size=(500, 3)), rng.normal(size=(500, 2)), rng.integers(0, 4, 500)
    weight = rng.uniform(0.5, 2, 500)
    groups = LinearStatistics.by_group(x, y, label, 4, weight)
    for k, group in enumerate(groups):
        rows = label == k
        assert_same(group, LinearStatistics.of(x[rows], y[rows], weight[rows]))


def test_rows_are_kept_while_fewer_than_columns_and_stacking_turns_to_moments():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 8)), rng.normal(size=12)
    few, more = LinearStatistics.of(x[:3], y[:3]), LinearStatistics.of(x[3:6], y[3:6])
    assert isinstance((few + more).form, Rows)
    assert len((few + more).form.x) == 6
    total = few + more + LinearStatistics.of(x[6:], y[6:])
    assert isinstance(total.form, Moments)
    assert_same(total, LinearStatistics.of(x, y))
    left = few + more - few
    assert isinstance(left.form, Rows)
    assert_allclose(left.form.x, x[3:6])


def test_forgetting_rows_that_were_never_added_is_refused():
    x, y = np.eye(3)[:2], np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="can be forgotten"):
        LinearStatistics.of(x, y) - LinearStatistics.of(x + 1, y)


@pytest.mark.parametrize("shape", [(2, 3), (9, 3)])
def test_missing_values_are_refused_in_both_forms(shape):
    x = np.ones(shape)
    x[1, 2] = np.nan
    with pytest.raises(ValueError, match="neither conjugate nor positive semi-definite"):
        LinearStatistics.of(x, np.ones(shape[0]))


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_scatter_is_stable_under_large_offset(offset):
    x = np.random.default_rng(2).normal(size=(5000, 2)) + offset
    merged = LinearStatistics.of(x[:1700, :1], x[:1700, 1]) + LinearStatistics.of(
        x[1700:, :1], x[1700:, 1]
    )
    assert_allclose(merged.moments.scatter / 5000, np.cov(x.T, bias=True), rtol=1e-6)


def test_blocks_of_the_pass_do_not_show_in_the_moments():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200_000, 3)) * [1, 100, 1e-3] + np.arange(200_000)[:, None]
    moments = Moments.of([x])
    assert_allclose(moments.mean, x.mean(axis=0), rtol=1e-12)
    assert_allclose(moments.scatter / len(x), np.cov(x.T, bias=True), rtol=1e-9)


def test_posterior_and_predictive_match_the_worked_example():
    posterior = PRIOR.update(LinearStatistics.of(DESIGN, TARGET))
    assert_allclose(posterior.location, [0.1684210526, 0.8842105263], atol=1e-10)
    covariance = [[0.1585964912, -0.0673684211], [-0.0673684211, 0.0463157895]]
    assert_allclose(posterior.weights().covariance(), covariance, atol=1e-10)
    predictive = posterior.predictive().given([[1.0, 1.5], [1.0, 4.0]])
    assert_allclose(predictive.mean(), [1.4947368421, 3.7052631579], atol=1e-10)
    assert_allclose(predictive.variance(), [0.3107017544, 0.6107017544], atol=1e-10)


def test_evidence_matches_the_worked_example_and_the_gaussian_of_the_outputs():
    statistics = LinearStatistics.of(DESIGN, TARGET)
    assert_allclose(PRIOR.log_evidence(statistics), -4.8393921148, atol=1e-10)


def test_evidence_matches_grid_integration_over_the_weights():
    w0, w1 = np.meshgrid(np.linspace(-6, 6, 601), np.linspace(-6, 6, 601), indexing="ij")
    fit = w0[..., None] + w1[..., None] * DESIGN[:, 1]
    log_joint = (
        -0.5 * 0.5 * (w0**2 + w1**2)
        + np.log(0.5 / (2 * np.pi))
        + (0.5 * np.log(4 / (2 * np.pi)) - 2 * (TARGET - fit) ** 2).sum(axis=-1)
    )
    total = np.log(np.exp(log_joint).sum() * (12 / 600) ** 2)
    assert_allclose(PRIOR.log_evidence(LinearStatistics.of(DESIGN, TARGET)), total, rtol=1e-8)


@pytest.mark.parametrize("prior", [PRIOR, PRIOR_GAMMA])
def test_evidence_is_the_product_of_one_step_predictives(prior):
    total, belief = 0.0, prior
    for row, y in zip(DESIGN, TARGET, strict=True):
        total += float(belief.predictive().log_prob(row, y)[0])
        belief = belief.update(LinearStatistics.of(row[None], [y]))
    assert_allclose(prior.log_evidence(LinearStatistics.of(DESIGN, TARGET)), total)


@pytest.mark.parametrize("prior", [PRIOR, PRIOR_GAMMA])
def test_sequential_posterior_equals_batch_posterior(prior):
    batch = prior.update(LinearStatistics.of(DESIGN, TARGET))
    parts = prior.update(LinearStatistics.of(DESIGN[:1], TARGET[:1]))
    parts = parts.update(LinearStatistics.of(DESIGN[1:], TARGET[1:]))
    assert_allclose(parts.location, batch.location, rtol=1e-12)
    assert_allclose(parts.precision, batch.precision, rtol=1e-12)
    assert abs(parts.kl(batch)) < 1e-12


def test_divergence_with_unknown_noise_is_the_average_log_ratio_of_densities():
    other = LinearGaussianGamma(np.zeros(2), np.eye(2), Gamma(2.0, 1.0))
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(4000):
        draw = PRIOR_GAMMA.sample(rng)
        parts = [
            belief.noise.log_prob(draw.noise_precision)
            + belief.weights(draw.noise_precision).log_prob(draw.weights)
            for belief in (PRIOR_GAMMA, other)
        ]
        ratios.append(float(parts[0] - parts[1]))
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert abs(np.mean(ratios) - PRIOR_GAMMA.kl(other)) < 4 * error
    assert PRIOR_GAMMA.kl(PRIOR_GAMMA) == pytest.approx(0, abs=1e-12)


def test_mode_with_unknown_noise_is_a_maximum_of_the_joint_density():
    def log_density(weights, noise):
        joint = PRIOR_GAMMA.weights(noise).log_prob(weights)
        return float(joint + PRIOR_GAMMA.noise.log_prob(noise))

    mode = PRIOR_GAMMA.mode()
    top = log_density(mode.weights, mode.noise_precision)
    for step in (0.97, 1.03):
        assert log_density(mode.weights, mode.noise_precision * step) < top
        assert log_density(mode.weights + step - 1, mode.noise_precision) < top


def test_least_squares_gives_line_and_noise_of_the_worked_example():
    response = LinearStatistics.of(DESIGN, TARGET).maximum_likelihood()
    assert_allclose(response.weights, [0.15, 0.9], atol=1e-12)
    assert_allclose(1 / response.noise_precision, 0.0125, atol=1e-12)


def test_posterior_variance_narrows_like_one_over_the_number_of_rows():
    spread = [
        np.trace(
            PRIOR.update(LinearStatistics.of(DESIGN, TARGET, np.full(4, n)))
            .weights()
            .covariance()
        )
        for n in (100.0, 1000.0)
    ]
    assert_allclose(spread[0] / spread[1], 10, rtol=0.01)


def test_a_row_without_weight_leaves_no_trace_however_far_out():
    rng = np.random.default_rng(5)
    x, y, weight = rng.normal(size=(300, 2)), rng.normal(size=300), np.ones(300)
    x[0], y[0], weight[0] = 1e12, -1e12, 0.0
    found, expected = LinearStatistics.of(x, y, weight), LinearStatistics.of(x[1:], y[1:])
    assert_allclose(found.moments.scatter, expected.moments.scatter, rtol=1e-12)
    assert_allclose(found.moments.mean, expected.moments.mean, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n_rows", [3, 9])
def test_outputs_that_are_not_numbers_are_refused_in_both_forms(n_rows, bad):
    y = np.ones(n_rows)
    y[1] = bad
    with pytest.raises(ValueError, match="must be finite"), np.errstate(invalid="ignore"):
        LinearStatistics.of(np.ones((n_rows, 5)), y)


def test_pooled_moments_are_symmetric_to_the_last_bit():
    rng = np.random.default_rng(0)
    parts = [Moments.of([rng.normal(rng.normal(size=7), size=(9, 7))]) for _ in range(5)]
    pooled = sum(parts[1:], parts[0])
    assert (pooled.scatter == pooled.scatter.T).all()
