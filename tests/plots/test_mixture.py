import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose

from credo import GaussianMixture, KernelDensity, MixtureModel
from credo.data import load_set
from credo.inference import CollapsedGibbs
from credo.plots import density_plot
from credo.plots.mixture import drawn_density
from credo.plots.style import BLUE

TABLE = load_set("faithful")
GEYSER = TABLE.to_numpy()


def squares(points, mean, covariance):
    away = points - mean
    return np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)


def test_ellipses_are_at_one_distance_from_the_means(ax):
    model = GaussianMixture(2).fit(TABLE)
    density_plot(model, TABLE, ax=ax)
    thick = [line for line in ax.lines if line.get_linewidth() > 1]
    assert len(thick) == 2
    for k, line in enumerate(thick):
        points = np.column_stack(line.get_data())
        # Of a normal vector of two, 90 % is within a squared distance of -2 log 0.1.
        found = squares(points, model.means_[k], model.covariances_[k])
        assert_allclose(found, -2 * np.log(0.1), rtol=1e-9)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("eruptions", "waiting")


def test_rows_have_the_colors_of_their_components_mixed_as_surely(ax):
    model = GaussianMixture(2).fit(GEYSER)
    density_plot(model, GEYSER, ax=ax)
    (dots,) = [c for c in ax.collections if len(c.get_offsets()) == len(GEYSER)]
    share = model.predict_proba(GEYSER)
    sure = int(share[:, 0].argmax())
    assert_allclose(dots.get_facecolors()[sure, :3], to_rgb(BLUE), atol=1e-6)


def test_shaded_regions_hold_their_shares_of_rows():
    model = GaussianMixture(2).fit(GEYSER)
    drawn = drawn_density(model, GEYSER)
    rows = model.sample(20_000, random_state=0)
    height = np.exp(model.log_prob(rows))
    held = [(height > level).mean() for level in drawn.levels]
    assert_allclose(held, [0.99, 0.9, 0.5], atol=0.02)


def test_other_columns_are_integrated_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) @ [[1.0, 0.5, 0.2], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]
    model = GaussianMixture(1, inference="ml").fit(x)
    drawn = drawn_density(model, x, [2, 0])
    own = model.covariances_[0][np.ix_([2, 0], [2, 0])]
    place = np.array([drawn.x[40], drawn.y[70]])
    square = squares(place[None], model.means_[0, [2, 0]], own)[0]
    expected = np.exp(-0.5 * square) / (2 * np.pi * np.sqrt(np.linalg.det(own)))
    assert_allclose(drawn.height[70, 40], expected, rtol=1e-9)


def test_one_column_has_a_density_in_parts_that_integrates_to_one(ax):
    model = GaussianMixture(2, inference="variational").fit(GEYSER)
    drawn = drawn_density(model, GEYSER, 1)
    area = np.trapezoid(drawn.parts, drawn.x, axis=0)
    assert_allclose(area, np.exp(model.predictive_.log_weight), atol=0.01)
    assert drawn.draws.shape == (12, len(drawn.x))
    assert_allclose(np.trapezoid(drawn.draws, drawn.x, axis=1), 1.0, atol=0.02)
    # Draws differ, and lie about the mean of all.
    assert drawn.draws.std(axis=0).max() > 1e-4
    assert_allclose(drawn.draws.mean(axis=0), drawn.parts.sum(axis=1), atol=0.006)
    density_plot(model, GEYSER, 1, ax)
    assert ax.get_xlabel() == "column 1"


@pytest.mark.parametrize("inference", ["variational", CollapsedGibbs(40, 20, 1)])
def test_beliefs_and_draws_have_an_ellipse_for_each_component_of_each_draw(inference, ax):
    model = GaussianMixture(2, inference=inference, n_restarts=1).fit(GEYSER)
    drawn = drawn_density(model, GEYSER)
    assert len(drawn.draws) == 24
    centers = np.array([points.mean(axis=0) for k, points in drawn.draws if k == 0])
    assert_allclose(centers.mean(axis=0), model.means_[0], rtol=0.03)
    drawn.draw(ax)


def test_a_kernel_density_of_two_columns_is_that_of_its_bumps(ax):
    model = KernelDensity().fit(GEYSER)
    drawn = drawn_density(model, GEYSER)
    place = [[drawn.x[30], drawn.y[50]]]
    assert_allclose(np.log(drawn.height[50, 30]), model.log_prob(place)[0], rtol=1e-9)
    assert drawn.ellipses == ()
    density_plot(model, GEYSER, 0, ax)


def test_tables_show_columns_of_numbers_alone():
    table = TABLE.assign(kind=np.where(TABLE["eruptions"] > 3, "long", "short"))
    table.insert(0, "always", 1.0)
    model = MixtureModel(n_components=2, n_restarts=1).fit(table)
    assert drawn_density(model, table).labels == ("eruptions", "waiting")
    with pytest.raises(ValueError, match="columns must be one or two columns of numbers"):
        drawn_density(model, table, [1, 3])
