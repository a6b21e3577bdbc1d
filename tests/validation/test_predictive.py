import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from credo import LinearRegression, predict_dist
from credo.distributions import Normal, StudentT
from credo.validation.predictive import (
    ChangedVariable,
    class_probability,
    has_predictive,
    predictive_of,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Z = X @ [0.5, -0.2] + 0.3 * RNG.normal(size=120)


def test_pipeline_and_search_give_the_predictive_of_their_last_step():
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(X, Z)
    expected = LinearRegression().fit(X, Z).predict_dist(X)
    search = GridSearchCV(pipeline, {"linearregression__inference": ["exact"]}, cv=3).fit(X, Z)
    for obj in (pipeline, search, make_pipeline(LinearRegression()).fit(X, Z)):
        found = predict_dist(obj, X)
        assert_allclose(found.mean(), expected.mean(), rtol=1e-8)
        assert_allclose(found.epistemic_std, expected.epistemic_std, rtol=1e-6)


def test_log_target_gives_the_log_normal():
    model = TransformedTargetRegressor(
        LinearRegression(noise_precision=11.0), func=np.log, inverse_func=np.exp
    ).fit(X, np.exp(Z))
    found, inner = predict_dist(model, X[:5]), model.regressor_.predict_dist(X[:5])
    oracle = stats.lognorm(inner.std(), scale=np.exp(inner.mean()))
    points = np.array([0.3, 0.8, 1.0, 1.5, 3.0])
    assert_allclose(found.mean(), oracle.mean(), rtol=1e-9)
    assert_allclose(found.std(), oracle.std(), rtol=1e-8)
    assert_allclose(found.log_prob(points), oracle.logpdf(points), rtol=1e-7)
    assert_allclose(found.cdf(points), oracle.cdf(points), rtol=1e-10)
    assert_allclose(found.quantile(0.1), oracle.ppf(0.1), rtol=1e-10)
    assert_allclose(found.entropy(), oracle.entropy(), rtol=1e-7)
    assert_allclose(
        found.epistemic_std**2 + found.aleatoric_std**2, found.variance(), rtol=1e-9
    )


def test_standardized_target_gives_the_same_normal_as_without():
    model = TransformedTargetRegressor(LinearRegression(), transformer=StandardScaler())
    found = predict_dist(model.fit(X, 100 * Z + 7), X)
    expected = LinearRegression().fit(X, 100 * Z + 7).predict_dist(X)
    assert_allclose(found.mean(), expected.mean(), rtol=1e-8)
    assert_allclose(found.std(), expected.std(), rtol=1e-8)
    assert_allclose(found.interval(0.8), expected.interval(0.8), rtol=1e-8)
    assert_allclose(found.crps(100 * Z), expected.crps(100 * Z), rtol=1e-6)


def test_decreasing_change_of_variable_turns_the_tails_around():
    model = TransformedTargetRegressor(
        LinearRegression(), func=lambda y: -np.log(y), inverse_func=lambda z: np.exp(-z)
    ).fit(X, np.exp(Z))
    found = predict_dist(model, X[:1])
    assert found.quantile(0.1)[0] < found.quantile(0.9)[0]
    assert_allclose(found.cdf(found.quantile(0.2)), 0.2, rtol=1e-9)
    total, _ = integrate.quad(lambda y: float(found.prob(y)[0]), 1e-3, 50, limit=200)
    assert_allclose(total, 1.0, rtol=1e-6)
    draws = found.sample(np.random.default_rng(0), 20_000)[:, 0]
    assert_allclose(draws.mean(), found.mean()[0], rtol=0.02)


def test_wrappers_nest():
    inner = make_pipeline(StandardScaler(), LinearRegression())
    model = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp)
    found = predict_dist(model.fit(X, np.exp(Z)), X)
    assert (np.diff(found.interval(0.9)) > 0).all()


def test_models_without_a_predictive_are_refused_by_name():
    with pytest.raises(TypeError, match="found LinearRegression"):
        predict_dist(LeastSquares().fit(X, Z), X)


def test_several_outputs_through_a_target_transformer_are_refused():
    model = TransformedTargetRegressor(
        LinearRegression(), transformer=QuantileTransformer(n_quantiles=50)
    ).fit(X, np.column_stack([Z, -Z]))
    with pytest.raises(ValueError, match="needs one output"):
        predict_dist(model, X)


def changed(target, rows=5, **settings):
    model = TransformedTargetRegressor(LinearRegression(), **settings).fit(X, target)
    return model, predict_dist(model, X[:rows])


