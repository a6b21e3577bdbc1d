import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import (
    SelectFromModel,
    SelectKBest,
    VarianceThreshold,
    f_regression,
)
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from credo.distributions import Bernoulli
from credo.families import BetaBernoulli, Known
from credo.features import RadialBasis
from credo.inference.engine.model_evidence import (
    LEARNED,
    TRANSFORMED,
    Evidence,
    bic_evidence,
    evidence_over_data_sets,
    evidence_over_settings,
    laplace_evidence,
    model_posterior,
    width_evidence,
)
from credo.models import LinearRegression

COIN = -562.3351446188
QUARTIC_TOP, QUARTIC_CURVATURE = 0.6651272730, 34.7141742073


def test_posterior_over_degrees_matches_the_worked_example():
    found = model_posterior([-11.3968737368, -4.8393921148, -6.6779707628, -8.4771021410])
    assert_allclose(found, [0.0011960612, 0.8426194859, 0.1340130023, 0.0221714505], atol=1e-9)


def test_prior_of_models_multiplies_their_evidence():
    assert_allclose(model_posterior([0.0, np.log(2)], prior=[0.8, 0.2]), [2 / 3, 1 / 3])
    assert_allclose(model_posterior([-1e5, -1e5 + 1]), [1 / (1 + np.e), np.e / (1 + np.e)])


@pytest.mark.parametrize("prior", [[0.5], [-1, 2], [0, 0]])
def test_impossible_prior_of_models_is_refused(prior):
    with pytest.raises(ValueError, match="prior must hold one non-negative number"):
        model_posterior([0.0, 1.0], prior)


def test_model_without_evidence_is_refused():
    with pytest.raises(ValueError, match="found NaN for model 1"):
        model_posterior([0.0, np.nan])


def test_bic_of_the_coin_has_half_a_log_per_parameter():
    assert_allclose(bic_evidence(COIN, 1, 1000), -565.7890222583, atol=1e-9)


def test_laplace_of_the_coin_is_the_width_approximation_with_unit_prior():
    variance = 0.75 * 0.25 / 1000
    laplace = laplace_evidence(COIN, 1 / variance)
    assert_allclose(laplace, -565.7070719419, atol=1e-9)
    assert_allclose(width_evidence(COIN, np.sqrt(2 * np.pi * variance), 1.0), laplace)
    assert abs(laplace - special.betaln(751, 251)) < 1e-3


def test_laplace_of_the_quartic_matches_the_worked_example():
    assert_allclose(
        np.exp(laplace_evidence(-QUARTIC_TOP, QUARTIC_CURVATURE)), 0.2187637758, atol=1e-9
    )


def test_laplace_is_exact_for_a_normal_density():
    precision = np.array([[2.0, 0.5], [0.5, 1.0]])
    log_top = 0.3 + 0.5 * np.log(np.linalg.det(precision)) - np.log(2 * np.pi)
    assert_allclose(laplace_evidence(log_top, precision), 0.3)


def test_flexible_models_spread_their_evidence_over_more_data_sets():
    """Over all sequences of six flips each model's evidence sums to one: Occam's razor."""
    flips = list(itertools.product([0, 1], repeat=6))
    heads = np.array([sum(flip) for flip in flips])
    fair = np.full(len(flips), 6 * np.log(0.5))
    unknown = special.betaln(heads + 1, 7 - heads)
    assert_allclose([np.exp(fair).sum(), np.exp(unknown).sum()], 1.0)
    for flip, k in [(flips.index((0, 0, 0, 1, 1, 1)), 3), (len(flips) - 1, 6)]:
        found = model_posterior([fair[flip], unknown[flip]])
        odds = 64 * special.beta(k + 1, 7 - k)
        assert_allclose(found, [1 / (1 + odds), odds / (1 + odds)])
    assert (unknown[heads == 3] < fair[heads == 3]).all()
    assert (unknown[heads == 6] > fair[heads == 6]).all()


class Told:
    def __init__(self, of="y given X", method="exact"):
        self.log_evidence_, self.evidence_of_, self.evidence_method_ = -5.0, of, method


def test_evidence_of_inputs_and_bounds_are_kept_apart():
    given, joint, bound = (
        Evidence.of_model(m) for m in (Told(), Told("X and y"), Told(method="bound"))
    )
    assert len({given.key, joint.key, bound.key}) == 3
    scaled = make_pipeline(StandardScaler(), Told("X and y"))
    assert Evidence.of_model(scaled).reason == TRANSFORMED
    assert Evidence.of_model(make_pipeline(StandardScaler(), Told())).value == -5.0
    assert "no evidence" in Evidence.of_model(Ridge()).reason


