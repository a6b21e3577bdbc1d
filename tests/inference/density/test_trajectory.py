"""NUTS and HMC against closed forms; what they report, refuse, and go on from."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from credo.data import CheckpointFile
from credo.inference import (
    BadDensity,
    Drawn,
    Draws,
    HamiltonianMonteCarlo,
    ImproperDensity,
    LogDensity,
    NoStart,
    NoUTurnSampling,
    Parameters,
    Steps,
    run,
)
from credo.inference.density import trajectory
from credo.inference.density.metric import Metric, learned_metric
from credo.numerics.special.bijection import Covariance, Interval, Simplex, positive, real
from processes import killed_run

COVARIANCE = np.array([[4.0, 1.8, 0.0], [1.8, 1.0, 0.1], [0.0, 0.1, 0.25]])
CENTER = np.array([1.0, -2.0, 30.0])
PRECISION = np.linalg.inv(COVARIANCE)


def gaussian(values):
    shift = values["x"] - CENTER
    return -0.5 * shift @ PRECISION @ shift, {"x": -PRECISION @ shift}


GAUSSIAN = LogDensity(Parameters({"x": real(3)}), gaussian)
ENGINES = [
    *(NoUTurnSampling(metric=metric) for metric in ("diagonal", "low_rank", "dense")),
    HamiltonianMonteCarlo(length=2.0),
]
# Of some forty numbers that are compared, four errors are exceeded by one in 400 runs.
MOST_ERRORS = 4.0


def within_error(draws, name, mean, std):
    assert np.all(np.abs(draws.mean(name) - mean) < MOST_ERRORS * draws.mean_error(name))
    assert np.all(np.abs(draws.std(name) - std) < MOST_ERRORS * draws.std_error(name))


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_a_correlated_gaussian_has_its_mean_and_covariance(engine):
    found = run(engine, GAUSSIAN, np.random.default_rng(1), chains=4)
    draws = found.posterior
    assert found.r_hat < 1.01
    assert draws["x"].shape == (4, 1000, 3)
    within_error(draws, "x", CENTER, np.sqrt(np.diag(COVARIANCE)))
    shift = draws["x"] - CENTER
    for i, j in ((0, 1), (0, 2), (1, 2)):
        product = Draws({"x": shift[..., i] * shift[..., j]})
        assert abs(product.mean("x") - COVARIANCE[i, j]) < 4.0 * product.mean_error("x")


@pytest.mark.parametrize("metric", ["low_rank", "dense"])
def test_draws_and_gradients_of_a_gaussian_tell_its_covariance(metric):
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal(CENTER, COVARIANCE, 40)
    found = learned_metric(x, -(x - CENTER) @ PRECISION, metric)
    inner = np.eye(3) + (found.directions.T * found.weights) @ found.directions
    near = {"rtol": 2e-3, "atol": 2e-3} if metric == "dense" else {"rtol": 0.5, "atol": 0.5}
    assert_allclose(found.scale[:, None] * inner * found.scale, COVARIANCE, **near)
    p, v = found.momenta(rng.normal(size=(4, 3)))
    assert_allclose([found.times(row) for row in p], v, rtol=1e-10)


def test_momenta_have_the_inverse_covariance():
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal(CENTER, COVARIANCE, 40)
    found = learned_metric(x, -(x - CENTER) @ PRECISION, "dense")
    p, _ = found.momenta(rng.normal(size=(200_000, 3)))
    scale = np.sqrt(np.outer(np.diag(PRECISION), np.diag(PRECISION)))
    assert_allclose(np.cov(p.T) / scale, PRECISION / scale, atol=0.02)


def test_a_metric_of_more_numbers_than_draws_stays_in_their_span():
    rng = np.random.default_rng(0)
    scales = np.geomspace(0.1, 10.0, 60)
    x = scales * rng.normal(size=(12, 60))
    found = learned_metric(x, -x / scales**2, "low_rank")
    assert_allclose(found.scale, scales, rtol=1e-10)
    assert len(found.directions) <= 24
    assert_allclose(
        found.directions @ found.directions.T, np.eye(len(found.weights)), atol=1e-10
    )


def conjugate(values):
    """Return six numbers of unknown mean and variance, under a normal-inverse-gamma prior."""
    y = np.array([1.2, 0.4, 2.1, 1.7, 0.9, 1.1])
    mu, variance = float(values["mu"]), float(values["variance"])
    rest = y - mu
    value = -0.5 * (rest @ rest + 2.0 * mu**2 + 2.0) / variance - (3.5 + 2.0 + 1.0) * np.log(
        variance
    )
    slopes = {
        "mu": (rest.sum() - 2.0 * mu) / variance,
        "variance": 0.5 * (rest @ rest + 2.0 * mu**2 + 2.0) / variance**2 - 6.5 / variance,
    }
    return value, slopes


def test_a_conjugate_normal_has_its_closed_form():
    y = np.array([1.2, 0.4, 2.1, 1.7, 0.9, 1.1])
    problem = LogDensity(Parameters({"mu": real(), "variance": positive()}), conjugate)
    found = run(NoUTurnSampling(), problem, np.random.default_rng(3), chains=4).posterior
    # Strength 2 at zero, shape 2 and rate 1, six numbers.
    strength, shape = 8.0, 5.0
    location = y.sum() / strength
    rate = 1.0 + 0.5 * (y @ y - strength * location**2)
    spread = np.sqrt(rate / (shape - 1.0) / strength)
    within_error(found, "mu", location, spread)
    exact = stats.invgamma(shape, scale=rate)
    within_error(found, "variance", exact.mean(), exact.std())


def test_shares_between_ends_have_a_beta_distribution():
    def density(values):
        x = values["share"]
        return float(2.0 * np.log(x).sum() + 4.0 * np.log1p(-x).sum()), {
            "share": 2.0 / x - 4.0 / (1.0 - x)
        }

    problem = LogDensity(Parameters({"share": Interval(0.0, 1.0, (2,))}), density)
    found = run(NoUTurnSampling(), problem, np.random.default_rng(4), chains=4).posterior
    exact = stats.beta(3.0, 5.0)
    within_error(found, "share", exact.mean(), exact.std())


def test_probabilities_have_a_dirichlet_distribution():
    counts = np.array([1.0, 3.0, 6.0])

    def density(values):
        p = values["p"]
        return float((counts - 1.0) @ np.log(p)), {"p": (counts - 1.0) / p}

    problem = LogDensity(Parameters({"p": Simplex(3)}), density)
    found = run(NoUTurnSampling(), problem, np.random.default_rng(5), chains=4).posterior
    exact = stats.dirichlet(counts)
    within_error(found, "p", exact.mean(), np.sqrt(exact.var()))
    assert_allclose(found["p"].sum(axis=-1), 1.0)


def test_covariances_have_a_wishart_distribution():
    df, scale = 9.0, np.array([[0.5, 0.2], [0.2, 0.3]])
    inverse = np.linalg.inv(scale)

    def density(values):
        x = values["x"]
        value = 0.5 * (df - 3.0) * np.linalg.slogdet(x)[1] - 0.5 * np.trace(inverse @ x)
        return value, {"x": 0.5 * (df - 3.0) * np.linalg.inv(x) - 0.5 * inverse}

    problem = LogDensity(Parameters({"x": Covariance(2)}), density)
    engine = NoUTurnSampling(n_draws=600, warm_up=300)
    found = run(engine, problem, np.random.default_rng(6), chains=2).posterior
    exact = stats.wishart(df, scale)
    within_error(found, "x", exact.mean(), np.sqrt(exact.var()))


def funnel(values):
    v, x = values["v"], values["x"]
    square = np.exp(-v) * (x @ x)
    slopes = {"v": -v / 9.0 + 0.5 * square - 0.5 * len(x), "x": -np.exp(-v) * x}
    return -(v**2) / 18.0 - 0.5 * square - 0.5 * len(x) * v, slopes


def test_divergences_of_a_funnel_are_reported():
    problem = LogDensity(Parameters({"v": real(), "x": real(9)}), funnel)
    engine = NoUTurnSampling(n_draws=1000, warm_up=200, max_depth=7, acceptance=0.6)
    found = run(engine, problem, np.random.default_rng(2), chains=4)
    facts = dict(zip(trajectory.FACTS, np.moveaxis(found.state.facts, -1, 0), strict=True))
    assert facts["is_divergent"].sum() > 0
    reported = sum(step.n_divergent for step in found.trace)
    assert reported >= facts["is_divergent"][0].sum()
    assert facts["depth"].max() <= 7
    assert np.all((facts["acceptance"] >= 0.0) & (facts["acceptance"] <= 1.0))


def test_the_step_size_reaches_the_wanted_acceptance():
    for wanted in (0.6, 0.9):
        engine = NoUTurnSampling(acceptance=wanted, n_draws=2000)
        found = run(engine, GAUSSIAN, np.random.default_rng(0))
        assert found.state.facts[..., 2].mean() == pytest.approx(wanted, abs=0.12)


def test_energies_are_those_of_position_and_momentum():
    found = run(NoUTurnSampling(metric="dense"), GAUSSIAN, np.random.default_rng(0))
    facts = found.state.facts[0]
    before = np.array([GAUSSIAN.log_density(x) for x in found.state.draws[0, :-1]])
    kinetic = facts[1:, 1] + before
    # Half the square of three standard normals.
    assert kinetic.min() > 0.0
    assert kinetic.mean() == pytest.approx(1.5, abs=0.12)
    assert_allclose(facts[:-1, 0], before)


def test_units_do_not_matter():
    unit = np.array([1e-6, 1.0, 1e6])

    def scaled(values):
        value, slopes = gaussian({"x": CENTER + values["x"] / unit})
        return value, {"x": slopes["x"] / unit}

    problem = LogDensity(Parameters({"x": real(3)}), scaled)
    found = run(NoUTurnSampling(metric="dense"), problem, np.random.default_rng(0), chains=4)
    assert found.r_hat < 1.01
    within_error(found.posterior, "x", 0.0, unit * np.sqrt(np.diag(COVARIANCE)))


def test_threads_and_rules_do_not_change_the_draws():
    engine = NoUTurnSampling(n_draws=120, warm_up=150)
    plain = run(engine, GAUSSIAN, np.random.default_rng(2), chains=3)
    with ThreadPoolExecutor(2) as executor:
        found = run(engine, GAUSSIAN, np.random.default_rng(2), chains=3, executor=executor)
    assert_array_equal(found.state.draws, plain.state.draws)
    longer = run(engine, GAUSSIAN, np.random.default_rng(2), chains=3, stop=Drawn(320))
    assert_array_equal(longer.state.draws[:, :120], plain.state.draws)
    assert longer.posterior.n_draws == 320


def test_a_run_that_goes_on_draws_more():
    engine = NoUTurnSampling(n_draws=100, warm_up=150)
    first = run(engine, GAUSSIAN, np.random.default_rng(0), chains=2)
    more = run(engine, GAUSSIAN, np.random.default_rng(1), state=first.state, stop=Drawn(300))
    assert more.posterior["x"].shape == (2, 300, 3)
    assert_array_equal(more.state.draws[:, :100], first.state.draws)


def test_a_run_cut_short_in_its_warm_up_says_so():
    with pytest.warns(UserWarning, match="reached max_steps"):
        found = run(NoUTurnSampling(), GAUSSIAN, np.random.default_rng(0), stop=Steps(2))
    assert not found.status.has_converged
    assert found.posterior.n_draws == 20


def test_supports_of_ones_own_are_followed_in_free_numbers():
    class Doubled:
        """Twice a free number."""

        shape = ()
        n_free = 1

        def constrain(self, free):
            return 2.0 * free[..., 0]

        def log_jacobian(self, free):
            return np.full(free.shape[:-1], np.log(2.0))

        def jacobian_slope(self, free):
            return np.zeros(free.shape)

        def pull_back(self, free, gradient):
            return 2.0 * np.asarray(gradient)[..., None]

    def density(values):
        return float(-0.5 * (values["x"] - 3.0) ** 2), {"x": 3.0 - values["x"]}

    problem = LogDensity(Parameters({"x": Doubled()}), density)
    found = run(NoUTurnSampling(), problem, np.random.default_rng(0), chains=2).posterior
    within_error(found, "x", 3.0, 1.0)


def normal_but(answer, where):
    """Return a normal density that gives another answer at some values."""

    def density(values):
        x = float(values["x"])
        return (answer if where(x) else -0.5 * x**2), {"x": -x}

    return LogDensity(Parameters({"x": real()}), density)


@pytest.mark.parametrize("answer", [np.nan, np.inf])
@pytest.mark.parametrize("least", [-3.0, 0.5])
def test_a_density_that_is_no_number_is_refused(answer, least):
    problem = normal_but(answer, lambda x: x > least)
    with pytest.raises(BadDensity, match=rf"found {answer} at x = "):
        run(NoUTurnSampling(), problem, np.random.default_rng(0))


def test_a_gradient_that_is_no_number_is_refused():
    problem = LogDensity(
        Parameters({"a": real(), "x": real(2)}),
        lambda values: (0.0, {"a": 0.0, "x": np.array([0.0, np.nan])}),
    )
    with pytest.raises(BadDensity, match=r"for x\[1\]"):
        run(NoUTurnSampling(), problem, np.random.default_rng(0))


def test_density_zero_is_allowed_and_never_drawn():
    problem = normal_but(-np.inf, lambda x: x < 0.0)
    found = run(NoUTurnSampling(), problem, np.random.default_rng(0), chains=2).posterior
    assert found["x"].min() >= 0.0
    exact = stats.halfnorm()
    assert abs(found.mean("x") - exact.mean()) < 5.0 * found.mean_error("x")


def test_a_density_that_is_zero_everywhere_has_no_start():
    n_calls = []

    def density(values):
        n_calls.append(1)
        return -np.inf, {"x": np.zeros(())}

    problem = LogDensity(Parameters({"x": real()}), density)
    with pytest.raises(NoStart, match="at 100 random points"):
        run(NoUTurnSampling(), problem, np.random.default_rng(0))
    assert len(n_calls) == 100


@pytest.mark.parametrize("name", ["x", "rate"])
def test_a_density_without_end_is_improper(name):
    def density(values):
        value = -0.5 * float(values["y"]) ** 2
        power = -1.0 if name == "rate" else 0.0
        slope = {"y": -values["y"], name: power / values[name]}
        return value + power * np.log(np.abs(values[name])), slope

    supports = {"y": real(), name: positive() if name == "rate" else real()}
    problem = LogDensity(Parameters(supports), density)
    with pytest.raises(ImproperDensity, match=f"does not along {name}"):
        run(NoUTurnSampling(), problem, np.random.default_rng(0))


@pytest.mark.parametrize("kind", [NoUTurnSampling, HamiltonianMonteCarlo])
def test_a_density_without_end_along_a_sum_is_improper(kind):
    n_calls = []

    def density(values):
        n_calls.append(1)
        x, y = values["x"], values["y"]
        rest = x[0] + y - 1.0
        return -0.5 * float(rest**2 + x[1] ** 2), {"x": -np.array([rest, x[1]]), "y": -rest}

    problem = LogDensity(Parameters({"x": real(2), "y": real()}), density)
    with pytest.raises(ImproperDensity, match=r"does not along x\[0\] and y at once"):
        run(kind(), problem, np.random.default_rng(0))
    assert len(n_calls) < 30_000


def test_a_density_that_is_hardly_more_than_flat_is_proper():
    precision = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-8]])

    def density(values):
        slope = -precision @ values["x"]
        return 0.5 * float(values["x"] @ slope), {"x": slope}

    problem = LogDensity(Parameters({"x": real(2)}), density)
    engine = NoUTurnSampling(n_draws=50, warm_up=50, metric="dense")
    found = run(engine, problem, np.random.default_rng(0))
    assert np.ptp(found.posterior.pooled("x")[:, 0]) > 1e3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "full"}, "metric must be one of"),
        ({"acceptance": 1.0}, "acceptance must lie between 0 and 1"),
        ({"begin": "mode"}, "begin must be one of .* found 'mode'"),
        ({"n_draws": 0}, "n must be at least 1"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        NoUTurnSampling(**settings)
    with pytest.raises(ValueError, match="length must be positive"):
        HamiltonianMonteCarlo(length=0.0)


def test_variances_of_a_metric_are_the_diagonal_of_its_matrix():
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0].T
    metric = Metric(np.array([1.0, 2.0, 3.0, 0.5, 4.0]), basis, np.array([3.0, -0.6]))
    matrix = np.array([metric.times(unit) for unit in np.eye(5)])
    alone = metric.diagonal()
    assert_allclose(alone.scale**2, np.diagonal(matrix))
    assert_allclose(alone.times(np.ones(5)), np.diagonal(matrix))


@pytest.mark.parametrize("n_directions", [0, 2, 5])
def test_momenta_have_the_inverse_of_the_metric_and_velocities_the_metric(n_directions):
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0].T[:n_directions]
    weights = np.array([3.0, -0.6, 0.5, 8.0, -0.2])[:n_directions]
    metric = Metric(np.array([1.0, 2.0, 3.0, 0.5, 4.0]), basis, weights)
    matrix = np.array([metric.times(unit) for unit in np.eye(5)])
    momenta, velocities = metric.momenta(np.eye(5))
    assert_allclose(momenta.T @ momenta, np.linalg.inv(matrix), atol=1e-12)
    assert_allclose(velocities.T @ velocities, matrix, atol=1e-12)
    assert_allclose(velocities, momenta @ matrix, atol=1e-12)
    assert_allclose(metric.rows(), basis if n_directions < 3 else matrix, atol=1e-12)


@pytest.mark.parametrize("metric", ["diagonal", "dense"])
def test_chains_can_begin_where_a_path_leads(metric):
    """Of a Gaussian a path tells all, so that chains begin as if they had run for long."""
    engine = NoUTurnSampling(n_draws=1000, warm_up=60, metric=metric, begin="pathfinder")
    starts = [engine.init(GAUSSIAN, rng) for rng in np.random.default_rng(0).spawn(200)]
    here = np.array([state.here[0, 0] for state in starts]) - CENTER
    assert_allclose(here.mean(axis=0), 0.0, atol=4.0 * 2.0 / np.sqrt(200))
    assert_allclose(np.cov(here.T), COVARIANCE, rtol=0.5, atol=0.2)
    for state in starts[:3]:
        assert_allclose(state.here[0, 1], -PRECISION @ (state.here[0, 0] - CENTER), rtol=1e-6)
        known = np.array([state.metric.times(unit) for unit in np.eye(3)])
        expected = COVARIANCE if metric == "dense" else np.diag(np.diagonal(COVARIANCE))
        assert_allclose(known, expected, rtol=0.05, atol=0.05)
    found = run(engine, GAUSSIAN, np.random.default_rng(1), chains=4)
    error = found.posterior.mean("x") - CENTER
    assert np.all(np.abs(error) < 5.0 * found.posterior.mean_error("x"))
    assert_allclose(found.posterior.std("x"), np.sqrt(np.diagonal(COVARIANCE)), rtol=0.1)


def test_chains_begin_at_random_where_no_path_leads():
    def cliff(values):
        x = values["x"]
        inside = -2.5 < x < 2.5
        return (0.0 if inside else -np.inf), {"x": np.zeros(())}

    problem = LogDensity(Parameters({"x": real()}), cliff)
    state = NoUTurnSampling(begin="pathfinder").init(problem, np.random.default_rng(0))
    assert abs(state.here[0, 0, 0]) < 2.5
    assert np.isfinite(state.log_density).all()


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    engine = NoUTurnSampling(n_draws=20, warm_up=50)
    kept = CheckpointFile(tmp_path / "run.credo", seconds=0.0)
    run(engine, GAUSSIAN, np.random.default_rng(0), checkpoint=kept)
    other = LogDensity(Parameters({"x": real(3)}), gaussian, np.ones(3))
    with pytest.raises(ValueError, match="checkpoint must be of the problem"):
        run(engine, other, np.random.default_rng(0), checkpoint=kept)


LONG = NoUTurnSampling(n_draws=3000, warm_up=1000, metric="dense")
CHILD = """
import sys, time
import numpy as np
from inference.density.test_trajectory import GAUSSIAN, LONG
from credo.data import CheckpointFile
from credo.inference import run
print("begun", flush=True)
checkpoint = CheckpointFile(sys.argv[1], seconds=0.0)
pause = lambda n, step: time.sleep(0.02)
run(LONG, GAUSSIAN, np.random.default_rng(8), chains=2, checkpoint=checkpoint, on_step=pause)
print("done", flush=True)
"""


def resumed(path):
    kept = CheckpointFile(path)
    return run(LONG, GAUSSIAN, np.random.default_rng(8), chains=2, checkpoint=kept)


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(20))
def test_wherever_it_is_killed_it_goes_on_to_the_same_bits(tmp_path, turn):
    whole = run(LONG, GAUSSIAN, np.random.default_rng(8), chains=2)
    assert killed_run(CHILD, tmp_path / "run.credo", after=0.06 * turn) == ""
    found = resumed(tmp_path / "run.credo")
    assert found.trace == whole.trace
    assert_array_equal(found.state.draws, whole.state.draws)
    assert_array_equal(found.state.facts, whole.state.facts)


def test_no_warning_comes_from_arithmetic():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(NoUTurnSampling(n_draws=50, warm_up=200), GAUSSIAN, np.random.default_rng(0))
