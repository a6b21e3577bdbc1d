import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from credo import GaussianClassConditional, GenerativeClassifier, NaiveBayes
from credo.data import load, save
from credo.distributions import Laplace, Mixture, MultivariateNormal, Normal, StudentT
from credo.families import (
    Components,
    DirichletCategorical,
    GammaExponential,
    GammaPoisson,
    Known,
    NormalInverseGamma,
    NormalInverseWishart,
    Product,
    TiedNormalInverseWishart,
)
from credo.inference import ExpectationMaximization


def counts(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.poisson(np.where(y[:, None] == 0, [2.0, 6.0], [5.0, 3.0])).astype(float), y


def test_poisson_classes_predict_by_negative_binomials():
    X, y = counts()
    model = GenerativeClassifier(GammaPoisson(1.0, 0.1)).fit(X, y)
    log_class = [
        stats.nbinom.logpmf([3, 4], 1 + X[y == c].sum(axis=0), 30.1 / 31.1).sum()
        for c in (0, 1)
    ]
    odds = model.predict_log_proba([[3.0, 4.0]])[0]
    assert_allclose(odds[1] - odds[0], log_class[1] - log_class[0])


def test_exponential_classes_predict_by_lomax_distributions():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.exponential(np.where(y == 0, 1.0, 4.0))[:, None]
    model = GenerativeClassifier(GammaExponential(1.0, 1.0), pseudo_count=2.0).fit(X, y)
    times = np.array([0.5, 3.0, 10.0])
    log_class = [stats.lomax.logpdf(times, 21.0, scale=1.0 + X[y == c].sum()) for c in (0, 1)]
    odds = model.predict_log_proba(times[:, None])
    assert_allclose(odds[:, 1] - odds[:, 0], log_class[1] - log_class[0])
    assert_allclose(model.class_count_, [20.0, 20.0])


@pytest.mark.parametrize(
    "density",
    [
        StudentT(3.0, [[0.0], [2.0]], 1.0),
        Laplace([[0.0], [2.0]], [[1.0], [0.5]]),
        Mixture([0.3, 0.7], (Normal([[0.0], [2.0]], 1.0), Normal([[5.0], [-1.0]], 1.0))),
    ],
    ids=["student", "laplace", "mixture"],
)
def test_known_densities_are_turned_around_by_bayes(density):
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = GenerativeClassifier(Known(density), class_probability=[0.25, 0.75])
    model.fit(X, ["a", "a", "b", "b"])
    joint = np.array([0.25, 0.75]) * density.prob(X[:, None])[..., 0]
    assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))
    assert_allclose(model.log_prob(X), np.log(joint.sum(axis=1)))
    own = np.log(joint[[0, 1, 2, 3], [0, 0, 1, 1]])
    assert_allclose(model.log_evidence_, own.sum())


def test_known_vectors_take_complete_rows():
    normal = MultivariateNormal([[0.0, 0.0], [1.0, 1.0]], [[1.0, 0.5], [0.5, 1.0]])
    model = GenerativeClassifier(Known(normal)).fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    odds = model.predict_log_proba([[0.3, 0.1]])[0]
    logs = [
        stats.multivariate_normal.logpdf([0.3, 0.1], m, [[1, 0.5], [0.5, 1]])
        for m in ([0, 0], [1, 1])
    ]
    assert_allclose(odds[1] - odds[0], logs[1] - logs[0])


