"""Gaussian process regression by inducing inputs, as people meet it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo import GaussianProcessRegressor
from credo.data import load, save
from credo.features import Linear, LinearBasis, Matern32, SquaredExponential, White
from credo.inference import SparseProcess
from credo.models.kernel import gaussian_process_regressor

KERNEL = (1.2 * SquaredExponential((0.8, 2.0))).hold()


def rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)


def test_many_rows_are_sparse_by_themselves_and_the_result_says_so(monkeypatch):
    monkeypatch.setattr(gaussian_process_regressor, "EXACT_ROWS", 100)
    X, y = rows()
    many, few = (GaussianProcessRegressor().fit(X[:n], y[:n]) for n in (150, 100))
    assert (many.method_, many.evidence_method_) == ("SparseProcess", "bound")
    assert (few.method_, few.evidence_method_) == ("ExactProcess", "laplace")
    exact = GaussianProcessRegressor(method="exact").fit(X, y)
    assert exact.method_ == "ExactProcess"
    assert exact.log_evidence_ - 2.0 < many.log_evidence_ < exact.log_evidence_ + 0.3
    new, truth = rows(50, seed=1)
    assert_allclose(many.predict(new), exact.predict(new), atol=0.05)
    scores = [model.predict_dist(new).log_prob(truth).mean() for model in (many, exact)]
    assert abs(scores[0] - scores[1]) < 0.02


def test_what_has_settings_known_is_the_bound_itself():
    X, y = rows()
    model = GaussianProcessRegressor(KERNEL, noise=0.04, method="sparse").fit(X, y)
    exact = GaussianProcessRegressor(KERNEL, noise=0.04).fit(X, y)
    assert model.evidence_method_ == "bound"
    assert exact.log_evidence_ - 1.0 < model.log_evidence_ < exact.log_evidence_


def test_a_file_gives_the_same_inducing_inputs_and_predictions(tmp_path):
    X, y = rows()
    model = GaussianProcessRegressor(method=SparseProcess(20)).fit(X, y)
    save(model, tmp_path / "model.credo")
    again = load(tmp_path / "model.credo")
    assert len(again.posterior_.method.inducing) == 20
    assert_allclose(again.predict_dist(X).std(), model.predict_dist(X).std(), rtol=1e-12)


def test_a_fitted_model_can_be_pickled():
    X, y = rows()
    model = GaussianProcessRegressor(KERNEL, noise=0.04, method="sparse").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)


def test_rows_that_come_later_are_as_good_as_rows_at_once():
    X, y = rows()
    method = SparseProcess(inducing=X[:25])
    model = GaussianProcessRegressor(KERNEL, noise=0.04, method=method)
    at_once = model.fit(X, y).predict_dist(X[:9])
    grown = model.fit(X[:100], y[:100]).partial_fit(X[100:], y[100:]).predict_dist(X[:9])
    assert_allclose(grown.mean(), at_once.mean(), atol=1e-8)
    assert_allclose(grown.std(), at_once.std(), atol=1e-8)


def test_weights_count_as_copies_of_rows():
    X, y = rows(60)
    weight = np.random.default_rng(0).integers(1, 4, 60)
    method = SparseProcess(inducing=X[:25])
    model = GaussianProcessRegressor(KERNEL, noise=0.04, method=method)
    weighted = model.fit(X, y, sample_weight=weight).predict_dist(X[:9])
    copied = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict_dist(X[:9])
    assert_allclose(weighted.mean(), copied.mean(), atol=1e-7)
    assert_allclose(weighted.std(), copied.std(), atol=1e-7)


def test_rows_that_do_not_fit_into_memory_are_refused_with_the_memory_they_need():
    X = np.arange(40_000.0)[:, None]
    with pytest.raises(ValueError, match=r"found 40000 rows, which need 64 GB"):
        GaussianProcessRegressor(method="exact").fit(X, np.sin(X[:, 0]))


def test_the_memory_of_inducing_inputs_hardly_grows_with_the_rows():
    assert SparseProcess().bytes_needed(100_000) < 250e6
    assert SparseProcess(500).bytes_needed(10**6) == SparseProcess(500).bytes_needed(10**5)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("mean", ["zero", "constant", LinearBasis()])
def test_parts_of_a_sum_are_those_of_the_exact_process_if_every_row_is_inducing(mean, centered):
    X, y = rows(60)
    kernel = Matern32((0.8, 2.0)).hold() + Linear(0.5).hold() + White(0.01).hold()
    both = np.column_stack([y, y**2])
    found, expected = (
        GaussianProcessRegressor(kernel, mean=mean, noise=0.04, method=method).fit(X, both)
        for method in (SparseProcess(inducing=X), "exact")
    )
    new, _ = rows(20, seed=1)
    parts, exact = found.components(new, centered), expected.components(new, centered)
    assert list(parts) == list(exact)
    # The covariance of the inducing values has jitter of 1e-10 of its diagonal.
    for name, part in parts.items():
        assert_allclose(part.mean(), exact[name].mean(), atol=1e-6)
        assert_allclose(part.std(), exact[name].std(), atol=1e-6)
