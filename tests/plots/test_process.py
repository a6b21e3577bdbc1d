import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_allclose

from credo import GaussianProcessRegressor
from credo.features import Linear, Matern52, Periodic
from credo.plots import component_figure, forecast_plot, prior_functions

X = np.linspace(0.0, 6.0, 25)
Y = np.sin(X) + 0.3 * X
KERNEL = (0.1 * Linear() + Periodic(1.0, 6.2832)).hold()
MODEL = GaussianProcessRegressor(KERNEL, noise=0.01).fit(X[:, None], Y)


def test_functions_of_the_prior_have_its_band(ax):
    prior_functions(4.0 * Matern52(1.0), [0.0, 5.0], np.random.default_rng(0), ax, n=400)
    values = np.array([line.get_ydata() for line in ax.lines])
    assert values.shape == (400, 300)
    points = ax.collections[0].get_paths()[0].vertices
    assert_allclose(points[:, 1].max(), 2.0 * 1.6449, rtol=1e-4)
    # A standard error of 0.015 for 400 functions, whose values hang together.
    assert np.mean(np.abs(values) < points[:, 1].max()) == pytest.approx(0.9, abs=0.05)


def test_a_prior_without_spread_at_some_input_has_a_band(ax):
    prior_functions(Linear(4.0), [0.0, 1.0], np.random.default_rng(0), ax, n=2)
    points = ax.collections[0].get_paths()[0].vertices
    assert_allclose(points[points[:, 0] == 0.0, 1], 0.0)
    assert_allclose(points[:, 1].max(), 2.0 * 1.6449, rtol=1e-4)


def test_a_forecast_counts_what_came_in_the_band(ax):
    ahead = np.array([6.5, 7.0, 7.5, 8.0])
    came = MODEL.predict(ahead[:, None]) + np.array([0.0, 0.0, 0.0, 90.0])
    forecast_plot(MODEL, X, Y, ahead, came, ax, coverage=0.8)
    assert ax.get_title(loc="right") == "75 % of what came is in the band"
    mean, seen, dots = ax.lines
    assert_allclose(mean.get_data(), (ahead, MODEL.predict(ahead[:, None])))
    assert_allclose(seen.get_data(), (X, Y))
    assert_allclose(dots.get_data(), (ahead, came))
    top = ax.collections[0].get_paths()[0].vertices[:, 1].max()
    assert_allclose(top, MODEL.predict_dist(ahead[:, None]).interval(0.8).max())


def test_without_what_came_nothing_is_counted(ax):
    forecast_plot(MODEL, X, Y, [7.0, 8.0], ax=ax)
    assert ax.get_title(loc="right") == ""
    assert len(ax.lines) == 2


def test_parts_are_drawn_around_their_averages_and_the_level_is_left_out():
    grid = np.linspace(0.0, 9.0, 40)
    figure = component_figure(MODEL, grid)
    FigureCanvasAgg(figure).draw()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["0.1 * Linear(variance=1.0)", "Periodic(length_scale=1.0, period=6.283)"]
    parts = MODEL.components(grid[:, None], centered=True)
    for ax, name in zip(figure.axes, ("part1", "part2"), strict=True):
        assert_allclose(ax.lines[0].get_data(), (grid, parts[name].mean()))
        top = ax.collections[0].get_paths()[0].vertices[:, 1].max()
        assert_allclose(top, parts[name].interval(0.9).max())


def test_parts_can_be_chosen_and_named():
    figure = component_figure(MODEL, X, titles={"part2": "season"})
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["season"]
