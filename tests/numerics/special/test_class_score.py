import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special, stats

from credo.numerics.parallel import threads
from credo.numerics.special import class_score
from credo.numerics.special.class_score import (
    add_binary,
    add_polya,
    add_student_t,
    class_probability,
)

RNG = np.random.default_rng(0)
N, D, K = 150, 5, 3
NAN = np.nan


@pytest.fixture(
    params=[(60, 0.0), (1 << 21, 0.0), (1 << 21, np.inf)],
    ids=["many blocks", "one block", "plain"],
    autouse=True,
)
def _way(request, monkeypatch):
    n_entries, seconds = request.param
    monkeypatch.setattr(threads, "BLOCK_ENTRIES", n_entries)
    monkeypatch.setattr(class_score._plain_time, "left", seconds)


def both_ways(monkeypatch, run):
    """Return what a run gives with and without compiled loops."""
    for seconds in (0.0, np.inf):
        monkeypatch.setattr(class_score._plain_time, "left", seconds)
        yield run()


def student_t(df):
    loc, scale = RNG.normal(size=(K, D)), RNG.uniform(0.5, 2.0, (K, D))
    law = stats.t(df, loc, scale)
    peak = law.logpdf(loc)
    return law, (loc, 1 / (scale * np.sqrt(df)), 0.5 * (df + 1), peak)


@pytest.mark.parametrize("size", [1.0, 1e20, 1e70])
@pytest.mark.parametrize("df", [np.full((K, D), 4.0), RNG.integers(1, 4, (K, D)) * 1.5])
def test_plain_student_t_scores_have_the_bits_of_compiled_ones(df, size, monkeypatch):
    # A value far out changes how its tile of rows is summed, and blocks change the tiles.
    monkeypatch.setattr(threads, "BLOCK_ENTRIES", 1 << 21)
    _, parameters = student_t(df)
    x, start = size * RNG.normal(size=(N, D)), RNG.normal(size=(N, K))
    x[RNG.uniform(size=x.shape) < 0.05] = NAN
    x[[3, 70]] = NAN
    x[RNG.uniform(size=x.shape) < 0.02] *= 1e60

    def run():
        score = start.copy()
        assert add_student_t(score, x, parameters)
        return score

    assert_array_equal(*both_ways(monkeypatch, run))


@pytest.mark.parametrize("factor", [1.0, 0.5, 9.0, 0.0])
def test_plain_word_scores_have_the_bits_of_compiled_ones(factor, monkeypatch):
    counts = sparse.csr_array(RNG.integers(0, 4, (N, D)) * factor)
    concentration, start = RNG.uniform(0.1, 9.0, (K, D)), RNG.normal(size=(N, K))

    def run():
        score = start.copy()
        add_polya(score, counts, concentration)
        return score

    assert_array_equal(*both_ways(monkeypatch, run))


