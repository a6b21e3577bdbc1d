import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.discrete.exact_inference import ExactMarginals, TableInference
from credo.inference.discrete.factor_problem import FactorProblem, table_of
from credo.inference.discrete.table_engine import (
    PROVEN_IMPOSSIBLE,
    TableApproximation,
    TableEngine,
    approximate,
    approximate_mode,
    approximate_total,
)
from credo.inference.engine.engine import Account, ConvergenceWarning
from credo.inference.engine.error import AnswerTooLarge, InferenceTooLarge, NotSubmodular
from credo.inference.engine.findings import Findings
from credo.inference.engine.method import ApproximationWarning, engine_of, methods
from credo.inference.engine.network import Auto

METHODS = [method for method in methods() if method != "likelihood_weighting"]
EVERYTHING = Findings(1)


def grid(n, rng, coupling=0.8, field=0.4):
    """Return a binary grid in which neighbors like to agree if the coupling is positive."""
    number = {(i, j): i * n + j for i in range(n) for j in range(n)}
    tables = [table_of((v,), np.exp([0.0, rng.normal(0, field)])) for v in number.values()]
    for (i, j), v in number.items():
        for other in ((i + 1, j), (i, j + 1)):
            if other in number:
                agree = np.exp(coupling * rng.uniform(0.2, 1.0))
                pair = np.array([[agree, 1.0], [1.0, agree]])
                tables.append(table_of((v, number[other]), pair))
    return FactorProblem((2,) * (n * n), tuple(tables))


def density_of(problem):
    """Return all states and their density, by brute force."""
    states = np.array(list(itertools.product([0, 1], repeat=len(problem.n_states))))
    return states, np.exp(problem.log_density(states))


class Coded:
    """Variables that are named by their numbers, and answers about all of them as arrays."""

    def __init__(self, exact, auxiliary=frozenset()):
        self.exact = exact
        names = [i for i in range(len(exact.problem.n_states)) if i not in auxiliary]
        engine = TableEngine({i: i for i in names}, exact)
        self.auto = Auto(engine, (TableApproximation(engine),), "tables without arrows")

    def marginals(self, findings, targets, method="auto"):
        found, total, account = self.auto.marginals(findings, [*targets], method)
        return ExactMarginals(found, total), account

    def joint(self, findings, targets, method="auto"):
        return self.auto.joint(findings, [*targets], method)

    def total(self, findings, method="auto"):
        return self.auto.total(findings, method)

    def best(self, findings, targets, method="auto"):
        found, total, account = self.auto.best(findings, [*targets], method)
        states = np.full((findings.n_rows, len(self.exact.problem.n_states)), -1)
        for i, column in found.items():
            states[:, i] = column
        return states, total, account


def whole(problem):
    return Coded(TableInference(problem))


def narrow(problem):
    """Return inference whose exact engine fits nothing."""
    return Coded(TableInference(problem, max_bytes=200, max_seconds=1e-12))


def test_an_exact_answer_that_fits_says_so_and_is_silent():
    problem = grid(3, np.random.default_rng(0))
    states, density = density_of(problem)
    found, account = whole(problem).marginals(EVERYTHING, range(9))
    for i in range(9):
        expected = density[states[:, i] == 1].sum() / density.sum()
        assert_allclose(found.probability[i][0, 1], expected, rtol=1e-12)
    assert_allclose(found.log_total, np.log(density.sum()), rtol=1e-12)
    assert account == Account("exact", True, 0.0, "exact", None)
    assert "effective_draws" not in account.attrs()


@pytest.mark.parametrize("ask", ["marginals", "joint", "total", "best"])
def test_exact_by_name_forbids_every_other_rung(ask):
    auto = narrow(grid(4, np.random.default_rng(1)))
    targets = {"marginals": [range(16)], "joint": [[0, 1]], "total": [], "best": [range(16)]}
    with pytest.raises(InferenceTooLarge):
        getattr(auto, ask)(EVERYTHING, *targets[ask], method="exact")


