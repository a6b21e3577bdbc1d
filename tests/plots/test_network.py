""""""

import io

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.text import Text
from numpy.testing import assert_allclose

from credo.distributions.normal import Normal
from credo.graphs.factor import Factor
from credo.graphs.node.linear_gaussian import LinearGaussian
from credo.graphs.variable import Variable
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.factor_graph import FactorGraph
from credo.models.network.markov_random_field import MarkovRandomField
from credo.plots.network import (
    CURVE_HEIGHT,
    TITLE,
    CurveCard,
    ValueCard,
    network_figure,
    text_width,
)
from credo.plots.style import BLUE, ORANGE
from naive import sprinkler

SPRINKLER = sprinkler()


def drawn(figure):
    FigureCanvasAgg(figure).draw()
    return figure


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def bars(figure):
    """Return length and color of each bar over the length of its track, card by card."""
    found = []
    for cards in figure.findobj(PolyCollection):
        corners = [path.vertices for path in cards.get_paths()]
        lengths = [np.ptp(corner[:, 0]) for corner in corners]
        half = len(lengths) // 2
        colors = [to_hex(color).upper() for color in cards.get_facecolors()]
        shares = [
            bar / track for track, bar in zip(lengths[:half], lengths[half:], strict=True)
        ]
        found.append(list(zip(shares, colors[half:], strict=True)))
    return found


@pytest.mark.parametrize(
    "value", [{True: 0.8, False: 0.2}, [0.2, 0.8], (0.2, 0.8), np.array([0.2, 0.8])]
)
def test_every_way_to_write_a_likelihood_is_drawn_as_vague(value):
    figure = drawn(network_figure(SPRINKLER, given={"rain": value}))
    assert words(figure).count("vague") == 1
    rain = SPRINKLER.query("rain", {"rain": value})
    lengths = [[share for share, _ in card] for card in bars(figure)]
    assert any(card == pytest.approx(rain.tolist(), abs=1e-9) for card in lengths)


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_missing_finding_leaves_its_node_free(value):
    figure = drawn(network_figure(SPRINKLER, given={"rain": value, "wet": True}))
    assert words(figure).count("given") == 1
    assert "70.8 %" in words(figure)


def test_findings_may_be_a_series():
    figure = drawn(network_figure(SPRINKLER, given=pd.Series({"wet": True})))
    assert "70.8 %" in words(figure)


def test_likelihoods_by_series_are_vague():
    hint = pd.Series({True: 0.8, False: 0.2})
    assert "vague" in words(drawn(network_figure(SPRINKLER, given={"rain": hint})))


def test_bars_are_as_long_as_the_posteriors():
    figure = drawn(network_figure(SPRINKLER, given={"wet": True}))
    rain = SPRINKLER.query("rain", {"wet": True})
    lengths = [[share for share, _ in card] for card in bars(figure)]
    assert any(card == pytest.approx(rain.tolist(), abs=1e-9) for card in lengths)
    assert "70.8 %" in words(figure)
    assert "29.2 %" in words(figure)


def test_findings_are_marked_and_of_another_color():
    figure = drawn(network_figure(SPRINKLER, given={"wet": True}))
    assert words(figure).count("given") == 1
    colors = [{color for _, color in card} for card in bars(figure)]
    assert colors.count({ORANGE}) == 1
    assert colors.count({BLUE}) == 3
    assert [0.0, 1.0] in [[share for share, _ in card] for card in bars(figure)]


def test_interventions_are_marked_and_their_arrows_are_dashed():
    figure = drawn(network_figure(SPRINKLER, do={"sprinkler": True}))
    assert "set" in words(figure)
    dashed = [p for p in figure.findobj(PathPatch) if p.get_linestyle() not in ("-", "solid")]
    assert len(dashed) == 1
    cloud = [[share for share, _ in card] for card in bars(figure)]
    assert any(card == pytest.approx([0.5, 0.5]) for card in cloud)


def test_a_likelihood_is_drawn_as_vague_with_its_posterior():
    figure = drawn(network_figure(SPRINKLER, given={"cloud": {True: 0.9, False: 0.3}}))
    assert "vague" in words(figure)
    assert "75 %" in words(figure)


def test_every_arrow_has_a_head_that_touches_its_child():
    figure = drawn(network_figure(SPRINKLER))
    heads = [p for p in figure.findobj(Polygon)]
    assert len(heads) == len(SPRINKLER.graph.edges) == 4
    tops = {round(box.get_y(), 6) for box in figure.findobj(FancyBboxPatch)}
    for head in heads:
        assert round(float(head.get_xy()[0, 1]), 6) in tops


def test_text_stays_inside_its_box_and_boxes_do_not_overlap():
    long = BayesianNetwork(
        {"a_variable_with_a_long_name": [], "b": ["a_variable_with_a_long_name"]},
        cpts={
            "a_variable_with_a_long_name": {"a quite long state": 0.2, "no": 0.8},
            "b": [[0.5, 0.5], [1.0, 0.0]],
        },
        states={"b": ("WWWWWWWWWWWWWWW", "$x_1$")},
    )
    figure = network_figure(long, given={"b": "$x_1$"})
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    frames = [box.get_window_extent(renderer) for box in figure.findobj(FancyBboxPatch)]
    for text in figure.findobj(Text):
        if not text.get_text():
            continue
        extent = text.get_window_extent(renderer)
        assert any(
            frame.x0 - 0.5 <= extent.x0 and extent.x1 <= frame.x1 + 0.5 for frame in frames
        ), text.get_text()


