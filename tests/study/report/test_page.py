import pytest

from credo.plots.style import legend_above
from credo.study.report.content import Page
from credo.study.report.page import page_html, svg_picture


@pytest.mark.filterwarnings("error")
def test_letters_that_no_font_has_stay_text_and_warn_of_nothing():
    text = svg_picture("letters", (2.0, 1.0), lambda axes: axes.set_xlabel("日本語"))
    assert "日本語" in text


@pytest.mark.parametrize("is_upright", [False, True])
def test_labels_of_ticks_find_room_within_the_picture(is_upright):
    names, seen = ["a name of twenty-five l.", "b"], []

    def draw(axes):
        seen.append(axes)
        axes.plot([0, 1], [0, 1])
        if is_upright:
            axes.set_xticks([0, 1], names, rotation=90)
        else:
            axes.set_yticks([0, 1], names)

    svg_picture("names", (4.0, 4.0), draw)
    (axes,) = seen
    axis, free = (axes.xaxis, axes.bbox.y0) if is_upright else (axes.yaxis, axes.bbox.x0)
    extents = [label.get_window_extent() for label in axis.get_majorticklabels()]
    needed = max(extent.height if is_upright else extent.width for extent in extents)
    assert needed < free < 2 * needed


def test_a_legend_on_top_of_the_axes_finds_room():
    heights = []
    for n_lines in (0, 7):

        def draw(axes, n_lines=n_lines):
            heights.append(axes)
            for line in range(n_lines):
                axes.plot([0, 1], label=f"line {line}")
            if n_lines:
                legend_above(axes)

        svg_picture("legend", (4.0, 3.0), draw)
    bare, crowded = heights
    legend = crowded.get_legend().get_window_extent()
    assert crowded.bbox.y1 < bare.bbox.y1
    assert legend.y1 <= crowded.figure.bbox.y1 + 1


def test_no_line_of_the_headline_ends_between_a_number_and_its_percent_sign():
    page = Page("t", "k", "Right for 82 % of <rows>.", (), (), "f")
    assert "<h1>Right for 82\u00a0% of &lt;rows&gt;.</h1>" in page_html(page)
