import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import (
    Beta,
    Categorical,
    Empirical,
    MultivariateNormal,
    Normal,
    Poisson,
    Predictive,
    StudentT,
)
from credo.plots import density, prior_posterior


def test_a_continuous_distribution_is_a_curve_of_its_density(ax):
    assert density(Normal(1.0, 2.0), ax, label="height") is ax
    x, height = ax.lines[0].get_data()
    assert_allclose(height, stats.norm(1.0, 2.0).pdf(x))
    assert_allclose([x[0], x[-1]], stats.norm(1.0, 2.0).ppf([5e-4, 1 - 5e-4]))
    assert ax.get_ylim()[1] > height.max()
    assert ax.lines[0].get_label() == "height"


def test_a_narrow_peak_is_not_missed(ax):
    density(Beta(3e5, 7e5), ax, between=(0.0, 1.0))
    assert_allclose(ax.lines[0].get_ydata().max(), stats.beta(3e5, 7e5).pdf(0.3), rtol=1e-3)


def test_heavy_tails_leave_the_body_visible(ax):
    density(StudentT(1.0, 0.0, 1.0), ax)
    assert abs(ax.lines[0].get_xdata()).max() < 20.0


def test_a_density_without_a_maximum_is_cut(ax):
    density(Beta(0.5, 0.5), ax)
    assert ax.get_ylim()[1] < 10.0


def test_a_discrete_distribution_is_stems_at_its_outcomes(ax):
    density(Poisson(3.2), ax)
    x, height = ax.containers[0].markerline.get_data()
    assert_allclose(x, np.arange(x[0], x[-1] + 1))
    assert_allclose(height, stats.poisson(3.2).pmf(x))
    assert height.sum() > 0.998
    assert ax.get_ylabel() == "probability"


def test_labels_are_named_under_their_stems(ax):
    density(Categorical([0.2, 0.8], labels=["rain", "sun"]), ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["rain", "sun"]
    assert_allclose(ax.containers[0].markerline.get_ydata(), [0.2, 0.8])


def test_draws_are_a_weighted_histogram_of_area_one(ax):
    rng = np.random.default_rng(0)
    draws = rng.normal(size=500)
    density(Empirical(draws, weights=np.full(500, 1 / 500)), ax)
    area = sum(bar.get_width() * bar.get_height() for bar in ax.patches)
    assert_allclose(area, 1.0)


def test_a_predictive_is_drawn_as_its_marginal(ax):
    density(Predictive(Poisson(3.0), 0.0, 1.0), ax)
    assert len(ax.containers) == 1


def test_prior_and_posterior_share_the_range_of_both(ax):
    prior_posterior(Beta(1.0, 1.0), Beta(8.0, 4.0), ax, name="probability of heads")
    (prior, posterior) = ax.lines
    assert_allclose(prior.get_ydata(), 1.0)
    assert_allclose(
        posterior.get_ydata(), stats.beta(8, 4).pdf(posterior.get_xdata()), rtol=1e-8
    )
    assert prior.get_xdata()[0] < 0.01
    assert ax.get_ylim()[1] > posterior.get_ydata().max()
    assert ax.get_xlabel() == "probability of heads"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["prior", "posterior"]


def test_a_wide_prior_leaves_the_posterior_visible(ax):
    prior_posterior(Normal(0.0, 1e4), Normal(2.0, 0.3), ax)
    low, high = ax.lines[1].get_xdata()[[0, -1]]
    assert high - low < 10 * 0.3 * 2 * stats.norm.ppf(1 - 5e-4)


def test_stems_of_prior_and_posterior_stand_side_by_side(ax):
    prior_posterior(Poisson(3.0), Poisson(5.0), ax)
    first, second = (c.markerline.get_xdata() for c in ax.containers)
    assert not np.intersect1d(first, second).size


@pytest.mark.parametrize(
    "distribution", [Normal([0.0, 1.0], 1.0), MultivariateNormal(np.zeros(2), np.eye(2))]
)
def test_more_than_one_number_is_refused(distribution, ax):
    with pytest.raises(ValueError, match="draws one distribution of a number or a label"):
        density(distribution, ax)
