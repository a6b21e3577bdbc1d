import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from credo.features import (
    FourierBasis,
    PolynomialBasis,
    RadialBasis,
    SigmoidBasis,
    SplineBasis,
)
from credo.models.linear.basis_transformer import BasisTransformer

BASES = [
    None,
    PolynomialBasis(2),
    PolynomialBasis(3, orthogonal=True),
    RadialBasis(5),
    RadialBasis(centers="data", per_center=True),
    FourierBasis(2),
    SigmoidBasis(3),
    SplineBasis(4) + RadialBasis(3),
]


@pytest.mark.parametrize("basis", BASES)
def test_scikit_learn_finds_nothing_wrong(basis):
    results = check_estimator(BasisTransformer(basis), on_skip=None)
    assert len(results) > 40
    assert {result["status"] for result in results} <= {"passed", "skipped"}


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.normal(size=20), "dose": rng.random(20)})


def test_columns_are_the_placed_design():
    basis, frame = SplineBasis(4), table()
    transformer = BasisTransformer(basis).fit(frame)
    new = frame.iloc[:3] + 0.1
    expected = basis.place(frame.to_numpy()).design(new.to_numpy())
    assert_allclose(transformer.transform(new), expected)
    assert basis.placed_knots is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_come_out_with_readable_names(library):
    frame = table() if library == "pandas" else pl.DataFrame(table().to_dict("list"))
    transformer = BasisTransformer(PolynomialBasis(2)).set_output(transform=library)
    out = transformer.fit_transform(frame)
    assert list(out.columns) == ["age", "dose", "age^2", "age*dose", "dose^2"]
    assert_allclose(out["age*dose"], frame["age"] * frame["dose"])


def test_unnamed_inputs_get_numbered_names():
    transformer = BasisTransformer(FourierBasis(1)).fit(table().to_numpy())
    assert transformer.get_feature_names_out()[0] == "sin(x0)"


def test_pipeline_fits_what_the_basis_spans():
    x = np.linspace(-1, 1, 30)[:, None]
    y = 1 - 2 * x[:, 0] ** 3
    model = make_pipeline(BasisTransformer(PolynomialBasis(3)), LinearRegression())
    assert_allclose(model.fit(x, y).predict([[2.0]]), -15.0)


def test_search_over_bases_finds_the_true_degree():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 1))
    y = x[:, 0] ** 3 - x[:, 0] + 0.05 * rng.normal(size=60)
    model = make_pipeline(BasisTransformer(), LinearRegression())
    bases = [PolynomialBasis(degree) for degree in (1, 2, 3)]
    search = GridSearchCV(model, {"basistransformer__basis": bases}).fit(x, y)
    assert search.best_params_["basistransformer__basis"].degree == 3


def test_a_clone_is_unfitted_and_has_the_same_basis():
    transformer = clone(BasisTransformer(PolynomialBasis(4)).fit(table()))
    assert transformer.basis.degree == 4
    with pytest.raises(NotFittedError):
        transformer.transform(table())
