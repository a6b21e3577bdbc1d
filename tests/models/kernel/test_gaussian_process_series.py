"""Gaussian process regression on series, and the parts of sums of kernels."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credo import GaussianProcessRegressor
from credo.data import load, load_set, save
from credo.features import (
    LinearBasis,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    SquaredExponential,
    White,
)
from credo.inference import ExactProcess
from credo.models.kernel import gaussian_process_regressor

RNG = np.random.default_rng(0)
T = np.sort(RNG.uniform(0.0, 30.0, 220))[:, None]
Y = np.sin(2 * np.pi * T[:, 0]) + 0.1 * T[:, 0] + 0.2 * RNG.normal(size=220)
NEW = np.linspace(-1.0, 33.0, 12)[:, None]
SUM = 2.0 * Matern52(10.0) + 0.5 * Periodic(1.5, 1.0).hold("period")


@pytest.fixture
def few_are_many(monkeypatch):
    """Let two hundred rows be enough for a series."""
    monkeypatch.setattr(gaussian_process_regressor, "SERIES_ROWS", 200)


def test_some_hundred_rows_wait_for_no_compiler():
    kernel = Matern52(3.0).hold()
    assert GaussianProcessRegressor(kernel, noise=0.1).fit(T, Y).method_ == "ExactProcess"
    x = np.arange(1000.0)
    model = GaussianProcessRegressor(kernel, noise=0.1).fit(x[:, None], np.sin(x))
    assert model.method_ == "SeriesProcess"


@pytest.mark.usefixtures("few_are_many")
def test_a_series_is_chosen_where_it_is_quicker_and_gives_the_exact_fit():
    kernel = 1.0 * Matern52(3.0) + 0.3 * Matern32(0.5)
    series = GaussianProcessRegressor(kernel).fit(T, Y)
    exact = GaussianProcessRegressor(kernel, method="exact").fit(T, Y)
    assert series.method_ == "SeriesProcess"
    assert exact.method_ == "ExactProcess"
    assert_allclose(series.log_evidence_, exact.log_evidence_, rtol=1e-6)
    ours, theirs = series.predict_dist(NEW), exact.predict_dist(NEW)
    assert_allclose(ours.mean(), theirs.mean(), atol=1e-3)
    assert_allclose(ours.std(), theirs.std(), rtol=1e-3)
    left, out = series.leave_one_out(T, Y), exact.leave_one_out(T, Y)
    assert_allclose(left.mean(), out.mean(), atol=1e-3)
    assert_allclose(left.std(), out.std(), rtol=1e-3)


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (SUM, T[:50]),
        (SquaredExponential(1.0), T),
        (Matern52(1.0), np.column_stack([T, T])),
        (Matern32(2.0) * Periodic(0.5, 1.0), T),
    ],
    ids=["few rows", "no state", "two columns", "large state"],
)
@pytest.mark.usefixtures("few_are_many")
def test_otherwise_the_exact_process_is_taken(kernel, X):
    model = GaussianProcessRegressor(kernel.hold(), noise=0.1).fit(X, Y[: len(X)])
    assert model.method_ == "ExactProcess"


def test_the_series_by_name_has_a_kernel_of_its_own_and_refuses_others():
    model = GaussianProcessRegressor(method="series").fit(T[:40], Y[:40])
    assert model.method_ == "SeriesProcess"
    assert "Matern52" in repr(model.kernel_)
    with pytest.raises(ValueError, match=r"found SquaredExponential\. Take Matern52"):
        GaussianProcessRegressor(SquaredExponential(), method="series").fit(T, Y)


@pytest.mark.parametrize("method", ["exact", "series"])
@pytest.mark.parametrize("mean", ["zero", "constant", LinearBasis()], ids=str)
def test_parts_add_up_to_the_function(method, mean):
    model = GaussianProcessRegressor(SUM, mean=mean, method=method).fit(T[::3], Y[::3])
    parts = model.components(NEW)
    assert list(parts) == ["mean"] * (mean != "zero") + ["part1", "part2"]
    total = sum(part.mean() for part in parts.values())
    assert_allclose(total, model.predict_function(NEW).mean(), rtol=1e-10, atol=1e-10)


def test_a_part_is_the_posterior_of_its_function_given_the_sum():
    kernel = (SUM + White(0.05)).hold()
    model = GaussianProcessRegressor(kernel, mean="zero").fit(T[:60], Y[:60])
    parts = model.components(NEW)
    assert list(parts) == ["part1", "part2"]
    together = kernel(T[:60])
    for part, found in zip(SUM.parts, parts.values(), strict=True):
        cross = part(NEW, T[:60])
        assert_allclose(found.mean(), cross @ np.linalg.solve(together, Y[:60]), atol=1e-8)
        covariance = part(NEW) - cross @ np.linalg.solve(together, cross.T)
        assert_allclose(found.std(), np.sqrt(np.diag(covariance)), rtol=1e-6)
        assert_allclose(found.aleatoric_std, 0.0)
    around = np.eye(len(NEW)) - 1.0 / len(NEW)
    for part, found in zip(
        SUM.parts, model.components(NEW, centered=True).values(), strict=True
    ):
        cross = part(NEW, T[:60])
        covariance = part(NEW) - cross @ np.linalg.solve(together, cross.T)
        expected = np.sqrt(np.diag(around @ covariance @ around))
        assert_allclose(found.std(), expected, rtol=1e-6)
        assert_allclose(found.mean().mean(), 0.0, atol=1e-9)


def test_parts_of_several_outputs_have_their_units():
    wide = np.column_stack([Y[:40], 100.0 * Y[:40]])
    model = GaussianProcessRegressor(SUM).fit(T[:40], wide)
    # At one point of settings: draws of a noise of its own are not the same for each.
    one = {"points": model.log_parameters_[None], "weights": np.ones(1)}
    model.posterior_ = replace(model.posterior_, **one)
    part = model.components(NEW)["part2"]
    assert_allclose(part.mean()[:, 1], 100.0 * part.mean()[:, 0], rtol=1e-6)
    assert_allclose(part.std()[:, 1], 100.0 * part.std()[:, 0], rtol=1e-6)


def test_a_kernel_that_is_no_sum_is_one_part():
    model = GaussianProcessRegressor(Matern52(1.0).hold(), mean="zero", noise=0.1)
    model.fit(T[:20], Y[:20])
    (name, part), *_ = model.components(NEW).items()
    assert name == "part1"
    assert_allclose(part.std(), model.predict_function(NEW).std(), rtol=1e-9)


def test_more_rows_of_a_series_equal_a_fit_to_all():
    settings = {"noise": 0.05, "method": "series"}
    kernel = Matern52(2.0).hold()
    grown = GaussianProcessRegressor(kernel, **settings).fit(T[:100], Y[:100])
    grown.partial_fit(T[100:], Y[100:])
    whole = GaussianProcessRegressor(kernel, method=ExactProcess(), noise=0.05).fit(T, Y)
    assert_allclose(grown.predict(NEW), whole.predict(NEW), atol=1e-8)
    assert_allclose(grown.log_evidence_, whole.log_evidence_, rtol=1e-9)


def test_a_series_is_kept_in_a_file(tmp_path):
    model = GaussianProcessRegressor(method="series").fit(T[:60], Y[:60])
    save(model, tmp_path / "series.credo")
    again = load(tmp_path / "series.credo")
    assert again.method_ == "SeriesProcess"
    assert_array_equal(again.predict_dist(NEW).std(), model.predict_dist(NEW).std())


def test_the_published_evidence_of_carbon_dioxide_is_found():
    # Values of Rasmussen and Williams (2006), section 5.4.3, and where scikit-learn ends.
    table = load_set("co2")
    t = (table["year"] + (table["month"] - 1) / 12).to_numpy()[:, None]
    y = table["co2"].to_numpy()
    season = Periodic(1.3, period=1.0).hold("period")
    book = (
        66.0**2 * SquaredExponential(67.0)
        + 2.4**2 * SquaredExponential(90.0) * season
        + 0.66**2 * RationalQuadratic(1.2, shape=0.78)
        + 0.18**2 * SquaredExponential(0.134)
    )
    model = GaussianProcessRegressor(book.hold(), mean="zero", noise=0.19**2)
    assert model.fit(t, y - y.mean()).log_evidence_ == pytest.approx(-117.0227, abs=1e-3)
    variances = np.log([44.8**2, 2.64**2, 0.536**2, 0.188**2])
    lengths = np.log([51.6, 91.5, 1.48, 0.968, 2.89, 0.122])
    best = [
        variances[0], lengths[0], variances[1], lengths[1], lengths[2],
        variances[2], lengths[3], lengths[4], variances[3], lengths[5],
    ]  # fmt: skip
    learned = GaussianProcessRegressor(book.at(best).hold(), mean="zero", noise=0.0367)
    assert learned.fit(t, y - y.mean()).log_evidence_ == pytest.approx(-115.0514, abs=1e-3)
