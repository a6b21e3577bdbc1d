import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo.decisions import LossMatrix
from credo.evaluation import Confusion
from credo.evaluation import precision_recall_curve as precision_recall_of
from credo.evaluation import roc_curve as roc_of
from credo.plots import confusion_table, expected_losses, precision_recall_plot, roc_plot
from credo.plots.style import GRAY

SCORES = [0.9, 0.8, 0.7, 0.6, 0.55, 0.4]
LABELS = ["ill", "ill", "ok", "ill", "ok", "ok"]


def many(n_classes):
    """Return scores of one class after the other, ever easier to find."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % n_classes
    return y, [rng.normal(size=200) + (k + 1.0) * (y == k) for k in range(n_classes)]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_roc_curve_is_drawn_against_the_coin_with_its_area(ax):
    curve = roc_of(LABELS, SCORES, pos_label="ill")
    assert roc_plot(curve, ax) is ax
    coin, drawn = ax.lines
    assert_allclose(coin.get_data(), [[0, 1], [0, 1]])
    assert_allclose(drawn.get_data(), [curve.false_positive_rate, curve.true_positive_rate])
    ends = f"({curve.area.low:.3f} to {curve.area.high:.3f})"
    assert legend(ax) == ["a coin", f"ill: 0.889 {ends}"]


def test_precision_is_drawn_in_steps_against_the_base_rate(ax):
    curve = precision_recall_of(LABELS, SCORES, pos_label="ill")
    precision_recall_plot(curve, ax)
    coin, drawn = ax.lines
    assert_array_equal(coin.get_ydata(), 0.5)
    # The area under the steps is the average precision.
    x, y = drawn.get_data()
    assert_allclose(np.diff(x) @ y[1:], curve.average_precision.value)
    assert legend(ax)[1].startswith("ill: 0.917 (")


def test_each_class_has_a_curve(ax):
    y, scores = many(3)
    roc_plot([roc_of(y, score, pos_label=k) for k, score in enumerate(scores)], ax)
    assert [text.split(":")[0] for text in legend(ax)] == ["a coin", "0", "1", "2"]
    assert len({line.get_color() for line in ax.lines}) == 4


def test_of_many_classes_the_worst_are_named_and_the_others_gray(ax):
    y, scores = many(9)
    curves = [roc_of(y, score, pos_label=k) for k, score in enumerate(scores)]
    areas = np.array([curve.area.value for curve in curves])
    roc_plot(curves, ax)
    gray = [line for line in ax.lines[1:] if line.get_color() == GRAY]
    assert len(gray) == 2
    best = np.sort(areas)[-2:]
    assert legend(ax)[-1] == f"2 others: {best[0]:.3f} or more"
    named = [float(text.split(": ")[1].split()[0]) for text in legend(ax)[1:-1]]
    assert_allclose(np.sort(named), np.sort(areas)[:7].round(3), atol=1e-9)


def test_nothing_to_draw_is_refused(ax):
    with pytest.raises(ValueError, match="there must be a curve to draw; found none"):
        roc_plot((), ax)


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


TREAT = LossMatrix([[0, 10], [1, 0]], ["well", "ill"], ["send home", "treat"])


def test_each_action_is_a_line_and_the_best_rule_their_lower_edge(ax):
    assert expected_losses(TREAT, ax) is ax
    home, treat, best, threshold = ax.lines
    p = home.get_xdata()
    assert_allclose(home.get_ydata(), 10 * p)
    assert_allclose(treat.get_ydata(), 1 - p)
    assert_allclose(best.get_ydata(), np.minimum(10 * p, 1 - p))
    assert_allclose(threshold.get_xdata(), 1 / 11)
    assert [text.get_text().strip() for text in ax.texts] == ["9.1 %"]
    assert ax.get_xlabel() == "probability of ill"


def test_rejecting_is_an_action_with_its_own_line_and_thresholds(ax):
    expected_losses(LossMatrix.zero_one(["no", "yes"]), ax, reject=0.2)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["no", "yes", "reject", "best action"]
    assert_allclose(ax.lines[2].get_ydata(), 0.2)
    assert_allclose([line.get_xdata()[0] for line in ax.lines[4:]], [0.2, 0.8])


def test_three_classes_have_no_such_picture(ax):
    with pytest.raises(ValueError, match="need 2 classes; found 3"):
        expected_losses(LossMatrix.zero_one(list("abc")), ax)