def test_without_a_plan_that_fits_guided_draws_answer_with_a_standard_error():
    problem = grid(4, np.random.default_rng(2))
    states, density = density_of(problem)
    with pytest.warns(
        ApproximationWarning, match=r"the answer is approximate: a plan of width"
    ):
        found, account = narrow(problem).marginals(EVERYTHING, range(16))
    assert account.method == "importance sampling guided by messages"
    assert (account.is_exact, account.error_kind) == (False, "largest standard error")
    assert account.effective_draws >= 200
    assert 0 < account.error < 0.05
    for i in range(16):
        expected = density[states[:, i] == 1].sum() / density.sum()
        assert abs(found.probability[i][0, 1] - expected) <= 5 * account.error
    assert_allclose(found.log_total[0], np.log(density.sum()), atol=0.05)


def test_the_total_has_an_error_of_its_own():
    problem = grid(4, np.random.default_rng(2))
    _, density = density_of(problem)
    with pytest.warns(ApproximationWarning):
        total, account = narrow(problem).total(EVERYTHING)
    assert account.error_kind == "standard error"
    assert abs(total[0] - np.log(density.sum())) <= 5 * account.error
    bethe, account = whole(problem).total(EVERYTHING, "belief_propagation")
    assert account.error_kind == "Bethe approximation"
    assert np.isnan(account.error)
    assert_allclose(bethe[0], np.log(density.sum()), atol=0.3)
    bound, account = whole(problem).total(EVERYTHING, "mean_field")
    assert account.error_kind == "lower bound"
    assert bound[0] <= np.log(density.sum()) + 1e-9


@pytest.mark.parametrize("method", ["belief_propagation", "gibbs", "importance"])
def test_findings_of_every_row_are_certain_and_move_the_others(method):
    problem = grid(3, np.random.default_rng(3), coupling=0.6)
    states, density = density_of(problem)
    rows = Findings(3, {4: np.array([0, 1, -1])}, {0: np.array([[1.0] * 3, [3.0] * 3])})
    tilted = density * np.where(states[:, 0] == 1, 3.0, 1.0)
    found, account = whole(problem).marginals(rows, [1, 4], method)
    assert not account.is_exact
    assert found.probability[4][:2].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    for row, code in enumerate([0, 1, None]):
        kept = tilted * (states[:, 4] == code) if code is not None else tilted
        expected = kept[states[:, 1] == 1].sum() / kept.sum()
        assert_allclose(found.probability[1][row, 1], expected, atol=0.03)


def test_an_approximate_joint_table_is_chained_from_marginals():
    problem = grid(3, np.random.default_rng(4))
    states, density = density_of(problem)
    expected = np.zeros((2, 2, 2))
    np.add.at(expected, tuple(states[:, [0, 4, 8]].T), density / density.sum())
    with pytest.warns(ApproximationWarning):
        table, _, account = narrow(problem).joint(EVERYTHING, [0, 4, 8])
    assert table.shape == (1, 2, 2, 2)
    assert_allclose(table.sum(), 1.0, rtol=1e-9)
    assert_allclose(table[0], expected, atol=5 * account.error)


def test_a_joint_table_of_too_many_runs_is_refused():
    auto = whole(grid(4, np.random.default_rng(4)))
    with pytest.raises(ValueError, match=r"at most 256 runs; found 512 .*Ask for fewer"):
        auto.joint(EVERYTHING, range(10), "belief_propagation")


def test_a_joint_table_that_cannot_be_held_is_refused_by_every_method():
    problem = FactorProblem((2,) * 60, tuple(table_of((i,), np.ones(2)) for i in range(60)))
    for method in METHODS:
        with pytest.raises(AnswerTooLarge, match="Ask for fewer variables") as caught:
            whole(problem).joint(EVERYTHING, range(60), method)
        assert caught.value.cells == 2**60


