import numpy as np
import pytest
from numpy.testing import assert_allclose

from credo.data.error import TableError
from credo.features import LinearBasis, PolynomialBasis, RadialBasis
from credo.models import LinearRegression
from credo.study.candidates.slate import Span
from credo.study.regression import MAX_CENTERS, MAX_TERMS, regression_slate

RNG = np.random.default_rng(0)


def names(X):
    return [name for name, _ in regression_slate(X).candidates]


def test_many_rows_and_few_columns_meet_every_candidate():
    slate = regression_slate(RNG.normal(size=(400, 4)))
    assert names(RNG.normal(size=(400, 4))) == [
        "constant",
        "linear",
        "quadratic",
        "cubic",
        "spline",
        "radial",
        "spline + quadratic",
        "spline + radial",
        "neural network",
        "process",
    ]
    assert [note.split(" were")[0] for note in slate.notes] == ["relevance vectors"]


def test_no_candidate_but_the_linear_one_has_more_terms_than_rows_or_than_the_limit():
    for n, d in ((12, 3), (30, 40), (900, 30)):
        X = RNG.normal(size=(n, d))
        slate = regression_slate(X, is_fast=True)
        for name, estimator in slate.candidates:
            if name != "linear":
                assert estimator.basis.place(X).n_columns(d) <= min(n, MAX_TERMS)
        assert len(slate.candidates) + len(slate.notes) == 8


def test_vectors_are_left_out_with_a_note_beyond_their_rows():
    X = RNG.normal(size=(1001, 1))
    assert not any("vectors" in note for note in regression_slate(X[:300], y=X[:300, 0]).notes)
    notes = regression_slate(X, y=X[:, 0]).notes
    assert [note for note in notes if "vectors" in note] == [
        f"{name} vectors were left out: 1,001 training rows are more than the {most} on which "
        "it takes seconds."
        for name, most in (("support", "1,000"), ("relevance", "300"))
    ]


def test_a_candidate_left_out_is_named_with_its_number_of_terms():
    notes = regression_slate(RNG.normal(size=(700, 40))).notes
    assert notes[0] == (
        "quadratic was left out: its 860 terms are more than the 600 that a candidate may have."
    )


def test_columns_of_two_values_leave_no_spline_apart_from_the_linear_candidate():
    X = (RNG.random((60, 2)) < 0.5).astype(float)
    slate = regression_slate(X)
    assert "spline" not in names(X)
    assert "spline was left out: on these columns it is the same as linear." in slate.notes


def indicators(n_levels, n_rows=90):
    return np.eye(n_levels)[RNG.integers(0, n_levels, n_rows)]


def curve(n_values, n_rows=90):
    return RNG.integers(0, n_values, (n_rows, 1)).astype(float)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (indicators(2), ["constant", "linear"]),
        (indicators(3), ["constant", "linear"]),
        (curve(2), ["constant", "linear"]),
        (curve(3), ["constant", "linear", "quadratic"]),
        (curve(4), ["constant", "linear", "quadratic", "cubic"]),
        # Two categories may act together: a product says what no sum can.
        (np.hstack([indicators(3), indicators(2)]), ["constant", "linear", "quadratic"]),
    ],
    ids=["2 levels", "3 levels", "2 numbers", "3 numbers", "4 numbers", "3 x 2 levels"],
)
def test_a_candidate_that_says_the_same_as_a_simpler_one_is_left_out(X, expected):
    slate = regression_slate(X)
    assert [name for name, _ in slate.candidates] == expected
    assert len(slate.notes) == 8 - len(expected)
    assert all("on these columns it is the same as" in note for note in slate.notes)


def test_what_is_left_out_as_the_same_predicts_the_same():
    X = indicators(3)
    y = X @ [1.0, 2.0, 4.0] + RNG.normal(size=len(X))
    simple = LinearRegression().fit(X, y)
    for basis in (PolynomialBasis(3, orthogonal=True), LinearBasis() + RadialBasis(54)):
        other = LinearRegression(basis).fit(X, y)
        assert other.log_evidence_ == pytest.approx(simple.log_evidence_, abs=1e-6)
        assert_allclose(other.predict(np.eye(3)), simple.predict(np.eye(3)), rtol=1e-6)


def test_curves_through_a_few_different_rows_are_not_the_same():
    assert names(RNG.normal(size=(10, 3))) == ["constant", "linear", "quadratic", "radial"]


def test_candidates_that_differ_in_a_few_of_many_rows_are_not_the_same():
    X = RNG.integers(0, 2, (3000, 2)).astype(float)
    X[X.all(axis=1)] = 0.0
    assert names(X) == ["constant", "linear"]
    X[7] = 1.0
    assert names(X) == ["constant", "linear", "quadratic"]


@pytest.mark.parametrize(("n", "expected"), [(10, 6), (1000, MAX_CENTERS)])
def test_the_number_of_radial_centers_grows_with_the_rows_to_a_limit(n, expected):
    X = RNG.normal(size=(n, 2))
    radial = dict(regression_slate(X).candidates)["radial"].fit(X, X[:, 0])
    assert len(radial.coef_) == 2 + expected


def test_more_than_any_basis_allows_still_gives_the_two_simplest():
    assert names(RNG.normal(size=(5, 700))) == ["constant", "linear"]


def test_one_column_has_no_products_to_add_to_its_spline():
    notes = regression_slate(RNG.normal(size=(60, 1))).notes
    assert notes == (
        "spline + quadratic was left out: on these columns it is the same as spline.",
    )


SPAN_RNG = np.random.default_rng(0)
DESIGN = SPAN_RNG.normal(size=(30, 4)) * [1e-6, 1.0, 1e6, 1.0] + [0.0, 1e3, 0.0, 0.0]


def augmented_rank(*parts):
    """Return the rank of the centered columns, by singular values."""
    joined = np.hstack(parts)
    centered = joined - joined.mean(axis=0)
    return np.linalg.matrix_rank(centered / np.maximum(centered.std(axis=0), 1e-12), tol=1e-7)


@pytest.mark.parametrize(
    "other",
    [
        DESIGN,
        DESIGN @ SPAN_RNG.normal(size=(4, 4)),
        DESIGN @ SPAN_RNG.normal(size=(4, 3)),
        np.hstack([DESIGN, DESIGN[:, :2] @ SPAN_RNG.normal(size=(2, 3)), np.ones((30, 2))]),
        np.hstack([DESIGN[:, :3], SPAN_RNG.normal(size=(30, 1))]),
        DESIGN[:, :3],
        np.zeros((30, 2)),
        np.empty((30, 0)),
    ],
)
def test_spans_are_equal_exactly_if_joining_them_adds_nothing(other):
    one, two = Span.of(DESIGN), Span.of(other)
    assert two.rank == (augmented_rank(other) if other.size else 0)
    is_same = augmented_rank(DESIGN) == augmented_rank(DESIGN, other) == two.rank
    assert one.equals(two) == two.equals(one) == is_same


def test_candidates_are_chosen_by_names_that_may_be_spelled_otherwise():
    slate = regression_slate(RNG.normal(size=(400, 4)))
    chosen = slate.only(["Spline", "spline-+_quadratic"])
    assert [name for name, _ in chosen.candidates] == [
        "constant",
        "spline",
        "spline + quadratic",
    ]
    with pytest.raises(TableError, match=r"'qadratic'; did you mean 'quadratic'\? choose"):
        slate.only(["qadratic"])
