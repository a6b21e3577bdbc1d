import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose
from sklearn.linear_model import Perceptron

from credo.models import NearestNeighborsClassifier
from credo.plots import boundary
from credo.plots.decision_boundary import CLASS_COLORS

X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4.0, 3.0]])
Y = np.array(["west", "east", "west", "east"])


def model(x=X, y=Y, **settings):
    return NearestNeighborsClassifier(1, standardize=False, **settings).fit(x, y)


def test_the_line_of_one_neighbor_is_the_bisector(ax):
    assert boundary(model(), X, Y, ax) is ax
    (line,) = [c for c in ax.collections if c.get_paths()]
    vertices = np.concatenate([path.vertices for path in line.get_paths()])
    assert len(vertices) > 100
    assert_allclose(vertices[:, 0], 2.0, atol=0.02)
    far = X + 1000.0
    other = ax.figure.add_subplot(2, 1, 2)
    boundary(model(far), far, Y, other)
    (line,) = [c for c in other.collections if c.get_paths()]
    vertices = np.concatenate([path.vertices for path in line.get_paths()])
    assert_allclose(vertices[:, 0], 1002.0, atol=0.02)


def test_each_class_has_its_color_and_surer_is_fuller(ax):
    boundary(model(prior_strength=0.0), X, Y, ax)
    image = ax.images[0].get_array()
    east, west = (1.0 - 0.5 * (1.0 - np.array(to_rgb(c))) for c in CLASS_COLORS[:2])
    assert_allclose(image[0, 0], west)
    assert_allclose(image[0, -1], east)
    faint = model(prior_strength=5.0)
    boundary(faint, X, Y, ax)
    assert np.abs(ax.images[1].get_array()[0, 0] - image[0, 0]).max() > 0.05


def test_the_rows_lie_where_they_are_and_are_counted(ax):
    boundary(model(), X, Y, ax)
    assert_allclose(np.transpose(ax.lines[0].get_data()), X[Y == "east"])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["east: 2 rows", "west: 2 rows"]


def test_the_upper_row_of_the_image_is_the_upper_end_of_the_second_input(ax):
    boundary(model(y=["low", "low", "up", "up"], prior_strength=0.0), X, Y, ax)
    image = ax.images[0]
    assert image.origin == "lower"
    assert_allclose(image.get_extent(), [-0.32, 4.32, -0.24, 3.24])
    low = 1.0 - 0.5 * (1.0 - np.array(to_rgb(CLASS_COLORS[0])))
    assert_allclose(image.get_array()[0, 0], low)


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_keep_their_names(library, ax):
    frame = library.DataFrame({"length": X[:, 0], "width": X[:, 1]})
    boundary(model(frame), frame, Y, ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")


def test_a_foreign_classifier_without_probabilities_can_be_drawn(ax):
    boundary(Perceptron(random_state=0).fit(X, Y), X, Y, ax)
    assert len(np.unique(np.asarray(ax.images[0].get_array()).reshape(-1, 3), axis=0)) == 2


def test_three_classes_have_three_lines_that_meet(ax):
    three = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    boundary(model(three, ["a", "b", "c"]), three, np.array(["a", "b", "c"]), ax)
    assert len([c for c in ax.collections if c.get_paths()]) == 3


def test_three_inputs_and_eight_classes_are_refused(ax):
    with pytest.raises(ValueError, match=r"two inputs; found X of shape \(4, 3\)"):
        boundary(model(), np.ones((4, 3)), Y, ax)
    many = np.random.default_rng(0).normal(size=(16, 2))
    with pytest.raises(ValueError, match="at most 7 classes"):
        boundary(model(many, np.arange(16) % 8), many, np.arange(16) % 8, ax)
