import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from credo.features import (
    Constant,
    ExponentialKernel,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    SquaredExponential,
    White,
)
from credo.inference import ExactProcess, SeriesProcess
from credo.inference.kernel.process import ProcessData
from credo.inference.kernel.series import _LongSeries, riccati_limit, state_dimension
from credo.numerics.linear.linear_algebra import NotPositiveDefinite

RNG = np.random.default_rng(0)
IRREGULAR = RNG.uniform(0.0, 20.0, 40)
TIMES = {
    "regular": np.arange(40) * 0.5,
    "irregular": IRREGULAR,
    "ties": np.round(IRREGULAR),
    "stretch missing": np.where(IRREGULAR > 10, IRREGULAR + 60.0, IRREGULAR),
    "far away": np.arange(40) * 0.5 + 2.0**20,
}
KERNELS = {
    "matern52": Matern52(1.5),
    "sum": 2.0 * Matern32(2.0) + ExponentialKernel(0.7) + Constant(3.0),
    "quasi-periodic": 1.3 * Matern32(5.0) * Periodic(1.4, 3.0) + (0.2 * Matern52(9.0)).on([0]),
    "product": Matern32(3.0) * Matern52((2.0,)) * ExponentialKernel(8.0),
    "white": Matern52(3.0) + White(0.2) + Matern32(0.3) * White(0.3),
    "held": (0.7 * Periodic(1.2, 2.5) + Matern32(2.0)).hold("part1.period"),
    "held twice": 0.7 * Matern32(2.0).hold().hold(),
}


def rows(times, n_outputs=1, n_means=1):
    t = times - times.min()
    y = RNG.normal(size=(len(t), n_outputs)) + np.sin(t)[:, None]
    columns = np.column_stack([np.ones(len(t)), t / 10])[:, :n_means]
    return ProcessData(times[:, None], y, columns), RNG.uniform(0.05, 0.2, len(t))


def both(data, kernel, noise):
    return [method.belief(data, kernel, noise) for method in (ExactProcess(), SeriesProcess())]


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_evidence_and_gradient_are_those_of_the_exact_process(kernel, times):
    data, noise = rows(times)
    exact = ExactProcess().evidence(data, kernel, noise)
    series = SeriesProcess().evidence(data, kernel, noise)
    assert_allclose(series.value, exact.value, rtol=1e-8)
    scale = np.abs(exact.by_parameter).max()
    assert_allclose(series.by_parameter, exact.by_parameter, rtol=1e-7, atol=1e-8 * scale)
    assert_allclose(series.by_noise, exact.by_noise, rtol=1e-6, atol=1e-7)
    assert SeriesProcess().log_evidence(data, kernel, noise) == series.value


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_moments_are_those_of_the_exact_process(kernel, times):
    data, noise = rows(times)
    X = np.concatenate([np.linspace(times.min() - 2, times.max() + 2, 9), times[3:5]])[:, None]
    columns = np.ones((len(X), 1))
    exact, series = both(data, kernel, noise)
    for a, b in zip(series.moments(X, columns), exact.moments(X, columns), strict=True):
        assert_allclose(a, b, rtol=1e-7, atol=1e-8)
    for a, b in zip(series.joint(X, columns), exact.joint(X, columns), strict=True):
        assert_allclose(a, b, rtol=1e-7, atol=1e-8)
    for a, b in zip(series.leave_one_out(), exact.leave_one_out(), strict=True):
        assert_allclose(a, b, rtol=1e-7, atol=1e-8)


def test_several_outputs_and_mean_functions_are_integrated_as_by_the_exact_process():
    data, noise = rows(IRREGULAR, n_outputs=3, n_means=2)
    kernel = Matern52(1.5) + Polynomial(2, 1.5) * Matern32(20.0) + 0.1 * Linear()
    exact, series = (
        method.evidence(data, kernel, noise) for method in (ExactProcess(), SeriesProcess())
    )
    assert_allclose(series.value, exact.value, rtol=1e-9)
    assert_allclose(series.by_parameter, exact.by_parameter, rtol=1e-7, atol=1e-9)
    assert_allclose(series.by_noise, exact.by_noise, rtol=1e-6, atol=1e-8)
    X, columns = np.array([[-1.0], [3.3], [25.0]]), np.array([[1, -0.1], [1, 0.33], [1, 2.5]])
    exact, series = both(data, kernel, noise)
    for a, b in zip(series.moments(X, columns), exact.moments(X, columns), strict=True):
        assert_allclose(a, b, rtol=1e-7)
    a, b = series.mean_function(columns), exact.mean_function(columns)
    assert_allclose(a[0], b[0], rtol=1e-7)
    assert_allclose(a[1], b[1], rtol=1e-7)


