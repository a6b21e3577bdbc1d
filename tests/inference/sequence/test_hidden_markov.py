from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.distributions import MultivariateNormal, Normal
from credo.distributions.class_conditional import ClassConditional
from credo.families import GammaPoisson, NormalInverseGamma, NormalInverseWishart
from credo.inference import (
    BlockedGibbs,
    DegenerateComponent,
    ExpectationMaximization,
    HiddenChain,
    HiddenChainBelief,
    HiddenMarkovProblem,
    ImpossibleSequence,
    IncompleteRows,
    run,
)
from credo.inference.sequence.hidden_markov import free_energy, stationary_table
from credo.inference.sequence.transition import FixedTable, TransitionBelief

RNG = np.random.default_rng(0)

X, ENDS = np.array([[0.1], [1.9], [0.8], [2.2]]), np.array([0, 4])
START, TABLE = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]])
CHAIN = HiddenChain(START, TABLE, Normal([[0.0], [2.0]], [[1.0], [np.sqrt(0.5)]]))

PAIRS = np.array(
    [
        [[0.1973758848, 0.7499190131], [0.0014455003, 0.0512596018]],
        [[0.1357166832, 0.0631047019], [0.1500403192, 0.6511382957]],
        [[0.0378548264, 0.2479021759], [0.0114974687, 0.7027455290]],
    ]
)


def even_prior(rows, k=2):
    return HiddenChainBelief(
        TransitionBelief(np.ones(k)), TransitionBelief(np.ones((k, k))), rows
    )


def worked_problem():
    rows = NormalInverseGamma(np.zeros((2, 1)), 1.0, 1.0, 1.0)
    data = IncompleteRows.unlabeled(X, n_classes=2)
    return HiddenMarkovProblem(data, ENDS, even_prior(rows), is_point=True)


def test_worked_numbers_of_both_passes():
    assert_allclose(CHAIN.log_prob(X, ENDS), [-5.7807385855], rtol=1e-10)
    past = [0.9750080394, 0.2053644265, 0.4847219131, 0.0493522951]
    assert_allclose(CHAIN.filtered(X, ENDS)[:, 0], past, rtol=1e-9)
    found = CHAIN.smoothed(X, ENDS)
    every = [0.9472948979, 0.1988213851, 0.2857570024, 0.0493522951]
    assert_allclose(found.belief[:, 0], every, rtol=1e-9)
    assert_allclose(found.transitions, PAIRS.sum(axis=0), rtol=1e-8)
    assert_allclose(CHAIN.log_joint(X, np.array([0, 1, 1, 1]), ENDS), np.log([0.0018508340703]))


def test_worked_numbers_of_one_step():
    problem = worked_problem()
    found = problem.smoothed(CHAIN)
    assert_allclose(found.transitions, PAIRS.sum(axis=0), rtol=1e-8)
    step = problem.expect(CHAIN)
    assert_allclose(step.log_normalizer, -5.7807385855, rtol=1e-10)
    after = problem.update(step.statistics)
    assert_allclose(after.start, [0.9472948979, 0.0527051021], rtol=1e-8)
    table = [[0.2590644006, 0.7409355994], [0.1039350243, 0.8960649757]]
    assert_allclose(after.transition, table, rtol=1e-8)
    assert_allclose(after.density.loc.ravel(), [0.5466221913, 1.6636381547], rtol=1e-8)
    assert_allclose(after.density.scale.ravel() ** 2, [0.4768913908, 0.3890148598], rtol=1e-8)
    assert_allclose(after.log_prob(X, ENDS), [-3.8108429222], rtol=1e-9)


def test_free_energy_is_least_at_the_posterior_where_it_is_minus_log_p():
    logs = CHAIN.log_densities(X)
    single = CHAIN.smoothed(X, ENDS).belief
    least = free_energy(logs, START, TABLE, single, PAIRS)
    assert_allclose(least, 5.7807385855, atol=1e-8)
    for _ in range(20):
        path = RNG.dirichlet(np.ones(16) * 0.5).reshape(2, 2, 2, 2)
        pair = np.stack([path.sum((2, 3)), path.sum((0, 3)), path.sum((0, 1))])
        one = np.stack([*pair.sum(axis=2), pair[-1].sum(axis=0)])
        assert free_energy(logs, START, TABLE, one, pair) >= least - 1e-9


def test_gaps_of_vectors_are_filled_as_their_mixture_fills_them():
    x = RNG.normal(size=(30, 2)) + np.repeat([[0.0, 0.0], [3.0, 3.0]], 15, axis=0)
    x[RNG.random(x.shape) < 0.2] = np.nan
    x[7] = np.nan
    rows = NormalInverseWishart(np.zeros((2, 2)), 0.1, 5.0, np.eye(2))
    prior = HiddenChainBelief(
        FixedTable(np.full(2, 0.5)), FixedTable(np.full((2, 2), 0.5)), rows
    )
    share = np.repeat(np.eye(2), 15, axis=0)
    data = IncompleteRows.unlabeled(x, n_classes=2)
    chain = HiddenMarkovProblem(data, np.array([0, 30]), prior, True, True, share)
    begun = chain.start()
    found = chain.expect(begun)
    mixture = ClassConditional(np.log(np.full(2, 0.5)), begun.density)
    other = chain.rows_problem.expect(mixture)
    assert_allclose(found.log_normalizer, other.log_normalizer, rtol=1e-12)
    assert_allclose(
        found.statistics.rows.rows.scatter, other.statistics.rows.scatter, rtol=1e-9
    )


