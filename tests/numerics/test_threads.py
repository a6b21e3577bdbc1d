"""Threads of matrix products, chosen by the size of the work."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from credo import LinearRegression, LogisticRegression
from credo.numerics import threads
from credo.numerics.threads import WORTH_THREADS, threads_for


def most_threads():
    return max(part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas")


def test_small_work_has_one_thread_and_large_work_those_that_were_there():
    with threadpool_limits(2, user_api="blas"):
        with threads_for(0):
            assert most_threads() == 1
        with threads_for(WORTH_THREADS):
            assert most_threads() == 2
        with pytest.raises(KeyError), threads_for(0):
            raise KeyError
        assert most_threads() == 2


@pytest.mark.parametrize("model", [LinearRegression(), LogisticRegression()])
def test_fits_and_predictions_have_the_same_bits_with_one_thread_and_two(model, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 20))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(int)
    alone = model.fit(x, y).predict(x), model.coef_.copy()
    monkeypatch.setattr(threads, "WORTH_THREADS", 0.0)
    with threadpool_limits(2, user_api="blas"):
        together = model.fit(x, y).predict(x), model.coef_
    np.testing.assert_array_equal(alone[0], together[0])
    np.testing.assert_allclose(alone[1], together[1], rtol=1e-12)
