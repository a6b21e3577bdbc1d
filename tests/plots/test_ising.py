import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_array_equal

from credo.plots import denoising_figure

TRUTH = np.array([[1, 1, -1, -1]] * 5)
NOISY = TRUTH * [[0.5, -2.0, 1.5, 4.0]]
ANSWERS = {"max_flow": TRUTH, "mine": -TRUTH}


def panels(figure):
    return {ax.get_title().split("\n")[0]: ax for ax in figure.axes if ax.get_visible()}


def test_each_panel_tells_its_share_of_wrong_pixels():
    figure = denoising_figure(NOISY, ANSWERS, TRUTH)
    FigureCanvasAgg(figure).draw()
    titles = [ax.get_title() for ax in panels(figure).values()]
    assert titles == [
        "truth",
        "noisy\n25.00 % wrong",
        "max-flow\n0.00 % wrong",
        "mine\n100.00 % wrong",
    ]


def test_wrong_pixels_are_marked_where_they_are():
    answer = TRUTH.copy()
    answer[3, 1] = -1
    ax = panels(denoising_figure(NOISY, {"gibbs": answer}, TRUTH))["Gibbs"]
    x, y = ax.lines[0].get_data()
    assert (x.tolist(), y.tolist()) == ([1], [3])
    assert_array_equal(ax.images[0].get_array(), answer)


def test_without_the_truth_nothing_is_called_wrong():
    figure = denoising_figure(NOISY, ANSWERS)
    assert list(panels(figure)) == ["noisy", "max-flow", "mine"]
    assert not any("wrong" in ax.get_title() for ax in figure.axes)
    assert figure.get_supxlabel() == ""


@pytest.mark.parametrize("n", [1, 4])
def test_empty_places_stay_invisible(n):
    figure = denoising_figure(NOISY, {f"a{k}": TRUTH for k in range(n)}, TRUTH)
    assert sum(ax.get_visible() for ax in figure.axes) == n + 2
