import numpy as np
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from credo.plots.latent import (
    Axis,
    GroupMap,
    GroupRanges,
    GroupShares,
    Pulls,
    ScoreHistogram,
)


def axes():
    return Figure().subplots()


def test_a_map_shows_each_row_in_the_color_of_its_group():
    rows = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    outline = np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 0.0]])
    label = np.array([0, 1, -1])
    drawing = GroupMap(
        Axis("x", (0.0, 2.0), ("low", "high")),
        Axis("y"),
        rows,
        label,
        ("a", "b"),
        (outline, outline),
    )
    ax = drawing.draw(axes())
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert_allclose([line.get_xydata()[0] for line in dots], rows[[2, 0, 1]])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["low", "high"]
    assert ax.get_xlim()[1] > 9


def test_ranges_have_a_line_for_each_group_and_one_for_all():
    low, middle, high = np.array([[0.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 4.0, 3.0]])
    ax = GroupRanges("x", low, middle, high, ("1", "2"), Axis("x")).draw(axes())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "2", "all"]
    assert_allclose([line.get_xdata()[0] for line in ax.lines], middle)


def test_shares_of_levels_fill_each_bar():
    shares = np.array([[0.2, 0.8], [0.5, 0.5]])
    ax = GroupShares("color", ("red", "blue"), shares, ("1",)).draw(axes())
    widths = np.array([patch.get_width() for patch in ax.patches]).reshape(2, 2)
    assert_allclose(widths.T, shares)


def test_scores_are_counted_on_both_sides_of_the_threshold():
    score = np.array([0.0, 0.1, 0.2, 5.0, 900.0])
    ax = ScoreHistogram(score, 3.0).draw(axes())
    heights = [
        sum(patch.get_height() for patch in container.patches) for container in ax.containers
    ]
    assert heights == [3, 2]
    assert "beyond" in ax.get_xlabel()


def test_bars_go_to_the_side_of_the_correlation():
    ax = Pulls("axis 1", ("up", "down"), np.array([0.9, -0.4])).draw(axes())
    assert_allclose([patch.get_width() for patch in ax.patches], [0.9, -0.4])
