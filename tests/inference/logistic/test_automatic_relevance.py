"""Precisions of class weights against independent algebra and a general optimizer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

from credo.inference import LogisticRelevance, LogisticRelevanceProblem
from credo.inference.engine.engine import run

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 5)) @ (np.eye(5) + 0.3)
TWO = (RNG.uniform(size=80) < special.expit(2.0 * X[:, 0] - X[:, 2])).astype(np.intp)
SCORES = np.column_stack([2.0 * X[:, 0], -2.0 * X[:, 1], np.zeros(80)])
THREE = (SCORES + RNG.gumbel(size=SCORES.shape)).argmax(axis=1).astype(np.intp)
CASES = {2: TWO, 3: THREE}


def problem(n_classes, weight=None):
    code = CASES[n_classes]
    return LogisticRelevanceProblem(
        X, code, np.ones(80) if weight is None else weight, n_classes
    )


def seen():
    return (X - X.mean(axis=0)) / X.std(axis=0)


def terms(n_classes):
    """Return every weight's effect on the K scores of each row, shape (n, K, w), and shifts."""
    owners = [1] if n_classes == 2 else range(n_classes)
    effect = np.zeros((80, n_classes, 5 * len(owners)))
    for place, owner in enumerate(owners):
        effect[:, owner, 5 * place : 5 * (place + 1)] = seen()
    shift = np.zeros((80, n_classes, n_classes - 1))
    shift[:, np.arange(1, n_classes), np.arange(n_classes - 1)] = 1.0
    return effect, shift


def laplace(n_classes, used, precision):
    """Return mode, curvature of the likelihood, and evidence, up to a constant, by SciPy."""
    effect, shift = terms(n_classes)
    basis = np.concatenate([effect[:, :, used], shift], axis=2)
    prior = np.append(precision, np.zeros(n_classes - 1))
    code, rows = CASES[n_classes], np.arange(80)

    def height(p):
        logs = special.log_softmax(basis @ p, axis=1)
        return -logs[rows, code].sum() + 0.5 * p**2 @ prior

    def slope(p):
        share = special.softmax(basis @ p, axis=1)
        share[rows, code] -= 1.0
        return np.einsum("nk,nkp->p", share, basis) + prior * p

    start = np.zeros(basis.shape[2])
    mode = optimize.minimize(height, start, jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    share = special.softmax(basis @ mode, axis=1)
    mean = np.einsum("nk,nkp->np", share, basis)
    curvature = np.einsum("nk,nkp,nkq->pq", share, basis, basis) - mean.T @ mean
    inner = curvature + np.diag(prior)
    value = -height(mode) + 0.5 * (np.log(precision).sum() - np.linalg.slogdet(inner)[1])
    return mode, inner, value


@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_precision_meets_the_conditions_of_the_highest_evidence(n_classes):
    found = run(LogisticRelevance(tolerance=1e-11), problem(n_classes)).state
    used = found.used
    assert 0 < len(used) < len(found.precision)
    effect, _ = terms(n_classes)
    mode, inner, _ = laplace(n_classes, used, found.precision[used])
    assert_allclose(found.weights[used], mode[: len(used)], atol=1e-6)
    variance = np.diagonal(np.linalg.inv(inner))[: len(used)]
    # The fixed point: precision = (1 - precision * variance) / weight^2.
    assert_allclose(
        found.precision[used],
        (1 - found.precision[used] * variance) / mode[: len(used)] ** 2,
        rtol=1e-4,
    )
    basis = np.concatenate([effect[:, :, used], terms(n_classes)[1]], axis=2)
    share = special.softmax(basis @ mode, axis=1)
    residual = np.eye(n_classes)[CASES[n_classes]] - share
    bend = (
        np.einsum("nk,kj->nkj", share, np.eye(n_classes)) - share[:, :, None] * share[:, None]
    )
    for j in np.setdiff1d(np.arange(effect.shape[2]), used):
        own = effect[:, :, j]
        q = (own * residual).sum()
        between = np.einsum("nk,nkj,njp->p", own, bend, basis)
        s = np.einsum("nk,nkj,nj->", own, bend, own) - between @ np.linalg.solve(inner, between)
        assert q**2 <= s + 1e-6


def test_evidence_is_close_to_that_of_a_general_optimizer():
    state = run(LogisticRelevance(tolerance=1e-10), problem(2)).state
    top = laplace(2, state.used, state.precision[state.used])[2]

    def loss(logs):
        return -laplace(2, np.arange(5), np.exp(logs))[2]

    start = np.log([1.0, 1.0, 1.0, 1e4, 1e4])
    best = optimize.minimize(loss, start, method="Powell", options={"maxfev": 300})
    # The curvature counts as known while precisions are set, which costs a little evidence.
    assert -0.05 < -best.fun - top < 0.15


@pytest.mark.parametrize("n_classes", [2, 3])
def test_objective_is_the_laplace_evidence(n_classes):
    found = run(LogisticRelevance(), problem(n_classes))
    used = found.state.used
    value = laplace(n_classes, used, found.state.precision[used])[2]
    value += 0.5 * (n_classes - 1) * np.log(2 * np.pi)
    # Intercepts of several classes are flat along orthonormal directions: differences to the
    # first class spread by a factor of sqrt(K).
    value -= 0.0 if n_classes == 2 else 0.5 * np.log(n_classes)
    assert_allclose(found.trace[-1].objective, value, atol=1e-3)


def test_weight_two_is_the_row_twice():
    weight = np.where(np.arange(80) % 3 == 0, 2.0, 1.0)
    copies = np.repeat(np.arange(80), weight.astype(int))
    one = run(LogisticRelevance(tolerance=1e-10), problem(3, weight))
    rows = LogisticRelevanceProblem(X[copies], THREE[copies], np.ones(len(copies)), 3)
    two = run(LogisticRelevance(tolerance=1e-10), rows)
    assert_allclose(one.log_evidence, two.log_evidence, rtol=1e-7)
    assert_allclose(one.posterior.gaussian.loc, two.posterior.gaussian.loc, atol=1e-5)


def test_columns_that_repeat_each_other_share_their_prior_variance():
    twice = LogisticRelevanceProblem(np.hstack([X, X[:, :2]]), TWO, np.ones(80), 2)
    found = run(LogisticRelevance(tolerance=1e-10), twice)
    alone = run(LogisticRelevance(tolerance=1e-10), problem(2))
    assert_allclose(found.trace[-1].objective, alone.trace[-1].objective, atol=1e-6)
    variance = 1 / found.state.precision
    assert_allclose(variance[:2] + variance[5:], 1 / alone.state.precision[:2], rtol=1e-3)


def test_a_belief_gives_the_mean_probability_of_its_draws():
    belief = run(LogisticRelevance(), problem(3)).posterior
    columns = X[:6][:, np.unique(run(LogisticRelevance(), problem(3)).state.used % 5)]
    draws = belief.gaussian.sample(np.random.default_rng(0), 20_000)
    p = len(belief.owner)
    rows = (columns - belief.center) * belief.scale
    scores = np.zeros((20_000, 6, 3))
    for j, (owner, column) in enumerate(zip(belief.owner, belief.column, strict=True)):
        scores[:, :, owner] += draws[:, j, None] * rows[:, column]
    helmert = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, -2.0]]) / np.sqrt([2.0, 6.0])
    scores += (draws[:, p:] @ helmert.T)[:, None]
    mean = special.softmax(scores, axis=2).mean(axis=0)
    assert_allclose(np.exp(belief.log_probability(columns)), mean, atol=0.015)
