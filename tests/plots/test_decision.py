import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.decisions import LossMatrix
from credo.plots import expected_losses

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