def test_normal_vectors_are_quadratic_discriminants():
    rng = np.random.default_rng(0)
    y = np.arange(50) % 3
    X = rng.normal(size=(50, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + y[:, None]
    prior = NormalInverseWishart([1.0, 1.0], 0.1, 4.0, np.eye(2))
    model = GenerativeClassifier(prior).fit(X, y)
    same = GaussianClassConditional(prior=prior).fit(X, y)
    assert_allclose(model.predict_proba(X), same.predict_proba(X), rtol=1e-10)
    assert_allclose(model.log_evidence_, same.log_evidence_)
    gap = np.array([[0.5, np.nan]])
    assert_allclose(model.predict_proba(gap), same.predict_proba(gap))


def test_a_product_is_naive_bayes():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    number, code = rng.normal(y, 1.0), rng.integers(0, 3, 60) * (1 - y) + y
    frame = pd.DataFrame({"number": number, "code": pd.Categorical(code)})
    normal = NormalInverseGamma(0.0, 0.1, 1.0, 1.0)
    naive = NaiveBayes(normal_prior=normal).fit(frame, y)
    prior = Product.by_column({0: normal, 1: DirichletCategorical(np.ones(3))})
    X = np.column_stack([number, code]).astype(float)
    X[5, 0] = frame.loc[5, "number"] = np.nan
    naive.fit(frame, y)
    model = GenerativeClassifier(prior).fit(X, y)
    assert_allclose(model.predict_proba(X), naive.predict_proba(frame), rtol=1e-10)
    assert_allclose(model.log_evidence_, naive.log_evidence_, rtol=1e-12)
    assert_allclose(model.log_prob(X), naive.log_prob(frame))


def test_rows_without_a_label_are_learned_from():
    X, y = counts(400)
    seen = np.where(np.arange(400) < 6, y.astype(float), np.nan)
    prior = GammaPoisson(1.0, 0.1)
    few = GenerativeClassifier(prior).fit(X[:6], y[:6])
    many = GenerativeClassifier(prior).fit(X, seen)
    new, truth = counts(2000, seed=1)
    assert many.score(new, truth) > few.score(new, truth)
    assert (few.evidence_method_, many.evidence_method_) == ("exact", "bound")
    with pytest.raises(ValueError, match="partial_fit needs rows with every label"):
        many.partial_fit(X, y)


def test_chunks_give_what_one_fit_gives():
    X, y = counts()
    X[3, 1] = np.nan
    model = GenerativeClassifier(GammaPoisson(1.0, 0.1)).partial_fit(X[:20], y[:20])
    whole = GenerativeClassifier(GammaPoisson(1.0, 0.1)).fit(X, y)
    model.partial_fit(X[20:], y[20:])
    assert_allclose(model.predict_proba(X), whole.predict_proba(X))
    assert_allclose(model.log_evidence_, whole.log_evidence_)


def ring(n=400, seed=0):
    """Return a class around zero, and one to both sides of it."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    side = rng.choice([-4.0, 4.0], n)
    return (rng.normal(size=n) + side * y)[:, None], y


def test_a_mixture_in_each_class_finds_classes_of_several_parts():
    (X, y), (new, truth) = ring(), ring(2000, 1)
    normal = NormalInverseGamma(0.0, 0.01, 1.0, 1.0)
    mixture = Components(DirichletCategorical([1.0, 1.0]), normal)
    plain = GenerativeClassifier(normal).fit(X, y)
    model = GenerativeClassifier(mixture).fit(X, y)
    truth_density = 0.5 * stats.norm.pdf(new[:, 0, None], [-4.0, 4.0]).sum(axis=1)
    best = (truth_density > stats.norm.pdf(new[:, 0])).astype(int)
    assert (model.predict(new) == best).mean() > 0.98
    assert model.score(new, truth) > plain.score(new, truth)
    assert model.log_prob(new).mean() > plain.log_prob(new).mean() + 0.2
    assert model.n_parts_ == 2
    assert np.sort(model.posterior_.rows.location[2:, 0]).round(0).tolist() == [-4.0, 4.0]
    rows, labels = model.sample(4000, random_state=0)
    assert_allclose(np.abs(rows[labels == 1]).mean(), 4.0, atol=0.2)


def test_a_mixture_of_one_component_is_the_family():
    X, y = counts()
    prior = GammaPoisson(1.0, 0.1)
    one = GenerativeClassifier(Components(DirichletCategorical([1.0]), prior)).fit(X, y)
    plain = GenerativeClassifier(prior).fit(X, y)
    assert_allclose(one.predict_proba(X), plain.predict_proba(X))
    assert_allclose(one.log_evidence_, plain.log_evidence_)


def test_an_unfitted_model_shows_its_prior():
    prior = NormalInverseGamma([[0.0], [3.0]], 1.0, 2.0, 2.0)
    joint = GenerativeClassifier(prior, class_probability=[0.2, 0.8]).prior_predictive(2)
    assert_allclose(np.exp(joint.log_weight), [0.2, 0.8])
    x = np.array([[0.5]])
    t = stats.t.pdf(0.5, 4.0, [0.0, 3.0], np.sqrt(2.0))
    assert_allclose(np.exp(joint.log_marginal(x)), [0.2 * t[0] + 0.8 * t[1]])
    rows, classes = joint.sample(np.random.default_rng(0), 20_000)
    assert_allclose(rows.mean(), 0.8 * 3.0, atol=0.1)
    assert_allclose(classes.mean(), 0.8, atol=0.01)
    with pytest.raises(ValueError, match="prior_predictive needs a density"):
        GenerativeClassifier().prior_predictive(2)


@pytest.mark.parametrize(
    "density",
    [
        GammaPoisson(1.0, 0.1),
        Known(StudentT(3.0, [[0.0], [2.0]], 1.0)),
        Product.by_column({0: GammaPoisson(1.0, 0.1), 1: GammaExponential(1.0, 1.0)}),
        Components(DirichletCategorical([1.0, 1.0]), GammaPoisson(1.0, 0.1)),
    ],
    ids=lambda density: type(density).__name__,
)
def test_a_loaded_model_answers_as_the_saved_one(density, tmp_path):
    X, y = counts()
    model = GenerativeClassifier(density).fit(X, y)
    save(model, tmp_path / "m.credo")
    assert_allclose(load(tmp_path / "m.credo").predict_proba(X), model.predict_proba(X))


def test_map_takes_the_most_probable_parameters():
    X, y = counts()
    model = GenerativeClassifier(GammaPoisson(2.0, 0.1), inference="map").fit(X, y)
    rate = (1.0 + np.stack([X[y == c].sum(axis=0) for c in (0, 1)])) / 30.1
    assert_allclose(model.joint_.density.rate, rate)


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"density": Normal(0.0, 1.0)}, TypeError, r"found Normal.*Known\(distribution\)"),
        ({"inference": "ml"}, ValueError, "inference"),
        ({"pseudo_count": 0.0}, ValueError, "pseudo_count must be positive"),
        ({"class_probability": [1.0]}, ValueError, "one number for each of 2 classes"),
        (
            {"density": TiedNormalInverseWishart(np.zeros((2, 1)), 1.0, 2.0, [[1.0]])},
            TypeError,
            "one class at a time",
        ),
        ({"density": "gaussian"}, ValueError, "density must be .*student_t"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, error, match):
    X, y = counts()
    with pytest.raises(error, match=match):
        GenerativeClassifier(**settings).fit(X[:, :1], y)


def test_an_impossible_row_is_named():
    model = GenerativeClassifier(GammaExponential(1.0, 1.0)).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="found row 1 that is not"):
        model.predict_proba([[1.0], [-3.0]])


def test_an_engine_can_be_given_with_its_limits():
    X, y = counts(40)
    model = GenerativeClassifier(GammaPoisson(1.0, 0.1), ExpectationMaximization(max_steps=3))
    with pytest.warns(match="max_steps"):
        model.fit(X, np.where(np.arange(40) < 4, y.astype(float), np.nan))
    assert not model.diagnose().is_sound


def test_gaps_of_normal_vectors_are_filled_by_what_is_there():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 2)) @ [[1.0, 0.8], [0.0, 0.6]] + y[:, None]
    X[3:12, 1] = np.nan
    prior = NormalInverseWishart([0.5, 0.5], 0.1, 4.0, np.eye(2))
    model = GenerativeClassifier(prior).fit(X, y)
    same = GaussianClassConditional(prior=prior).fit(X, y)
    assert model.evidence_method_ == "bound"
    assert_allclose(model.log_evidence_, same.log_evidence_)
    assert_allclose(model.predict_proba(X), same.predict_proba(X))


def heavy_rows(n=240, seed=0):
    """Return two classes of heavy-tailed columns, and their labels."""
    y = np.arange(n) % 2
    x = stats.t.rvs(2.0, size=(n, 2), random_state=seed) + np.where(y, 2.0, 0.0)[:, None]
    return x, y


def test_classes_of_students_t_are_the_maximum_likelihood_turned_around_by_bayes():
    X, y = heavy_rows()
    model = GenerativeClassifier("student_t", class_probability=[0.25, 0.75]).fit(X, y)
    new = np.array([[0.5, 1.0], [-30.0, 2.0], [np.nan, 4.0]])
    log_joint = np.log([0.25, 0.75]) + np.zeros((3, 2))
    for k in range(2):
        for j in range(2):
            own = stats.t.logpdf(new[:, j], *stats.t.fit(X[y == k, j]))
            log_joint[:, k] += np.nan_to_num(own)
    expected = np.exp(log_joint - special.logsumexp(log_joint, axis=1, keepdims=True))
    assert_allclose(model.predict_proba(new), expected, atol=2e-3)
    assert (model.evidence_method_, np.isnan(model.log_evidence_)) == ("none", True)
    assert model.joint_.density.df.shape == (2, 2)


def test_heavy_tails_bear_outliers_that_mislead_normals():
    X, y = heavy_rows()
    new, truth = heavy_rows(2000, 1)
    t, normal = (GenerativeClassifier(d).fit(X, y) for d in ("student_t", None))
    scores = [np.log(m.predict_proba(new)[np.arange(2000), truth]).mean() for m in (t, normal)]
    assert scores[0] > scores[1] + 0.01


def test_students_t_needs_labels_and_all_rows_at_once():
    X, y = heavy_rows(20)
    with pytest.raises(ValueError, match="needs the label of every row"):
        GenerativeClassifier("student_t").fit(X, np.where(np.arange(20) < 15, y, np.nan))
    assert not hasattr(GenerativeClassifier("student_t"), "partial_fit")
    with pytest.raises(ValueError, match="density must be"):
        GenerativeClassifier("student").fit(X, y)
    with pytest.raises(ValueError, match="needs a density that is a belief"):
        GenerativeClassifier("student_t").prior_predictive(2)
