"""Descent by batches against least squares in closed form."""

import itertools

import numpy as np

from credo.numerics.optimize import adam_epochs, early_stop


def test_batches_lead_to_the_least_squares_fit():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=600)

    def gradient(w, rows):
        return x[rows].T @ (x[rows] @ w - y[rows]) / len(rows)

    epochs = adam_epochs(gradient, np.zeros(3), 600, np.random.default_rng(1), 60, 0.05)
    *_, found = itertools.islice(epochs, 60)
    exact = np.linalg.lstsq(x, y, rcond=None)[0]
    np.testing.assert_allclose(found, exact, atol=0.01)


def test_first_step_has_the_length_that_was_asked_for_downhill():
    epochs = adam_epochs(
        lambda w, rows: np.array([5.0, -3.0]), [1.0, 1.0], 4, np.random.default_rng(0), 4, 0.01
    )
    np.testing.assert_allclose(next(epochs), [0.99, 1.01], atol=1e-8)


def test_early_stop_takes_the_best_pass_over_held_out_rows():
    epochs = adam_epochs(
        lambda w, rows: np.ones(1), [0.0], 10, np.random.default_rng(0), 5, 0.1
    )
    found = early_stop(itertools.islice(epochs, 40), lambda w: float((w[0] + 0.45) ** 2), 3)
    assert abs(found.best[0] + 0.45) < 0.1
    assert len(found.errors) < 40