def test_plain_probabilities_have_the_bits_of_compiled_ones(monkeypatch):
    score = 5 * RNG.normal(size=(N, K))
    score[1::13] = score[1::13, :1]
    score[::7, 0] = -np.inf
    score[::11, 1] = np.inf
    score[[40, 90]] = -np.inf
    compiled, plain = both_ways(monkeypatch, lambda: class_probability(score))
    assert compiled[2] == plain[2] == 40
    for one, other in zip(compiled[:2], plain[:2], strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize(
    "df", [np.full((K, D), 4.0), np.full((K, D), 1e6), RNG.integers(1, 4, (K, D)) * 1.5]
)
@pytest.mark.parametrize("size", [1.0, 1e20, 1e70])
def test_student_t_scores_are_summed_log_densities(df, size):
    law, parameters = student_t(df)
    x = size * RNG.normal(size=(N, D))
    x[RNG.uniform(size=x.shape) < 0.05] = NAN
    x[3] = NAN
    score = np.ones((N, K))
    assert add_student_t(score, x, parameters)
    expected = 1.0 + np.nansum(law.logpdf(x[:, None]), axis=-1)
    assert_allclose(score, expected, rtol=1e-9)


def test_small_terms_of_many_degrees_of_freedom_keep_their_digits():
    df = np.full((1, D), 1e13)
    one = np.ones((1, D))
    score, x = np.zeros((N, 1)), RNG.normal(size=(N, D))
    add_student_t(score, x, (0.0 * one, one / np.sqrt(df), 0.5 * (df + 1), 0.0 * one))
    assert_allclose(score[:, 0], -0.5 * (x**2).sum(axis=1), rtol=1e-9)


def test_infinity_is_reported():
    _, parameters = student_t(np.full((K, D), 4.0))
    x = RNG.normal(size=(N, D))
    x[100, 2] = -np.inf
    assert not add_student_t(np.zeros((N, K)), x, parameters)


def test_binary_scores_are_summed_log_probabilities_and_may_be_minus_infinity():
    p = np.vstack([RNG.uniform(size=(K - 1, D)), [0.0, 1.0, 0.5, 0.5, 0.5]])
    x = (RNG.uniform(size=(N, D)) < 0.5).astype(float)
    x[RNG.uniform(size=x.shape) < 0.1] = NAN
    with np.errstate(divide="ignore"):
        one, zero = np.log(p), np.log(1 - p)
    score = np.zeros((N, K))
    assert add_binary(score, x, one, zero)
    chosen = np.where(x[:, None] == 1, one, zero)
    expected = np.where(np.isnan(x)[:, None], 0.0, chosen).sum(axis=-1)
    assert_allclose(score, expected)
    assert np.isneginf(score[:, -1]).any()
    x[7, 0] = 2.0
    assert not add_binary(score, x, one, zero)


def test_polya_scores_differ_from_the_dirichlet_multinomial_by_the_arrangements():
    counts = RNG.poisson(1.5, (N, D)).astype(float)
    counts[0], counts[1, 0] = 0.0, 5000.0
    concentration = RNG.uniform(0.01, 20.0, (K, D))
    score = np.zeros((N, K))
    add_polya(score, sparse.csr_array(counts), concentration)
    total = counts.sum(axis=1)
    arranged = special.gammaln(total + 1) - special.gammaln(counts + 1).sum(axis=1)
    for k in range(K):
        expected = stats.dirichlet_multinomial.logpmf(
            counts.astype(int), concentration[k], total.astype(int)
        )
        assert_allclose(score[:, k] + arranged, expected, rtol=1e-8, atol=1e-9)


def test_polya_scores_of_fractions_follow_the_gamma_function():
    score = np.zeros((1, 1))
    add_polya(score, sparse.csr_array([[0.5, 2.0]]), np.array([[1.0, 3.0]]))
    expected = special.gammaln(1.5) + np.log(3 * 4) - special.gammaln(6.5) + special.gammaln(4)
    assert_allclose(score, expected)


def test_probabilities_are_softmax_and_impossible_rows_are_named():
    score = 1e3 * RNG.normal(size=(N, K))
    score[5, 0] = -np.inf
    probability, best, impossible = class_probability(score)
    assert_allclose(probability, special.softmax(score, axis=1))
    assert_array_equal(best, probability.argmax(axis=1))
    assert impossible is None
    score[[90, 120]] = -np.inf
    assert class_probability(score)[2] == 90


def test_parameters_of_other_columns_or_classes_are_refused():
    score, x, short = np.zeros((4, 2)), np.zeros((4, 3)), np.ones((2, 2))
    with pytest.raises(ValueError, match=r"must have shape \(2, 3\).*found \(2, 2\)"):
        add_student_t(score, x, (np.ones((2, 3)),) * 3 + (short,))
    with pytest.raises(ValueError, match="a row for each class"):
        add_binary(score, x, short, np.ones((2, 3)))
    with pytest.raises(ValueError, match="a row for each class"):
        add_polya(score, sparse.csr_array(x), np.ones((3, 3)))
