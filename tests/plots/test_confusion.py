import numpy as np
from numpy.testing import assert_allclose

from credo.evaluation import Confusion
from credo.plots import confusion_table


def cells(ax):
    """Return what is written in the cells, by row and column."""
    return {
        (round(text.get_position()[1]), round(text.get_position()[0])): text.get_text()
        for text in ax.texts
    }


def test_each_cell_tells_count_share_and_interval(ax):
    confusion = Confusion.of_counts([[9, 1], [0, 20]], ["ok", "ill"])
    assert confusion_table(confusion, ax) is ax
    written = cells(ax)
    assert written[0, 0] == "9\n90 %\n(61 to 99)"
    assert written[1, 0] == "0\n0 %\n(0 to 14)"
    assert_allclose(ax.images[0].get_array(), [[0.9, 0.1], [0.0, 1.0]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ok", "ill"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "true")


def test_a_class_without_rows_says_so(ax):
    confusion_table(Confusion.of_counts([[3, 1], [0, 0]]), ax)
    assert cells(ax)[1, 1] == "0\nno rows"


def test_weights_are_written_with_a_decimal(ax):
    confusion_table(Confusion.of([0, 1], [0, 1], sample_weight=[0.5, 2.0]), ax)
    assert cells(ax)[0, 0].startswith("0.5\n100 %")


def test_many_classes_show_counts_alone_and_very_many_only_shades(ax):
    confusion_table(Confusion.of_counts(np.eye(8) * 5000), ax)
    assert cells(ax)[7, 7] == "5,000"
    ax.clear()
    confusion_table(Confusion.of_counts(np.eye(20)), ax)
    assert not ax.texts