TRANSFORMERS = {
    "box-cox": (np.exp(Z), {"transformer": PowerTransformer(method="box-cox")}),
    "yeo-johnson": (np.exp(Z), {"transformer": PowerTransformer()}),
    "yeo-johnson left": (-np.exp(Z), {"transformer": PowerTransformer()}),
    "quantile": (
        np.exp(Z),
        {"transformer": QuantileTransformer(n_quantiles=50, output_distribution="normal")},
    ),
    "standard": (np.exp(Z), {"transformer": StandardScaler()}),
    "minmax": (np.exp(Z), {"transformer": MinMaxScaler()}),
    "log": (np.exp(Z), {"func": np.log, "inverse_func": np.exp}),
    "root": ((Z + 3) ** 2, {"func": np.sqrt, "inverse_func": np.square}),
    "minus log": (
        np.exp(Z),
        {"func": lambda y: -np.log(y), "inverse_func": lambda z: np.exp(-z)},
    ),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_every_transformer_of_the_target_gives_a_coherent_distribution(name):
    target, settings = TRANSFORMERS[name]
    _, found = changed(target, **settings)
    levels = np.array([0.01, 0.1, 0.5, 0.9, 0.99])[:, None]
    points = found.quantile(levels)
    assert (np.diff(points, axis=0) > 0).all()
    assert_allclose(found.cdf(points), np.broadcast_to(levels, points.shape), rtol=1e-6)
    assert_allclose(found.survival(points), 1.0 - found.cdf(points), rtol=1e-9)
    draws = found.sample(np.random.default_rng(0), 20_000)
    error = 5 * draws.std(axis=0) / np.sqrt(20_000)
    assert (np.abs(draws.mean(axis=0) - found.mean()) < error).all()
    assert_allclose(draws.std(axis=0), found.std(), rtol=0.1)
    spread = np.hypot(found.epistemic_std, found.aleatoric_std)
    assert_allclose(spread, found.std(), rtol=1e-9)
    rivals = found.quantile(np.linspace(0.001, 0.999, 999)[:, None])
    # Between two knots of a quantile transformer the density may be a little higher.
    slack = 0.2 if name == "quantile" else 1e-6
    assert (found.log_prob(found.mode()) >= found.log_prob(rivals).max(axis=0) - slack).all()
    # Trapezoids over a grid of quantiles; a quantile transformer has a density with jumps.
    grid = found.quantile(np.linspace(1e-4, 1 - 1e-4, 20_001)[:, None])
    total = np.trapezoid(found.prob(grid), grid, axis=0)
    assert_allclose(total, 1 - 2e-4, rtol=2e-2 if name == "quantile" else 1e-4)


def test_outcomes_off_the_image_of_the_inverse_are_impossible():
    _, found = changed(np.exp(Z), func=np.log, inverse_func=np.exp)
    for x, below in ((-np.inf, 0.0), (-1.0, 0.0), (0.0, 0.0), (np.inf, 1.0)):
        assert (found.log_prob(x) == -np.inf).all()
        assert (found.cdf(x) == below).all()
        assert (found.survival(x) == 1.0 - below).all()
    assert np.isnan(found.log_prob(np.nan)).all()
    assert np.isnan(found.cdf(np.nan)).all()
    _, boxed = changed(np.exp(Z), transformer=PowerTransformer(method="box-cox"))
    assert (boxed.log_prob([-1.0, 0.0, -2.0, -3.0, -4.0]) == -np.inf).all()
    assert (boxed.cdf(-1.0) == 0.0).all()


def safe_log(y):
    return np.log(y, out=np.full(y.shape, np.nan), where=y > 0)


def test_mode_of_the_log_normal_is_below_its_median():
    loc, scale = np.array([-2.0, 0.0, 3.0]), np.array([0.05, 0.7, 3.0])
    moved = ChangedVariable(Normal(loc, scale), safe_log, np.exp)
    assert_allclose(moved.mode(), np.exp(loc - scale**2), rtol=1e-4)
    assert_allclose(moved[1].mode(), np.exp(-0.49), rtol=1e-4)


def test_linear_change_keeps_the_mode():
    model, found = changed(Z, transformer=StandardScaler())
    inner = model.regressor_.predict_dist(X[:5])
    assert_allclose(found.mode(), Z.mean() + Z.std() * inner.mean(), atol=1e-4)


def test_probability_that_no_target_can_have_is_left_out_and_reported():
    target = (Z - Z.min()) ** 2
    with pytest.warns(UserWarning, match="where the transformer of the target can be undone"):
        model, found = changed(target, rows=120, func=np.sqrt, inverse_func=np.square)
    inner = model.regressor_.predict_dist(X)
    row = int(np.argmax(inner.cdf(0.0)))
    base = inner.marginal[row]
    lost = base.cdf(0.0)
    expected = (base.cdf(0.2) - lost) / (1.0 - lost)
    assert_allclose(found.cdf(0.04)[row], expected, rtol=1e-6)
    assert_allclose(found.cdf(found.quantile(0.3))[row], 0.3, rtol=1e-6)
    second, _ = integrate.quad(lambda z: z * z * base.prob(z), 0.0, 30.0, points=[1.0, 4.0])
    assert_allclose(found.mean()[row], second / (1.0 - lost), rtol=1e-6)
    assert (found.log_prob(-0.1) == -np.inf).all()


def test_changes_that_do_not_undo_each_other_are_refused():
    model = TransformedTargetRegressor(
        LinearRegression(), func=np.log, inverse_func=np.square, check_inverse=False
    ).fit(X, np.exp(Z))
    with pytest.raises(ValueError, match="must undo its inverse"):
        predict_dist(model, X)


def test_extreme_levels_are_the_limits_of_the_outcome():
    _, found = changed(np.exp(Z), func=np.log, inverse_func=np.exp)
    assert (found.quantile(0.0) == 0.0).all()
    assert (found.upper_quantile(0.0) == np.inf).all()
    _, found = changed(Z, transformer=StandardScaler())
    assert_allclose(found.support(), [np.full(5, -np.inf), np.full(5, np.inf)])
    _, found = changed(*TRANSFORMERS["minus log"][:1], **TRANSFORMERS["minus log"][1])
    assert_allclose(found.quantile([[0.0], [1.0]]), [np.zeros(5), np.full(5, np.inf)])


def test_heavy_tails_do_not_hide_where_the_image_ends():
    def root(y):
        return np.sqrt(y, out=np.full(y.shape, np.nan), where=y >= 0)

    base = StudentT(2.5, np.array([1.0, 3.0]), 1.0)
    moved = ChangedVariable(base, root, np.square)
    assert_allclose(moved.unreachable(), base.cdf(0.0), rtol=1e-6)
    assert_allclose(moved.cdf(4.0), (base.cdf(2.0) - base.cdf(0.0)) / base.survival(0.0))


def test_moments_next_to_a_pole_are_those_of_the_bulk():
    def forward(y):
        return 4.5 - np.divide(1.0, y, out=np.full(y.shape, np.nan), where=y > 0)

    def inverse(z):
        return np.divide(1.0, 4.5 - z, out=np.full(z.shape, np.nan), where=z < 4.5)

    moved = ChangedVariable(Normal(np.zeros(2), 1.0), forward, inverse)
    draws = moved.sample(np.random.default_rng(0), 5_000)
    assert (moved.unreachable() < 1e-5).all()
    assert_allclose(moved.mean(), draws.mean(axis=0), rtol=0.02)
    assert_allclose(moved.std(), draws.std(axis=0), rtol=0.5)


Y = np.where(X[:, 0] + RNG.normal(size=120) > 0, "yes", "no")


class Rounded(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities sum to ``total``."""

    def __init__(self, total=1.0):
        self.total = total

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile(np.float32([0.3, self.total - 0.3]), (len(X), 1))


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-2]}),
        GridSearchCV(make_pipeline(GaussianNB()), {"gaussiannb__var_smoothing": [1e-9]}),
    ],
    ids=["plain", "pipeline", "search", "search of a pipeline"],
)
def test_a_foreign_classifier_is_heard_through_its_wrappers(model):
    model.fit(X, Y)
    predictive = predict_dist(model, X)
    assert has_predictive(model)
    assert_array_equal(predictive.labels, ["no", "yes"])
    assert_allclose(predictive.probability, model.predict_proba(X), rtol=1e-12)


def test_a_regressor_is_heard_in_a_search_of_pipelines():
    y = X @ [1.0, 2.0]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearRegression()),
        {"linearregression__inference": ["ml", "map"]},
    ).fit(X, y)
    inner = search.best_estimator_
    expected = inner[-1].predict_dist(inner[:-1].transform(X))
    assert_allclose(predict_dist(search, X).mean(), expected.mean())


def test_rounding_of_single_precision_is_forgiven_but_a_wrong_sum_is_not():
    predictive = predict_dist(Rounded(1.0 + 3e-6).fit(X, Y), X)
    assert_allclose(predictive.probability.sum(axis=1), 1.0, rtol=1e-15)
    with pytest.raises(ValueError, match=r"sums to 1 along its last axis; found 1.01"):
        predict_dist(Rounded(1.01).fit(X, Y), X)


def test_a_model_without_a_predictive_is_refused():
    model = Perceptron().fit(X, Y)
    assert not has_predictive(model)
    with pytest.raises(TypeError, match=r"found Perceptron. Use a credo estimator"):
        predict_dist(model, X)


def test_the_two_names_are_of_one_function():
    assert predictive_of is predict_dist


def test_a_transformed_target_has_a_predictive_if_its_regressor_does():
    model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    assert has_predictive(model)
    assert has_predictive(GridSearchCV(model, {"regressor__inference": ["exact"]}))
    assert not has_predictive(TransformedTargetRegressor(LeastSquares()))


def test_a_class_that_a_model_has_not_seen_has_probability_zero():
    classes = np.array(["maybe", "no", "yes"])
    model = GaussianNB().fit(X, Y)
    found = class_probability(model, X, classes)
    assert_array_equal(found[:, 0], 0.0)
    assert_allclose(found[:, 1:], model.predict_proba(X), rtol=1e-12)
    assert_allclose(class_probability(model, X, model.classes_), found[:, 1:])


def test_a_class_beyond_those_asked_for_is_refused():
    with pytest.raises(ValueError, match=r"found \['yes'\]"):
        class_probability(GaussianNB().fit(X, Y), X, np.array(["maybe", "no"]))
