import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose

from credo.plots import weights
from credo.plots.style import BLUE, GRAY

TABLE = pd.DataFrame(
    {
        "mean": [0.5, -3.0, 0.0, 1.0],
        "sd": [1.0, 0.5, 0.0, 0.1],
        "low": [-1.1, -3.8, 0.0, 0.8],
        "high": [2.1, -2.2, 0.0, 1.2],
    },
    index=["age", "dose", "dropped", "weight"],
)


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_weights_are_shown_in_the_order_of_their_certainty(ax):
    assert weights(TABLE, ax) is ax
    assert names(ax) == ["weight", "dose", "age", "dropped"]
    lines, points = ax.collections
    assert_allclose(points.get_offsets()[:, 0], [1.0, -3.0, 0.5, 0.0])
    ends = np.array(lines.get_segments())[:, :, 0]
    assert_allclose(ends, [[0.8, 1.2], [-3.8, -2.2], [-1.1, 2.1], [0.0, 0.0]])


def test_weights_in_one_unit_can_be_shown_by_size(ax):
    weights(TABLE, ax, order="size")
    assert names(ax) == ["dose", "weight", "age", "dropped"]


def test_an_unknown_order_is_refused(ax):
    with pytest.raises(ValueError, match='"certainty" or "size"; found \'name\''):
        weights(TABLE, ax, order="name")


def test_a_weight_of_unknown_sign_is_gray(ax):
    weights(TABLE, ax)
    colors = [to_hex(color) for color in ax.collections[0].get_colors()]
    assert colors[:3] == [BLUE.lower(), BLUE.lower(), GRAY.lower()]


def test_only_the_most_certain_are_shown_and_the_title_says_so(ax):
    weights(TABLE, ax, n_terms=2)
    assert names(ax) == ["weight", "dose"]
    assert ax.get_title(loc="left") == "2 of 4 weights"


def test_weights_of_many_sizes_are_shown_on_a_compressed_axis_with_few_ticks(ax):
    table = pd.DataFrame({"mean": 10.0 ** np.arange(-4, 5), "sd": 1e-5})
    table["low"], table["high"] = table["mean"] - 1e-5, table["mean"] + 1e-5
    weights(table, ax)
    assert ax.get_xscale() == "symlog"
    assert ax.get_xlabel() == "weight (logarithmic away from zero)"
    assert_allclose(ax.get_xticks(), [-1e4, -1e1, 0.0, 1e1, 1e4])


def test_a_name_is_shown_as_it_is_even_if_it_looks_like_a_formula(ax):
    weights(TABLE.rename(index={"age": "$\\frac$ per $", "dose": "a_{b}$^$"}), ax)
    assert "$\\frac$ per $" in names(ax)
    ax.figure.canvas.draw()


def test_a_table_without_weights_is_refused(ax):
    with pytest.raises(ValueError, match="table must have rows, and columns mean"):
        weights(TABLE.drop(columns="sd"), ax)