def test_the_gradient_is_that_of_differences_over_several_stretches(monkeypatch):
    monkeypatch.setattr("credo.inference.kernel.series.MOST_MARKED", 1)
    monkeypatch.setattr("credo.inference.kernel.series.ROWS_IN_CACHE", 7)
    data, noise = rows(IRREGULAR)
    kernel = (
        0.8 * Matern32(3.0) * Periodic(1.2, 4.0) + 0.5 * ExponentialKernel(2.0) + White(0.1)
    )
    slope = SeriesProcess().evidence(data, kernel, noise).by_parameter
    logs = kernel.log_parameters
    for j in range(len(logs)):
        step = 1e-5 * np.eye(len(logs))[j]
        high, low = (
            SeriesProcess().log_evidence(data, kernel.at(at), noise)
            for at in (logs + step, logs - step)
        )
        assert_allclose(slope[j], (high - low) / 2e-5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("is_centered", [False, True])
def test_parts_of_the_function_are_those_of_the_exact_process(is_centered):
    data, noise = rows(IRREGULAR)
    kernel = 2.0 * (Matern52(1.5) + 0.4 * Matern32(6.0) * Periodic(2.0, 3.0) + White(0.1))
    X = np.array([[-1.0], [3.3], [25.0]])
    exact, series = (belief.components(X, is_centered) for belief in both(data, kernel, noise))
    assert len(series) == 3
    for ours, theirs in zip(series, exact, strict=True):
        assert_allclose(ours[0], theirs[0], rtol=1e-7, atol=1e-9)
        assert_allclose(ours[1], theirs[1], rtol=1e-7, atol=1e-9)


def test_draws_have_the_moments_of_the_posterior():
    data, noise = rows(TIMES["regular"])
    belief = SeriesProcess().belief(data, Matern52(2.0), noise)
    X, columns = np.array([[2.2], [22.0]]), np.ones((2, 1))
    draws = belief.sample(np.random.default_rng(1), X, columns, 4000)[..., 0]
    mean, covariance = belief.joint(X, columns)
    error = np.sqrt(np.diag(covariance) / 4000)
    assert np.all(np.abs(draws.mean(axis=0) - mean[:, 0]) < 4 * error)
    assert_allclose(np.cov(draws.T), covariance, atol=0.1 * covariance.max())


def test_more_rows_give_the_belief_of_all_rows():
    data, noise = rows(IRREGULAR)
    first, rest = slice(0, 25), slice(25, None)
    one = ProcessData(data.x[first], data.y[first], data.columns[first])
    grown = SeriesProcess().belief(one, Matern32(2.0), noise[first])
    grown = grown.extended(data.x[rest], data.y[rest], data.columns[rest], noise[rest])
    whole = SeriesProcess().belief(data, Matern32(2.0), noise)
    X = np.array([[1.0], [12.0]])
    for a, b in zip(
        grown.moments(X, np.ones((2, 1))), whole.moments(X, np.ones((2, 1))), strict=True
    ):
        assert_allclose(a, b, rtol=1e-12)


def test_copies_without_noise_get_jitter():
    x, columns = np.array([[0.0], [1.0], [1.0], [2.0]]), np.empty((4, 0))
    data = ProcessData(x, np.array([[0.0], [1.0], [1.0], [0.5]]), columns)
    belief = SeriesProcess().belief(data, Matern52(1.0), np.zeros(4))
    assert 0.0 < belief.jitter < 1e-6
    assert_allclose(belief.moments(x, columns)[0], data.y, atol=1e-5)


def test_a_covariance_without_a_factor_is_refused():
    huge = ProcessData(np.array([[0.0], [1e100]]), np.ones((2, 1)), np.empty((2, 0)))
    with pytest.raises(
        NotPositiveDefinite, match=r"positive definite; found.*let noise be learned"
    ):
        SeriesProcess().evidence(huge, Linear(1e300), np.zeros(2))


def test_two_columns_are_refused():
    data = ProcessData(np.ones((3, 2)), np.ones((3, 1)), np.empty((3, 0)))
    with pytest.raises(ValueError, match="one column of inputs, the time; found 2"):
        SeriesProcess().evidence(data, Matern32(), np.ones(3))


def test_harmonics_that_are_left_out_are_reported():
    data, noise = rows(TIMES["regular"])
    with pytest.warns(UserWarning, match="length scales from 0.22 on"):
        SeriesProcess().belief(data, Periodic(0.05, 7.0), noise)


def test_a_hundred_thousand_rows_agree_with_the_sum_over_independent_stretches():
    # Stretches that are far apart share nothing, so their evidences add up.
    t = np.arange(500.0)
    y = np.sin(t / 9)[:, None]
    one = ProcessData(t[:, None], y, np.empty((500, 0)))
    kernel = Matern52(7.0) + Matern32(3.0)
    value = ExactProcess().log_evidence(one, kernel, np.full(500, 0.1))
    times = (t + 1e5 * np.arange(200)[:, None]).ravel()
    many = ProcessData(times[:, None], np.tile(y, (200, 1)), np.empty((100_000, 0)))
    found = SeriesProcess().log_evidence(many, kernel, np.full(100_000, 0.1))
    assert_allclose(found, 200 * value, rtol=1e-10)


def test_dimensions_of_states():
    assert state_dimension(Matern52() + 2.0 * Matern32()) == 5
    assert state_dimension(Matern52() * Matern32()) == 6
    assert state_dimension(SquaredExponential()) is None


@pytest.mark.parametrize("n_mean", [0, 1])
def test_draws_have_the_joint_distribution_of_the_function(n_mean):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 10.0, (12, 1)), axis=0)
    x[3] = x[2]
    data = ProcessData(x, np.hstack([np.sin(x), np.cos(x)]), np.ones((12, n_mean)))
    kernel = 1.3 * Matern52(1.5) + 0.5 * Matern32(2.0) * Periodic(1.0, 2.0) + White(0.05)
    belief = SeriesProcess().belief(data, kernel, np.full(12, 0.1))
    new, columns = np.array([[1.0], [0.5], [11.0], [5.0], [5.0001]]), np.ones((5, n_mean))
    mean, covariance = belief.joint(new, columns)
    draws = belief.sample(np.random.default_rng(1), new, columns, 8_000)
    level = np.sqrt(np.diagonal(covariance))
    assert draws.shape == (8_000, 5, 2)
    # Five standard errors.
    assert np.abs((draws.mean(axis=0) - mean) / level[:, None]).max() < 5 / 8_000**0.5
    for k in range(2):
        found = np.cov(draws[:, :, k].T) / np.outer(level, level)
        expected = covariance / np.outer(level, level)
        assert_allclose(found, expected, atol=5 * (2 / 8_000) ** 0.5)


