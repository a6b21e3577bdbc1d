from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.inference.engine.engine import ConvergenceWarning, run
from credo.inference.logistic.learning import (
    GaussianFit,
    LogisticFolds,
    LogisticLearning,
    VariationalLogistic,
    _Multiple,
)
from credo.inference.logistic.problem import LogisticProblem
from credo.inference.logistic.softmax import SoftmaxRows, class_coding
from credo.numerics.linear.linear_algebra import cholesky
from credo.numerics.status import Status


def problem():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    code = (x[:, 0] + rng.logistic(size=40) > 0).astype(np.intp)
    coding = np.array([[0.0], [1.0]])
    rows = SoftmaxRows(x, code, np.ones(40), np.zeros(2), np.ones(2), coding, True)
    return LogisticProblem(rows, 1.0)


def test_a_bound_that_falls_however_short_the_step_is_not_convergence(monkeypatch):
    engine = VariationalLogistic(learns_precision=False, tolerance=1e-6)
    start = engine.init(problem(), np.random.default_rng(0))

    def bound(fit):
        return 0.0 if fit.mean is start.fit.mean else -1e6

    monkeypatch.setattr(GaussianFit, "bound", property(bound))
    with pytest.warns(ConvergenceWarning, match="found no better step after 1 steps"):
        found = run(engine, problem(), state=start)
    assert found.status is Status.STUCK
    assert found.state is start


def test_the_same_problem_converges_where_the_bound_can_be_climbed():
    assert run(VariationalLogistic(True, tolerance=1e-3), problem()).status is Status.CONVERGED


def gaussian_of(fit):
    return fit.mean, fit.precision, cholesky(fit.precision)


def test_a_wide_gaussian_survives_a_prior_that_gives_way_quickly():
    rng = np.random.default_rng(1)
    x, code = rng.normal(size=(4, 12)), np.array([0, 1, 0, 1])
    coding = np.array([[0.0], [1.0]])
    rows = SoftmaxRows(x, code, np.ones(4), np.zeros(12), np.ones(12), coding, True)
    wide = LogisticProblem(rows, 5.0)
    engine = VariationalLogistic(learns_precision=True)
    start = engine.init(wide, np.random.default_rng(0))
    wider = _Multiple(start.fit, np.array([0.0, 1.5]), True, start.fit.expected).fit()
    state = replace(start, fit=GaussianFit.of(wider.problem, *gaussian_of(wider)))
    found, info = engine.step(wide, state, np.random.default_rng(0))
    assert np.linalg.eigvalsh(found.fit.precision).min() > 0
    assert found.fit.bound > state.fit.bound
    assert -info.objective == found.fit.bound


def test_the_distance_of_a_precision_is_the_loss_of_stein():
    fit = (
        VariationalLogistic(learns_precision=False)
        .init(problem(), np.random.default_rng(0))
        .fit
    )
    shift = np.diag([0.5, 0.0, 0.2]) + 0.1
    other = fit.precision + fit.precision @ shift @ fit.precision / fit.precision.max()
    other = 0.5 * (other + other.T)
    apart = np.linalg.eigvals(np.linalg.solve(fit.precision, other)).real - 1.0
    expected = np.sqrt(2.0 * np.mean(apart - np.log1p(apart)))
    assert expected > 0.05
    assert np.isclose(fit.distance(other, cholesky(other)), expected, rtol=1e-9)
    near = fit.precision + 1e-3 * (other - fit.precision)
    rms = np.sqrt(np.mean((1e-3 * apart) ** 2))
    assert np.isclose(fit.distance(near, cholesky(near)), rms, rtol=1e-2)


def learned(n_classes, weight=None, n=400):
    rng = np.random.default_rng(n_classes)
    x = rng.normal([5.0, 0.0, -2.0], [3.0, 1.0, 0.2], (n, 3))
    scores = (x - x.mean(axis=0)) @ rng.normal(size=(3, n_classes)) / [3.0]
    code = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    weight = np.ones(n) if weight is None else weight
    learning = LogisticLearning("variational", "evidence", True)
    return learning.learn(x, code, weight, n_classes)[0], x, code, weight


def closest(folds, kept):
    """Return the closest Gaussian given some rows at the precision of all, step by step."""
    problem = LogisticProblem(folds.rows.take(kept), folds.belief.precision)
    fit = run(VariationalLogistic(False, tolerance=1e-3), problem).state.fit
    return fit.mean.reshape(folds.belief.mean.shape), fit.precision


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_step_leads_nearly_to_the_gaussian_of_the_other_rows(n_classes):
    belief, x, code, weight = learned(n_classes)
    folds = LogisticFolds.of(belief, x, code, weight)
    left_out = np.flatnonzero((np.arange(400) % 10 == 0) | (x[:, 0] > 10.0))
    found = folds.without(left_out)
    mean, precision = closest(folds, np.setdiff1d(np.arange(400), left_out))
    sd = np.sqrt(np.linalg.inv(precision).diagonal()).reshape(mean.shape)
    off, moved = (found.mean - mean) / sd, (belief.mean - mean) / sd
    assert np.abs(moved).max() > 0.4
    assert_allclose(off, 0.0, atol=0.05)
    width = found.gaussian.form.dense().diagonal()
    assert_allclose(width, sd.ravel() ** 2, rtol=0.06)
    assert (width > belief.gaussian.form.dense().diagonal()).all()


def test_a_row_of_weight_two_is_forgotten_as_two_rows():
    weight = np.where(np.arange(400) < 100, 2.0, 1.0)
    belief, x, code, _ = learned(3, weight)
    twice = np.concatenate([np.arange(400), np.arange(100)])
    heavy = LogisticFolds.of(belief, x, code, weight).without(np.arange(30))
    double = LogisticFolds.of(belief, x[twice], code[twice], np.ones(500)).without(
        np.concatenate([np.arange(30), np.arange(400, 430)])
    )
    assert_allclose(heavy.mean, double.mean, rtol=1e-8)