def test_labels_that_no_path_can_have_are_refused():
    data = IncompleteRows(X, np.array([0, 1, 0, -1]), np.ones(4), 2)
    prior = HiddenChainBelief(
        FixedTable(np.array([1.0, 0.0])),
        FixedTable(np.array([[0.5, 0.5], [0.0, 1.0]])),
        GammaPoisson(np.ones((2, 1)), 1.0),
    )
    rows = IncompleteRows(np.round(X), data.label, data.weight, 2)
    problem = HiddenMarkovProblem(rows, ENDS, prior, is_point=True)
    chain = HiddenChain(prior.start.mean(), prior.transition.mean(), prior.rows.mean())
    with pytest.raises(ImpossibleSequence, match="sequence 0 is not"):
        problem.expect(chain)


def test_a_state_that_loses_all_rows_is_said():
    share = np.tile([1.0, 0.0], (4, 1))
    rows = GammaPoisson(np.ones((2, 1)), 1.0)
    data = IncompleteRows.unlabeled(np.round(X), n_classes=2)
    problem = HiddenMarkovProblem(data, ENDS, even_prior(rows), is_point=True)
    found = problem.expect(HiddenChain(START, TABLE, rows.mean()))
    lost = replace(found.statistics, rows=problem.rows_problem.shared_out(None, share))
    with pytest.raises(DegenerateComponent, match="component 1"):
        problem.update(lost)


def test_variational_bound_is_that_of_its_own_posterior():
    # The bound of a belief is E log p(y, s, parameters) - E log q, by enumeration of paths.
    x = np.array([[0.0], [4.0], [3.0], [1.0]])
    rows = GammaPoisson(np.ones((2, 1)), 0.5)
    data = IncompleteRows.unlabeled(x, n_classes=2)
    problem = HiddenMarkovProblem(data, ENDS, even_prior(rows))
    belief = run(ExpectationMaximization(1e-10), problem).posterior
    logs = problem.log_densities(belief)
    first, step = np.log(belief.start.weights()), np.log(belief.transition.weights())
    terms = []
    for path in product([0, 1], repeat=4):
        own = first[path[0]] + sum(logs[t, path[t]] for t in range(4))
        terms.append(own + sum(step[path[t - 1], path[t]] for t in range(1, 4)))
    bound = np.logaddexp.reduce(terms) - belief.kl(problem.prior)
    found = problem.expect(belief)
    assert_allclose(found.log_normalizer - problem.penalty(belief), bound, rtol=1e-12)


def test_stationary_table_is_the_best_of_its_neighbors():
    counts, first = RNG.uniform(1.0, 9.0, (3, 3)), np.array([5.0, 1.0, 0.5])
    guess = counts / counts.sum(axis=1, keepdims=True)
    found = stationary_table(counts, first, guess)

    def value(table):
        kept = np.linalg.matrix_power(table, 200)[0]
        return (counts * np.log(table)).sum() + first @ np.log(kept)

    assert value(found) > value(guess)
    for _ in range(30):
        other = found * np.exp(1e-3 * RNG.normal(size=(3, 3)))
        assert value(other / other.sum(axis=1, keepdims=True)) < value(found)


