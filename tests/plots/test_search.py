from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from credo import SupportVectorClassifier, SupportVectorRegressor
from credo.features import Matern52, SquaredExponential
from credo.plots import settings_map

X = np.linspace(-3.0, 3.0, 60)[:, None]
Y = np.sin(2.0 * X[:, 0]) > 0


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_colors_are_the_held_out_scores_and_the_best_is_framed(ax):
    kernels = [SquaredExponential(length) for length in (0.2, 1.0)]
    model = SupportVectorClassifier(kernels, C=(0.1, 1.0, 10.0)).fit(X, Y)
    assert settings_map(model, ax=ax) is ax
    shown = ax.images[0].get_array()
    assert_allclose(shown.reshape(-1), model.cv_results_["mean_test_score"])
    assert labels(ax.xaxis) == ["0.1", "1", "10"]
    assert labels(ax.yaxis) == ["0.2", "1.0"]
    assert ax.get_ylabel() == "kernel: SquaredExponential(length_scale=…)"
    row, column = np.unravel_index(np.argmax(shown), shown.shape)
    (frame,) = ax.patches
    assert frame.get_xy() == (column - 0.5, row - 0.5)
    assert next(text.get_text() for text in ax.texts) == f"{shown[0, 0]:.3g}"


def test_long_numbers_are_short_and_have_room(ax):
    lengths = np.logspace(-2, 1, 10)
    kernels = [SquaredExponential(length) for length in lengths]
    settings_map(SupportVectorClassifier(kernels, C=(0.1, 1.0)).fit(X, Y), ax=ax)
    shown = labels(ax.xaxis)
    assert len(set(shown)) == 10
    assert max(map(len, shown)) <= 6
    assert_allclose([float(word) for word in shown], lengths, rtol=6e-3)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.xaxis.get_ticklabels()]
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_numbers_that_differ_in_late_digits_are_written_out(ax):
    kernels = [SquaredExponential(length) for length in (1.000001, 1.000002)]
    settings_map(SupportVectorClassifier(kernels, C=(0.1, 1.0)).fit(X, Y), x="C", ax=ax)
    assert labels(ax.yaxis) == ["1.000001", "1.000002"]


def test_a_search_of_scikit_learn_is_drawn_too(ax):
    search = GridSearchCV(SVC(), {"gamma": [0.1, 1.0, 10.0], "C": [1.0, 100.0]}).fit(X, Y)
    settings_map(search, x="C", ax=ax)
    shown = ax.images[0].get_array()
    assert (ax.get_xlabel(), ax.get_ylabel(), shown.shape) == ("C", "gamma", (3, 2))
    assert_allclose(shown.T.reshape(-1), search.cv_results_["mean_test_score"])


def test_other_settings_are_at_their_best(ax):
    model = SupportVectorRegressor(
        [Matern52(0.3), SquaredExponential(1.0)], C=(0.1, 1.0, 10.0), epsilon=(0.01, 0.1)
    ).fit(X, np.sin(2.0 * X[:, 0]))
    settings_map(model, x="C", y="epsilon", ax=ax)
    scores = np.reshape(model.cv_results_["mean_test_score"], (2, 2, 3))
    assert_allclose(ax.images[0].get_array(), scores.max(axis=0))
    settings_map(model, x="C", y="kernel", ax=ax)
    assert ax.get_ylabel() == "kernel"
    assert labels(ax.yaxis)[0] == "Matern52(length_scale=0.3)"


def test_what_cannot_be_drawn_is_refused(ax):
    with pytest.raises(ValueError, match="needs a fitted search with cv_results_"):
        settings_map(SupportVectorClassifier().fit(X, Y), ax=ax)
    model = SupportVectorClassifier(C=(0.1, 1.0)).fit(X, Y)
    with pytest.raises(ValueError, match=r"found 'gamma'\. Choose from"):
        settings_map(model, x="gamma", ax=ax)
    search = GridSearchCV(SVC(), {"C": [1.0, 100.0]}).fit(X, Y)
    with pytest.raises(ValueError, match="needs two settings"):
        settings_map(search, ax=ax)
