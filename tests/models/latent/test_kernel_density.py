import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize, special, stats
from sklearn.datasets import load_iris
from sklearn.neighbors import KernelDensity as SklearnKernelDensity

import credo
from credo.models.latent.kernel_density import KernelDensity


def test_a_given_width_is_that_of_scikit_learn():
    x = load_iris().data
    new = x + 0.3 * np.random.default_rng(0).normal(size=x.shape)
    expected = SklearnKernelDensity(bandwidth=0.7).fit(x).score_samples(new)
    model = KernelDensity(0.7).fit(x)
    assert_allclose(model.log_prob(new), expected, rtol=1e-7)
    assert_allclose(model.score(new), expected.mean())


@pytest.mark.parametrize("width", [0.1, 0.7])
def test_the_density_is_a_weighted_sum_of_normals(width):
    x, rng = load_iris().data, np.random.default_rng(0)
    weight = rng.integers(0, 4, 150).astype(float)
    new = x[:20] + rng.normal(size=(20, 4))
    bumps = stats.norm(new[:, None], width).logpdf(x).sum(axis=2)
    expected = special.logsumexp(bumps, axis=1, b=weight / weight.sum())
    model = KernelDensity(width).fit(x, sample_weight=weight)
    assert_allclose(model.log_prob(new), expected, rtol=1e-9)


def test_the_density_integrates_to_one():
    x = np.random.default_rng(0).gamma(2.0, size=(40, 1))
    model = KernelDensity().fit(x)
    total, _ = integrate.quad(lambda t: np.exp(model.log_prob([[t]])[0]), -20, 40, limit=200)
    assert_allclose(total, 1.0, rtol=1e-6)
    plane = KernelDensity().fit(np.random.default_rng(1).normal(size=(15, 2)))
    grid = np.linspace(-12, 12, 601)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    assert_allclose(np.exp(plane.log_prob(points)).sum() * (grid[1] - grid[0]) ** 2, 1.0)


def left_out(x, width):
    """Log density of each row by the others, one by one."""
    total = 0.0
    for i in range(len(x)):
        other = SklearnKernelDensity(bandwidth=width).fit(np.delete(x, i, axis=0))
        total += other.score_samples(x[i : i + 1])[0]
    return total


def test_the_width_makes_rows_that_are_left_out_most_probable():
    x = np.random.default_rng(0).normal(size=(40, 2)) ** 3
    x /= x.std(axis=0)
    found = optimize.minimize_scalar(
        lambda u: -left_out(x, np.exp(u)), bounds=(-3, 1), method="bounded"
    )
    model = KernelDensity().fit(x)
    assert_allclose(model.width_, np.exp(found.x), rtol=1e-4)
    assert_allclose(model.log_evidence_, -found.fun, rtol=1e-8)


def test_copies_do_not_explain_each_other():
    x = np.round(np.random.default_rng(0).normal(size=(60, 1)), 1)
    width = KernelDensity().fit(x).width_
    assert width > 0.1
    assert_allclose(KernelDensity().fit(np.repeat(x, 2, axis=0)).width_, width, rtol=0.05)


def test_rules_are_those_for_normal_rows():
    x = np.random.default_rng(0).normal(size=(500, 1)) * 3.0
    assert_allclose(KernelDensity("scott").fit(x).width_, x.std() * 500 ** (-0.2))
    silverman = KernelDensity("silverman").fit(x).width_
    assert_allclose(silverman, x.std() * (500 * 3 / 4) ** (-0.2))
    assert 0.5 < KernelDensity().fit(x).width_ / silverman < 2.0


def test_many_rows_choose_by_a_sample(monkeypatch):
    x = np.random.default_rng(0).normal(size=(400, 1))
    whole = KernelDensity().fit(x)
    monkeypatch.setattr("credo.inference.latent.kernel_density.LEFT_OUT", 200)
    part = KernelDensity().fit(x)
    assert_allclose(part.width_, whole.width_, rtol=0.5)
    assert_allclose(part.log_evidence_, whole.log_evidence_, rtol=0.1)


def test_new_rows_have_the_moments_of_the_bumps():
    x = np.random.default_rng(0).normal(size=(30, 2)) * [1.0, 5.0]
    model = KernelDensity(0.5).fit(x)
    drawn = model.sample(200_000, random_state=0)
    assert_allclose(drawn.mean(axis=0), x.mean(axis=0), atol=0.05)
    assert_allclose(drawn.var(axis=0), x.var(axis=0) + 0.25, rtol=0.02)


def test_tables_and_files(tmp_path):
    table = pd.DataFrame(load_iris().data[:40], columns=list("abcd"))
    model = KernelDensity().fit(table)
    credo.save(model, tmp_path / "bumps.credo")
    again = credo.load(tmp_path / "bumps.credo")
    assert_allclose(again.log_prob(table), model.log_prob(table))


@pytest.mark.parametrize(
    ("width", "rows", "message"),
    [
        (0.0, np.eye(3), "width must be a positive number"),
        ("wide", np.eye(3), "width must be one of"),
        ("leave-one-out", np.ones((4, 2)), "needs rows that differ"),
        ("leave-one-out", [[1.0]], "needs rows that differ"),
        (1.0, [[np.inf]], "infinity|finite"),
        (1.0, [[np.nan]], "NaN"),
    ],
)
def test_what_has_no_density_is_refused(width, rows, message):
    with pytest.raises(ValueError, match=message):
        KernelDensity(width).fit(rows)


def test_constant_columns_and_one_row_have_a_density():
    x = np.column_stack([np.random.default_rng(0).normal(size=30), np.full(30, 4.0)])
    assert np.isfinite(KernelDensity().fit(x).log_prob(x)).all()
    model = KernelDensity(2.0).fit([[3.0]])
    assert_allclose(np.exp(model.log_prob([[3.0]])), 0.1994711402)
    assert model.log_evidence_ == -np.inf
