import weakref
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as SklearnMixture

import credo
from credo.data import load, load_set, save
from credo.distributions import Normal
from credo.distributions.class_conditional import ClassConditional
from credo.families import Components, DirichletCategorical
from credo.families.normal_component import mixture_belief, weak_belief
from credo.inference import (
    CollapsedGibbs,
    DegenerateComponent,
    ExpectationMaximization,
    IncompleteRows,
    LatentClassProblem,
    run,
)
from credo.inference.latent.expectation_maximization import LatentState
from credo.inference.latent.mixture_search import FreeMixture, MixtureSearch, descended
from credo.models.generative.class_conditional import GaussianClassConditional
from credo.models.latent.gaussian_mixture import GaussianMixture
from credo.numerics.optimize import check_gradient

COVARIANCES = ("full", "tied", "diagonal", "spherical")
LONG = ExpectationMaximization(1e-13, 50_000)


def two_groups(n=120, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.uniform(size=n) < 0.4
    x = rng.normal(size=(n, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + label[:, None] * [4.0, 3.0]
    return x, label.astype(int)


def worked():
    """Return five numbers and the start of the worked step: halves, N(0, 1) and N(4, 2)."""
    x = np.array([[-1.0], [0.0], [1.0], [4.0], [5.0]])
    joint = ClassConditional(
        np.log([0.5, 0.5]), Normal([[0.0], [4.0]], np.sqrt([[1.0], [2.0]]))
    )
    data = IncompleteRows.unlabeled(x, 2)
    prior = Components(
        DirichletCategorical([1.0, 1.0]), weak_belief("diagonal", data.pooled(), 2)
    )
    return x, joint, LatentClassProblem(data, prior, is_point=True)


def test_one_step_has_the_worked_numbers():
    _, joint, problem = worked()
    found = problem.expect(joint)
    assert_allclose(found.log_normalizer, -9.8720847732, atol=1e-9)
    share = problem.responsibility(joint)
    expected = [0.9977544878, 0.9872144743, 0.8905697036, 0.0004741908, 0.0000067671]
    assert_allclose(share[:, 0], expected, atol=1e-9)
    after = problem.update(found.statistics)
    assert_allclose(after.density.loc.ravel(), [-0.0365971721, 4.2868824433], atol=1e-9)
    variance = after.density.scale.ravel() ** 2
    assert_allclose(variance, [0.6579330690, 0.9749455747], atol=1e-9)
    assert_allclose(np.exp(after.log_weight[0]), 0.5752039247, atol=1e-9)
    assert_allclose(problem.expect(after).log_normalizer, -9.1332713527, atol=1e-9)


def test_free_energy_of_any_shares_is_at_least_that_of_the_e_step():
    x, joint, problem = worked()
    logs, best = joint.log_joint(x), problem.responsibility(joint)

    def free_energy(share):
        return -(share * logs).sum() + (share * np.log(share)).sum()

    assert_allclose(free_energy(best), 9.8720847732, atol=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert free_energy(rng.dirichlet([1.0, 1.0], 5)) > free_energy(best)


@pytest.mark.parametrize(
    ("covariance", "k", "log_likelihood"), [("full", 2, -1130.264), ("tied", 3, -1126.316)]
)
def test_the_geyser_has_the_published_likelihoods(covariance, k, log_likelihood):
    x = load_set("faithful").to_numpy()
    model = GaussianMixture(k, covariance, "ml").fit(x)
    assert_allclose(model.log_prob(x).sum(), log_likelihood, atol=2e-3)
    assert_allclose(model.bic(), -2 * log_likelihood + 11 * np.log(272), atol=5e-3)


@pytest.mark.parametrize(
    ("covariance", "k", "log_likelihood"),
    [
        ("full", 2, -220.058),
        ("full", 3, -203.179),
        ("tied", 3, -212.352),
        ("tied", 4, -207.722),
    ],
)
def test_galaxies_have_the_published_likelihoods(covariance, k, log_likelihood):
    x = load_set("galaxies").to_numpy() / 1000.0
    model = GaussianMixture(k, covariance, "ml", n_restarts=8).fit(x)
    assert_allclose(model.log_prob(x).sum(), log_likelihood, atol=2e-3)


@pytest.mark.parametrize(("k", "log_likelihood"), [(2, -214.3547), (3, -180.186)])
def test_irises_have_the_published_likelihoods(k, log_likelihood):
    x = load_iris().data
    model = GaussianMixture(k, inference="ml").fit(x)
    assert_allclose(model.log_prob(x).sum(), log_likelihood, atol=3e-3)


@pytest.mark.parametrize(("k", "bic"), [(2, 688.097), (3, 632.963)])
def test_irises_of_one_covariance_have_the_published_bic(k, bic):
    model = GaussianMixture(k, "tied", "ml").fit(load_iris().data)
    assert_allclose(model.bic(), bic, atol=5e-3)


def test_densities_are_those_of_scikit_learn_and_integrate_to_one():
    x = load_set("faithful").to_numpy()
    ours = GaussianMixture(2, inference="ml").fit(x)
    theirs = SklearnMixture(2, tol=1e-9, reg_covar=0.0, random_state=0).fit(x)
    assert_allclose(ours.log_prob(x), theirs.score_samples(x), atol=1e-3)
    grid = np.linspace(-10.0, 15.0, 401)
    one = GaussianMixture(2).fit(x[:, :1])
    area = np.trapezoid(np.exp(one.log_prob(grid[:, None])), grid)
    assert_allclose(area, 1.0, atol=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("inference", ["map", "variational", "gradient", "gibbs"])
def test_groups_are_found_in_every_way(covariance, inference):
    x, label = two_groups()
    x[::10, 0] = np.nan
    engine = CollapsedGibbs(80, 40, 1) if inference == "gibbs" else inference
    model = GaussianMixture(2, covariance, engine).fit(x)
    found = model.predict(x)
    agree = (found == label).mean()
    assert max(agree, 1 - agree) > 0.9
    assert_allclose(np.sort(model.weights_), [0.4, 0.6], atol=0.12)
    order = np.argsort(model.means_[:, 0])
    assert_allclose(model.means_[order], [[0.0, 0.0], [4.0, 3.0]], atol=0.8)
    assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)
    assert np.isfinite(model.log_prob(x)).all()


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_gradient_is_that_of_differences_and_ends_where_steps_end(covariance):
    x, _ = two_groups(40)
    x[3, 1] = np.nan
    data = IncompleteRows.unlabeled(x, 2)
    prior = Components(
        DirichletCategorical([1.5, 2.0]), mixture_belief(covariance, data.pooled(), 2)
    )
    problem = LatentClassProblem(data, prior, is_point=True, has_prior=True)
    mixture, start = FreeMixture(problem), problem.start()
    free = mixture.free(start) + 0.1 * np.random.default_rng(0).normal(
        size=len(mixture.free(start))
    )
    report = check_gradient(
        lambda z: mixture.value_and_gradient(z)[0],
        lambda z: mixture.value_and_gradient(z)[1],
        free,
    )
    assert report.error < 1e-5

    def objective(joint):
        return problem.expect(joint).log_normalizer - problem.penalty(joint)

    value, _ = mixture.value_and_gradient(free)
    assert_allclose(value, -objective(mixture.joint(free)), rtol=1e-10)
    steps = run(LONG, problem).posterior
    assert_allclose(objective(descended(problem, start).posterior), objective(steps), rtol=1e-9)


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(6, 24), rng.integers(1, 4), rng.integers(1, 4)
    x = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d) + rng.normal(size=d) * 100.0
    x[rng.uniform(size=x.shape) < 0.1] = np.nan
    x[0] = 1.0
    label = np.where(rng.uniform(size=n) < 0.1, rng.integers(k, size=n), -1)
    data = IncompleteRows(x, label, rng.uniform(0.2, 3.0, n), int(k))
    covariance = COVARIANCES[seed % 4]
    prior = Components(
        DirichletCategorical(np.ones(k)), mixture_belief(covariance, data.pooled(), int(k))
    )
    is_point = seed % 3 > 0
    share = rng.dirichlet(np.ones(k), n) * data.weight[:, None]
    return LatentClassProblem(data, prior, is_point, share=share, has_prior=is_point)


@pytest.mark.filterwarnings("ignore::credo.inference.ConvergenceWarning")
def test_free_energy_never_rises_on_a_hundred_random_problems():
    for seed in range(100):
        found = run(ExpectationMaximization(1e-9, 15), random_problem(seed))
        objective = np.array([step.objective for step in found.trace])
        slack = 1e-9 * (1.0 + np.abs(objective).max())
        assert np.isfinite(objective).all()
        assert np.diff(objective).min(initial=0.0) >= -slack, seed


def test_a_rise_of_free_energy_is_an_error():
    class Wrong(LatentClassProblem):
        def update(self, statistics):
            joint = super().update(statistics)
            return type(joint)(joint.log_weight, type(joint.density)(joint.density.loc, 9.0))

    _, _, problem = worked()
    wrong = Wrong(problem.data, problem.prior, is_point=True)
    good = problem.update(problem.expect(problem.start()).statistics)
    begun = LatentState(good, problem.expect(good).log_normalizer + 1.0)
    with pytest.raises(ArithmeticError, match="no step may lower the objective"):
        ExpectationMaximization().step(wrong, begun, np.random.default_rng(0))


def test_the_e_step_is_a_gaussian_classifier():
    x, label = two_groups()
    labeled = GaussianClassConditional(inference="ml").fit(x, label)
    data = IncompleteRows.unlabeled(x, 2)
    prior = Components(DirichletCategorical([1.0, 1.0]), weak_belief("full", data.pooled(), 2))
    hidden = LatentClassProblem(data, prior, is_point=True)
    start = hidden.update(prior.statistics_of(x, label))
    assert_allclose(hidden.responsibility(start), labeled.predict_proba(x), atol=1e-9)


def test_steps_with_a_vanishing_variance_are_k_means():
    x, _ = two_groups()
    centers = x[[0, 5, 9]]
    data = IncompleteRows.unlabeled(x, 3)
    prior = Components(
        DirichletCategorical(np.ones(3)), weak_belief("diagonal", data.pooled(), 3)
    )
    problem = LatentClassProblem(data, prior, is_point=True)
    lloyd = centers.copy()
    for _ in range(30):
        joint = ClassConditional(np.log(np.full(3, 1 / 3)), Normal(centers, 1e-3))
        centers = problem.expect(joint).statistics.rows.mean
        near = ((x[:, None] - lloyd) ** 2).sum(axis=2).argmin(axis=1)
        lloyd = np.stack([x[near == c].mean(axis=0) for c in range(3)])
    assert_allclose(centers, lloyd, rtol=1e-9)


def test_likelihood_grows_without_end_and_ml_says_so():
    x = np.array([[0.0], [1.0], [1.5], [2.0], [2.2], [9.0]])
    logs = [
        np.log(0.1 * stats.norm(9.0, scale).pdf(x) + 0.9 * stats.norm(1.3, 1.0).pdf(x)).sum()
        for scale in (1.0, 1e-2, 1e-4, 1e-8)
    ]
    assert (np.diff(logs) > 0).all()
    with pytest.raises(DegenerateComponent, match="has shrunk to rows") as caught:
        GaussianMixture(3, inference="ml").fit(x)
    assert caught.value.component in (0, 1, 2)
    assert len(caught.value.rows) >= 1
    guarded = GaussianMixture(3).fit(x)
    assert guarded.covariances_.min() > 1e-3
    each = stats.norm(guarded.means_.T, np.sqrt(guarded.covariances_[:, 0, 0])).pdf(x)
    assert_allclose(guarded.log_prob(x), np.log(each @ guarded.weights_), rtol=1e-9)


def test_a_bound_is_below_the_exact_evidence_and_equal_for_one_component():
    x, _ = two_groups(30)
    model = GaussianMixture(1, inference="variational").fit(x)
    exact = model.prior_.log_evidence(model.prior_.statistics_of(x, np.zeros(30)))
    assert_allclose(model.bound_, exact, rtol=1e-10)
    # All labelings of six rows.
    few = x[:6]
    two = GaussianMixture(2, inference="variational").fit(few)
    codes = (np.arange(64)[:, None] >> np.arange(6)) & 1
    logs = [two.prior_.log_evidence(two.prior_.statistics_of(few, code)) for code in codes]
    assert two.bound_ < np.logaddexp.reduce(logs)
    assert two.evidence_method_ == "bound"


def test_splits_and_merges_leave_a_poor_optimum():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [0.0, 2.5], [2.5, 0.0], [30.0, 30.0], [30.0, 33.0]])
    x = np.concatenate([c + 0.3 * rng.normal(size=(60, 2)) for c in centers])
    data = IncompleteRows.unlabeled(x, 5)
    prior = Components(
        DirichletCategorical(np.ones(5)), mixture_belief("full", data.pooled(), 5)
    )
    problem = LatentClassProblem(data, prior, is_point=True)
    # One component for three groups, and three for one.
    poor = np.zeros((300, 5))
    poor[:180, 0] = 1.0
    poor[180:240, 1] = 1.0
    poor[np.arange(240, 300), 2 + np.arange(60) % 3] = 1.0
    begun = replace(problem, share=poor)
    stuck, _ = MixtureSearch(n_moves=0).best(begun, rng)
    moved, history = MixtureSearch(n_moves=6).best(begun, rng)
    gain = moved.trace[-1].objective - stuck.trace[-1].objective
    # Found by fits from the five true groups: log likelihood -599.93.
    assert gain > 200.0
    assert_allclose(np.exp(moved.posterior.log_weight), 0.2, atol=1e-6)
    assert any(climb.start == "split and merge" for climb in history.climbs)


def test_history_holds_parameters_responsibilities_and_the_objective():
    x, _ = two_groups()
    model = GaussianMixture(2, inference=LONG).fit(x)
    history = model.history_
    assert len(history) == len(history.steps) > 3
    assert (np.diff(history.free_energy) <= 1e-9 * np.abs(history.free_energy[0])).all()
    assert_allclose(history.responsibility(x), model.predict_proba(x), atol=1e-5)
    assert not np.allclose(history.responsibility(x, 0), model.predict_proba(x), atol=1e-3)


def test_weights_count_copies_and_labels_hold_components():
    x, label = two_groups(40)
    weight = np.arange(40) % 3
    once = GaussianMixture(2, inference=LONG).fit(x, sample_weight=weight)
    again = GaussianMixture(2, inference=LONG).fit(np.repeat(x, weight, axis=0))
    assert_allclose(once.means_, again.means_, rtol=1e-4)
    known = np.where(np.arange(40) < 10, 1 - label, -1)
    model = GaussianMixture(2).fit(x, labels=known)
    assert (model.predict(x) == 1 - label).mean() > 0.9


def test_anomalies_are_as_rare_as_stated():
    x, _ = two_groups(2000)
    model = GaussianMixture(2).fit(x[:700])
    threshold = model.anomaly_threshold(0.05, x[700:1400])
    alarms = (model.log_prob(x[1400:]) < threshold).mean()
    error = np.sqrt(0.05 * 0.95 * (1 / 600 + 1 / 700))
    assert abs(alarms - 0.05) < 3 * error
    assert abs(model.is_anomaly(x[700:], 0.05).mean() - 0.05) < 0.025
    assert model.is_anomaly([[40.0, -40.0]]).all()
    # The smallest of 99 scores is the threshold of one in a hundred.
    assert model.anomaly_threshold(0.01, x[:99]) == model.log_prob(x[:99]).min()
    with pytest.raises(ValueError, match="at least 99 rows"):
        model.anomaly_threshold(0.01, x[:50])
    with pytest.raises(ValueError, match="rate must be between 0 and 1"):
        model.is_anomaly(x, 1.5)


def test_draws_have_the_moments_of_the_mixture():
    x, _ = two_groups()
    model = GaussianMixture(2).fit(x)
    rows = model.sample(50_000, random_state=0)
    mean = model.weights_ @ model.means_
    assert_allclose(rows.mean(axis=0), mean, atol=0.05)
    assert stats.kstest(model.sample(300, 1)[:, 0], rows[:, 0]).pvalue > 1e-3


def test_numbers_of_components_stand_side_by_side():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(c, 1.0, (25, 1)) for c in (0.0, 10.0, 20.0)])
    table = GaussianMixture(n_restarts=2).component_table(x, (1, 2, 3, 4), n_folds=2)
    assert table["bic"].idxmin() == table["bound"].idxmax() == 3
    assert table["probability"].idxmax() == 3
    assert table["held_out"].idxmax() in (3, 4)
    assert_allclose(table["probability"].sum(), 1.0)