def test_zero_transitions_stay_zero():
    prior = TransitionBelief([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    after = prior.update(RNG.uniform(1.0, 5.0, (3, 3)))
    for table in (after.mean(), after.mode(), after.weights(), after.sample(RNG)):
        assert (table[prior.concentration == 0] == 0).all()
    assert_allclose(after.sample(RNG).sum(axis=1), 1.0)


def test_beliefs_about_tables_have_the_moments_of_dirichlet():
    own = TransitionBelief([[0.2, 1.5, 3.0], [2.0, 2.0, 0.0]])
    draws = np.stack([own.sample(RNG) for _ in range(20_000)])
    assert_allclose(draws.mean(axis=0), own.mean(), atol=0.01)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(draws, 1e-300)).mean(axis=0)
    assert_allclose(np.exp(logs)[own.is_possible], own.weights()[own.is_possible], rtol=0.1)
    other = TransitionBelief([[1.0, 1.0, 1.0], [1.0, 3.0, 0.0]])
    gaps = [own.log_density_at(d) - other.log_density_at(d) for d in draws[:20_000]]
    finite = np.array(gaps)[np.isfinite(gaps)]
    assert_allclose(finite.mean(), own.kl(other), rtol=0.05)
    counts = np.array([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    chance = np.exp((counts * np.log(np.maximum(draws, 1e-300))).sum(axis=(1, 2)))
    assert_allclose(np.log(chance.mean()), own.log_evidence(counts), atol=0.05)
    assert own.log_evidence(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])) == -np.inf


def test_parts_of_rows_say_what_they_say_together(monkeypatch):
    rng = np.random.default_rng(0)
    ends = np.array([0, 7, 8, 30, 31, 40, 64])
    x = rng.normal(size=(64, 1))
    whole = CHAIN.log_prob(x, ends), CHAIN.filtered(x, ends)[ends[1:] - 1]
    monkeypatch.setattr("credo.inference.sequence.hidden_markov.PART", 10)
    belief, log_prob = CHAIN.last_belief(x, ends)
    assert_allclose(log_prob, whole[0], rtol=1e-12)
    assert_allclose(belief, whole[1], rtol=1e-10)


def test_drawn_paths_say_what_all_paths_say():
    rng = np.random.default_rng(0)
    rows = GammaPoisson([[2.0], [6.0]], 1.0)
    tables = TransitionBelief([2.0, 1.0]), TransitionBelief([[4.0, 1.0], [1.0, 2.0]])
    prior = HiddenChainBelief(*tables, rows)
    x = np.array([[1.0], [5.0], [4.0], [2.0], [7.0]])
    data = IncompleteRows.unlabeled(x, n_classes=2)
    problem = HiddenMarkovProblem(data, np.array([0, 3, 5]), prior)
    paths = np.array(list(product([0, 1], repeat=5)))
    logs = []
    for path in paths:
        pairs = np.zeros((2, 2))
        for t in (1, 2, 4):
            pairs[path[t - 1], path[t]] += 1.0
        first = np.bincount(path[[0, 3]], minlength=2).astype(float)
        seen = rows.statistics_by_group(x, path, 2)
        own = tables[0].log_evidence(first) + tables[1].log_evidence(pairs)
        logs.append(own + float(rows.log_evidence(seen).sum()))
    share = np.exp(logs - np.logaddexp.reduce(logs))
    found = run(BlockedGibbs(3000, 100, 2), problem, rng)
    code = found.posterior.pooled @ 2 ** np.arange(5)[::-1]
    drawn = np.bincount(code, minlength=32) / len(code)
    worth = found.effective_draws
    assert worth > 300
    assert np.abs(drawn - share).max() < 4.5 * np.sqrt(0.25 / worth)
    assert_allclose(drawn @ paths, share @ paths, atol=4.5 * np.sqrt(0.25 / worth))


@pytest.mark.comparison
def test_another_library_finds_the_same_beliefs_paths_and_steps():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(0)
    lengths, k, d = [60, 1, 90], 3, 2
    ends = np.concatenate([[0], np.cumsum(lengths)])
    spread = rng.normal(size=(k, d, d))
    cov = spread @ spread.swapaxes(1, 2) + 0.5 * np.eye(d)
    density = MultivariateNormal(2.0 * rng.normal(size=(k, d)), cov)
    chain = HiddenChain(rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), density)
    x, _ = chain.sample(rng, np.array(lengths))
    other = hmm.GaussianHMM(
        k, "full", init_params="", n_iter=3, tol=-np.inf, covars_prior=0.0, covars_weight=0.0
    )
    other.startprob_, other.transmat_ = chain.start, chain.transition
    other.means_, other.covars_ = density.loc, cov
    assert_allclose(chain.log_prob(x, ends).sum(), other.score(x, lengths), rtol=1e-10)
    share = other.predict_proba(x, lengths)
    assert_allclose(chain.smoothed(x, ends).belief, share, atol=1e-9)
    assert (chain.best_path(x, ends) == other.predict(x, lengths)).all()
    rows = NormalInverseWishart(np.zeros((k, d)), 0.1, 5.0, np.eye(d))
    data = IncompleteRows.unlabeled(x, k)
    problem = HiddenMarkovProblem(data, ends, even_prior(rows, k), is_point=True)
    other.fit(x, lengths)
    for _ in range(3):
        step = problem.expect(chain)
        chain = problem.update(step.statistics)
    assert_allclose(step.log_normalizer, other.monitor_.history[-1], rtol=1e-9)
    assert_allclose(chain.transition, other.transmat_, rtol=1e-6, atol=1e-9)
    assert_allclose(chain.density.loc, other.means_, rtol=1e-6)


@pytest.mark.parametrize("is_vector", [True, False])
def test_quick_densities_of_complete_rows_are_those_of_each_state(is_vector):
    rng = np.random.default_rng(0)
    loc, x = rng.normal(size=(3, 2)), rng.normal(size=(40, 2))
    cov = np.array([[1.0, 0.4], [0.4, 0.7]])
    vector = MultivariateNormal(loc, cov)
    density = vector if is_vector else Normal(loc, [[0.5], [1.0], [2.0]])
    chain = HiddenChain(np.full(3, 1.0 / 3.0), np.full((3, 3), 1.0 / 3.0), density)
    expected = density.log_prob(x[:, None])
    if not is_vector:
        expected = expected.sum(axis=-1)
    assert_allclose(chain.log_densities(x), expected, rtol=1e-12)
    x[3, 1] = np.nan
    assert_allclose(chain.log_densities(x)[:3], expected[:3], rtol=1e-12)
