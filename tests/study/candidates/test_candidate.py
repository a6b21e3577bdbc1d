import numpy as np

from credo import features
from credo.models import (
    GaussianProcessRegressor,
    LinearRegression,
    NeuralNetworkRegressor,
    RelevanceVectorRegressor,
    SupportVectorRegressor,
)
from credo.study.candidates.candidate import MEANINGS, described
from credo.study.regression import regression_slate

NAMES = {name: getattr(features, name) for name in features.__all__}
NAMES["LinearRegression"] = LinearRegression
NAMES["GaussianProcessRegressor"] = GaussianProcessRegressor
NAMES["SupportVectorRegressor"] = SupportVectorRegressor
NAMES["RelevanceVectorRegressor"] = RelevanceVectorRegressor
NAMES["NeuralNetworkRegressor"] = NeuralNetworkRegressor
X = np.random.default_rng(0).normal(size=(300, 3))
SLATE = regression_slate(X, y=7.0 * X[:, 0]).candidates


def test_the_expression_of_each_candidate_makes_it_again():
    for candidate, (name, model) in zip(described(SLATE), SLATE, strict=True):
        again = eval(candidate.expression, NAMES)
        assert candidate.name == name
        assert repr(again) == repr(model)


def test_every_candidate_has_words_of_its_own():
    assert [candidate.name for candidate in described(SLATE)] == list(MEANINGS)
    assert len(set(MEANINGS.values())) == len(MEANINGS)


def test_radial_says_that_it_holds_lines_and_how_many_centers():
    radial = next(c for c in described(SLATE) if c.name == "radial")
    assert "straight line" in radial.meaning
    assert radial.expression == (
        "LinearRegression(ContinuedBasis(LinearBasis() + RadialBasis(n_centers=180)))"
    )


def test_a_process_with_noise_of_its_own_is_told_apart():
    varying = GaussianProcessRegressor(noise="varying")
    (candidate,) = described([("process + noise", varying)])
    assert candidate.meaning == "as process, with noise that follows the columns"