def test_nothing_left_out_changes_next_to_nothing():
    belief, x, code, weight = learned(2)
    same = LogisticFolds.of(belief, x, code, weight).without(np.zeros(0, dtype=np.intp))
    assert_allclose(same.mean, belief.mean, atol=2e-3)


def test_what_is_too_far_for_a_step_is_left_to_a_fit():
    belief, x, code, weight = learned(2)
    folds = LogisticFolds.of(belief, x, code, weight)
    assert folds.without(np.flatnonzero(code == 1)) is None
    assert folds.without(np.arange(20)) is not None


def test_a_step_too_far_for_the_rows_left_out_alone_is_left_to_a_fit():
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=400), np.arange(400) < 6])
    code = (rng.uniform(size=400) < 0.4).astype(np.intp)
    code[:6] = [1, 1, 1, 1, 1, 0]
    learning = LogisticLearning("variational", "evidence", True)
    belief, _ = learning.learn(x, code, np.ones(400), 2)
    folds = LogisticFolds.of(belief, x, code, np.ones(400))
    mean, _ = closest(folds, np.arange(6, 400))
    moved = np.abs(folds.rows.coordinates(mean - belief.mean))[:, 0]
    assert moved[:6].min() > 0.5
    assert np.sqrt((moved**2).mean()) < 0.2
    assert folds.without(np.arange(6)) is None
    assert folds.without(np.arange(6, 12)) is not None


def test_more_columns_than_rows_are_seen_in_the_space_that_the_rows_span():
    rng = np.random.default_rng(5)
    x, code = rng.normal(size=(40, 60)), np.arange(40) % 2
    learning = LogisticLearning("variational", "evidence", True)
    belief, _ = learning.learn(x, code, np.ones(40), 2)
    assert belief.axes is not None
    folds = LogisticFolds.of(belief, x, code, np.ones(40))
    found = folds.without(np.arange(4))
    mean, _ = closest(folds, np.arange(4, 40))
    off, moved = np.abs(found.mean - mean).max(), np.abs(belief.mean - mean).max()
    assert off < 0.2 * moved


def multiples(n_classes):
    """Return a Gaussian far from the best, and its multiples by their derivatives."""
    rng = np.random.default_rng(n_classes)
    x, code = rng.normal(size=(60, 3)), rng.integers(n_classes, size=60)
    weight, coding = rng.uniform(0.5, 2.0, 60), class_coding(n_classes)
    rows = SoftmaxRows(x, code, weight, np.zeros(3), np.ones(3), coding, n_classes > 2)
    d = coding.shape[1] * 4
    mean, root = rng.normal(size=d), 0.2 * rng.normal(size=(d, d))
    precision = root @ root.T + np.eye(d)
    return GaussianFit.of(LogisticProblem(rows, 0.7), mean, precision, cholesky(precision))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("learns", [False, True])
def test_what_a_multiple_loses_is_bound_and_prior_and_falls_along_its_step(n_classes, learns):
    fit = multiples(n_classes)
    here = _Multiple(fit, np.zeros(2), learns, fit.expected)
    there = here.moved(np.array([0.3, -0.2]))
    first, second = here.fit(), there.fit()
    gain = second.bound - first.bound
    if learns:
        gain += fit.prior_gain(second.problem.precision)
        gain -= fit.prior_gain(first.problem.precision)
    assert_allclose(here.lost - there.lost, gain, rtol=1e-9)
    assert (second.problem.precision != 0.7) == learns
    again = GaussianFit.of(second.problem, *gaussian_of(second))
    assert_allclose(again.bound, second.bound, rtol=1e-9)
    best, far = fit.scaled(learns, 1e-3)
    assert far > 0.1
    assert best.bound > max(first.bound, second.bound) - learns


@pytest.mark.parametrize("n_classes", [2, 4])
def test_slopes_of_multiples_are_those_of_finite_differences(n_classes):
    fit = multiples(n_classes)
    here = _Multiple(fit, np.array([0.1, -0.1]), False, fit.expected).moved(np.zeros(2))
    slope, bend = here._loss_derivatives()
    fixed = here._prior_terms - [0.0, len(fit.mean)]
    for k, step in enumerate(1e-4 * np.eye(2)):
        up, down = here.moved(step), here.moved(-step)
        # For more than two classes the mean loss is one approximation, and its slope another.
        if n_classes == 2:
            off = 1e-4 * np.abs(slope).max()
            assert_allclose(slope[k] + fixed[k], (up.lost - down.lost) / 2e-4, atol=off)
        turn = (up._loss_derivatives()[0] - down._loss_derivatives()[0]) / 2e-4
        assert_allclose(bend[k], turn, atol=(0.05 if n_classes == 2 else 0.12) * bend.max())


def test_the_learned_precision_of_a_multiple_is_the_most_probable_one():
    fit = multiples(4)
    here = _Multiple(fit, np.zeros(2), True, fit.expected)

    def height(precision):
        problem = replace(fit.problem, precision=precision)
        return replace(fit, problem=problem).bound + fit.prior_gain(precision)

    near = [height(here.precision * factor) for factor in (0.97, 1.0, 1.03)]
    assert near[1] > max(near[0], near[2])
    assert fit.signal == pytest.approx(trace_of_weights(fit))


def trace_of_weights(fit):
    _, curvature = fit.problem.expected_derivatives(fit.mean, fit.expected)
    likelihood = curvature.diagonal() - fit.problem.prior_precision
    return likelihood[fit.problem.is_weight].sum() / fit.problem.rows.weight.sum()
