import numpy as np
import pytest

from credo.data import letter_image


@pytest.mark.parametrize("size", [128, 500, 2000])
def test_bar_and_ring_have_their_areas_at_any_size(size):
    is_ink = letter_image(size) > 0
    row, column = (np.indices((size, size)) + 0.5) / size
    # What a pixel on an outline counts too much or too little is at most half its length.
    assert abs(np.mean(is_ink & (row > 0.82)) - 0.05 * 0.84) < 1.0 / size
    ring = 2 * np.pi * 0.1 * 0.064
    assert abs(np.mean(is_ink & (row < 0.4) & (column > 0.68)) - ring) < 1.0 / size


def test_the_image_has_two_values_and_an_empty_border():
    image = letter_image()
    assert set(np.unique(image)) == {-1, 1}
    for side in (image[0], image[-1], image[:, 0], image[:, -1]):
        assert np.all(side == -1)
