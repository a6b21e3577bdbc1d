import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from credo import FactorMixture
from credo.data import load, save
from credo.distributions.class_conditional import ClassConditional
from credo.inference import ExpectationMaximization, IncompleteRows, run
from credo.inference.latent.factor_analysis import PSEUDO_ROWS
from credo.inference.latent.other_mixtures import FactorMixtureProblem


def flat_groups(n=150, d=6, seed=0):
    rng = np.random.default_rng(seed)
    parts = []
    for k in range(3):
        loading = rng.normal(size=(d, 2))
        own = n * (4 - k) // 4
        noise = rng.normal(size=(own, d)) * rng.uniform(0.1, 0.4, d)
        hidden = rng.normal(size=(own, 2))
        parts.append(3.0 * rng.normal(size=d) + hidden @ loading.T + noise)
    label = np.repeat(np.arange(3), [len(part) for part in parts])
    return np.concatenate(parts), label


def test_flat_clusters_are_found_and_their_noise_is_learned():
    x, label = flat_groups()
    model = FactorMixture(3, 2, n_restarts=2).fit(x)
    assert (model.predict(x) == label).mean() > 0.98
    assert_allclose(model.weights_, np.bincount(label) / len(x), atol=0.01)
    each = np.stack([np.cov(x[label == k].T) for k in range(3)])
    covariance = model.loadings_ @ model.loadings_.swapaxes(1, 2)
    covariance += model.noise_variances_[:, :, None] * np.eye(6)
    assert_allclose(covariance, each, atol=0.25)


def test_the_density_is_a_sum_of_normals_with_factors():
    x, _ = flat_groups()
    model = FactorMixture(2, 1, n_restarts=1).fit(x)
    parts = zip(
        model.weights_, model.means_, model.loadings_, model.noise_variances_, strict=True
    )
    logs = [
        np.log(w) + stats.multivariate_normal(m, f @ f.T + np.diag(s)).logpdf(x)
        for w, m, f, s in parts
    ]
    log_prob = np.logaddexp.reduce(logs)
    assert_allclose(model.log_prob(x), log_prob, rtol=1e-9)
    n_parameters = 1 + 2 * (6 + 6 + 6)
    assert model.n_parameters == n_parameters
    assert_allclose(model.bic(), -2 * log_prob.sum() + n_parameters * np.log(len(x)))


@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
@pytest.mark.parametrize("is_isotropic", [False, True])
def test_no_step_lowers_the_density_of_rows_with_gaps_and_it_is_that_of_the_parts(is_isotropic):
    x, _ = flat_groups(60, 4)
    rng = np.random.default_rng(1)
    x[rng.uniform(size=x.shape) < 0.15] = np.nan
    share = rng.dirichlet(np.ones(2), len(x))
    data = IncompleteRows.unlabeled(x, 2)
    problem = FactorMixtureProblem(data, 1, is_isotropic, share)
    found = run(ExpectationMaximization(0.0, 30), problem)
    objective = np.array([step.objective for step in found.trace])
    assert (np.diff(objective) > -1e-9 * np.abs(objective).max()).all()
    # By hand: each row's own marginal normals, and the prior about noise.
    density, log_weight = found.posterior.density, found.posterior.log_weight
    x = x[~np.isnan(x).all(axis=1)]
    logs = np.zeros((len(x), 2))
    for k in range(2):
        loading, noise = density.form.factor[k], density.form.noise[k]
        covariance = loading @ loading.T + np.diag(noise)
        for i, row in enumerate(x):
            has = np.flatnonzero(~np.isnan(row))
            own = stats.multivariate_normal(density.loc[k, has], covariance[np.ix_(has, has)])
            logs[i, k] = log_weight[k] + own.logpdf(row[has])
    usual = 0.1 * np.nanvar(x, axis=0) / 2 ** (2 / 4)
    prior = -0.5 * PSEUDO_ROWS * (np.log(density.form.noise) + usual / density.form.noise).sum()
    expected = np.logaddexp.reduce(logs, axis=1).sum() + prior
    at_end = problem.expect(found.posterior).log_normalizer - problem.penalty(found.posterior)
    assert_allclose(at_end, expected, rtol=1e-9)


def test_no_other_parameters_near_are_more_probable():
    x, _ = flat_groups(40, 4)
    problem = FactorMixtureProblem(IncompleteRows.unlabeled(x, 1), 1)
    best = run(ExpectationMaximization(1e-13, 20_000), problem).posterior

    def objective(belief):
        return problem.expect(belief).log_normalizer - problem.penalty(belief)

    density, rng = best.density, np.random.default_rng(0)
    for _ in range(20):
        other = type(density).from_low_rank(
            density.loc + 1e-3 * rng.normal(size=density.loc.shape),
            density.form.factor + 1e-3 * rng.normal(size=density.form.factor.shape),
            density.form.noise * np.exp(1e-3 * rng.normal(size=density.form.noise.shape)),
        )
        assert objective(ClassConditional(best.log_weight, other)) < objective(best)


def test_denoised_rows_lie_in_the_planes_of_their_components():
    x, label = flat_groups()
    x[::9, 1] = np.nan
    model = FactorMixture(3, 2, n_restarts=2).fit(x)
    clean = model.denoise(x)
    assert np.isfinite(clean).all()
    for k in range(3):
        sure = (model.predict_proba(x)[:, k] > 1 - 1e-9) & (label == k)
        away = clean[sure] - model.means_[k]
        assert np.linalg.matrix_rank(away, tol=1e-5) == 2


def test_one_noise_for_all_columns_and_columns_that_do_not_vary(tmp_path):
    x, _ = flat_groups()
    x[:, 4] = 7.0
    model = FactorMixture(3, 2, "one", n_restarts=1).fit(x)
    varying = [0, 1, 2, 3, 5]
    assert_allclose(np.ptp(model.noise_variances_[:, varying], axis=1), 0.0, atol=1e-12)
    assert_allclose(model.means_[:, 4], 7.0)
    assert_allclose(model.denoise(x)[:, 4], 7.0)
    assert model.sample(5, random_state=0).shape == (5, 6)
    save(model, tmp_path / "model.credo")
    assert_allclose(load(tmp_path / "model.credo").log_prob(x), model.log_prob(x))


def test_settings_are_checked():
    x, _ = flat_groups()
    with pytest.raises(ValueError, match="n_factors must be less than the columns that vary"):
        FactorMixture(2, 6).fit(x)
    with pytest.raises(ValueError, match="noise"):
        FactorMixture(2, 1, "none").fit(x)
    with pytest.raises(ValueError, match="n_components"):
        FactorMixture(0).fit(x)
