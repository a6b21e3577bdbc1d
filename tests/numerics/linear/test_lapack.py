"""Routines of LAPACK that leave the interpreter free: against NumPy, and in threads."""

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.numerics.linear import linear_algebra as lapack
from credo.numerics.parallel.threads import threads_for

RNG = np.random.default_rng(0)


def definite(n):
    root = RNG.normal(size=(n, n))
    return root @ root.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_factors_inverses_and_solutions_are_those_of_numpy(n):
    a, b = definite(n), RNG.normal(size=(n, 3))
    kept = a.copy()
    factor, failed = lapack.dpotrf(a)
    assert failed == 0
    assert_allclose(np.tril(factor), np.linalg.cholesky(a), rtol=1e-12)
    inverse, failed = lapack.dpotri(factor)
    assert failed == 0
    assert_allclose(np.tril(inverse), np.tril(np.linalg.inv(a)), rtol=1e-9, atol=1e-12)
    assert_allclose(lapack.dpotrs(factor, b)[0], np.linalg.solve(a, b), rtol=1e-9)
    assert_allclose(lapack.dpotrs(factor, b[:, 0])[0], np.linalg.solve(a, b[:, 0]), rtol=1e-9)
    assert np.array_equal(a, kept)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("is_turned", [False, True])
def test_triangles_in_either_order_are_solved(order, is_turned):
    lower = np.array(np.linalg.cholesky(definite(5)), order=order)
    with_other = lower + np.triu(RNG.normal(size=(5, 5)), 1)
    other = np.array(with_other, order=order)
    b = np.array(RNG.normal(size=(5, 2)), order=order)
    kept = b.copy()
    wanted = np.linalg.solve(lower.T if is_turned else lower, 2.0 * b)
    assert_allclose(lapack.dtrsm(2.0, other, b, trans_a=is_turned), wanted, rtol=1e-10)
    one = lapack.dtrsv(other, 2.0 * b[:, 0], trans_a=is_turned)
    assert_allclose(one, wanted[:, 0], rtol=1e-10)
    assert np.array_equal(b, kept)


def test_parts_of_arrays_and_none_at_all_are_taken():
    whole = np.asfortranarray(definite(9))
    part = whole[1:6, 1:6]
    assert_allclose(np.tril(lapack.dpotrf(part)[0]), np.linalg.cholesky(part), rtol=1e-12)
    factor = np.linalg.cholesky(part)
    assert_allclose(
        lapack.dtrsm(1.0, factor[::1], np.eye(5)[:, ::-1]),
        np.linalg.solve(factor, np.eye(5)[:, ::-1]),
        rtol=1e-10,
    )
    assert lapack.dpotrf(np.empty((0, 0)))[0].shape == (0, 0)
    assert lapack.dpotrs(np.empty((0, 0)), np.empty((0, 2)))[0].shape == (0, 2)


def test_squares_are_added_to_the_lower_triangle():
    a, c = RNG.normal(size=(4, 6)), RNG.normal(size=(4, 4))
    found = lapack.dsyrk(2.0, a, 0.5, c)
    assert_allclose(np.tril(found), np.tril(2.0 * a @ a.T + 0.5 * c), rtol=1e-12)
    assert_allclose(np.triu(found, 1), np.triu(c, 1))


def test_what_may_be_written_over_is():
    a = np.asfortranarray(definite(6))
    assert lapack.dpotrf(a, overwrite_a=True)[0] is a
    b = np.asfortranarray(RNG.normal(size=(6, 2)))
    assert lapack.dpotrs(a, b, overwrite_b=True)[0] is b


def test_a_matrix_that_is_not_definite_has_no_factor():
    matrix = np.diag([1.0, 2.0, -1.0])
    assert lapack.dpotrf(matrix)[1] == 3


def test_the_interpreter_is_free_meanwhile():
    a, ticks = np.asfortranarray(definite(1500)), []
    done = threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    other = threading.Thread(target=count)
    with threads_for(0):
        other.start()
        start = time.perf_counter()
        lapack.dpotri(lapack.dpotrf(a)[0])
        end = time.perf_counter()
        done.set()
        other.join()
    assert sum(start + 0.2 * (end - start) < t < end - 0.2 * (end - start) for t in ticks) >= 3


def test_arrays_that_do_not_fit_are_refused_before_any_work():
    factor = np.linalg.cholesky(definite(4))
    for work in (
        lambda: lapack.dpotrs(factor, np.ones((2, 1))),
        lambda: lapack.dtrsm(1.0, factor, np.ones((5, 3))),
        lambda: lapack.dsyrk(1.0, np.ones((3, 2)), 1.0, np.eye(4)),
        lambda: lapack.dpotrf(np.ones((3, 2))),
        lambda: lapack.cholesky(np.eye(4)).solve(np.ones((2, 1))),
    ):
        with pytest.raises(ValueError, match="shape"):
            work()


def test_whole_and_short_numbers_become_numbers_of_64_bits():
    for kind in (np.int64, np.float32):
        lower = np.array([[2, 0], [1, 3]], dtype=kind)
        found = lapack.dtrsm(1.0, lower, np.array([[4.0], [5.0]]))
        assert_allclose(found, [[2.0], [1.0]])


def test_what_must_not_be_written_over_is_copied():
    matrix = np.asfortranarray(4.0 * np.eye(3))
    matrix.flags.writeable = False
    factor, _ = lapack.dpotrf(matrix, overwrite_a=True)
    assert_allclose(np.diagonal(matrix), 4.0)
    assert_allclose(np.diagonal(factor), 2.0)
