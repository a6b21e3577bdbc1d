"""Plain functions as densities: how they are called, and every way to a gradient."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

import credo
from credo.inference import BadDensity, Parameter
from credo.inference.density.posterior import stated_problem
from credo.numerics.special.bijection import Simplex

Y = np.array([1.2, 0.4, 2.1])
PARAMETERS = {"level": Parameter(2), "scale": Parameter(support="positive")}


def by_keyword(level, scale, data):
    return -np.sum((data - level[0] * level[1]) ** 2) / scale - 3.0 * np.log(scale) - scale


def by_dictionary(values, data):
    return by_keyword(values["level"], values["scale"], data)


def slopes(level, scale, data):
    rest = data - level[0] * level[1]
    by_mean = 2.0 * rest.sum() / scale
    return {
        "level": by_mean * level[::-1],
        "scale": rest @ rest / scale**2 - 3.0 / scale - 1.0,
    }


def with_gradient(level, scale, data):
    return by_keyword(level, scale, data), slopes(level, scale, data)


def with_abs(level, scale, data):
    return by_keyword(level, abs(scale), data)


STATED = {
    "keyword": by_keyword,
    "dictionary": by_dictionary,
    "own": with_gradient,
    "pair": (by_keyword, slopes),
    "complex": (by_keyword, "complex"),
    "differences": (by_dictionary, "differences"),
    "not complex": with_abs,
}


@pytest.mark.parametrize("name", STATED)
def test_every_way_gives_the_same_density_and_gradient(name):
    problem, words = stated_problem(STATED[name], PARAMETERS, Y)
    free = np.array([0.3, -0.4, 0.2])
    value, gradient = problem.log_density_and_gradient(free)
    level, scale = free[:2], np.exp(free[2])
    assert value == pytest.approx(by_keyword(level, scale, Y) + free[2])
    by_hand = slopes(level, scale, Y)
    expected = [*by_hand["level"], by_hand["scale"] * scale + 1.0]
    loose = 1e-7 if "differences" in words else 1e-12
    assert_allclose(gradient, expected, rtol=loose, atol=loose)
    ways = {"own": "by hand", "pair": "by hand", "not complex": "finite differences"}
    ways |= {"differences": "finite differences"}
    assert ways.get(name, "complex steps") in words


@pytest.mark.parametrize("name", STATED)
def test_a_density_answers_for_what_stands_in_arrays_by_then(name):
    problem, _ = stated_problem(STATED[name], PARAMETERS, Y)
    values = {"level": np.array([0.3, -0.4]), "scale": np.array(1.2)}
    ask = problem.density.at(values)
    ask()
    values["level"][:] = 0.5, 0.7
    value, gradient = ask()
    assert value == pytest.approx(by_keyword(values["level"], 1.2, Y))
    for slope, expected in slopes(values["level"], 1.2, Y).items():
        assert_allclose(gradient[slope], expected, rtol=1e-6)


def test_data_may_come_by_keyword():
    def density(x, y, weight):
        return -weight * (x - y) ** 2

    problem, _ = stated_problem(density, {"x": Parameter()}, {"y": 3.0, "weight": 2.0})
    assert problem.log_density(np.array([4.0])) == -2.0
    with pytest.raises(ValueError, match=r"must not overlap; found \['x'\] in both"):
        stated_problem(density, {"x": Parameter()}, {"x": 3.0, "y": 2.0})
    with pytest.raises(ValueError, match="Name an argument data"):
        stated_problem(density, {"x": Parameter()}, 3.0)


def test_differences_stay_inside_supports():
    def density(values):
        p, x = values["p"], values["x"]
        assert np.all(p > 0)
        assert 0.0 < x < 1.0
        return float(special.gammaln(p + 1.0).sum() + np.log(x) + np.log1p(-x))

    parameters = {"p": Parameter(3, "simplex"), "x": Parameter(support="unit")}
    problem, words = stated_problem(density, parameters, None)
    assert "differences" in words
    free = np.array([0.1, 0.2, 17.0])
    _, gradient = problem.log_density_and_gradient(free)
    # The density of x is x (1 - x), and the volume as much again.
    assert gradient[2] == pytest.approx(-2.0 * np.tanh(0.5 * 17.0), rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"level": np.zeros(3)},
            r"by level must have the shape .* \(2,\); found \(3,\)",
        ),
        ({"level": np.zeros(2)}, r"free number of level\[[01]\], 0 where differences say"),
        ({"scale": 1.0}, "free number of scale"),
    ],
)
def test_a_wrong_gradient_is_named_by_its_component(change, message):
    def wrong(level, scale, data):
        return slopes(level, scale, data) | change

    with pytest.raises(BadDensity, match=message):
        stated_problem((by_keyword, wrong), PARAMETERS, Y)


def test_a_gradient_must_name_each_parameter():
    with pytest.raises(BadDensity, match=r"for \['level', 'scale'\]"):
        stated_problem((by_keyword, lambda level, scale, data: level), PARAMETERS, Y)
    with pytest.raises(BadDensity, match="by scale must have the shape of scale"):
        stated_problem((by_keyword, lambda level, scale, data: {"level": level}), PARAMETERS, Y)


def test_arguments_of_other_names_are_told_from_errors_of_the_density():
    with pytest.raises(TypeError, match=r"arguments named \['x'\].*found arguments \(y\)"):
        stated_problem(lambda y: -(y**2), {"x": Parameter()}, None)


def test_an_error_of_the_density_itself_is_passed_on():
    with pytest.raises(ZeroDivisionError, match="division"):
        stated_problem(lambda x: 1 / 0, {"x": Parameter()}, None)


@pytest.mark.parametrize("answer", [None, "1.0", [1.0, 2.0], 1j])
def test_an_answer_that_is_no_number_is_refused(answer):
    with pytest.raises(BadDensity, match="must return one real number"):
        stated_problem(lambda x: answer, {"x": Parameter()}, None)


def test_one_number_is_asked_for():
    with pytest.raises(BadDensity, match="must return one real number"):
        stated_problem(lambda x: -(x**2), {"x": Parameter(3)}, None)


def test_many_numbers_need_a_gradient():
    with pytest.raises(BadDensity, match="more than 100 numbers"):
        stated_problem(lambda x: -(x @ x), {"x": Parameter(101)}, None)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([("x", Parameter()), ("x", Parameter())], r"must not overlap; found \['x'\]"),
        ({"x": Parameter(2), "x[1]": Parameter()}, r"must not overlap; found \['x\[1\]'\]"),
    ],
)
def test_names_that_overlap_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        stated_problem(lambda values: 0.0, parameters, None)


@pytest.mark.parametrize("parameters", [{}, {"x": 3.0}, {1: Parameter()}, [Parameter()]])
def test_parameters_are_named_parameters(parameters):
    with pytest.raises(TypeError, match="a Parameter for each name"):
        stated_problem(lambda values: 0.0, parameters, None)


@pytest.mark.parametrize("log_density", [3.0, (lambda x: x, "numeric"), (lambda x: x,)])
def test_a_density_is_a_function(log_density):
    with pytest.raises(TypeError, match="log_density must be a function"):
        stated_problem(log_density, {"x": Parameter()}, None)


def test_shapes_and_supports_of_parameters_are_checked():
    assert Parameter(3, "simplex").bijection == Simplex(3)
    assert Parameter((2, 2), "covariance").bijection.shape == (2, 2)
    assert Parameter(2, (0.0, np.inf)).bijection == Parameter(2, "positive").bijection
    with pytest.raises(ValueError, match="shape must be that of the support"):
        Parameter((2, 3), "covariance")
    with pytest.raises(ValueError, match="support must be one of"):
        Parameter(support="integer")
    with pytest.raises(ValueError, match="support must be one of"):
        Parameter(support=3.0)
    with pytest.raises(ValueError, match="shape must be whole numbers"):
        Parameter(shape=0)
    with pytest.raises(ValueError, match="low must be below high"):
        Parameter(support=(1.0, 0.0))


def test_starts_are_inside_their_supports():
    def density(x, rate):
        return -(x**2) - rate

    parameters = {"x": Parameter(start=7.0), "rate": Parameter(support="positive")}
    problem, _ = stated_problem(density, parameters, None)
    assert_allclose(problem.start, [7.0, 0.0])
    with pytest.raises(ValueError, match="rate must lie inside its support"):
        stated_problem(density, parameters | {"rate": Parameter((), "positive", -1.0)}, None)
    with pytest.raises(ValueError, match="start of x must have shape"):
        stated_problem(density, parameters | {"x": Parameter(start=[1.0, 2.0])}, None)


def in_jax(level, scale, data):
    """Return the density of `by_keyword` for JAX."""
    jnp = pytest.importorskip("jax.numpy")
    rest = jnp.sum((data - level[0] * level[1]) ** 2)
    return -rest / scale - 3.0 * jnp.log(scale) - scale


@pytest.mark.comparison
def test_jax_gives_the_gradient_that_is_written_by_hand():
    pytest.importorskip("jax")
    problem, words = stated_problem((in_jax, "jax"), PARAMETERS, Y)
    assert words == "by JAX"
    for free in np.random.default_rng(0).normal(size=(5, 3)):
        by_hand, _ = stated_problem((by_keyword, slopes), PARAMETERS, Y)
        expected = by_hand.log_density_and_gradient(free)
        value, gradient = problem.log_density_and_gradient(free)
        assert value == pytest.approx(expected[0], rel=1e-12)
        assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-12)
        many = problem.log_densities(np.stack([free, free]))
        assert_allclose(many, expected[0], rtol=1e-12)


@pytest.mark.comparison
def test_a_density_in_jax_is_drawn_from():
    jnp = pytest.importorskip("jax.numpy")

    def normal(x):
        return -0.5 * jnp.sum((x - 1.0) ** 2) / 0.25

    found = credo.posterior((normal, "jax"), {"x": Parameter(2)}, draws=300, random_state=0)
    assert "by JAX" in found.notes[0]
    error = found.draws.mean_error("x")
    assert np.all(np.abs(found.draws.mean("x") - 1.0) < 4.0 * error)
    assert_allclose(found.draws.std("x"), 0.5, rtol=0.15)


def test_without_jax_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"must find JAX installed.*Install"):
        stated_problem((by_keyword, "jax"), PARAMETERS, Y)


@pytest.mark.parametrize(
    "density",
    [
        lambda x: -0.5 * np.linalg.norm(x) ** 2,
        lambda x: -np.abs(x).sum(),
        lambda x: -float(np.vdot(x, x).real),
    ],
)
def test_functions_that_lose_imaginary_parts_are_left_to_differences(density):
    problem, words = stated_problem(density, {"x": Parameter(3)}, None)
    assert "differences" in words
    free = np.array([0.4, -1.3, 2.0])
    steps = 1e-6 * np.eye(3)
    expected = [(density(free + h) - density(free - h)) / 2e-6 for h in steps]
    assert_allclose(problem.log_density_and_gradient(free)[1], expected, rtol=1e-6)


def test_a_slope_that_is_rounding_alone_is_not_wrong():
    problem, _ = stated_problem(
        lambda x: -np.log(x), {"x": Parameter(support="positive")}, None
    )
    assert_allclose(problem.log_density_and_gradient(np.array([0.7]))[1], 0.0, atol=1e-9)


def test_differences_keep_a_covariance_positive_definite():
    def density(S):
        assert np.array_equal(S, S.T)
        np.linalg.cholesky(S)
        return float(np.linalg.slogdet(S)[1] - 0.5 * np.trace(S))

    given = (density, "differences")
    problem, _ = stated_problem(given, {"S": Parameter((2, 2), "covariance")}, None)
    for free in ([0.3, -0.2, 0.5], [-3.0, 1.0, -3.5]):
        values = problem.parameters.constrain(np.array(free))
        found = problem.density(values)[1]["S"]
        expected = np.linalg.inv(values["S"]) - 0.5 * np.eye(2)
        assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("x", [1e-200, 1e-40, 1e-3, 7.0, 1e60])
def test_complex_steps_are_small_beside_the_number_itself(x):
    parameters = {"x": Parameter(support="positive")}
    problem, way = stated_problem(lambda x: 3.0 * np.log(x) - x, parameters, None)
    assert "complex" in way
    assert_allclose(problem.density({"x": np.array(x)})[1]["x"], 3.0 / x - 1.0, rtol=1e-12)


def test_a_density_that_draws_random_numbers_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(BadDensity, match="the same each time"):
        stated_problem(
            lambda x: (-0.5 * x**2 + 1e-3 * rng.normal(), -x), {"x": Parameter()}, None
        )


def test_a_density_in_single_precision_is_told_from_a_wrong_gradient():
    y = np.linspace(0.0, 30.0, 50, dtype=np.float32)

    def rounded(x):
        return float(-np.sum((y - np.float32(x)) ** 2, dtype=np.float32))

    with pytest.raises(BadDensity, match="must be smooth to many digits"):
        stated_problem(rounded, {"x": Parameter()}, None)