def test_the_mode_of_neighbors_that_agree_is_cut_exactly():
    problem = grid(4, np.random.default_rng(5))
    states, density = density_of(problem)
    found, total, account = narrow(problem).best(EVERYTHING, range(16))
    assert account.method == "max-flow"
    assert account.is_exact
    assert found[0].tolist() == states[density.argmax()].tolist()
    assert_allclose(total[0], np.log(density.max()), rtol=1e-12)
    known = Findings(1, {0: np.array([1]), 5: np.array([0])})
    kept = density * (states[:, 0] == 1) * (states[:, 5] == 0)
    found, total, _ = whole(problem).best(known, range(16), "max_flow")
    assert found[0].tolist() == states[kept.argmax()].tolist()
    assert_allclose(total[0], np.log(kept.max()), rtol=1e-12)


def test_the_mode_of_neighbors_that_disagree_is_approximate_and_says_so():
    problem = grid(4, np.random.default_rng(6), coupling=-0.7)
    _, density = density_of(problem)
    with pytest.warns(ApproximationWarning):
        found, total, account = narrow(problem).best(EVERYTHING, range(16))
    assert account.method in ("max-product belief propagation", "iterated conditional modes")
    assert not account.is_exact
    assert np.isnan(account.error)
    assert_allclose(total, problem.log_density(found), rtol=1e-12)
    assert total[0] <= np.log(density.max()) + 1e-12
    assert total[0] >= np.log(np.sort(density)[-20])
    with pytest.raises(NotSubmodular):
        whole(problem).best(EVERYTHING, range(16), "max_flow")


@pytest.mark.parametrize("method", ["belief_propagation", "conditional_modes"])
def test_modes_by_name_have_the_density_they_tell(method):
    problem = grid(3, np.random.default_rng(7), coupling=0.3)
    states, density = density_of(problem)
    found, total, account = whole(problem).best(EVERYTHING, range(9), method)
    assert not account.is_exact
    assert_allclose(total, problem.log_density(found), rtol=1e-12)
    assert found[0].tolist() == states[density.argmax()].tolist()


def test_an_approximate_mode_must_be_of_all_that_is_unknown():
    auto = whole(grid(3, np.random.default_rng(8)))
    with pytest.raises(ValueError, match=r"found 7 to be summed out.*method=\"exact\""):
        auto.best(EVERYTHING, [0, 1], "conditional_modes")


@pytest.mark.parametrize(
    ("ask", "arguments"),
    [("marginals", ([0],)), ("joint", ([0],)), ("total", ()), ("best", ([0],))],
)
def test_unknown_methods_are_refused_with_the_known_ones(ask, arguments):
    auto = whole(grid(2, np.random.default_rng(0)))
    with pytest.raises(ValueError, match=r"method must be one of \['auto', 'exact'.*'guess'"):
        getattr(auto, ask)(EVERYTHING, *arguments, method="guess")


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_have_no_answers(method):
    auto = whole(grid(2, np.random.default_rng(0)))
    nothing = Findings(0, {0: np.zeros(0, dtype=int)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = auto.marginals(nothing, [1], method)
        total, _ = auto.total(nothing, "auto" if method == "gibbs" else method)
        table, _, _ = auto.joint(nothing, [1, 2], method)
    assert found.probability[1].shape[0] == 0
    assert total.shape == (0,)
    assert table.shape[0] == 0


def contradiction():
    """Return three variables that must be equal, and three rows of which one cannot be."""
    equal = [table_of((i, i + 1), np.eye(2)) for i in range(2)]
    problem = FactorProblem((2,) * 3, (table_of((0,), np.array([0.3, 0.7])), *equal))
    codes = {0: np.array([0, 0, -1]), 2: np.array([0, 1, 1])}
    return problem, Findings(3, codes)


@pytest.mark.parametrize("method", METHODS)
def test_impossible_rows_are_alike_for_every_method_and_leave_others_alone(method):
    problem, rows = contradiction()
    found, account = whole(problem).marginals(rows, [0, 1], method)
    assert np.isneginf(found.log_total).tolist() == [False, True, False]
    for i in (0, 1):
        assert np.isnan(found.probability[i][1]).all()
        assert_allclose(found.probability[i][[0, 2]], [[1.0, 0.0], [0.0, 1.0]], atol=0.01)
    assert account.method != "proof that nothing is possible"
    table, total, _ = whole(problem).joint(rows, [0, 1], method)
    assert np.isneginf(total).tolist() == [False, True, False]
    assert np.isnan(table[1]).all()
    assert_allclose(table[0], [[1.0, 0.0], [0.0, 0.0]], atol=0.01)
    assert_allclose(table[2], [[0.0, 0.0], [0.0, 1.0]], atol=0.01)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "gibbs"])
