"""The files that CONTRIBUTING tells people to copy work as they are."""

import doctest
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from credo import BayesianNetwork, GaussianProcessRegressor, load_network, save_network
from credo.data import Format, NetworkFileError
from credo.evaluation.laws import (
    check_class,
    check_distribution,
    check_estimator,
    check_family,
)
from credo.families.normal import NormalInverseGamma
from credo.inference.engine.engine import ConvergenceWarning, run
from credo.numerics.status import Status

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "skeletons"


def load(name):
    """Import a skeleton under a name of its own, so that its objects can be pickled."""
    full = f"skeleton_{name}"
    spec = importlib.util.spec_from_file_location(full, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_examples_in_the_docstrings_print_what_they_say(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(load(name), optionflags=flags).failed == 0


def test_the_distribution_is_scipys_gumbel():
    loc, scale = np.array([0.0, -3.0]), np.array([1.0, 0.2])
    mine, oracle = load("distribution").Gumbel(loc, scale), stats.gumbel_r(loc, scale)
    x, p = np.array([[-3.1], [0.0], [2.5]]), np.array([[0.01], [0.5], [0.999]])
    assert_allclose(mine.log_prob(x), oracle.logpdf(x))
    assert_allclose(mine.cdf(x), oracle.cdf(x))
    assert_allclose(mine.survival(x), oracle.sf(x))
    assert_allclose(mine.quantile(p), oracle.ppf(p))
    assert_allclose(mine.upper_quantile(p), oracle.isf(p))
    for answer, truth in [
        (mine.mean(), oracle.mean()),
        (mine.variance(), oracle.var()),
        (mine.entropy(), oracle.entropy()),
    ]:
        assert_allclose(answer, truth)


def test_the_family_has_the_evidence_that_integration_finds():
    family = load("family")
    x = np.array([[0.3], [-1.2], [2.0]])
    prior = family.GammaError(1.5, 0.8)

    def joint(precision):
        likelihood = stats.norm(0, precision**-0.5).pdf(x).prod()
        return likelihood * stats.gamma(1.5, scale=1 / 0.8).pdf(precision)

    truth, _ = integrate.quad(joint, 0, np.inf)
    assert_allclose(prior.log_evidence(family.ErrorStatistics.of(x)), np.log(truth), rtol=1e-7)


def test_the_kernel_is_that_of_the_published_polynomial_and_keeps_to_three_columns():
    kernel, x = (
        load("kernel").Wendland((2.0, 4.0)),
        np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 0.5]]),
    )
    r = np.sqrt(0.5)
    first, second, third = kernel(x)
    assert_allclose(first, [1.0, 1 - 10 * r**2 + 20 * r**3 - 15 * r**4 + 4 * r**5, 0.0])
    assert second[2] == third[1] > 0
    with pytest.raises(ValueError, match="at most 3 columns; found 4"):
        GaussianProcessRegressor(load("kernel").Wendland()).fit(np.eye(4), np.arange(4.0))


def test_the_distribution_obeys_the_laws():
    gumbel = load("distribution").Gumbel([0.0, -3.0], [1.0, 0.2])
    names = check_distribution(gumbel, np.random.default_rng(0))
    assert "cdf_of_quantile_is_the_level" in names


def test_the_family_obeys_the_laws():
    family = load("family")
    rows = np.random.default_rng(0).normal(size=(8, 2))
    names = check_family(family.GammaError(1.5, 0.8), family.ErrorStatistics, rows)
    assert "evidence_is_the_product_of_predictives" in names


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("distribution", ["Gumbel"]),
        ("family", ["ErrorStatistics", "GammaError"]),
        ("basis", ["HingeBasis"]),
        ("kernel", ["Wendland"]),
        ("engine", ["NewtonLaplace"]),
        ("method", ["FairDraws"]),
        ("node", ["Additive"]),
    ],
)
def test_classes_outside_of_credo_have_the_same_laws(name, classes):
    for cls in classes:
        assert check_class(getattr(load(name), cls))


def test_an_engine_outside_of_credo_is_a_method_of_networks():
    engine = load("method").FairDraws(n_draws=200_000, tolerance=0.002)
    net = load("example").SPRINKLER
    answer = net.query("rain", {"wet": "yes"}, method=engine)
    # 0.2 (0.99 0.8 + 0.01 0.99) / (that + 0.8 0.4 0.9).
    assert_allclose(answer["yes"], 0.16038 / 0.44838, atol=4 * answer.attrs["error"])
    assert answer.attrs["error"] <= 0.002


