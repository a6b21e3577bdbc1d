import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions.normal import Normal
from credo.plots.card import TITLE, text_width
from credo.plots.curve_card import CURVE_HEIGHT, CurveCard, ValueCard


def test_a_density_peaks_at_its_mean_and_fits_its_box(ax):
    card = CurveCard("height", Normal(1.7, 0.1))
    width, height = card.size
    card.draw(ax, (2.0, 3.0, width, height))
    x, y = ax.lines[0].get_data()
    assert x[np.argmin(y)] == pytest.approx(2.0 + width / 2)
    assert x.min() > 2.0
    assert x.max() < 2.0 + width
    assert y.min() > 3.0 + TITLE
    assert y.max() < 3.0 + height
    assert "1.70 ± 0.10" in [text.get_text() for text in ax.texts]


def test_the_curve_has_the_shape_of_the_density(ax):
    card = CurveCard("height", Normal(0.0, 2.0))
    card.draw(ax, (0.0, 0.0, *card.size))
    x, y = ax.lines[0].get_data()
    up = y.max() - y
    middle, spread = len(x) // 2, np.ptp(x) / 2
    z = 2.878  # 0.998 quantile of the standard normal
    assert_allclose(
        (up / up[middle])[::20],
        np.exp(-0.5 * (z * (x - x[middle]) / spread) ** 2)[::20],
        atol=0.02,
    )


@pytest.mark.parametrize("distribution", [Normal(1.0, 1e-20), Normal(0.0, 1e-310)])
def test_a_density_too_narrow_for_numbers_still_has_its_peak_in_the_middle(ax, distribution):
    card = CurveCard("height", distribution)
    card.draw(ax, (0.0, 0.0, *card.size))
    x, y = ax.lines[0].get_data()
    assert np.isfinite(x).all()
    assert np.isfinite(y).all()
    assert x[np.argmin(y)] == pytest.approx(card.size[0] / 2)
    assert np.ptp(y) > 0.5 * CURVE_HEIGHT


def test_a_given_number_is_a_line_with_its_value(ax):
    card = ValueCard("height", 1.75)
    card.draw(ax, (0.0, 0.0, *card.size))
    assert {"height", "given", "1.75"} == {text.get_text() for text in ax.texts}
    (x0, x1), (y0, y1) = ax.lines[1].get_data()
    assert x0 == x1
    assert y0 - y1 == pytest.approx(0.9 * CURVE_HEIGHT)


def test_longer_text_is_wider():
    assert text_width("smoker", 7.0) > text_width("smoke", 7.0)
    assert text_width("smoke", 14.0) == pytest.approx(2 * text_width("smoke", 7.0), rel=0.02)
