import numpy as np
import pytest

from credo.study.candidates.proposal import Span

RNG = np.random.default_rng(0)
A = RNG.normal(size=(30, 4)) * [1e-6, 1.0, 1e6, 1.0] + [0.0, 1e3, 0.0, 0.0]


def augmented_rank(*parts):
    """Return the rank of the centered columns, by singular values."""
    joined = np.hstack(parts)
    centered = joined - joined.mean(axis=0)
    return np.linalg.matrix_rank(centered / np.maximum(centered.std(axis=0), 1e-12), tol=1e-7)


@pytest.mark.parametrize(
    "other",
    [
        A,
        A @ RNG.normal(size=(4, 4)),
        A @ RNG.normal(size=(4, 3)),
        np.hstack([A, A[:, :2] @ RNG.normal(size=(2, 3)), np.ones((30, 2))]),
        np.hstack([A[:, :3], RNG.normal(size=(30, 1))]),
        A[:, :3],
        np.zeros((30, 2)),
        np.empty((30, 0)),
    ],
)
def test_spans_are_equal_exactly_if_joining_them_adds_nothing(other):
    one, two = Span.of(A), Span.of(other)
    assert two.rank == (augmented_rank(other) if other.size else 0)
    is_same = augmented_rank(A) == augmented_rank(A, other) == two.rank
    assert one.equals(two) == two.equals(one) == is_same
