import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose
from scipy import stats

from credo.evaluation.laws import RankCalibration
from credo.plots import rank_figure, rank_plot
from credo.plots.style import BLUE, INK, ORANGE

RNG = np.random.default_rng(0)
EVEN = RNG.integers(100, size=400)
ENDS = np.rint(99 * RNG.beta(0.5, 0.5, size=400)).astype(int)
PAIR = RankCalibration(("slope", "noise"), np.column_stack([EVEN, ENDS]), 99)


def bars(ax):
    """Left ends, widths, heights and colors of the bars."""
    found = ax.containers[0]
    sizes = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in found]
    return np.array(sizes).T, [to_hex(bar.get_facecolor()).upper() for bar in found]


def test_bars_are_the_counts_of_ranks_over_the_band_of_a_right_engine(ax):
    assert rank_plot(PAIR, ax, "slope") is ax
    (start, width, height), colors = bars(ax)
    assert_allclose(start, np.arange(0, 100, 5) - 0.5)
    assert_allclose(width, 5.0)
    assert_allclose(height, np.histogram(EVEN, bins=20, range=(0, 100))[0])
    band = ax.patches[0]
    ends = [band.get_y(), band.get_y() + band.get_height()]
    assert_allclose(ends, stats.binom.interval(0.95, 400, 0.05))
    assert_allclose(ax.lines[0].get_ydata(), 20.0)
    assert set(colors) == {BLUE}
    assert ax.get_title() == f"slope: calibrated, p = {PAIR.p_value('slope'):.1g}"
    assert to_hex(ax.title.get_color()).upper() == INK
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["95 % of bins, if the engine is right"]
    assert ax.get_xlabel() == "rank of the truth among 99 draws"


def test_the_most_uneven_quantity_is_drawn_and_its_fault_is_told(ax):
    rank_plot(PAIR, ax)
    (_, _, height), colors = bars(ax)
    low, high = stats.binom.interval(0.95, 400, 0.05)
    expected = [BLUE if low <= count <= high else ORANGE for count in height]
    assert colors == expected
    assert colors[0] == colors[-1] == ORANGE
    assert ax.get_title() == "noise: too narrow, p < 1e-6"
    assert to_hex(ax.title.get_color()).upper() == ORANGE
    assert ax.get_ylim()[1] > height.max()


@pytest.mark.parametrize(("n", "n_columns"), [(1, 1), (2, 2), (5, 3)])
def test_every_quantity_has_a_panel_on_one_scale(n, n_columns):
    names = tuple(f"q{k}" for k in range(n))
    ranks = np.column_stack([ENDS] + [EVEN] * (n - 1))
    found = RankCalibration(names, ranks, 99)
    figure = rank_figure(found)
    FigureCanvasAgg(figure).draw()
    assert [ax.get_title().split(":")[0] for ax in figure.axes] == list(names)
    assert len({ax.get_position().x0 for ax in figure.axes}) == n_columns
    for ax, name in zip(figure.axes, names, strict=True):
        assert_allclose(bars(ax)[0][2], found.counts(name))
        assert_allclose(ax.get_ylim(), (0.0, 1.08 * found.counts("q0").max()))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["95 % of bins, if the engine is right"]
