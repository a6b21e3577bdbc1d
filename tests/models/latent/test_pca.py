import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.pipeline import make_pipeline

import credo
from credo.models.latent.pca import PCA, Whiten

ROWS = np.array([[2, 0, 1], [0, 1, 3], [1, 4, 0], [3, 2, 2], [4, 3, 4]], dtype=float)


def test_five_rows_have_the_worked_numbers():
    model = PCA().fit(ROWS)
    assert_allclose(model.explained_variance_, [2.8278819919, 2.1569868065, 1.0151312016])
    assert_allclose(model.components_[0], [0.7284743309, 0.1931865864, 0.6572701819])
    assert_allclose(model.components_[1], [0.1415774204, 0.8962516858, -0.4203436090])
    assert_allclose(model.mean_, 2.0)


@pytest.mark.parametrize(("n", "error"), [(1, 15.8605900405), (2, 5.0756560080)])
def test_what_is_lost_is_the_variance_of_the_other_axes(n, error):
    model = PCA(n).fit(ROWS)
    assert_allclose(model.reconstruction_error(ROWS).sum(), error)
    assert_allclose(5.0 * model.axes_.lost, error)
    restored = model.inverse_transform(model.transform(ROWS))
    assert_allclose(np.square(ROWS - restored).sum(), error)
    assert_allclose(model.denoise(ROWS), restored)


def test_coordinates_solve_a_least_squares_problem():
    model = PCA(2).fit(ROWS)
    new = np.array([[1.0, -2.0, 0.5]])
    solved = linalg.lstsq(model.components_.T, (new - model.mean_).T)[0]
    assert_allclose(model.transform(new), solved.T)


def test_axes_are_found_one_by_one_by_power_iteration_with_deflation():
    x = load_wine().data
    model, covariance = PCA(3).fit(x), np.cov(x.T, bias=True)
    for axis, variance in zip(model.components_, model.explained_variance_, strict=True):
        found = np.ones(13)
        for _ in range(2000):
            found = covariance @ found
            found /= np.linalg.norm(found)
        assert_allclose(np.abs(found @ axis), 1.0, rtol=1e-9)
        assert_allclose(found @ covariance @ found, variance, rtol=1e-9)
        covariance = covariance - variance * np.outer(axis, axis)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
@pytest.mark.parametrize("method", ["exact", "random"])
def test_tall_and_wide_tables_agree_with_scikit_learn(shape, method):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) * np.arange(1, shape[1] + 1) + 100.0
    model, other = PCA(3, method, random_state=0).fit(x), SklearnPCA(3).fit(x)
    n = shape[0]
    assert_allclose(model.explained_variance_, other.explained_variance_ * (n - 1) / n)
    assert_allclose(model.explained_variance_ratio_, other.explained_variance_ratio_)
    assert_allclose(np.abs(model.transform(x)), np.abs(other.transform(x)), atol=1e-7)


def test_weights_are_copies_and_chunks_are_the_whole():
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=(30, 4)) * [3, 2, 1, 0.5], rng.integers(0, 3, 30)
    copied = PCA(2).fit(np.repeat(x, weight, axis=0))
    weighted = PCA(2).fit(x, sample_weight=weight)
    assert_allclose(weighted.components_, copied.components_, atol=1e-12)
    streamed = PCA(2)
    for part in np.array_split(np.repeat(x, weight, axis=0), 4):
        streamed.partial_fit(part)
    assert_allclose(streamed.explained_variance_, copied.explained_variance_)


@pytest.mark.parametrize(("share", "n"), [(0.4, 1), (0.5, 2), (0.83, 2), (0.84, 3)])
def test_a_share_of_variance_takes_the_fewest_axes_that_explain_it(share, n):
    # 0.4713, 0.8308 and all of the variance.
    assert PCA(share).fit(ROWS).n_components_ == n


def test_the_evidence_chooses_as_minka_does():
    x = load_wine().data / load_wine().data.std(axis=0)
    expected = SklearnPCA("mle").fit(x).n_components_
    assert PCA("evidence").fit(x).n_components_ == expected
    with pytest.raises(ValueError, match="needs more rows than columns"):
        PCA("evidence").fit(x[:8])


def test_a_large_mean_costs_no_digits():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 3)) * [3, 2, 1]
    near, far = PCA().fit(x), PCA().fit(x + 1e8)
    assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-6)


def test_white_rows_have_unit_covariance_and_come_back():
    x = load_wine().data
    model = Whiten().fit(x)
    white = model.transform(x)
    assert_allclose(white.T @ white / len(x), np.eye(13), atol=1e-10)
    assert_allclose(white.mean(axis=0), 0.0, atol=1e-10)
    assert_allclose(model.inverse_transform(white), x)


def test_whitening_leaves_out_what_does_not_vary():
    x = np.column_stack([ROWS, ROWS.sum(axis=1), np.full(5, 7.0)])
    assert Whiten().fit(x).n_components_ == 3
    with pytest.raises(ValueError, match="rows must differ"):
        Whiten().fit(np.ones((4, 2)))


def test_tables_pipelines_and_files(tmp_path):
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    model = PCA(2).set_output(transform="pandas").fit(table)
    assert list(model.transform(table).columns) == ["pca0", "pca1"]
    chain = make_pipeline(PCA(2), Whiten()).fit(ROWS)
    white = chain.transform(ROWS)
    assert_allclose(white.T @ white / 5, np.eye(2), atol=1e-12)
    credo.save(model, tmp_path / "plane.credo")
    again = credo.load(tmp_path / "plane.credo")
    assert_allclose(again.transform(table), PCA(2).fit_transform(ROWS))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 4}, "n_components must be from 1 to 3"),
        ({"n_components": 0}, "n_components must be from 1 to 3"),
        ({"n_components": 1.5}, "share of variance"),
        ({"n_components": "two"}, "share of variance"),
        ({"method": "exakt"}, "method must be one of"),
        ({"method": "random"}, "needs a number of components"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        PCA(**settings).fit(ROWS)
    if "n_components" in settings:
        with pytest.raises(ValueError, match=message):
            PCA(**settings).partial_fit(ROWS)
    with pytest.raises(ValueError, match="coordinates must be of shape"):
        PCA(2).fit(ROWS).inverse_transform(np.ones((1, 3)))