def test_draws_of_many_rows_take_memory_that_grows_with_them():
    x = np.arange(30_000.0)[:, None] / 10.0
    data = ProcessData(x, np.sin(x), np.ones((30_000, 1)))
    belief = SeriesProcess().belief(data, Matern52(1.0), np.full(30_000, 0.01))
    draws = belief.sample(np.random.default_rng(0), x, np.ones((30_000, 1)), 2)
    mean, variance = belief.moments(x, np.ones((30_000, 1)))
    standard = (draws[..., 0] - mean[:, 0]) / np.sqrt(variance)
    assert_allclose(standard.std(), 1.0, atol=0.05)


N_GRID = 900
GRID = np.arange(N_GRID) * 0.1
LONG_TIMES = {
    "even": GRID,
    "even, far from zero": GRID + 123456.7,
    "rows left out": np.delete(np.arange(N_GRID + 3) * 0.1, [150, 151, 600]),
    "uneven": RNG.uniform(0.0, 90.0, N_GRID),
    "in any order": RNG.permutation(GRID),
    "ties": np.round(RNG.uniform(0.0, 90.0, N_GRID)),
}
LONG_KERNELS = KERNELS | {
    "season that changes": 0.5 * ExponentialKernel(3.0) * Periodic(1.4, 3.0) + Matern32(2.0),
    "season of a sum": (Matern32(3.0) + ExponentialKernel(1.0)) * Periodic(1.4, 3.0),
    "season of a season": Matern32(3.0) * Periodic(1.0, 2.0) * Periodic(2.0, 7.0),
    "two seasons": Matern32(1.0) * (Periodic(1.5, 2.0) + Periodic(2.0, 7.0)),
    "season twice": Matern32(1.0) * (Periodic(1.5, 2.0) + 0.5 * Periodic(1.5, 2.0)),
    "functions alone": Periodic(1.2, 2.5) + 100.0 * Constant() + 1e-8 * Linear(),
    "functions": Periodic(1.2, 2.5) + 1e3 * Constant() + 1e-7 * Linear() + Matern52(1.0),
}