@pytest.mark.parametrize(
    ("step", "is_blind"),
    [
        (StandardScaler(), True),
        (VarianceThreshold(), True),
        (PCA(1), True),
        ("passthrough", True),
        (SelectKBest(f_regression, k=1), False),
        (SelectFromModel(Ridge()), False),
        (TargetEncoder(target_type="continuous"), False),
        (make_pipeline(StandardScaler(), SelectKBest(f_regression, k=1)), False),
        (ColumnTransformer([("k", SelectKBest(f_regression, k=1), [0, 1])]), False),
    ],
)
def test_behind_a_step_that_has_seen_the_outcomes_there_is_no_evidence(step, is_blind):
    x = np.random.default_rng(0).integers(0, 3, (30, 2)).astype(float)
    y = x[:, 0] + np.sin(np.arange(30))
    model = make_pipeline(step, LinearRegression()).fit(x, y)
    found = Evidence.of_model(model)
    if is_blind:
        assert found.value == model[-1].log_evidence_
        assert found.reason == ""
    else:
        assert np.isnan(found.value)
        assert found.reason == LEARNED


def test_evidence_over_all_data_sets_sums_to_one_and_the_flexible_model_spreads_it():
    flips = [np.array(flip)[:, None] for flip in itertools.product([0, 1], repeat=6)]
    coins = {
        "fair": Known(Bernoulli([0.5])),
        "biased": Known(Bernoulli([0.9])),
        "any": BetaBernoulli([1.0], [1.0]),
    }
    table = evidence_over_data_sets(coins, flips)
    assert_allclose(np.exp(table).sum(), 1.0)
    heads = np.array([int(flip.sum()) for flip in flips])
    assert_allclose(table["any"], special.betaln(heads + 1, 7 - heads))
    assert_allclose(table["fair"], 6 * np.log(0.5))
    # The too simple model is particularly low where it is wrong, the flexible one nowhere.
    assert table["biased"].min() < table["any"].min() - 5
    assert (table["any"][heads == 3] < table["fair"][heads == 3]).all()
    assert (table["any"][heads >= 6] > table["fair"][heads >= 6]).all()
    for place, k in [(0, 0), (7, 3), (63, 6)]:
        found = model_posterior(table.loc[place, ["fair", "any"]])
        odds = 64 * special.beta(k + 1, 7 - k)
        assert_allclose(found, [1 / (1 + odds), odds / (1 + odds)])


def _curve():
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 25)[:, None]
    return x, np.sin(2 * np.pi * x[:, 0]) + 0.1 * rng.normal(size=25)


def _width_evidence(width):
    x, y = _curve()
    basis = RadialBasis(8, "uniform", width=float(width))
    model = LinearRegression(basis, weight_precision=0.5, noise_precision=100.0)
    return float(model.fit(x, y).log_evidence_)


def test_evidence_over_the_width_of_a_basis_has_its_maximum_and_its_integral():
    widths = np.geomspace(0.05, 1.5, 31)
    found = evidence_over_settings(_width_evidence, widths, lambda w: -np.log(w))
    best = found.most_probable
    assert widths[0] < best < widths[-1]
    finer = np.linspace(0.05, 1.5, 150)
    logs = np.array([_width_evidence(w) for w in finer])
    prior = 1 / (finer * np.log(30.0))
    integral = np.trapezoid(np.exp(logs - logs.max()) * prior, finer)
    assert_allclose(found.integrated, np.log(integral) + logs.max(), atol=0.1)
    assert_allclose(found.weight.sum(), 1.0)
    assert abs(finer[np.argmax(logs + np.log(prior))] - best) < 0.15 * best
    # Around the maximum the slope by differences changes its sign.
    at = int(np.searchsorted(widths, best))
    for width, sign in ((widths[at - 1], 1.0), (widths[at + 1], -1.0)):
        ends = [_width_evidence(w) - np.log(w) for w in (width, 1.001 * width)]
        assert sign * (ends[1] - ends[0]) > 0
    assert_allclose(found.log_evidence[3], _width_evidence(widths[3]))
    flat = evidence_over_settings(_width_evidence, widths)
    assert_allclose(flat.log_prior, -np.log(widths[-1] - widths[0]))
    with pytest.raises(ValueError, match="rising numbers"):
        evidence_over_settings(_width_evidence, [1.0, 0.5])
