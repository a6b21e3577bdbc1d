import numpy as np
from numpy.testing import assert_allclose

from credo.plots import losses


def test_every_loss_is_drawn_as_a_bound_through_one_point(ax):
    assert losses(ax) is ax
    curves = {line.get_label(): line.get_data() for line in ax.lines[1:]}
    assert set(curves) == {"0-1", "logistic / ln 2", "hinge", "exponential", "quadratic"}
    z, errors = curves.pop("0-1")
    for _, height in curves.values():
        assert (height >= errors - 1e-12).all()
        assert_allclose(height[np.argmin(np.abs(z))], 1.0)
