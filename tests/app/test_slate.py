import numpy as np
import pytest

from credo.app.slate import MAX_CENTERS, MAX_TERMS, regression_slate

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
    ]
    assert slate.notes == ()


def test_no_candidate_but_the_linear_one_has_more_terms_than_rows_or_than_the_limit():
    for n, d in ((12, 3), (30, 40), (900, 30)):
        X = RNG.normal(size=(n, d))
        slate = regression_slate(X)
        for name, estimator in slate.candidates:
            if name != "linear":
                assert estimator.basis.place(X).n_columns(d) <= min(n, MAX_TERMS)
        assert len(slate.candidates) + len(slate.notes) == 8


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
