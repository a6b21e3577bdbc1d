"""Laws of bases: columns that depend on their own row, and on units only through placing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.evaluation.laws.broken import NotApplicable, expect, expect_close, run
from credo.numerics.array import Array

__all__ = ["check_basis"]

N_ROWS = 40
UNITS = np.array([1e-3, 250.0])


def check_basis(basis: Any, unit_free: bool = True) -> list[str]:
    """Check the laws of a basis; return the names of the laws that were run.

    Parameters
    ----------
    basis
        A basis of two inputs, not placed yet. Laws about units and about being placed run if
        its functions depend on the training inputs.
    unit_free
        False for settings that are numbers in the units of the inputs, such as a period.

    Raises
    ------
    LawBroken
        With the law, what was expected and what was found.

    Examples
    --------
    >>> from credo.features import SplineBasis
    >>> "units_do_not_change_the_span" in check_basis(SplineBasis(5))
    True
    """
    return run(LAWS, Placed(basis, unit_free))


@dataclass(frozen=True)
class Placed:
    """A basis with the inputs it is tried on."""

    it: Any
    unit_free: bool = True

    @cached_property
    def x(self) -> Array:
        """Training inputs."""
        return np.random.default_rng(0).normal(size=(N_ROWS, 2))

    @cached_property
    def new(self) -> Array:
        """Other inputs."""
        return np.random.default_rng(1).normal(size=(N_ROWS + 1, 2))

    @cached_property
    def basis(self) -> Any:
        """The basis on its training inputs."""
        return self.it.place(self.x)

    def require_rule(self) -> None:
        """Leave the law out unless the functions depend on the training inputs."""
        try:
            self.it.design(self.x)
        except ValueError:
            return
        raise NotApplicable


def columns_and_the_constant_are_independent(case: Placed) -> None:
    """No basis holds the intercept, or one function twice."""
    rows = np.vstack([case.x, case.new])
    design = case.basis.design(rows)
    wide = np.column_stack([np.ones(len(rows)), design / np.linalg.norm(design, axis=0)])
    found = int(np.linalg.matrix_rank(wide, tol=1e-10))
    n = wide.shape[1]
    expect("columns and the constant are independent", found == n, f"rank {n}", found)


def each_row_is_treated_alone(case: Placed) -> None:
    """Functions of a row do not depend on the rows beside it."""
    picked = np.array([3, 0, 7, 7])
    design = case.basis.design(case.new)
    alone = case.basis.design(case.new[picked])
    expect_close("each row is treated alone", alone, design[picked], rtol=1e-12, atol=1e-12)


def no_rows_give_no_rows(case: Placed) -> None:
    """Without rows there are as many columns."""
    found = case.basis.design(np.empty((0, 2))).shape
    expected = (0, case.basis.n_columns(2))
    expect("no rows give no rows", found == expected, str(expected), found)


def the_order_of_training_rows_is_irrelevant(case: Placed) -> None:
    """Placing on shuffled rows gives the same functions."""
    other = case.it.place(np.random.default_rng(2).permutation(case.x))
    law = "the order of training rows is irrelevant"
    expect_close(law, other.design(case.new), case.basis.design(case.new), atol=1e-9)


def placing_again_changes_nothing(case: Placed) -> None:
    """Placing keeps the type, and once more on the same inputs does nothing."""
    again = case.basis.place(case.x)
    expect("placing keeps the type", type(again) is type(case.it), str(type(case.it)), again)
    law = "placing again changes nothing"
    expect_close(law, again.design(case.new), case.basis.design(case.new), rtol=0, atol=0)


def names_and_count_agree(case: Placed) -> None:
    """There is one name, and each only once, for every column."""
    names = case.basis.names(["age", "dose"])
    n = case.basis.design(case.new).shape[1]
    is_right = len(set(names)) == len(names) == n == case.basis.n_columns(2)
    expect("names and the number of columns agree", is_right, f"{n} different names", names)


def far_inputs_stay_finite(case: Placed) -> None:
    """Far beyond the training inputs functions are large, never infinite."""
    for distance in (1e3, 1e12, 1e80):
        far = np.array([[distance, -distance], [-distance, 0.0]])
        is_finite = bool(np.isfinite(case.basis.design(far)).all())
        expect("far inputs give finite columns", is_finite, "finite", f"at {distance:g}")


def what_follows_no_input_comes_to_rest(case: Placed) -> None:
    """``follows`` is true wherever a function still moves far outside."""
    follows = case.basis.follows(2)
    for feature in range(2):
        far = np.zeros((2, 2))
        far[:, feature] = [1e6, 2e6]
        moved = np.ptp(case.basis.design(far), axis=0) > 1e-9
        odd = np.flatnonzero(moved & ~follows[feature])
        expect("what follows no input comes to rest", not odd.size, "no movement", odd)


def units_do_not_change_the_span(case: Placed) -> None:
    """Placed on inputs in other units, the columns span the same functions."""
    case.require_rule()
    if not case.unit_free:
        raise NotApplicable
    z = case.x * UNITS + 7.0 * UNITS
    found = _projection(case.it.place(z).design(z))
    law = "units do not change the span"
    expect_close(law, found, _projection(case.basis.design(case.x)), rtol=0, atol=1e-6)


def a_constant_feature_does_no_harm(case: Placed) -> None:
    """Placing on an input without spread gives finite columns."""
    case.require_rule()
    x = np.column_stack([case.x[:, 0], np.full(N_ROWS, 3.0)])
    is_finite = bool(np.isfinite(case.it.place(x).design(x)).all())
    expect("a constant feature does no harm", is_finite, "finite columns", "others")


def another_number_of_features_is_refused(case: Placed) -> None:
    """Three features where the basis knows two are a ValueError."""
    case.require_rule()
    try:
        case.basis.design(np.zeros((4, 3)))
    except ValueError:
        return
    expect("another number of features is refused", False, "a ValueError", "columns")


def _projection(design: Array) -> Array:
    """Return the projector on the span of a design and the constant."""
    left, sizes, _ = np.linalg.svd(np.column_stack([np.ones(len(design)), design]))
    left = left[:, : np.count_nonzero(sizes > 1e-9 * sizes[0])]
    return np.asarray(left @ left.T)


LAWS = (
    columns_and_the_constant_are_independent,
    each_row_is_treated_alone,
    no_rows_give_no_rows,
    the_order_of_training_rows_is_irrelevant,
    placing_again_changes_nothing,
    names_and_count_agree,
    far_inputs_stay_finite,
    what_follows_no_input_comes_to_rest,
    units_do_not_change_the_span,
    a_constant_feature_does_no_harm,
    another_number_of_features_is_refused,
)
