"""Every estimator of the room obeys the laws, in each of the ways it can be set."""

import warnings

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression as SomeLogistic
from sklearn.tree import DecisionTreeClassifier

from credo import (
    AdaBoost,
    EvidenceSearch,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KMeans,
    LatentProcessRegressor,
    Stack,
)
from credo.evaluation import laws
from credo.numerics.example import Example
from rooms import every_example, named

# Examples beside a class hold models of credo alone; these hold those of others.
FOREIGN = [
    Example(EvidenceSearch(SomeLogistic(), {"C": [0.1, 1.0]}, cv=3), unit_free=False),
    Example(
        Stack([("logistic", SomeLogistic()), ("constant", DummyClassifier())], cv=3),
        unit_free=False,
    ),
    Example(AdaBoost(5, DecisionTreeClassifier(max_depth=2))),
]


def goes_on_from_the_first(model):
    """Whether rows of later chunks go to centers that the first chunk placed."""
    return isinstance(model, KMeans)


def learns_settings(model):
    """Whether a Gaussian process keeps the settings that its first chunk taught it."""
    is_process = isinstance(model, GaussianProcessRegressor)
    return is_process and isinstance(model.noise, str)


LONG = (
    GaussianProcessClassifier(inference="laplace", ordered=True),
    LatentProcessRegressor(n_inducing=12),
)
"""Their classes have quicker examples; these are left to `make long`."""


def cases():
    """Yield every example, those that take long with the mark that says so."""
    for example in (*every_example("models"), *FOREIGN):
        is_long = repr(example.it) in map(repr, LONG)
        yield pytest.param(
            example, id=named(example), marks=[pytest.mark.slow] if is_long else []
        )


@pytest.mark.parametrize("example", list(cases()))
def test_estimator_obeys_the_laws(example):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = laws.check_estimator(example.it, **example.arguments)
    assert "passes_the_checks_of_scikit_learn" in names
    is_placed = getattr(example.it, "basis", None) is not None or learns_settings(example.it)
    is_placed = is_placed or goes_on_from_the_first(example.it)
    if hasattr(example.it, "partial_fit") and not is_placed:
        assert "chunks_equal_the_batch" in names