@pytest.fixture
def settled_rows(monkeypatch):
    """Rows of which covariances were taken as settled, with stretches of a few rows."""
    name = "credo.inference.kernel.series"
    monkeypatch.setattr(f"{name}.MANY_ROWS", 1)
    monkeypatch.setattr(f"{name}.ROWS_TO_SETTLE", 64)
    monkeypatch.setattr(f"{name}.ROWS_IN_CACHE", 200)
    counted, settled = [], _LongSeries._settled

    def counting(self, rows, *others):
        counted.append(rows.stop - rows.start)
        return settled(self, rows, *others)

    monkeypatch.setattr(_LongSeries, "_settled", counting)
    return counted


@pytest.mark.parametrize("times", LONG_TIMES.values(), ids=LONG_TIMES)
@pytest.mark.parametrize("kernel", LONG_KERNELS.values(), ids=LONG_KERNELS)
def test_evidence_of_many_rows_is_that_of_the_exact_process(kernel, times, settled_rows):
    data, noise = rows(times, n_outputs=2, n_means=2)
    noise = np.where(times - times.min() < 30.0, 0.1, 0.2)
    exact = ExactProcess().log_evidence(data, kernel, noise)
    assert_allclose(SeriesProcess().log_evidence(data, kernel, noise), exact, rtol=1e-8)


@pytest.mark.parametrize("name", ["matern52", "quasi-periodic", "held", "season that changes"])
def test_covariances_settle_where_times_are_even(name, settled_rows):
    data, _ = rows(LONG_TIMES["even, far from zero"])
    noise = np.full(N_GRID, 0.1)
    kernel = LONG_KERNELS[name]
    exact = ExactProcess().log_evidence(data, kernel, noise)
    assert_allclose(SeriesProcess().log_evidence(data, kernel, noise), exact, rtol=1e-9)
    assert sum(settled_rows) >= 200


def test_noise_of_each_row_keeps_covariances_from_settling(settled_rows):
    data, noise = rows(GRID)
    exact = ExactProcess().log_evidence(data, Matern52(1.5), noise)
    assert_allclose(SeriesProcess().log_evidence(data, Matern52(1.5), noise), exact, rtol=1e-9)
    assert not settled_rows


def test_many_rows_that_need_jitter_get_as_much_as_few(settled_rows):
    data, _ = rows(TIMES["ties"])
    noise = np.zeros(len(data.x))
    found = SeriesProcess().log_evidence(data, Matern52(1.5), noise)
    assert found == SeriesProcess().evidence(data, Matern52(1.5), noise).value


@pytest.mark.parametrize("noise", [1e-6, 0.3, 1e4])
def test_the_limit_of_a_filter_solves_its_riccati_equation(noise):
    rng = np.random.default_rng(3)
    move = rng.normal(size=(5, 5))
    move *= 0.97 / np.abs(np.linalg.eigvals(move)).max()
    spread, head = np.diag(rng.uniform(0.1, 1.0, 5)), rng.normal(size=5)
    found = riccati_limit(move, spread, head, noise)
    theirs = linalg.solve_discrete_are(move.T, head[:, None], spread, [[noise]])
    assert_allclose(found, theirs, rtol=1e-7, atol=1e-9 * np.abs(theirs).max())
    variance = head @ found @ head + noise
    behind = found - np.outer(found @ head, found @ head) / variance
    assert_allclose(move @ behind @ move.T + spread, found, rtol=1e-9, atol=1e-10)