def test_chunks_give_the_fit_of_all_rows():
    x, _ = two_groups(400)
    whole = GaussianMixture(2, inference=LONG).fit(x)
    chunks = GaussianMixture(2, inference=LONG).fit_chunks(
        lambda: iter(np.array_split(x, 7)), n_seeds=100
    )
    order = [0, 1] if abs(chunks.means_[0, 0] - whole.means_[0, 0]) < 1 else [1, 0]
    assert_allclose(chunks.means_[order], whole.means_, atol=1e-5)
    assert_allclose(chunks.covariances_[order], whole.covariances_, rtol=1e-3)


def test_chunks_that_were_read_are_let_go():
    x, _ = two_groups(400)
    alive, most = [], []

    def chunks():
        for part in np.split(x, 10):
            chunk = part.copy()
            alive.append(weakref.ref(chunk))
            yield chunk
            most.append(sum(one() is not None for one in alive))

    GaussianMixture(2, n_restarts=1).fit_chunks(chunks, n_seeds=60)
    assert max(most) <= 3


def test_pairs_of_rows_are_together_as_draws_say():
    x = np.array([[0.0, 0.1], [0.1, 0.0], [0.2, 0.1], [5.0, 5.1], [5.2, 5.0]])
    model = GaussianMixture(2, inference=CollapsedGibbs(300, 100, 1)).fit(x)
    together = model.co_clustering()
    assert together[0, 1] > together[0, 3] + 0.3
    assert_allclose(model.co_clustering(x).diagonal(), 1.0)
    with pytest.raises(ValueError, match="X must be given"):
        GaussianMixture(2).fit(x).co_clustering()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1.0, 2.0]] * 5, "distinct rows"),
        ([[1.0, 2.0]], "n_samples = 1"),
        ([[1.0, np.inf], [2.0, 3.0], [0.0, 1.0]], "infinity"),
        ([[1.0, np.nan], [2.0, np.nan], [0.0, np.nan]], "found none in column 1"),
        ([[np.nan, np.nan]] * 3, "found none"),
    ],
)
def test_rows_that_cannot_be_a_mixture_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(2).fit(x)