def test_the_log_total_of_an_impossible_row_is_minus_infinity_by_every_method(method):
    problem, rows = contradiction()
    total, _ = whole(problem).total(rows, method)
    assert_allclose(total, [np.log(0.3), -np.inf, np.log(0.7)], atol=1e-6)


@pytest.mark.parametrize(
    "method", ["auto", "exact", "max_flow", "belief_propagation", "conditional_modes"]
)
def test_an_impossible_row_has_no_most_probable_state_by_every_method(method):
    problem, rows = contradiction()
    states, total, _ = whole(problem).best(rows, [0, 1], method)
    assert_allclose(total, [np.log(0.3), -np.inf, np.log(0.7)], rtol=1e-12)
    assert states[[0, 2], 1].tolist() == [0, 1]
    assert np.isneginf(total[1])


def test_an_inference_that_fits_nothing_finds_impossible_rows_as_well():
    problem, rows = contradiction()
    with pytest.warns(ApproximationWarning):
        found, _ = narrow(problem).marginals(rows, [1])
    assert np.isneginf(found.log_total).tolist() == [False, True, False]
    states, total, _ = narrow(problem).best(rows, [0, 1])
    assert np.isneginf(total).tolist() == [False, True, False]
    assert states[1].tolist() == [-1, -1, -1]


def test_gibbs_draws_give_no_log_total():
    problem, rows = contradiction()
    with pytest.raises(ValueError, match=r'must come from.*found method="gibbs".*"importance"'):
        whole(problem).total(rows, "gibbs")
    found, _ = whole(problem).marginals(rows, [1], "gibbs")
    assert np.isnan(found.log_total[[0, 2]]).all()


def test_the_log_total_of_a_frustrated_grid_is_as_near_as_its_error_tells():
    rng = np.random.default_rng(0)
    number = {(i, j): i * 7 + j for i in range(7) for j in range(7)}
    tables = []
    for (i, j), v in number.items():
        for other in ((i + 1, j), (i, j + 1)):
            if other in number:
                pull = np.exp(rng.normal(0, 2.0))
                pair = np.array([[pull, 1.0], [1.0, pull]])
                tables.append(table_of((v, number[other]), pair))
    problem = FactorProblem((2,) * 49, tuple(tables))
    exact, _ = whole(problem).total(EVERYTHING, "exact")
    with pytest.warns(ApproximationWarning):
        total, account = narrow(problem).total(EVERYTHING)
    # Too few draws count for marginals, and the Bethe approximation is off by two.
    assert account.effective_draws < 1000
    assert 0 < account.error < 0.2
    assert abs(total[0] - exact[0]) <= 5 * account.error


def test_auxiliary_variables_do_not_stand_in_the_way_of_a_mode():
    rng = np.random.default_rng(9)
    problem = grid(3, rng, coupling=-0.7)
    states, density = density_of(problem)
    auto = Coded(narrow(problem).exact, frozenset({8}))
    with pytest.warns(ApproximationWarning):
        found, total, account = auto.best(EVERYTHING, range(8))
    assert not account.is_exact
    assert found[0, 8] == -1
    same = (states[:, :8] == found[0, :8]).all(axis=1)
    # The exact total of the states does not fit either; what is told is a lower bound.
    assert_allclose(total, np.log(density[same].max()), rtol=1e-9)
    roomy = Coded(TableInference(problem), frozenset({8}))
    found, total, account = roomy.best(EVERYTHING, range(8), "conditional_modes")
    same = (states[:, :8] == found[0, :8]).all(axis=1)
    assert_allclose(total, np.log(density[same].sum()), rtol=1e-9)


def test_a_mode_with_others_summed_out_that_does_not_fit_is_one_error_without_a_warning():
    auto = narrow(grid(4, np.random.default_rng(8)))
    with pytest.raises(InferenceTooLarge, match=r"Ask for the states of all unknown") as caught:
        auto.best(EVERYTHING, [0, 1])
    assert caught.value.found.startswith("a plan of width")


