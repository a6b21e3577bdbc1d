"""Probit and logit nodes against integrals and simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

from credo.graphs import ConditionalThreshold, Logit, Probit, Variable
from credo.graphs.node.conditional import Conditional, DiscreteConditional

SIZE, GO = Variable("size"), Variable("go", (False, True))
GRADE = Variable("grade", ("low", "middle", "high"))


def test_go_has_the_worked_probability():
    node = Probit(120.0, 15.0, below=True).bind(GO, (SIZE,))

    def weighted(size):
        values = {"size": np.array([size]), "go": np.array([1])}
        return float(np.exp(node.log_prob(values))[0]) * stats.norm.pdf(size, 100.0, 20.0)

    total, _ = integrate.quad(weighted, -100.0, 300.0, points=[100.0], epsabs=1e-13)
    assert_allclose(total, 0.7881446014, rtol=1e-9)


@pytest.mark.parametrize(("kind", "cdf"), [(Probit, special.ndtr), (Logit, special.expit)])
def test_ordered_states_share_out_the_score(kind, cdf):
    node = kind([-1.0, 0.5], 2.0).bind(GRADE, (SIZE,))
    size = np.array([-3.0, 0.0, 0.7, 4.0])
    low, middle = cdf((-1.0 - size) / 2.0), cdf((0.5 - size) / 2.0) - cdf((-1.0 - size) / 2.0)
    table = np.exp(node.log_table({"size": size}))
    assert_allclose(table, np.column_stack([low, middle, 1.0 - low - middle]), rtol=1e-12)


@pytest.mark.parametrize("kind", [Probit, Logit])
@pytest.mark.parametrize("size", [-300.0, 300.0])
def test_probabilities_far_away_keep_their_logs(kind, size):
    table = kind([-1.0, 1.0]).bind(GRADE, (SIZE,)).log_table({"size": np.array([size])})
    assert np.all(np.isfinite(table))
    mirrored = kind([-1.0, 1.0]).bind(GRADE, (SIZE,)).log_table({"size": np.array([-size])})
    assert_allclose(table, mirrored[:, ::-1], rtol=1e-12)
    assert_allclose(special.logsumexp(table), 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", [Probit, Logit])
def test_draws_have_the_stated_frequencies(kind):
    node = kind([-1.0, 0.5], 2.0).bind(GRADE, (SIZE,))
    n = 50_000
    values = {"size": np.full(n, 0.3)}
    draws = node.sample(values, n, np.random.default_rng(0))
    expected = np.exp(node.log_table({"size": np.array([0.3])}))[0]
    assert_allclose(np.bincount(draws, minlength=3) / n, expected, atol=0.01)


def test_draws_of_an_event_are_positions_of_its_states():
    node = Probit(120.0, 15.0, below=True).bind(GO, (SIZE,))
    draws = node.sample({"size": np.full(1000, 0.0)}, 1000, np.random.default_rng(0))
    assert np.all(draws == 1)


@pytest.mark.parametrize(("kind", "cdf"), [(Probit, special.ndtr), (Logit, special.expit)])
def test_a_single_threshold_names_the_state_on_one_side(kind, cdf):
    low, high = cdf(20 / 15), cdf(-20 / 15)
    expected = {"below": (low, high), "above": (high, low)}
    for side, (named, other) in expected.items():
        for state, place in ((True, 1), (False, 0)):
            node = kind(120.0, 15.0, **{side: state}).bind(GO, (SIZE,))
            table = np.exp(node.log_table({"size": np.array([100.0])}))[0]
            assert_allclose(table[[place, 1 - place]], [named, other], rtol=1e-12)


def test_a_list_of_one_threshold_is_the_same_as_above_the_last_state():
    size = {"size": np.linspace(-3.0, 3.0, 7)}
    listed = Probit([0.5], 2.0).bind(GO, (SIZE,)).log_table(size)
    assert_allclose(Probit(0.5, 2.0, above=True).bind(GO, (SIZE,)).log_table(size), listed)


def test_a_single_threshold_without_a_side_is_refused():
    with pytest.raises(ValueError, match=r"found neither below nor above\. Pass below=state"):
        Probit(0.0)
    with pytest.raises(ValueError, match="found below and above"):
        Logit(0.0, below=True, above=False)
    with pytest.raises(ValueError, match="must be left out"):
        Probit([1.0, 2.0], below="low")


def test_score_is_linear_in_several_parents():
    x, y = Variable("x"), Variable("y")
    node = Logit(1.0, 2.0, {"x": 0.5, "y": -1.0}, below=True).bind(GO, (y, x))
    values = {"x": np.array([2.0]), "y": np.array([3.0]), "go": np.array([1])}
    assert_allclose(np.exp(node.log_prob(values)), special.expit((1.0 - (1.0 - 3.0)) / 2.0))
    assert node.n_parameters == 3
    with pytest.raises(ValueError, match="coefficients of go must be given for several"):
        Logit(1.0, below=True).bind(GO, (x, y))


def test_discrete_parents_choose_the_parameters():
    road = Variable("road", ("dry", "wet"))
    spec = ConditionalThreshold(
        {"wet": Probit(80.0, 10.0, below=True), "dry": Probit(120.0, 15.0, below=True)}
    )
    node = spec.bind(GO, (SIZE, road))
    values = {
        "road": np.array([0, 1]),
        "size": np.array([100.0, 100.0]),
        "go": np.array([1, 1]),
    }
    assert_allclose(np.exp(node.log_prob(values)), special.ndtr([20 / 15, -20 / 10]))
    draws = node.sample(
        {"road": np.repeat([0, 1], 20_000), "size": np.full(40_000, 100.0)},
        40_000,
        np.random.default_rng(3),
    )
    shares = draws.reshape(2, -1).mean(axis=1)
    assert_allclose(shares, special.ndtr([20 / 15, -20 / 10]), atol=0.01)
    with pytest.raises(ValueError, match="Use ConditionalThreshold"):
        Probit(1.0, below=True).bind(GO, (SIZE, road))
    with pytest.raises(ValueError, match="must share one link"):
        ConditionalThreshold({"wet": Probit(80.0, below=True), "dry": Logit(80.0, below=True)})


def test_node_is_a_conditional_but_no_table():
    node = Probit(0.0, below=True).bind(GO, (SIZE,))
    assert isinstance(node, Conditional)
    assert not isinstance(node, DiscreteConditional)


def test_states_are_proposed_where_none_are_given():
    assert Probit(1.0, below=True).child_states() == (False, True)
    assert Logit([1.0, 2.0]).child_states() == (0, 1, 2)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="ascending numbers; found"):
        Probit([2.0, 1.0])
    with pytest.raises(ValueError, match=r"scale must be positive; found 0.0"):
        Probit(1.0, 0.0, below=True)
    with pytest.raises(ValueError, match="grade must have 2 states"):
        Probit(1.0, below=True).bind(GRADE, (SIZE,))
    with pytest.raises(ValueError, match="found a real-valued variable"):
        Probit(1.0, below=True).bind(Variable("y"), (SIZE,))
    with pytest.raises(ValueError, match="must have a real-valued parent"):
        Probit(1.0, below=True).bind(GO, ())