def test_rows_without_values_and_constant_columns_say_nothing():
    x, _ = two_groups(60)
    plain = GaussianMixture(2, inference=LONG).fit(x)
    wide = np.column_stack([x, np.full(60, 7.0)])
    wide = np.concatenate([wide, np.full((3, 3), np.nan)])
    model = GaussianMixture(2, inference=LONG).fit(wide)
    assert_allclose(model.means_[:, :2], plain.means_, rtol=1e-5)
    assert_allclose(model.means_[:, 2], 7.0)
    assert_allclose(model.predict_proba(wide[-1:])[0], model.weights_)
    assert (model.sample(5, 0)[:, 2] == 7.0).all()


@pytest.mark.parametrize("inference", ["map", "ml", "variational", "gibbs"])
def test_a_saved_mixture_answers_alike(inference, tmp_path):
    x, _ = two_groups(60)
    engine = CollapsedGibbs(40, 20, 1) if inference == "gibbs" else inference
    model = GaussianMixture(2, inference=engine).fit(x)
    save(model, tmp_path / "mixture.credo")
    again = load(tmp_path / "mixture.credo")
    assert_allclose(again.predict_proba(x), model.predict_proba(x))
    assert_allclose(again.log_prob(x), model.log_prob(x))
    assert_allclose(again.history_.objective, model.history_.objective)


def test_the_name_is_for_everybody():
    assert credo.GaussianMixture is GaussianMixture