def test_many_states_are_the_most_probable_ones_and_the_rest_in_one_line():
    share = np.full(40, 0.01)
    share[[3, 30]] = 0.31
    net = BayesianNetwork("many", {"many": share})
    figure = drawn(network_figure(net, max_states=3))
    assert words(figure)[1:] == ["3", "31 %", "30", "31 %", "38 more", "38 %"]


def test_a_structure_without_tables_is_drawn_with_names():
    figure = drawn(network_figure(BayesianNetwork("a -> b -> c")))
    assert sorted(words(figure)) == ["a", "b", "c"]


def test_an_undirected_network_has_lines_without_heads():
    a, b, c = (Variable(name, (-1, 1)) for name in "abc")
    table = [[2.0, 1.0], [1.0, 2.0]]
    field = MarkovRandomField([Factor((a, b), table), Factor((b, c), table)])
    figure = drawn(network_figure(field, given={"a": 1}))
    assert len(figure.findobj(PathPatch)) == 2
    assert figure.findobj(Polygon) == []
    assert "66.7 %" in words(figure)
    assert "55.6 %" in words(figure)


def test_a_figure_is_as_large_as_its_network_and_the_same_each_time():
    one, two = io.BytesIO(), io.BytesIO()
    for buffer in (one, two):
        network_figure(SPRINKLER, title="the lawn").savefig(buffer, format="png")
    assert one.getvalue() == two.getvalue()
    chain = BayesianNetwork(" -> ".join(f"v{i}" for i in range(12)))
    size = network_figure(chain, with_beliefs=False).get_size_inches()
    assert size[1] > 4
    assert size[0] < 2


def test_a_factor_graph_shows_its_factors_between_its_variables():
    a, b = Variable("a", (0, 1)), Variable("b", (0, 1))
    table = [[2.0, 1.0], [1.0, 2.0]]
    factors = {"prior": Factor((a,), [0.4, 0.6]), "link": Factor((a, b), table)}
    figure = drawn(network_figure(FactorGraph(factors)))
    assert {"a", "b", "prior", "link"} <= set(words(figure))
    assert len(figure.findobj(PathPatch)) == 3
    assert "53.3 %" in words(figure)


def test_real_variables_show_mean_and_sd_of_their_posterior():
    tables = {
        "size": LinearGaussian(10.0, {}, 2.0),
        "weight": LinearGaussian(1.0, {"size": 2.0}, 1.0),
    }
    figure = drawn(network_figure(BayesianNetwork("size -> weight", tables), {"weight": 25.0}))
    precision = 1 / 4 + 4
    mean = (10 / 4 + 2 * 24) / precision
    assert f"{mean:.2f} ± {precision**-0.5:.2f}" in words(figure)
    assert "25" in words(figure)
    assert words(figure).count("given") == 1


def test_a_long_title_is_broken_into_lines_that_fit():
    title = ", ".join(f"variable {i} = state {i}" for i in range(12))
    figure = drawn(network_figure(SPRINKLER, title=title))
    renderer = FigureCanvasAgg(figure).get_renderer()
    lines = [text for text in figure.findobj(Text) if text.get_fontsize() == 9.5]
    assert " ".join(line.get_text() for line in lines) == title
    for line in lines:
        extent = line.get_window_extent(renderer)
        assert extent.x1 <= figure.bbox.x1
        assert extent.y1 <= figure.bbox.y1


def test_a_density_peaks_at_its_mean_and_fits_its_box(ax):
    card = CurveCard("height", Normal(1.7, 0.1))
    width, height = card.size
    card.draw(ax, (2.0, 3.0, width, height))
    x, y = ax.lines[0].get_data()
    assert x[np.argmin(y)] == pytest.approx(2.0 + width / 2)
    assert x.min() > 2.0
    assert x.max() < 2.0 + width
    assert y.min() > 3.0 + TITLE
    assert y.max() < 3.0 + height
    assert "1.70 ± 0.10" in [text.get_text() for text in ax.texts]


def test_the_curve_has_the_shape_of_the_density(ax):
    card = CurveCard("height", Normal(0.0, 2.0))
    card.draw(ax, (0.0, 0.0, *card.size))
    x, y = ax.lines[0].get_data()
    up = y.max() - y
    middle, spread = len(x) // 2, np.ptp(x) / 2
    z = 2.878  # 0.998 quantile of the standard normal
    assert_allclose(
        (up / up[middle])[::20],
        np.exp(-0.5 * (z * (x - x[middle]) / spread) ** 2)[::20],
        atol=0.02,
    )


@pytest.mark.parametrize("distribution", [Normal(1.0, 1e-20), Normal(0.0, 1e-310)])
def test_a_density_too_narrow_for_numbers_still_has_its_peak_in_the_middle(ax, distribution):
    card = CurveCard("height", distribution)
    card.draw(ax, (0.0, 0.0, *card.size))
    x, y = ax.lines[0].get_data()
    assert np.isfinite(x).all()
    assert np.isfinite(y).all()
    assert x[np.argmin(y)] == pytest.approx(card.size[0] / 2)
    assert np.ptp(y) > 0.5 * CURVE_HEIGHT


def test_a_given_number_is_a_line_with_its_value(ax):
    card = ValueCard("height", 1.75)
    card.draw(ax, (0.0, 0.0, *card.size))
    assert {"height", "given", "1.75"} == {text.get_text() for text in ax.texts}
    (x0, x1), (y0, y1) = ax.lines[1].get_data()
    assert x0 == x1
    assert y0 - y1 == pytest.approx(0.9 * CURVE_HEIGHT)


def test_longer_text_is_wider():
    assert text_width("smoker", 7.0) > text_width("smoke", 7.0)
    assert text_width("smoke", 14.0) == pytest.approx(2 * text_width("smoke", 7.0), rel=0.02)
