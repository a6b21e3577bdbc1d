import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from credo.inference import hopeless_models, stacking_weights

RNG = np.random.default_rng(0)


def mean_score(weights, log_score):
    return np.mean(np.log(weights @ np.exp(log_score)))


def test_weights_of_two_models_are_those_of_a_line_search():
    y = RNG.normal(0.6, 1.0, 400)
    log_score = np.array([stats.norm(m, 1).logpdf(y) for m in (0.0, 2.0)])
    best = optimize.minimize_scalar(
        lambda w: -mean_score(np.array([1 - w, w]), log_score),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-10},
    )
    found = stacking_weights(log_score, tolerance=1e-12, max_steps=100_000)
    assert_allclose(found, [1 - best.x, best.x], atol=1e-5)


def test_no_other_weights_score_higher_than_the_tolerance_allows():
    log_score = stats.norm(RNG.normal(size=(5, 1)), 1.0).logpdf(RNG.normal(size=300))
    found = stacking_weights(log_score, tolerance=1e-4)
    others = np.vstack([np.eye(5), RNG.dirichlet(np.ones(5), 500)])
    best = max(mean_score(w, log_score) for w in others)
    assert mean_score(found, log_score) >= best - 1e-4
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()


def test_rows_drawn_from_a_mixture_give_back_its_weights():
    share, n = 0.3, 40_000
    y = np.where(RNG.random(n) < share, RNG.normal(3, 1, n), RNG.normal(-3, 1, n))
    found = stacking_weights([stats.norm(3, 1).logpdf(y), stats.norm(-3, 1).logpdf(y)])
    # Three standard errors of a proportion.
    assert found[0] == pytest.approx(share, abs=3 * np.sqrt(share * (1 - share) / n))


def test_a_model_better_in_every_row_gets_all_the_weight():
    rows = RNG.normal(size=50)
    assert_allclose(stacking_weights([rows, rows + 0.5]), [0.0, 1.0], atol=1e-4)


def test_equal_models_share_equally():
    rows = RNG.normal(size=50)
    assert_allclose(stacking_weights([rows, rows, rows]), 1 / 3)


def test_a_constant_added_to_all_models_changes_nothing():
    log_score = RNG.normal(size=(3, 40))
    shift = RNG.normal(size=40) * 1000
    assert_allclose(stacking_weights(log_score + shift), stacking_weights(log_score), rtol=1e-9)


def test_rows_impossible_for_all_are_passed_over_and_others_exclude_models():
    log_score = np.array([[0.0, -np.inf, -np.inf], [0.0, -1.0, -np.inf], [np.nan, 0, -np.inf]])
    assert_allclose(stacking_weights(log_score), stacking_weights(log_score[:, :2]))
    assert stacking_weights([[-np.inf], [-np.inf]]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("shape", [(3,), (0, 4), (2, 2, 2)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"log_score must have shape \(n_models, n_samples\)"):
        stacking_weights(np.zeros(shape))


def test_a_row_of_weight_two_counts_as_two_rows():
    score = np.random.default_rng(3).normal(size=(3, 20))
    copies = np.arange(20) % 3
    found = stacking_weights(score, weight=copies)
    assert_allclose(found, stacking_weights(np.repeat(score, copies, axis=1)), atol=1e-10)


def test_close_models_are_weighed_in_few_steps():
    # Expectation maximization alone takes 1,700 steps to this tolerance.
    y = np.random.default_rng(3).standard_t(5, 2000)
    log_score = np.array([stats.norm(m, s).logpdf(y) for m in (-0.2, 0.2) for s in (1.0, 1.6)])
    found = stacking_weights(log_score, tolerance=1e-9, max_steps=50)
    gain = np.mean(np.exp(log_score) / (found @ np.exp(log_score)), axis=1)
    assert gain.max() - 1 <= 1e-9


def test_only_a_model_that_adds_nothing_is_hopeless():
    y = np.random.default_rng(4).normal(size=3000)
    poor, left, right = (stats.norm(m, s).logpdf(y) for m, s in ((0, 4), (-0.5, 1), (0.5, 1)))
    scores = np.array([poor, left, right])
    assert hopeless_models(scores).tolist() == [True, False, False]
    assert not hopeless_models(scores[:, :150]).any()
    with_poor = mean_score(stacking_weights(scores), scores)
    without = mean_score(stacking_weights(scores[1:]), scores[1:])
    assert with_poor - without < 0.002


def test_a_model_that_helps_in_some_rows_is_not_hopeless():
    rng = np.random.default_rng(5)
    y = np.where(rng.random(600) < 0.1, rng.normal(6, 1, 600), rng.normal(0, 1, 600))
    usual, rare = stats.norm(0, 1).logpdf(y), stats.norm(6, 1).logpdf(y)
    assert rare.mean() < usual.mean() - 10
    assert not hopeless_models([usual, rare]).any()