PAIR = np.array([[4.0, 2.0], [3.0, 1.0]])
POSSIBLE = FactorProblem((2, 2), (table_of((0, 1), PAIR),))
IMPOSSIBLE = FactorProblem(
    (2, 2), (table_of((0, 1), np.eye(2)), table_of((0, 1), 1 - np.eye(2)))
)


def stream():
    return np.random.default_rng(0)


def of_tables(question):
    return [m for m in methods(question) if m not in ("exact", "likelihood_weighting")]


@pytest.mark.parametrize("method", of_tables("marginals"))
def test_every_engine_finds_the_marginals_of_a_pair(method):
    found = approximate(POSSIBLE, stream(), engine_of(method, "marginals"))
    assert_allclose(found.posterior.probability[0], [0.6, 0.4], atol=0.03)
    assert_allclose(found.posterior.probability[1], [0.7, 0.3], atol=0.03)


@pytest.mark.parametrize("method", of_tables("marginals"))
def test_every_engine_proves_a_contradiction(method):
    found = approximate(IMPOSSIBLE, stream(), engine_of(method, "marginals"))
    assert found.posterior is None
    assert found.log_evidence == -np.inf
    assert found.account is PROVEN_IMPOSSIBLE


@pytest.mark.parametrize("method", of_tables("mode"))
def test_every_engine_of_modes_proves_a_contradiction(method):
    problem = FactorProblem(
        (2, 2), (table_of((0, 1), np.eye(2)), table_of((0,), np.array([1.0, 0.0])),
                 table_of((1,), np.array([0.0, 1.0]))),
    )  # fmt: skip
    found = approximate_mode(problem, stream(), engine_of(method, "mode"))
    assert found == (None, PROVEN_IMPOSSIBLE)


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("importance", "standard error"),
        ("belief_propagation", "exact"),
        ("mean_field", "lower bound"),
    ],
)
def test_a_total_tells_what_its_error_means(method, kind):
    total, account = approximate_total(POSSIBLE, stream(), engine_of(method, "total"))
    assert account.error_kind == kind
    assert_allclose(total, np.log(10.0), atol=0.02)
    assert total <= np.log(10.0) + 1e-9


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            "gibbs",
            r"largest standard error of 0\.\d+ after.*how far off it may be",
        ),
        ("belief_propagation", r"largest change of a message.*Do not rely on it, or ask again"),
    ],
)
def test_an_engine_asked_for_by_name_that_does_not_settle_says_what_that_means(method, said):
    with pytest.warns(ConvergenceWarning, match=said):
        approximate(frustrated(6), stream(), engine_of(method, "marginals"))


def frustrated(n):
    """Return a square of spins with strong couplings of both signs."""
    rng = np.random.default_rng(3)
    spot = np.arange(n * n).reshape(n, n)
    down, right = (spot[1:], spot[:-1]), (spot[:, 1:], spot[:, :-1])
    edges = np.hstack([np.reshape(pair, (2, -1)) for pair in (down, right)]).T
    tables = [table_of((i,), np.exp(0.3 * rng.normal(size=2))) for i in spot.flat]
    for i, j in edges:
        w = 4.0 * rng.normal()
        tables.append(table_of((int(i), int(j)), np.exp([[w, -w], [-w, w]])))
    return FactorProblem((2,) * n**2, tuple(tables))


def test_mean_field_that_excludes_what_is_possible_warns():
    copy = FactorProblem(
        (2, 2),
        (table_of((0,), np.array([0.9, 0.1])), table_of((0, 1), np.eye(2))),
    )
    with pytest.warns(ApproximationWarning, match="tables with zeros .* found 2 single states"):
        found = approximate(copy, stream(), engine_of("mean_field", "marginals"))
    assert_allclose(found.posterior.probability[1], [1.0, 0.0])
    held = FactorProblem((2,), (table_of((0,), np.array([1.0, 0.0])),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        approximate(held, stream(), engine_of("mean_field", "marginals"))