def test_the_format_keeps_a_network_whatever_its_names_are(tmp_path):
    skeleton = load("format")
    lines = Format("lines", (".lines",), skeleton.read, skeleton.write)
    net = BayesianNetwork(
        "a -> b",
        {"a": [0.25, 0.75], "b": [[0.5, 0.5], [1 / 3, 2 / 3]]},
        {"a": ('"x y"', "z")},
    )
    save_network(net, tmp_path / "net.gz", format=lines)
    back = load_network(tmp_path / "net.gz", format=lines)
    assert back.variables["a"].states == ('"x y"', "z")
    assert_allclose(back.conditionals["b"].probability, [[0.5, 0.5], [1 / 3, 2 / 3]], rtol=0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("variable a", r"line 1: a line must be JSON"),
        ('["a", ["x", "y"], []]', r"line 1: a line must be a variable, its states"),
        ('["a", ["x", "y"], ["b"], [1, 0]]', r"line 1: .*declared variables; found 'b'"),
        ('["a", ["x", "y"], [], [1, 0, 0]]', r"the table of 'a' must be numbers of shape"),
    ],
)
def test_the_format_says_what_is_wrong_with_a_line(line, said, tmp_path):
    skeleton = load("format")
    lines = Format("lines", (".lines",), skeleton.read, skeleton.write)
    (tmp_path / "net.lines").write_text(line)
    with pytest.raises(NetworkFileError, match=said):
        load_network(tmp_path / "net.lines", format=lines)


class Quadratic:
    """A normal density with mean 3 and variance 4, times 5."""

    def log_density(self, x):
        return np.log(5) + stats.norm(3, 2).logpdf(x)

    def slope(self, x):
        return -(x - 3) / 4

    def curvature(self, x):
        return -0.25


class Skewed:
    """A gamma density of a logarithm, whose mode is not found in one step."""

    def log_density(self, x):
        return 3 * x - np.exp(x)

    def slope(self, x):
        return 3 - np.exp(x)

    def curvature(self, x):
        return -np.exp(x)


def test_the_engine_is_exact_on_a_quadratic_log_density():
    found = run(load("engine").NewtonLaplace(), Quadratic())
    assert_allclose([found.posterior.loc, found.posterior.scale], [3.0, 2.0])
    assert_allclose(found.log_evidence, np.log(5))
    assert (found.status, len(found.trace)) == (Status.CONVERGED, 2)


def test_the_engine_finds_the_mode_of_a_skewed_density():
    found = run(load("engine").NewtonLaplace(start=1.0), Skewed())
    assert_allclose([found.posterior.loc, found.posterior.scale], [np.log(3), 3**-0.5])


def test_the_engine_says_when_one_step_was_not_enough():
    with pytest.warns(
        ConvergenceWarning, match="NewtonLaplace reached max_steps after 1 steps"
    ):
        found = run(load("engine").NewtonLaplace(max_steps=1), Skewed())
    assert found.status is Status.MAX_STEPS


def test_the_model_obeys_the_laws():
    names = check_estimator(load("model").ConstantRegression())
    assert {"chunks_equal_the_batch", "units_of_y_are_irrelevant"} <= set(names)


def test_the_model_predicts_with_students_distribution():
    y = np.array([1.0, 2.0, 4.0])
    prior = NormalInverseGamma(0.0, 1.0, 2.0, 3.0)
    predictive = (
        load("model").ConstantRegression(prior).fit(np.zeros((3, 1)), y).predict_dist([[0.0]])
    )
    # Strength 4, mean 7/4, shape 7/2, rate 3 + (14/3 + 3/4 * 49/9) / 2.
    rate = 3 + 0.5 * (14 / 3 + 0.75 * 49 / 9)
    oracle = stats.t(7, 7 / 4, np.sqrt(rate * 5 / (3.5 * 4)))
    assert_allclose(predictive.quantile([0.1, 0.9]), oracle.ppf([0.1, 0.9]))
    assert_allclose(predictive.aleatoric_std**2, rate / 2.5)
    assert_allclose(predictive.epistemic_std**2, rate / 2.5 / 4)
