import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo.distributions import StudentT
from credo.inference.engine.engine import run
from credo.inference.latent.expectation_maximization import ExpectationMaximization
from credo.inference.latent.latent_class import IncompleteRows
from credo.inference.latent.student_t import StudentTProblem

ENGINE = ExpectationMaximization(tolerance=1e-13, max_steps=5000)


def rows(x, label=None, weight=None, k=1):
    n = len(x)
    label = np.zeros(n, dtype=np.intp) if label is None else label
    return IncompleteRows(x, label, np.ones(n) if weight is None else weight, k)


def fitted(*args, **settings):
    return run(ENGINE, StudentTProblem(rows(*args, **settings)))


@pytest.mark.parametrize("df", [1.5, 4.0, 12.0])
def test_the_estimate_is_the_maximum_that_scipy_finds(df):
    x = stats.t.rvs(df, loc=3.0, scale=0.7, size=400, random_state=1)
    found = fitted(x[:, None]).posterior
    theirs = stats.t.fit(x)
    ours = tuple(float(part[0, 0]) for part in (found.df, found.loc, found.scale))
    assert_allclose(ours, theirs, rtol=2e-3)
    assert stats.t.logpdf(x, *ours).sum() >= stats.t.logpdf(x, *theirs).sum() - 1e-7


def test_no_step_nearby_raises_the_likelihood_and_none_lowered_it():
    x = stats.t.rvs(3.0, loc=-1.0, scale=2.0, size=150, random_state=2)
    found = fitted(x[:, None])
    assert np.all(np.diff([step.objective for step in found.trace]) > -1e-9)
    best = found.posterior
    level = best.log_prob(x[:, None]).sum()
    for part in ("df", "loc", "scale"):
        for factor in (0.995, 1.005):
            names = ("df", "loc", "scale")
            moved = {n: getattr(best, n) * (factor if n == part else 1.0) for n in names}
            other = StudentT(**moved)
            assert other.log_prob(x[:, None]).sum() < level


def test_classes_columns_weights_and_gaps_are_as_if_apart():
    rng = np.random.default_rng(4)
    x = stats.t.rvs(3.0, size=(120, 2), random_state=4)
    label = np.arange(120) % 2
    weight = rng.integers(1, 4, 120).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    both = fitted(x, label, weight, 2).posterior
    for k in range(2):
        for j in range(2):
            own = np.repeat(x[label == k, j], weight[label == k].astype(int))
            alone = fitted(own[~np.isnan(own)][:, None]).posterior
            for name in ("df", "loc", "scale"):
                assert_allclose(
                    getattr(both, name)[k, j], getattr(alone, name)[0, 0], rtol=1e-4
                )


def test_units_do_not_matter():
    x = stats.t.rvs(3.0, size=(80, 1), random_state=5)
    plain, moved = fitted(x).posterior, fitted(1e3 * x + 1e6).posterior
    assert_allclose(moved.df, plain.df, rtol=1e-4)
    assert_allclose((moved.loc - 1e6) / 1e3, plain.loc, atol=1e-5)
    assert_allclose(moved.scale / 1e3, plain.scale, rtol=1e-4)


def test_columns_that_do_not_vary_have_a_scale_all_the_same():
    found = fitted(np.array([[2.0, 1.0], [2.0, 1.0], [2.0, 5.0], [2.0, 1.0]])).posterior
    assert_allclose(found.loc[0], [2.0, 1.0], atol=0.01)
    assert np.all(found.scale > 0)


def test_rows_without_a_label_are_refused():
    with pytest.raises(ValueError, match="class of every row must be known"):
        StudentTProblem(IncompleteRows.unlabeled([[1.0], [2.0]], 2))
