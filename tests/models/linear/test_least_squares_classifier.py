import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from credo.evaluation import refit_folds
from credo.features import PolynomialBasis
from credo.models import LeastSquaresClassifier, Perceptron

IRIS = load_iris()
NAMES = np.array(["setosa", "versicolor", "virginica"])[IRIS.target]


def least_squares(X, codes, weight=None):
    root = np.ones(len(X)) if weight is None else np.sqrt(weight)
    design = np.column_stack([X, np.ones(len(X))])
    return np.linalg.lstsq(design * root[:, None], codes * root[:, None], rcond=None)[0]


def far_points():
    """Return separable classes: two clouds, and points far on the side of the second."""
    rng = np.random.default_rng(0)
    left = rng.normal([[-1.0, 0.0]] * 40, [0.3, 1.0])
    right = rng.normal([[1.0, 0.0]] * 40, [0.3, 1.0])
    far = rng.normal([[8.0, -8.0]] * 20, 0.3)
    return np.vstack([left, right, far]), np.repeat(["a", "b"], [40, 60])


def test_two_classes_are_fitted_as_minus_one_and_one():
    X, y = IRIS.data[50:], NAMES[50:]
    model = LeastSquaresClassifier().fit(X, y)
    expected = least_squares(X, np.where(y == "virginica", 1.0, -1.0)[:, None])
    assert_allclose(model.coef_, expected[:-1].T, rtol=1e-6)
    assert_allclose(model.intercept_, expected[-1], rtol=1e-6)
    score = X @ expected[:-1, 0] + expected[-1, 0]
    assert (model.predict(X) == np.where(score > 0, "virginica", "versicolor")).all()


def test_more_classes_are_fitted_one_against_the_rest():
    model = LeastSquaresClassifier().fit(IRIS.data, NAMES)
    expected = least_squares(IRIS.data, np.eye(3)[IRIS.target])
    score = IRIS.data @ expected[:-1] + expected[-1]
    assert_allclose(model.decision_function(IRIS.data), 2 * score - 1, rtol=1e-6, atol=1e-8)
    assert (model.predict(IRIS.data) == model.classes_[score.argmax(axis=1)]).all()


def test_the_direction_is_that_of_fishers_discriminant():
    X, code = IRIS.data[50:], IRIS.target[50:] - 1
    parts = X[code == 0], X[code == 1]
    within = sum(np.cov(part.T, bias=True) for part in parts)
    fisher = np.linalg.solve(within, parts[1].mean(axis=0) - parts[0].mean(axis=0))
    found = LeastSquaresClassifier().fit(X, code).coef_[0]
    assert_allclose(found / np.linalg.norm(found), fisher / np.linalg.norm(fisher), rtol=1e-6)


def test_points_far_on_the_right_side_spoil_separable_classes():
    X, y = far_points()
    assert (Perceptron().fit(X, y).predict(X) == y).all()
    near = LeastSquaresClassifier().fit(X[:80], y[:80])
    assert (near.predict(X) == y).all()
    errors = (LeastSquaresClassifier().fit(X, y).predict(X) != y).sum()
    assert errors >= 5


def test_weights_are_those_of_weighted_least_squares():
    weight = np.random.default_rng(1).uniform(0.1, 3.0, size=150)
    model = LeastSquaresClassifier().fit(IRIS.data, NAMES, sample_weight=weight)
    expected = least_squares(IRIS.data, 2 * np.eye(3)[IRIS.target] - 1, weight)
    assert_allclose(model.coef_, expected[:-1].T, rtol=1e-6, atol=1e-9)


def test_folds_from_statistics_equal_fits_without_the_fold():
    fold = np.arange(150) % 5
    models = refit_folds(LeastSquaresClassifier(), IRIS.data, NAMES, fold)
    for i, model in enumerate(models):
        apart = LeastSquaresClassifier().fit(IRIS.data[fold != i], NAMES[fold != i])
        assert_allclose(model.coef_, apart.coef_, rtol=1e-7)


def test_a_basis_bends_the_boundary():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(300, 2))
    y = (X**2).sum(axis=1) > 2
    assert (LeastSquaresClassifier().fit(X, y).predict(X) == y).mean() < 0.75
    assert (LeastSquaresClassifier(PolynomialBasis(2)).fit(X, y).predict(X) == y).mean() > 0.9


def test_repeated_columns_leave_the_answer_alone():
    twice = np.column_stack([IRIS.data, IRIS.data])
    one, two = LeastSquaresClassifier(), LeastSquaresClassifier()
    scores = one.fit(IRIS.data, NAMES).decision_function(IRIS.data)
    found = two.fit(twice, NAMES).decision_function(twice)
    assert_allclose(found, scores, rtol=1e-6, atol=1e-8)


def test_chunks_may_lack_a_class_that_was_named():
    stream = LeastSquaresClassifier()
    for rows in (slice(0, 60), slice(60, 120), slice(120, 150)):
        stream.partial_fit(IRIS.data[rows], NAMES[rows], classes=np.unique(NAMES))
    batch = LeastSquaresClassifier().fit(IRIS.data, NAMES)
    assert_allclose(stream.coef_, batch.coef_, rtol=1e-7)


def test_there_are_no_probabilities():
    assert not hasattr(LeastSquaresClassifier(), "predict_proba")


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (lambda m: m.fit(IRIS.data, ["a"] * 150), ValueError, "at least 2 classes"),
        (lambda m: m.fit(IRIS.data * np.nan, NAMES), ValueError, "NaN"),
        (lambda m: m.partial_fit(IRIS.data, NAMES), ValueError, "classes must be given on"),
        (
            lambda m: m.fit(IRIS.data, NAMES).partial_fit(IRIS.data[:1], ["rose"]),
            ValueError,
            r"classes seen at the first fit, .* found \['rose'\]",
        ),
        (
            lambda m: m.set_params(basis="spline").fit(IRIS.data, NAMES),
            TypeError,
            "basis must be None or a basis .* found 'spline'",
        ),
    ],
)
def test_bad_input_is_refused(work, error, message):
    with pytest.raises(error, match=message):
        work(LeastSquaresClassifier())
