import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo import plots

PATH = np.array([0, 0, 1, 1, 1, 0, 0, 1, 0])
TABLE = np.array([[0.6, 0.4], [0.3, 0.7]])
SHARE = np.eye(2)[PATH] * 0.8 + 0.1


@pytest.fixture
def ax():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return figure.add_subplot()


def test_a_ribbon_is_as_high_as_each_probability(ax):
    plots.state_ribbon(SHARE, np.arange(9.0), ax=ax)
    bands = ax.collections
    assert len(bands) == 2
    heights = bands[0].get_paths()[0].vertices[:, 1]
    assert_allclose(heights.max(), 0.9)
    assert ax.get_ylabel() == "probability of the state"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["state 0", "state 1"]


def test_a_trellis_has_a_place_for_each_state_and_row_and_shows_the_path(ax):
    plots.trellis(SHARE, PATH, ax=ax)
    assert len(ax.collections[0].get_offsets()) == 18
    assert_allclose(ax.lines[-1].get_ydata(), PATH)


def test_a_graph_names_every_transition_that_is_made(ax):
    plots.transition_graph([[0.6, 0.4], [0.0, 1.0]], names=["calm", "wild"], ax=ax)
    words = [text.get_text() for text in ax.texts]
    assert {"calm", "wild", "stays 0.60", "stays 1.00", "0.40"} <= set(words)
    assert "0.00" not in words


def test_stays_that_are_cut_by_an_end_do_not_count(ax):
    plots.duration_histogram(PATH, TABLE, ax=ax)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["state 0, 1 stays", "state 1, 2 stays"]
    assert_allclose(ax.lines[0].get_ydata(), 0.4 * 0.6 ** np.arange(3))
    bars = {round(bar.get_x() + bar.get_width() / 2, 6): bar.get_height() for bar in ax.patches}
    assert bars[1.8] == 1.0
    assert bars[1.2] == bars[3.2] == 0.5


def test_wrong_numbers_are_refused(ax):
    with pytest.raises(ValueError, match="sum to one"):
        plots.state_ribbon(np.ones((3, 2)), ax=ax)
    with pytest.raises(ValueError, match="a state from 0 to 1"):
        plots.trellis(SHARE, PATH + 1, ax=ax)
    with pytest.raises(ValueError, match="square table"):
        plots.transition_graph(np.ones((2, 3)), ax=ax)
