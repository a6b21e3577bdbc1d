import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from credo import LogisticRegression
from credo.inference import ExpectationPropagation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(15, 1)) * 3.0 + 1.0
Y = (special.expit(X[:, 0] - 1.0) > RNG.random(15)).astype(int)


def grid(precision):
    """Return log evidence, mean weight and its spread, under a flat intercept, on a grid."""
    w, b = np.meshgrid(np.linspace(-6, 10, 801), np.linspace(-25, 25, 1201), indexing="ij")
    score = w[..., None] * (X[:, 0] - X.mean()) + b[..., None]
    logs = special.log_expit((2 * Y - 1) * score).sum(axis=-1)
    logs += 0.5 * (np.log(precision / (2 * np.pi)) - precision * w**2)
    density = np.exp(logs) * (16 / 800) * (50 / 1200)
    total = density.sum()
    mean = (density * w).sum() / total
    return np.log(total), mean, np.sqrt((density * (w - mean) ** 2).sum() / total)


def test_evidence_and_weights_are_near_a_grid_and_nearer_than_by_laplace():
    log_evidence, mean, spread = grid(0.5)
    error = {}
    for inference in ("ep", "laplace"):
        model = LogisticRegression(inference=inference, weight_precision=0.5).fit(X, Y)
        sd = model.coefficients().loc["x0", "sd"]
        error[inference] = np.abs(
            [model.log_evidence_ - log_evidence, model.coef_[0, 0] - mean, sd - spread]
        )
    assert np.all(error["ep"] < [0.1, 0.05, 0.1])
    assert error["ep"].sum() < 0.5 * error["laplace"].sum()


def test_a_learned_precision_has_the_evidence_of_the_closest_gaussian():
    x = RNG.normal(size=(80, 3))
    y = (special.expit(x @ [2.0, -1.0, 0.0]) > RNG.random(80)).astype(int)
    ep = LogisticRegression(inference="ep").fit(x, y)
    closest = LogisticRegression().fit(x, y)
    assert ep.evidence_method_ == "ep"
    assert_allclose(ep.log_evidence_, closest.log_evidence_, atol=0.3)
    assert_allclose(ep.predict_proba(x), closest.predict_proba(x), atol=0.03)


def test_weights_of_rows_are_repetitions():
    weight = np.arange(15) % 3
    again = np.repeat(np.arange(15), weight)
    engine = ExpectationPropagation(1e-8)
    once = LogisticRegression(inference=engine, weight_precision=1.0).fit(X, Y, weight)
    twice = LogisticRegression(inference=engine, weight_precision=1.0).fit(X[again], Y[again])
    assert_allclose(once.coef_, twice.coef_, rtol=1e-6)
    assert_allclose(once.log_evidence_, twice.log_evidence_, rtol=1e-6)


def test_several_classes_are_refused():
    with pytest.raises(ValueError, match="must be asked of two classes; found 3"):
        LogisticRegression(inference="ep").fit(X, np.arange(15) % 3)
