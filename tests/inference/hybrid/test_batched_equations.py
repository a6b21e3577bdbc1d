import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.hybrid.real_component import applied, cleared, reduced


@pytest.mark.parametrize(("m", "n", "k"), [(5, 3, 2), (4, 4, 1), (3, 0, 2), (6, 1, 4)])
def test_reduced_equations_have_the_solution_and_rest_of_least_squares(m, n, k):
    rng = np.random.default_rng(0)
    matrix, target = rng.normal(size=(2, 3, m, n)), rng.normal(size=(2, 3, k, m))
    rotated, root, log_volume = reduced(matrix, target)
    for at in np.ndindex(2, 3):
        weights = rng.normal(size=k)
        image, t = weights @ rotated[at], weights @ target[at]
        solution = np.linalg.lstsq(matrix[at], t, rcond=None)[0]
        assert_allclose(root[at] @ image[:n], solution, atol=1e-10)
        rest = np.sum((t - matrix[at] @ solution) ** 2)
        assert_allclose(np.sum(image[n:] ** 2), rest, atol=1e-10)
        gram = matrix[at].T @ matrix[at]
        assert_allclose(log_volume[at], -0.5 * np.linalg.slogdet(gram)[1], atol=1e-10)
        assert_allclose(root[at] @ root[at].T @ gram, np.eye(n), atol=1e-9)


def test_a_cleared_column_leaves_the_others_as_if_it_were_not_there():
    rng = np.random.default_rng(1)
    matrix, target = rng.normal(size=(1, 2, 5, 3)), rng.normal(size=(1, 2, 2, 5))
    seen = np.array([[False, False], [True, False], [True, True]])
    rotated, root, log_volume = reduced(*cleared(matrix, target, [0, 2], seen))
    assert rotated.shape[:2] == (3, 2)
    for group, kept in enumerate(([0, 1, 2], [1, 2], [1])):
        alone, own, volume = reduced(matrix[..., kept], target)
        gone = [i for i in range(3) if i not in kept]
        for setting in range(2):
            at, n = (group, setting), len(kept)
            mean = rotated[at][:, :3] @ root[at].T
            expected = alone[0, setting][:, :n] @ own[0, setting].T
            assert_allclose(mean[:, kept], expected, atol=1e-10)
            assert_allclose(mean[:, gone], 0.0, atol=1e-12)
            spread = root[at] @ root[at].T
            inside = own[0, setting] @ own[0, setting].T
            assert_allclose(spread[np.ix_(kept, kept)], inside, atol=1e-10)
            assert_allclose(spread[np.ix_(kept, gone)], 0.0, atol=1e-12)
            rest = np.sum(rotated[at][:, 3:] ** 2, axis=1)
            assert_allclose(rest, np.sum(alone[0, setting][:, n:] ** 2, axis=1), atol=1e-10)
            assert_allclose(log_volume[at], volume[0, setting], atol=1e-10)


def test_weights_are_applied_to_rows_by_their_group():
    rng = np.random.default_rng(2)
    columns, weights = rng.normal(size=(7, 3)), rng.normal(size=(2, 4, 3, 5))
    group = np.array([1, 0, 0, 1, 1, 0, 1])
    expected = np.einsum("rk,rskm->rsm", columns, weights[group])
    assert_allclose(applied(columns, weights, group), expected)
